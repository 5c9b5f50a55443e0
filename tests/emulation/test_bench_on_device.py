"""`bench kernels` and `bench sweep` on a device, run by the emulation: the rows promised, and what is left out.

Rates mean nothing here. What does: which variants run, that they agree with `one_step`, and that an ablation leaves out
what it says.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from host_device import HostDevice
from host_set import HostSet

from antennaopt import cli
from antennaopt.bench import devices, kernels, on_device
from antennaopt.bench.on_device import ARITHMETIC, BARE, Case, Variant, bench_on_device, time_variants
from antennaopt.bench.problems import full_problem, without
from fdtd.backends import cuda
from fdtd.backends.cuda.device_set import Part
from fdtd.backends.cuda.marching import AnyProblem, Marching, kernel_texts, marching
from fdtd.errors import ConfigError
from fdtd.schemes.machine import H200, HOPPER

TMZ = Case(stencil="tmz", shape=(52, 60), batch=2)
COPIED = Case(stencil="tmz", shape=(52, 60), batch=11)
LENS = Case(stencil="bor", shape=(64, 128), batch=1)
SUMS = Case(stencil="jacobi5", shape=(40, 33), batch=1)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> HostDevice:
    found = HostDevice()
    found.name, found.synchronize = "emulation", lambda: None  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setattr(on_device, "describe", lambda device: H200)
    monkeypatch.setattr(cuda, "device", lambda: found)
    return found


def test_rows(device: HostDevice) -> None:
    """Each scheme whole and with parts left out; whole ones agree with one_step to 1e-5 (measured: the same bits)."""
    told: list[str] = []
    rows = bench_on_device([TMZ], schemes=["skewed"], steps=6, repeat=2, device=device, told=told.append)
    assert {row["scheme"] for row in rows} == {"one_step", "skewed"}
    left_out = {tuple(row["without"]) for row in rows}
    assert left_out == {(), ("layers",), ("record",), ("media",), BARE, (*BARE, ARITHMETIC)}
    for row in rows:
        assert (row["stencil"], row["backend"], row["device"], row["dtype"]) == ("tmz", "cuda", "emulation", "float32")
        assert (row["shape"], row["batch"], row["steps"]) == ([52, 60], 2, 6)
        assert row["cell_steps_per_s"] > 0
        assert row["spread"] >= 0
        assert row["ratio_to_one_step"] > 0
        assert (row["fraction_of_memory"] is None) == ("media" in row["without"])
        assert (row["fraction_of_arithmetic"] is None) == (ARITHMETIC in row["without"])
        if not row["without"]:
            assert row["difference_from_one_step"] < 1e-5
    assert len(told) == len(rows)
    json.dumps(rows, allow_nan=False)


def test_one_step_in_one_launch_has_a_row(device: HostDevice) -> None:
    """Next to two launches a step, to their bits; its model moves 60 bytes a cell-step, theirs 84."""
    two, one = bench_on_device([LENS], schemes=["one_step"], left_out=(), steps=3, repeat=1, device=device)
    assert (two["choice"], one["choice"]) == ({}, {"launches": 1})
    assert one["difference_from_one_step"] == 0
    moved = [row["fraction_of_memory"] / row["cell_steps_per_s"] * H200.memory_bytes_per_s for row in (one, two)]
    assert moved == [pytest.approx(60), pytest.approx(84)]


@pytest.mark.parametrize("faster", ["two launches", "one launch"])
def test_ratios_are_to_the_faster_form_of_one_step(
    device: HostDevice, monkeypatch: pytest.MonkeyPatch, faster: str
) -> None:
    """Both forms are timed whatever schemes are wanted, and the ratio is to the one that was faster in this run."""
    seconds = {"one launch": 3.0, "two launches": 3.0, faster: 2.0, "wavefront": 1.0}
    started: list[tuple[Marching, str]] = []

    def start(problem: AnyProblem, where: HostDevice, scheme: str, **choice: Any) -> Marching:
        form = "one launch" if choice.get("launches") == 1 else "two launches"
        started.append((marching(problem, where, scheme, **choice), form if scheme == "one_step" else scheme))
        return started[-1][0]

    def timed(where: HostDevice, one: Marching, steps: int) -> float:
        return steps * next(seconds[form] for other, form in started if other is one)

    monkeypatch.setattr(on_device, "marching", start)
    monkeypatch.setattr(on_device, "seconds_of", timed)
    rows = bench_on_device([LENS], schemes=["wavefront"], left_out=(), steps=1, repeat=1, device=device)
    ratios = {(row["scheme"], *row["choice"]): row["ratio_to_one_step"] for row in rows}
    expected = {"two launches": (1.0, 2 / 3), "one launch": (2 / 3, 1.0)}[faster]
    assert (ratios["one_step",], ratios["one_step", "launches"]) == pytest.approx(expected)
    assert ratios["wavefront",] == pytest.approx(2.0)


def test_copies_and_parts_by_name(device: HostDevice) -> None:
    """Eleven copies of a problem end with the same bits, first and last; what is left out can be said."""
    rows = bench_on_device(
        [COPIED], schemes=["skewed"], left_out=[("record",)], steps=4, repeat=1, device=device
    )  # fmt: skip
    assert [row["copies_equal"] for row in rows if not row["without"]] == [True, True]
    assert {tuple(row["without"]) for row in rows} == {(), ("record",)}
    with pytest.raises(ConfigError, match="'lens' cannot be left out"):
        bench_on_device([COPIED], left_out=[("lens",)], device=device)


def test_fractions_are_of_the_device(device: HostDevice) -> None:
    """Five additions a sum: a rate of one fifth of what can be issued is all of it."""
    row = time_variants(device, SUMS, [Variant(scheme="one_step")], steps=4, repeat=1)[0]
    assert row["fraction_of_arithmetic"] == pytest.approx(5 * row["cell_steps_per_s"] / H200.instructions_per_s)


def test_what_cannot_be_timed_is_said(device: HostDevice) -> None:
    told: list[str] = []
    case = Case(stencil="jacobi5", shape=(900, 900), batch=1)
    rows = time_variants(device, case, [Variant(scheme="resident")], steps=1, repeat=1, told=told.append)
    assert rows == []
    assert "Unsuitable" in told[0]


@pytest.mark.parametrize(("stencil", "scheme"), [("tmz", "skewed"), ("tez", "one_step"), ("jacobi5", "skewed")])
def test_without_arithmetic_nothing_changes(stencil: str, scheme: str) -> None:
    """The state after five steps is the start's, to the bit, source aside: numbers are moved and not changed."""
    problem = without(full_problem(stencil, (52, 60), 5, 1), BARE)
    moved = marching(problem, HostDevice(), scheme, macros={"MOVE_ONLY": 1})
    before = moved.fields()
    moved.advance(5)
    after = moved.fields()
    changed = before != after
    assert changed.sum() <= 1  # the node of the source
    stepped = marching(problem, HostDevice(), scheme)
    stepped.advance(5)
    assert not np.array_equal(stepped.fields(), before)


def test_parts_are_left_out() -> None:
    lens = full_problem("bor", (64, 128), 8, 1)
    bare = without(lens, BARE)
    assert lens.radial_layer.cells > 0  # pyright: ignore[reportAttributeAccessIssue]
    assert (bare.radial_layer.cells, bare.axial_layers) == (0, ())  # pyright: ignore[reportAttributeAccessIssue]
    assert (bare.port, bare.contour, bare.field_map) == (None, None, None)  # pyright: ignore[reportAttributeAccessIssue]
    assert (bare.media.permittivity == 1).all()  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ConfigError, match="3d"):
        full_problem("3d", (64, 64), 1, 1)


def test_texts_are_those_that_are_compiled() -> None:
    """The kernels compiled ahead are those used later; otherwise the time is lost twice."""
    problem = full_problem("tmz", (52, 60), 4, 1)
    ahead = set(kernel_texts(problem, HOPPER, "skewed", steps=4, macros={"MOVE_ONLY": 1}))

    class Noting(HostDevice):
        def program(self, text: str, place: int = 0):
            assert text in ahead
            return super().program(text)

    marching(problem, Noting(), "skewed", macros={"MOVE_ONLY": 1}).advance(4)


def test_sweep(device: HostDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_SWEPT_CELL_STEPS", 1e3)
    rows = kernels.bench_sweep(stencils=["tmz"], sizes=[64], backend="cuda", repeat=1)
    assert {row["scheme"] for row in rows} == {"one_step", "trapezoidal", "skewed", "resident"}
    assert all(row["million_cells_per_s"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--backend", "cuda"), 5, "--backend cuda: "),
        (("--backend", "cpu", "--stencil", "tmz"), 2, "choose kernels of a CUDA device"),
        (("--backend", "cpu", "--scheme", "wavefront"), 2, "choose kernels of a CUDA device"),
    ],
)
def test_without_a_device(capsys: pytest.CaptureFixture[str], monkeypatch, arguments, code, says) -> None:
    """A clear error, in one line, and never the CPU instead."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert cli.main(["bench", "kernels", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1


def test_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    """They are reported before a device is opened."""
    for option, known in (("--stencil", "bor, tmz, tez, jacobi5"), ("--scheme", "one_step, trapezoidal, skewed")):
        assert cli.main(["bench", "kernels", option, "best"]) == 2
        assert f"{option} best is not known; use one of {known}" in capsys.readouterr().err


def emulate(monkeypatch: pytest.MonkeyPatch, **other: Any) -> None:
    """Let the bench find emulated devices, with other methods where given, and sample and look often."""
    own = {"name": "emulation", "synchronize": HostSet.run, "release": lambda own: None, **other}
    monkeypatch.setattr(cuda, "device_set", type("Emulated", (HostSet,), own))
    monkeypatch.setattr(devices, "SAMPLED", 2)
    monkeypatch.setattr(devices, "LOOKED", 4)


def test_a_lattice_on_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one lattice on one device, launch by launch and as on several, and on two: rates, and equal bits."""
    emulate(monkeypatch)
    told: list[str] = []
    rows = devices.bench_devices([2], [32], steps=4, repeat=1, told=told.append)
    assert [row["devices"] for row in rows] == [0, 1, 2]
    assert [sum(row["planes"]) for row in rows] == [33, 33, 33]
    for row in rows:
        assert row["cell_steps_per_s"] > 0
        assert row["ratio_to_one_device"] > 0
        assert row["same_bits"] is True
    assert max(row["ratio_to_one_device"] for row in rows[:2]) == 1
    assert len(told) == 3
    json.dumps(rows, allow_nan=False)


def test_bits_that_differ_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the copies of planes a second device has other fields."""

    def send(own: Any, source: Part, to: Part, stream: int) -> Any:
        return HostSet.send(own, source, to, stream) if source.device == to.device else own.mark(source.device, stream)

    emulate(monkeypatch, send=send)
    assert [row["same_bits"] for row in devices.bench_devices([2], [32], steps=4, repeat=1)] == [True, True, False]
