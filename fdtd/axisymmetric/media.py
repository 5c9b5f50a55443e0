"""Media on the lattice: permittivity, conductivity and conductor, a batch of antennas at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.constants import epsilon_0, speed_of_light

from fdtd.arrays import library, on_host
from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.scene import Dielectric, LevelSet, Scene

# Where e_r, e_phi, e_z stand in their cell: offsets in (r, z), in cells.
OFFSETS = ((0.5, 0.0), (0.0, 0.0), (0.0, 0.5))
_AXIAL_WAVES = (1.0, 0.75, 0.0)  # weights of e_r, e_phi, e_z in `compensate_dispersion`
SUBCELLS = 4  # a surface cell is split 4 x 4; planes through nodes and half nodes fall between subcells


class Compiled(Protocol):
    """Kernels of a backend for the dielectrics of one scene on one lattice."""

    def effective(self, design_frequency: float, coupled: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return what `effective_permittivity` does."""
        ...

    def seen(self, corners: Any, distances: tuple[float, ...], directions: slice) -> np.ndarray:
        """Return what `fdtd.axisymmetric.rim_media.Corners.seen` does."""
        ...

    def borders(self, seen: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays of `fdtd.axisymmetric.rim_media.Borders`, with places for a few changes."""
        ...

    def over_endless(self, endless: Scene, of: np.ndarray, size: int) -> np.ndarray:
        """Return the permittivity of edges in windows, (antenna, column, row; rows), over that of endless sectors."""
        ...


@dataclass(frozen=True, kw_only=True)
class Spans:
    """Rows and columns in which the media of a whole batch are anything but air, on the host.

    Attributes:
        lossy_rows: Rows with conductivity in some antenna, (nz,).
        filled_columns: Columns with anything but air, (nr,).
        cut_columns: Columns with H faces that a conductor cuts, (nr,).
        coupled_nodes: Nodes that couple e_r and e_z in some antenna, (nz, nr).
    """

    lossy_rows: np.ndarray
    filled_columns: np.ndarray
    cut_columns: np.ndarray
    coupled_nodes: np.ndarray

    @property
    def coupled(self) -> bool:
        """Whether any node couples e_r and e_z."""
        return bool(self.coupled_nodes.any())


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

    @cached_property
    def spans(self) -> Spans:
        """Looked at once, and fetched from a device in one copy.

        Each array becomes one plane first: a device reduces along its last axes ten times as slowly.
        """
        cut = (self.open_area != 1).any(axis=(0, 1))
        filled = ((self.permittivity != 1) | (self.conductivity != 0) | (self.open_length != 1)).any(axis=(0, 1))
        planes = [(self.conductivity > 0).any(axis=(0, 1)), filled, cut]
        if self.coupling is not None:
            planes.append((self.coupling != 0).any(axis=0))
        lossy, filled, cut, *coupled = on_host(library(cut).stack(planes))
        columns = np.any([filled, cut, *coupled], axis=(0, 1))
        return Spans(
            lossy_rows=lossy.any(axis=1),
            filled_columns=columns,
            cut_columns=cut.any(axis=0),
            coupled_nodes=coupled[0] if coupled else np.zeros_like(filled),
        )

    def of(self, places: Sequence[int]) -> Media:
        """Media of some antennas of the batch, in the order given; the media themselves when it is all of them."""
        if list(places) == list(range(self.batch)):
            return self
        parts: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        return replace(self, **{name: _of(part, places) for name, part in parts.items() if part is not None})


def _of(part: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Some antennas' part of an array; what all share stays one array."""
    if part.strides[0] == 0 and len(places):
        return np.broadcast_to(part[:1], (len(places), *part.shape[1:]))
    return part[list(places)]


def effective_permittivity(
    grid: AxisymmetricGrid,
    scene: Scene,
    design_frequency: float,
    *,
    coupled: bool = True,
    xp: Any = np,
    compiled: Compiled | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
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
        coupled: Whether to find the coupling of r and z, too.
        xp: Library of the scene's arrays.
        compiled: Does the same in a launch or two.

    Returns:
        Relative permittivity and conductivity (S/m), each (batch, 3, nz, nr); the coupling of r and z,
        (batch, nz, nr), or None.

    References:
        Farjadpour et al., Opt. Lett. 31 (2006) 2972; Mohammadi et al., Opt. Express 13 (2005) 10367; Werner & Cary,
        J. Comput. Phys. 226 (2007) 1085 (where the entries stand).
    """
    if compiled is not None:
        return compiled.effective(design_frequency, coupled)
    shape = (scene.batch, 3, grid.nz, grid.nr)
    coupling = xp.zeros((scene.batch, grid.nz, grid.nr)) if coupled else None
    if not scene.dielectrics:
        return xp.ones(shape), xp.full(shape, loss_scale(design_frequency) * 0.0), coupling
    complex_permittivity = xp.ones(shape, dtype=complex)
    surface = [_fill_inside(grid, body, complex_permittivity) for body in scene.dielectrics]
    _mix_surfaces(grid, scene, _union(surface), complex_permittivity, coupling)
    conductivity = loss_scale(design_frequency) * np.imag(complex_permittivity)
    permittivity = np.real(complex_permittivity).copy()
    if coupling is not None:
        coupling *= _part_that_is_stable(permittivity, coupling)
    return permittivity, conductivity, coupling


def loss_scale(design_frequency: float) -> float:
    """Return the conductivity, S/m, over the imaginary part of a relative permittivity."""
    return -2 * np.pi * design_frequency * epsilon_0


def box_of(grid: AxisymmetricGrid, body: Dielectric) -> tuple[int, int, int]:
    """Return first row, last row + 1 and last column + 1 of the nodes that a body may fill, or its surface cut."""
    d = grid.cell
    k0 = max(int(np.floor(body.z_min / d)) + grid.origin - 2, 0)
    k1 = min(int(np.ceil(body.z_max / d)) + grid.origin + 3, grid.nz)
    return k0, k1, min(int(np.ceil(body.r_max / d)) + 3, grid.nr)


def compensate_dispersion(grid: AxisymmetricGrid, permittivity: np.ndarray, frequency: float) -> None:
    """Lower the permittivity of dielectric nodes so that waves travel as fast as they should, in place.

    A wave of wavenumber k at the angle theta to the axis obeys on the lattice, to the second order in d (Taflove &
    Hagness, 3rd ed., sec. 4.4),

        eps (w/c)^2 (1 - (S k0 d)^2 / 12) = k^2 (1 - (k d)^2 (cos^4 theta + sin^4 theta) / 12)

    so that k^2 = eps_true (w/c)^2 needs eps = eps_true (1 - (a eps_true - S^2)(k0 d)^2 / 12), a = cos^4 + sin^4. Lenses
    on a feed carry their waves within 45 degrees of the axis, where a falls from 1 to 1/2: a = cos^2 theta is right at
    both ends. For waves polarised in the plane a permittivity of E_r with a = 1 and of E_z with a = 0 does just that;
    E_phi takes the mean, a = 3/4. What is left is of the same order, but small.

    Args:
        grid: The lattice.
        permittivity: Relative, (batch, 3, nz, nr) for e_r, e_phi, e_z.
        frequency: Where waves are to be right, Hz.
    """
    size = (2 * np.pi * frequency / speed_of_light * grid.cell) ** 2 / 12
    for component, weight in enumerate(_AXIAL_WAVES):
        node = permittivity[:, component]
        slower = node * (1 - (weight * node - grid.courant_number**2) * size)
        node[...] = np.where(node > 1, slower, node)


def _part_that_is_stable(permittivity: np.ndarray, coupling: np.ndarray) -> np.ndarray:
    """Part of each node's coupling with which the inverse permittivity is positive definite on the lattice.

    Without it energy may be negative, and fields grow at once. In the row of an e_r or e_z node stand 1/eps and half of
    the couplings of the two nodes next to it, weighted with r (see `fdtd.axisymmetric.problem.Problem`): Gershgorin's
    circles stay above zero where that sum is no larger than 1/eps. All of the coupling of permittivities up to 12 is
    so; at 40 half of the surface's nodes keep less (a sphere's diverged within 1600 steps).
    """
    size = np.abs(coupling)
    column = library(coupling).arange(size.shape[2])
    row_r, row_z = np.zeros_like(size), np.zeros_like(size)
    weighted = size * column
    row_r[:, :, :-1] = (weighted[:, :, :-1] + weighted[:, :, 1:]) / (2 * column[:-1] + 1)
    row_z[:, :-1] = (size[:, :-1] + size[:, 1:]) / 2
    keep_r, keep_z = (
        1 / np.maximum(row * permittivity[:, component], 1.0) for row, component in ((row_r, 0), (row_z, 2))
    )
    keep = np.minimum(keep_r, keep_z)
    keep[:, :, 1:] = np.minimum(keep[:, :, 1:], keep_r[:, :, :-1])
    keep[:, 1:] = np.minimum(keep[:, 1:], keep_z[:, :-1])
    return keep


def _union(places: list[np.ndarray]) -> np.ndarray:
    """Return places that are in any of several ascending lists, ascending."""
    return places[0] if len(places) == 1 else library(places[0]).unique(library(places[0]).concatenate(places))


def _fill_inside(grid: AxisymmetricGrid, body: Dielectric, permittivity: np.ndarray) -> np.ndarray:
    """Set the nodes well inside a body; return those near its surface, flat places in (batch, nz, nr)."""
    xp = library(permittivity)
    d, (batch, _, nz, nr) = grid.cell, permittivity.shape
    k0, k1, i1 = box_of(grid, body)
    index = xp.arange(batch)[:, None, None]
    z, r = xp.asarray(grid.z_nodes[k0:k1, None]), xp.asarray(grid.r_nodes[None, :i1])
    depth = body.distance(index, r, z)
    inner = body.permittivity * (1 - 1j * body.loss_tangent)
    for component in range(3):
        target = permittivity[:, component, k0:k1, :i1]
        target[...] = np.where(depth >= 2 * d, inner[:, None, None], target)
    at_batch, at_k, at_i = np.nonzero(np.abs(depth) < 2 * d)
    return (at_batch * nz + at_k + k0) * nr + at_i


def _mix_surfaces(
    grid: AxisymmetricGrid, scene: Scene, places: np.ndarray, permittivity: np.ndarray, coupling: np.ndarray | None
) -> None:
    """Average the bodies over the cells around nodes near a surface.

    Args:
        grid: The lattice.
        scene: The batch; where bodies overlap the later one counts.
        places: The nodes (i d, k d), flat places in (batch, nz, nr), ascending.
        permittivity: Complex, (batch, 3, nz, nr); changed in place.
        coupling: (batch, nz, nr) or None; changed in place.
    """
    nz, nr = permittivity.shape[2:]
    at_batch, at_k, at_i = places // (nz * nr), places // nr % nz, places % nr
    for component, (dr, dz) in enumerate(OFFSETS):
        cells = at_batch, (at_i + dr) * grid.cell, (at_k - grid.origin + dz) * grid.cell
        harmonic, mean, normal_r, normal_z = mixed(grid, scene, *cells)
        across = (normal_r**2, 0.0, normal_z**2)[component]
        permittivity[at_batch, component, at_k, at_i] = 1 / (across * harmonic + (1 - across) / mean)
        if component == 1 and coupling is not None:
            coupling[at_batch, at_k, at_i] = normal_r * normal_z * np.real(harmonic - 1 / mean)


def mixed(grid: AxisymmetricGrid, scene: Scene, index: np.ndarray, r: np.ndarray, z: np.ndarray) -> tuple:
    """Return <1/eps> and <eps> of the cells around points, and the normal of the surface that cuts most of each.

    Later bodies take their part of each subcell first, so that two that share a surface leave no air between them.
    Metal takes no part.
    """
    xp, d = library(r), grid.cell
    free = _outside_metal(scene, index, r, z, d) if scene.embedded else None
    taken, air, harmonic, mean = 0.0, 1.0, 0.0, 0.0
    most: Any = None
    for body in reversed(scene.dielectrics):
        share, along_r, along_z = cut(body.distance, index, r, z, d)
        seen = np.minimum(share, 1 - taken) if most is not None else share
        taken = taken + seen
        part = seen.mean(axis=1) if free is None else (seen * free).sum(axis=1) / free.sum(axis=1)
        inside = (body.permittivity * (1 - 1j * body.loss_tangent))[index]
        harmonic, mean, air = part / inside + harmonic, part * inside + mean, air - part
        weight = part * (1 - part)
        if most is None:
            most, normal_r, normal_z = weight, along_r, along_z
        else:
            normal_r, normal_z = np.where(weight > most, along_r, normal_r), np.where(weight > most, along_z, normal_z)
            most = np.maximum(most, weight)
    outside = xp.ones(r.shape, dtype=complex)
    return harmonic + air / outside, mean + air * outside, normal_r, normal_z


def _outside_metal(scene: Scene, index: np.ndarray, r: np.ndarray, z: np.ndarray, d: float) -> np.ndarray:
    """Return the part of each subcell outside the metal; all of it where metal fills the cell."""
    metal: Any = 0.0
    for conductor in scene.conductors:
        metal = np.maximum(metal, cut(conductor, index, r, z, d)[0])
    free = 1.0 - metal
    return np.where(free.sum(axis=1)[:, None] > 1e-6, free, 1.0)


def cut(
    distance: LevelSet, index: np.ndarray, r: np.ndarray, z: np.ndarray, d: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the part of each subcell around (r, z) inside a body, and its surface normal's radial and axial parts.

    The cell is split into subcells; each is taken as cut by a straight line at its centre's distance. The normal is the
    gradient fitted to the distances of all subcells. Points: shape (points,); parts: (points, subcells).
    """
    offsets = (library(r).arange(SUBCELLS) + 0.5) / SUBCELLS - 0.5
    dz, dr = (axis.ravel() * d for axis in np.meshgrid(offsets, offsets, indexing="ij"))
    depth = distance(index[:, None], np.abs(r[:, None] + dr), z[:, None] + dz)
    # Not `depth @ dr`: libraries add products of matrices up in an order that depends on how many points there are.
    slope_r, slope_z = (depth * dr).sum(axis=-1), (depth * dz).sum(axis=-1)
    size = np.hypot(slope_r, slope_z)
    safe = np.where(size > 0, size, 1.0)
    normal_r, normal_z = slope_r / safe, np.where(size > 0, slope_z / safe, 1.0)
    extent = (np.abs(normal_r) + np.abs(normal_z)) * d / SUBCELLS
    return np.clip(0.5 + depth / extent[:, None], 0.0, 1.0), normal_r, normal_z
