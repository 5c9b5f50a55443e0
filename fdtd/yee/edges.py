"""Edges of sheets along an axis: their effective positions, and the space between two sheets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from fdtd.yee.scene import Block, LumpedPort, Scene, Sheet

_FURTHEST = 0.95  # of a cell, from an edge to the line inside the sheet, at most
_TWICE = 2 * (1 - 1e-9)  # as long: of pixels lengths are whole numbers of pitches, up to rounding
_GRADED = 0.1  # of the growth and the cell at an edge, what cells that grow away from it add to its reach


def reach(cell: float, height: float, growth: float) -> float:
    """Return how far beyond its last line a sheet acts as if it ended, m (decision record 0044).

    Args:
        cell: From its last line to the next one, m.
        height: Of the cells above and below the sheet, m.
        growth: Largest ratio of neighbouring cells away from the edge.
    """
    return math.hypot(cell, height) / 4 + _GRADED * (growth - 1) * cell


def last_line(cell: float, height: float, growth: float) -> float:
    """Return how far inside of its edge a sheet's last line stands, m."""
    return min(reach(cell, height, growth), _FURTHEST * cell)


def cell_in_gap(gap: float, cell: float, least: int, sheets: int, height: float, growth: float) -> float:
    """Return the cell in a gap that a port fills, m: a whole number of them from the metal's last line to the next.

    Args:
        gap: Its width, m.
        cell: Largest cell, m.
        least: Number of cells, at least.
        sheets: How many of its ends are edges of sheets, 1 or 2.
        height: Of the cells above and below the sheets, m.
        growth: Largest ratio of neighbouring cells.
    """
    count = max(least, math.ceil((gap + sheets * last_line(cell, height, growth)) / cell * (1 - 1e-9)))
    low, high = gap / count, gap / (count - sheets * _FURTHEST)
    for _ in range(60):  # halving, to the last bit
        middle = (low + high) / 2
        short = count * middle < gap + sheets * last_line(middle, height, growth)
        low, high = (middle, high) if short else (low, middle)
    return high


def edges_of(sheets: tuple[Sheet, ...], axis: int, same: float) -> list[tuple[float, int, float]]:
    """Return places of the union's edges along an axis, m, their sides, and z of the sheet with the longest one, m.

    The side is 1 where metal is above, -1 where it is below. Where it is above in one part and below in another, the
    longer one decides; 0 is where neither is twice as long.
    """
    found = []
    for place in distinct([end for one in sheets for end in _interval(one, axis) if math.isfinite(end)], same):
        begins = ends = longest = at = 0.0
        for z in sorted({one.z for one in sheets}):
            level = [one for one in sheets if one.z == z]
            above = [
                _interval(one, 1 - axis) for one in level if _covers(_interval(one, axis), place, same, above=True)
            ]
            below = [
                _interval(one, 1 - axis) for one in level if _covers(_interval(one, axis), place, same, above=False)
            ]
            both = _length([(max(a[0], b[0]), min(a[1], b[1])) for a in above for b in below])
            own = _length(above) - both, _length(below) - both
            begins, ends = begins + own[0], ends + own[1]
            if sum(own) > longest:
                longest, at = sum(own), z
        if max(begins, ends) > same:
            found.append((place, 1 if begins > _TWICE * ends else -1 if ends > _TWICE * begins else 0, at))
    return found


def ends_at(sheet: Sheet, axis: int, place: float, same: float) -> bool:
    """Return whether an edge of a sheet along an axis is at a place, within `same`, m."""
    return any(abs(end - place) <= same for end in (sheet.x, sheet.y)[axis])


def gap_of_port(scene: Scene, axis: int, same: float) -> tuple[tuple[float, ...], list[tuple[float, int, float]]]:
    """Return the ends of a port along an axis, m, and those that are edges of sheets, as `edges_of`.

    None of a port along another axis. Such an edge has its sheet outside of the gap, and no face of a metal block.
    """
    port, name = scene.port, "xyz"[axis]
    if not isinstance(port, LumpedPort) or port.axis != name:
        return (), []
    ends = port.span(name)
    faces = [end for block in scene.blocks if block.material is None for end in getattr(block, name)]
    level = tuple(one for one in scene.sheets if any(abs(one.z - z) <= same for z in port.span("z")))
    edges = [
        edge
        for edge in edges_of(level, axis, same)
        if any(abs(edge[0] - end) <= same and edge[1] == side for end, side in zip(ends, (-1, 1), strict=True))
        and all(abs(edge[0] - face) > same for face in faces)
    ]
    return ends, edges


def mean_height(scene: Scene, upright: np.ndarray, z: float, sheets: Sequence[Sheet]) -> float:
    """Return the mean height of the cells above and below sheets at z, m, weighted by their charges.

    Media count where they overlap a sheet along x and y, the densest of a layer. Where such a medium does not extend to
    the edge, the edge is off by a few hundredths of a cell.
    """
    at = int(np.abs(upright - z).argmin())
    ends = upright[max(at - 1, 0) : at + 2]
    blocks = [one for one in scene.blocks if one.material is not None and any(_overlap(one, sheet) for sheet in sheets)]
    media = [(one.z, one.material.permittivity) for one in blocks if one.material is not None]
    middles = (ends[1:] + ends[:-1]) / 2
    charges = [max((value for (low, high), value in media if low < one < high), default=1.0) for one in middles]
    return float(np.average(np.diff(ends), weights=charges))


def _overlap(block: Block, sheet: Sheet) -> bool:
    """Return whether a block and a sheet share an area along x and y."""
    pairs = ((block.x, sheet.x), (block.y, sheet.y))
    return all(max(one[0], other[0]) < min(one[1], other[1]) for one, other in pairs)


def between_sheets(block: Block, sheets: tuple[Sheet, ...], axis: int) -> list[tuple[float, float]]:
    """Return where along an axis a block has a sheet below and another one above, m."""
    found = []
    for below, above in product(sheets, sheets):
        if below.z <= block.z[0] and block.z[1] <= above.z:
            both = [(_interval(below, one), _interval(above, one), (block.x, block.y)[one]) for one in (0, 1)]
            parts = [(max(low for low, _ in one), min(high for _, high in one)) for one in both]
            if all(low < high for low, high in parts):
                found.append(parts[axis])
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
