"""Tiles with halos, run on the CPU by the emulation, against the oracle; everything on but coupled nodes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_device import HostDevice

from fdtd.backends import reference
from fdtd.backends.cuda.schemes import SCHEMES
from fdtd.backends.cuda.stepping import Batch
from fdtd.boundaries import RadialLayer
from fdtd.errors import Unsuitable
from fdtd.problem import Problem, Records
from fdtd.tiling.limits import HOPPER

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import error, part, random_problem, record_errors

# Relative to each component's largest magnitude at the end. Measured: 3e-15 and 3e-6.
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}


def diagonal(problem: Problem) -> Problem:
    return replace(problem, media=replace(problem.media, coupling=None))


def stepped(problem: Problem, precision: str, multiprocessors: int = 132, **tuning: Any) -> Records:
    device = HostDevice(replace(HOPPER, multiprocessors=multiprocessors))
    batch = Batch(device, problem, SCHEMES["trapezoidal"](problem, precision, device.limits, **tuning), precision)
    sampling = problem.sampling
    while batch.steps < sampling.steps and batch.running().any():
        batch.advance(min(batch.steps + sampling.check_every, sampling.steps))
    return batch.records()


def agree(measured: Records, expected: Records, precision: str) -> None:
    assert measured.final is not None and expected.final is not None
    np.testing.assert_array_equal(measured.steps, expected.steps)
    components = [error(measured.final[:, c], expected.final[:, c]) for c in range(6)]
    assert max(components) < TOLERANCE[precision], components
    errors = record_errors(measured, expected)
    assert max(errors.values()) < TOLERANCE[precision], errors


SMALL = {"warps": 4, "shape": (2, 4), "depth": 3}


@pytest.mark.parametrize(
    ("order", "batch", "precision", "tuning"),
    [
        (0, 1, "float64", {"warps": 6, "shape": (2, 3), "depth": 4}),
        (1, 2, "float64", {"warps": 4, "shape": (2, 4), "depth": 3}),
        (1, 1, "float32", {"warps": 6, "shape": (8, 2), "depth": 2}),
        (1, 1, "float32", {"warps": 10, "shape": (8, 2)}),
        (2, 1, "float32", {}),
    ],
)
def test_random_problem(order: int, batch: int, precision: str, tuning: dict[str, Any]) -> None:
    """Several tiles that do not divide the grid, launches of one step, and a tile that is higher than the grid."""
    shape = (27, 41) if precision == "float32" else (45, 41)
    problem = diagonal(random_problem(seed=10 * order + batch, order=order, batch=batch, steps=80, shape=shape))
    agree(stepped(problem, precision, **tuning), reference.run(problem), precision)


@pytest.mark.parametrize("multiprocessors", [1, 3])
def test_many_tiles_a_block(multiprocessors: int) -> None:
    """Rows on their way to memory while others write their places: one that did not wait for all lanes failed this."""
    problem = diagonal(random_problem(seed=11, order=1, batch=2, steps=40, shape=(45, 41)))
    measured = stepped(problem, "float64", multiprocessors, warps=6, shape=(2, 2), depth=2)
    agree(measured, reference.run(problem), "float64")


def test_same_bits_alone_and_in_a_batch_that_stops_antenna_by_antenna() -> None:
    """Antennas of a lossy batch decay at looks of their own; each is what it is alone, and the oracle's."""
    made = random_problem(seed=5, order=1, batch=3, shape=(19, 29), steps=440, decay=1e-3, start=False, lossy=True)
    problem = diagonal(made)
    together = stepped(problem, "float64", **SMALL)
    agree(together, reference.run(problem), "float64")
    assert len(set(together.steps)) > 1, together.steps
    alone = stepped(diagonal(part(made, [2])), "float64", **SMALL)
    assert alone.final is not None and together.final is not None
    np.testing.assert_array_equal(alone.final[0], together.final[2])
    np.testing.assert_array_equal(alone.port[0], together.port[2])
    np.testing.assert_array_equal(alone.contour[0], together.contour[2])


def test_without_layers() -> None:
    problem = diagonal(random_problem(seed=11, order=1, steps=40, shape=(19, 29)))
    problem = replace(problem, radial_layer=RadialLayer(cells=0), axial_layers=())
    agree(stepped(problem, "float64", **SMALL), reference.run(problem), "float64")


def test_launches_come_in_pairs() -> None:
    """Whatever the number of steps, the last launch writes the buffer that the first one read."""
    problem = diagonal(random_problem(seed=1, order=1, steps=40))
    macros = SCHEMES["trapezoidal"](problem, "float32", HOPPER).macros
    assert macros["DEPTH"] == 3, "two launches between samples, 5 steps apart"


def test_refusals() -> None:
    problem = random_problem(seed=1, order=1, steps=40)
    with pytest.raises(Unsuitable, match="coupled nodes"):
        SCHEMES["trapezoidal"](problem, "float32", HOPPER)
    with pytest.raises(Unsuitable, match="lower the depth"):
        SCHEMES["trapezoidal"](diagonal(problem), "float32", HOPPER, depth=32)
    with pytest.raises(Unsuitable, match=r"bytes of shared memory \(allowed here: 49152\)"):
        SCHEMES["trapezoidal"](diagonal(problem), "float32", replace(HOPPER, shared_bytes=49152))
