"""The rectilinear Yee lattice: planes at any spacing, and the boundaries of its six faces.

Index [k, j, i] names the node (x_i, y_j, z_k) and the half nodes after it, x fastest. Components stand at

    e_x (i + 1/2, j, k)    h_x (i, j + 1/2, k + 1/2)
    e_y (i, j + 1/2, k)    h_y (i + 1/2, j, k + 1/2)
    e_z (i, j, k + 1/2)    h_z (i + 1/2, j + 1/2, k)

so every component's array is [nz + 1, ny + 1, nx + 1], and the last entry along a half-node axis is padding.

References:
    Taflove & Hagness, Computational Electrodynamics, 3rd ed., sec. 3.6 and 11.2 (graded lattices), eq. 4.54 (limit).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np
from scipy.constants import speed_of_light

from fdtd.errors import ConfigError

FACES = ("x-", "x+", "y-", "y+", "z-", "z+")
"""Names of the faces, in the order of every tuple of six."""

COMPONENTS = ("e_x", "e_y", "e_z", "h_x", "h_y", "h_z")
"""Names of the components, in the order of the state."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """A lattice.

    Attributes:
        x: Planes, m, increasing, (nx + 1,), absorbing layers included.
        y: The same along y, (ny + 1,).
        z: The same along z, (nz + 1,).
        layers: Cells of the absorbing layer in front of each face of `FACES`; 0 leaves a wall.
        magnetic: Faces whose wall is a perfect magnetic conductor (a symmetry plane); all others are perfect electric
            conductors, also behind the layers.
        mirrors: Faces whose electric wall is a symmetry plane too: the antenna's other half is behind it. Behind the
            other electric walls there is nothing.
        courant_number: Time step over the largest stable one.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    layers: tuple[int, int, int, int, int, int] = (0, 0, 0, 0, 0, 0)
    magnetic: tuple[str, ...] = ()
    mirrors: tuple[str, ...] = ()
    courant_number: float = 0.98

    def __post_init__(self) -> None:
        for name, planes in zip("xyz", self.planes, strict=True):
            if planes.ndim != 1 or len(planes) < 3 or not (np.diff(planes) > 0).all():
                raise ConfigError(f"grid.{name} has {planes.shape} planes (needs at least 3 that increase)")
        if not 0 < self.courant_number < 1:
            raise ConfigError(f"courant_number = {self.courant_number} is not allowed (needs > 0 and < 1)")
        for name in ("magnetic", "mirrors"):
            if unknown := [face for face in getattr(self, name) if face not in FACES]:
                raise ConfigError(f"{name} = {unknown[0]!r} is not a face (allowed: {', '.join(FACES)})")
        if len(self.layers) != len(FACES) or not all(isinstance(cells, Integral) for cells in self.layers):
            raise ConfigError(
                f"layers = {self.layers} is not allowed (needs six whole numbers, of {', '.join(FACES)}); 0 is a wall"
            )
        for face, cells in zip(FACES, self.layers, strict=True):
            if cells < 0 or cells == 1:
                raise ConfigError(f"layers = {cells} cells on face {face} is not allowed (needs 0 or at least 2)")
            if (cells > 0) + (face in self.magnetic) + (face in self.mirrors) > 1:
                raise ConfigError(f"face {face} is more than one of open, magnetic and a mirror; name it in one list")
        for axis, count in enumerate(self.counts):
            low, high = self.layers[2 * axis : 2 * axis + 2]
            if low + high + 2 > count:
                raise ConfigError(
                    f"layers of {low} and {high} cells leave nothing of {count} along {'xyz'[axis]}; enlarge the grid"
                )

    @property
    def planes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Planes along x, y and z, m."""
        return self.x, self.y, self.z

    @property
    def counts(self) -> tuple[int, int, int]:
        """Cells along x, y and z."""
        return len(self.x) - 1, len(self.y) - 1, len(self.z) - 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of every component's array, (nz + 1, ny + 1, nx + 1)."""
        nx, ny, nz = self.counts
        return nz + 1, ny + 1, nx + 1

    @property
    def cells(self) -> int:
        """Cells of the lattice."""
        return math.prod(self.counts)

    @property
    def copies(self) -> int:
        """How many parts like that of the lattice the whole antenna has: two for each symmetry plane."""
        return 2 ** len((*self.magnetic, *self.mirrors))

    @cached_property
    def dt(self) -> float:
        """Time step, s."""
        inverse = math.sqrt(sum(float(spacing.min()) ** -2 for spacing, _ in self._distances))
        return self.courant_number / (speed_of_light * inverse)

    def spacing(self, axis: int) -> np.ndarray:
        """Distances between planes along an axis, m, (cells,)."""
        return self._distances[axis][0]

    def dual(self, axis: int) -> np.ndarray:
        """Distances between the cells' centres around each plane, m, (cells + 1,); half a cell at both ends."""
        return self._distances[axis][1]

    @cached_property
    def _distances(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Spacing and dual of each axis, read-only."""
        found = []
        for planes in self.planes:
            spacing = np.diff(planes)
            dual = np.concatenate([spacing / 2, [0.0]]) + np.concatenate([[0.0], spacing / 2])
            for one in (spacing, dual):
                one.flags.writeable = False
            found.append((spacing, dual))
        return found

    def inside(self, component: str) -> np.ndarray:
        """Return where a component is stepped, bool of `shape`: not in padding, nor tangential E in electric walls."""
        parts = []
        for axis, count in enumerate(self.counts):
            at = np.ones(count + 1, dtype=bool)
            if half_node(component, axis):
                at[-1] = False
            elif component[0] == "e":
                at[0] = f"{'xyz'[axis]}-" in self.magnetic
                at[-1] = f"{'xyz'[axis]}+" in self.magnetic
            parts.append(at)
        return parts[2][:, None, None] & parts[1][:, None] & parts[0]


def half_node(component: str, axis: int) -> bool:
    """Return whether a component stands between the planes of an axis (0, 1, 2 for x, y, z)."""
    along = component[2] == "xyz"[axis]
    return along if component[0] == "e" else not along
