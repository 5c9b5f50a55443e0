"""Tiles with halos, run on the CPU by the emulation, against the oracle; everything on but coupled nodes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from emulated import agree, diagonal, stepped

from fdtd.backends import reference
from fdtd.errors import Unsuitable
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import HOPPER

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import random_problem


@pytest.mark.parametrize(
    ("order", "batch", "precision", "tuning"),
    [
        (0, 1, "float64", {"warps": 6, "shape": (2, 3), "depth": 4}),
        (1, 2, "float64", {"warps": 4, "shape": (2, 4), "depth": 3}),
        (1, 1, "float32", {"warps": 6, "shape": (8, 2), "depth": 2}),
        pytest.param(1, 1, "float32", {"warps": 10, "shape": (8, 2)}, marks=pytest.mark.slow),
        (1, 2, "float64", {"warps": 3, "shape": (2, 2), "depth": 2, "cluster": 2}),
        pytest.param(1, 1, "float64", {"warps": 2, "shape": (2, 2), "depth": 2, "cluster": 4}, marks=pytest.mark.slow),
        pytest.param(1, 1, "float32", {"shape": (12, 1), "depth": 3}, marks=pytest.mark.slow),
        pytest.param(1, 1, "float32", {"shape": (16, 1), "depth": 3}, marks=pytest.mark.slow),
        (2, 1, "float32", {}),
    ],
)
def test_random_problem(order: int, batch: int, precision: str, tuning: dict[str, Any]) -> None:
    """Tiles that do not divide the grid, of one block or several, launches of one step, a tile higher than the grid."""
    shape = (27, 41) if precision == "float32" else (45, 41)
    problem = diagonal(
        random_problem(seed=10 * order + batch, order=order, batch=batch, steps=80, shape=shape, own_feeds=batch > 1)
    )
    agree(stepped(problem, "trapezoidal", precision, **tuning), reference.run(problem), precision)


@pytest.mark.parametrize(
    ("multiprocessors", "tuning"),
    [(1, {"warps": 6}), pytest.param(3, {"warps": 6}, marks=pytest.mark.slow), (4, {"cluster": 2})],
)
def test_many_tiles_a_block(multiprocessors: int, tuning: dict[str, int]) -> None:
    """Rows on their way to memory while others write their places: one that did not wait for all lanes failed this."""
    problem = diagonal(random_problem(seed=11, order=1, batch=2, steps=40, shape=(45, 41)))
    tuning = {"warps": 3, "depth": 2, "cluster": 1} | tuning
    measured = stepped(problem, "trapezoidal", "float64", multiprocessors, shape=(2, 2), **tuning)
    agree(measured, reference.run(problem), "float64")


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
        SCHEMES["trapezoidal"](diagonal(problem), "float32", HOPPER, depth=96)
    with pytest.raises(Unsuitable, match=r"bytes of shared memory \(allowed here: 16384\)"):
        SCHEMES["trapezoidal"](diagonal(problem), "float32", replace(HOPPER, shared_bytes=16384))
    with pytest.raises(Unsuitable, match=r"compute capability 9\.0 for tiles of several blocks"):
        SCHEMES["trapezoidal"](diagonal(problem), "float32", replace(HOPPER, capability=80), cluster=2)
