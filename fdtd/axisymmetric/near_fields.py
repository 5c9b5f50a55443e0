"""Convert stepped quantities to fields: the field map of one antenna at its frequencies, and its film."""

from __future__ import annotations

from typing import Any

import numpy as np

from fdtd.arrays import library, on_host
from fdtd.axisymmetric.monitors import Snapshots
from fdtd.axisymmetric.problem import Problem, Records


def near_field(problem: Problem, records: Records, index: int, fields: bool) -> dict[str, Any]:
    """Return the fields of one antenna that were requested."""
    kept, extras = problem.snapshots, {}
    if fields and records.field_map is not None:
        extras |= {
            "field": on_host(_unscaled(problem, records.field_map[index], index)),
            "permittivity": on_host(problem.media.permittivity[index, 1]),
            "metal": on_host(problem.media.open_length[index, 1] == 0),
        }
    if records.snapshots is not None and kept is not None and kept.antenna == index:
        extras["snapshots"] = _frames(problem, kept, records.snapshots)
    return extras


def _unscaled(problem: Problem, sums: np.ndarray, index: int) -> np.ndarray:
    """E_r, E_phi, E_z from the sums of the stepped unknowns, complex (F, 3, rows, columns).

    On the axis the field of order 1 is E_phi = -E_r there, which is even in r: (9 E_r(d/2) - E_r(3d/2)) / 8.
    """
    where = problem.field_map
    if where is None:
        raise ValueError("the problem has no field map")
    rows, columns = slice(*where.rows), slice(*where.columns)
    field = sums[:, 0].astype(complex) + 1j * sums[:, 1]
    length = problem.media.open_length[index][:, rows, columns]
    field /= np.where(length > 0, length, 1.0)
    node = library(field).arange(*where.columns, dtype=float)
    field[:, 1] = np.where(node > 0, field[:, 1] / np.maximum(node, 1.0), 0.0)
    if where.columns[0] == 0 and problem.grid.azimuthal_order == 1:
        field[:, 1, :, 0] = -(9 * field[:, 0, :, 0] - field[:, 0, :, 1]) / 8
    return field


def _frames(problem: Problem, kept: Snapshots, frames: np.ndarray) -> np.ndarray:
    """E_r, E_phi, E_z from snapshots of the stepped unknowns, NaN where an edge lies in a conductor.

    On the axis E_phi of order 1 is minus the E_r half a cell beside it.
    """
    length = problem.media.open_length[kept.antenna][(slice(None), *kept.box)].astype(frames.dtype)
    node = np.arange(problem.grid.nr, dtype=frames.dtype)[kept.box[1]]
    scale = np.where(length > 0, length, np.nan)
    scale[1] *= np.where(node > 0, node, 1.0)
    field = frames / scale
    if kept.columns[0] == 0 and problem.grid.azimuthal_order == 1:
        field[:, 1, :, 0] = -field[:, 0, :, 0]
    return field
