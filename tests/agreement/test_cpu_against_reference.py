"""The cpu backend against the oracle on random fields, media, metal and layers: the whole contract at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from random_problems import PORT_WIDTHS, oracle, part, random_problem, record_errors

from fdtd.axisymmetric.grid import AXIS_PERMEABILITY, courant_limit
from fdtd.axisymmetric.problem import Problem, Records
from fdtd.backends import cpu, reference

# Relative to each component's largest magnitude over the run. One rounding a step, all of one sign, are 360 * 2^-53 =
# 4e-14 and 2000 * 2^-24 = 1.2e-4. Measured: 1.8e-14 and 5.3e-5.
TOLERANCE = {"float64": 4e-14, "float32": 1e-4}


@lru_cache(maxsize=8)
def solved(seed: int, order: int, **given: Any) -> tuple[Problem, Records, np.ndarray]:
    """A random problem, what the oracle records, its largest magnitudes: all ways of the backend are held to them."""
    problem = random_problem(seed=seed, order=order, **given)
    return problem, *oracle(problem)


def _final_error(measured: Records, expected: Records, scale: np.ndarray) -> float:
    assert measured.final is not None and expected.final is not None
    difference = np.abs(np.asarray(measured.final, dtype=float) - expected.final).max(axis=(2, 3))
    return float((difference / np.where(scale > 0, scale, 1.0)).max())


def _assert_agreement(measured: Records, expected: Records, scale: np.ndarray, tolerance: float) -> None:
    np.testing.assert_array_equal(measured.steps, expected.steps)
    np.testing.assert_array_equal(measured.finite, expected.finite)
    errors = {"final": _final_error(measured, expected, scale)} | record_errors(measured, expected)
    assert max(errors.values()) < tolerance, errors


@pytest.mark.parametrize("steps_per_sweep", [1, 2, 5, 8])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_double_precision(order: int, batch: int, steps_per_sweep: int) -> None:
    """360 steps from random fields, with the source on."""
    problem, *expected = solved(10 * order + batch, order, batch=batch, own_feeds=batch > 1)
    measured = cpu.run(problem, precision="float64", steps_per_sweep=steps_per_sweep, threads=1)
    _assert_agreement(measured, *expected, TOLERANCE["float64"])


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_permeability_at_the_axis(precision: str) -> None:
    """The long time step of searches: H_z at the axis, and its part of the energy, in step with the oracle."""
    problem, *expected = solved(6, 1, batch=2, axis_permeability=AXIS_PERMEABILITY)
    assert problem.grid.courant_number > courant_limit(1)
    measured = cpu.run(problem, precision=precision, steps_per_sweep=5, threads=1)
    _assert_agreement(measured, *expected, TOLERANCE[precision])


@pytest.mark.parametrize(
    ("order", "start"),
    [
        *((1, False), (2, True)),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((0, True), (1, True), (0, False), (2, False))),
    ],
)
def test_single_precision_after_2000_steps(order: int, start: bool) -> None:
    """2,000 steps; the fields driven by the source alone also decay by orders of magnitude on the way."""
    problem = random_problem(seed=order, order=order, batch=2, steps=2000, start=start)
    measured = cpu.run(problem, precision="float32", steps_per_sweep=4, threads=1)
    _assert_agreement(measured, *oracle(problem), TOLERANCE["float32"])


@pytest.mark.parametrize("shape", [(21, 33), (26, 48), (64, 35), (129, 37)])
def test_grids_of_any_size(shape: tuple[int, int]) -> None:
    """Sizes around the widths that vectorised loops and tiles like."""
    problem = random_problem(seed=5, order=1, batch=1, shape=shape, steps=120)
    measured = cpu.run(problem, precision="float64", steps_per_sweep=3, threads=1)
    _assert_agreement(measured, *oracle(problem), TOLERANCE["float64"])


@pytest.mark.parametrize("steps_per_sweep", [1, 5])
@pytest.mark.parametrize("feed", PORT_WIDTHS)
def test_ports_of_any_width(feed: int, steps_per_sweep: int) -> None:
    """Source, port and the feed's absorber up to 36 columns wide."""
    problem, *expected = solved(feed, 1, feed=feed, shape=(57, 41), steps=80)
    measured = cpu.run(problem, precision="float64", steps_per_sweep=steps_per_sweep, threads=1)
    _assert_agreement(measured, *expected, TOLERANCE["float64"])


@pytest.mark.parametrize("order", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(2, marks=pytest.mark.slow)])
def test_energy_stop(order: int) -> None:
    """Antennas of one batch stop at looks of their own, the same in both backends, with records as long as they ran."""
    problem = random_problem(seed=40 + order, order=order, batch=4, steps=2800, decay=3e-3, start=False, lossy=True)
    measured = cpu.run(problem, precision="float64", steps_per_sweep=4, threads=1)
    expected = reference.run(problem)
    assert len(set(expected.steps)) > 1 and expected.steps.max() < problem.sampling.steps
    np.testing.assert_array_equal(measured.steps, expected.steps)
    assert [len(samples) for samples in measured.port] == [steps // 5 for steps in expected.steps]
    assert max(record_errors(measured, expected).values()) < TOLERANCE["float64"]


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_same_bits_in_any_place_of_a_batch(precision: str) -> None:
    """Alone, in a batch, in another order, with more threads: the same antenna gives the same bits."""
    problem = random_problem(seed=3, order=1, batch=3)
    together = cpu.run(problem, precision=precision, steps_per_sweep=4, threads=1)
    order = [2, 0, 1]
    shuffled = cpu.run(part(problem, order), precision=precision, steps_per_sweep=4, threads=2)
    for place, antenna in enumerate(order):
        alone = cpu.run(part(problem, [antenna]), precision=precision, steps_per_sweep=4, threads=1)
        _assert_same_bits(alone, 0, together, antenna)
        _assert_same_bits(shuffled, place, together, antenna)


def test_oracle_same_bits_in_any_place_of_a_batch() -> None:
    """The oracle keeps the same promise."""
    problem = random_problem(seed=4, order=1, batch=3, steps=120)
    together = reference.run(problem)
    for antenna in range(3):
        _assert_same_bits(reference.run(part(problem, [antenna])), 0, together, antenna)


def _assert_same_bits(left: Records, i: int, right: Records, j: int) -> None:
    assert left.final is not None and right.final is not None
    assert left.field_map is not None and right.field_map is not None
    np.testing.assert_array_equal(left.final[i], right.final[j])
    np.testing.assert_array_equal(left.field_map[i], right.field_map[j])
    np.testing.assert_array_equal(left.port[i], right.port[j])
    np.testing.assert_array_equal(left.contour[i], right.contour[j])
    assert left.energy[i] == right.energy[j]
    assert left.steps[i] == right.steps[j]
