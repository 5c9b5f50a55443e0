"""Every scheme of the CUDA backend, run on the CPU by the emulation, against the oracle: the whole contract at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated import TOLERANCE, agree
from host_device import HostDevice

from fdtd.axisymmetric.grid import AXIS_PERMEABILITY
from fdtd.backends import cuda, reference
from fdtd.errors import Unsuitable
from fdtd.schemes.antennas import Launch, Scheme

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import PORT_WIDTHS, error, part, random_problem, record_errors

SCHEMES = tuple(cuda.SCHEMES)
ELSEWHERE = ("one_step", "trapezoidal", "resident")  # step random problems of every order in files of their own too
UNCOUPLED = ("trapezoidal", "resident")  # refuse coupled nodes; more of them in test_bor_trapezoidal, test_bor_resident


@pytest.mark.parametrize(
    ("scheme", "order", "batch", "precision"),
    [
        pytest.param(scheme, *one, marks=[pytest.mark.slow] if scheme in ELSEWHERE and one[0] != 1 else [])
        for scheme in SCHEMES
        for one in ((0, 1, "float64"), (1, 2, "float32"), (2, 1, "float64"))
    ],
)
def test_random_problem(scheme: str, order: int, batch: int, precision: str) -> None:
    """120 steps from random fields with everything on: metal, loss, layers on all sides, source, every monitor."""
    problem = random_problem(seed=10 * order + batch, order=order, batch=batch, steps=120, own_feeds=batch > 1)
    if scheme in UNCOUPLED:
        with pytest.raises(Unsuitable, match="coupled"):
            cuda.run(problem, precision=precision, scheme=scheme, on=HostDevice())
        problem = replace(problem, media=replace(problem.media, coupling=None))
    measured = cuda.run(problem, precision=precision, scheme=scheme, on=HostDevice())
    expected = reference.run(problem)
    agree(measured, expected, precision)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_permeability_at_the_axis(scheme: str) -> None:
    """The long time step of searches."""
    problem = plain(random_problem(seed=6, order=1, steps=120, axis_permeability=AXIS_PERMEABILITY), scheme)
    measured = cuda.run(problem, precision="float64", scheme=scheme, on=HostDevice())
    agree(measured, reference.run(problem), "float64")


def plain(problem, scheme: str):
    """The problem as every scheme takes it."""
    return replace(problem, media=replace(problem.media, coupling=None)) if scheme in UNCOUPLED else problem


@pytest.mark.parametrize(
    "feed", [pytest.param(one, marks=[] if one in (17, 32, 36) else [pytest.mark.slow]) for one in PORT_WIDTHS]
)
@pytest.mark.parametrize(("scheme", "choice"), [*((scheme, {}) for scheme in SCHEMES), ("one_step", {"launches": 1})])
def test_ports_of_any_width(scheme: str, choice: dict[str, Any], feed: int) -> None:
    """Columns beyond half a warp and beyond a warp count in the port's sums; also the source's and the absorber's."""
    problem = plain(random_problem(seed=feed, order=1, feed=feed, shape=(57, 41), steps=40), scheme)
    measured = cuda.run(problem, precision="float64", scheme=scheme, on=HostDevice(), **choice)
    agree(measured, reference.run(problem), "float64")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["one_step", "wavefront"])
def test_energy_stop(scheme: str) -> None:
    """Antennas stop at looks of their own, the oracle's, and their records are as long as they ran.

    One of three stops at step 320, one at 560, one runs all 640.
    """
    problem = random_problem(seed=41, order=1, batch=3, steps=640, decay=3e-3, start=False, lossy=True, shape=(27, 38))
    problem = plain(problem, scheme)
    measured = cuda.run(problem, precision="float64", scheme=scheme, on=HostDevice())
    expected = reference.run(problem)
    assert len(set(expected.steps)) > 1
    np.testing.assert_array_equal(measured.steps, expected.steps)
    assert [len(samples) for samples in measured.port] == [steps // 5 for steps in expected.steps]
    errors = record_errors(measured, expected)
    assert max(errors.values()) < TOLERANCE["float64"], errors


@pytest.mark.parametrize("scheme", ["one_step", "wavefront"])
def test_same_bits_in_any_place_of_a_batch(scheme: str) -> None:
    """Alone, and in another place of a batch of others: the same antenna gives the same bits."""
    problem = plain(random_problem(seed=3, order=1, batch=3, steps=80, shape=(27, 38)), scheme)
    together = cuda.run(problem, scheme=scheme, on=HostDevice())
    order = [2, 0, 1]
    shuffled = cuda.run(part(problem, order), scheme=scheme, on=HostDevice())
    alone = cuda.run(part(problem, [1]), scheme=scheme, on=HostDevice())
    assert together.final is not None and shuffled.final is not None and alone.final is not None
    for place, antenna in enumerate(order):
        np.testing.assert_array_equal(shuffled.final[place], together.final[antenna])
        np.testing.assert_array_equal(shuffled.contour[place], together.contour[antenna])
        np.testing.assert_array_equal(shuffled.port[place], together.port[antenna])
    np.testing.assert_array_equal(alone.final[0], together.final[1])
    np.testing.assert_array_equal(alone.contour[0], together.contour[1])


@pytest.mark.parametrize("shape", [(61, 59), (139, 40)])
def test_wavefront_of_other_widths(shape: tuple[int, int]) -> None:
    """Four and eight cells a lane; more time levels than a sample's distance, so that two samples are under way."""
    problem = random_problem(seed=5, order=1, batch=1, shape=shape, steps=80)
    measured = cuda.run(problem, precision="float32", scheme="wavefront", on=HostDevice())
    expected = reference.run(problem)
    assert measured.final is not None and expected.final is not None
    assert max(error(measured.final[:, c], expected.final[:, c]) for c in range(6)) < TOLERANCE["float32"]
    assert max(record_errors(measured, expected).values()) < TOLERANCE["float32"]


@pytest.mark.parametrize("shape", [(27, 38), pytest.param((61, 300), marks=pytest.mark.slow)])
def test_energy_inside_a_launch_has_the_bits_of_the_looks_between_launches(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]
) -> None:
    """With three and more rows a thread, antennas that stop at looks of their own, and blocks of two sizes."""
    problem = random_problem(seed=41, order=1, batch=2, steps=120, decay=0.3, start=False, lossy=True, shape=shape)
    inside = cuda.run(problem, scheme="wavefront", on=HostDevice())
    make = cuda.SCHEMES["wavefront"]

    def outside(*target: Any, **tuning: Any) -> Scheme:
        made = make(*target, **tuning)

        def launches(batch: int, step: int, end: int) -> Iterator[Launch]:
            for one in made.launches(batch, step, end):
                yield replace(one, arguments=(*one.arguments[:-1], 0))

        return replace(made, looks=False, launches=launches)

    monkeypatch.setitem(cuda.SCHEMES, "wavefront", outside)
    between = cuda.run(problem, scheme="wavefront", on=HostDevice())
    assert inside.energy.tobytes() == between.energy.tobytes()
    assert (inside.energy < 1).all()
    np.testing.assert_array_equal(inside.steps, between.steps)
