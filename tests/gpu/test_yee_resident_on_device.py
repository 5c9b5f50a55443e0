"""Clusters that hold an antenna in space each, on a device: against the oracle and one_step, alone and in batches."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from fdtd.backends.cuda import yee
from fdtd.backends.cuda.device import CudaDevice

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from test_yee import CASES, random_problem
from yee_oracle import TOLERANCE, assert_as_the_oracle

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(60)]


@pytest.mark.parametrize("planes", [2, 3])
@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("case", CASES)
def test_fields_and_records_from_noise(cuda_device: CudaDevice, case: str, precision: str, planes: int) -> None:
    problem = random_problem(**CASES[case], steps=90)
    taken: list[np.ndarray] = []
    (found,) = yee.run_batch(
        [problem], [lambda first, block: taken.append(block.copy())], precision=precision, final=True,
        scheme="resident", on=cuda_device, planes=planes,
    )  # fmt: skip
    assert_as_the_oracle(problem, found, np.concatenate(taken), precision)


def test_bits_do_not_depend_on_the_batch(cuda_device: CudaDevice) -> None:
    """Nor on the launches: clusters of four lattices, and more antennas than clusters that fit at a time."""
    problems = [random_problem(**CASES[case], steps=700 + 7 * at) for at, case in enumerate(CASES)] * 12
    together = yee.run_batch(problems, [None] * len(problems), final=True, scheme="resident", on=cuda_device)
    for at in range(len(CASES)):
        (alone,) = yee.run_batch([problems[at]], [None], final=True, scheme="resident", on=cuda_device)
        for name in ("final", "sums", "energy"):
            np.testing.assert_array_equal(getattr(together[at], name), getattr(alone, name))
            np.testing.assert_array_equal(getattr(together[-len(CASES) + at], name), getattr(alone, name))
