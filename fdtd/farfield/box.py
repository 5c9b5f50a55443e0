"""Near field to far field on a box of a rectilinear Yee lattice.

As for the axisymmetric contour (`fdtd.farfield.axisymmetric`) the samples are the lattice's own: tangential E on the
box, tangential H half a cell outside. J = n x H at the E nodes and M = -n x E at the H nodes leave the field outside
unchanged and none inside. Radiated:

    N = sum J w exp(jk r.d),  L = sum M w exp(jk r.d)
    E_theta = -(jk / 4 pi) (L_phi + eta N_theta),  E_phi = (jk / 4 pi) (L_theta - eta N_phi)

The currents of a face stand half a cell apart, which radiates cos(k_n d / 2) times too weakly; dividing by its root
keeps the power (see there). Walls are images: the field in a direction is that of the currents plus, with signs, what
they send in the mirrored direction.

References:
    Taflove & Hagness, 3rd ed., ch. 8; Balanis, Antenna Theory, 4th ed., sec. 12.2 (radiation integrals), 4.7 (images).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.constants import speed_of_light

from fdtd.errors import ConfigError
from fdtd.yee.grid import FACES, Grid

SIGNS = {"electric": -1.0, "mirror": -1.0, "magnetic": 1.0}
"""Of tangential J in the image. A mirror is an electric wall with an image behind it; behind the others is nothing."""
DARK = 1e-9
"""Cosine from which on a direction is behind a conductor."""
_DIGITS = 14  # after the point: components of directions that differ by rounding are one

Components = list[tuple[np.ndarray, np.ndarray]]
"""Along each axis the different components of directions, and which of them each direction has."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Patch:
    """One pair of currents on a face: J from H half a cell outside, M from E on the face; [b, c] in C order."""

    axis: int
    along: tuple[int, int]
    j: tuple[int, float]
    m: tuple[int, float]
    electric: slice
    magnetic: slice
    place_j: float
    place_m: float
    places: tuple[np.ndarray, np.ndarray]
    lengths: tuple[np.ndarray, np.ndarray]
    weights: np.ndarray
    cell: float
    hole: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))  # rows and columns without weight


class HuygensBox:
    """Samples of a box on a lattice, and what they radiate.

    Args:
        grid: The lattice.
        box: First and last plane along x, y, z. There is no face at a wall.
        hole: First and last plane along x and y of a guide of metal that comes through the face z-; what is in it
            does not count. The currents on its outside beyond the face are neglected.

    Attributes:
        indices: Flat indices into the state (6, nz + 1, ny + 1, nx + 1) of all samples, (size,).
        magnetic: Which samples are H, (size,).
        patches: Pairs of currents, two a face.
        walls: Axis, side (0 or 1) and kind (see `SIGNS`) of each.
    """

    def __init__(
        self, grid: Grid, box: tuple[tuple[int, int], ...], hole: tuple[tuple[int, int], tuple[int, int]] | None = None
    ) -> None:
        self.grid = grid
        self.patches: list[Patch] = []
        parts: list[np.ndarray] = []
        self.walls = [
            (axis, side, _kind(grid, FACES[2 * axis + side]))
            for axis in range(3)
            for side in (0, 1)
            if not grid.layers[2 * axis + side]
        ]
        if len({axis for axis, _, _ in self.walls}) < len(self.walls):
            raise ConfigError("walls on both faces of an axis leave no far field; open one of them")
        ends = [(int(low > 0), int(high < count)) for (low, high), count in zip(box, grid.counts, strict=True)]
        self._extent = [
            (float(planes[low - before]), float(planes[high + after]))  # H is half a cell outside
            for planes, (low, high), (before, after) in zip(grid.planes, box, ends, strict=True)
        ]
        size = 0
        for axis in range(3):
            for side in (0, 1):
                if not grid.layers[2 * axis + side]:
                    continue
                for patch, flat in _face(grid, box, axis, side, size):
                    if hole is not None and (axis, side) == (2, 0):
                        patch = _without(patch, hole, (box[0][0], box[1][0]))
                    self.patches.append(patch)
                    parts += flat
                    size += sum(len(one) for one in flat)
        self.indices = np.concatenate(parts)
        self.magnetic = self.indices >= 3 * int(np.prod(grid.shape))

    @property
    def radius(self) -> float:
        """Radius of the smallest sphere that holds the currents and their images, m."""
        walls = {axis for axis, _, _ in self.walls}
        total = 0.0
        for axis, (low, high) in enumerate(self._extent):
            total += ((high - low) / (1 if axis in walls else 2)) ** 2
        return math.sqrt(total)

    @property
    def centre(self) -> tuple[float, float, float]:
        """Middle of that sphere, m."""
        found = [(low + high) / 2 for low, high in self._extent]
        for axis, side, _ in self.walls:
            found[axis] = float(self.grid.planes[axis][-1 if side else 0])
        return found[0], found[1], found[2]

    def flux(self, spectrum: np.ndarray) -> np.ndarray:
        """Power out of the box, W times eta0 times 2: the lattice's conserved flux Re sum E x H* . n, (...).

        Args:
            spectrum: E and H of the samples, V/m, (..., size).
        """
        total = np.zeros(spectrum.shape[:-1])
        for patch in self.patches:
            shape = (*spectrum.shape[:-1], *patch.weights.shape)
            e, h = (spectrum[..., part].reshape(shape) for part in (patch.electric, patch.magnetic))
            # E . (H* x n) = -E . J*, with J of the E node's own direction
            total -= patch.j[1] * np.sum(patch.weights * np.real(e * np.conj(h)), axis=(-2, -1))
        return total

    def radiate(self, spectra: np.ndarray, frequencies: np.ndarray, theta: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """Far field r E exp(jkr), V, (F, directions, 2): E_theta and E_phi.

        Args:
            spectra: E and H of the samples, V/m, H scaled by the free-space impedance, (F, size).
            frequencies: Hz, (F,).
            theta: Angles from z, rad, (directions,).
            phi: Angles from x, rad, (directions,).
        """
        k = 2 * np.pi * np.asarray(frequencies, dtype=float) / speed_of_light
        directions = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
        to_theta = np.stack([np.cos(theta) * np.cos(phi), np.cos(theta) * np.sin(phi), -np.sin(theta)])
        to_phi = np.stack([-np.sin(phi), np.cos(phi), np.zeros_like(phi)])
        found = np.empty((len(k), len(theta), 2), dtype=complex)
        components = [np.unique(np.round(one, _DIGITS), return_inverse=True) for one in directions]
        for at, (one, spectrum) in enumerate(zip(k.tolist(), spectra, strict=True)):
            n, m = self._moments(spectrum, one, directions, components, self.walls)
            for axis, side, kind in self.walls:  # nothing behind a conductor
                if kind == "electric":
                    dark = directions[axis] * (1 if side else -1) > DARK
                    n[:, dark] = m[:, dark] = 0.0
            found[at, :, 0] = -(m * to_phi).sum(axis=0) - (n * to_theta).sum(axis=0)
            found[at, :, 1] = (m * to_theta).sum(axis=0) - (n * to_phi).sum(axis=0)
            found[at] *= 1j * one / (4 * np.pi)
        return found

    def _moments(
        self, spectrum: np.ndarray, k: float, directions: np.ndarray, components: Components,
        walls: list[tuple[int, int, str]],
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return eta N and L, (3, directions) each, with the images in the walls."""
        if not walls:
            return self._own(spectrum, k, directions, components)
        (axis, side, kind), *others = walls
        n, m = self._moments(spectrum, k, directions, components, others)
        mirrored, turned = directions.copy(), list(components)
        mirrored[axis] *= -1
        turned[axis] = -components[axis][0], components[axis][1]
        image_n, image_m = self._moments(spectrum, k, mirrored, turned, others)
        sign = np.full((3, 1), SIGNS[kind])
        sign[axis] *= -1
        shift = np.exp(2j * k * self.grid.planes[axis][-1 if side else 0] * directions[axis])
        return n + sign * shift * image_n, m - sign * shift * image_m

    def _own(
        self, spectrum: np.ndarray, k: float, directions: np.ndarray, components: Components
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return eta N and L of the box, (3, directions) each.

        Both currents of a patch stand at the same places across the face: they share the phases and go through one
        product of matrices. Directions on a sphere or on cuts have few different components along an axis; what is
        summed along that axis first is summed for these alone.
        """
        n, m = (np.zeros((3, directions.shape[1]), dtype=complex) for _ in range(2))
        phases: dict[tuple[int, bytes], np.ndarray] = {}
        for patch in self.patches:
            rows, columns = patch.weights.shape
            pair = np.stack([spectrum[part].reshape(rows, columns) for part in (patch.magnetic, patch.electric)])
            pair *= patch.weights
            work = [len(components[axis][0]) * pair.size for axis in patch.along]
            work = [one + 2 * directions.shape[1] * other for one, other in zip(work, (columns, rows), strict=True)]
            first = int(work[1] < work[0])  # summed over at once
            few, many = (_phases(phases, components, k, patch.along[at], patch.places[at]) for at in (first, 1 - first))
            which, each = (components[patch.along[at]][1] for at in (first, 1 - first))
            summed = few @ (pair if first == 0 else pair.transpose(0, 2, 1))  # (2, few, the other axis)
            every = many[each][:, :, None]
            both = (np.ascontiguousarray(summed.transpose(1, 0, 2))[which] @ every)[:, :, 0]
            normal = k * directions[patch.axis]
            scale = 1 / np.sqrt(np.cos(normal * patch.cell / 2))
            for out, (to, sign), at, place in ((n, patch.j, 0, patch.place_j), (m, patch.m, 1, patch.place_m)):
                out[to] += sign * scale * np.exp(1j * normal * place) * both[:, at]
        return n, m


def _kind(grid: Grid, face: str) -> str:
    """Return which of `SIGNS` a face's wall is."""
    return "magnetic" if face in grid.magnetic else "mirror" if face in grid.mirrors else "electric"


def _phases(
    made: dict[tuple[int, bytes], np.ndarray], components: Components, k: float, axis: int, places: np.ndarray
) -> np.ndarray:
    """Return exp(jk r.d) along one axis for its different components, (different, places), made once."""
    key = (axis, places.tobytes())
    if key not in made:
        made[key] = np.exp(1j * k * np.outer(components[axis][0], places))
    return made[key]


def _without(patch: Patch, hole: tuple[tuple[int, int], tuple[int, int]], corner: tuple[int, int]) -> Patch:
    """Return a patch of the face z- without what lies in a guide: its planes along x and y, those of the box's corner.

    Half nodes between the guide's first and last plane are in it, and so are nodes on these planes.
    """
    left, right = (
        (low - start, high - start + (along != patch.j[0]))
        for along, ((low, high), start) in enumerate(zip(hole, corner, strict=True))
    )
    weights = patch.weights.copy()
    weights[slice(*left), slice(*right)] = 0
    return replace(patch, weights=weights, hole=(left, right))


def _face(
    grid: Grid, box: tuple[tuple[int, int], ...], axis: int, side: int, start: int
) -> list[tuple[Patch, list[np.ndarray]]]:
    """Return both pairs of currents of one face, and the flat indices of their samples, E first."""
    outward = 1.0 if side else -1.0
    plane = box[axis][side]
    outside = plane if side else plane - 1
    across, (nz, ny, nx) = grid.planes[axis], grid.shape
    strides = 1, nx, nx * ny  # in the flat state
    b, c = (axis + 1) % 3, (axis + 2) % 3
    found = []
    # J_b = -H_c and M_c = -E_b where E_b stands; J_c = H_b and M_b = E_c where E_c stands.
    for electric, magnetic, j, m in ((b, 3 + c, (b, -outward), (c, -outward)), (c, 3 + b, (c, outward), (b, outward))):
        coordinates, lengths, index = [], [], []
        for along in (b, c):
            low, high = box[along]
            planes = grid.planes[along]
            if along == electric:
                index.append(np.arange(low, high))
                coordinates.append((planes[low:high] + planes[low + 1 : high + 1]) / 2)
                lengths.append(grid.spacing(along)[low:high])
            else:
                index.append(np.arange(low, high + 1))
                coordinates.append(planes[low : high + 1])
                lengths.append(grid.dual(along)[low : high + 1])
        rows, columns = (one * strides[along] for one, along in zip(index, (b, c), strict=True))
        places = (rows[:, None] + columns).ravel()
        flat = [
            places + (component * nx * ny * nz + at * strides[axis])
            for component, at in ((electric, plane), (magnetic, outside))
        ]
        size = len(flat[0])
        patch = Patch(
            axis=axis,
            along=(b, c),
            j=j,
            m=m,
            electric=slice(start, start + size),
            magnetic=slice(start + size, start + 2 * size),
            place_j=float(across[plane]),
            place_m=float(across[outside] + across[outside + 1]) / 2,
            places=(coordinates[0], coordinates[1]),
            lengths=(lengths[0], lengths[1]),
            weights=np.outer(lengths[0], lengths[1]),
            cell=float(across[outside + 1] - across[outside]),
        )
        start += 2 * size
        found.append((patch, flat))
    return found
