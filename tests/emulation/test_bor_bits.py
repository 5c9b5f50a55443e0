"""Every axisymmetric scheme is written to round as `one_step` does: from noise, through all that a cell can be.

Each sum of two products says which of them is fused (`rounded` in kernels/intrinsics.cuh), coefficients are multiplied
in one order, and a radial factor is what the scheme that computes it gets. Without that 2 to 15 % of all numbers
differed after one step, and after 10,000 on a device the schemes were 2.5e-5 of the largest magnitude apart. What a
compiler fuses is its own affair: the emulation is built with and without fused multiply-adds. On an H200 `trapezoidal`
and `resident` have the bits of `one_step` after 10,000 steps, `wavefront` is 4.7e-6 away (benchmarks/gpu_proof.py).
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import host_device
import numpy as np
import pytest
from host_device import HostDevice

from antennaopt.bench.problems import full_problem
from fdtd.backends.cuda.marching import AnyProblem, marching, schemes_of

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import random_problem

STEPS = 12


def lens() -> AnyProblem:
    """Two reference lenses: layers on all sides and in the feed, loss, cut metal, source, records."""
    return full_problem("bor", (64, 128), STEPS, 2)


def anything() -> AnyProblem:
    """Random media, metal and layers; nodes are not coupled, which tiles and clusters refuse."""
    problem = random_problem(7, 1, 2, shape=(61, 91), steps=STEPS)
    return replace(problem, media=replace(problem.media, coupling=None))


def fields(problem: AnyProblem, scheme: str) -> np.ndarray:
    ready = marching(problem, HostDevice(), scheme)
    ready.advance(STEPS)
    return ready.fields()


def fused_multiply_adds() -> bool:
    cpu = Path("/proc/cpuinfo")
    return cpu.exists() and " fma " in cpu.read_text("utf-8")


@pytest.mark.parametrize(
    ("problem", "fused"),
    [
        pytest.param(lens, True, marks=pytest.mark.slow),
        (anything, False),
        pytest.param(lens, False, marks=pytest.mark.slow),
        pytest.param(anything, True, marks=pytest.mark.slow),
    ],
)
def test_the_bits_of_one_step(monkeypatch: pytest.MonkeyPatch, problem: object, fused: bool) -> None:
    if fused and not fused_multiply_adds():
        pytest.skip("this processor has no fused multiply-add")
    if fused:
        monkeypatch.setattr(host_device, "_FLAGS", (*host_device._FLAGS, "-mfma"))
    posed = problem()  # pyright: ignore[reportCallIssue]
    assert np.abs(posed.initial).max() > 0
    expected = fields(posed, "one_step")
    for scheme in schemes_of("bor"):
        assert np.array_equal(fields(posed, scheme), expected), scheme
