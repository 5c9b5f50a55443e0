"""Edges of sheets along an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable

from fdtd.yee.scene import Sheet


def edges_of(sheets: tuple[Sheet, ...], axis: int, same: float) -> list[tuple[float, int]]:
    """Return places of the union's edges along an axis, m, and whether metal is above (1), below (-1) or both (0).

    Where it is above in one part and below in another, the longer one decides; 0 is where neither is twice as long.
    """
    found = []
    for place in distinct([end for one in sheets for end in _interval(one, axis) if math.isfinite(end)], same):
        begins = ends = 0.0
        for z in {one.z for one in sheets}:
            level = [one for one in sheets if one.z == z]
            above = [
                _interval(one, 1 - axis) for one in level if _covers(_interval(one, axis), place, same, above=True)
            ]
            below = [
                _interval(one, 1 - axis) for one in level if _covers(_interval(one, axis), place, same, above=False)
            ]
            both = _length([(max(a[0], b[0]), min(a[1], b[1])) for a in above for b in below])
            begins += _length(above) - both
            ends += _length(below) - both
        if max(begins, ends) > same:
            found.append((place, 1 if begins > 2 * ends else -1 if ends > 2 * begins else 0))
    return found


def _interval(sheet: Sheet, axis: int) -> tuple[float, float]:
    return sheet.x if axis == 0 else sheet.y


def _covers(interval: tuple[float, float], place: float, same: float, *, above: bool) -> bool:
    low, high = interval
    return low <= place + same and high > place + same if above else low < place - same and high >= place - same


def _length(intervals: Iterable[tuple[float, float]]) -> float:
    """Length of a union of intervals, m; infinite ends count 1 km."""
    total, reached = 0.0, -1e3
    for low, high in sorted((max(low, -1e3), min(high, 1e3)) for low, high in intervals if high > low):
        total += max(0.0, high - max(low, reached))
        reached = max(reached, high)
    return total


def distinct(places: Iterable[float], same: float) -> list[float]:
    """Sorted places without those closer than `same` to the one before."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > same:
            found.append(place)
    return found
