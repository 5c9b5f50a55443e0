"""Conductors on the lattice: the open part of every edge and face, so that walls need not fall on lattice planes.

References:
    Dey & Mittra, IEEE Microw. Guided Wave Lett. 7 (1997) 273; Taflove & Hagness, 3rd ed., sec. 10.6.
"""

from __future__ import annotations

import numpy as np

from fdtd.grid import AxisymmetricGrid, courant_limit
from fdtd.scene import Scene

_PIECES = 32  # an edge is searched for walls in this many pieces
_CLOSING_PASSES = 4  # rounds of taking nodes over for thin walls
_SNAP = 0.27  # over the headroom: a node this near a slanted wall, in cells, takes it over, which moves the wall less
_UPRIGHT = 0.97  # a wall counts as r = const or z = const where its normal is so to this: up to 14 degrees off
_ON_WALL = 1e-6  # a node this near a wall, in cells, lies on it and is conducting
# How much more than a whole cell a cut one may drive its H, times the square of the Courant number. The largest
# eigenvalue of curl curl is then at most 8 times that over the square (tests/physics/test_conductor_stability.py),
# where the time step allows 4 over it: 1.28 cells, 10.2 of 10.8, at 0.98 of the lattice's limit for m = 1. Near the
# axis the lattice itself is at its limit, whatever m: a plane wall cut there was unstable above 0.9 at 0.98 of it when
# stepped from random fields.
_HEADROOM = 0.4744
_HEADROOM_AT_AXIS = 0.85 * 0.98**2  # times the square of the limit over the Courant number
AXIS_COLUMNS = 8


def open_parts(grid: AxisymmetricGrid, scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Open part of the edges (e_r, e_phi, e_z) and faces (h_r, h_phi, h_z), each (batch, 3, nz, nr).

    Where the whole batch has the same metal, those of one antenna: (1, 3, nz, nr).

    A face much smaller than a cell would need a smaller time step; figures are for 0.98 of the lattice's limit, and
    shrink with its square. Where a wall r = const or z = const leaves less than 0.39 (0.71 along z) of a cell open, the
    last node before it conducts and the cells in front of that node reach to the wall: edges and faces of 1 + f. Such
    walls are where they are.

    In front of slanted walls, the area of a small face is raised until the circulation that drives it is no larger than
    1.28 times a whole cell's (0.85 within 8 cells of the axis), which moves the wall outwards by 1.36 (0.407 - f) of a
    cell where the part f of it is open. For f < 0.21 it is nearer to let the node take the wall over. The wall is so
    moved by a quarter of a cell at most, and not at all for f > 0.4.
    """
    edges = np.ones((1 if scene.same_metal else scene.batch, 3, grid.nz, grid.nr))
    areas = np.ones_like(edges)
    if not scene.conductors:
        return edges, areas
    for antenna in range(len(edges)):
        edges[antenna], areas[antenna] = _one(grid, scene, antenna)
    return edges, areas


def _depth(grid: AxisymmetricGrid, scene: Scene, antenna: int, r: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Distance into the nearest conductor, in cells; a wall counts as inside."""
    index = np.array(antenna)
    deepest = np.full(np.broadcast_shapes(r.shape, z.shape), -np.inf)
    for conductor in scene.conductors:
        deepest = np.maximum(deepest, conductor(index, r, z))
    return deepest / grid.cell + _ON_WALL


def _one(grid: AxisymmetricGrid, scene: Scene, antenna: int) -> tuple[np.ndarray, np.ndarray]:
    """Open parts of one antenna."""
    d = grid.cell
    r = np.arange(grid.nr + 1) * d
    z = (np.arange(grid.nz + 1) - grid.origin) * d
    node = _depth(grid, scene, antenna, r[None, :], z[:, None])
    beyond_r, beyond_z = _straight_walls(grid, scene, antenna, node)
    near = (node < 0) & (node > -_SNAP / headroom(grid, far=True))
    node = np.where((beyond_r != 0) | (beyond_z != 0) | near, np.maximum(node, 0.0), node)
    for _ in range(_CLOSING_PASSES):
        e_r, through_r = _edges(grid, scene, antenna, node, axis=1)
        e_z, through_z = _edges(grid, scene, antenna, node, axis=0)
        if not _close(node, through_r, through_z):
            break
    metal = node >= 0
    e_r = _reach(e_r, metal, beyond_r)
    e_z = _reach(e_z.T, metal.T, beyond_z.T).T
    edges = np.stack([e_r[:-1, :], 1.0 - metal[:-1, :-1], e_z[:, :-1]])
    return edges, _faces(grid, scene, antenna, metal, e_r, e_z)


def _straight_walls(
    grid: AxisymmetricGrid, scene: Scene, antenna: int, node: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How far beyond each open node, in cells, a wall r = const or z = const stands that it should take over.

    Positive where the wall is at larger r (or z), zero where there is none. Such a wall must face the node and its
    neighbours to both sides: a wall does not grow past its rim.
    """
    beyond = []
    most_r, most_z = (smallest_opening(grid, far) for far in (True, False))
    k, i = np.nonzero((node < 0) & (node > -most_z))
    r, z, gap = i * grid.cell, (k - grid.origin) * grid.cell, -node[k, i]
    step = 1e-3 * grid.cell  # for the normal, and how far inside a wall is looked for
    for dr, dz, most in ((1, 0, most_r), (0, 1, most_z)):
        after = _depth(grid, scene, antenna, r + dr * step, z + dz * step)
        before = _depth(grid, scene, antenna, r - dr * step, z - dz * step)
        slope = (after - before) / 2e-3
        way = np.sign(slope)
        away = gap / np.maximum(np.abs(slope), _UPRIGHT)
        at = (away * grid.cell + step) * way
        faces = _depth(grid, scene, antenna, r + dr * at, z + dz * at) >= 0
        taken = (np.abs(slope) > _UPRIGHT) & (away < most) & faces
        found = np.zeros_like(node)
        found[k[taken], i[taken]] = (away * way)[taken]
        beyond.append(found)
    wall = (beyond[0] != 0) | (beyond[1] != 0) | (node >= 0)
    for axis, found in enumerate(beyond):
        found[~(np.roll(wall, 1, axis) & np.roll(wall, -1, axis))] = 0.0
    return beyond[0], beyond[1]


def _reach(edges: np.ndarray, metal: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    """Let edges that end on a node in front of a straight wall reach to the wall; they run along the last axis."""
    ahead = np.where(beyond[:, 1:] > 0, beyond[:, 1:], 0.0) * ~metal[:, :-1]
    behind = np.where(beyond[:, :-1] < 0, -beyond[:, :-1], 0.0) * ~metal[:, 1:]
    one_end = metal[:, 1:] != metal[:, :-1]
    grown = one_end & (ahead + behind > 0)
    return np.where(grown, 1.0 + ahead + behind, edges)


def _close(node: np.ndarray, through_r: np.ndarray, through_z: np.ndarray) -> bool:
    """Let walls thinner than a cell take over nodes until no field gets past them; say whether any was taken.

    Where a wall runs through an edge between two open nodes, and on in the edges to both sides (else it is the tip of
    a rim, which is left out), the node nearer to it conducts. So does the nearer of two open corners of a face that a
    wall crosses from corner to corner.
    """
    metal = node >= 0
    taken = np.zeros_like(metal)
    for through, axis in ((through_r, 1), (through_z, 0)):
        first = np.take(metal, range(metal.shape[axis] - 1), axis)
        last = np.take(metal, range(1, metal.shape[axis]), axis)
        wall = through | first | last
        before, after = np.roll(wall, 1, 1 - axis), np.roll(wall, -1, 1 - axis)
        k, i = np.nonzero(through & before & after)
        k2, i2 = (k, i + 1) if axis else (k + 1, i)
        nearer = node[k, i] >= node[k2, i2]
        taken[np.where(nearer, k, k2), np.where(nearer, i, i2)] = True
    low, high = metal[:-1], metal[1:]
    across = (low[:, :-1] == high[:, 1:]) & (low[:, 1:] == high[:, :-1]) & (low[:, :-1] != low[:, 1:])
    k, i = np.nonzero(across)
    rising = low[k, i]  # metal at (k, i) and (k + 1, i + 1): open at (k, i + 1) and (k + 1, i)
    one = (k, np.where(rising, i + 1, i))
    other = (k + 1, np.where(rising, i, i + 1))
    nearer = node[one] >= node[other]
    taken[np.where(nearer, one[0], other[0]), np.where(nearer, one[1], other[1])] = True
    node[taken] = 0.0
    return bool(taken.any())


def _edges(
    grid: AxisymmetricGrid, scene: Scene, antenna: int, node: np.ndarray, axis: int
) -> tuple[np.ndarray, np.ndarray]:
    """Open length of the edges along an axis of the nodes, and which have metal between open ends (left open)."""
    near = np.abs(node) < 2.0
    first = node[:, :-1] if axis else node[:-1, :]
    last = node[:, 1:] if axis else node[1:, :]
    length = np.where((first < 0) & (last < 0), 1.0, 0.0)
    close = (near[:, :-1] | near[:, 1:]) if axis else (near[:-1, :] | near[1:, :])
    k, i = np.nonzero(close)
    steps = np.linspace(0.0, 1.0, _PIECES + 1)
    r = (i[:, None] + (steps if axis else 0.0)) * grid.cell
    z = (k[:, None] + (0.0 if axis else steps) - grid.origin) * grid.cell
    depth = _depth(grid, scene, antenna, r, z)
    depth[:, 0], depth[:, -1] = first[k, i], last[k, i]
    a, b = depth[:, :-1], depth[:, 1:]
    gap = np.where(a != b, a - b, 1.0)
    crossing = np.clip(np.where(a < 0, a / gap, b / -gap), 0.0, 1.0)  # open part of a piece with one end in metal
    pieces = np.where((a < 0) & (b < 0), 1.0, np.where((a >= 0) & (b >= 0), 0.0, crossing))
    both_open = (depth[:, 0] < 0) & (depth[:, -1] < 0)
    both_metal = (depth[:, 0] >= 0) & (depth[:, -1] >= 0)
    part = pieces.mean(axis=1)
    part[part > 1 - 2 * _ON_WALL] = 1.0  # ends on a wall
    length[k, i] = np.where(both_metal, 0.0, np.where(both_open, 1.0, part))
    through = np.zeros(length.shape, dtype=bool)
    through[k, i] = both_open & (depth >= 0).any(axis=1)
    return length, through


def headroom(grid: AxisymmetricGrid, far: bool) -> float:
    """How much more than a whole cell a cut one may drive its H, far from the axis or near it."""
    if far:
        return _HEADROOM / grid.courant_number**2
    return _HEADROOM_AT_AXIS * (courant_limit(grid.azimuthal_order) / grid.courant_number) ** 2


def smallest_opening(grid: AxisymmetricGrid, far: bool = True) -> float:
    """Part of a cell that a wall r = const (near the axis z = const) leaves open at least; else the node is its own."""
    most = headroom(grid, far)
    return max(1 / (2 * most), 1 / (4 * most - 2))


def _faces(
    grid: AxisymmetricGrid, scene: Scene, antenna: int, metal: np.ndarray, e_r: np.ndarray, e_z: np.ndarray
) -> np.ndarray:
    """Open area of the faces, from the open lengths around them."""
    columns = np.arange(e_r.shape[1])
    most = np.where(columns < AXIS_COLUMNS, headroom(grid, far=False), headroom(grid, far=True))
    floor = 1.0 / (2.0 * most)
    low, high, left, right = e_r[:-1], e_r[1:], e_z[:, :-1], e_z[:, 1:]
    corners = np.stack([metal[:-1, :-1], metal[:-1, 1:], metal[1:, :-1], metal[1:, 1:]]).sum(axis=0)
    # With straight walls: two metal corners side by side leave a trapezium, one cuts off a triangle, three leave one.
    mean_r, mean_z = (low + high) / 2, (left + right) / 2
    beside_r = metal[:-1, :-1] == metal[1:, :-1]  # the wall runs along z: the two r edges are cut
    two = np.where(beside_r, mean_r, mean_z)
    cut_off = np.maximum(1 - np.minimum(low, high), 0) * np.maximum(1 - np.minimum(left, right), 0) / 2
    left_over = np.maximum(low, high) * np.maximum(left, right) / 2
    left_over *= np.where(_inner_corners(grid, scene, antenna, metal, corners == 3, e_r, e_z), 2.0, 1.0)
    area = np.select([corners == 0, corners == 1, corners == 2, corners == 3], [1.0, 1 - cut_off, two, left_over], 1.0)
    driven = (low + high + left + right) / (4 * most)
    # A face whose edges are all whole or gone, beside a wall or a rim on the lattice, is a whole one.
    cut = np.stack([(edge > 0) & (edge != 1) for edge in (low, high, left, right)]).any(axis=0) | (corners == 3)
    h_phi = np.where((corners > 0) & (corners < 4) & cut, np.maximum(area, driven), 1.0)
    h_r = np.where((left > 0) & (left != 1), np.maximum(left, floor), 1.0)
    # The flux through h_z grows with the radius: its area counts at the middle of what is open.
    outside = metal[:-1, :-1]
    middle = np.where(outside, columns + 1 - low / 2, columns + low / 2) / (columns + 0.5)
    h_z = np.where((low > 0) & (low != 1), np.maximum(low * middle, floor), 1.0)
    return np.stack([h_r, h_phi, h_z])


def _inner_corners(
    grid: AxisymmetricGrid,
    scene: Scene,
    antenna: int,
    metal: np.ndarray,
    three: np.ndarray,
    e_r: np.ndarray,
    e_z: np.ndarray,
) -> np.ndarray:
    """Faces with one open node that walls leave a rectangle of, not a triangle: metal starts beyond its middle."""
    found = np.zeros_like(three)
    k, i = np.nonzero(three)
    right, upper = ~metal[k, i + 1] | ~metal[k + 1, i + 1], ~metal[k + 1, i] | ~metal[k + 1, i + 1]
    node_k, node_i = k + upper, i + right
    along_r, along_z = e_r[node_k, i], e_z[k, node_i]
    r = (node_i + np.where(right, -0.75, 0.75) * along_r) * grid.cell
    z = (node_k + np.where(upper, -0.75, 0.75) * along_z - grid.origin) * grid.cell
    found[k, i] = _depth(grid, scene, antenna, r, z) < 0
    return found
