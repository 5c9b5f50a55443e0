"""Chains of blocks that hold an antenna in space each, its axes in any order, run on the CPU by the emulation."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_device import HostDevice
from test_yee_resident import emulated, mostly_air

from fdtd.backends.cuda import yee
from fdtd.backends.cuda.yee_packing import pack
from fdtd.backends.cuda.yee_turning import UNTURNED, Turn, back, turned, turned_state
from fdtd.schemes.machine import HOPPER
from fdtd.schemes.resident.yee import YeeResidentPlan

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from test_yee import CASES, random_problem
from yee_oracle import assert_as_the_oracle

LAYERS, WALLS = "layers all round, lossy", "magnetic walls"


def chained(
    monkeypatch: pytest.MonkeyPatch, problems: list[Any], precision: str, turn: Turn, **tuning: int
) -> list[tuple[Any, np.ndarray]]:
    """Records and box samples by `resident` in chains of blocks, the axes in a given order."""
    monkeypatch.setattr(yee, "pack", lambda problem, precision, _: pack(problem, precision, turn))
    return emulated(problems, precision, **{"scheme": "resident", "spread": 1, **tuning})


@pytest.mark.parametrize(
    ("case", "precision", "turn", "tuning"),
    [
        (LAYERS, "float32", (0, 2, 1), {"columns": 3, "planes": 1, "warps": 6, "rows": 4}),
        pytest.param(
            LAYERS,
            "float32",
            (1, 2, 0),
            {"columns": 4, "planes": 3, "warps": 4, "rows": 6, "held_z": 3},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            WALLS,
            "float32",
            (2, 0, 1),
            {"columns": 2, "planes": 2, "warps": 8, "rows": 6, "keep_media": 0},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            WALLS, "float64", (1, 0, 2), {"columns": 3, "planes": 2, "warps": 8, "rows": 6}, marks=pytest.mark.slow
        ),
        pytest.param(
            "half of an antenna",
            "float32",
            (0, 2, 1),
            {"columns": 2, "planes": 2, "warps": 4, "rows": 4},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            LAYERS, "float64", UNTURNED, {"columns": 3, "planes": 2, "warps": 6, "rows": 4}, marks=pytest.mark.slow
        ),
    ],
)
def test_fields_and_records_from_noise(
    monkeypatch: pytest.MonkeyPatch, case: str, precision: str, turn: Turn, tuning: dict[str, int]
) -> None:
    """Everything at once: graded planes, random media and metal on every edge, a port, layers or walls."""
    problem = random_problem(**CASES[case], steps=40)
    ((found, taken),) = chained(monkeypatch, [problem], precision, turn, **tuning)
    assert found.steps == 40
    assert_as_the_oracle(problem, found, taken, precision)


@pytest.mark.slow
def test_an_antenna_is_the_same_alone_and_in_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two chains take three antennas that stop apart, in launches of eleven steps; other shapes give the same bits."""
    problem = replace(mostly_air(WALLS, steps=27), source=None)
    shorter = replace(problem, sampling=replace(problem.sampling, steps=15))
    ((free, _),) = emulated([problem], "float32")
    level = float(free.energy[:2].mean() / free.energy.max())
    stopped = replace(problem, sampling=replace(problem.sampling, decay=level, settled=9))
    monkeypatch.setitem(yee._CHUNK, "resident", 11)
    batch, turn = [stopped, shorter, problem], (1, 2, 0)
    shape = {"columns": 3, "planes": 3, "warps": 4, "rows": 4}
    together = chained(monkeypatch, batch, "float32", turn, chains=2, **shape)
    assert [one.steps for one, _ in together] == [18, 15, 27]
    other = {"columns": 2, "planes": 2, "warps": 3, "rows": 5}
    for (found, taken), one in zip(together, batch, strict=True):
        ((alone, taken_alone),) = chained(monkeypatch, [one], "float32", turn, **other)
        for name in ("final", "sums", "energy"):
            np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
        np.testing.assert_array_equal(taken, taken_alone)


def test_choice_turns_what_fits_only_then() -> None:
    """96 x 112 x 40 cells get rows along x and 40 rows a plane; what fits in a cluster as it is stays as it is."""
    from fdtd.backends.cuda.yee_choice import expected, plan_unposed

    plan = plan_unposed((96, 112, 40), 8, "float32", HOPPER)
    assert (plan.chains > 0, plan.columns, plan.cluster) == (True, 3, -(-112 // plan.planes))
    assert plan_unposed((64, 64, 32), 8, "float32", HOPPER).chains == 0
    assert expected((256, 256, 256), 10, "float32", HOPPER, 10**5)[0] == "trapezoidal"
    assert expected((256, 256, 256), 10, "float64", HOPPER, 10**5)[0] == "one_step"
    assert expected((96, 112, 40), 8, "float32", HOPPER, 10**5)[0] == "resident"


@pytest.mark.parametrize("turn", list(permutations(range(3))))
def test_turns(turn: Turn) -> None:
    """The turned problem has what the given one has at turned places; turning back restores it."""
    problem = random_problem(**CASES[WALLS], steps=1)
    problem = replace(problem, grid=replace(problem.grid, magnetic=("x-", "z-"), mirrors=("x+",)))
    again = turned(turned(problem, turn), back(turn))
    assert problem.initial is not None
    assert problem.source is not None
    assert again.source is not None
    np.testing.assert_array_equal(again.initial, problem.initial)
    np.testing.assert_array_equal(again.box, problem.box)
    np.testing.assert_array_equal(again.source.points, problem.source.points)
    assert set(again.grid.magnetic) == set(problem.grid.magnetic)
    assert again.grid.mirrors == problem.grid.mirrors
    assert again.grid.layers == problem.grid.layers
    made = turned(problem, turn)
    assert made.grid.counts == tuple(problem.grid.counts[axis] for axis in turn)
    assert made.initial is not None
    assert made.box is not None
    np.testing.assert_array_equal(made.initial.ravel()[made.box], problem.initial.ravel()[problem.box])
    np.testing.assert_array_equal(turned_state(made.initial, back(turn)), problem.initial)


def test_no_more_blocks_than_multiprocessors() -> None:
    """Blocks of a launch wait for each other, so all must be on the device."""
    device = HostDevice(replace(HOPPER, multiprocessors=30))
    packed = pack(random_problem(**CASES[LAYERS], steps=9), "float32")
    batch = yee.Batch(device, [packed] * 4, "float32", 0, "resident", spread=1, planes=2, columns=2)
    assert isinstance(batch._plan, YeeResidentPlan)
    assert batch._plan.chains == 30 // batch._plan.cluster == 2
