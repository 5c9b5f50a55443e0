"""Chains of blocks that hold an antenna in space each, on a device: against the oracle and one_step, in batches."""

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
from yee_oracle import TOLERANCE, assert_as_the_oracle

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(60)]


@pytest.mark.parametrize("tuning", [{"planes": 1}, {"planes": 2}, {"columns": 3}, {"columns": 4, "planes": 1}])
@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("case", CASES)
def test_fields_and_records_from_noise(
    cuda_device: CudaDevice, case: str, precision: str, tuning: dict[str, int]
) -> None:
    """Three antennas in chains next to each other: each agrees with the oracle, and all have the same bits."""
    problem = random_problem(**CASES[case], steps=90)
    taken: list[np.ndarray] = []
    keep = lambda first, block: taken.append(block.copy())  # noqa: E731
    found, *others = yee.run_batch(
        [problem] * 3, [keep, None, None], precision=precision, final=True, scheme="resident", on=cuda_device,
        spread=1, **tuning,
    )  # fmt: skip
    assert_as_the_oracle(problem, found, np.concatenate(taken), precision)
    for other in others:
        for name in ("final", "sums", "energy"):
            np.testing.assert_array_equal(getattr(found, name), getattr(other, name))


@pytest.mark.parametrize("cells", [(96, 112, 40), (52, 48, 38)])
def test_a_patch_of_5000_steps(cuda_device: CudaDevice, cells: tuple[int, int, int]) -> None:
    """Turned where it is, alone and as one of seven: fields stay within 1e-5 of those of one_step."""
    problem = patch(cells, steps=5000)
    problem = replace(problem, box=None)
    (expected,) = yee.run_batch([problem], [None], final=True, scheme="one_step", on=cuda_device)
    (alone,) = yee.run_batch([problem], [None], final=True, on=cuda_device)
    together = yee.run_batch([problem] * 7, [None] * 7, final=True, on=cuda_device)
    assert expected.final is not None
    assert alone.final is not None
    # The field has decayed: errors are relative to the largest energy's field, as records are.
    scale = np.abs(expected.final).max() * np.sqrt(expected.energy.max() / expected.energy[-1])
    assert np.abs(alone.final - expected.final).max() < 1e-5 * scale
    assert np.abs(alone.sums - expected.sums).max() < 1e-5 * np.abs(expected.sums).max()
    for one in (together[0], together[-1]):
        for name in ("final", "sums", "energy"):
            np.testing.assert_array_equal(getattr(one, name), getattr(alone, name))
