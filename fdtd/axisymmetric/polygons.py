"""Polygons as level sets: sections of bodies of revolution given by their corners, a batch at a time.

The depth of a point is its distance to the nearest edge, positive inside. Next to a corner it is the smaller depth
behind the two edges' lines where the corner is convex and the larger one where it is not, as the level sets of boxes
and cones in `fdtd.axisymmetric.scene` have it; corners below 60 degrees keep the true distance. An edge on the axis is
no surface.

`on_lattice` sorts the edges into squares of a lattice, so that each point is compared with the few edges near to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fdtd.arrays import library, on_host

FAR = 4.0
"""Cells from an edge beyond which `on_lattice` gives the sign of the depth only, as this many cells."""
_HALF_DIAGONAL = 0.7072  # of a square of one cell
_LONGEST = 12.0  # cells; squares are looked up along pieces of an edge, so that few are looked at in vain
_SHARP = -0.5  # dot product of the normals at a corner of 60 degrees
_PAIRS_AT_A_TIME = 1 << 22  # of edges and squares

LevelSet = Any


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
    return xp.where(xp.isfinite(best), edges.depth(nearest, r, z), -xp.inf)


@dataclass(frozen=True, eq=False)
class _Edges:
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


def _edges(corners: np.ndarray) -> _Edges:
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
    return _Edges(
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


def on_lattice(corners: np.ndarray, cell: float, xp: Any = np) -> LevelSet:
    """Return the level set of polygons with their edges sorted into squares of a lattice.

    It equals `in_polygon` up to rounding where that is within `FAR` cells, and has its sign everywhere.

    Args:
        corners: As `in_polygon` takes them.
        cell: Side of the squares, m.
        xp: Array library of the points that will be asked for.
    """
    corners = xp.asarray(corners, dtype=float)
    edges = _edges(corners)
    # A square's centre is a node; rows and columns are counted from the axis and from the lowest row.
    low, high = (on_host(end) / cell for end in (corners.min(axis=(0, 1)), corners.max(axis=(0, 1))))
    first_k = math.floor(low[1] - FAR) - 1
    window = first_k, math.ceil(high[1] + FAR) + 2 - first_k, math.ceil(high[0] + FAR) + 2
    square, edge = _candidates(edges, corners.shape[1], window, cell)
    count = xp.bincount(square, minlength=corners.shape[0] * window[1] * window[2])
    start, sign = xp.cumsum(count) - count, _signs(corners, window, cell)
    return _Table(edges, edge, start, count, sign, window, cell, corners.shape[0] == 1).depth


@dataclass(frozen=True, eq=False)
class _Table:
    """Squares of a lattice and the edges near to each."""

    edges: _Edges
    edge: np.ndarray
    start: np.ndarray
    count: np.ndarray
    sign: np.ndarray
    window: tuple[int, int, int]
    cell: float
    shared: bool

    def depth(self, index: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the depth of points, m."""
        xp = library(self.start)
        first_k, nk, ni = self.window
        r, z, index = xp.abs(xp.asarray(r)), xp.asarray(z), xp.asarray(index)
        i = xp.clip(xp.rint(r / self.cell).astype(np.int64), 0, ni - 1)
        k = xp.clip(xp.rint(z / self.cell).astype(np.int64) - first_k, 0, nk - 1)
        square = ((index * 0 if self.shared else index) * nk + k) * ni + i
        found = self.sign[square]
        count = self.count[square]
        near = xp.nonzero(count)
        # Sorted by how many edges are near, so that each round looks at those points only that have one more.
        square = square[near]
        order = xp.argsort(-count[near], kind="stable")
        square, near = square[order], tuple(axis[order] for axis in near)
        r, z = (xp.broadcast_to(one, found.shape)[near] for one in (r, z))
        count, start = count[near], self.start[square]
        nearest, best = self.edge[start], xp.full(r.shape, np.inf)
        most = int(count[0]) if count.size else 0
        ends = (xp.searchsorted(-count, xp.arange(most) * -1, side="left")).tolist()
        for place in range(most):
            some = slice(int(ends[place]))
            edge = self.edge[start[some] + place]
            squared = self.edges.squared_distance(edge, r[some], z[some])
            closer = squared < best[some]
            nearest[some] = xp.where(closer, edge, nearest[some])
            best[some] = xp.where(closer, squared, best[some])
        found[near] = self.edges.depth(nearest, r, z)
        return found


def _candidates(
    edges: _Edges, corners: int, window: tuple[int, int, int], cell: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of squares and edges, sorted by square: every edge that may be nearest to a point of the square."""
    xp, (first_k, nk, ni) = library(edges.r), window
    reach = FAR + _HALF_DIAGONAL
    real = xp.nonzero(edges.inverse)[0]
    pieces = xp.ceil(xp.sqrt(1.0 / edges.inverse[real]) / (_LONGEST * cell)).astype(np.int64)
    which, part = _spread(pieces)
    real, share = real[which], 1.0 / pieces[which]
    lows, highs = [], []
    for start, step, first, last in ((edges.r, edges.dr, 0, ni - 1), (edges.z, edges.dz, first_k, first_k + nk - 1)):
        one = (start[real] + step[real] * (part * share)) / cell
        other = (start[real] + step[real] * ((part + 1) * share)) / cell
        lows.append(xp.maximum(xp.floor(xp.minimum(one, other) - reach).astype(np.int64), first) - first)
        highs.append(xp.minimum(xp.ceil(xp.maximum(one, other) + reach).astype(np.int64), last) - first)
    (low_i, low_k), (high_i, high_k) = lows, highs
    wide = high_i - low_i + 1
    size = wide * (high_k - low_k + 1)
    total, begin, found = np.cumsum(on_host(size)), 0, []
    while begin < len(total):
        before = int(total[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(total, before + _PAIRS_AT_A_TIME, side="right")), begin + 1)
        which, inside = _spread(size[begin:end])
        which = which + begin
        k, i, edge = low_k[which] + inside // wide[which], low_i[which] + inside % wide[which], real[which]
        distance = xp.sqrt(edges.squared_distance(edge, i * cell, (k + first_k) * cell)) / cell
        kept = distance <= reach
        square = (edge // corners * nk + k) * ni + i
        found.append((square[kept], edge[kept], distance[kept]))
        begin = end
    square, edge, distance = (xp.concatenate(one) for one in zip(*found, strict=True))
    # By square, then by distance: the first of a square is its nearest.
    order = xp.lexsort(xp.stack([edge.astype(float), distance, square.astype(float)]))
    square, edge, distance = square[order], edge[order], distance[order]
    start = xp.ones(len(square), dtype=bool)
    again = xp.zeros(len(square), dtype=bool)
    start[1:] = square[1:] != square[:-1]
    again[1:] = ~start[1:] & (edge[1:] == edge[:-1])
    nearest = distance[start][xp.cumsum(start) - 1]
    kept = ~again & (distance <= nearest + 2 * _HALF_DIAGONAL)
    return square[kept], edge[kept]


def _spread(count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for count[0] + count[1] + ... places which entry each belongs to and its number within it."""
    xp = library(count)
    end = xp.cumsum(count)
    place = xp.arange(int(end[-1]) if len(end) else 0)
    which = xp.searchsorted(end, place, side="right")
    return which, place - (end - count)[which]


def _signs(corners: np.ndarray, window: tuple[int, int, int], cell: float) -> np.ndarray:
    """Return `FAR` cells, m, positive for squares whose centre is inside, flat."""
    xp, (first_k, nk, ni) = library(corners), window
    batch, count, _ = corners.shape
    r, z = corners[..., 0].ravel(), corners[..., 1].ravel()
    step = xp.roll(corners, -1, axis=1) - corners
    dr, dz = step[..., 0].ravel(), step[..., 1].ravel()
    # The end as the next edge has it: z + dz may differ in the last bit, and a row there be counted twice or not.
    end = xp.roll(corners[..., 1], -1, axis=1).ravel()
    low, high = (xp.ceil(one / cell).astype(np.int64) - first_k for one in (xp.minimum(z, end), xp.maximum(z, end)))
    surface = (r > 0) | (dr > 0)
    which, row = _spread(xp.where(surface, high - low, 0))  # rows with low <= z < high
    k = row + low[which]
    crossing = (r[which] + dr[which] * ((k + first_k) * cell - z[which]) / dz[which]) / cell
    i = xp.clip(xp.floor(crossing).astype(np.int64) + 1, 0, ni)  # squares from here on lie beyond the crossing
    flips = xp.bincount((which // count * nk + k) * (ni + 1) + i, minlength=batch * nk * (ni + 1))
    # Counted from outside in, so that the axis need not be an edge.
    beyond = xp.cumsum(flips.reshape(batch, nk, ni + 1)[..., ::-1], axis=2)[..., ::-1][..., 1:]
    return xp.where(beyond % 2 == 1, FAR * cell, -FAR * cell).ravel()
