"""The axisymmetric schemes on a device: against the oracle, against `one_step` over a run, and whole evaluations.

Random media, metal, layers, source, port and records for the oracle, with and without coupled nodes, which tiles and
clusters refuse; reference lenses of full size against `one_step`, as searches have them (diagonal surfaces) and as
certificates do (full ones, whose nodes are coupled). Measured on an H200 without coupled nodes (not yet measured: with
them, and one step in one launch): 1.8e-14 and 1.0e-5 from the oracle after 400 steps in double and single precision,
equal bits alone and in a batch, figures of merit within 2e-5 dB of the CPU's.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antennaopt.bench.problems import full_problem
from antennaopt.bench.support import self_test
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan
from antennaopt.solve.recognition import digests
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.problem import Problem, Records
from fdtd.backends import cuda, reference
from fdtd.backends.cuda.device import CudaDevice
from fdtd.backends.cuda.marching import AnyProblem, marching, schemes_of
from fdtd.errors import Unsuitable

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import PORT_WIDTHS, error, random_problem, record_errors, worst

pytestmark = pytest.mark.gpu

SCHEMES = schemes_of("bor")
COUPLED = ("one_step", "wavefront")
WAYS = [(scheme, {}) for scheme in SCHEMES] + [("one_step", {"launches": 1})]
TOLERANCE = {"float64": 1e-11, "float32": 1e-4}  # as for the CPU backend
STEPS = 2000


@pytest.fixture(scope="module")
def small() -> dict[str, tuple[Problem, Records]]:
    """Everything on, by surfaces, and what the oracle makes of it."""
    full = random_problem(7, 1, 2, shape=(91, 141), steps=400)
    diagonal = replace(full, media=replace(full.media, coupling=None))
    return {"diagonal": (diagonal, reference.run(diagonal)), "full": (full, reference.run(full))}


@pytest.fixture(scope="module")
def lenses() -> dict[str, Problem]:
    found = {}
    for surfaces in ("diagonal", "full"):
        problem = full_problem("bor", (256, 320), STEPS, 5, surfaces=surfaces)
        assert isinstance(problem, Problem)
        assert problem.media.spans.coupled == (surfaces == "full")
        found[surfaces] = problem
    return found


def looks(problem: AnyProblem, device: CudaDevice, scheme: str, **choice: Any) -> list[np.ndarray]:
    """Fields after every 500 steps."""
    ready = marching(problem, device, scheme, **choice)
    found = []
    for _ in range(STEPS // 500):
        ready.advance(500)
        found.append(ready.fields())
    return found


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("surfaces", ["diagonal", "full"])
@pytest.mark.parametrize(("scheme", "choice"), WAYS)
def test_against_the_oracle(
    cuda_device: CudaDevice, small: dict[str, tuple[Problem, Records]], scheme: str, choice: dict[str, Any],
    surfaces: str, precision: str,
) -> None:  # fmt: skip
    problem, expected = small[surfaces]
    if surfaces == "full" and scheme not in COUPLED:
        with pytest.raises(Unsuitable, match="coupled nodes"):
            cuda.run(problem, precision=precision, scheme=scheme, on=cuda_device)
        return
    measured = cuda.run(problem, precision=precision, scheme=scheme, on=cuda_device, **choice)
    assert measured.final is not None and expected.final is not None
    assert worst(error(measured.final[:, c], expected.final[:, c]) for c in range(6)) < TOLERANCE[precision]
    assert worst(record_errors(measured, expected).values()) < TOLERANCE[precision]


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("feed", PORT_WIDTHS)
@pytest.mark.parametrize(("scheme", "choice"), WAYS)
def test_ports_of_any_width(
    cuda_device: CudaDevice, scheme: str, choice: dict[str, Any], feed: int, precision: str
) -> None:
    """Columns beyond half a warp and beyond a warp count in the port's sums, also the source's and the absorber's."""
    problem = random_problem(seed=feed, order=1, batch=2, feed=feed, shape=(91, 61), steps=160, own_feeds=True)
    problem = replace(problem, media=replace(problem.media, coupling=None))
    measured, expected = (
        cuda.run(problem, precision=precision, scheme=scheme, on=cuda_device, **choice), reference.run(problem)
    )  # fmt: skip
    assert measured.final is not None and expected.final is not None
    assert worst(error(measured.final[:, c], expected.final[:, c]) for c in range(6)) < TOLERANCE[precision]
    assert worst(record_errors(measured, expected).values()) < TOLERANCE[precision]


@pytest.mark.parametrize("start", ["pulse", "noise"])
@pytest.mark.parametrize(
    ("scheme", "choice", "surfaces"),
    [(scheme, choice, "diagonal") for scheme, choice in WAYS[1:]]
    + [("wavefront", {}, "full"), ("one_step", {"launches": 1}, "full")],
)
def test_against_one_step_over_the_run(
    cuda_device: CudaDevice, lenses: dict[str, Problem], scheme: str, choice: dict[str, Any], surfaces: str, start: str
) -> None:
    """1e-5 of each component's largest magnitude over the run, at every look; and the same bits again.

    Antennas as they are, at rest and then driven by the source's pulse; and from noise, which fills the lattice with
    its shortest waves. Measured on an H200 after 10,000 steps, pulse and noise: 2.8e-6 and 4.7e-6 (`wavefront`), the
    bits of `one_step` (`trapezoidal`, `resident`); 4.9e-6 and 2.5e-5 before the schemes rounded alike.
    """
    driven = replace(lenses[surfaces], initial=None) if start == "pulse" else lenses[surfaces]
    expected, measured = looks(driven, cuda_device, "one_step"), looks(driven, cuda_device, scheme, **choice)
    scale = np.max([np.abs(one).max(axis=(0, 2, 3)) for one in expected], axis=0)
    assert (scale > 0).all()
    for ours, theirs in zip(measured, expected, strict=True):
        assert (np.abs(ours - theirs).max(axis=(0, 2, 3)) / scale).max() < 1e-5
    np.testing.assert_array_equal(measured[-1], looks(driven, cuda_device, scheme, **choice)[-1])


@pytest.mark.parametrize(
    ("scheme", "choice", "surfaces"),
    [(scheme, choice, "diagonal") for scheme, choice in WAYS]
    + [("one_step", {}, "full"), ("wavefront", {}, "full"), ("one_step", {"launches": 1}, "full")],
)
def test_alone_and_in_a_batch(
    cuda_device: CudaDevice, lenses: dict[str, Problem], scheme: str, choice: dict[str, Any], surfaces: str
) -> None:
    """The third of five lenses, in its place, alone, and last of another batch: the same bits, and finite ones."""
    problem = lenses[surfaces]
    assert problem.initial is not None
    in_its_place = looks(problem, cuda_device, scheme, **choice)[-1][2]
    assert np.isfinite(in_its_place).all() and np.abs(in_its_place).max() > 0
    for places in ([2], [4, 0, 2]):
        other = replace(problem, media=problem.media.of(places), initial=problem.initial[places])
        np.testing.assert_array_equal(looks(other, cuda_device, scheme, **choice)[-1][-1], in_its_place)


@pytest.mark.parametrize("surfaces", ["diagonal", "full"])
def test_whole_antennas(cuda_device: CudaDevice, surfaces: str) -> None:
    """Three lenses, as in searches and in certificates: figures within 0.01 dB of the CPU's, one alone to the bit."""
    found = self_test(surfaces=surfaces)
    assert found["passed"], found


def test_feeds_of_their_own(cuda_device: CudaDevice) -> None:
    """Horns on feeds of three radii, one lattice: figures as the CPU's, the second one alone to the bit."""
    horns = [
        {
            "feed.inner_radius": radius, "feed.outer_radius": 4.4e-3, "feed.length": 12e-3, "horn.length": 18e-3,
            "horn.aperture_radius": 9e-3, "horn.wall": 0.5e-3,
        }
        for radius in (3.3e-3, 3.52e-3, 3.85e-3)
    ]  # fmt: skip
    solver = {"frequencies": [30e9], "design_frequency": 30e9, "cell": 0.3e-3, "precision": "float32"}
    made = plan("conical_horn", horns[0], horns[-1], solver).to_dict()
    there, here = (evaluate("conical_horn", horns, made, backend=backend) for backend in ("cuda", "cpu"))
    for one, other in zip(there, here, strict=True):
        assert one["steps"] == other["steps"]
        assert np.abs(np.array(one["s11"]) - other["s11"]).max() < 1e-6
        assert one["directivity_dbi"] == pytest.approx(other["directivity_dbi"], abs=1e-4)
    (alone,) = evaluate("conical_horn", horns[1:2], made, backend="cuda")
    assert alone["s11"] == there[1]["s11"] and np.array_equal(alone["e_plane"], there[1]["e_plane"])


def test_cells_on_a_device_have_the_digests_that_they_have_on_a_host() -> None:
    """Else an antenna that was solved before would not be recognised; planes of a whole batch, shared ones, none."""
    cupy = pytest.importorskip("cupy")
    draw = np.random.default_rng(5)
    alone, shared = draw.random((2, 6, 3, 40, 61))
    parts = {"permittivity": alone, "conductivity": alone[:, ::-1], "open_length": shared[:1], "open_area": shared}
    for coupling in (None, draw.random((6, 40, 61)).astype(np.float32)):
        arrays = {**parts, "coupling": coupling}
        found = []
        for xp in (np, cupy):
            made = {name: None if one is None else xp.asarray(one) for name, one in arrays.items()}
            made["open_length"] = xp.broadcast_to(made["open_length"], alone.shape)
            found.append(digests(Media(**made), b"context"))
        assert found[0] == found[1]
