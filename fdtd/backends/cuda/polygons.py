"""The nearest edge of polygons on a device; see `fdtd.axisymmetric.polygons.Edges`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_TEXT = """
const double* const own = &boxes[4 * groups * antenna];
const int size = (corners + groups - 1) / groups;
double best = 1.0 / 0.0;
nearest = -1;
for (int group = 0; group < groups; ++group) {
    const double off_r = fmax(fmax(own[4 * group] - r, r - own[4 * group + 1]), 0.0);
    const double off_z = fmax(fmax(own[4 * group + 2] - z, z - own[4 * group + 3]), 0.0);
    if (off_r * off_r + off_z * off_z > best * (1 + 1e-12)) continue;
    const int last = min((group + 1) * size, corners);
    for (int edge = group * size; edge < last; ++edge) {
        const double* const at = &places[5 * (antenna * corners + edge)];
        if (at[4] == 0.0) continue;
        const double x = r - at[0], y = z - at[1];
        const double along = fmin(fmax((x * at[2] + y * at[3]) * at[4], 0.0), 1.0);
        const double off_x = x - along * at[2], off_y = y - along * at[3];
        const double squared = off_x * off_x + off_y * off_y;
        if (squared < best) {
            best = squared;
            nearest = antenna * corners + edge;
        }
    }
}
"""


@lru_cache(maxsize=1)
def _kernel() -> Any:
    import cupy  # pyright: ignore[reportMissingImports]

    return cupy.ElementwiseKernel(
        "raw float64 places, raw float64 boxes, int32 groups, int32 corners, int64 antenna, float64 r, float64 z",
        "int64 nearest",
        _TEXT,
        "nearest_edges",
    )


def nearest_edges(places: Any, boxes: Any, corners: int, antenna: Any, r: Any, z: Any) -> Any:
    """Return the number of each point's nearest edge; arguments as those of `fdtd.backends.cpu.polygons`."""
    return _kernel()(places, boxes, boxes.shape[1], corners, antenna, r, z)
