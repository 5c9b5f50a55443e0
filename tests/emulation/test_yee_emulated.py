"""The kernels of rectilinear lattices, run on the CPU by the emulation, against the oracle; and they compile."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from host_device import HostDevice

from fdtd.backends.cuda import yee
from fdtd.backends.cuda.dry_device import DryDevice
from fdtd.backends.cuda.yee_packing import pack
from fdtd.yee.problem import Problem, Records

sys.path += [str(Path(__file__).parents[1] / name) for name in ("agreement", "compilation")]
from nvrtc import compile_for
from test_yee import CASES, random_problem
from yee_oracle import TOLERANCE, assert_as_the_oracle


def emulated(problems: list[Problem], precision: str) -> list[tuple[Records, np.ndarray]]:
    """Records and box samples."""
    blocks: list[list[np.ndarray]] = [[] for _ in problems]
    takers = [lambda first, block, into=into: into.append(block.copy()) for into in blocks]
    records = yee.run_batch(problems, takers, precision=precision, final=True, scheme="one_step", on=HostDevice())
    return [(one, np.concatenate(into)) for one, into in zip(records, blocks, strict=True)]


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("case", CASES)
def test_fields_and_records_from_noise(case: str, precision: str) -> None:
    """Everything at once: graded planes, random media and metal on every edge, a port, layers or walls."""
    problem = random_problem(**CASES[case], steps=60)
    ((found, taken),) = emulated([problem], precision)
    assert found.steps == 60
    assert_as_the_oracle(problem, found, taken, precision)


def test_an_antenna_is_the_same_alone_and_in_a_batch() -> None:
    """Two antennas of other sizes, layers, steps and stops: to the bit."""
    problems = [random_problem(**CASES[case], steps=steps) for case, steps in (("closed", 45), ("magnetic walls", 31))]
    problems[0] = replace(problems[0], source=None, sampling=replace(problems[0].sampling, decay=0.95))
    together = emulated(problems, "float32")
    for problem, (records, taken) in zip(problems, together, strict=True):
        ((alone, alone_taken),) = emulated([problem], "float32")
        assert alone.steps == records.steps
        for name in ("final", "sums", "energy"):
            np.testing.assert_array_equal(getattr(records, name), getattr(alone, name))
        np.testing.assert_array_equal(taken, alone_taken)
    assert together[0][0].steps < 45


@pytest.mark.parametrize("capability", [pytest.param(80, marks=pytest.mark.slow), 90])
@pytest.mark.parametrize("precision", [pytest.param("float64", marks=pytest.mark.slow), "float32"])
def test_compiles(precision: str, capability: int) -> None:
    """What a batch asks a device for, with media that fit in a byte and with more."""
    problem = random_problem(**CASES["closed"], steps=1)
    plain = replace(problem.media, permittivity=np.ones_like(problem.media.permittivity))
    plain = replace(plain, conductivity=np.zeros_like(plain.conductivity))
    device = DryDevice()
    for media in (problem.media, plain):
        yee.Batch(device, [pack(replace(problem, media=media), precision)], precision)
    assert {"#define NUMBER unsigned char", "#define NUMBER unsigned short"} <= {
        line for text in device.texts for line in text.splitlines()
    }
    for text in device.texts:
        assert compile_for(text, f"sm_{capability}").startswith(b"\x7fELF")
