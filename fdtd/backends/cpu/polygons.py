"""Depth of points in polygons on the host; see `fdtd.axisymmetric.polygons.Polygons`."""

from __future__ import annotations

import math

import numpy as np

from fdtd.backends.cpu.compiled import compiled

_SHARP = -0.5  # dot product of the normals at a corner of 60 degrees
_NOTHING = -1.0  # m, in a polygon without edges


def depths(edges: np.ndarray, boxes: np.ndarray, index: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the depth of points, m; of several edges as near the first counts.

    Args:
        edges: Numbers of each edge, (polygons, corners, 11); see `fdtd.axisymmetric.polygons.Polygons`.
        boxes: Least and largest r and z of the edges, a group each, (polygons, groups, 4).
        index: The antenna of each point; one polygon is that of all antennas.
        r: Radius of the points, m.
        z: Their height, m; all three broadcast.
    """
    antenna, r, z = np.broadcast_arrays(np.asarray(index), np.asarray(r), np.asarray(z))
    shared = len(edges) == 1
    flat = (np.ascontiguousarray(one).ravel() for one in (antenna, r.astype(float), z.astype(float)))
    return _depths(edges, boxes, shared, *flat).reshape(r.shape)


@compiled(nogil=True)
def _depths(
    edges: np.ndarray, boxes: np.ndarray, shared: bool, antenna: np.ndarray, r: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """Search each point's nearest edge, beginning with that of the point before, so that few boxes are looked into."""
    found = np.empty(len(r))
    groups, corners = boxes.shape[1], edges.shape[1]
    size = (corners + groups - 1) // groups
    near, of = -1, -1
    for point in range(len(r)):
        own = 0 if shared else antenna[point]
        x, y = abs(r[point]), z[point]
        best = math.inf
        if of != own:
            near = -1
        elif near >= 0:
            best = _squared_distance(edges[own, near], x, y)
        of = own
        for group in range(groups):
            box = boxes[own, group]
            off_r = max(box[0] - x, x - box[1], 0.0)
            off_z = max(box[2] - y, y - box[3], 0.0)
            if off_r * off_r + off_z * off_z > best * (1 + 1e-12):
                continue
            for edge in range(group * size, min((group + 1) * size, corners)):
                squared = _squared_distance(edges[own, edge], x, y)
                if squared < best or (squared == best and edge < near):
                    near, best = edge, squared
        found[point] = _depth_at(edges[own, near], x, y) if near >= 0 else _NOTHING
    return found


@compiled(nogil=True, inline="always")
def _squared_distance(at: np.ndarray, r: float, z: float) -> float:
    if at[4] == 0.0:
        return math.inf
    x, y = r - at[0], z - at[1]
    along = min(max((x * at[2] + y * at[3]) * at[4], 0.0), 1.0)
    off_x, off_y = x - along * at[2], y - along * at[3]
    return off_x * off_x + off_y * off_y


@compiled(nogil=True)
def _depth_at(at: np.ndarray, r: float, z: float) -> float:
    """Return the depth of a point behind its nearest edge; see `fdtd.axisymmetric.polygons.Edges.depth`."""
    x, y = r - at[0], z - at[1]
    along, plane = (x * at[2] + y * at[3]) * at[4], x * at[5] + y * at[6]
    if 0.0 < along < 1.0:
        return plane
    if along >= 1.0:
        x, y = x - at[2], y - at[3]
        other_r, other_z = at[9], at[10]
        turn = at[5] * other_z - at[6] * other_r
    else:
        other_r, other_z = at[7], at[8]
        turn = other_r * at[6] - other_z * at[5]
    if at[5] * other_r + at[6] * other_z < _SHARP:
        size = math.sqrt(x * x + y * y)
        return -size if turn > 0 else size
    beyond = x * other_r + y * other_z
    return min(plane, beyond) if turn > 0 else max(plane, beyond)
