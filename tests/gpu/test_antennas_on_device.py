"""The axisymmetric schemes on a device: against the oracle, against `one_step` over a run, and whole evaluations.

Random media, metal, layers, source, port and records for the oracle; reference lenses of full size against `one_step`.
Measured on an H200: 1.8e-14 and 1.0e-5 from the oracle after 400 steps in double and single precision, equal bits alone
and in a batch, figures of merit within 2e-5 dB of the CPU's.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from antennaopt.bench.problems import full_problem
from antennaopt.bench.self_test import self_test
from fdtd.backends import cuda, reference
from fdtd.backends.cuda.device import CudaDevice
from fdtd.backends.cuda.marching import AnyProblem, marching, schemes_of
from fdtd.problem import Problem, Records

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import error, random_problem, record_errors, worst

pytestmark = pytest.mark.gpu

SCHEMES = schemes_of("bor")
TOLERANCE = {"float64": 1e-11, "float32": 1e-4}  # as for the CPU backend
STEPS = 2000


@pytest.fixture(scope="module")
def small() -> tuple[Problem, Records]:
    """Everything on but coupled nodes, which tiles and clusters refuse."""
    problem = random_problem(7, 1, 2, shape=(91, 141), steps=400)
    problem = replace(problem, media=replace(problem.media, coupling=None))
    return problem, reference.run(problem)


@pytest.fixture(scope="module")
def lenses() -> Problem:
    problem = full_problem("bor", (256, 320), STEPS, 5)
    assert isinstance(problem, Problem)
    return problem


def looks(problem: AnyProblem, device: CudaDevice, scheme: str) -> list[np.ndarray]:
    """Fields after every 500 steps."""
    ready = marching(problem, device, scheme)
    found = []
    for _ in range(STEPS // 500):
        ready.advance(500)
        found.append(ready.fields())
    return found


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_against_the_oracle(
    cuda_device: CudaDevice, small: tuple[Problem, Records], scheme: str, precision: str
) -> None:
    problem, expected = small
    measured = cuda.run(problem, precision=precision, scheme=scheme, on=cuda_device)
    assert measured.final is not None and expected.final is not None
    assert worst(error(measured.final[:, c], expected.final[:, c]) for c in range(6)) < TOLERANCE[precision]
    assert worst(record_errors(measured, expected).values()) < TOLERANCE[precision]


@pytest.mark.parametrize("start", ["pulse", "noise"])
@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if scheme != "one_step"])
def test_against_one_step_over_the_run(cuda_device: CudaDevice, lenses: Problem, scheme: str, start: str) -> None:
    """1e-5 of each component's largest magnitude over the run, at every look; and the same bits again.

    Antennas as they are, at rest and then driven by the source's pulse; and from noise, which fills the lattice with
    its shortest waves. Measured on an H200 after 10,000 steps, pulse and noise: 2.8e-6 and 4.7e-6 (`wavefront`), the
    bits of `one_step` (`trapezoidal`, `resident`); 4.9e-6 and 2.5e-5 before the schemes rounded alike.
    """
    driven = replace(lenses, initial=None) if start == "pulse" else lenses
    expected, measured = (looks(driven, cuda_device, name) for name in ("one_step", scheme))
    scale = np.max([np.abs(one).max(axis=(0, 2, 3)) for one in expected], axis=0)
    assert (scale > 0).all()
    for ours, theirs in zip(measured, expected, strict=True):
        assert (np.abs(ours - theirs).max(axis=(0, 2, 3)) / scale).max() < 1e-5
    np.testing.assert_array_equal(measured[-1], looks(driven, cuda_device, scheme)[-1])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_alone_and_in_a_batch(cuda_device: CudaDevice, lenses: Problem, scheme: str) -> None:
    """The third of five lenses, in its place, alone, and last of another batch: the same bits, and finite ones."""
    assert lenses.initial is not None
    in_its_place = looks(lenses, cuda_device, scheme)[-1][2]
    assert np.isfinite(in_its_place).all() and np.abs(in_its_place).max() > 0
    for places in ([2], [4, 0, 2]):
        other = replace(lenses, media=lenses.media.of(places), initial=lenses.initial[places])
        np.testing.assert_array_equal(looks(other, cuda_device, scheme)[-1][-1], in_its_place)


def test_whole_antennas(cuda_device: CudaDevice) -> None:
    """Three lenses: figures within 0.01 dB of the CPU's, one of them alone to the bit."""
    found = self_test()
    assert found["passed"], found
