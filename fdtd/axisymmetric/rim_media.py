"""Dielectrics around metal rims: the sectors that meet at each rim, and bodies that end within its reach.

The static field of a wedge (`fdtd.axisymmetric.wedges`) takes the sectors that meet at the rim for endless. Where a
body ends or begins within a few cells of the rim, the wedge's ratios are multiplied by what an edge's permittivity is
over what endless sectors would make of it. Both are averaged over the edge's cell in the same way, as if no metal stood
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fdtd.arrays import library, on_host, together_on_host
from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.media import OFFSETS, Compiled, mixed
from fdtd.axisymmetric.scene import Dielectric, Scene, sector

DIRECTIONS = 720
_LOOKED_AT = 0.2  # cells from the rim at which its sectors are looked at
_ENDS_LOOKED_AT = (0.8, 1.6, 2.4, 3.2)  # cells from the rim at which a sector may have ended
_EVERY = 10  # of the directions, there
_AT_A_TIME = 1 << 13  # cells, so that a host's cache holds their parts
MOST_BORDERS = 12  # around a rim that a device keeps; of more, the host looks at every direction


@dataclass(frozen=True, kw_only=True)
class Corners:
    """Rims of a batch, of one antenna where all have the same metal; each array (rims, antennas), 0 where none is.

    Attributes:
        r, z: Where they stand, m.
        wall: Direction of the first wall, rad.
        opening: Angle outside the metal, rad.
    """

    r: np.ndarray
    z: np.ndarray
    wall: np.ndarray
    opening: np.ndarray

    @classmethod
    def of(cls, scene: Scene) -> Corners:
        """Return a scene's rims."""
        metals = 1 if scene.same_metal else scene.batch

        def of(name: str) -> np.ndarray:
            each = [np.broadcast_to(getattr(rim, name), (scene.batch,))[:metals] for rim in scene.rims]
            return np.nan_to_num(np.stack(each))

        return cls(r=of("r"), z=of("z"), wall=of("wall"), opening=of("opening"))

    def around(self, grid: AxisymmetricGrid, scene: Scene, compiled: Compiled | None = None) -> np.ndarray:
        """Return the permittivity in directions around each rim, from its first wall on, (rims, batch, directions)."""
        return self.seen(grid, scene, (_LOOKED_AT,), slice(None), compiled)[0]

    def all_around(self) -> Corners:
        """Return the same corners as if there were no metal between their walls."""
        return replace(self, opening=np.full_like(self.opening, 2 * np.pi))

    def ended(
        self, grid: AxisymmetricGrid, scene: Scene, around: np.ndarray, compiled: Compiled | None = None
    ) -> np.ndarray:
        """Return of which rims a sector ends within reach, (rims, batch).

        Args:
            grid: The lattice.
            scene: The batch.
            around: What `around` returned.
            compiled: Looks around in one launch.
        """
        some = slice(_EVERY // 2, None, _EVERY)
        seen = self.seen(grid, scene, _ENDS_LOOKED_AT, some, compiled)
        return (seen != around[..., some]).any(axis=(0, 3))

    def seen(
        self,
        grid: AxisymmetricGrid,
        scene: Scene,
        distances: tuple[float, ...],
        directions: slice,
        compiled: Compiled | None = None,
    ) -> np.ndarray:
        """Return the permittivity at some distances, cells, from each rim, (distances, rims, batch, directions)."""
        if compiled is not None:
            return compiled.seen(self, distances, directions)
        xp = library(scene.dielectrics[0].permittivity)
        r, z, wall, opening = (xp.asarray(one[..., None]) for one in (self.r, self.z, self.wall, self.opening))
        angle = wall + (xp.arange(DIRECTIONS)[directions] + 0.5) * (opening / DIRECTIONS)
        each = []
        for away in distances:
            at_r, at_z = r + away * grid.cell * np.cos(angle), z + away * grid.cell * np.sin(angle)
            found: Any = 1.0
            for body in scene.dielectrics:
                inside = body.distance(xp.arange(scene.batch)[:, None], at_r, at_z) > 0
                found = np.where(inside, body.permittivity[:, None], found)
            each.append(found)
        return xp.stack(each)


@dataclass(frozen=True)
class Borders:
    """Directions in which the medium around rims changes, on the host.

    Attributes:
        counts: How often it does, (rims, batch).
        last: The last direction before each change, (rims, batch, most); beyond the count the last of all.
        permittivity: Before, between and after the changes, (rims, batch, most + 1).
    """

    counts: np.ndarray
    last: np.ndarray
    permittivity: np.ndarray

    @classmethod
    def of(cls, around: np.ndarray) -> Borders:
        """Return the borders in what `Corners.around` returned, on the host."""
        changes = around[..., 1:] != around[..., :-1]
        counts = np.count_nonzero(changes, axis=2)
        most = int(counts.max(initial=0))
        last = np.full((*counts.shape, most), DIRECTIONS - 1)
        permittivity = np.repeat(around[..., -1:], most + 1, axis=2)
        permittivity[..., 0] = around[..., 0]
        rim, member, at = np.nonzero(changes)
        place = (np.cumsum(changes, axis=2) - 1)[rim, member, at]
        last[rim, member, place] = at
        permittivity[rim, member, place + 1] = around[rim, member, at + 1]
        return cls(counts=counts, last=last, permittivity=permittivity)

    @property
    def whole(self) -> bool:
        """Whether there is a place for every change."""
        return int(self.counts.max(initial=0)) <= self.last.shape[2]


def borders_on_host(ended: np.ndarray, looks: Sequence[np.ndarray], compiled: Compiled | None) -> tuple[Any, ...]:
    """Fetch what was found around rims; from a device in one copy, unless a rim has more borders than it keeps.

    Args:
        ended: What `Corners.ended` returned.
        looks: Each what `Corners.around` returned.
        compiled: Kernels of the scene's dielectrics, or None.

    Returns:
        `ended`, and the borders of each look.
    """
    if compiled is None:
        ended, *seen = together_on_host(ended, *looks)
        return ended, *map(Borders.of, seen)
    ended, *parts = together_on_host(ended, *(part for look in looks for part in compiled.borders(look)))
    found = [Borders(*three) for three in zip(*[iter(parts)] * 3, strict=True)]
    return ended, *(one if one.whole else Borders.of(on_host(look)) for one, look in zip(found, looks, strict=True))


@dataclass(frozen=True, kw_only=True)
class Sectors:
    """Media that meet at rims; sectors without width fill the arrays up.

    Attributes:
        rim: Number of each rim, (rims,).
        member: Its antenna in the batch, (rims,).
        antenna: The antenna whose metal it has, (rims,).
        ends: Where each sector ends, rad from the first wall, (sectors, rims).
        permittivity: Of each sector, relative, the same shape.
    """

    rim: np.ndarray
    member: np.ndarray
    antenna: np.ndarray
    ends: np.ndarray
    permittivity: np.ndarray

    @classmethod
    def of(cls, borders: Borders, opening: np.ndarray, which: np.ndarray) -> Sectors:
        """Return the sectors of some rims.

        Args:
            borders: Of the media around the rims.
            opening: Angle between the walls, rad, (rims, antennas).
            which: The rims and members, (rims, batch).
        """
        rim, member = np.nonzero(which)
        antenna = member if opening.shape[1] == which.shape[1] else 0 * member
        width, counts = opening[rim, antenna], borders.counts[rim, member]
        most = int(counts.max(initial=0))
        last, permittivity = borders.last[rim, member, :most], borders.permittivity[rim, member, : most + 1]
        ends = np.round((last + 1) * (width / DIRECTIONS)[:, None], 9)
        ends = np.where(np.arange(most) < counts[:, None], ends, width[:, None])
        ends = np.concatenate([ends, width[:, None]], axis=1)
        return cls(rim=rim, member=member, antenna=antenna, ends=ends.T.copy(), permittivity=permittivity.T.copy())

    def over_endless(
        self,
        grid: AxisymmetricGrid,
        scene: Scene,
        corners: Corners,
        first: tuple[np.ndarray, np.ndarray],
        size: int,
        compiled: Compiled | None = None,
    ) -> np.ndarray:
        """Return the permittivity of the edges around each rim over what endless sectors would make of it.

        Args:
            grid: The lattice.
            scene: The batch.
            corners: Its rims, all around.
            first: Column and row of the first node around each rim, each (rims, antennas).
            size: Number of nodes each way.
            compiled: Does the same in one launch.

        Returns:
            Of the edges along r and z, shape (2, rims, size, size).
        """
        xp = library(scene.dielectrics[0].permittivity)
        which, shape = (self.rim, self.antenna), (len(self.rim), size, size)
        if compiled is not None:
            of = np.stack([self.member, *(one[which] for one in first)])
            return compiled.over_endless(self._endless(corners, xp), of, size)
        column, row = (one[which][:, None] + np.arange(size) for one in first)
        own = xp.asarray(np.repeat(np.arange(len(self.rim)), size * size))
        there, endless = replace(scene, embedded=False), self._endless(corners, xp)
        members, found = xp.asarray(self.member)[own], []
        for component in (0, 2):
            dr, dz = OFFSETS[component]
            r, z = (column + dr)[:, None, :] * grid.cell, (row - grid.origin + dz)[:, :, None] * grid.cell
            r, z = (xp.asarray(np.broadcast_to(one, shape).ravel()) for one in (r, z))
            parts = []
            for start in range(0, len(own), _AT_A_TIME):
                cells = slice(start, start + _AT_A_TIME)
                is_there = _along(component, *mixed(grid, there, members[cells], r[cells], z[cells]))
                would_be = _along(component, *mixed(grid, endless, own[cells], r[cells], z[cells]))
                parts.append(is_there / would_be)
            found.append(xp.concatenate(parts).reshape(shape))
        return xp.stack(found)

    def _endless(self, corners: Corners, xp: Any) -> Scene:
        """Return the sectors as bodies that never end, a rim in place of an antenna."""
        r, z, wall = (xp.asarray(one[self.rim, self.antenna]) for one in (corners.r, corners.z, corners.wall))
        starts = np.concatenate([np.zeros_like(self.ends[:1]), self.ends[:-1]])
        bodies = [
            Dielectric(
                distance=sector(r, z, wall + xp.asarray(start), xp.asarray(end - start)),
                permittivity=xp.asarray(permittivity),
                loss_tangent=xp.zeros(len(permittivity)),
                r_max=np.inf,
                z_min=-np.inf,
                z_max=np.inf,
            )
            for start, end, permittivity in zip(starts, self.ends, self.permittivity, strict=True)
        ]
        return Scene(batch=len(self.rim), dielectrics=tuple(bodies))


def _along(component: int, harmonic: np.ndarray, mean: np.ndarray, normal_r: np.ndarray, normal_z: np.ndarray) -> Any:
    """Return the permittivity that a component sees, without loss."""
    across = normal_r**2 if component == 0 else normal_z**2
    return np.real(1 / (across * harmonic + (1 - across) / mean))
