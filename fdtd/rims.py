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

from functools import lru_cache

import numpy as np

from fdtd.conductors import AXIS_COLUMNS, headroom
from fdtd.grid import AxisymmetricGrid
from fdtd.scene import Scene

_REACH = 2.5  # cells from a rim within which edges are corrected; 1.2 does most of it, 4 does no more
_LEAST = 0.6 / 0.6088**2  # a correction makes no coefficient smaller than this times the Courant number's square
_SMALLEST_VOLTAGE = 0.05  # of the potential one cell from the rim; edges across the field carry none
_LOOKED_AT = 0.2  # cells from the rim at which the media around it are looked at
_DIRECTIONS = 720


def edge_conditions(
    grid: AxisymmetricGrid, scene: Scene, permittivity: np.ndarray, open_length: np.ndarray, open_area: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Permittivity of E edges and area of H faces, corrected around the scene's rims.

    Args:
        grid: The lattice.
        scene: Antennas and their rims.
        permittivity: Relative, (batch, 3, nz, nr) for e_r, e_phi, e_z.
        open_length: Open part of the edges, same shape.
        open_area: Open part of the faces h_r, h_phi, h_z, same shape.

    Returns:
        Permittivity and open area, new arrays. Where the corrected coefficients drive a face h_phi or a node e_phi more
        than the time step allows, its area or its permittivity is raised: neither takes part in the static fields.
    """
    permittivity, open_area = permittivity.copy(), open_area.copy()
    least = _LEAST * grid.courant_number**2
    for antenna in range(scene.batch):
        places = tuple(
            (float(rim.r[antenna]) / grid.cell, float(rim.z[antenna]) / grid.cell + grid.origin) for rim in scene.rims
        )
        for rim, (x, y) in zip(scene.rims, places, strict=True):
            wall, opening = float(rim.wall[antenna]), float(rim.opening[antenna])
            i0, k0 = max(int(x - _REACH) - 1, 1), max(int(y - _REACH) - 1, 0)
            i1, k1 = min(int(x + _REACH) + 3, grid.nr), min(int(y + _REACH) + 3, grid.nz)
            window = np.s_[k0:k1, i0:i1]
            metal = open_length[(antenna, 1, *window)] == 0
            around = _media_around(grid, scene, antenna, rim.r[antenna], rim.z[antenna], wall, opening)
            corner = (round(x - i0, 9), round(y - k0, 9))
            others = tuple((round(px - i0, 9), round(py - k0, 9)) for px, py in places if (px, py) != (x, y))
            electric = _ratios(corner, others, wall, opening, around, metal.shape, metal.tobytes())
            magnetic = _ratios(corner, others, wall, opening, ((opening, 1.0),), metal.shape, metal.tobytes())
            for component, (edge_e, edge_h, face) in enumerate(zip(electric, magnetic, (2, 0), strict=True)):
                length = open_length[(antenna, 2 * component, *window)]
                edge = permittivity[(antenna, 2 * component, *window)]
                edge[...] = np.where((edge_e > 0) & (length > 0), np.maximum(edge_e * length, least * edge), edge)
                area = open_area[(antenna, face, *window)]
                found = np.divide(1.0, edge_h, out=np.ones_like(edge_h), where=edge_h > 0)
                area[...] = np.where((edge_h > 0) & (length > 0), np.maximum(found, least * area), area)
            _keep_the_time_step(grid, permittivity[antenna], open_length[antenna], open_area[antenna], window)
    return permittivity, open_area


def _keep_the_time_step(
    grid: AxisymmetricGrid, permittivity: np.ndarray, length: np.ndarray, area: np.ndarray, window: tuple[slice, slice]
) -> None:
    """Raise areas of h_phi and permittivities of e_phi in a window until neither is driven too hard, in place."""
    near, far = (headroom(grid.courant_number, far) for far in (False, True))
    allowed = np.where(np.arange(grid.nr) < AXIS_COLUMNS, near, far)[window[1]]
    inverse = length / permittivity
    e_r, e_z = inverse[0], inverse[2]
    driven = e_r + np.roll(e_r, -1, 0) + e_z + np.roll(e_z, -1, 1)
    area[(1, *window)] = np.maximum(area[(1, *window)], driven[window] / (4 * allowed))
    h_r, h_z = 1 / area[0], 1 / area[2]
    driven = h_r + np.roll(h_r, 1, 0) + h_z + np.roll(h_z, 1, 1)
    permittivity[(1, *window)] = np.maximum(permittivity[(1, *window)], driven[window] / (4 * allowed))


def _media_around(
    grid: AxisymmetricGrid, scene: Scene, antenna: int, r: float, z: float, wall: float, opening: float
) -> tuple[tuple[float, float], ...]:
    """Sectors around a rim, from its first wall on: where each ends, rad, and its permittivity."""
    step = opening / _DIRECTIONS
    angle = wall + (np.arange(_DIRECTIONS) + 0.5) * step
    at_r, at_z = r + _LOOKED_AT * grid.cell * np.cos(angle), z + _LOOKED_AT * grid.cell * np.sin(angle)
    permittivity = np.ones(_DIRECTIONS)
    for body in scene.dielectrics:
        inside = body.distance(np.full(_DIRECTIONS, antenna), at_r, at_z) > 0
        permittivity[inside] = body.permittivity[antenna]
    last = np.append(np.nonzero(np.diff(permittivity))[0], _DIRECTIONS - 1)
    return tuple((round(float((at + 1) * step), 9), float(permittivity[at])) for at in last)


class _Wedge:
    """The static field around a rim whose walls stand at the angles 0 and `opening`, V = 0 on both.

    V = rho^nu f, W = -rho^nu g with g = eps f' / nu; nu is the smallest exponent with f = 0 on the second wall, and the
    largest f is 1.
    """

    def __init__(self, sectors: tuple[tuple[float, float], ...]) -> None:
        self.opening = sectors[-1][0]
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
        self.exponent = (low + high) / 2
        self._sectors = sectors
        self._starts = [0.0, *(end for end, _ in sectors[:-1])]
        self._values = [(float(f[0]), float(g[0])) for f, g in self._join(np.array([self.exponent]), sectors)[:-1]]
        largest = np.abs(self.angular(np.linspace(0.0, self.opening, 721))[0]).max()
        self._values = [(f / largest, g / largest) for f, g in self._values]

    @staticmethod
    def _join(exponent: np.ndarray, sectors: tuple[tuple[float, float], ...]) -> list:
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
def _wedge(sectors: tuple[tuple[float, float], ...]) -> _Wedge:
    return _Wedge(sectors)


@lru_cache(maxsize=512)
def _ratios(
    corner: tuple[float, float],
    others: tuple[tuple[float, float], ...],
    wall: float,
    opening: float,
    sectors: tuple[tuple[float, float], ...],
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
