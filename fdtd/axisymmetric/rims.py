"""Edge conditions: the lattice's coefficients around metal rims, from the static field of the wedge.

Near a rim fields rise as rho^(nu - 1), nu = 2/3 at a right angle in air, and a lattice that takes them for smooth
converges with the order 2 nu only. Within hundredths of a wavelength of the rim the field is static. In the plane
(r, z) it has a potential V and a flux function W, known in closed form. An edge's voltage is a difference of V between
its ends, the flux of D through the lattice's face across it a difference of W between the face's ends, and with

    eps = (W(face's end) - W(face's start)) / (V(edge's end) - V(edge's start))        (square cells)

on every edge the wedge's own field solves the lattice's equations exactly. E_phi is harmonic there as well: with E_phi
for V and the magnetic potential for W, the inverse of the same ratio in air is the area of the H face that this edge
crosses. Edges and faces that a wall cuts are included, and nodes that took a wall over (V = 0 there).

Where dielectrics meet at the rim, the angular function is joined at their borders with continuous eps f'.

References:
    Meixner, IEEE Trans. Antennas Propag. 20 (1972) 442 (edge condition); Van Bladel, Singular Electromagnetic Fields
    and Sources (1991), ch. 4 (dielectric and metal wedges); Przybyszewski & Mrozowski, IEEE Microw. Guided Wave Lett.
    8 (1998) 66 (metal wedges in Yee's mesh).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fdtd.arrays import library, on_host
from fdtd.axisymmetric.conductors import AXIS_COLUMNS, headroom
from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.scene import Rim, Scene

_REACH = 2.5  # cells from a rim within which edges are corrected; 1.2 does most of it, 4 does no more
_LEAST = 0.6 / 0.6088**2  # a correction makes no coefficient smaller than this times the Courant number's square
_SMALLEST_VOLTAGE = 0.05  # of the potential one cell from the rim; edges across the field carry none
_LOOKED_AT = 0.2  # cells from the rim at which the media around it are looked at
_DIRECTIONS = 720

Sectors = tuple[tuple[float, float], ...]
"""End of each sector around a rim, rad from its first wall, and its permittivity."""


def edge_conditions(
    grid: AxisymmetricGrid, scene: Scene, permittivity: np.ndarray, open_length: np.ndarray, open_area: np.ndarray
) -> None:
    """Correct the permittivity of E edges and the area of H faces around the scene's rims, in place.

    Where the corrected coefficients drive a face h_phi or a node e_phi more than the time step allows, its area or its
    permittivity is raised: neither takes part in the static fields. Areas depend on the metal alone.

    Args:
        grid: The lattice.
        scene: Antennas and their rims; a rim at NaN is none.
        permittivity: Relative, (batch, 3, nz, nr) for e_r, e_phi, e_z.
        open_length: Open part of the edges, same shape, or one antenna's where all have the same metal.
        open_area: Open part of the faces h_r, h_phi, h_z, the same.
    """
    cells = _Cells(permittivity, open_length, open_area)
    groups = [slice(0, scene.batch)] if scene.same_metal else [slice(one, one + 1) for one in range(scene.batch)]
    around = _around(grid, scene)
    for group in groups:
        first = group.start
        places = tuple(
            (float(rim.r[first]) / grid.cell, float(rim.z[first]) / grid.cell + grid.origin) for rim in scene.rims
        )
        there = [place for place in places if not math.isnan(place[0])]
        for rim, place, seen in zip(scene.rims, places, around, strict=True):
            if place not in there:
                continue
            media = _media_around(rim, group, seen[group])
            _one_rim(grid, media, group, rim, place, tuple(there), cells)


class _Cells(NamedTuple):
    """Arrays to correct, and the open part of the edges; see `edge_conditions`."""

    permittivity: np.ndarray
    open_length: np.ndarray
    open_area: np.ndarray


def _one_rim(
    grid: AxisymmetricGrid,
    media: list[tuple[Sectors, slice | np.ndarray]],
    group: slice,
    rim: Rim,
    place: tuple[float, float],
    places: tuple[tuple[float, float], ...],
    cells: _Cells,
) -> None:
    """Correct what is around one rim of a group of antennas with the same metal."""
    permittivity, open_area = cells.permittivity, cells.open_area
    xp, first, (x, y) = library(permittivity), group.start, place
    length = cells.open_length[first]
    wall, opening = float(rim.wall[first]), float(rim.opening[first])
    i0, k0 = max(int(x - _REACH) - 1, 1), max(int(y - _REACH) - 1, 0)
    i1, k1 = min(int(x + _REACH) + 3, grid.nr), min(int(y + _REACH) + 3, grid.nz)
    window = np.s_[k0:k1, i0:i1]
    rows, columns = np.arange(k0 - 1, k1 + 1) % grid.nz, np.arange(i0 - 1, i1 + 1) % grid.nr
    around = np.ix_(np.arange(3), rows, columns)  # the window and one cell more on each side
    inner = np.s_[1:-1, 1:-1]
    length, area = length[around], open_area[(first, *around)]
    metal = length[(1, *inner)] == 0
    corner = (round(x - i0, 9), round(y - k0, 9))
    others = tuple((round(px - i0, 9), round(py - k0, 9)) for px, py in places if (px, py) != place)
    shape = (corner, others, wall, opening)
    least, allowed = _LEAST * grid.courant_number**2, 4 * _allowed(grid)[columns]

    in_air = _ratios(*shape, ((round(opening, 9), 1.0),), metal.shape, metal.tobytes())
    edges = np.ones_like(length)
    for component, (ratio, face) in enumerate(zip(in_air, (2, 0), strict=True)):
        whole = length[(2 * component, *inner)]
        use = (ratio > 0) & (whole > 0)
        edges[(2 * component, *inner)] = np.where(use, np.maximum(ratio * whole, least), 1.0)
        inverse = np.divide(1.0, ratio, out=np.ones_like(ratio), where=use)
        old = area[(face, *inner)]
        area[(face, *inner)] = np.where(use, np.maximum(inverse, least * old), old)
    driven = _driven((length / edges)[[0, 2]], upwards=True) / allowed
    area[(1, *inner)] = np.maximum(area[(1, *inner)], driven[inner])
    open_area[(group, slice(None), *window)] = area[(slice(None), *inner)]
    nodes = xp.asarray((_driven(1 / area[[0, 2]], upwards=False) / allowed)[inner])
    target = permittivity[(group, 1, *window)]
    target[...] = np.maximum(target, nodes)

    for sectors, members in media:
        found = _ratios(*shape, sectors, metal.shape, metal.tobytes())
        for component, ratio in enumerate(found):
            whole = length[(2 * component, *inner)]
            use = (ratio > 0) & (whole > 0)
            old = permittivity[(members, 2 * component, *window)]
            new = np.where(xp.asarray(use), np.maximum(xp.asarray(ratio * whole), least * old), old)
            permittivity[(members, 2 * component, *window)] = new


def _allowed(grid: AxisymmetricGrid) -> np.ndarray:
    """Return how much more than whole cells the coefficients of a column may drive, (nr,); near the axis no more."""
    near, far = (max(headroom(grid, far), 1.0) for far in (False, True))
    return np.where(np.arange(grid.nr) < AXIS_COLUMNS, near, far)


def _driven(pair: np.ndarray, *, upwards: bool) -> np.ndarray:
    """Sum of the four coefficients around a face (of e_r above each other, of e_z) or a node (of h_r, of h_z)."""
    stacked, side_by_side = pair
    step = -1 if upwards else 1
    return stacked + np.roll(stacked, step, 0) + side_by_side + np.roll(side_by_side, step, 1)


def _around(grid: AxisymmetricGrid, scene: Scene) -> np.ndarray:
    """Permittivity in directions around each rim, from its first wall on, (rims, batch, directions), on the host."""
    if not scene.rims:
        return np.ones((0, scene.batch, _DIRECTIONS))
    r, z, wall, opening = (
        np.nan_to_num(np.stack([np.broadcast_to(getattr(rim, name), (scene.batch,)) for rim in scene.rims]))[..., None]
        for name in ("r", "z", "wall", "opening")
    )
    angle = wall + (np.arange(_DIRECTIONS) + 0.5) * (opening / _DIRECTIONS)
    at_r, at_z = r + _LOOKED_AT * grid.cell * np.cos(angle), z + _LOOKED_AT * grid.cell * np.sin(angle)
    found: Any = np.ones(angle.shape)
    for body in scene.dielectrics:
        xp = library(body.permittivity)
        found, places = xp.asarray(found), [xp.asarray(one) for one in (at_r, at_z)]
        inside = body.distance(xp.arange(scene.batch)[:, None], *places) > 0
        found = np.where(inside, body.permittivity[:, None], found)
    return on_host(found)


def _media_around(rim: Rim, group: slice, permittivity: np.ndarray) -> list[tuple[Sectors, slice | np.ndarray]]:
    """Sectors around a rim, from its first wall on: where each ends, rad, and its permittivity; and who has them."""
    step = float(rim.opening[group.start]) / _DIRECTIONS
    found: dict[Sectors, list[int]] = {}
    for member, row in zip(range(group.start, group.stop), permittivity, strict=True):
        last = np.append(np.nonzero(np.diff(row))[0], _DIRECTIONS - 1)
        sectors = tuple((round(float((at + 1) * step), 9), float(row[at])) for at in last)
        found.setdefault(sectors, []).append(member)
    if len(found) == 1:
        return [(next(iter(found)), group)]
    return [(sectors, np.array(those)) for sectors, those in found.items()]


class _Wedge:
    """The static field around a rim whose walls stand at the angles 0 and `opening`, V = 0 on both.

    V = rho^nu f, W = -rho^nu g with g = eps f' / nu; nu is the smallest exponent with f = 0 on the second wall, and the
    largest f is 1.
    """

    def __init__(self, sectors: Sectors) -> None:
        self.opening = sectors[-1][0]
        self.exponent = np.pi / self.opening if len(sectors) == 1 else self._smallest_exponent(sectors)
        self._sectors = sectors
        self._starts = [0.0, *(end for end, _ in sectors[:-1])]
        self._values = [(float(f[0]), float(g[0])) for f, g in self._join(np.array([self.exponent]), sectors)[:-1]]
        largest = np.abs(self.angular(np.linspace(0.0, self.opening, 721))[0]).max()
        self._values = [(f / largest, g / largest) for f, g in self._values]

    def _smallest_exponent(self, sectors: Sectors) -> float:
        """Bisect f on the second wall."""
        trial = np.linspace(0.3, 1.2, 181)
        ends = self._join(trial, sectors)[-1]
        first = int(np.argmax((ends[:-1] > 0) & (ends[1:] <= 0)))
        low, high = trial[first], trial[first + 1]
        for _ in range(50):
            middle = (low + high) / 2
            if self._join(np.array([middle]), sectors)[-1][0] > 0:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    @staticmethod
    def _join(exponent: np.ndarray, sectors: Sectors) -> list:
        """The functions f and g at each sector's start, and f at the second wall."""
        f, g, start = np.zeros_like(exponent), np.ones_like(exponent), 0.0
        found: list = []
        for end, permittivity in sectors:
            found.append((f, g))
            turn = exponent * (end - start)
            f, g = (
                f * np.cos(turn) + g / permittivity * np.sin(turn),
                g * np.cos(turn) - permittivity * f * np.sin(turn),
            )
            start = end
        return [*found, f]

    def angular(self, angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The functions f and g at angles from the first wall, rad."""
        f, g = np.zeros_like(angle), np.zeros_like(angle)
        for (end, permittivity), start, (value, slope) in zip(self._sectors, self._starts, self._values, strict=True):
            here = (angle >= start) & (angle <= end)
            turn = self.exponent * (angle - start)
            f = np.where(here, value * np.cos(turn) + slope / permittivity * np.sin(turn), f)
            g = np.where(here, slope * np.cos(turn) - permittivity * value * np.sin(turn), g)
        return f, g

    def potential(self, x: np.ndarray, y: np.ndarray, wall: float) -> np.ndarray:
        """V at places from the rim, 0 in the metal; the first wall stands at the angle `wall`."""
        angle = _from_wall(x, y, wall)
        f = self.angular(np.clip(angle, 0.0, self.opening))[0]
        return np.where(angle > self.opening, 0.0, np.hypot(x, y) ** self.exponent * f)

    def flux(self, x: np.ndarray, y: np.ndarray, wall: float) -> np.ndarray:
        """W at places from the rim; in the metal, of the nearest place on a wall, where the flux ends."""
        angle = _from_wall(x, y, wall)
        away = np.hypot(x, y)
        g = self.angular(np.clip(angle, 0.0, self.opening))[1]
        on_second = (angle > self.opening) & (angle < self.opening / 2 + np.pi)
        beyond = np.where(on_second, angle - self.opening, 2 * np.pi - angle)
        foot = away * np.maximum(np.cos(beyond), 0.0)
        ends = self.angular(np.array([0.0, self.opening]))[1]
        in_metal = foot**self.exponent * np.where(on_second, ends[1], ends[0])
        return -np.where(angle > self.opening, in_metal, away**self.exponent * g)


def _from_wall(x: np.ndarray, y: np.ndarray, wall: float) -> np.ndarray:
    """Angle from a wall, 0 ... 2 pi, counterclockwise from r to z; places on the wall itself count as 0."""
    tiny = 1e-9
    return np.maximum(np.mod(np.arctan2(y, x) - wall + tiny, 2 * np.pi) - tiny, 0.0)


@lru_cache(maxsize=64)
def _wedge(sectors: Sectors) -> _Wedge:
    return _Wedge(sectors)


@lru_cache(maxsize=512)
def _ratios(
    corner: tuple[float, float],
    others: tuple[tuple[float, float], ...],
    wall: float,
    opening: float,
    sectors: Sectors,
    shape: tuple[int, int],
    metal: bytes,
) -> tuple[np.ndarray, np.ndarray]:
    """Flux over voltage of the edges along r and along z of a window, 0 where the edge keeps what it has.

    Args:
        corner: The rim, in cells from the window's first node.
        others: The antenna's other rims; an edge belongs to the nearest.
        wall: Angle of its first wall, rad.
        opening: Angle between its walls, rad.
        sectors: Media around it.
        shape: Rows and columns of the window.
        metal: Which of its nodes conduct, as bytes.
    """
    wedge = _wedge((*sectors[:-1], (opening, sectors[-1][1])))
    x, y = np.meshgrid(np.arange(shape[1]) - corner[0], np.arange(shape[0]) - corner[1])
    conducts = np.frombuffer(metal, dtype=bool).reshape(shape)
    voltage = np.where(conducts, 0.0, wedge.potential(x, y, wall))
    padded = np.pad(voltage, ((0, 1), (0, 1)))
    found = []
    for along_r, along_z in ((1, 0), (0, 1)):
        end = padded[along_z : shape[0] + along_z, along_r : shape[1] + along_r]
        middle_x, middle_y = x + along_r / 2, y + along_z / 2
        start_w = wedge.flux(middle_x + along_z / 2, middle_y - along_r / 2, wall)
        end_w = wedge.flux(middle_x - along_z / 2, middle_y + along_r / 2, wall)
        drop = end - voltage
        away = np.hypot(middle_x, middle_y)
        nearest = np.ones(shape, dtype=bool)
        for other in others:
            to_other = np.hypot(middle_x + corner[0] - other[0], middle_y + corner[1] - other[1])
            nearest &= away <= to_other + 1e-9
        use = (away < _REACH) & nearest & (np.abs(drop) > _SMALLEST_VOLTAGE)
        use[(slice(None), -1) if along_r else -1] = False  # these edges end outside the window
        ratio = np.divide(end_w - start_w, drop, out=np.zeros(shape), where=use)
        found.append(np.where(ratio > 0, ratio, 0.0))
    return found[0], found[1]
