"""Edge conditions: the lattice's coefficients around metal rims, from the static field of the wedge.

Near a rim fields rise as rho^(nu - 1), nu = 2/3 at a right angle in air, and a lattice that takes them for smooth
converges with the order 2 nu only. Within hundredths of a wavelength of the rim the field is static. In the plane
(r, z) it has a potential V and a flux function W, known in closed form. An edge's voltage is a difference of V between
its ends, the flux of D through the lattice's face across it a difference of W between the face's ends, and with

    eps = (W(face's end) - W(face's start)) / (V(edge's end) - V(edge's start))        (square cells)

on every edge the wedge's own field solves the lattice's equations exactly. E_phi is harmonic there as well: with E_phi
for V and the magnetic potential for W, the inverse of the same ratio in air is the area of the H face that this edge
crosses. Edges and faces that a wall cuts are included, and nodes that took a wall over (V = 0 there).

`fdtd.axisymmetric.wedges` knows V and W, `fdtd.axisymmetric.rim_media` the dielectrics around rims,
`fdtd.axisymmetric.rim_windows` finds the ratios of all rims of a batch at once. Here they are applied a rim at a time.

References:
    Przybyszewski & Mrozowski, IEEE Microw. Guided Wave Lett. 8 (1998) 66 (metal wedges in Yee's mesh).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fdtd.arrays import library, on_host
from fdtd.axisymmetric import media
from fdtd.axisymmetric.conductors import AXIS_COLUMNS, headroom
from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.rim_media import Borders, Corners, Sectors, borders_on_host
from fdtd.axisymmetric.rim_windows import WINDOW, Find, Windows
from fdtd.axisymmetric.scene import Scene
from fdtd.axisymmetric.wedges import Wedges

LEAST = 0.6  # a correction makes no coefficient smaller than this, where the time step is the standard one or longer
_LEAST_AT = 0.6088  # Courant number of the standard one; below it the square of the Courant number decides


def edge_conditions(
    grid: AxisymmetricGrid,
    scene: Scene,
    permittivity: np.ndarray,
    open_length: np.ndarray,
    open_area: np.ndarray,
    compiled: Callable[[Windows], Compiled] | None = None,
    bodies: media.Compiled | None = None,
) -> None:
    """Correct the permittivity of E edges and the area of H faces around the scene's rims, in place.

    Where coefficients would drive a face h_phi or a node e_phi more than the time step allows, its area or permittivity
    is raised: neither takes part in the static fields. Areas depend on the metal alone.

    Args:
        grid: The lattice.
        scene: Antennas and their rims; a rim at NaN is none.
        permittivity: Relative, (batch, 3, nz, nr) for e_r, e_phi, e_z.
        open_length: Open part of the edges, same shape, or one antenna's where all have the same metal.
        open_area: Open part of the faces h_r, h_phi, h_z, the same.
        compiled: Does the same in a few launches, where all arrays are a device's.
        bodies: Kernels of the scene's dielectrics.
    """
    if not scene.rims:
        return
    windows = Windows.of(grid, scene, open_length)
    kernels = None if compiled is None else compiled(windows)
    find = windows.ratios if kernels is None else kernels.ratios
    in_air = find(Wedges.in_air(windows.opening.ravel()), *np.indices(windows.opening.shape).reshape(2, -1))
    in_air = in_air.reshape(2, *windows.opening.shape, WINDOW, WINDOW)
    around = _Media.of(grid, scene, windows, find, bodies) if scene.dielectrics else None
    ratios = in_air if around is None else around.ratios(in_air)
    if kernels is not None:
        kernels.correct(in_air, ratios, permittivity, open_length, open_area)
        return
    for rim in np.nonzero(windows.real.any(axis=1))[0].tolist():
        place = windows.place(rim)
        _correct_areas(grid, place, in_air[:, rim], open_length, open_area, permittivity)
        _correct_edges(grid, place, ratios[:, rim], open_length, permittivity)


class Compiled(Protocol):
    """Kernels of a backend that work on the windows of one batch."""

    def ratios(self, wedges: Wedges, rim: np.ndarray, antenna: np.ndarray) -> np.ndarray:
        """Return what `Windows.ratios` does."""
        ...

    def correct(
        self, in_air: np.ndarray, ratios: np.ndarray, permittivity: np.ndarray, open_length: np.ndarray,
        open_area: np.ndarray,
    ) -> None:  # fmt: skip
        """Correct all rims in place; ratios (2, rims, antennas or batch, window, window)."""
        ...


def _correct_areas(
    grid: AxisymmetricGrid,
    place: tuple[np.ndarray, np.ndarray, np.ndarray],
    in_air: np.ndarray,
    open_length: np.ndarray,
    open_area: np.ndarray,
    permittivity: np.ndarray,
) -> None:
    """Correct the faces around one rim, and raise the permittivity of e_phi where they need it.

    Args:
        grid: The lattice.
        place: Rows, columns and which are the rim's; see `Windows.place`.
        in_air: Ratios of its edges, (2, antennas, window, window).
        open_length: See `edge_conditions`.
        open_area: The same.
        permittivity: The same.
    """
    xm, (k, i, inside) = library(open_length), place
    antenna, inner = xm.arange(len(open_length))[:, None, None], np.s_[:, 1:-1, 1:-1]
    least = least_coefficient(grid)
    most = 4 * xm.asarray(np.where(np.arange(grid.nr) < AXIS_COLUMNS, *allowed(grid)))[i]
    driving, faces = [], []
    for ratio, component, face in ((in_air[0], 0, 2), (in_air[1], 2, 0)):
        whole, area = open_length[antenna, component, k, i], open_area[antenna, face, k, i]
        use = (ratio > 0) & (whole[inner] > 0)
        edges = xm.ones(whole.shape)
        edges[inner] = np.where(use, np.maximum(ratio * whole[inner], least), 1.0)
        driving.append(whole / edges)
        inverse = np.where(use, 1.0 / np.where(use, ratio, 1.0), 1.0)
        area[inner] = np.where(use, np.maximum(inverse, least * area[inner]), area[inner])
        faces.append(area)
        open_area[antenna, face, k[:, 1:-1], i[:, :, 1:-1]] = area[inner]
    window = antenna, 1, k[:, 1:-1], i[:, :, 1:-1]
    driven = np.where(inside, _driven(driving[0], driving[1], upwards=True) / most, 0.0)
    open_area[window] = np.maximum(open_area[window], driven[inner])
    driven = np.where(inside, _driven(1 / faces[1], 1 / faces[0], upwards=False) / most, 0.0)
    xp = library(permittivity)
    k, i, nodes = (xp.asarray(one) for one in (k[:, 1:-1], i[:, :, 1:-1], driven[inner]))
    window = xp.arange(len(permittivity))[:, None, None], 1, k, i
    permittivity[window] = np.maximum(permittivity[window], nodes)


def _correct_edges(
    grid: AxisymmetricGrid,
    place: tuple[np.ndarray, np.ndarray, np.ndarray],
    ratios: np.ndarray,
    open_length: np.ndarray,
    permittivity: np.ndarray,
) -> None:
    """Correct the permittivity of the edges around one rim.

    Args:
        grid: The lattice.
        place: See `_correct_areas`.
        ratios: Of the edges with the media around the rim, (2, batch, window, window).
        open_length: See `edge_conditions`.
        permittivity: The same.
    """
    xm, xp, (k, i, _) = library(open_length), library(permittivity), place
    k, i = k[:, 1:-1], i[:, :, 1:-1]
    antenna, member = xm.arange(len(open_length))[:, None, None], xp.arange(len(permittivity))[:, None, None]
    least, at = least_coefficient(grid), (xp.asarray(k), xp.asarray(i))
    for ratio, component in zip(ratios, (0, 2), strict=True):
        whole, old = xp.asarray(open_length[antenna, component, k, i]), permittivity[member, component, *at]
        new = np.maximum(ratio * whole, least * old)
        permittivity[member, component, *at] = np.where((ratio > 0) & (whole > 0), new, old)


def least_coefficient(grid: AxisymmetricGrid) -> float:
    """Return the smallest permittivity or area that a correction gives to an edge or face."""
    return min(LEAST / _LEAST_AT**2 * grid.courant_number**2, LEAST)


def allowed(grid: AxisymmetricGrid) -> tuple[float, float]:
    """Return how much more than whole cells the coefficients of a column may drive, near the axis and far from it."""
    near, far = (max(headroom(grid, far), 1.0) for far in (False, True))
    return near, far


def _driven(stacked: np.ndarray, side_by_side: np.ndarray, *, upwards: bool) -> np.ndarray:
    """Sum of the four coefficients around a face (of e_r above each other, of e_z) or a node (of h_r, of h_z)."""
    step = -1 if upwards else 1
    return stacked + np.roll(stacked, step, 1) + side_by_side + np.roll(side_by_side, step, 2)


@dataclass(frozen=True, kw_only=True)
class _Media:
    """What is around the rims of each member of the batch.

    Attributes:
        first: Permittivity at the first wall, (rims, batch); where one medium is around the rim, its permittivity.
        item: Row of `mixed` of a rim and member with several media, -1 for others, (rims, batch).
        mixed: Ratios of the edges there, (2, rows, window, window), in the metal's library.
        local: Row of `factors` of a rim and member where a sector ends within reach, -1 for others, (rims, batch).
        factors: What the ratios there are multiplied by, (2, rows, window, window), in the permittivity's library.
        xp: The permittivity's library.
    """

    first: np.ndarray
    item: np.ndarray
    mixed: np.ndarray | None
    local: np.ndarray
    factors: np.ndarray | None
    xp: Any

    @classmethod
    def of(
        cls, grid: AxisymmetricGrid, scene: Scene, windows: Windows, find: Find, bodies: media.Compiled | None
    ) -> _Media:
        """Return the media around a scene's rims.

        Args:
            grid: The lattice.
            scene: The batch.
            windows: Its rims.
            find: Returns the ratios of wedges.
            bodies: Kernels of the scene's dielectrics, or None.
        """
        xp = library(scene.dielectrics[0].permittivity)
        corners = Corners.of(scene)
        whole = corners.all_around()
        seen = corners.around(grid, scene, bodies)
        ended = corners.ended(grid, scene, seen, bodies)
        # A look that may not be needed costs less than to wait for another copy.
        looks = [seen] if bodies is None else [seen, whole.around(grid, scene, bodies)]
        ended, around, *beyond = borders_on_host(ended, looks, bodies)
        several, ended = (around.counts > 0) & windows.real, ended & windows.real
        item, mixed = np.full(several.shape, -1), None
        if several.any():
            sectors = Sectors.of(around, windows.opening, several)
            # Members with the same metal and the same media around it share a row.
            keys = np.concatenate([sectors.rim[None], sectors.antenna[None], sectors.ends, sectors.permittivity]).T
            _, where, row = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            wedges = Wedges.of(sectors.ends[:, where], sectors.permittivity[:, where])
            item[sectors.rim, sectors.member] = row.ravel()
            mixed = find(wedges, sectors.rim[where], sectors.antenna[where])
        local, factors = np.full(several.shape, -1), None
        if ended.any():
            everywhere = beyond[0] if beyond else Borders.of(on_host(whole.around(grid, scene)))
            sectors = Sectors.of(everywhere, whole.opening, ended)
            local[sectors.rim, sectors.member] = np.arange(len(sectors.rim))
            factors = sectors.over_endless(grid, scene, whole, (windows.i0, windows.k0), WINDOW, bodies)
        first = around.permittivity[:, :, 0]
        return cls(first=first, item=item, mixed=mixed, local=local, factors=factors, xp=xp)

    def ratios(self, in_air: np.ndarray) -> np.ndarray:
        """Return the ratios of all rims' edges for the batch, (2, rims, batch, window, window).

        Args:
            in_air: Ratios with air around the rims, (2, rims, antennas, window, window).
        """
        xp = self.xp
        found = xp.asarray(in_air) * xp.asarray(self.first)[:, :, None, None]
        if self.mixed is not None:
            rim, member = np.nonzero(self.item >= 0)
            row = xp.asarray(self.item[rim, member])
            found[:, xp.asarray(rim), xp.asarray(member)] = xp.asarray(self.mixed)[:, row]
        if self.factors is not None:
            rim, member = np.nonzero(self.local >= 0)
            found[:, xp.asarray(rim), xp.asarray(member)] *= self.factors[:, xp.asarray(self.local[rim, member])]
        return found
