"""The nearest edge of polygons on the host; see `fdtd.axisymmetric.polygons.Edges`."""

from __future__ import annotations

import math

import numpy as np

from fdtd.backends.cpu.compiled import compiled


@compiled(nogil=True)
def nearest_edges(
    places: np.ndarray, boxes: np.ndarray, corners: int, antenna: np.ndarray, r: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """Return the number of each point's nearest edge, (points,), -1 without any; the first of several as near.

    The search begins with the edge that was nearest to the point before, so that few boxes are looked into.

    Args:
        places: r, z, dr, dz, 1 over the squared length of each edge, (edges, 5).
        boxes: Least and largest r and z of the edges, a group each, (antennas, groups, 4).
        corners: Edges of an antenna.
        antenna: Whose edges count, (points,).
        r: Radius of the points, m.
        z: Their height, m.
    """
    found = np.empty(len(r), dtype=np.int64)
    groups = boxes.shape[1]
    size = (corners + groups - 1) // groups
    near, of = -1, -1
    for point in range(len(r)):
        first = antenna[point] * corners
        best = math.inf
        if of != first:
            near = -1
        elif near >= 0:
            best = _squared_distance(places, near, r[point], z[point])
        of = first
        for group in range(groups):
            box = boxes[antenna[point], group]
            off_r = max(box[0] - r[point], r[point] - box[1], 0.0)
            off_z = max(box[2] - z[point], z[point] - box[3], 0.0)
            if off_r * off_r + off_z * off_z > best * (1 + 1e-12):
                continue
            for edge in range(first + group * size, first + min((group + 1) * size, corners)):
                squared = _squared_distance(places, edge, r[point], z[point])
                if squared < best or (squared == best and edge < near):
                    near, best = edge, squared
        found[point] = near
    return found


@compiled(nogil=True, inline="always")
def _squared_distance(places: np.ndarray, edge: int, r: float, z: float) -> float:
    dr, dz, inverse = places[edge, 2], places[edge, 3], places[edge, 4]
    if inverse == 0.0:
        return math.inf
    x, y = r - places[edge, 0], z - places[edge, 1]
    along = min(max((x * dr + y * dz) * inverse, 0.0), 1.0)
    off_x, off_y = x - along * dr, y - along * dz
    return off_x * off_x + off_y * off_y
