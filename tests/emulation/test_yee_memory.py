"""Where a device has too little memory for two places of the fields, a large lattice is stepped by `one_step`."""

from __future__ import annotations

import sys
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_device import HostDevice, HostProgram

from fdtd.backends.cuda import yee, yee_choice
from fdtd.backends.cuda.yee_choice import groups, plan_tiles, unposed
from fdtd.backends.cuda.yee_packing import pack
from fdtd.errors import OutOfMemory, Unsuitable
from fdtd.schemes.machine import HOPPER
from fdtd.yee.problem import Problem, Records

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from test_yee import random_problem

CASE: dict[str, Any] = {"counts": (66, 20, 15), "layers": (5, 6, 4, 5, 3, 4), "magnetic": ()}


class SmallDevice(HostDevice):
    """A host device whose arrays must not exceed `most` bytes together.

    Attributes:
        free: What it says is free.
        stepped: Names of the kernels of each program that was asked for.
    """

    def __init__(self, most: int, free: int) -> None:
        super().__init__()
        self.most, self.free, self.taken, self.stepped = most, free, 0, []

    def _counted(self, made: np.ndarray) -> np.ndarray:
        if self.taken + made.nbytes > self.most:
            raise OutOfMemory(f"no room for {made.nbytes} bytes")
        self.taken += made.nbytes
        weakref.finalize(made, self._release, made.nbytes)
        return made

    def _release(self, size: int) -> None:
        self.taken -= size

    def upload(self, array: np.ndarray, copies: int = 1) -> np.ndarray:
        return self._counted(super().upload(array, copies))

    def zeros(self, count: int, dtype: np.dtype | type) -> np.ndarray:
        return self._counted(super().zeros(count, dtype))

    def free_bytes(self) -> int:
        return self.free

    def program(self, text: str, place: int = 0) -> HostProgram:
        self.stepped += [name for name in ("pass_2", "phase_0") if f" {name}(" in text]
        return super().program(text, place)


@pytest.fixture
def worth_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every lattice is worth tiles, and does not fit in registers."""

    def refuse(*_: Any, **__: Any) -> None:
        raise Unsuitable("too large")

    monkeypatch.setattr(yee_choice, "plan_resident", refuse)
    monkeypatch.setattr(yee_choice, "WORTH_TILES", 0.0)
    monkeypatch.setattr(yee_choice, "LEAST_STORED", 0.0)


def posed() -> Problem:
    problem = random_problem(**CASE, steps=20)
    return replace(problem, sampling=replace(problem.sampling, record_every=2, check_every=10))


def stepped(on: HostDevice, scheme: str | None = None) -> tuple[Records, np.ndarray]:
    blocks: list[np.ndarray] = []
    keep = [lambda first, block: blocks.append(block.copy())]
    (found,) = yee.run_batch([posed()], keep, final=True, scheme=scheme, on=on)
    return found, np.concatenate(blocks)


def least(scheme: str) -> int:
    """Bytes of a device that a scheme takes."""
    device = SmallDevice(most=1 << 40, free=1 << 40)
    batch = yee.Batch(device, [pack(posed(), "float32")], "float32", scheme=scheme)
    assert batch.antennas
    return device.taken


@pytest.mark.usefixtures("worth_tiles")
@pytest.mark.parametrize(
    "says",
    [pytest.param(False, id="while allocating"), pytest.param(True, id="by the free memory", marks=pytest.mark.slow)],
)
def test_one_step_steps_what_has_no_room_for_tiles(says: bool) -> None:
    """The device has memory for one place of the fields and half of the second; bits are those of tiles."""
    expected, samples = stepped(HostDevice())
    most = (least("one_step") + least("trapezoidal")) // 2
    device = SmallDevice(most, free=most if says else 1 << 40)
    found, taken = stepped(device)
    assert device.stepped == ["phase_0"]
    for name in ("final", "sums", "energy"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(taken, samples)


@pytest.mark.usefixtures("worth_tiles")
def test_what_was_asked_for_by_name_has_no_substitute() -> None:
    with pytest.raises(OutOfMemory):
        stepped(SmallDevice((least("one_step") + least("trapezoidal")) // 2, free=1 << 40), "trapezoidal")
    with pytest.raises(OutOfMemory):
        stepped(SmallDevice(least("one_step") - 1, free=1 << 40))


@pytest.mark.usefixtures("worth_tiles")
def test_an_antenna_has_the_memory_of_the_one_before() -> None:
    device = SmallDevice(int(1.1 * least("trapezoidal")), free=1 << 40)
    problem = replace(posed(), box=None)
    yee.run_batch([problem] * 2, [None] * 2, on=device)
    assert device.stepped == ["pass_2"] * 2
    assert device.taken == 0


def test_tiles_are_planned_by_the_memory_that_is_free() -> None:
    """256^3 cells take about twice the memory of one place; 1/0.8 of what the plan counts must be free."""
    counts = unposed((256, 256, 256), 10, 80_000)
    plan = plan_tiles(counts, "float32", HOPPER)
    assert plan is not None
    one = 4 * 6 * 258 * 258 * 264
    assert 2 * one < plan.memory_bytes < 3 * one
    assert plan_tiles(counts, "float32", HOPPER, int(1.26 * plan.memory_bytes)) is not None
    assert plan_tiles(counts, "float32", HOPPER, int(1.24 * plan.memory_bytes)) is None


def test_an_antenna_without_room_for_tiles_is_stepped_alone() -> None:
    """By `one_step`, which has memory for one such antenna, and not in the batch of the others."""
    small = pack(replace(random_problem(**CASE, steps=1), source=None, probe=None), "float64")
    large = replace(small, counts=unposed((256, 256, 256), 10, 80_000))
    assert ("one_step", [1]) in groups([small, large, small], "float32", HOPPER, 1 << 30)
    assert ("trapezoidal", [1]) in groups([small, large, small], "float32", HOPPER, 1 << 34)


@pytest.mark.usefixtures("worth_tiles")
def test_the_plan_counts_what_the_device_holds() -> None:
    """Fields, memories and numbers of media are nearly all but the media, of which each edge here has its own."""
    packed = pack(replace(posed(), box=None), "float32")
    plan = plan_tiles(packed.counts, "float32", HOPPER)
    assert plan is not None
    device = SmallDevice(1 << 40, 1 << 40)
    batch = yee.Batch(device, [packed], "float32", scheme="trapezoidal")
    assert batch.antennas
    media = sum(packed.arrays[name].nbytes for name in ("factors", "permittivity"))
    assert plan.memory_bytes == pytest.approx(device.taken - media, rel=0.03)
