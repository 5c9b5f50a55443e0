"""One lattice over several devices: bits of one device, from graphs and by way of the host, also where it stops."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fdtd.backends.cuda import yee
from fdtd.backends.cuda.device import CudaDevice
from fdtd.backends.cuda.device_set import CudaSet
from fdtd.errors import DeviceError
from fdtd.yee.problem import Problem, Records

sys.path += [str(Path(__file__).parents[1] / name) for name in ("agreement", "emulation")]
from split_problems import posed
from test_yee import CASES

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:device . cannot reach the memory:UserWarning")]


def several(first: CudaDevice, count: int, **how: bool) -> CudaSet:
    try:
        return CudaSet(count, first, **how)
    except DeviceError as error:
        pytest.skip(str(error))


def taken(problem: Problem, on: CudaDevice | CudaSet, precision: str = "float32") -> tuple[Records, np.ndarray]:
    blocks: list[np.ndarray] = []

    def take(first: int, block: np.ndarray) -> None:
        blocks.append(block.copy())

    if isinstance(on, CudaSet):
        records = yee.run_split(problem, take, devices=on, precision=precision, final=True)
    else:
        (records,) = yee.run_batch([problem], [take], precision=precision, final=True, scheme="one_step", on=on)
    return records, np.concatenate(blocks)


def same(found: tuple[Records, np.ndarray], expected: tuple[Records, np.ndarray]) -> None:
    assert found[0].steps == expected[0].steps
    for name in ("final", "sums", "energy"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(expected[0], name), err_msg=name)
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("peers", [True, False])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_bits_are_those_of_one_device(cuda_device: CudaDevice, count: int, peers: bool, precision: str) -> None:
    devices = several(cuda_device, count, peers=peers)
    for case in CASES:
        problem = posed(case, 200)
        same(taken(problem, devices, precision), taken(problem, cuda_device, precision))


def test_it_stops_where_one_device_does(cuda_device: CudaDevice) -> None:
    problem = posed("layers all round, lossy", 900)
    problem = replace(problem, sampling=replace(problem.sampling, decay=0.5, settled=20))
    expected = taken(problem, cuda_device)
    assert expected[0].steps < 900
    same(taken(problem, several(cuda_device, 2)), expected)
