"""Wide rows cut into segments, on the emulation: every record has the bits of `one_step`, whatever a segment cuts."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated import diagonal, in_bands, stepped

from antennaopt.bench.problems import full_problem
from fdtd.axisymmetric.problem import Problem, Records
from fdtd.cpml import RadialLayer
from fdtd.errors import Unsuitable
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import HOPPER

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import part, random_problem

SHORT: dict[str, Any] = {"shape": (2, 2), "warps": 4, "cluster": 2}
"""Segments of 64 columns of double precision in tiles of sixteen rows."""


def same(measured: Records, expected: Records) -> None:
    """Each number that a problem leaves behind is equal; the energy's sum has an order that hangs on the layout."""
    np.testing.assert_array_equal(measured.steps, expected.steps)
    np.testing.assert_allclose(measured.energy, expected.energy, rtol=1e-13)
    assert measured.final is not None and expected.final is not None
    assert np.abs(expected.final).max() > 0
    np.testing.assert_array_equal(measured.final, expected.final)
    np.testing.assert_array_equal(measured.field_map, expected.field_map)
    for antenna in range(len(expected.steps)):
        np.testing.assert_array_equal(measured.port[antenna], expected.port[antenna])
        np.testing.assert_array_equal(measured.contour[antenna], expected.contour[antenna])


def anything(**given: Any) -> Problem:
    """Random media, metal and layers up to the edge; the contour's side and the map end in the last segment."""
    return diagonal(random_problem(**({"seed": 7, "order": 1, "shape": (113, 41), "steps": 40} | given)))


@pytest.mark.parametrize(
    ("given", "tuning"),
    [
        ({}, {"segments": 2, "depth": 3}),
        pytest.param({"feed": 90, "batch": 2, "own_feeds": True}, {"segments": 3, "depth": 4}, marks=pytest.mark.slow),
        pytest.param({"shape": (167, 35), "order": 2}, {"depth": 5}, marks=pytest.mark.slow),
        pytest.param({"shape": (114, 29), "order": 0}, {"depth": 5, "cluster": 1, "warps": 8}, marks=pytest.mark.slow),
        pytest.param({"shape": (115, 77)}, {"depth": 5, "cluster": 4, "warps": 3}, marks=pytest.mark.slow),
        pytest.param({"shape": (113, 77)}, {"depth": 2, "cluster": 8, "warps": 2}, marks=pytest.mark.slow),
        pytest.param({"shape": (190, 41)}, {"shape": (3, 2), "depth": 5}, marks=pytest.mark.slow),
    ],
)
def test_the_bits_of_one_step(given: dict[str, Any], tuning: dict[str, Any]) -> None:
    """Odd widths; the feed and its source, the port and the layer at its end in three segments; metal wherever it is.

    Launches of five steps are one from sample to sample, so that records are taken from either buffer.
    """
    problem = anything(**given)
    measured = stepped(problem, "trapezoidal", "float64", **SHORT | tuning)
    same(measured, stepped(problem, "one_step", "float64"))


@pytest.mark.parametrize(
    "columns", [(40, 90), *(pytest.param(one, marks=pytest.mark.slow) for one in ((0, 50), (95, 107)))]
)
def test_rows_keep_on_chip_what_is_not_air(columns: tuple[int, int]) -> None:
    """Bodies on both sides of a cut, at the axis alone and in the last segment alone, without losses and with."""
    problem = in_bands(anything(batch=2), *columns)
    same(stepped(problem, "trapezoidal", "float64", **SHORT, depth=4), stepped(problem, "one_step", "float64"))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4, 2), (5, 2), (6, 2), (8, 2)])
def test_every_shape_of_single_precision(shape: tuple[int, int]) -> None:
    """Blocks as plans have them, with coefficients on chip and without; vectors of four, two and one."""
    problem = anything(shape=(32 * shape[0] + 47, 61), batch=2)
    made = SCHEMES["trapezoidal"](problem, "float32", HOPPER, shape=shape)
    assert made.macros["SEGMENTS"] == 2
    same(stepped(problem, "trapezoidal", "float32", shape=shape), stepped(problem, "one_step", "float32"))


@pytest.mark.slow
def test_a_lens_on_a_wide_lattice() -> None:
    """As its plan has it: rows of air, of dielectric up to some column, of the feed."""
    problem = full_problem("bor", (280, 128), 20, 2)
    assert isinstance(problem, Problem)
    assert SCHEMES["trapezoidal"](problem, "float32", HOPPER).macros["SEGMENTS"] > 1
    same(stepped(problem, "trapezoidal", "float32"), stepped(problem, "one_step", "float32"))


@pytest.mark.parametrize("parts", ["axial", pytest.param("radial", marks=pytest.mark.slow)])
def test_without_some_layers(parts: str) -> None:
    """Only axial layers, so that no warp is left for the radial one; only that one."""
    problem = anything()
    if parts == "axial":
        problem = replace(problem, radial_layer=RadialLayer(cells=0))
    else:
        problem = replace(problem, axial_layers=())
    measured = stepped(problem, "trapezoidal", "float64", **SHORT, depth=5)
    same(measured, stepped(problem, "one_step", "float64"))


@pytest.mark.slow
def test_antennas_stop_alone_and_in_any_place() -> None:
    """At looks of their own, three samples apart: with one launch from sample to sample a second one goes back."""
    made = random_problem(5, 1, 3, shape=(113, 23), steps=120, decay=0.5, start=False, lossy=True)
    made = replace(made, sampling=replace(made.sampling, check_every=15, settled=15))
    problem = diagonal(made)
    together = stepped(problem, "trapezoidal", "float64", **SHORT, depth=5)
    np.testing.assert_array_equal(together.steps, [120, 90, 105])
    same(together, stepped(problem, "one_step", "float64"))
    shuffled = stepped(diagonal(part(made, [2, 0, 1])), "trapezoidal", "float64", **SHORT, depth=5)
    alone = stepped(diagonal(part(made, [2])), "trapezoidal", "float64", multiprocessors=3, **SHORT, depth=5)
    for found in (shuffled, alone):
        assert found.final is not None and together.final is not None
        np.testing.assert_array_equal(found.final[0], together.final[2])
        np.testing.assert_array_equal(found.port[0], together.port[2])
        np.testing.assert_array_equal(found.contour[0], together.contour[2])


def test_refusals() -> None:
    problem = anything()
    for tuning in ({"segments": 1}, {"segments": 3, "shape": (16, 1)}, {"segments": 14}, {"depth": 32}):
        with pytest.raises(Unsuitable, match=r"107 columns \(of 8 bytes\) before the radial layer do not lie in"):
            SCHEMES["trapezoidal"](problem, "float64", HOPPER, **{"shape": (2, 2)} | tuning)
