"""A thin dipole along z on a rectilinear lattice: powers, pattern, and the same antenna cut by symmetry planes.

The dipole is a line of metal edges, 14 cells long with a gap of two, a third of a wavelength. Without loss what the
port gives must go through the Huygens box and arrive far away. Its pattern is that of a sine current: a directivity
between 1.5 (short) and 1.64 (half a wavelength), the same at every phi.

A magnetic wall through the dipole's axis cuts a quarter of space, an electric wall below its lower half makes it a
monopole with half the impedance. Both are the same numbers on the lattice, so only rounding differs.

Maxwell's equations have no length of their own: the same dipole 300 times as large, at 12 MHz, and a thirtieth as
large, at 108 GHz, has the same impedance. Layers with a pole at a fixed frequency (0.54 GHz) reflect at 12 MHz: they
gave 7.7 - 143j in place of 32.9 - 145j ohm at 11.7 MHz.

Measured: accepted, box and far-field power equal within 6e-4; directivity 1.570.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

from fdtd.yee import FACES, Block, Grid, LumpedPort, Scene, Solution, Stepper, solve

CELL = 2e-3
FREQUENCIES = np.array([3.5e9, 3.7e9])
ARMS, GAP, ROOM, LAYERS = 6, 1, 9, 8


@lru_cache
def solved(magnetic: tuple[str, ...] = (), ground: bool = False, backend: str = "cpu", size: float = 1) -> Solution:
    """The dipole, whole or cut by walls at x = 0, y = 0 and z = 0; `size` times as large as CELL says."""
    length, cell = ARMS + GAP, size * CELL
    closed = (*magnetic, *(("z-",) if ground else ()))
    spans = [(0 if f"{axis}-" in closed else -half, half) for axis, half in zip("xyz", (0, 0, length), strict=True)]
    planes, layers = [], []
    for axis, (low, high) in zip("xyz", spans, strict=True):
        below = 0 if f"{axis}-" in closed else ROOM + LAYERS
        planes.append(cell * np.arange(low - below, high + ROOM + LAYERS + 1))
        layers += [LAYERS if below else 0, LAYERS]
    grid = Grid(x=planes[0], y=planes[1], z=planes[2], layers=tuple(layers), magnetic=magnetic)  # type: ignore[arg-type]
    line = {"x": (0.0, 0.0), "y": (0.0, 0.0)}
    arms = (Block(**line, z=(GAP * cell, length * cell)), Block(**line, z=(-length * cell, -GAP * cell)))
    scene = Scene(
        blocks=arms[:1] if ground else arms,
        port=LumpedPort(
            x=0.0, y=0.0, z=(0.0 if ground else -GAP * cell, GAP * cell), resistance=25.0 if ground else 50.0
        ),
        open_faces=tuple(face for face in FACES if face not in closed),
        magnetic_faces=magnetic,
    )
    return solve(scene, grid, FREQUENCIES / size, stepper=Stepper(backend=backend))


def test_powers(measured: Callable[..., float]) -> None:
    solution = solved()
    assert solution.status == "ok"
    for name in ("box_power", "radiated_power"):
        apart = np.abs(getattr(solution, name) / solution.accepted_power - 1).max()
        measured(f"{name} over the accepted power, from 1", apart, at_most=2e-3)


def test_pattern(measured: Callable[..., float]) -> None:
    directivity = solved().directivity[0]
    measured("directivity", directivity.max(), at_least=1.52, at_most=1.64)
    assert directivity[:, solved().theta_deg == 0].max() < 1e-3
    assert directivity == pytest.approx(np.broadcast_to(directivity[0], directivity.shape), abs=5e-3)
    around = np.abs(solved().field_towards(np.full(3, 90.0), np.array([10.0, 100.0, 200.0]))[..., 0])
    assert around == pytest.approx(np.broadcast_to(around[:, :1], around.shape), rel=2e-3)


def test_symmetry_planes() -> None:
    whole, cut = solved(), solved(magnetic=("x-", "y-"))
    assert cut.s11 == pytest.approx(whole.s11, abs=1e-5)
    for name in ("accepted_power", "box_power", "radiated_power"):
        assert getattr(cut, name) == pytest.approx(getattr(whole, name), rel=1e-4), name
    assert cut.far_field == pytest.approx(whole.far_field, abs=1e-4 * np.abs(whole.far_field).max())


def test_monopole_over_an_electric_wall() -> None:
    """Half the impedance; the same field above ground for the same power, twice as directive, and none below."""
    whole, half = solved(), solved(ground=True)
    assert half.impedance == pytest.approx(whole.impedance / 2, rel=1e-4)
    assert half.radiated_power == pytest.approx(whole.radiated_power, rel=1e-3)
    above = np.abs(whole.theta_deg) <= 90
    doubled = 2 * whole.directivity[..., above]
    assert half.directivity[..., above] == pytest.approx(doubled, abs=2e-3 * doubled.max())
    assert not half.far_field[:, :, ~above].any()


@pytest.mark.slow
def test_backends_agree() -> None:
    found, expected = solved(), solved(backend="reference")
    assert found.s11 == pytest.approx(expected.s11, abs=1e-5)
    assert found.far_field == pytest.approx(expected.far_field, abs=1e-4 * np.abs(expected.far_field).max())


@pytest.mark.parametrize("size", [300.0, 1 / 30])
def test_size(size: float, measured: Callable[..., float]) -> None:
    apart = np.abs(solved(size=size).impedance / solved().impedance - 1).max()
    measured("change of the impedance with the size", apart, at_most=1e-5, size=size)
    assert solved(size=size).radiated_power == pytest.approx(solved().radiated_power, rel=1e-5)
