"""Halves of antennas that are symmetric about y = 0, next to a magnetic wall, against the whole on the same cells.

Every family that solves a half, each feed: the half's lattice, and that made of it and its image. The wall stands on a
plane of nodes, where H along it is zero by symmetry, so that both runs take the same steps with the same numbers. What
differs is the order of sums: of the far field, of powers, of spectra. Bound: 1e-12 in double precision, 1e-5 in single.

Measured: 1e-15 at most in both precisions: the fields have equal bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from antennas_in_space import SLOT_FED_BLOCK

from antennaopt.families import kind
from antennaopt.families.pixel_patch import metal_of
from antennaopt.solve.yee_plan import scene_of
from fdtd import yee

BOARD = {
    "substrate.permittivity": 2.2,
    "substrate.loss_tangent": 2e-3,
    "substrate.thickness": 1.6e-3,
    "substrate.margin": 4e-3,
    "feed.resistance": 50.0,
}
PATCH = BOARD | {"patch.length": 16.4e-3, "patch.width": 18e-3}
LINE = {"feed.line_width": 4.8e-3, "feed.line_length": 6e-3}
PIXELS = BOARD | {"pixels.length": 18e-3, "pixels.width": 18e-3, "pixels.columns": 4, "pixels.mirror": 1}
METAL = {f"pixels.metal.{place}": float(one) for place, one in enumerate((1, 1, 0, 1, 0, 1, 1, 1))}
DIPOLE = {"dipole.length": 24e-3, "dipole.width": 3e-3, "dipole.gap": 3e-3, "feed.resistance": 50.0}
CYLINDER = {
    "resonator.shape": 0,
    "resonator.radius": 8e-3,
    "resonator.height": 7e-3,
    "resonator.permittivity": 10.0,
    "resonator.loss_tangent": 1e-3,
    "ground.length": 24e-3,
    "ground.width": 24e-3,
    "feed.kind": 0,
    "feed.offset": 6e-3,
    "feed.height": 5e-3,
    "feed.resistance": 50.0,
}
ANTENNAS = {
    "probe": ("patch", PATCH | {"feed.kind": 0, "feed.offset": 4e-3, "feed.radius": 0.3e-3}),
    "inset": ("patch", PATCH | LINE | {"feed.kind": 1, "feed.inset_depth": 5e-3, "feed.inset_gap": 2e-3}),
    "edge": ("patch", PATCH | LINE | {"feed.kind": 2, "feed.line_width": 1e-3}),
    "pixels": ("pixel_patch", PIXELS | METAL | {"pixels.rows": 4, "feed.kind": 0, "feed.offset": 6e-3}),
    "pixels, odd rows": ("pixel_patch", PIXELS | METAL | LINE | {"pixels.rows": 3, "feed.kind": 1}),
    "dipole": ("strip_dipole", DIPOLE),
    "dipole, reflector": (
        "strip_dipole",
        DIPOLE | {"reflector.height": 10e-3, "reflector.length": 30e-3, "reflector.width": 20e-3},
    ),
    "resonator, pin": ("dielectric_resonator", CYLINDER),
    "resonator, slot": ("dielectric_resonator", SLOT_FED_BLOCK | {"substrate.loss_tangent": 0.01}),
}
BAND = np.array([5.4e9, 5.8e9, 6.2e9])
BOUND = {"float64": 1e-12, "float32": 1e-5}
STEPS = 800
COMPARED = (
    "s11", "impedance", "accepted_power", "radiated_power", "box_power", "dissipated_power", "far_field", "voltage",
)  # fmt: skip


def both(name: str) -> tuple[tuple[yee.Scene, yee.Grid], tuple[yee.Scene, yee.Grid]]:
    """Return the half of an antenna, and the whole on the half's cells and their images."""
    family, design = ANTENNAS[name]
    board = kind(family).of(design).board(design)
    assert board is not None and board.symmetric
    half, whole = (scene_of(board, 5.8e9, whole=one) for one in (False, True))
    grid = yee.layout(half, BAND, cell=2e-3, cells_per_wavelength=9, margin=6e-3, layers=6)
    assert grid.y[0] == 0.0 and grid.magnetic == ("y-",) and grid.copies == 2
    images = replace(grid, y=np.concatenate([-grid.y[:0:-1], grid.y]), layers=(6,) * 6, magnetic=())
    return (half, grid), (whole, images)


@pytest.mark.parametrize(("name", "precision"), [*((name, "float64") for name in ANTENNAS), ("probe", "float32")])
def test_a_half_is_the_whole(measured: Callable[..., float], name: str, precision: str) -> None:
    settings = {"theta_deg": np.arange(-180.0, 181.0, 20.0), "stepper": yee.Stepper(precision=precision)}
    half, whole = (yee.solve(*antenna, BAND, max_steps=STEPS, **settings) for antenna in both(name))
    assert half.steps == whole.steps and half.decay_db == pytest.approx(whole.decay_db, abs=1e-4)
    worst = 0.0
    for what in COMPARED:
        found, expected = getattr(half, what), getattr(whole, what)
        worst = max(worst, float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)))
    measured("half against whole", worst, at_most=BOUND[precision], antenna=name, precision=precision)


def test_any_direction_is_that_of_the_whole() -> None:
    """Behind the wall too: the far field that exports take, on both sides of the plane."""
    theta, phi = np.full(8, 50.0), np.arange(-170.0, 181.0, 45.0)
    fields = [
        yee.solve(*antenna, BAND, max_steps=160).field_towards(theta, phi) for antenna in both("dipole, reflector")
    ]
    assert np.abs(fields[0] - fields[1]).max() < 1e-5 * np.abs(fields[1]).max()


def test_settings_decide_not_values() -> None:
    """A line's offset of 0 and pixels that happen to be even are solved whole: others of the search are not even."""
    edge, pixels = ANTENNAS["edge"][1], {**ANTENNAS["pixels"][1], "pixels.mirror": 0, "pixels.metal": 1.0}
    assert metal_of({name: one for name, one in pixels.items() if "metal." not in name}).all()
    for family, design in (("patch", edge | {"feed.line_offset": 0.0}), ("pixel_patch", pixels)):
        board = kind(family).of(design).board({name: one for name, one in design.items() if "metal." not in name})
        assert board is not None and not board.symmetric
        assert scene_of(board, 5.8e9).magnetic_faces == ()
