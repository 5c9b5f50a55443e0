"""What fills the lattice: permittivity, conductivity and conductor, a batch of antennas at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.constants import epsilon_0

from fdtd.grid import AxisymmetricGrid
from fdtd.scene import Dielectric, Scene

# Where e_r, e_phi, e_z stand in their cell: offsets in (r, z), in cells.
OFFSETS = ((0.5, 0.0), (0.0, 0.0), (0.0, 0.5))
_SUBCELLS = 4  # a surface cell is split 4 x 4; planes through nodes and half nodes fall between subcells


@dataclass(frozen=True, kw_only=True)
class Media:
    """Material on each component's own node, and how much of each edge and face is free of conductor.

    Attributes:
        permittivity: Relative, shape (batch, 3, nz, nr) for e_r, e_phi, e_z.
        conductivity: S/m, same shape.
        open_length: Part of each E edge outside the conductor (0: inside), same shape; for e_phi 0 or 1. The stepped
            unknown is open_length times the field, so it is zero in the conductor.
        open_area: Part of each H face outside the conductor, shape (batch, 3, nz, nr) for h_r, h_phi, h_z; H there is
            driven by 1 / open_area times the circulation along the open edges (Dey & Mittra, IEEE MGWL 7 (1997) 273). 1
            where the face is whole or wholly inside the conductor.
        coupling: r-z entry of the smoothed inverse permittivity at the nodes (i d, k d), shape (batch, nz, nr), or None
            where surfaces are treated by the diagonal alone. Zero beside conductors.
    """

    permittivity: np.ndarray
    conductivity: np.ndarray
    open_length: np.ndarray
    open_area: np.ndarray
    coupling: np.ndarray | None = None

    @property
    def batch(self) -> int:
        """Antennas in the batch."""
        return self.permittivity.shape[0]


def effective_permittivity(
    grid: AxisymmetricGrid, scene: Scene, design_frequency: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Permittivity and conductivity of every E node, averaged over the cell around it.

    With f the part of the cell inside the body and n the surface normal, the field across the surface sees the harmonic
    mean and the field along it the arithmetic one:

        eps^-1 = n n^T (f / eps_2 + (1 - f) / eps_1) + (1 - n n^T) / (f eps_2 + (1 - f) eps_1)

    E_r, E_phi and E_z take their diagonal entries on their own nodes (E_phi lies in every surface of revolution). The
    entry between r and z, n_r n_z (<1/eps> - 1/<eps>), belongs to the nodes (i d, k d), where E_phi stands. Losses
    enter as a complex permittivity at the design frequency, whose imaginary part becomes a conductivity.

    Args:
        grid: The lattice.
        scene: Bodies of the batch.
        design_frequency: Where the loss tangents hold, Hz.

    Returns:
        Relative permittivity and conductivity (S/m), each (batch, 3, nz, nr); the coupling of r and z,
        (batch, nz, nr).

    References:
        Farjadpour et al., Opt. Lett. 31 (2006) 2972; Mohammadi et al., Opt. Express 13 (2005) 10367; Werner & Cary,
        J. Comput. Phys. 226 (2007) 1085 (where the entries stand).
    """
    shape = (scene.batch, 3, grid.nz, grid.nr)
    complex_permittivity = np.ones(shape, dtype=complex)
    coupling = np.zeros((scene.batch, grid.nz, grid.nr))
    for body in scene.dielectrics:
        _paint(grid, body, complex_permittivity, coupling)
    conductivity = -2 * np.pi * design_frequency * epsilon_0 * np.imag(complex_permittivity)
    return np.ascontiguousarray(np.real(complex_permittivity)), conductivity, coupling


def _paint(grid: AxisymmetricGrid, body: Dielectric, permittivity: np.ndarray, coupling: np.ndarray) -> None:
    """Mix one body into the permittivity that stands there already."""
    d, batch = grid.cell, permittivity.shape[0]
    k0 = max(int(np.floor(body.z_min / d)) + grid.origin - 2, 0)
    k1 = min(int(np.ceil(body.z_max / d)) + grid.origin + 3, grid.nz)
    i1 = min(int(np.ceil(body.r_max / d)) + 3, grid.nr)
    index = np.arange(batch)[:, None, None]
    z, r = grid.z_nodes[k0:k1, None], grid.r_nodes[None, :i1]
    depth = body.distance(index, r, z)
    inner = body.permittivity * (1 - 1j * body.loss_tangent)
    at_batch, at_k, at_i = np.nonzero(np.abs(depth) < 2 * d)
    for component, (dr, dz) in enumerate(OFFSETS):
        target = permittivity[:, component, k0:k1, :i1]
        target[...] = np.where(depth >= 2 * d, inner[:, None, None], target)
        fraction, normal_r, normal_z = _cut(body, at_batch, (at_i + dr) * d, (at_k + k0 - grid.origin + dz) * d, d)
        across = (normal_r**2, 0.0, normal_z**2)[component]
        outside, inside = target[at_batch, at_k, at_i], inner[at_batch]
        harmonic = fraction / inside + (1 - fraction) / outside
        mean = fraction * inside + (1 - fraction) * outside
        target[at_batch, at_k, at_i] = 1 / (across * harmonic + (1 - across) / mean)
        if component == 1:
            coupling[:, k0:k1, :i1][depth >= 2 * d] = 0.0
            coupling[at_batch, at_k + k0, at_i] = normal_r * normal_z * np.real(harmonic - 1 / mean)


def _cut(
    body: Dielectric, index: np.ndarray, r: np.ndarray, z: np.ndarray, d: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Part of each cell around (r, z) that is inside the body, and the surface normal's radial and axial parts.

    The cell is split into subcells; each is taken as cut by a straight line at its centre's distance. The normal is the
    gradient fitted to the distances of all subcells. Points: shape (points,).
    """
    offsets = (np.arange(_SUBCELLS) + 0.5) / _SUBCELLS - 0.5
    dz, dr = (axis.ravel() * d for axis in np.meshgrid(offsets, offsets, indexing="ij"))
    depth = body.distance(index[:, None], np.abs(r[:, None] + dr), z[:, None] + dz)
    slope_r, slope_z = depth @ dr, depth @ dz
    size = np.hypot(slope_r, slope_z)
    normal_r = np.divide(slope_r, size, out=np.zeros_like(size), where=size > 0)
    normal_z = np.divide(slope_z, size, out=np.ones_like(size), where=size > 0)
    extent = (np.abs(normal_r) + np.abs(normal_z)) * d / _SUBCELLS
    return np.clip(0.5 + depth / extent[:, None], 0.0, 1.0).mean(axis=1), normal_r, normal_z
