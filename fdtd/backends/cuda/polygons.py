"""Polygons on a device; see `fdtd.axisymmetric.polygons.Polygons`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from fdtd.axisymmetric.polygons import groups_of
from fdtd.backends.cuda.rasterise import THREADS, Launcher, launcher
from fdtd.backends.cuda.text import flatten


@lru_cache(maxsize=1)
def text() -> str:
    """Return the kernels' text, flattened."""
    return flatten("kernels/raster/polygons.cu", {})


def table(corners: Any, launch: Launcher | None = None) -> tuple[Any, Any]:
    """Return what `fdtd.axisymmetric.polygons.table` does."""
    launch = launch or launcher()
    xp, (batch, count, _) = launch.arrays, corners.shape
    groups = groups_of(count)
    edges, boxes = xp.empty((batch, count, 11)), xp.empty((batch, groups, 4))
    launch(text(), "polygon_edges", (-(-count // THREADS), batch), THREADS, corners, count, edges)
    launch(text(), "polygon_boxes", (-(-groups // THREADS), batch), THREADS, edges, count, groups, boxes)
    return edges, boxes


def depths(edges: Any, boxes: Any, index: Any, r: Any, z: Any, launch: Launcher | None = None) -> Any:
    """Return the depth of points; arguments as those of `fdtd.backends.cpu.polygons`, and where to run."""
    launch = launch or launcher()
    xp = launch.arrays
    index, r, z = xp.broadcast_arrays(xp.asarray(index), xp.asarray(r, dtype=float), xp.asarray(z, dtype=float))
    index, r, z = (xp.ascontiguousarray(one) for one in (index, r, z))
    found = xp.empty(r.shape)
    polygons, corners, _ = edges.shape
    points = int(r.size)
    if points:
        numbers = corners, boxes.shape[1], int(polygons == 1), points
        grid = -(-points // THREADS), 1
        launch(text(), "polygon_depths", grid, THREADS, edges, boxes, *numbers, index, r, z, found)
    return found
