"""The axisymmetric Yee lattice: positions of the components, and the largest stable time step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.constants import speed_of_light

from fdtd.errors import ConfigError

AXIS_PERMEABILITY = 3.0
"""Of H_z in the column at the axis on lattices with a long time step."""


@dataclass(frozen=True, kw_only=True)
class AxisymmetricGrid:
    """Square cells in (r, z) for fields of one azimuthal order.

    E_r, E_z, H_phi vary as cos(m phi); E_phi, H_r, H_z as sin(m phi). With d the cell: E_z, E_phi, H_r stand at r = i d
    and E_r, H_phi, H_z at r = (i + 1/2) d; E_r, E_phi, H_z at z = (k - origin) d and E_z, H_r, H_phi half a cell
    further. H is half a step after E. Arrays are [nz, nr], r fastest; index [k, i] names the node at (i d, k d) and the
    half nodes after it. The planes k = 0, k = nz and the cylinder i = nr are perfect conductors behind the absorbing
    layers.

    For m = 1 the fastest wave of the lattice stands in the column at the axis and sets the limit of the time step. With
    a permeability of 2 or more for H_z there the limit is 0.7020, near the 0.7071 of the plane. H_z is proportional to
    r there, so this changes waves by a part of the order d^4 (docs/decisions/0067).

    Attributes:
        nr: Cells along r, absorbing layer included.
        nz: Cells along z, absorbing layers included.
        cell: Cell size d, m.
        origin: Index of the plane z = 0 (the aperture).
        courant_number: c dt / d.
        azimuthal_order: m >= 0.
        axis_permeability: Relative, of H_z in the column at the axis; other than 1 for m = 1 alone.

    References:
        Taflove & Hagness, Computational Electrodynamics, 3rd ed., ch. 12; Chen, Mittra & Harms, IEEE MTT 44 (1996) 832.
    """

    nr: int
    nz: int
    cell: float
    origin: int
    courant_number: float
    azimuthal_order: int = 1
    axis_permeability: float = 1.0

    def __post_init__(self) -> None:
        if self.nr < 4 or self.nz < 4:
            raise ConfigError(f"grid = {self.nr} x {self.nz} cells is too small (needs >= 4 x 4); enlarge it")
        if not self.cell > 0:
            raise ConfigError(f"cell = {self.cell} m must be > 0")
        if self.axis_permeability < 1 or (self.axis_permeability > 1 and self.azimuthal_order != 1):
            raise ConfigError(
                f"axis_permeability = {self.axis_permeability} changes waves of order {self.azimuthal_order} "
                "(needs >= 1, and 1 for orders other than 1); leave it out"
            )
        limit = courant_limit(self.azimuthal_order, axis_permeability=self.axis_permeability)
        if not 0 < self.courant_number <= limit:
            raise ConfigError(
                f"courant_number = {self.courant_number} is not stable for azimuthal order {self.azimuthal_order} "
                f"(needs 0 < c dt/d <= {limit:.4f}); lower it"
            )

    @property
    def time_step(self) -> float:
        """Time step dt, s."""
        return self.courant_number * self.cell / speed_of_light

    @property
    def cells(self) -> int:
        """Number of cells, absorbing layers included."""
        return self.nr * self.nz

    @property
    def energy_weights(self) -> np.ndarray:
        """Radial weights of the squares of e_r, e, e_z, h_r, h, h_z (e and h are r times the field) in the energy.

        Shape (6, nr). Around the axis E_z of order 0 fills a disc of half a cell.
        """
        node = np.arange(self.nr, dtype=float)
        half = node + 0.5
        inverse = np.divide(1.0, node, out=np.zeros(self.nr), where=node > 0)
        axis = node.copy()
        axis[0] = 0.125 if self.azimuthal_order == 0 else 0.0
        h_z = half.copy()
        h_z[0] *= self.axis_permeability
        return np.stack([half, inverse, axis, node, 1 / half, h_z])

    @property
    def r_nodes(self) -> np.ndarray:
        """Radii of the nodes i = 0 ... nr - 1, m, shape (nr,)."""
        return np.arange(self.nr) * self.cell

    @property
    def r_halves(self) -> np.ndarray:
        """Radii of the half nodes i + 1/2, m, shape (nr,)."""
        return (np.arange(self.nr) + 0.5) * self.cell

    @property
    def z_nodes(self) -> np.ndarray:
        """Heights of the planes k = 0 ... nz - 1, m, shape (nz,)."""
        return (np.arange(self.nz) - self.origin) * self.cell

    @property
    def z_halves(self) -> np.ndarray:
        """Heights of the half planes k + 1/2, m, shape (nz,)."""
        return (np.arange(self.nz) + 0.5 - self.origin) * self.cell


@lru_cache(maxsize=32)
def courant_limit(azimuthal_order: int, columns: int = 48, axis_permeability: float = 1.0) -> float:
    """Largest stable c dt / d of the axisymmetric lattice, from its exact spectrum.

    The leapfrog is stable while (c dt)^2 times the largest eigenvalue of curl curl stays below 4 (von Neumann). Along z
    the worst wave alternates from plane to plane, where the central difference becomes a factor of 2 / d; what is left
    is a matrix over the columns, whose largest eigenvalue belongs to a mode at the axis (m > 0) and settles within some
    ten columns.

    Args:
        azimuthal_order: m >= 0.
        columns: Columns kept; 48 gives five digits.
        axis_permeability: See `AxisymmetricGrid`.

    Returns:
        The limit of c dt / d: 0.6726, 0.6212, 0.4255, 0.3085, 0.2390 for m = 0 ... 4; 0.7020 for m = 1 with a
        permeability of 2 or more.
    """
    m = azimuthal_order
    n = columns
    node, half = np.arange(n, dtype=float), np.arange(n) + 0.5
    inverse = np.divide(1.0, node, out=np.zeros(n), where=node > 0)
    zero = np.zeros((n, n))
    axial = 2.0 * np.eye(n)  # |d/dz| of the alternating wave, d = 1
    forward = np.eye(n, k=1) - np.eye(n)  # node -> half node, the outermost cylinder conducting
    backward = np.eye(n) - np.eye(n, k=-1)  # half node -> node
    # H <- E: rows h_r, h_phi, h_z; columns e_r, e_phi, e_z. The phases of d/dz and of the curl's signs drop out.
    regular = np.diag((node > 0).astype(float))
    h_of_e = np.block(
        [
            [zero, axial @ regular, m * np.diag(inverse)],
            [-axial, zero, forward],
            [-m * np.diag(1 / half), -np.diag(1 / half) @ forward @ np.diag(node), zero],
        ]
    )
    h_of_e[2 * n] /= axis_permeability
    drive = np.diag(inverse) @ backward @ np.diag(half)
    if m == 0:
        drive[0, 0] = 4.0
    else:
        drive[0] = 0.0
    e_of_h = np.block(
        [
            [zero, -axial, m * np.diag(1 / half)],
            [axial @ regular, zero, -regular @ backward],
            [-m * np.diag(inverse), drive, zero],
        ]
    )
    # d/dz E -> H and H -> E are minus adjoint to each other: put that sign in, for the spectrum of -curl curl.
    e_of_h[:n, n : 2 * n] *= -1.0
    e_of_h[n : 2 * n, :n] *= -1.0
    largest = np.abs(np.linalg.eigvals(e_of_h @ h_of_e)).max()
    return float(2.0 / np.sqrt(largest))
