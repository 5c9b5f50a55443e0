"""Conductors on the lattice: the open part of every edge and face, so that walls need not fall on lattice planes.

References:
    Dey & Mittra, IEEE Microw. Guided Wave Lett. 7 (1997) 273; Taflove & Hagness, 3rd ed., sec. 10.6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fdtd.arrays import library
from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.scene import LevelSet, Scene

PIECES = 32  # an edge is searched for walls in this many pieces
_BLOCK = 4  # nodes along a side of a block
_NEAR = 2 + _BLOCK / 2 * 2**0.5 + 0.01  # cells; a block whose middle is farther from metal has no node within two
CLOSING_PASSES = 4  # rounds of taking nodes over for thin walls
SNAP = 0.27  # over the headroom: a node this near a wall, in cells, takes it over
SNAP_SLANTED = 0.13  # the same of a slanted wall far from the axis
UPRIGHT = 0.97  # a wall counts as r = const or z = const where its normal is so to this: up to 14 degrees off
ON_WALL = 1e-6  # a node this near a wall, in cells, lies on it and is conducting
# How much more than a whole cell a cut one may drive its H, times the square of the Courant number. The largest
# eigenvalue of curl curl is then at most 8 times that over the square (tests/physics/test_conductor_stability.py),
# where the time step allows 4 over it: 1.28 cells, 10.2 of 10.8, at 0.98 of the lattice's limit for m = 1. Near the
# axis the lattice itself is at its limit, whatever m: a plane wall cut there was unstable above 0.9 at 0.98 of it when
# stepped from random fields.
_HEADROOM = 0.4744
_HEADROOM_AT_AXIS = 0.85 * 0.98**2  # times the square of the limit over the Courant number
AXIS_COLUMNS = 8


Compiled = Callable[[AxisymmetricGrid, tuple[LevelSet, ...], int], tuple[np.ndarray, np.ndarray] | None]
"""Finds the open parts around some level sets of a number of antennas; None where it cannot."""


def open_parts(
    grid: AxisymmetricGrid, scene: Scene, xp: Any = np, compiled: Compiled | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Open part of the edges (e_r, e_phi, e_z) and faces (h_r, h_phi, h_z), each (batch, 3, nz, nr).

    Where the whole batch has the same metal, those of one antenna: (1, 3, nz, nr).

    A face much smaller than a cell would need a smaller time step; figures are for 0.98 of the lattice's limit, and
    shrink with its square. Where a wall r = const or z = const leaves less than 0.39 (0.71 along z) of a cell open, the
    last node before it conducts and the cells in front of that node reach to the wall: edges and faces of 1 + f. Such
    walls are where they are.

    In front of slanted walls, the area of a small face is raised until the circulation that drives it is no larger than
    1.28 times a whole cell's (0.85 within 8 cells of the axis). The next face away from the wall has as much less,
    where the same bound allows it, so that the flux in front of the wall has the room that it should have. Nodes within
    0.1 of a cell take the wall over (0.21 before walls r = const or z = const, and near the axis).

    Args:
        grid: The lattice.
        scene: The batch; its conductors' numbers are arrays of `xp`.
        xp: Array library.
        compiled: Does the same in a few launches, with the same bits.
    """
    antennas = 1 if scene.same_metal else scene.batch
    if not scene.conductors:
        ones = xp.ones((antennas, 3, grid.nz, grid.nr))
        return ones, ones.copy()
    found = None if compiled is None else compiled(grid, scene.conductors, antennas)
    if found is not None:
        return found
    index = xp.arange(antennas)
    if xp is not np:
        return _parts(_Metal(grid, scene.conductors, index))
    # A host's cache holds one antenna, not a batch.
    each = [_parts(_Metal(grid, scene.conductors, index[one : one + 1])) for one in index]
    return np.concatenate([edges for edges, _ in each]), np.concatenate([areas for _, areas in each])


def _parts(metal: _Metal) -> tuple[np.ndarray, np.ndarray]:
    """Open parts of some antennas."""
    xp, grid = library(metal.antennas), metal.grid
    d = grid.cell
    r, z = xp.arange(grid.nr + 1) * d, (xp.arange(grid.nz + 1) - grid.origin) * d
    which = xp.arange(len(metal.antennas))[:, None, None]
    node = metal.depth(which, r[None, None], z[None, :, None]) if xp is not np else _by_blocks(metal, which, r, z)
    beyond_r, beyond_z, upright = _straight_walls(metal, node)
    snap = np.where(upright | (xp.arange(grid.nr + 1) < AXIS_COLUMNS), SNAP, SNAP_SLANTED)
    near = (node < 0) & (node > -snap / headroom(grid, far=True))
    node = np.where((beyond_r != 0) | (beyond_z != 0) | near, np.maximum(node, 0.0), node)
    along_r, along_z = _samples(metal, node, axis=2), _samples(metal, node, axis=1)
    for _ in range(CLOSING_PASSES):
        e_r, through_r = _edges(along_r, node, axis=2)
        e_z, through_z = _edges(along_z, node, axis=1)
        if not _close(node, through_r, through_z):
            break
        along_r, along_z = _samples(metal, node, 2, along_r), _samples(metal, node, 1, along_z)
    conducts = node >= 0
    e_r = _reach(e_r, conducts, beyond_r)
    e_z = _turned(_reach(_turned(e_z), _turned(conducts), _turned(beyond_z)))
    edges = np.stack([e_r[:, :-1, :], np.where(conducts[:, :-1, :-1], 0.0, 1.0), e_z[:, :, :-1]], axis=1)
    return edges, _faces(metal, conducts, e_r, e_z)


@dataclass(frozen=True, eq=False)
class _Metal:
    """The conductors of some antennas of a batch on a lattice."""

    grid: AxisymmetricGrid
    conductors: tuple[LevelSet, ...]
    antennas: np.ndarray

    def depth(self, which: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Distance into the nearest conductor of the antennas, in cells; a wall counts as inside."""
        first, *others = self.conductors
        index = self.antennas[which]
        deepest = first(index, r, z)
        for conductor in others:
            deepest = np.maximum(deepest, conductor(index, r, z))
        return deepest / self.grid.cell + ON_WALL


def _by_blocks(metal: _Metal, which: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the depth at the nodes, (antennas, rows, columns), in cells, exact within two cells of metal's surface.

    In a block of nodes farther away all have the depth of one of them. No surface is between these, so the sign is
    right: a depth is no larger than the distance from the surface. On a device one launch is faster than this.
    """
    rows, columns = (np.arange(len(one)) for one in (z, r))
    mid_row, mid_column = (np.minimum(one // _BLOCK * _BLOCK + _BLOCK // 2, one[-1]) for one in (rows, columns))
    coarse = metal.depth(which, r[None, None, np.unique(mid_column)], z[None, np.unique(mid_row), None])
    node = coarse[:, rows // _BLOCK][:, :, columns // _BLOCK]
    near = np.nonzero(np.abs(node) < _NEAR)
    node[near] = metal.depth(near[0], r[near[2]], z[near[1]])
    return node


def _turned(array: np.ndarray) -> np.ndarray:
    """Rows for columns."""
    return np.swapaxes(array, 1, 2)


def _straight_walls(metal: _Metal, node: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how far beyond each open node, in cells, a wall r = const or z = const stands that it should take over.

    Last of all, whether the wall nearest to the node is such a wall.

    Positive where the wall is at larger r (or z), zero where there is none. Such a wall must face the node and its
    neighbours to both sides: a wall does not grow past its rim.
    """
    grid, beyond, upright = metal.grid, [], np.zeros_like(node, dtype=bool)
    most_r, most_z = (smallest_opening(grid, far) for far in (True, False))
    which, k, i = np.nonzero((node < 0) & (node > -most_z))
    r, z, gap = i * grid.cell, (k - grid.origin) * grid.cell, -node[which, k, i]
    step = 1e-3 * grid.cell  # for the normal, and how far inside a wall is looked for
    for dr, dz, most in ((1, 0, most_r), (0, 1, most_z)):
        after = metal.depth(which, r + dr * step, z + dz * step)
        before = metal.depth(which, r - dr * step, z - dz * step)
        slope = (after - before) / 2e-3
        # In an inner corner, as far from both walls, the depth rises to either wall alone: look at each side by itself.
        ahead, behind = (after - node[which, k, i]) / 1e-3, (node[which, k, i] - before) / 1e-3
        steeper = np.where(np.abs(ahead) > np.abs(behind), ahead, behind)
        slope = np.where(np.abs(slope) > UPRIGHT, slope, steeper)
        upright[which, k, i] |= np.abs(slope) > UPRIGHT
        way = np.sign(slope)
        away = gap / np.maximum(np.abs(slope), UPRIGHT)
        at = (away * grid.cell + step) * way
        faces = metal.depth(which, r + dr * at, z + dz * at) >= 0
        taken = (np.abs(slope) > UPRIGHT) & (away < most) & faces
        found = np.zeros_like(node)
        found[which, k, i] = np.where(taken, away * way, 0.0)
        beyond.append(found)
    wall = (beyond[0] != 0) | (beyond[1] != 0) | (node >= 0)
    kept = (np.where(np.roll(wall, 1, axis) & np.roll(wall, -1, axis), beyond[axis - 1], 0.0) for axis in (1, 2))
    return next(kept), next(kept), upright


def _reach(edges: np.ndarray, metal: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    """Let edges that end on a node in front of a straight wall reach to the wall; they run along the last axis."""
    ahead = np.where(beyond[..., 1:] > 0, beyond[..., 1:], 0.0) * ~metal[..., :-1]
    behind = np.where(beyond[..., :-1] < 0, -beyond[..., :-1], 0.0) * ~metal[..., 1:]
    one_end = metal[..., 1:] != metal[..., :-1]
    grown = one_end & (ahead + behind > 0)
    return np.where(grown, 1.0 + ahead + behind, edges)


def _ends(array: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last ends of the edges along an axis of the nodes."""
    return (array[:, :, :-1], array[:, :, 1:]) if axis == 2 else (array[:, :-1], array[:, 1:])


def _close(node: np.ndarray, through_r: np.ndarray, through_z: np.ndarray) -> bool:
    """Let walls thinner than a cell take over nodes until no field gets past them; say whether any was taken.

    Where a wall runs through an edge between two open nodes, and on in the edges to both sides (else it is the tip of
    a rim, which is left out), the node nearer to it conducts. So does the nearer of two open corners of a face that a
    wall crosses from corner to corner.
    """
    metal = node >= 0
    taken = np.zeros_like(metal)

    def take(mask: np.ndarray, first: tuple, last: tuple) -> None:
        nearer = node[first] >= node[last]
        taken[first] |= mask & nearer
        taken[last] |= mask & ~nearer

    every, lower, upper = slice(None), slice(None, -1), slice(1, None)
    for through, axis, first, last in (
        (through_r, 2, (every, every, lower), (every, every, upper)),
        (through_z, 1, (every, lower), (every, upper)),
    ):
        wall = through | metal[first] | metal[last]
        side = 3 - axis
        take(through & np.roll(wall, 1, side) & np.roll(wall, -1, side), first, last)
    here, right = (every, lower, lower), (every, lower, upper)
    above, beyond = (every, upper, lower), (every, upper, upper)
    across = (metal[here] == metal[beyond]) & (metal[above] == metal[right]) & (metal[here] != metal[right])
    take(across & metal[here], right, above)  # metal at (k, i) and (k + 1, i + 1)
    take(across & ~metal[here], here, beyond)
    node[...] = np.where(taken, 0.0, node)
    return bool(taken.any())


class _Samples(NamedTuple):
    """Depth along edges that metal may cut, cells, (edges, pieces + 1), and which antenna, row and column each is."""

    depth: np.ndarray
    which: np.ndarray
    k: np.ndarray
    i: np.ndarray


def _samples(metal: _Metal, node: np.ndarray, axis: int, known: _Samples | None = None) -> _Samples:
    """Look along the edges of an axis of the nodes that metal may cut, and add them to those known."""
    grid, along_r = metal.grid, axis == 2
    cut = _may_be_cut(node, axis)
    if known is not None:
        cut[known.which, known.k, known.i] = False
    which, k, i = np.nonzero(cut)
    steps = library(node).linspace(0.0, 1.0, PIECES + 1)
    r = (i[:, None] + (steps if along_r else 0.0)) * grid.cell
    z = (k[:, None] + (0.0 if along_r else steps) - grid.origin) * grid.cell
    found = _Samples(metal.depth(which[:, None], r, z), which, k, i)
    return found if known is None else _Samples(*(np.concatenate(both) for both in zip(known, found, strict=True)))


def _may_be_cut(node: np.ndarray, axis: int) -> np.ndarray:
    """Say which edges of an axis have one end in metal, or none and both no farther from it than the edge is long.

    A depth is no larger than the distance from the surface, so metal cuts no other edge between two open ends.
    """
    first, last = _ends(node, axis)
    return ((first < 0) != (last < 0)) | ((first < 0) & (last < 0) & (first + last > -1.0 - 1e-3))


def _edges(samples: _Samples, node: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Open length of the edges along an axis of the nodes, and which have metal between open ends (left open)."""
    xp, (depth, which, k, i) = library(node), samples
    first, last = _ends(node, axis)
    length = np.where((first < 0) & (last < 0), 1.0, 0.0)
    depth[:, 0], depth[:, -1] = first[which, k, i], last[which, k, i]
    a, b = depth[:, :-1], depth[:, 1:]
    gap = np.where(a != b, a - b, 1.0)
    crossing = np.clip(np.where(a < 0, a / gap, b / -gap), 0.0, 1.0)  # open part of a piece with one end in metal
    pieces = np.where((a < 0) & (b < 0), 1.0, np.where((a >= 0) & (b >= 0), 0.0, crossing))
    both_open = (depth[:, 0] < 0) & (depth[:, -1] < 0)
    both_metal = (depth[:, 0] >= 0) & (depth[:, -1] >= 0)
    part = pieces.mean(axis=1)
    part = np.where(part > 1 - 2 * ON_WALL, 1.0, part)  # ends on a wall
    length[which, k, i] = np.where(both_metal, 0.0, np.where(both_open, 1.0, part))
    through = xp.zeros(length.shape, dtype=bool)
    through[which, k, i] = both_open & (depth >= 0).any(axis=1)
    return length, through


def headroom(grid: AxisymmetricGrid, far: bool) -> float:
    """Return how much more than a whole cell a cut one may drive its H, far from the axis or near it."""
    if far:
        return _HEADROOM / grid.courant_number**2
    limit = courant_limit(grid.azimuthal_order, axis_permeability=grid.axis_permeability)
    return _HEADROOM_AT_AXIS * (limit / grid.courant_number) ** 2


def smallest_opening(grid: AxisymmetricGrid, far: bool = True) -> float:
    """Part of a cell that a wall r = const (near the axis z = const) leaves open at least; else the node is its own."""
    most = headroom(grid, far)
    return max(1 / (2 * most), 1 / (4 * most - 2))


def _faces(metal: _Metal, conducts: np.ndarray, e_r: np.ndarray, e_z: np.ndarray) -> np.ndarray:
    """Open area of the faces, from the open lengths around them and the nodes that conduct."""
    xp, grid = library(e_r), metal.grid
    columns = xp.arange(e_r.shape[2])
    most = np.where(columns < AXIS_COLUMNS, headroom(grid, far=False), headroom(grid, far=True))
    floor = 1.0 / (2.0 * most)
    low, high, left, right = e_r[:, :-1], e_r[:, 1:], e_z[..., :-1], e_z[..., 1:]
    here, after = conducts[:, :-1, :-1], conducts[:, :-1, 1:]
    above, beyond = conducts[:, 1:, :-1], conducts[:, 1:, 1:]
    corners = here.astype(int) + after + above + beyond
    # With straight walls: two metal corners side by side leave a trapezium, one cuts off a triangle, three leave one.
    mean_r, mean_z = (low + high) / 2, (left + right) / 2
    two = np.where(here == above, mean_r, mean_z)  # the wall runs along z: the two r edges are cut
    cut_off = np.maximum(1 - np.minimum(low, high), 0) * np.maximum(1 - np.minimum(left, right), 0) / 2
    left_over = np.maximum(low, high) * np.maximum(left, right) / 2
    left_over *= np.where(_inner_corners(metal, conducts, corners == 3, e_r, e_z), 2.0, 1.0)
    area = np.where(corners == 1, 1 - cut_off, np.where(corners == 2, two, np.where(corners == 3, left_over, 1.0)))
    driven = (low + high + left + right) / (4 * most)
    # A face whose edges are all whole or gone, beside a wall or a rim on the lattice, is a whole one.
    cut = corners == 3
    for edge in (low, high, left, right):
        cut = cut | ((edge > 0) & (edge != 1))
    cut &= (corners > 0) & (corners < 4)
    ahead, upwards = (here + 0 + above) - (after + 0 + beyond), (here + 0 + after) - (above + 0 + beyond)
    h_phi = _raised(np.where(cut, area, 1.0), driven, cut, ahead, upwards)
    away, none, rest = np.where(here, 1, -1), np.zeros_like(corners), 1.0 / most
    cut = (left > 0) & (left != 1)
    h_r = _raised(np.where(cut, left, 1.0), np.where(cut, floor, rest), cut, none, away)
    # The flux through h_z grows with the radius: its area counts at the middle of what is open.
    middle = np.where(here, columns + 1 - low / 2, columns + low / 2) / (columns + 0.5)
    cut = (low > 0) & (low != 1)
    h_z = _raised(np.where(cut, low * middle, 1.0), np.where(cut, floor, rest), cut, away, none)
    return np.stack([h_r, h_phi, h_z], axis=1)


def _raised(area: np.ndarray, least: np.ndarray, cut: np.ndarray, ahead: np.ndarray, upwards: np.ndarray) -> np.ndarray:
    """Raise the areas of cut faces to the least allowed, and take as much from the next faces away from the wall.

    Args:
        area: Of the faces of one component, (batch, nz, nr).
        least: The smallest area allowed of each.
        cut: Which are cut by a wall.
        ahead: Where the next face away from the wall is along r: +1 (or more) or -1 (or less), 0 for neither.
        upwards: The same along z.
    """
    made = np.where(cut, np.maximum(area, least), area)
    parts = np.maximum(np.abs(ahead) + np.abs(upwards), 1)
    taken = np.zeros_like(area)
    for way, axis in ((ahead, 2), (upwards, 1)):
        first, last = _ends(taken, axis)
        share = (made - area) * np.abs(way) / parts
        last += _ends(np.where(way > 0, share, 0.0), axis)[0]
        first += _ends(np.where(way < 0, share, 0.0), axis)[1]
    return made - np.minimum(taken, np.maximum(made - least, 0.0))


def _inner_corners(
    metal: _Metal, conducts: np.ndarray, three: np.ndarray, e_r: np.ndarray, e_z: np.ndarray
) -> np.ndarray:
    """Faces with one open node that walls leave a rectangle of, not a triangle: metal starts beyond its middle."""
    grid, found = metal.grid, np.zeros_like(three)
    which, k, i = np.nonzero(three)
    open_right = ~conducts[which, k, i + 1] | ~conducts[which, k + 1, i + 1]
    open_above = ~conducts[which, k + 1, i] | ~conducts[which, k + 1, i + 1]
    node_k, node_i = k + open_above, i + open_right
    along_r, along_z = e_r[which, node_k, i], e_z[which, k, node_i]
    r = (node_i + np.where(open_right, -0.75, 0.75) * along_r) * grid.cell
    z = (node_k + np.where(open_above, -0.75, 0.75) * along_z - grid.origin) * grid.cell
    found[which, k, i] = metal.depth(which, r, z) < 0
    return found
