"""Clusters that hold an antenna in space each, on a device: against the oracle and one_step, alone and in batches."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fdtd.backends.cuda import yee
from fdtd.backends.cuda.device import CudaDevice
from fdtd.backends.cuda.yee_choice import plan_resident
from fdtd.backends.cuda.yee_packing import pack

sys.path += [str(Path(__file__).parents[1] / "agreement"), str(Path(__file__).parents[2] / "benchmarks")]
from gpu_space import patch
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


@pytest.mark.parametrize(("cells", "planes"), [((64, 64, 32), 2), ((52, 48, 38), 3)])
def test_a_patch_of_5000_steps(cuda_device: CudaDevice, cells: tuple[int, int, int], planes: int) -> None:
    """The last of three stays within 1e-5 of one_step: each component, over its largest in the run, every 50 steps."""
    packed = pack(replace(patch(cells, steps=5000), box=None), "float32")
    clusters = {"scheme": "resident", "spread": 0, "planes": planes}
    assert plan_resident([packed], "float32", cuda_device.limits, spread=0, planes=planes).chains == 0
    plain = yee.Batch(cuda_device, [packed], "float32")
    held = yee.Batch(cuda_device, [packed] * 3, "float32", 1, **clusters)  # type: ignore[arg-type]
    largest, apart = np.zeros(6), np.zeros(6)
    for end in range(50, 5001, 50):
        for batch in (plain, held):
            batch.advance(end)
        fields, others = plain.state(0), held.state(2)
        largest = np.maximum(largest, np.abs(fields).max(axis=(1, 2, 3)))
        apart = np.maximum(apart, np.abs(fields - others).max(axis=(1, 2, 3)))
    print("apart, of each component's largest:", *(f"{part:.2e}" for part in apart / largest))
    assert (apart < 1e-5 * largest).all()
    one, other = (batch.records(final=False)[-1] for batch in (plain, held))
    assert one.steps == other.steps == 5000
    assert np.abs(one.sums - other.sums).max() < 1e-5 * np.abs(one.sums).max()
