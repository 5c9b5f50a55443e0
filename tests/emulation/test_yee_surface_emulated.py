"""Spectra, powers and far fields of Huygens boxes on a device, run on the CPU by the emulation, against NumPy.

Both sides sum in double precision, in other orders. A sum of N terms of one size has N times the rounding at most, and
about its root: 1e-13 for 1e4 terms. Measured: 1e-14 of the largest.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_device import HostDevice

from fdtd import yee as space
from fdtd.backends import cuda
from fdtd.backends.cuda import yee_packing, yee_surface
from fdtd.backends.cuda.yee_surface import OnDevice, Take
from fdtd.farfield.box import HuygensBox
from fdtd.schemes.machine import HOPPER
from fdtd.yee.grid import Grid
from fdtd.yee.surface import Far, OnHost, Surface

sys.path += [str(Path(__file__).parents[1] / name) for name in ("agreement", "compilation")]
from nvrtc import compile_for
from port_problems import GUIDE_HZ, guide_scene, lumped_scene

BOUND = 1e-13
FREQUENCIES = np.array([8e9, 9e9, 10e9, 11e9, 12.5e9])  # more than a thread sums at once
SAMPLES = 70
HOLES = {"closed": None, "guide": ((3, 6), (3, 7))}
# Layers in front of the faces, magnetic walls, and mirrors; the others without layers are grounds.
FACES = {
    "open": ((2, 2, 2, 2, 2, 2), (), ()),
    "on a plane": ((2, 2, 2, 2, 0, 2), (), ()),
    "in a corner": ((2, 0, 0, 2, 2, 0), ("x+", "z+"), ()),
    "a half": ((2, 2, 0, 2, 2, 2), ("y-",), ()),
    "a quarter": ((0, 2, 2, 0, 2, 2), ("y+",), ("x-",)),
}


def surface(faces: str, hole: str, seed: int = 1) -> Surface:
    """Graded planes; more columns than are held at a time."""
    rng = np.random.default_rng(seed)
    layers, magnetic, mirrors = FACES[faces]
    x, y, z = (np.cumsum(rng.uniform(0.6e-3, 1.2e-3, count)) - 6e-3 for count in (12, 44, 13))
    grid = Grid(x=x, y=y, z=z, layers=layers, magnetic=magnetic, mirrors=mirrors)
    planes = tuple((low + bool(low), len(axis) - 1 - high - bool(high)) for axis, low, high in zip(
        (x, y, z), layers[::2], layers[1::2], strict=True
    ))  # fmt: skip
    return Surface(
        box=HuygensBox(grid, planes, HOLES[hole]),
        lossy=rng.uniform(0, 1, (3, 37 * seed)),
        frequencies=FREQUENCIES,
        interval=9 * grid.dt,
        theta=np.concatenate([np.linspace(0, np.pi, 30), np.full(40 * seed, np.pi / 2)]),
        phi=rng.uniform(0, 2 * np.pi, 30 + 40 * seed),
    )


@lru_cache
def noise(size: int, precision: str) -> np.ndarray:
    return np.random.default_rng(size).standard_normal((SAMPLES, size)).astype(precision)


RATES = np.array([-2e9 + 60e9j, -2e9 - 60e9j, -1e9 + 50e9j, -1e9 - 50e9j])


def on_device(
    surfaces: list[Surface], precision: str, held: int = SAMPLES, portion: int = SAMPLES, device: Any = None
) -> list[Far]:
    """Rings of some rows, emptied in portions."""
    device = device or HostDevice()
    gathering = OnDevice(device, surfaces)
    rings = [np.full((held, one.size), np.nan, precision) for one in surfaces]
    starts = np.cumsum([0, *(ring.size for ring in rings)])
    record = np.concatenate([ring.ravel() for ring in rings])
    for first in range(0, SAMPLES, portion):
        end = min(first + portion, SAMPLES)
        for at, one in enumerate(surfaces):
            ring = record[starts[at] : starts[at + 1]].reshape(held, -1)
            ring[np.arange(first, end) % held] = noise(one.size, precision)[first:end]
        gathering.add(
            device.upload(record),
            [Take(antenna=at, start=int(starts[at]), held=held, first=first, end=end) for at in range(len(surfaces))],
        )
    for one in gathering.takers:
        one.ring_on(RATES, 20)
    return gathering.far()


def on_host(surfaces: list[Surface], precision: str) -> list[Far]:
    gathering = OnHost(surfaces)
    for one, taker in zip(surfaces, gathering.takers, strict=True):
        taker(0, noise(one.size, precision))
        taker.ring_on(RATES, 20)
    return gathering.far()


def numbers(far: Far) -> dict[str, np.ndarray]:
    return {
        "field": far.field,
        "flux": far.flux,
        "losses": far.losses,
        "voltage": far.voltage,
        "spectra": far.spectra(),
    }


@pytest.mark.parametrize(("faces", "hole"), [(name, "closed") for name in FACES] + [("open", "guide")])
def test_far_fields_and_powers_are_those_of_the_host(faces: str, hole: str) -> None:
    own = surface(faces, hole)
    assert max(patch.weights.shape[1] for patch in own.box.patches) > yee_surface.CHUNK
    found, expected = (numbers(solve([own], "float64")[0]) for solve in (on_device, on_host))
    for name, value in expected.items():
        assert found[name].shape == value.shape
        assert np.abs(value).max() > 0
        assert np.abs(found[name] - value).max() <= BOUND * np.abs(value).max(), name


def test_samples_in_single_precision_are_summed_in_double() -> None:
    """The host sums them in single precision: 70 samples lose 4 of 7 digits' last at most."""
    own = surface("open", "closed")
    found, expected = (numbers(solve([own], "float32")[0]) for solve in (on_device, on_host))
    gathering = OnHost([own])
    gathering.takers[0](0, noise(own.size, "float32").astype(float))
    gathering.takers[0].ring_on(RATES, 20)
    (far,) = gathering.far()
    for name, value in numbers(far).items():
        assert np.abs(found[name] - value).max() <= BOUND * np.abs(value).max(), name
        assert np.abs(expected[name] - value).max() <= 2e-6 * np.abs(value).max(), name


def test_an_antenna_has_the_same_bits_in_any_batch_and_portions() -> None:
    """Antennas of other lattices, walls, losses and directions; rings that are emptied a few samples at a time."""
    surfaces = [surface("open", "closed"), surface("in a corner", "closed", 2), surface("open", "guide", 3)]
    together = on_device(surfaces, "float32")
    for portion, held in ((7, 20), (20, 20), (33, 50)):
        for far, other in zip(together, on_device(surfaces, "float32", held, portion), strict=True):
            for name, value in numbers(far).items():
                np.testing.assert_array_equal(value, numbers(other)[name])
    for own, far in zip(surfaces, together, strict=True):
        (alone,) = on_device([own], "float32")
        for name, value in numbers(far).items():
            np.testing.assert_array_equal(value, numbers(alone)[name])


def test_without_a_sample_nothing_is_radiated() -> None:
    own = surface("open", "closed")
    (far,) = OnDevice(HostDevice(), [own]).far()
    for name, value in numbers(far).items():
        assert not value.any(), name


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> HostDevice:
    """The process's device is the emulation of one without clusters, whose emulation takes longer."""
    found = HostDevice(replace(HOPPER, capability=80))
    monkeypatch.setattr(cuda, "device", lambda: found)
    return found


SOLVED = ("s11", "radiated_power", "box_power", "dissipated_power", "far_field", "voltage")


def solved(scenes: list, backend: str, *, extrapolate: bool = True) -> list[space.Solution]:
    return space.solve_batch(
        [scene for scene, _ in scenes],
        [grid for _, grid in scenes],
        GUIDE_HZ,
        max_steps=600,
        theta_deg=np.array([0.0, 60.0]),
        stepper=space.Stepper(backend=backend, precision="float64", extrapolate=extrapolate),
    )


@pytest.mark.slow
@pytest.mark.usefixtures("device")
def test_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two antennas, one of which rings on: those of the CPU; to the bit the same alone and in small rings."""
    scenes = [guide_scene(), lumped_scene()]
    together = solved(scenes, "cuda")
    angles = np.array([10.0, 100.0]), np.array([20.0, 200.0])
    for one, other in zip(together, solved(scenes, "cpu"), strict=True):
        for name in SOLVED:
            a, b = getattr(one, name), getattr(other, name)
            assert np.abs(a - b).max() <= 1e-9 * np.abs(b).max(), name
        a, b = (solution.field_towards(*angles) for solution in (one, other))
        assert np.abs(a - b).max() <= 1e-9 * np.abs(b).max()
    (cut_off,) = solved(scenes[1:], "cpu", extrapolate=False)
    rest = np.abs(cut_off.radiated_power / together[1].radiated_power - 1)
    assert rest.min() > 1e-4  # so the spectra were continued
    monkeypatch.setattr(yee_packing, "FITTED", 15)  # samples after the pulse; 40 are taken
    monkeypatch.setattr(yee_packing, "RECORD_BYTES", 1)
    (alone,) = solved(scenes[1:], "cuda")
    for name in SOLVED:
        np.testing.assert_array_equal(getattr(together[1], name), getattr(alone, name))


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_compiles(precision: str, capability: int) -> None:
    text = yee_surface.text(precision)
    assert compile_for(text, f"sm_{capability}", "--fmad=false").startswith(b"\x7fELF")
