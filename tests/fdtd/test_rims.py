"""Coefficients around rims: the static field of a metal wedge must solve the lattice's equations.

With V = rho^nu sin(nu phi) and its conjugate W, fluxes of eps grad V through the lattice's faces are differences of W.
Corrected permittivities carry exactly those, so the discrete divergence around every open node is zero to rounding;
with permittivity 1 it is not. The same holds for E_phi with the inverse areas of the H faces in place of the
permittivity.
"""

from __future__ import annotations

import numpy as np
import pytest

from fdtd.axisymmetric.conductors import open_parts
from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.rims import edge_conditions
from fdtd.axisymmetric.scene import Dielectric, Rim, Scene, box

CELL = 0.25e-3
RADIUS = 40  # cells, far from the axis


def _scene(place: float, permittivity: float = 1.0, reaches: float = RADIUS) -> Scene:
    """A thick tube that ends at z = 0, its inner wall `place` cells beyond a node; a slab over it, if not air.

    The slab reaches some cells over the wall.
    """
    radius = (RADIUS + place) * CELL
    one = np.ones(1)
    slab = Dielectric(
        distance=box(-one, (radius + reaches * CELL) * one, 0 * one, 40 * CELL * one),
        permittivity=permittivity * one,
        loss_tangent=0 * one,
        r_max=2 * radius,
        z_min=0.0,
        z_max=40 * CELL,
    )
    return Scene(
        batch=1,
        dielectrics=(slab,) if permittivity != 1 else (),
        conductors=(box(radius * one, one, -one, 0 * one),),
        rims=(Rim(r=radius * one, z=0 * one, wall=0 * one, opening=1.5 * np.pi * one),),
    )


def _corrected(
    place: float, permittivity: float = 1.0, reaches: float = RADIUS
) -> tuple[AxisymmetricGrid, np.ndarray, np.ndarray, np.ndarray]:
    """Lattice, permittivity over open length of e_r and e_z, areas, and which nodes conduct."""
    grid = AxisymmetricGrid(nr=60, nz=40, cell=CELL, origin=20, courant_number=0.3 * courant_limit(1))
    scene = _scene(place, permittivity, reaches)
    length, area = open_parts(grid, scene)
    half = (np.arange(grid.nz) + 0.5)[:, None] > grid.origin
    level = np.arange(grid.nz)[:, None]
    layers = np.ones((1, 3, grid.nz, grid.nr))
    layers[0, 2] = np.where(half, permittivity, 1.0)
    layers[0, :2] = np.where(
        level > grid.origin, permittivity, np.where(level == grid.origin, (1 + permittivity) / 2, 1)
    )
    edge_conditions(grid, scene, layers, length, area)
    ratio = np.divide(layers[0], length[0], out=np.zeros_like(length[0]), where=length[0] > 0)
    return grid, ratio, area[0], length[0, 1] == 0


def _exponent(permittivity: float) -> float:
    """Of the rim with air inside the tube and a dielectric half-space above: tan^2(nu pi / 2) = 1 + 2 / eps."""
    return 2 / np.pi * np.arctan(np.sqrt(1 + 2 / permittivity))


def _potential(grid: AxisymmetricGrid, place: float, permittivity: float) -> np.ndarray:
    """V at the nodes; phi from the plane of the rim through the dielectric (half a turn) into the tube."""
    x = np.arange(grid.nr) - RADIUS - place
    y = np.arange(grid.nz)[:, None] - grid.origin
    nu = _exponent(permittivity)
    angle = np.mod(np.arctan2(y, x) + 1e-12, 2 * np.pi)
    upper = np.sin(nu * angle)
    lower = np.sin(nu * np.pi) / np.sin(nu * np.pi / 2) * np.sin(nu * (1.5 * np.pi - angle))
    return np.where(angle < 1.5 * np.pi, np.hypot(x, y) ** nu * np.where(y >= 0, upper, lower), 0.0)


def _divergence(v: np.ndarray, e_r: np.ndarray, e_z: np.ndarray) -> np.ndarray:
    """Sum of weight times difference over the four edges of the inner nodes."""
    flow_r, flow_z = e_r[:, :-1] * np.diff(v, axis=1), e_z[:-1] * np.diff(v, axis=0)
    return (flow_r[1:-1, 1:] - flow_r[1:-1, :-1]) + (flow_z[1:, 1:-1] - flow_z[:-1, 1:-1])


def _near(grid: AxisymmetricGrid, metal: np.ndarray, place: float = 0.0) -> np.ndarray:
    """Open inner nodes all of whose edges are within reach of the rim."""
    x, y = np.arange(grid.nr) - RADIUS - place, np.arange(grid.nz)[:, None] - grid.origin
    return ((np.hypot(x, y) < 1.6) & ~metal)[1:-1, 1:-1]


@pytest.mark.parametrize("permittivity", [1.0, 2.53, 3.8])
def test_field_of_the_wedge_has_no_charge(permittivity: float) -> None:
    """On the lattice, around a rim in air and under a dielectric (measured 7e-13; without correction 0.1 and more)."""
    grid, ratio, _, metal = _corrected(0.0, permittivity)
    v = _potential(grid, 0.0, permittivity)
    near = _near(grid, metal)
    assert near.sum() == 5
    assert np.abs(_divergence(v, ratio[0], ratio[2])[near]).max() < 1e-6
    plain = np.where(metal, 0.0, 1.0)
    assert np.abs(_divergence(v, plain, plain)[near]).max() > 0.1


def test_e_phi_is_harmonic() -> None:
    """The faces of H give E_phi its static field, whatever the media."""
    grid, _, area, metal = _corrected(0.0, 2.53)
    v = _potential(grid, 0.0, 1.0)
    near = _near(grid, metal)
    assert np.abs(_divergence(v, 1 / area[2], 1 / area[0])[near]).max() < 1e-6


@pytest.mark.parametrize("place", [0.4, 0.55, 0.8])
def test_walls_between_planes(place: float) -> None:
    """The same with cut edges; where the time step does not forbid it."""
    grid, ratio, _, metal = _corrected(place)
    v = np.where(metal, 0.0, _potential(grid, place, 1.0))
    near = _near(grid, metal, place)
    assert np.abs(_divergence(v, ratio[0], ratio[2])[near]).max() < 1e-6


def test_a_slab_that_ends_within_reach() -> None:
    """Edges keep their own permittivity: 2.53 over the rim, 1 where the slab has ended, on average at its end."""
    permittivity, reaches = 2.53, 1.3
    grid, ratio, _, _ = _corrected(0.0, permittivity, reaches)
    _, endless, _, _ = _corrected(0.0, permittivity)
    k, last = grid.origin, RADIUS + 1  # e_r of `last` stands 0.2 cells beyond the end, e_z 0.3 cells before it
    assert ratio[:, k - 3 : k] == pytest.approx(endless[:, k - 3 : k], rel=1e-8)
    assert ratio[2, k, :last] == pytest.approx(endless[2, k, :last], rel=1e-8)
    fraction = reaches - 1
    mixed = 1 / (fraction / permittivity + 1 - fraction)
    assert ratio[0, k + 1, last] == pytest.approx(endless[0, k + 1, last] * mixed / permittivity, rel=1e-8)
    assert ratio[2, k, last + 1] == pytest.approx(endless[2, k, last + 1] / permittivity, rel=1e-8)


def test_no_rim_no_change() -> None:
    """A scene without rims keeps every coefficient."""
    grid = AxisymmetricGrid(nr=60, nz=40, cell=CELL, origin=20, courant_number=0.3)
    eps, length, area = np.ones((3, 1, 3, grid.nz, grid.nr))
    edge_conditions(grid, Scene(batch=1), eps, length, area)
    assert (eps == 1).all() and (area == 1).all()


def test_alone_and_in_a_batch() -> None:
    """Tubes of different radii, with and without slabs over them, and one without a rim: each as it is alone.

    One slab ends within reach of the rim.
    """
    grid = AxisymmetricGrid(nr=60, nz=40, cell=CELL, origin=20, courant_number=0.3 * courant_limit(1))
    places, permittivities = (0.0, 0.3, 0.8, 0.55), (1.0, 2.53, 3.8, 1.0)

    def corrected(which: list[int]) -> list[np.ndarray]:
        one = np.ones(len(which))
        radius = np.array([(RADIUS + places[at]) * CELL for at in which])
        permittivity = np.array([permittivities[at] for at in which])
        there = np.where(np.array(which) == 3, np.nan, radius)
        slab = Dielectric(
            distance=box(-one, np.where(permittivity > 3, radius + 1.4 * CELL, 2 * radius), 0 * one, 40 * CELL * one),
            permittivity=permittivity,
            loss_tangent=0 * one,
            r_max=1.0,
            z_min=0.0,
            z_max=40 * CELL,
        )
        scene = Scene(
            batch=len(which),
            dielectrics=(slab,),
            conductors=(box(radius, one, -one, 0 * one),),
            rims=(Rim(r=there, z=0 * one, wall=0 * one, opening=1.5 * np.pi * one),),
        )
        length, area = open_parts(grid, scene)
        layers = np.ones(length.shape)
        edge_conditions(grid, scene, layers, length, area)
        return [layers, area]

    together = corrected([0, 1, 2, 3])
    for at in range(4):
        for one, every in zip(corrected([at]), together, strict=True):
            assert np.array_equal(one[0], every[at])
    assert (together[0][3] == 1).all()
    assert all((together[0][at] != 1).any() for at in range(3))
