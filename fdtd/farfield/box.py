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

from dataclasses import dataclass

import numpy as np
from scipy.constants import speed_of_light

from fdtd.errors import ConfigError
from fdtd.yee.grid import FACES, Grid

_SIGNS = {"electric": -1.0, "magnetic": 1.0}  # of tangential J in the image


@dataclass(frozen=True, kw_only=True, eq=False)
class _Patch:
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
    weights: np.ndarray
    cell: float


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
    """

    def __init__(
        self, grid: Grid, box: tuple[tuple[int, int], ...], hole: tuple[tuple[int, int], tuple[int, int]] | None = None
    ) -> None:
        self.grid = grid
        self._patches: list[_Patch] = []
        parts: list[np.ndarray] = []
        self._walls = [
            (axis, side, "magnetic" if FACES[2 * axis + side] in grid.magnetic else "electric")
            for axis in range(3)
            for side in (0, 1)
            if not grid.layers[2 * axis + side]
        ]
        if len({axis for axis, _, _ in self._walls}) < len(self._walls):
            raise ConfigError("walls on both faces of an axis leave no far field; open one of them")
        size = 0
        for axis in range(3):
            for side in (0, 1):
                if not grid.layers[2 * axis + side]:
                    continue
                for patch, flat in _face(grid, box, axis, side, size):
                    if hole is not None and (axis, side) == (2, 0):
                        inner = [  # E on the walls is zero; half a cell beyond the second one it is outside
                            slice(low - box[along][0], high - box[along][0] + (along != patch.j[0]))
                            for along, (low, high) in enumerate(hole)
                        ]
                        patch.weights[tuple(inner)] = 0
                    self._patches.append(patch)
                    parts += flat
                    size += sum(len(one) for one in flat)
        self.indices = np.concatenate(parts)
        self.magnetic = self.indices >= 3 * int(np.prod(grid.shape))

    def flux(self, spectrum: np.ndarray) -> np.ndarray:
        """Power out of the box, W times eta0 times 2: the lattice's conserved flux Re sum E x H* . n, (...).

        Args:
            spectrum: E and H of the samples, V/m, (..., size).
        """
        total = np.zeros(spectrum.shape[:-1])
        for patch in self._patches:
            shape = (*spectrum.shape[:-1], *patch.weights.shape)
            e, h = (spectrum[..., part].reshape(shape) for part in (patch.electric, patch.magnetic))
            # E . (H* x n) = -E . J*, with J of the E node's own direction
            total -= patch.j[1] * np.sum(patch.weights * np.real(e * np.conj(h)), axis=(-2, -1))
        return total

    def radiate(self, spectrum: np.ndarray, frequency: float, theta: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """Far field r E exp(jkr), V, (directions, 2): E_theta and E_phi.

        Args:
            spectrum: E and H of the samples, V/m, H scaled by the free-space impedance, (size,).
            frequency: Hz.
            theta: Angles from z, rad, (directions,).
            phi: Angles from x, rad, (directions,).
        """
        k = 2 * np.pi * frequency / speed_of_light
        directions = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
        n, m = self._moments(spectrum, k, directions, self._walls)
        for axis, side, kind in self._walls:  # nothing behind a conductor
            if kind == "electric":
                dark = directions[axis] * (1 if side else -1) > 1e-9
                n[:, dark] = m[:, dark] = 0.0
        to_theta = np.stack([np.cos(theta) * np.cos(phi), np.cos(theta) * np.sin(phi), -np.sin(theta)])
        to_phi = np.stack([-np.sin(phi), np.cos(phi), np.zeros_like(phi)])
        e_theta = -(m * to_phi).sum(axis=0) - (n * to_theta).sum(axis=0)
        e_phi = (m * to_theta).sum(axis=0) - (n * to_phi).sum(axis=0)
        return 1j * k / (4 * np.pi) * np.stack([e_theta, e_phi], axis=-1)

    def _moments(
        self, spectrum: np.ndarray, k: float, directions: np.ndarray, walls: list[tuple[int, int, str]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return eta N and L, (3, directions) each, with the images in the walls."""
        if not walls:
            return self._own(spectrum, k, directions)
        (axis, side, kind), *others = walls
        n, m = self._moments(spectrum, k, directions, others)
        mirrored = directions.copy()
        mirrored[axis] *= -1
        image_n, image_m = self._moments(spectrum, k, mirrored, others)
        sign = np.full((3, 1), _SIGNS[kind])
        sign[axis] *= -1
        shift = np.exp(2j * k * self.grid.planes[axis][-1 if side else 0] * directions[axis])
        return n + sign * shift * image_n, m - sign * shift * image_m

    def _own(self, spectrum: np.ndarray, k: float, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n, m = (np.zeros((3, directions.shape[1]), dtype=complex) for _ in range(2))
        phases = _Phases(k, directions)
        for patch in self._patches:
            first = int(phases.distinct(patch.along[1]) < phases.distinct(patch.along[0]))  # summed over at once
            few, which = phases.along(patch.along[first], patch.places[first])
            many, each = phases.along(patch.along[1 - first], patch.places[1 - first])
            every = many[each]
            normal = k * directions[patch.axis]
            scale = 1 / np.sqrt(np.cos(normal * patch.cell / 2))
            for out, (to, sign), part, place in (
                (n, patch.j, patch.magnetic, patch.place_j),
                (m, patch.m, patch.electric, patch.place_m),
            ):
                values = patch.weights * spectrum[part].reshape(patch.weights.shape)
                summed = np.einsum("dc,dc->d", (few @ (values.T if first else values))[which], every)
                out[to] += sign * scale * np.exp(1j * normal * place) * summed
        return n, m


class _Phases:
    """Factors exp(jk r.d) along one axis at a time, each made once; d are the directions, (3, directions).

    Directions on a sphere or on cuts have few different z, so that what is summed along z first is summed for these.
    """

    def __init__(self, k: float, directions: np.ndarray) -> None:
        self._k = k
        self._distinct = [np.unique(one, return_inverse=True) for one in directions]
        self._made: dict[tuple[int, bytes], np.ndarray] = {}

    def distinct(self, axis: int) -> int:
        """Return how many different components along an axis there are."""
        return len(self._distinct[axis][0])

    def along(self, axis: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the factors of the different components, (distinct, places), and which is each direction's."""
        components, which = self._distinct[axis]
        key = (axis, places.tobytes())
        if key not in self._made:
            self._made[key] = np.exp(1j * self._k * np.outer(components, places))
        return self._made[key], which


def _face(
    grid: Grid, box: tuple[tuple[int, int], ...], axis: int, side: int, start: int
) -> list[tuple[_Patch, list[np.ndarray]]]:
    """Return both pairs of currents of one face, and the flat indices of their samples, E first."""
    outward = 1.0 if side else -1.0
    plane = box[axis][side]
    outside = plane if side else plane - 1
    places = grid.planes[axis]
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
        flat = [
            _flat(grid, component, {axis: np.array([at]), b: index[0], c: index[1]}, (b, c))
            for component, at in ((electric, plane), (magnetic, outside))
        ]
        size = len(flat[0])
        patch = _Patch(
            axis=axis,
            along=(b, c),
            j=j,
            m=m,
            electric=slice(start, start + size),
            magnetic=slice(start + size, start + 2 * size),
            place_j=float(places[plane]),
            place_m=float(places[outside] + places[outside + 1]) / 2,
            places=(coordinates[0], coordinates[1]),
            weights=np.outer(lengths[0], lengths[1]),
            cell=float(places[outside + 1] - places[outside]),
        )
        start += 2 * size
        found.append((patch, flat))
    return found


def _flat(grid: Grid, component: int, at: dict[int, np.ndarray], order: tuple[int, int]) -> np.ndarray:
    """Flat indices into the state of one component on a face, in C order of (b, c)."""
    b, c = order
    mesh = dict(zip((b, c), np.meshgrid(at[b], at[c], indexing="ij"), strict=True))
    (normal,) = set(at) - {b, c}
    index = [mesh.get(axis, np.full(mesh[b].shape, at[normal][0])) for axis in range(3)]
    return np.ravel_multi_index(
        (np.full(mesh[b].shape, component), index[2], index[1], index[0]), (6, *grid.shape)
    ).ravel()
