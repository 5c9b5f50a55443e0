"""Schemes of the axisymmetric stencil on the emulated device, and how near they must come to the oracle."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from host_device import HostDevice

from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.problem import Problem, Records
from fdtd.backends.cuda.stepping import Batch
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import HOPPER

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import error, record_errors

# Relative to each component's largest magnitude at the end. Measured: 4e-15 and 4e-6.
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}


def diagonal(problem: Problem) -> Problem:
    """The problem without coupled nodes, which tiles and clusters refuse."""
    return replace(problem, media=replace(problem.media, coupling=None))


def in_bands(problem: Problem, first: int, last: int) -> Problem:
    """The problem without coupled nodes and with bodies in three bands of rows, and in columns first to last alone.

    Rows of the first band have no losses and no cut faces, those of the second no losses; the rest of the lattice is
    air. Even antennas of a batch have the bands two rows higher.
    """
    media, neutral = problem.media, {"permittivity": 1.0, "conductivity": 0.0, "open_length": 1.0, "open_area": 1.0}
    parts = {name: np.full(media.permittivity.shape, value) for name, value in neutral.items()}
    bands: tuple[tuple[str, ...], ...] = (("permittivity",), ("permittivity", "open_length", "open_area"), tuple(parts))
    for antenna in range(media.batch):
        for band, names in enumerate(bands):
            start = 3 + 8 * band + 2 * (antenna % 2)
            there = (antenna, slice(None), slice(start, start + 6), slice(first, last))
            for name in names:
                parts[name][there] = getattr(media, name)[there]
    return replace(problem, media=Media(**parts, coupling=None))


def stepped(problem: Problem, scheme: str, precision: str, multiprocessors: int = 132, **tuning: Any) -> Records:
    """Return a scheme's results on a problem, at each check, with the plan's settings of `tuning`."""
    device = HostDevice(replace(HOPPER, multiprocessors=multiprocessors))
    batch = Batch(device, problem, SCHEMES[scheme](problem, precision, device.limits, **tuning), precision)
    sampling = problem.sampling
    while batch.steps < sampling.steps and batch.running().any():
        batch.advance(min(batch.steps + sampling.check_every, sampling.steps))
    return batch.records()


def agree(measured: Records, expected: Records, precision: str) -> None:
    """Steps are equal; fields and records are within the tolerance."""
    assert measured.final is not None and expected.final is not None
    np.testing.assert_array_equal(measured.steps, expected.steps)
    components = [error(measured.final[:, c], expected.final[:, c]) for c in range(6)]
    assert max(components) < TOLERANCE[precision], components
    errors = record_errors(measured, expected)
    assert max(errors.values()) < TOLERANCE[precision], errors
