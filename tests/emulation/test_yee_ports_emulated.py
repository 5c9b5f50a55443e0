"""Ports of guides, of microstrip lines and of a slot's line on a device, by the emulation, against oracle and CPU.

The port of a line below a slot is a lumped one, as that of a patch. A circuit's port has sums of H, which `resident`
does not form: such antennas are stepped by `one_step`. Measured from noise after 60 steps, each sum relative to its
largest: 8e-16 in double, 7e-7 in single precision.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_device import HostDevice

from fdtd import yee as space
from fdtd.backends import cuda, yee_reference
from fdtd.backends.cuda import yee
from fdtd.backends.cuda.dry_device import DryDevice
from fdtd.backends.cuda.yee_choice import groups
from fdtd.backends.cuda.yee_packing import pack
from fdtd.schemes.machine import HOPPER
from fdtd.yee.media import empty
from fdtd.yee.problem import Problem, Records, Sampling
from fdtd.yee.waveguide import guide_mode

sys.path += [str(Path(__file__).parents[1] / name) for name in ("agreement", "compilation")]
from nvrtc import compile_for
from port_problems import (
    CIRCUIT_HZ,
    GUIDE_HZ,
    PROBLEMS,
    TURNED,
    circuit_scene,
    guide_scene,
    lumped_scene,
    slot,
    slot_scene,
)

TOLERANCE = {"float64": 1e-13, "float32": 2e-5}
STEPPED = [("guide", "one_step"), ("circuit", "one_step"), ("guide", "resident"), ("turned", "one_step")]
STEPPED += [("slot", "one_step"), ("slot", "resident")]


def emulated(problems: list[Problem], **settings: Any) -> list[tuple[Records, np.ndarray]]:
    """Records and box samples."""
    blocks: list[list[np.ndarray]] = [[] for _ in problems]
    takers = [lambda first, block, into=into: into.append(block.copy()) for into in blocks]
    records = yee.run_batch(problems, takers, final=True, on=HostDevice(), **settings)
    return [(one, np.concatenate(into)) for one, into in zip(records, blocks, strict=True)]


@pytest.mark.parametrize(
    ("kind", "scheme", "precision"),
    [
        pytest.param(
            *one, precision, marks=[pytest.mark.slow] if (one[1], precision) == ("resident", "float64") else []
        )
        for one in STEPPED
        for precision in TOLERANCE
    ],
)
def test_fields_and_sums_from_noise(kind: str, scheme: str, precision: str) -> None:
    problem = {**PROBLEMS, "turned": TURNED, "slot": slot}[kind](60)  # E of the guide along x
    blocks: list[np.ndarray] = []
    expected = yee_reference.run(problem, lambda first, block: blocks.append(block.copy()))
    sampled = np.concatenate(blocks)
    ((found, taken),) = emulated([problem], precision=precision, scheme=scheme)
    bound = TOLERANCE[precision]
    assert found.steps == expected.steps == 60
    for one, other in ((found.final, expected.final), (taken, sampled)):
        assert one is not None
        assert other is not None
        assert np.abs(one - other).max() <= bound * np.abs(other).max()
    assert (np.abs(found.sums - expected.sums).max(axis=0) <= bound * np.abs(expected.sums).max(axis=0)).all()
    assert found.energy == pytest.approx(expected.energy, rel=bound)


@pytest.mark.parametrize("scheme", ["one_step", pytest.param(None, marks=pytest.mark.slow)])
def test_antennas_with_other_ports_share_a_batch(scheme: str | None) -> None:
    """Each is the same alone, to the bit; where no scheme is named, those that clusters hold are stepped apart."""
    problems = [make(steps) for make, steps in zip(PROBLEMS.values(), (15, 60, 39), strict=True)]
    problems[1] = replace(problems[1], sampling=replace(problems[1].sampling, decay=0.95, settled=20))
    together = emulated(problems, scheme=scheme)
    for problem, (records, taken) in zip(problems, together, strict=True):
        ((alone, alone_taken),) = emulated([problem], scheme=scheme)
        assert alone.steps == records.steps
        for name in ("final", "sums", "energy"):
            np.testing.assert_array_equal(getattr(records, name), getattr(alone, name))
        np.testing.assert_array_equal(taken, alone_taken)
    assert together[1][0].steps == 45
    expected = yee_reference.run(problems[2]).sums
    assert np.abs(together[2][0].sums - expected).max() <= TOLERANCE["float32"] * np.abs(expected).max()


def test_the_antenna_alone_chooses_the_scheme() -> None:
    """A line's port is stepped by `one_step`, without an error, in the middle of a batch as well."""
    problems = [make(9) for make in PROBLEMS.values()]
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        packed = [pack(problems[at], "float32") for at in order]
        found = {n: scheme for scheme, members in groups(packed, "float32", HOPPER) for n in members}
        assert [found[order.index(at)] for at in range(3)] == ["resident", "resident", "one_step"]


def test_sums_read_the_edges_of_their_own_port() -> None:
    """Each of 15 sums of three ports has the few edges between its span's ends."""
    packed = pack(PROBLEMS["circuit"](9), "float32")
    spans = packed.arrays["spans"].reshape(-1, 2)
    weights = packed.arrays["weights"].reshape(len(spans), -1)
    for (first, last), row in zip(spans, weights, strict=True):
        assert row[first] and row[last - 1]
        assert not row[:first].any()
        assert not row[last:].any()
    assert np.diff(spans).sum() == weights.shape[1]


def test_a_port_fits_in_the_memory_that_is_counted() -> None:
    """A guide of 60 x 30 cells, the lattice's walls, has what a batch's size is reckoned with beyond the lattice."""
    x, y, z = 0.4e-3 * np.arange(61), 0.4e-3 * np.arange(31), 1e-3 * np.arange(31)
    grid, steps = space.Grid(x=x, y=y, z=z, layers=(0, 0, 0, 0, 6, 6)), 10_000
    port = space.GuidePort(x=(0.0, x[-1]), y=(0.0, y[-1]), source=z[8], planes=(z[12], z[20]), reference=z[20])
    problem = Problem(grid=grid, media=empty(grid), sampling=Sampling(steps=steps, check_every=160))
    packed = pack(guide_mode(port, grid, problem.media).drive(problem, np.ones(100)), "float32")
    names = ("sources", "gains", "waveform", "probes", "weights", "spans")
    taken = sum(packed.arrays[name].nbytes for name in names)
    taken += 4 * packed.sizes["trace"] + 8 * (packed.sizes["sums"] + packed.sizes["energy"])
    assert 300_000 < taken < yee.PORT_BYTES + 24 * steps


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process's device is the emulation of one without clusters, whose emulation takes longer."""
    found = HostDevice(replace(HOPPER, capability=80))
    monkeypatch.setattr(cuda, "device", lambda: found)


@pytest.mark.usefixtures("device")
def test_a_circuit_is_that_of_the_cpu() -> None:
    """A line that runs through."""
    scene, grid, ports = circuit_scene()
    scene = replace(scene, sheets=scene.sheets[:1])
    found, expected = (
        space.solve_circuit(
            scene, grid, ports[:2], CIRCUIT_HZ, max_steps=400, stepper=space.Stepper(backend=name, precision="float64")
        )
        for name in ("cuda", "cpu")
    )
    assert (found.status, found.steps) == (expected.status, expected.steps)
    for name in ("s", "resistance", "permittivity"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-11)


@pytest.mark.usefixtures("device")
def test_scenes_with_other_ports_are_those_of_the_cpu() -> None:
    """A guide's opening, a patch with a lumped port and a resonator on a slot in one batch."""
    scenes, grids = zip(guide_scene(), lumped_scene(), slot_scene(), strict=True)
    found, expected = (
        space.solve_batch(
            scenes,
            grids,
            GUIDE_HZ,
            max_steps=300,
            theta_deg=np.array([0.0, 60.0]),
            stepper=space.Stepper(backend=name, precision="float64"),
        )
        for name in ("cuda", "cpu")
    )
    for one, other in zip(found, expected, strict=True):
        assert (one.status, one.steps) == (other.status, other.steps)
        for name in ("s11", "impedance", "radiated_power", "box_power", "dissipated_power", "far_field", "voltage"):
            a, b = getattr(one, name), getattr(other, name)
            assert np.abs(a - b).max() <= 1e-9 * np.abs(b).max(), name


@pytest.mark.parametrize("capability", [pytest.param(80, marks=pytest.mark.slow), 90])
def test_compiles(capability: int) -> None:
    """All texts of a batch with each kind of port, as the schemes are chosen."""
    packed = [pack(make(9), "float32") for make in PROBLEMS.values()]
    device = DryDevice(replace(HOPPER, capability=capability))
    for scheme, members in groups(packed, "float32", device.limits):
        yee.Batch(device, [packed[n] for n in members], "float32", scheme=scheme)
    assert any("resident(" in text for text in device.texts) == (capability >= 90)
    for text in device.texts:
        assert compile_for(text, f"sm_{capability}").startswith(b"\x7fELF")
