"""Clusters that hold an antenna each, run on the CPU by the emulation, against the oracle; all but coupled nodes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated import agree, diagonal, in_bands, stepped

from fdtd.axisymmetric.media import Media
from fdtd.backends import reference
from fdtd.errors import Unsuitable
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import HOPPER

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import part, random_problem


@pytest.mark.parametrize(
    ("order", "batch", "precision", "tuning"),
    [
        (0, 1, "float64", {"cluster": 2}),
        pytest.param(1, 2, "float64", {"shape": (2, 2), "cluster": 4}, marks=pytest.mark.slow),
        (1, 1, "float32", {"cluster": 2}),
        (2, 1, "float32", {"shape": (8, 2), "cluster": 16}),
    ],
)
def test_random_problem(order: int, batch: int, precision: str, tuning: dict[str, Any]) -> None:
    """Slabs that do not divide the grid, clusters of two to sixteen blocks, some of them above the lattice."""
    made = random_problem(
        seed=10 * order + batch, order=order, batch=batch, steps=80, shape=(27, 41), own_feeds=batch > 1
    )
    problem = diagonal(made)
    agree(stepped(problem, "resident", precision, **tuning), reference.run(problem), precision)


@pytest.mark.parametrize("columns", [(0, 30), pytest.param((36, 58), marks=pytest.mark.slow)])
def test_antennas_with_metal(columns: tuple[int, int]) -> None:
    """Rows keep the coefficients that are not air's alone: bits of one_step, and of rows that keep all."""
    problem = replace(in_bands(random_problem(seed=3, order=1, batch=2, shape=(70, 41)), *columns), metal=True)
    tuning: dict[str, Any] = {"shape": (2, 2), "cluster": 4}
    assert SCHEMES["resident"](problem, "float64", HOPPER, **tuning).macros["BY_NEED"]
    found = stepped(problem, "resident", "float64", **tuning)
    for expected in (
        stepped(problem, "one_step", "float64"),
        stepped(replace(problem, metal=False), "resident", "float64", **tuning),
    ):
        assert found.final is not None and expected.final is not None
        assert np.abs(expected.final).max() > 0
        np.testing.assert_array_equal(found.final, expected.final)
        np.testing.assert_array_equal(found.contour, expected.contour)


def test_sixteen_warps_have_the_bits_of_one_step() -> None:
    """The shape of narrow lattices without metal, two antennas together and each alone; eight warps where there is."""
    made = random_problem(seed=5, order=1, batch=2, steps=40, shape=(40, 47))
    problem = diagonal(made)
    plan = SCHEMES["resident"](problem, "float32", HOPPER).macros
    assert (plan["CELLS"], plan["ROWS"], plan["STRIP_ROWS"]) == (4, 2, 2)
    assert plan["WARPS"] + plan["RADIAL_WARPS"] > 12
    metal = SCHEMES["resident"](replace(problem, metal=True), "float32", HOPPER).macros
    assert metal["WARPS"] + metal["RADIAL_WARPS"] <= 8
    expected, found = stepped(problem, "one_step", "float32"), stepped(problem, "resident", "float32")
    assert expected.final is not None and found.final is not None
    assert np.abs(expected.final).max() > 0
    np.testing.assert_array_equal(found.final, expected.final)
    for antenna in range(2):
        np.testing.assert_array_equal(found.contour[antenna], expected.contour[antenna])
        alone = stepped(diagonal(part(made, [antenna])), "resident", "float32")
        assert alone.final is not None
        np.testing.assert_array_equal(alone.final[0], found.final[antenna])


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
    agree(stepped(problem, "resident", "float64", shape=(2, 2), cluster=4), reference.run(problem), "float64")


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
