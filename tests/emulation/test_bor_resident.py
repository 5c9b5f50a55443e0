"""Clusters that hold an antenna each, run on the CPU by the emulation, against the oracle; everything on but coupled nodes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from host_device import HostDevice

from fdtd.backends import reference
from fdtd.backends.cuda.schemes import SCHEMES
from fdtd.backends.cuda.stepping import Batch
from fdtd.errors import Unsuitable
from fdtd.problem import Problem, Records
from fdtd.tiling.limits import HOPPER

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import error, part, random_problem, record_errors

# Relative to each component's largest magnitude at the end.
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}


def diagonal(problem: Problem) -> Problem:
    return replace(problem, media=replace(problem.media, coupling=None))


def stepped(problem: Problem, precision: str, **tuning: object) -> Records:
    device = HostDevice()
    batch = Batch(device, problem, SCHEMES["resident"](problem, precision, device.limits, **tuning), precision)
    sampling = problem.sampling
    while batch.steps < sampling.steps and batch.running().any():
        batch.advance(min(batch.steps + sampling.check_every, sampling.steps))
    return batch.records()


def agree(measured: Records, expected: Records, precision: str) -> None:
    assert measured.final is not None and expected.final is not None
    np.testing.assert_array_equal(measured.steps, expected.steps)
    components = [error(measured.final[:, c], expected.final[:, c]) for c in range(6)]
    print(components, record_errors(measured, expected))
    assert max(components) < TOLERANCE[precision], components
    assert max(record_errors(measured, expected).values()) < TOLERANCE[precision]


@pytest.mark.parametrize(
    ("order", "batch", "precision", "tuning"),
    [
        (0, 1, "float64", {"cluster": 2}),
        (1, 2, "float64", {"shape": (2, 2), "cluster": 4}),
        (1, 1, "float32", {"cluster": 1}),
        (2, 2, "float32", {"shape": (8, 2), "cluster": 16}),
    ],
)
def test_random_problem(order: int, batch: int, precision: str, tuning: dict[str, object]) -> None:
    """Slabs that do not divide the grid, clusters of one to sixteen blocks, some of them above the lattice."""
    problem = diagonal(random_problem(seed=10 * order + batch, order=order, batch=batch, steps=80, shape=(27, 41)))
    agree(stepped(problem, precision, **tuning), reference.run(problem), precision)
