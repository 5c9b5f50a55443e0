"""Antennas in space with their axes in another order: what is long along x may be short along z, and fit.

Two axes that are exchanged turn a right-handed system into a left-handed one, where curls have the other sign. All
slopes get that sign (`handedness`), so fields keep theirs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fdtd.yee.grid import Grid
from fdtd.yee.media import Media
from fdtd.yee.problem import Problem

Turn = tuple[int, int, int]
"""The axes (0, 1, 2 for x, y, z) that stand along x, y and z afterwards."""

UNTURNED: Turn = (0, 1, 2)


def handedness(turn: Turn) -> int:
    """Return 1 if the turned axes are right-handed, else -1."""
    return 1 if turn in (UNTURNED, (1, 2, 0), (2, 0, 1)) else -1


def back(turn: Turn) -> Turn:
    """Return the turn that undoes a turn."""
    return tuple(turn.index(axis) for axis in range(3))  # type: ignore[return-value]


def turned(problem: Problem, turn: Turn) -> Problem:
    """Return the problem with its axes in another order.

    Args:
        problem: What to turn.
        turn: New order.
    """
    if turn == UNTURNED:
        return problem
    grid, media, source, probe = problem.grid, problem.media, problem.source, problem.probe
    inverse, planes = back(turn), grid.planes
    layers = tuple(grid.layers[2 * axis + side] for axis in turn for side in range(2))
    names = {"xyz"[axis]: "xyz"[inverse[axis]] for axis in range(3)}
    made = Grid(
        x=planes[turn[0]],
        y=planes[turn[1]],
        z=planes[turn[2]],
        layers=layers,  # type: ignore[arg-type]
        magnetic=tuple(names[face[0]] + face[1] for face in grid.magnetic),
        mirrors=tuple(names[face[0]] + face[1] for face in grid.mirrors),
        courant_number=grid.courant_number,
    )
    box = problem.box
    if box is not None:
        places = _points(np.stack(np.unravel_index(box, (6, *grid.shape)), axis=-1), turn)
        box = np.ravel_multi_index(tuple(places.T), (6, *made.shape))
    edges = {name: turned_state(getattr(media, name), turn) for name in ("permittivity", "conductivity", "metal")}
    return replace(
        problem,
        grid=made,
        media=Media(**edges),
        source=None if source is None else replace(source, points=_points(source.points, turn)),
        probe=None if probe is None else replace(probe, points=_points(probe.points, turn)),
        box=box,
        initial=None if problem.initial is None else turned_state(problem.initial, turn),
    )


def turned_state(state: np.ndarray, turn: Turn) -> np.ndarray:
    """Return components with their axes in another order.

    Args:
        state: Components of one or two fields, (3 or 6, nz + 1, ny + 1, nx + 1).
        turn: New order.
    """
    order = [3 * field + axis for field in range(len(state) // 3) for axis in turn]
    return np.ascontiguousarray(state[order].transpose(0, *(3 - turn[axis] for axis in (2, 1, 0))))


def _points(points: np.ndarray, turn: Turn) -> np.ndarray:
    """Return turned components and places (component, k, j, i)."""
    inverse = np.array(back(turn))
    found = np.empty_like(points)
    found[:, 0] = points[:, 0] // 3 * 3 + inverse[points[:, 0] % 3]
    for axis in range(3):
        found[:, 3 - axis] = points[:, 3 - turn[axis]]
    return found
