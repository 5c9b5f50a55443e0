"""Sections of bodies of revolution as polygons: their errors, free edges and thinnest places."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

MOST_POINTS = 5000
SMALLEST_RIM_DEG = 20.0
"""Corners of metal that turn by less are no rims: they sample a curve, or hardly concentrate the field.

Measured on the throats of horns against finite elements: with a rim there, errors of S11 fall to a half or a third at
27 and 30 degrees; at 16 and 17 degrees they rise as often as they fall (0.0010 to 0.0017 on cells of 0.3 mm)."""
_SAME_PLACE = 1e-9  # m
_SAME_ANGLE = 1e-6  # rad
_FACING = -0.5  # dot product of the normals of two walls that face each other, within 60 degrees
_ALONG = (0.02, 0.25, 0.5, 0.75, 0.98)  # places of an edge from which the opposite wall is looked for
_SHARPEST_WEDGE = 20.0  # way round a corner over the width there: 2 / tan(6 degrees); a sharper one is thin
_AT_A_TIME = 1 << 21  # pairs of edges


class SectionError(ValueError):
    """A polygon that is no section of a body.

    Attributes:
        point: Number of the point at fault, from 0; None where it is no single one.
    """

    def __init__(self, text: str, point: int | None = None) -> None:
        super().__init__(text)
        self.point = point


def cleaned(points: Sequence[Sequence[float]]) -> np.ndarray:
    """Return the corners (corners, 2), m, without a repeated last one.

    Raises:
        SectionError: Too few or many points, one at a negative radius or twice in a row, edges that cross or touch, or
            no area.
    """
    corners = np.array(points, dtype=float)
    if len(corners) > 1 and (corners[0] == corners[-1]).all():
        corners = corners[:-1]
    if not 3 <= len(corners) <= MOST_POINTS:
        raise SectionError(f"has {len(corners)} points (3 to {MOST_POINTS} are allowed)")
    for place in np.nonzero(corners[:, 0] < 0)[0]:
        raise SectionError(f"has a negative radius of {corners[place, 0] * 1e3:.6g} mm; use r >= 0", int(place))
    step = np.roll(corners, -1, axis=0) - corners
    for place in np.nonzero(np.hypot(*step.T) <= _SAME_PLACE)[0]:
        raise SectionError("is the same as the next one; remove it", int(place))
    _refuse_crossings(corners, step)
    if abs(area(corners)) <= _SAME_PLACE * np.hypot(*np.ptp(corners, axis=0)):
        raise SectionError("encloses no area")
    return corners


def area(corners: np.ndarray) -> float:
    """Return the area of a polygon, m^2, positive when its corners run counterclockwise from +r to +z."""
    r, z = corners.T
    return float((r * np.roll(z, -1) - np.roll(r, -1) * z).sum() / 2)


def _refuse_crossings(corners: np.ndarray, step: np.ndarray) -> None:
    """Refuse edges that cross, touch or run back along another.

    Raises:
        SectionError: With the first edge at fault.
    """
    count = len(corners)
    after = np.roll(corners, -1, axis=0)
    low, high = np.minimum(corners, after) - _SAME_PLACE, np.maximum(corners, after) + _SAME_PLACE
    rows = max(_AT_A_TIME // count, 1)
    for first in range(0, count, rows):
        some = slice(first, first + rows)
        near = (low[some, None] <= high[None]).all(axis=-1) & (low[None] <= high[some, None]).all(axis=-1)
        i, j = np.nonzero(near & (np.arange(count)[None] > np.arange(count)[some, None]))
        i = i + first
        adjacent = (j == i + 1) | ((i == 0) & (j == count - 1))
        crossed = ~adjacent & (_gap(corners[i], step[i], corners[j], step[j]) <= _SAME_PLACE)
        dot = (step[i] * step[j]).sum(axis=-1)
        turn = step[i, 0] * step[j, 1] - step[i, 1] * step[j, 0]
        back = adjacent & (dot < 0) & (np.abs(turn) <= 1e-9 * np.abs(dot))
        for at in np.nonzero(crossed | back)[0]:
            one, other = int(i[at]), int(j[at])
            if back[at]:
                point = other if other == one + 1 else one
                raise SectionError("is where the outline runs back along itself; remove it", point)
            raise SectionError(
                f"starts an edge that crosses or touches the one from point {other}: "
                "a section must not cross itself (give each part a body of its own)",
                one,
            )


def _gap(a: np.ndarray, da: np.ndarray, b: np.ndarray, db: np.ndarray) -> np.ndarray:
    """Return the distance between segments, m; 0 where they cross. Starts and steps (..., 2)."""
    ends = (
        _to_segment(a, b, db), _to_segment(a + da, b, db), _to_segment(b, a, da), _to_segment(b + db, a, da)
    )  # fmt: skip
    least = np.minimum(np.minimum(ends[0], ends[1]), np.minimum(ends[2], ends[3]))
    return np.where(
        (_side(a, da, b) * _side(a, da, b + db) < 0) & (_side(b, db, a) * _side(b, db, a + da) < 0), 0.0, least
    )


def _side(a: np.ndarray, da: np.ndarray, point: np.ndarray) -> np.ndarray:
    return da[..., 0] * (point - a)[..., 1] - da[..., 1] * (point - a)[..., 0]


def _to_segment(point: np.ndarray, a: np.ndarray, da: np.ndarray) -> np.ndarray:
    along = np.clip(((point - a) * da).sum(axis=-1) / (da**2).sum(axis=-1), 0.0, 1.0)
    away = point - a - along[..., None] * da
    return np.hypot(away[..., 0], away[..., 1])


@dataclass(frozen=True, kw_only=True)
class Corner:
    """A free edge of metal: a corner of the union of polygons.

    Attributes:
        r, z: Where it is, m.
        wall: Direction of the wall from which `opening` is counted, rad from +r towards +z.
        opening: Angle outside the metal, rad.
    """

    r: float
    z: float
    wall: float
    opening: float


def free_corners(metal: Sequence[np.ndarray]) -> list[Corner]:
    """Return the corners of a union of polygons that stand out by more than `SMALLEST_RIM_DEG`.

    Where boundaries of two polygons cross, the union's corner is a notch; only corners of polygons can stand out.

    Args:
        metal: Polygons (corners, 2), m; they may overlap, touch and share corners.
    """
    metal = [one if area(one) > 0 else one[::-1] for one in metal]
    found: dict[tuple[int, int], Corner] = {}
    for polygon in metal:
        for at in np.nonzero(_turns(polygon) > math.radians(SMALLEST_RIM_DEG))[0]:
            r, z = polygon[at]
            key = round(r / _SAME_PLACE), round(z / _SAME_PLACE)
            if r <= _SAME_PLACE or key in found:
                continue
            opening = _open_sector([sector for one in metal for sector in _sectors(one, polygon[at])])
            if opening is not None and opening[1] > math.pi + math.radians(SMALLEST_RIM_DEG):
                found[key] = Corner(r=float(r), z=float(z), wall=opening[0], opening=opening[1])
    # In a fixed order: where two are equally near to an edge of the lattice, the later one counts.
    return [found[key] for key in sorted(found)]


def _turns(polygon: np.ndarray) -> np.ndarray:
    """Return by how much each corner turns to the left, rad; the polygon runs counterclockwise."""
    after = np.roll(polygon, -1, axis=0) - polygon
    before = np.roll(after, 1, axis=0)
    return np.arctan2(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0], (before * after).sum(axis=1))


def _sectors(polygon: np.ndarray, point: np.ndarray) -> Iterator[tuple[float, float]]:
    """Yield the directions in which a point sees the inside of a polygon: from an angle, and over how much, rad."""
    step = np.roll(polygon, -1, axis=0) - polygon
    on_corner = np.nonzero(np.hypot(*(polygon - point).T) <= _SAME_PLACE)[0]
    if on_corner.size:
        at = int(on_corner[0])
        start, back = math.atan2(step[at, 1], step[at, 0]), math.atan2(-step[at - 1, 1], -step[at - 1, 0])
        yield start, (back - start) % (2 * math.pi)
        return
    on_edge = np.nonzero(_to_segment(point[None], polygon, step) <= _SAME_PLACE)[0]
    if on_edge.size:
        at = int(on_edge[0])
        yield math.atan2(step[at, 1], step[at, 0]), math.pi
    elif inside(polygon, point):
        yield 0.0, 2 * math.pi


def inside(polygon: np.ndarray, point: np.ndarray) -> bool:
    """Say whether a point is inside a polygon."""
    r, z = polygon.T
    r1, z1 = np.roll(r, -1), np.roll(z, -1)
    crosses = (z > point[1]) != (z1 > point[1])
    at = r + (r1 - r) * np.divide(point[1] - z, z1 - z, out=np.zeros_like(z), where=crosses)
    return bool((crosses & (at > point[0])).sum() % 2)


def lowest_within(points: Sequence[Sequence[float]], radius: float) -> float | None:
    """Return the lowest place z of a polygon at r < radius, m; None where it has no area there."""
    corners = np.array(points)
    after = np.roll(corners, -1, axis=0)
    kept = corners[corners[:, 0] < radius - _SAME_PLACE]
    crossing = (corners[:, 0] < radius) != (after[:, 0] < radius)
    share = (radius - corners[crossing, 0]) / (after - corners)[crossing, 0]
    heights = np.concatenate([kept[:, 1], corners[crossing, 1] + share * (after - corners)[crossing, 1]])
    return float(heights.min()) if len(kept) else None


def _open_sector(sectors: list[tuple[float, float]]) -> tuple[float, float] | None:
    """Return start and size of the largest sector without metal, or None where there is none."""
    if any(size >= 2 * math.pi - _SAME_ANGLE for _, size in sectors):
        return None
    gaps = []
    for start, size in sectors:
        end = start + size
        # The next metal, counterclockwise from this sector's end; a sector that covers the end leaves no gap there.
        ahead = [(other - end) % (2 * math.pi) for other, _ in sectors]
        ahead = [0.0 if 2 * math.pi - one < _SAME_ANGLE else one for one in ahead]
        covered = any(
            (end - other) % (2 * math.pi) < width - _SAME_ANGLE
            for other, width in sectors
            if (other, width) != (start, size)
        )
        if not covered:
            others = [one for one, sector in zip(ahead, sectors, strict=True) if sector != (start, size)]
            own = 2 * math.pi - size
            gaps.append((end % (2 * math.pi), min([own, *others])))
    return max(gaps, key=lambda gap: gap[1], default=None)


def thinnest(polygon: np.ndarray, others: Sequence[np.ndarray] = (), *, outwards: bool = False) -> tuple[float, tuple]:
    """Return the smallest distance between walls that face each other, m, and the place (r, z) of one of them.

    Walls that meet in one sharp corner are a wedge and not thin, down to 6 degrees, also where they are curves of many
    short edges.

    Args:
        polygon: Corners (corners, 2), m.
        others: Polygons whose walls count as well.
        outwards: Look for gaps outside, and not for thin places inside.
    """
    walls = [one if area(one) > 0 else one[::-1] for one in (polygon, *others)]
    start = np.concatenate(walls)
    step = np.concatenate([np.roll(one, -1, axis=0) - one for one in walls])
    normal = np.stack([-step[:, 1], step[:, 0]], axis=1) / np.hypot(*step.T)[:, None]
    own, way = len(polygon), -1.0 if outwards else 1.0
    solid = ~((start[:, 0] <= 0) & (start[:, 0] + step[:, 0] <= 0))  # an edge on the axis is no wall
    wedges = _Wedges(walls[0], way)
    least, place = math.inf, (math.nan, math.nan)
    for part in _ALONG:
        rows = max(_AT_A_TIME // len(start), 1)
        for first in range(0, own, rows):
            some = slice(first, min(first + rows, own))
            origin, ray = (start[some] + part * step[some])[:, None], way * normal[some][:, None]
            across = ray[..., 0] * step[None, :, 1] - ray[..., 1] * step[None, :, 0]
            to = start[None] - origin
            facing = (normal[some][:, None] * normal[None]).sum(axis=-1) < _FACING
            safe = np.where(facing & (np.abs(across) > 0), across, 1.0)
            distance = (to[..., 0] * step[None, :, 1] - to[..., 1] * step[None, :, 0]) / safe
            along = (to[..., 0] * ray[..., 1] - to[..., 1] * ray[..., 0]) / safe
            # Two edges of one corner meet there, however thick the body is.
            i, j = np.arange(some.start, some.stop)[:, None], np.arange(len(start))[None]
            apart = (j >= own) | ~np.isin((i - j) % own, (1, own - 1))
            hit = (
                facing
                & apart
                & solid[None]
                & solid[some][:, None]
                & (distance > _SAME_PLACE)
                & (along >= 0)
                & (along <= 1)
            )
            distance = np.where(hit, distance, math.inf)
            one, other = np.nonzero(distance < least)
            inner = other < own
            one, other = one[inner], other[inner]
            wedge = wedges.between(one + some.start, part, other, along[one, other], distance[one, other])
            distance[one[wedge], other[wedge]] = math.inf
            if distance.min() < least:
                row = int(distance.min(axis=1).argmin())
                least, place = float(distance.min()), tuple(map(float, origin[row, 0]))
    return least, place


class _Wedges:
    """Sharp corners of a polygon that two of its walls meet in.

    Args:
        polygon: Corners (corners, 2), counterclockwise.
        way: 1 for corners of the body, -1 for notches outside of it.
    """

    def __init__(self, polygon: np.ndarray, way: float) -> None:
        turns = way * _turns(polygon)
        # What lies on the corners up to one, its own included; a way past the last corner begins again at the first.
        self._count = _summed(np.abs(turns) > math.radians(SMALLEST_RIM_DEG))
        self._sharp = _summed(turns > math.pi / 2)
        self._length = _summed(np.hypot(*(np.roll(polygon, -1, axis=0) - polygon).T))

    def between(
        self, one: np.ndarray, part: float, other: np.ndarray, along: np.ndarray, width: np.ndarray
    ) -> np.ndarray:
        """Say for which pairs of edges one way round is a wedge: a single corner, a sharp one, and a short way.

        Args:
            one: Edges (pairs).
            part: Place on all of them, 0 to 1.
            other: Edges on the other side.
            along: Places on these.
            width: Distances between the places, m.
        """
        start, stop = self._place(one, part), self._place(other, along)
        return self._is_wedge(one, other, stop - start, width) | self._is_wedge(other, one, start - stop, width)

    def _place(self, edge: np.ndarray, part: float | np.ndarray) -> np.ndarray:
        return self._length[edge] + part * (self._length[edge + 1] - self._length[edge])

    def _is_wedge(self, first: np.ndarray, last: np.ndarray, way: np.ndarray, width: np.ndarray) -> np.ndarray:
        """Say whether the way onwards from an edge to another, which passes the corners after the first, is a wedge."""
        around = last < first
        corners, sharp = (
            table[last + 1] - table[first + 1] + around * table[-1] for table in (self._count, self._sharp)
        )
        return (corners == 1) & (sharp == 1) & (way + around * self._length[-1] <= _SHARPEST_WEDGE * width)


def _summed(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(values)])
