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
    {"cells": 4, "blocks": 2, "levels": 6},
    {"cells": 4, "blocks": 2, "levels": 6, "numbered": False},
    {"cells": 4, "blocks": 1, "levels": 7, "numbered": False},
    {"cells": 8, "blocks": 1, "levels": 9},
)


def posed() -> Problem:
    """Random media everywhere, which find no room on chip as planes."""
    return diagonal(random_problem(seed=4, order=1, steps=40, shape=(121, 67)))


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
        (lens, PLANS[0]),
        *(pytest.param(lens, one, marks=pytest.mark.slow) for one in PLANS[1:]),
        (posed, PLANS[0]),
        *(pytest.param(posed, one, marks=pytest.mark.slow) for one in PLANS[1:]),
    ],
)
def test_every_plan_has_the_bits_of_one_step(problem: Callable[[], Problem], choice: dict[str, Any]) -> None:
    """Fields from noise, metal, layers on all sides, source, every monitor."""
    posed_now = problem()
    expected, measured = stepped(posed_now, "one_step", "float32"), stepped(posed_now, "wavefront", "float32", **choice)
    assert expected.final is not None and np.abs(expected.final).max() > 0
    np.testing.assert_array_equal(measured.final, expected.final)
    np.testing.assert_array_equal(measured.energy, expected.energy)
    for antenna in range(len(expected.contour)):
        np.testing.assert_array_equal(measured.contour[antenna], expected.contour[antenna])


def test_plans_are_those_that_the_test_means() -> None:
    """Media as numbers and as planes, on chip whole and in part."""
    found = [made(problem, choice) for problem in (posed(), lens()) for choice in PLANS]
    assert {(one["BLOCKS"], one["RING"]) for one in found} == {(1, 4), (2, 3)}
    assert [one["NUMBERED"] for one in found] == [1, 0, 0, 0, 0, 0, 0, 0]
    assert {(one["WIDE"], one["STAGED_LANES"] > 0) for one in found} == {(1, True), (0, True)}
    with pytest.raises(Unsuitable, match="finds no room"):
        made(posed(), {"cells": 4, "blocks": 2, "levels": 7})


def test_wide_radial_layers_have_more_warps() -> None:
    """A layer of 12 columns: two levels a radial warp. Every fourth warp and the last ones are radial warps."""
    layer = replace(posed().radial_layer, cells=12)
    narrow = diagonal(random_problem(seed=4, order=1, steps=40, shape=(61, 67)))
    problem = replace(narrow, radial_layer=layer, axial_layers=(), contour=None, field_map=None)
    macros = made(problem, {"levels": 9})
    assert (macros["RADIAL_WARPS"], macros["LEVELS"]) == (5, 9)
    expected, measured = stepped(problem, "one_step", "float32"), stepped(problem, "wavefront", "float32", levels=9)
    np.testing.assert_array_equal(measured.final, expected.final)
