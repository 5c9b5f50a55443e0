"""Clusters that hold an antenna in space each, run on the CPU by the emulation, against the oracle and one_step."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_device import HostDevice

from fdtd.backends import cuda
from fdtd.backends.cuda import yee
from fdtd.backends.cuda.turns import Turns
from fdtd.backends.cuda.yee_choice import groups, plan_resident
from fdtd.backends.cuda.yee_packing import pack
from fdtd.errors import Unsuitable
from fdtd.schemes.machine import HOPPER
from fdtd.schemes.resident.yee import plan_yee
from fdtd.yee.media import Media, empty
from fdtd.yee.problem import Problem, Records

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from test_yee import CASES, random_problem
from yee_oracle import TOLERANCE, assert_as_the_oracle


def emulated(problems: list[Problem], precision: str, **tuning: Any) -> list[tuple[Records, np.ndarray]]:
    """Records and box samples."""
    blocks: list[list[np.ndarray]] = [[] for _ in problems]
    takers = [lambda first, block, into=into: into.append(block.copy()) for into in blocks]
    given = {"scheme": "one_step"} | tuning
    records = yee.run_batch(problems, takers, precision=precision, final=True, on=HostDevice(), **given)
    return [(one, np.concatenate(into)) for one, into in zip(records, blocks, strict=True)]


SMALL = {"scheme": "resident", "planes": 2}
OTHER_SHAPE = {"warps": 5, "rows": 5, "held_z": 3}


@pytest.mark.parametrize(
    ("case", "precision", "tuning"),
    [
        ("layers all round, lossy", "float32", {"warps": 6, "rows": 4}),
        ("layers all round, lossy", "float64", {"warps": 8, "rows": 3, "held_z": 5, "keep_media": 0}),
        ("magnetic walls", "float64", {"warps": 4, "rows": 4}),
        ("half of an antenna", "float32", {"warps": 4, "rows": 4}),
        ("closed", "float32", {"warps": 2, "rows": 7}),
        pytest.param("closed", "float32", {"warps": 7, "rows": 2, "planes": 1}, marks=pytest.mark.slow),
        pytest.param(
            "layers all round, lossy", "float32", {"warps": 4, "rows": 6, "planes": 3}, marks=pytest.mark.slow
        ),
        ("layers as thick as may be", "float64", {"warps": 4, "rows": 4, "held_z": 0}),
    ],
)
def test_fields_and_records_from_noise(case: str, precision: str, tuning: dict[str, int]) -> None:
    """Everything at once: graded planes, random media and metal on every edge, a port, layers or walls."""
    problem = random_problem(**CASES[case], steps=60)
    ((found, taken),) = emulated([problem], precision, **SMALL | tuning)
    assert found.steps == 60
    assert_as_the_oracle(problem, found, taken, precision)


def mostly_air(case: str, steps: int) -> Problem:
    """The same with a block of two media and a sheet of metal in air, as antennas are: most rows have nothing else."""
    made = random_problem(**CASES[case], steps=steps)
    plain = empty(made.grid)
    nz, ny, nx = made.grid.shape
    inside = np.zeros(made.media.metal.shape, bool)
    inside[:, nz // 3 : nz // 2, ny // 3 : ny // 2, nx // 3 : nx // 2 + 3] = True
    media = Media(
        permittivity=np.where(inside, np.where(np.arange(nx) % 2, 2.2, 3.38), 1.0),
        conductivity=np.where(inside, 1e-3, 0.0),
        metal=plain.metal,
    )
    media.metal[:2, nz // 2, ny // 3 : ny // 2, nx // 3 : nx // 2] = True
    assert made.source is not None
    media.conductivity[tuple(made.source.points.T)] += 0.3
    return replace(made, media=media)


@pytest.mark.parametrize(
    ("case", "tuning"),
    [
        ("layers all round, lossy", {"warps": 6, "rows": 4}),
        pytest.param(
            "layers all round, lossy", {"warps": 8, "rows": 3, "held_z": 7, "keep_media": 0}, marks=pytest.mark.slow
        ),
        pytest.param("magnetic walls", {"warps": 4, "rows": 4}, marks=pytest.mark.slow),
    ],
)
def test_an_antenna_in_air(case: str, tuning: dict[str, int]) -> None:
    """Rows of air have code of their own. Antennas differ and stop apart: each is the same alone, to the bit."""
    problem = mostly_air(case, steps=60)
    other = replace(mostly_air("magnetic walls", steps=33), sampling=replace(problem.sampling, steps=33))
    together = emulated([other, problem], "float32", **SMALL | tuning)
    found, taken = together[1]
    assert_as_the_oracle(problem, found, taken, "float32")
    ((alone, alone_taken),) = emulated([problem], "float32", **SMALL | OTHER_SHAPE)
    for name in ("final", "sums", "energy"):
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
    np.testing.assert_array_equal(taken, alone_taken)


def test_launches_go_on_where_the_last_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields and all memories, those in shared memory and those that are not, survive; looks stop it as in one_step."""
    problem = mostly_air("layers all round, lossy", steps=90)
    problem = replace(problem, source=None)
    ((free, _),) = emulated([problem], "float32")
    level = float(free.energy[4:6].mean() / free.energy.max())
    problem = replace(problem, sampling=replace(problem.sampling, decay=level, settled=30))
    tuning = SMALL | {"warps": 6, "rows": 4, "held_z": 11}
    ((whole, taken),) = emulated([problem], "float32", **tuning)
    ((expected, _),) = emulated([problem], "float32")
    assert expected.steps == whole.steps == 54
    np.testing.assert_allclose(whole.energy, expected.energy, rtol=TOLERANCE["float32"])
    monkeypatch.setitem(yee._CHUNK, "resident", 7)
    ((pieces, taken_in_pieces),) = emulated([problem], "float32", **tuning)
    for name in ("final", "sums", "energy"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))
    np.testing.assert_array_equal(taken, taken_in_pieces)


def test_choice() -> None:
    """By the antenna alone: what fits in a cluster goes there, other shapes apart, the rest by one_step."""
    packed = [pack(random_problem(**CASES["closed"], steps=9), "float32")]
    sizes = [(64, 64, 32), (65, 20, 20), (40, 40, 38), (129, 100, 40), (30, 64, 32), (52, 48, 38)]
    for nx, ny, nz in sizes:
        counts = {"NX": nx, "NY": ny, "NZ": nz, "END_X": nx, "END_Y": ny, "END_Z": nz}
        layers = {f"{side}_{axis}": 8 for side in ("LOW", "HIGH") for axis in "XYZ"}
        packed.append(replace(packed[0], counts=packed[0].counts | counts | layers | {"KINDS": 40}))
    assert groups(packed, "float32", HOPPER) == [
        ("resident", [0]), ("resident", [1, 5]), ("resident", [2]), ("resident", [3, 6]), ("one_step", [4]),
    ]  # fmt: skip
    ampere = replace(HOPPER, capability=80)
    assert groups(packed, "float32", ampere) == [("one_step", [*range(7)])]


def test_batches_of_a_study_share_texts() -> None:
    """Each text takes seconds to compile. Measured: 2 of 50 batches; 14 when media and warps were not rounded up."""
    rng = np.random.default_rng(1)
    layers = {f"{side}_{axis}": 8 for side in ("LOW", "HIGH") for axis in "XYZ"} | {"SOURCES": 4, "PROBES": 4}
    found = set()
    for _ in range(50):
        batch = []
        for _ in range(12):
            nx, ny, nz = rng.integers(40, 53), rng.integers(34, 49), 38
            counts = {"NX": nx, "NY": ny, "NZ": nz, "END_X": nx, "END_Y": ny, "END_Z": nz}
            batch.append({name: int(value) for name, value in (counts | layers).items()} | {"KINDS": 30 + int(nx) % 30})
        found.add(tuple(plan_yee(batch, 4, 1, HOPPER).macros.items()))
    assert len(found) <= 4


def test_refusals() -> None:
    problem = random_problem(**CASES["closed"], steps=9)
    packed = pack(problem, "float32")
    with pytest.raises(Unsuitable, match=r"compute capability 9.0 \(this device has 8.0\); use one_step"):
        plan_resident([packed], "float32", replace(HOPPER, capability=80))
    for axis, cells in (("X", 129), ("Z", 400)):
        long = replace(packed, counts=packed.counts | {f"N{axis}": cells, f"END_{axis}": cells})
        with pytest.raises(Unsuitable, match="do not fit in the registers of 16 blocks"):
            plan_resident([long], "float32", HOPPER)
    longer = replace(packed, counts=packed.counts | {"NX": 65, "END_X": 65})
    with pytest.raises(Unsuitable, match="do not fit in the registers of 16 blocks"):
        plan_resident([longer], "float32", HOPPER, spread=0)
    assert problem.source is not None
    points = problem.source.points.copy()
    points[0, 0] = 3
    driven = pack(replace(problem, source=replace(problem.source, points=points)), "float32")
    with pytest.raises(Unsuitable, match="components of E alone"):
        plan_resident([driven], "float32", HOPPER)


def test_bits_do_not_depend_on_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With turns that are over at once a batch waits after each launch for its next one."""
    monkeypatch.setitem(yee._CHUNK, "resident", 20)
    problem = random_problem(**CASES["closed"], steps=50)
    ((alone, _),) = emulated([problem], "float32", **SMALL, warps=2, rows=7)
    passed, turns = [], Turns(length=0.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    turns.share("emulated", 0)
    monkeypatch.setattr(cuda, "TURNS", turns)
    monkeypatch.setattr(turns, "pass_on", lambda own=turns.pass_on: (passed.append(1), own()))
    ((found, _),) = emulated([problem], "float32", **SMALL, warps=2, rows=7)
    assert len(passed) == 3
    for name in ("final", "sums", "energy"):
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
