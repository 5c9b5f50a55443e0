"""Lattice lines along the slanted walls of a tube, so that their staircases are regular.

A wall that runs from one line to another at random makes a staircase of uneven steps. Each uneven step reflects, and
S11 scatters from mesh to mesh. Here each step is as high and as long as the next: between two sections a tube has n
equal cells along z, and its walls move outwards by equal cells, one every 2, 4, ... of those along z (or 2, 4, ... in
each, where a wall is steep). An odd number would have a cell's centre on the wall, and the staircase on one side of it.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from fdtd.errors import ConfigError
from fdtd.yee.scene import Tube

Pair = tuple[float, float]
_LONGEST = 2.5  # times as many cells along z as asked for, at most, to find numbers that fit
_MOST = 2000  # cells of a tube's part along an axis
_LEAST = 0.7  # of a cell: a wall that moves by less has no lines of its own


def stairs(tube: Tube, cell: float) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Return neighbouring lattice planes along x, y and z that make the walls of a tube regular staircases, m.

    Args:
        tube: Whose sections get wider along +z; the others get no lines.
        cell: Largest cell, m.

    Raises:
        ConfigError: A part of the tube has thousands of cells.
    """
    found: tuple[list[Pair], list[Pair], list[Pair]] = ([], [], [])
    for low, high in pairwise(range(len(tube.z))):
        spans = [(half[low], half[high]) for half in (tube.x, tube.y)]
        moves = [end - start for start, end in spans]
        if not math.isfinite(tube.z[low]) or max(moves) < _LEAST * cell:
            continue
        longest = max(tube.z[high] - tube.z[low], *moves)
        if longest > _MOST * cell:
            raise ConfigError(
                f"a wall of {longest:g} m has {math.ceil(longest / cell):,} cells of {cell:.3g} m along one axis "
                f"(at most {_MOST:,} are laid out); shorten it or use larger cells"
            )
        along, across = _counts(tube.z[high] - tube.z[low], spans, cell)
        found[2].extend(_equal(tube.z[low], tube.z[high], along))
        for axis in (0, 1):
            steps = _equal(*spans[axis], across[axis]) if across[axis] else []
            found[axis].extend(steps)
            found[axis].extend((-outer, -inner) for inner, outer in steps)
    return found


def _counts(length: float, spans: list[Pair], cell: float) -> tuple[int, list[int]]:
    """Return the cells along z, and those by which the walls move along x and y: the fewest cells in all."""
    fewest = max(1, math.ceil(length / cell - 1e-6))
    cheapest, best = math.inf, (fewest, [0, 0])
    for along in range(fewest, math.ceil(_LONGEST * fewest) + 1):
        across = [
            _fitting(along, end - start, min(cell, start)) for start, end in spans
        ]  # of a low guide, see `layout`
        cost = along * math.prod(start / cell + count for (start, _), count in zip(spans, across, strict=True))
        if cost < cheapest * (1 - 1e-9):
            cheapest, best = cost, (along, across)
    return best


def _fitting(along: int, move: float, cell: float) -> int:
    """Return the fewest equal cells of a move of which each takes 2, 4, ... of `along`, or 2, 4, ... of them one."""
    if move < _LEAST * cell:
        return 0
    count = max(1, math.ceil(move / cell - 1e-6))
    while along % (2 * count) and count % (2 * along):
        count += 1
    return count


def _equal(low: float, high: float, count: int) -> list[Pair]:
    return list(pairwise(np.linspace(low, high, count + 1).tolist()))
