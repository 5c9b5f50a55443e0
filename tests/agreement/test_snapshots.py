"""Fields over time: both backends keep the same frames, and keeping them changes nothing else."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_problems import random_problem

from fdtd.axisymmetric.monitors import Snapshots
from fdtd.axisymmetric.problem import Problem
from fdtd.backends import cpu, reference
from fdtd.backends.cuda.packing import pack
from fdtd.errors import ConfigError, Unsuitable

# Of each component's largest value over all frames. One rounding a step, all of one sign, are 120 * 2^-53 = 1.3e-14 and
# 120 * 2^-24 = 7e-6; four times and twice that, as a step rounds more than once. Measured: 1.1e-14 and 5e-6.
TOLERANCE = {"float64": 5.2e-14, "float32": 1.4e-5}


def with_frames(problem: Problem, **changes) -> Problem:
    wanted = {"every": 7, "frames": 30, "rows": (3, 38), "columns": (0, 25)} | changes
    return dataclasses.replace(problem, snapshots=Snapshots(**wanted))


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(("every", "stride"), [(7, 1), (40, 3), (1, 2)])
def test_frames_agree_with_the_oracle(order: int, precision: str, every: int, stride: int) -> None:
    """Frames between, at and more often than the stepper's own stops (16 levels a sweep, a look every 40 steps)."""
    problem = with_frames(
        random_problem(seed=60 + order, order=order, batch=2, steps=120), every=every, stride=stride, antenna=1
    )
    measured = cpu.run(problem, precision=precision).snapshots
    expected = reference.run(problem).snapshots
    assert measured is not None and expected is not None
    assert measured.shape == expected.shape == (min(120 // every, 30), 3, -(-35 // stride), -(-25 // stride))
    scale = np.abs(expected).max(axis=(0, 2, 3))
    difference = np.abs(np.asarray(measured, dtype=float) - expected).max(axis=(0, 2, 3))
    assert (difference <= TOLERANCE[precision] * scale).all(), difference / scale


def test_the_last_frame_is_the_final_field() -> None:
    """A frame after the last step holds what `final` holds, to the bit."""
    problem = with_frames(random_problem(seed=1, order=1, steps=120), every=60)
    for records in (cpu.run(problem), reference.run(problem)):
        assert records.snapshots is not None and records.final is not None
        np.testing.assert_array_equal(records.snapshots[1], records.final[0, :3, 3:38, 0:25])


@pytest.mark.parametrize("precision", TOLERANCE)
def test_keeping_frames_changes_no_bit(precision: str) -> None:
    """Sweeps that stop for a frame give what whole ones give."""
    plain = random_problem(seed=8, order=1, batch=2)
    with_them, without = cpu.run(with_frames(plain), precision=precision), cpu.run(plain, precision=precision)
    assert without.snapshots is None
    for name in ("final", "field_map", "energy", "steps"):
        np.testing.assert_array_equal(getattr(with_them, name), getattr(without, name))
    for index in range(2):
        np.testing.assert_array_equal(with_them.port[index], without.port[index])
        np.testing.assert_array_equal(with_them.contour[index], without.contour[index])


def test_an_antenna_that_stops_early_has_fewer_frames() -> None:
    """As many as it took steps; the others of the batch, which go on, add none."""
    problem = random_problem(seed=41, order=1, batch=4, steps=2800, decay=3e-3, start=False, lossy=True)
    steps = reference.run(problem).steps
    antenna = int(np.argmin(steps))
    assert steps[antenna] < steps.max()
    for run in (cpu.run, reference.run):
        frames = run(with_frames(problem, every=40, frames=1000, antenna=antenna)).snapshots
        assert frames is not None and len(frames) == steps[antenna] // 40


@pytest.mark.parametrize("change", [{"every": 0}, {"frames": 0}, {"stride": 0}])
def test_what_makes_no_frames_is_refused(change: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="must be >= 1"):
        with_frames(random_problem(seed=1, order=1), **change)


def test_the_device_refuses_them() -> None:
    """Rather than come back without."""
    with pytest.raises(Unsuitable, match="use backend cpu"):
        pack(with_frames(random_problem(seed=1, order=1)), "float32", lead=16, pitch=64)
