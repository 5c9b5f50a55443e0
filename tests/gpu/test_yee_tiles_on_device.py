"""One lattice in space in tiles that take two steps a pass, on a device: the bits of one_step."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fdtd.backends.cuda import yee
from fdtd.backends.cuda.device import CudaDevice

sys.path += [str(Path(__file__).parents[1] / "agreement"), str(Path(__file__).parents[2] / "benchmarks")]
from gpu_space import patch
from test_yee import CASES, random_problem

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(60)]


@pytest.mark.parametrize("case", CASES)
def test_bits_are_those_of_one_step(cuda_device: CudaDevice, case: str) -> None:
    """From noise, everything on: fields, sums, samples, energy."""
    problem = random_problem(**CASES[case], steps=61)
    found = []
    for scheme in ("one_step", "trapezoidal"):
        taken: list[np.ndarray] = []
        keep = [lambda first, block, into=taken: into.append(block.copy())]
        (records,) = yee.run_batch([problem], keep, final=True, scheme=scheme, on=cuda_device)
        found.append((records, np.concatenate(taken)))
    (expected, samples), (one, others) = found
    for name in ("final", "sums", "energy"):
        np.testing.assert_array_equal(getattr(one, name), getattr(expected, name))
    np.testing.assert_array_equal(others, samples)


def test_a_large_patch_has_the_bits_of_one_step(cuda_device: CudaDevice) -> None:
    """176 x 160 x 144 cells, a port that has driven it for 400 steps."""
    problem = replace(patch((176, 160, 144), layers=10, every=20, check=160, steps=400), box=None)
    (expected,) = yee.run_batch([problem], [None], final=True, scheme="one_step", on=cuda_device)
    (found,) = yee.run_batch([problem], [None], final=True, scheme="trapezoidal", on=cuda_device)
    for name in ("final", "sums", "energy"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
