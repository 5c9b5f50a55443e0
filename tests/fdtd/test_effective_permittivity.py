"""Permittivity on the lattice where a surface cuts the cells around its nodes.

Tangential E sees the mean of both sides over the cell around its own node, E across the surface the harmonic mean. A
flat face is cut exactly, wherever it lies. For curved ones the part f of each cell is found from 4 x 4 subcells, each
cut by a straight line at its centre's distance: the curvature that this leaves out is of the second order in the cell.

Measured, sphere of radius 5 mm, f read back from E_phi (which sees the plain mean) and summed: section -6e-6, -8e-6,
-3e-6 at 10, 20, 40 cells a radius; volume, the cell's part taken at its node's radius, 2.7e-3, 6.6e-4, 1.6e-4: the
second order. Staircased, both are some 1e-2 and jump about.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.constants import epsilon_0

from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.media import cut, effective_permittivity
from fdtd.axisymmetric.scene import Dielectric, Scene, box, capped_cylinder

FREQUENCY = 30e9
EPS = 2.53


def lattice(cell: float, nr: int = 24, nz: int = 48) -> AxisymmetricGrid:
    """With z = 0 in the middle."""
    return AxisymmetricGrid(nr=nr, nz=nz, cell=cell, origin=nz // 2, courant_number=0.6)


def painted(grid: AxisymmetricGrid, *bodies: Dielectric, batch: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Permittivity and conductivity, each (batch, 3, nz, nr)."""
    permittivity, conductivity, *_ = effective_permittivity(grid, Scene(batch=batch, dielectrics=bodies), FREQUENCY)
    return permittivity, conductivity


def body(distance: Callable, reach: float, *, loss: float = 0.0, batch: int = 1, eps: float = EPS) -> Dielectric:
    """A body within a box as large as `reach` on all sides."""
    return Dielectric(
        distance=distance,
        permittivity=np.full(batch, eps),
        loss_tangent=np.full(batch, loss),
        r_max=reach,
        z_min=-reach,
        z_max=reach,
    )


def slab(height: float, radius: float = 1.0, **kinds: float) -> Dielectric:
    """From deep below up to a height; far wider than the lattice."""
    far = np.array([1.0])
    return body(box(-far, np.array([radius]), -far, np.array([height])), 1.0, **kinds)


def spheres(radii: np.ndarray, loss: float = 0.0) -> Dielectric:
    """One about the origin for each antenna of a batch."""
    reach = float(radii.max())
    return body(lambda index, r, z: radii[index] - np.sqrt(r**2 + z**2), reach, loss=loss, batch=len(radii))


@pytest.mark.parametrize("place", [0.0, 0.1, 0.25, 0.5, 0.6, 0.8, 0.99])
def test_flat_face_anywhere(place: float) -> None:
    """A face `place` of a cell above the plane z = 0: E_r and E_phi see the mean, E_z the harmonic mean."""
    grid = lattice(1e-3)
    permittivity, _ = painted(grid, slab(place * grid.cell))
    inside, middle, k = permittivity[0, 1, 4, 4], np.s_[4], grid.origin
    part = np.clip(place + 0.5 - np.arange(-1, 3), 0, 1)  # of the cells around the planes k - 1 ... k + 2
    half = np.clip(place - np.arange(-1, 3), 0, 1)  # of the cells around the half planes
    for component in (0, 1):
        measured = permittivity[0, component, k - 1 : k + 3, middle]
        assert measured == pytest.approx(1 + part * (inside - 1), rel=1e-12)
    measured = permittivity[0, 2, k - 1 : k + 3, middle]
    assert measured == pytest.approx(1 / (half / inside + 1 - half), rel=1e-12)


def test_base_on_a_lattice_plane() -> None:
    """The lens's flat base in z = 0: nodes in the plane see exactly half of each side, E_z none of the other."""
    grid = lattice(0.3e-3)
    lens = Dielectric(
        distance=capped_cylinder(np.array([3e-3]), np.array([2e-3])),
        permittivity=np.array([EPS]),
        loss_tangent=np.zeros(1),
        r_max=3e-3,
        z_min=0.0,
        z_max=5e-3,
    )
    permittivity, _ = painted(grid, lens)
    k, inside = grid.origin, permittivity[0, 1, grid.origin + 4, 2]
    assert permittivity[0, 0, k, :8] == pytest.approx((1 + inside) / 2, rel=1e-12)
    assert permittivity[0, 1, k, :8] == pytest.approx((1 + inside) / 2, rel=1e-12)
    assert permittivity[0, 2, k, :8] == pytest.approx(inside, rel=1e-12)
    assert permittivity[0, 2, k - 1, :8] == pytest.approx(1.0, rel=1e-12)


def test_face_of_a_cylinder() -> None:
    """A wall r = 5.3 d: now E_r is across the surface, E_phi and E_z along it."""
    grid = lattice(1e-3)
    permittivity, _ = painted(grid, slab(1.0, radius=5.3e-3))
    row, inside = 20, permittivity[0, 1, 20, 2]
    assert permittivity[0, 1, row, 5] == pytest.approx(1 + 0.8 * (inside - 1), rel=1e-12)
    assert permittivity[0, 2, row, 5] == pytest.approx(1 + 0.8 * (inside - 1), rel=1e-12)
    assert permittivity[0, 0, row, 5] == pytest.approx(1 / (0.3 / inside + 0.7), rel=1e-12)


def test_oblique_face() -> None:
    """A cone of 45 degrees through the nodes: half inside, and 1/eps halfway between those of the two means."""
    grid = lattice(1e-3)
    edge = np.array([8.5e-3])
    permittivity, _ = painted(grid, body(lambda index, r, z: (edge[index] - r - z) / np.sqrt(2), 1.0))
    inside = permittivity[0, 1, 2, 2]
    expected = 0.5 / ((1 + inside) / 2) + 0.5 * (1 + 1 / inside) / 2
    assert 1 / permittivity[0, 0, grid.origin + 4, 4] == pytest.approx(expected, rel=1e-9)  # r = 4.5 d, z = 4 d
    assert 1 / permittivity[0, 2, grid.origin + 4, 4] == pytest.approx(expected, rel=1e-9)  # r = 4 d, z = 4.5 d


def test_sphere_section_and_volume() -> None:
    """What the cells hold together is what the sphere holds."""
    radius, errors = 5e-3, []
    for cells in (10, 20, 40):
        grid = lattice(radius / cells, nr=cells + 4, nz=2 * cells + 8)
        permittivity, _ = painted(grid, spheres(np.array([radius])))
        part = (permittivity[0, 1] - 1) / (permittivity[0, 1, grid.origin, 2] - 1)
        width = np.where(np.arange(grid.nr) > 0, 1.0, 0.5)  # the cell around the axis has half its width
        ring = np.where(np.arange(grid.nr) > 0, np.arange(grid.nr), 0.125)
        section = (part * width).sum() / cells**2 / (np.pi / 2) - 1
        volume = (part * ring).sum() * 2 / cells**3 / (4 / 3) - 1
        errors.append((section, volume))
    sections, volumes = np.abs(errors).T
    assert sections.max() < 5e-5
    assert volumes.max() < 3.5e-3
    assert volumes[:-1] / volumes[1:] == pytest.approx(4.0, abs=0.4)


def test_loss_is_a_complex_mean() -> None:
    """Conductivity w eps0 eps tan(delta) inside; on a face that of the mean along it, of the harmonic mean across."""
    grid, loss = lattice(1e-3), 0.02
    permittivity, conductivity = painted(grid, slab(0.25e-3, loss=loss))
    k, scale = grid.origin, 2 * np.pi * FREQUENCY * epsilon_0
    inside = permittivity[0, 1, 4, 4] * (1 - 1j * loss)
    assert conductivity[0, :, 4, 4] == pytest.approx(-scale * inside.imag, rel=1e-12)
    assert conductivity[0, 0, k, 4] == pytest.approx(-scale * (1 + 0.75 * (inside - 1)).imag, rel=1e-12)
    assert conductivity[0, 2, k, 4] == pytest.approx(-scale * (1 / (0.25 / inside + 0.75)).imag, rel=1e-12)
    assert (conductivity[0, :, k + 4] == 0).all()


def test_batch_equals_single() -> None:
    """To the bit, with any neighbours."""
    grid, radii = lattice(0.5e-3), np.array([4e-3, 5.3e-3, 6.1e-3])
    together = painted(grid, spheres(radii, loss=0.01), batch=3)
    for place, radius in enumerate(radii):
        alone = painted(grid, spheres(np.array([radius]), loss=0.01))
        for many, one in zip(together, alone, strict=True):
            assert np.array_equal(many[place], one[0])


def test_cut_cells_do_not_depend_on_how_many_there_are() -> None:
    """To the bit: a product of matrices adds up differently for other numbers of points (42 of these 60 parts)."""
    cell, rng = 0.5e-3, np.random.default_rng(3)
    r, z = rng.uniform(1e-3, 6e-3, (2, 60))
    ball, antennas = spheres(np.array([5e-3])), np.zeros(60, dtype=int)
    whole = cut(ball.distance, antennas, r, z, cell)
    parts = [cut(ball.distance, antennas[:count], r[:count], z[:count], cell) for count in range(1, 61)]
    different = [part for part in parts if any((a[: len(b)] != b).any() for a, b in zip(whole, part, strict=True))]
    assert len(different) == 0
