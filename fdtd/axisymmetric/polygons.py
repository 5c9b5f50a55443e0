"""Polygons as level sets: sections of bodies of revolution given by their corners, a batch at a time.

The depth of a point is its distance to the nearest edge, positive inside. Next to a corner it is the smaller depth
behind the two edges' lines where the corner is convex and the larger one where it is not, as the level sets of boxes
and cones in `fdtd.axisymmetric.scene` have it; corners below 60 degrees keep the true distance. An edge on the axis is
no surface.

`in_polygon` compares each point with every edge, in NumPy. `searched` does the same with a backend's compiled search,
which leaves out edges in boxes that are farther away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fdtd.arrays import library

_SHARP = -0.5  # dot product of the normals at a corner of 60 degrees
_GROUP = 16  # edges in a box
_NOTHING = -1.0  # m, the depth of points in a polygon without edges

LevelSet = Any

Depths = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Finds depths in polygons; see `fdtd.backends.cpu.polygons.depths`."""


def in_polygon(corners: np.ndarray, index: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the depth of points, m, from a comparison with every edge.

    Args:
        corners: (r, z), m, shape (batch, corners, 2) or (1, corners, 2) for one polygon that all antennas share; not
            closed by a repeated corner, in any orientation; corners may be repeated to fill a batch up, and a polygon
            of one repeated corner holds nothing.
        index: Antenna of each point.
        r: Radius of the points, m.
        z: Height of the points, m; all three broadcast.
    """
    xp = library(corners)
    edges = _edges(corners)
    index, r, z = xp.broadcast_arrays(*(xp.asarray(one) for one in (index, xp.abs(xp.asarray(r)), z)))
    antenna = index * 0 if corners.shape[0] == 1 else index
    nearest, best = xp.zeros(r.shape, dtype=np.int64), xp.full(r.shape, np.inf)
    count = corners.shape[1]
    for edge in range(count):
        place = antenna * count + edge
        squared = edges.squared_distance(place, r, z)
        nearest, best = xp.where(squared < best, place, nearest), xp.minimum(squared, best)
    return xp.where(xp.isfinite(best), edges.depth(nearest, r, z), _NOTHING)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges of all polygons of a batch in one list, each array (edges,).

    Attributes:
        r, z: Start, m.
        dr, dz: From start to end, m.
        inverse: 1 over the squared length; 0 for an edge without length, or on the axis.
        normal_r, normal_z: Unit normal, into the body.
        before, after: The edges that meet this one at its start and at its end.
        mirrored_before, mirrored_after: Whether that neighbour is the edge's own image behind the axis.
    """

    r: np.ndarray
    z: np.ndarray
    dr: np.ndarray
    dz: np.ndarray
    inverse: np.ndarray
    normal_r: np.ndarray
    normal_z: np.ndarray
    before: np.ndarray
    after: np.ndarray
    mirrored_before: np.ndarray
    mirrored_after: np.ndarray

    def squared_distance(self, edge: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Squared distance of points from edges, m^2; infinite for an edge that is no surface."""
        x, y = r - self.r[edge], z - self.z[edge]
        dr, dz, inverse = self.dr[edge], self.dz[edge], self.inverse[edge]
        along = np.clip((x * dr + y * dz) * inverse, 0.0, 1.0)
        return np.where(inverse > 0, (x - along * dr) ** 2 + (y - along * dz) ** 2, np.inf)

    def depth(self, edge: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Depth of points whose nearest edge is known, m."""
        x, y = r - self.r[edge], z - self.z[edge]
        dr, dz, n_r, n_z = self.dr[edge], self.dz[edge], self.normal_r[edge], self.normal_z[edge]
        along = (x * dr + y * dz) * self.inverse[edge]
        plane = x * n_r + y * n_z
        at_end = along >= 1.0
        other = np.where(at_end, self.after[edge], self.before[edge])
        image = np.where(at_end, self.mirrored_after[edge], self.mirrored_before[edge])
        other_r, other_z = np.where(image, -n_r, self.normal_r[other]), np.where(image, n_z, self.normal_z[other])
        x, y = np.where(at_end, x - dr, x), np.where(at_end, y - dz, y)
        beyond = x * other_r + y * other_z
        # Travelling with the body to the left, the next normal turns to the left at a convex corner.
        turn = np.where(at_end, n_r * other_z - n_z * other_r, other_r * n_z - other_z * n_r)
        convex = turn > 0
        mitre = np.where(convex, np.minimum(plane, beyond), np.maximum(plane, beyond))
        sharp = n_r * other_r + n_z * other_z < _SHARP
        rounded = np.where(convex, -1.0, 1.0) * np.sqrt(x**2 + y**2)
        at_corner = (along <= 0.0) | at_end
        return np.where(at_corner, np.where(sharp, rounded, mitre), plane)


def _edges(corners: np.ndarray) -> Edges:
    """Return the edges of polygons (batch, corners, 2)."""
    xp = library(corners)
    batch, count, _ = corners.shape
    start, end = corners, xp.roll(corners, -1, axis=1)
    area = (start[..., 0] * end[..., 1] - end[..., 0] * start[..., 1]).sum(axis=1)
    step = end - start
    size = xp.sqrt(step[..., 0] ** 2 + step[..., 1] ** 2)
    on_axis = (start[..., 0] == 0) & (end[..., 0] == 0) & (size > 0)
    real = (size > 0) & ~on_axis
    safe = xp.where(size > 0, size, 1.0)
    side = xp.where(area > 0, 1.0, -1.0)[:, None]
    normal_r, normal_z = -side * step[..., 1] / safe, side * step[..., 0] / safe
    after, mirrored_after = _neighbour(real, on_axis, 1)
    before, mirrored_before = _neighbour(real, on_axis, -1)
    first = xp.arange(batch)[:, None] * count
    # With the body to the right of the edges, `turn` in `depth` has the other sign: travel the other way round.
    backwards = (side < 0) & xp.ones((1, count), dtype=bool)
    start = xp.where(backwards[..., None], end, start)
    step = xp.where(backwards[..., None], -step, step)
    after, before = xp.where(backwards, before, after), xp.where(backwards, after, before)
    mirrored_after, mirrored_before = (
        xp.where(backwards, mirrored_before, mirrored_after),
        xp.where(backwards, mirrored_after, mirrored_before),
    )
    return Edges(
        r=start[..., 0].ravel(),
        z=start[..., 1].ravel(),
        dr=step[..., 0].ravel(),
        dz=step[..., 1].ravel(),
        inverse=xp.where(real, 1.0 / safe**2, 0.0).ravel(),
        normal_r=normal_r.ravel(),
        normal_z=normal_z.ravel(),
        before=(first + before).ravel(),
        after=(first + after).ravel(),
        mirrored_before=mirrored_before.ravel(),
        mirrored_after=mirrored_after.ravel(),
    )


def _neighbour(real: np.ndarray, on_axis: np.ndarray, way: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the next edge with a length in a direction, (batch, corners), and whether the axis comes before it."""
    xp, count = library(real), real.shape[1]
    place = xp.broadcast_to(xp.arange(count), real.shape)
    found, axis = place, xp.zeros(real.shape, dtype=bool)
    todo = xp.ones(real.shape, dtype=bool)
    for distance in range(1, count):
        other = (place + way * distance) % count
        axis = axis | (todo & xp.take_along_axis(on_axis, other, axis=1))
        todo = todo & ~axis
        hit = todo & xp.take_along_axis(real, other, axis=1)
        found = xp.where(hit, other, found)
        todo = todo & ~hit
        if not todo.any():
            break
    return found, axis


@dataclass(frozen=True, eq=False)
class Polygons:
    """Polygons of a batch as a level set that a compiled function looks up.

    Attributes:
        edges: Of each edge start, step, 1 over the squared length, normal, and the normals of the edges before and
            after it as r and z each, (polygons, corners, 11); the normal of an edge's own image behind the axis where
            the edge ends there.
        boxes: Least and largest r and z of groups of edges, (polygons, groups, 4).
        depths: The compiled function; see `fdtd.backends.cpu.polygons`.
    """

    edges: np.ndarray
    boxes: np.ndarray
    depths: Depths

    def __call__(self, index: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the depth of points, m, as `in_polygon` does."""
        return self.depths(self.edges, self.boxes, index, r, z)


class Search(NamedTuple):
    """A backend's compiled functions for polygons.

    Attributes:
        depths: Finds depths.
        table: Returns edges and boxes of polygons (batch, corners, 2), see `Polygons`.
    """

    depths: Depths
    table: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def searched(corners: np.ndarray, xp: Any, search: Search) -> Polygons:
    """Return the level set of polygons with a compiled search for the nearest edge; the same as `in_polygon`.

    Args:
        corners: As `in_polygon` takes them.
        xp: Array library of the points that will be asked for.
        search: The search of that library's backend.
    """
    edges, boxes = search.table(xp.ascontiguousarray(xp.asarray(corners, dtype=float)))
    return Polygons(edges=edges, boxes=boxes, depths=search.depths)


def groups_of(corners: int) -> int:
    """Return the number of boxes for that many edges: groups of one size, none of them empty."""
    groups = -(-corners // _GROUP)
    return -(-corners // -(-corners // groups))


def table(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return edges and boxes of polygons (batch, corners, 2), as `Polygons` has them, by array operations."""
    edges, (batch, count, _) = _edges(corners), corners.shape
    neighbours = [
        one
        for other, image in ((edges.before, edges.mirrored_before), (edges.after, edges.mirrored_after))
        for one in (
            np.where(image, -edges.normal_r, edges.normal_r[other]),
            np.where(image, edges.normal_z, edges.normal_z[other]),
        )
    ]
    own = (edges.r, edges.z, edges.dr, edges.dz, edges.inverse, edges.normal_r, edges.normal_z)
    places = np.stack([*own, *neighbours], axis=1)
    groups = groups_of(count)
    # Both ends of each edge; the last group is filled up with the last edge.
    each = np.minimum(np.arange(groups * -(-count // groups)), count - 1)
    start, step = (places[:, at].reshape(batch, count, 2)[:, each] for at in (slice(2), slice(2, 4)))
    low, high = (extreme(start, start + step) for extreme in (np.minimum, np.maximum))
    low, high = low.reshape(batch, groups, -1, 2).min(axis=2), high.reshape(batch, groups, -1, 2).max(axis=2)
    boxes = np.stack([low[..., 0], high[..., 0], low[..., 1], high[..., 1]], axis=2)
    return np.ascontiguousarray(places).reshape(batch, count, -1), np.ascontiguousarray(boxes)
