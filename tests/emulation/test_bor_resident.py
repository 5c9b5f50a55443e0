"""Clusters that hold an antenna each, run on the CPU by the emulation, against the oracle; all but coupled nodes."""

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
from fdtd.media import Media
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
    batch = Batch(device, problem, SCHEMES["resident"](problem, precision, device.limits, **tuning), precision)
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


SMALL = {"shape": (2, 2), "cluster": 2}


@pytest.mark.parametrize(
    ("order", "batch", "precision", "tuning"),
    [
        (0, 1, "float64", {"cluster": 2}),
        (1, 2, "float64", {"shape": (2, 2), "cluster": 4}),
        (1, 1, "float32", {"cluster": 1}),
        (2, 1, "float32", {"shape": (8, 2), "cluster": 16}),
    ],
)
def test_random_problem(order: int, batch: int, precision: str, tuning: dict[str, Any]) -> None:
    """Slabs that do not divide the grid, clusters of one to sixteen blocks, some of them above the lattice."""
    problem = diagonal(random_problem(seed=10 * order + batch, order=order, batch=batch, steps=80, shape=(27, 41)))
    agree(stepped(problem, precision, **tuning), reference.run(problem), precision)


@pytest.mark.parametrize("lens", [True, False])
def test_rows_that_need_little(lens: bool) -> None:
    """Rows of air alone, under an axial layer alone, with a lens; or layers over media everywhere, 70 columns wide.

    Each kind of row has code of its own: measured 3e-15 of the oracle in all of them.
    """
    problem = diagonal(random_problem(seed=3, order=1, steps=40, shape=(70, 41)))
    if lens:
        media = problem.media
        there = np.zeros(media.permittivity.shape[2:], bool)
        there[6:27, :20] = True
        parts = {
            name: np.where(there, getattr(media, name), neutral)
            for name, neutral in (("permittivity", 1), ("conductivity", 0), ("open_length", 1), ("open_area", 1))
        }
        problem = replace(problem, media=Media(**parts, coupling=None))
    agree(stepped(problem, "float64", **SMALL), reference.run(problem), "float64")


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


def test_refusals() -> None:
    problem = random_problem(seed=1, order=1, steps=40)
    with pytest.raises(Unsuitable, match="coupled nodes"):
        SCHEMES["resident"](problem, "float32", HOPPER)
    with pytest.raises(Unsuitable, match=r"compute capability 9.0 \(this device has 8.0\)"):
        SCHEMES["resident"](diagonal(problem), "float32", replace(HOPPER, capability=80))
    with pytest.raises(Unsuitable, match="do not fit in the registers of 16 blocks"):
        SCHEMES["resident"](diagonal(random_problem(seed=1, order=1, steps=40, shape=(129, 399))), "float64", HOPPER)
    with pytest.raises(Unsuitable, match="rows of at most 128 columns"):
        SCHEMES["resident"](diagonal(random_problem(seed=1, order=1, steps=40, shape=(140, 41))), "float64", HOPPER)
