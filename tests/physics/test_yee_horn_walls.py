"""A pyramidal horn on a lattice that follows its walls: powers, symmetry, mesh by mesh.

WR-90 to 50 x 36 mm over 50 mm, walls of no thickness, 9, 10 and 11 GHz; half of the horn next to a magnetic wall. The
power through the Huygens box is the accepted one within 4e-4 on every mesh: the port's power is the lattice's own flux.

The staircase changes the wave at the walls by the order of a cell. Measured with 12, 15, 20, 25, 30 cells a wavelength
at 11 GHz, S11 at 10 GHz: -0.052-0.123j, -0.047-0.115j, -0.040-0.113j, -0.034-0.111j, -0.031-0.111j; gain at 11 GHz:
13.90, 13.97, 14.01, 14.04, 14.05 dB. Both move one way, by less from mesh to mesh. On lines that do not follow the
walls S11 scatters: -0.087-0.109j, -0.032-0.125j, -0.090-0.101j, -0.045-0.102j, -0.037-0.113j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from fdtd.yee import FACES, GuidePort, Scene, Solution, Stepper, Tube, layout, solve

A, B = 22.86e-3, 10.16e-3
BAND = np.array([9e9, 10e9, 11e9])
APART = 11.5e-3


def horn(field: str = "x", *, half: bool = False, quarter: bool = False) -> Scene:
    """The horn with E along an axis; half of it is the part y >= 0, a quarter the part x >= 0 of that, E along x."""
    high, wide = (B / 2, B / 2, 18e-3), (A / 2, A / 2, 25e-3)
    x, y = (high, wide) if field == "x" else (wide, high)
    port = GuidePort(
        x=(0.0 if quarter else -x[0], x[0]),
        y=(0.0 if half or quarter else -y[0], y[0]),
        source=-2.5 * APART,
        planes=(-1.5 * APART, -APART / 2),
        reference=0.0,
        field=field,
    )
    return Scene(
        tubes=(Tube(z=(-np.inf, 0.0, 50e-3), x=x, y=y),),
        port=port,
        open_faces=tuple(face for face in FACES if face not in ("x-",) * quarter + ("y-",) * (half or quarter)),
        magnetic_faces=("y-",) if half or quarter else (),
        mirror_faces=("x-",) if quarter else (),
    )


@cache
def solved(cells: float, *, half: bool = True) -> Solution:
    scene = horn(half=half)
    grid = layout(scene, BAND, cells_per_wavelength=cells, layers=10)
    return solve(scene, grid, BAND, theta_deg=np.arange(-180.0, 181.0, 10.0), decay_db=-60.0)


def gain_db(found: Solution) -> np.ndarray:
    """On the axis, in reference to the accepted power."""
    return 10 * np.log10(found.directivity[:, 0, 18] * found.radiated_power / found.accepted_power)


def test_what_the_port_accepts_leaves_the_box(measured: Callable[..., float]) -> None:
    found = solved(12)
    assert found.status == "ok"
    measured("box power over accepted - 1", np.abs(found.box_power / found.accepted_power - 1).max(), at_most=3e-4)
    measured("radiated over accepted - 1", np.abs(found.radiated_power / found.accepted_power - 1).max(), at_most=0.01)


def test_half_a_horn_has_the_powers_of_the_whole(measured: Callable[..., float]) -> None:
    """Lines along y differ in the guide, where the half has one in its middle."""
    half, whole = solved(12), solved(12, half=False)
    for name in ("s11", "box_power", "radiated_power", "far_field"):
        one, other = getattr(half, name), getattr(whole, name)
        measured(f"{name}, half against whole", np.abs(one - other).max() / np.abs(other).max(), at_most=4e-3)


@pytest.mark.parametrize("face", ["x-", "x+"])
def test_a_quarter_is_the_whole_on_a_lattice_with_its_images(measured: Callable[..., float], face: str) -> None:
    """All of space in front of both walls, in double precision; the wall of E normal to it at either end of x."""
    cut = horn(quarter=True)
    grid = layout(cut, BAND, cells_per_wavelength=8, layers=6)
    x, y = (np.concatenate([-planes[:0:-1], planes]) for planes in (grid.x, grid.y))
    whole = horn(), replace(grid, x=x, y=y, layers=(6,) * 6, magnetic=(), mirrors=())
    if face == "x+":
        assert cut.port is not None
        other = {"open_faces": ("x-", "y+", "z-", "z+"), "mirror_faces": (face,)}
        cut = replace(cut, port=replace(cut.port, x=(-B / 2, 0.0)), **other)
        grid = replace(grid, x=-grid.x[::-1], layers=(6, 0, 0, 6, 6, 6), mirrors=(face,))
    angles = {"theta_deg": np.arange(-180.0, 181.0, 20.0), "stepper": Stepper(precision="float64")}
    one, other = (solve(*both, BAND, max_steps=320, **angles) for both in ((cut, grid), whole))
    for name in ("s11", "impedance", "box_power", "radiated_power", "far_field", "voltage"):
        found, expected = getattr(one, name), getattr(other, name)
        worst = np.abs(found - expected).max() / np.abs(expected).max()
        measured(f"{name}, a quarter against the whole, {face}", worst, at_most=1e-9)


def test_turned_by_90_degrees_it_is_the_same(measured: Callable[..., float]) -> None:
    """E along x or y: the same lattice turned. The cuts phi = 0 and 90 degrees change places, and so do components."""
    found = {}
    for field in "xy":
        scene = horn(field)
        grid = layout(scene, BAND, cells_per_wavelength=8)
        stepper = Stepper(precision="float64")
        found[field] = solve(scene, grid, BAND, max_steps=320, theta_deg=np.array([0.0, 20.0]), stepper=stepper)
    x, y = found["x"], found["y"]
    for name in ("s11", "impedance", "box_power", "radiated_power", "voltage"):
        one, other = getattr(x, name), getattr(y, name)
        measured(f"{name}, E along x against y", np.abs(one - other).max() / np.abs(other).max(), at_most=1e-9)
    e_planes = x.far_field[:, 0, :, 0], y.far_field[:, 2, :, 0]
    h_planes = -x.far_field[:, 2, :, 1], y.far_field[:, 0, :, 1]
    for one, other in (e_planes, h_planes):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.slow
def test_finer_meshes(measured: Callable[..., float]) -> None:
    """From 15 to 30 cells a wavelength; what is left from 30 on is about as much again, since errors are of order 1."""
    meshes = [solved(cells) for cells in (15, 20, 30)]
    for coarse, cells in zip(meshes[:2], (15, 20), strict=True):
        fine = meshes[-1]
        measured("S11 from 30 cells", np.abs(coarse.s11 - fine.s11).max(), at_most=0.05, cells_per_wavelength=cells)
        worst = np.abs(gain_db(coarse) - gain_db(fine)).max()
        measured("gain from 30 cells", worst, "dB", at_most=0.12, cells_per_wavelength=cells)
    far, near = (np.abs(one.s11 - meshes[-1].s11) for one in meshes[:2])
    assert (near < far).all()  # one way
    box = max(np.abs(one.box_power / one.accepted_power - 1).max() for one in meshes)
    measured("box power over accepted - 1, all meshes", box, at_most=1e-3)
