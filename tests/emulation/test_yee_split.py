"""One lattice over several devices, emulated on the CPU: bits are those of one device, whatever runs first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from host_device import HostDevice
from host_set import HostSet
from split_problems import posed

from fdtd import yee as space
from fdtd.backends import cuda
from fdtd.backends.cuda import yee, yee_packing
from fdtd.backends.cuda.device_set import CudaSet
from fdtd.backends.cuda.text import flatten
from fdtd.backends.cuda.yee_packing import pack
from fdtd.backends.cuda.yee_slabs import cuts
from fdtd.backends.cuda.yee_split import Split
from fdtd.errors import ConfigError
from fdtd.yee.problem import Problem, Records

sys.path += [str(Path(__file__).parents[1] / name) for name in ("agreement", "compilation")]
from nvrtc import compile_for
from port_problems import lumped_scene

STEPS = 40
LAYERS, WALLS = "layers all round, lossy", "magnetic walls"
Found = tuple[Records, np.ndarray]


def taken(step: Callable[..., Records], problem: Problem, **how: Any) -> Found:
    """Records and samples."""
    blocks: list[np.ndarray] = []
    records = step(problem, lambda first, block: blocks.append(block.copy()), **how)
    return records, np.concatenate(blocks)


def one_step(problem: Problem, take: Any, **how: Any) -> Records:
    """What several devices are compared with."""
    return yee.run_batch([problem], [take], final=True, scheme="one_step", on=HostDevice(), **how)[0]


@lru_cache
def alone(case: str, precision: str = "float32") -> Found:
    return taken(one_step, posed(case, STEPS), precision=precision)


def same(found: Found, expected: Found) -> None:
    """Fields, sums, energy and samples are equal to the bit, and not zero."""
    assert found[0].steps == expected[0].steps
    for name in ("final", "sums", "energy"):
        one, other = getattr(found[0], name), getattr(expected[0], name)
        assert np.abs(other).max() > 0
        np.testing.assert_array_equal(one, other, err_msg=name)
    np.testing.assert_array_equal(found[1], expected[1])


# The first node of each slab: layers of 5 and 4 planes in one slab, across slabs, and slabs of two planes within them.
@pytest.mark.parametrize(
    ("case", "starts"),
    [
        (LAYERS, [0, 22]),
        (LAYERS, [0, 11, 22]),
        (LAYERS, [0, 2, 4, 19, 22]),
        pytest.param(LAYERS, [0, 5, 17, 20, 22], marks=pytest.mark.slow),
        (WALLS, [0, 7, 14]),
        pytest.param(WALLS, [0, 3, 11, 14], marks=pytest.mark.slow),
        ("closed", [0, 4, 8, 12, 15]),
        ("layers as thick as may be", [0, 10, 13]),
    ],
)
def test_bits_are_those_of_one_device(case: str, starts: list[int]) -> None:
    """Media, layers, driven edges, sums and samples lie on both sides of all cuts."""
    devices = HostSet(len(starts) - 1, seed=len(starts))
    same(taken(yee.run_split, posed(case, STEPS), devices=devices, final=True, starts=starts), alone(case))


@pytest.mark.parametrize("seed", range(3))
def test_by_way_of_the_host(seed: int) -> None:
    devices = HostSet(3, seed, peers=False)
    same(taken(yee.run_split, posed("closed", STEPS), devices=devices, final=True), alone("closed"))


@pytest.mark.slow
def test_double_precision() -> None:
    found = taken(yee.run_split, posed(WALLS, STEPS), devices=HostSet(2), final=True, precision="float64")
    same(found, alone(WALLS, "float64"))


@pytest.mark.parametrize("name", ["e", "e above", "plane of e", "h", "h below", "plane of h"])
def test_each_wait_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one of the waits of a step, some order gives other numbers: the orders tried find a missing one."""
    whole = Split._await
    monkeypatch.setattr(Split, "_await", lambda own, *of: None if of[-1] == name else whole(own, *of))
    with pytest.raises(AssertionError, match="not equal"):
        for seed in range(8):
            found = taken(yee.run_split, posed("closed", STEPS), devices=HostSet(3, seed, peers=False), final=True)
            same(found, alone("closed"))


@pytest.mark.parametrize("name", ["sample before", "gathered", "sample of the same step"])
def test_each_wait_of_a_sample_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples are sent while steps go on; the last one is of the step whose look stops the lattice."""
    problem = posed(LAYERS, 63)
    problem = replace(problem, sampling=replace(problem.sampling, decay=0.8, settled=20))
    expected = taken(one_step, problem)
    assert expected[0].steps < 63
    assert expected[0].steps % problem.sampling.record_every == 0
    same(taken(yee.run_split, problem, devices=HostSet(2, 3), final=True), expected)
    whole = Split._follow
    monkeypatch.setattr(Split, "_follow", lambda own, *of: None if of[0] == name else whole(own, *of))
    with pytest.raises(AssertionError, match="not equal"):
        for seed in range(8, 16):
            same(taken(yee.run_split, problem, devices=HostSet(1 + seed % 2, seed), final=True), expected)


def test_it_stops_at_the_same_look() -> None:
    """After a look all devices stop, though the host has started more steps."""
    problem = posed(LAYERS, 63)
    problem = replace(problem, sampling=replace(problem.sampling, decay=0.8, settled=20))
    expected = taken(one_step, problem)
    assert 20 < expected[0].steps < 63
    seen: list[int] = []
    same(taken(yee.run_split, problem, devices=HostSet(2), final=True, look=lambda n, level: seen.append(n)), expected)
    assert seen == list(range(9, expected[0].steps + 1, 9))


def test_a_ring_of_samples_that_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host takes samples as often as rings are full, and none is lost."""
    problem = posed("closed", STEPS)
    for name in ("RECORD_BYTES", "FITTED"):
        monkeypatch.setattr(yee_packing, name, 1)
    assert pack(problem, "float32").counts["HELD"] == 6
    same(taken(yee.run_split, problem, devices=HostSet(2), final=True), alone("closed"))


def test_a_whole_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """S11 and far field of a patch, whose samples stay on the first device: the bits of one that is stepped alike."""
    devices = HostSet(2)
    monkeypatch.setattr(cuda, "device_set", lambda count: devices)
    monkeypatch.setattr(cuda, "device", lambda: devices.devices[0])
    monkeypatch.setattr(yee, "groups", lambda packed, *_: [("one_step", range(len(packed)))])
    scene, grid = lumped_scene()
    found, expected = (
        space.solve(scene, grid, [8e9, 10e9], max_steps=160, stepper=space.Stepper(backend="cuda", devices=count))
        for count in (2, 1)
    )
    for name in ("s11", "far_field", "box_power", "radiated_power"):
        assert np.abs(getattr(expected, name)).max() > 0
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_planes_are_dealt_out_by_their_work() -> None:
    """A plane in a layer counts more; a lattice with too few planes is refused in one line."""
    packed = pack(posed(LAYERS, STEPS), "float32")
    assert cuts(packed, 1) == [0, 22]
    assert np.diff(cuts(packed, 4)).tolist() == [5, 6, 6, 5]
    assert np.diff(cuts(packed, 11)).tolist() == [2] * 11
    with pytest.raises(
        ConfigError, match="devices = 12 need 24 planes along z, and the lattice has 22; use at most 11"
    ):
        yee.run_split(posed(LAYERS, STEPS), None, devices=12)


@pytest.mark.parametrize(("backend", "devices"), [("cpu", 2), ("cuda", 0)])
def test_devices_of_a_backend_without_any(backend: str, devices: int) -> None:
    with pytest.raises(ConfigError, match=f"devices = {devices} is not allowed with backend {backend}"):
        space.solve(*lumped_scene(), [8e9], stepper=space.Stepper(backend=backend, devices=devices))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_compiles(precision: str) -> None:
    """What lies between steps, and copies between devices."""
    settings = {"REAL": {"float32": "float", "float64": "double"}[precision], "NUMBER": "unsigned char"}
    for text in (flatten("kernels/yee/slab.cu", settings), flatten("kernels/yee/copy_rows.cu", {})):
        assert compile_for(text, "sm_90").startswith(b"\x7fELF")


def test_devices_that_cannot_reach_each_other() -> None:
    """Copies go by way of the host then, and one warning says so; the runtime's answers are made up here."""
    joined: list[tuple[int, int]] = []
    current = [0]

    def device(number: int) -> Any:
        current[0] = number
        return nullcontext()

    def found(reach: Callable[[int, int], bool]) -> bool:
        made = object.__new__(CudaSet)
        runtime = SimpleNamespace(
            deviceCanAccessPeer=reach,
            deviceEnablePeerAccess=lambda other: joined.append((current[0], other)),
            CUDARuntimeError=RuntimeError,
        )
        made._cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime, Device=device))
        made._numbers = [0, 1, 2]
        return made._joined()

    assert found(lambda own, other: True)
    assert sorted(joined) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    said = "device 1 cannot reach the memory of device 2; planes are copied by way of the host"
    with pytest.warns(UserWarning, match=said) as warned:
        assert not found(lambda own, other: (own, other) != (1, 2))
    assert len(warned) == 1
