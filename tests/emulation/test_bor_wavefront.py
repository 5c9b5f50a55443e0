"""Plans of the wavefront: blocks of a multiprocessor, cells a lane, time levels. None of them changes a bit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated import diagonal, stepped

from antennaopt.bench.problems import full_problem
from fdtd.axisymmetric.problem import Problem
from fdtd.errors import Unsuitable
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import HOPPER

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import random_problem

PLANS: tuple[dict[str, Any], ...] = (
    {"cells": 2, "blocks": 3, "levels": 8},
    {"cells": 4, "blocks": 2, "levels": 9},
    {"cells": 4, "blocks": 2, "levels": 7, "kept": True},
    {"cells": 4, "blocks": 3, "levels": 6},
    {"cells": 8, "blocks": 2, "levels": 5},
)


def posed() -> Problem:
    """Random media everywhere: rows that find no room on chip."""
    return diagonal(random_problem(seed=4, order=1, batch=2, steps=40, shape=(61, 67)))


def lens() -> Problem:
    """Two reference lenses: rows of dielectric that do, in most plans."""
    found = full_problem("bor", (64, 128), 20, 2)
    assert isinstance(found, Problem)
    return found


def made(problem: Problem, choice: dict[str, Any]) -> dict[str, int]:
    return SCHEMES["wavefront"](problem, "float32", HOPPER, **choice).macros


@pytest.mark.parametrize(
    ("problem", "choice"),
    [
        (lens, PLANS[1]),
        *(pytest.param(lens, one, marks=pytest.mark.slow) for one in PLANS if one != PLANS[1]),
        *(pytest.param(posed, one, marks=pytest.mark.slow) for one in PLANS),
    ],
)
def test_every_plan_has_the_bits_of_one_step(problem: Callable[[], Problem], choice: dict[str, Any]) -> None:
    """Fields from noise, metal, layers on all sides, source, every monitor."""
    posed_now = problem()
    expected, measured = stepped(posed_now, "one_step", "float32"), stepped(posed_now, "wavefront", "float32", **choice)
    assert expected.final is not None and np.abs(expected.final).max() > 0
    np.testing.assert_array_equal(measured.final, expected.final)
    np.testing.assert_array_equal(measured.energy, expected.energy)
    for antenna in range(2):
        np.testing.assert_array_equal(measured.contour[antenna], expected.contour[antenna])


def test_plans_are_those_that_the_test_means() -> None:
    """Media that find room on chip in part; factors of columns in shared memory and in registers."""
    found = [made(posed(), choice) for choice in PLANS]
    assert [one["BLOCKS"] for one in found] == [3, 2, 2, 3, 2]
    assert [one["KEPT"] for one in found] == [0, 0, 1, 0, 0]
    assert all(one["WIDE"] and one["STAGED_LANES"] > 0 for one in found)
    with pytest.raises(Unsuitable, match="finds no room"):
        made(posed(), {"cells": 4, "blocks": 3, "levels": 9})


def test_wide_radial_layers_have_more_warps() -> None:
    """A layer of 12 columns: two levels a radial warp. Every fourth warp and the last ones are radial warps."""
    layer = replace(posed().radial_layer, cells=12)
    problem = replace(posed(), radial_layer=layer, axial_layers=(), contour=None, field_map=None)
    macros = made(problem, {"levels": 9})
    assert (macros["RADIAL_WARPS"], macros["LEVELS"]) == (5, 9)
    expected, measured = stepped(problem, "one_step", "float32"), stepped(problem, "wavefront", "float32", levels=9)
    np.testing.assert_array_equal(measured.final, expected.final)
