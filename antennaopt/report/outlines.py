"""Bodies in a plane through the axis, drawn from their level sets: conductors filled, dielectrics outlined."""

from __future__ import annotations

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.contour import ContourSet
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from antennaopt.report.exports.field_map import Outlines

METAL = "#9aa1a9"
METAL_EDGE = "#33383e"
_BESIDE = 1e-3  # of a sample: where bodies touch, both distances are zero; a little further out there is no seam
_BLEED = 2.5  # cells


def draw_outlines(axes: Axes, outlines: Outlines, *, dielectric: str = "white") -> list[ContourSet]:
    """Draw all surfaces into axes with z to the right and x upwards, in mm, mirrored about the axis.

    Args:
        axes: Gets the contours; its limits stay.
        outlines: Level sets of the bodies in the half plane.
        dielectric: Colour of the lines around dielectrics; white ones get black edges, to be seen on any ground.

    Returns:
        What was drawn, from the bottom to the top.
    """
    z_mm = 1e3 * outlines.z
    limits = axes.get_xlim(), axes.get_ylim()
    level = -_BESIDE * float(outlines.r[1] - outlines.r[0])
    x_mm, metal = mirrored(1e3 * outlines.r, outlines.metal)
    drawn = []
    if (metal > level).any():
        top = float(np.finfo(np.float32).max)
        drawn.append(axes.contourf(z_mm, x_mm, metal.T, levels=[level, top], colors=[METAL], zorder=3))
        drawn[-1].set_rasterized(True)
        drawn.append(_lines(axes, z_mm, x_mm, metal, level, METAL_EDGE, 0.7))
        drawn[-1].set_zorder(3.2)
    for body in outlines.dielectrics:
        shown = mirrored(outlines.r, body)[1]
        if (shown > level).any():
            lines = _lines(axes, z_mm, x_mm, shown, level, dielectric, 1.2)
            if dielectric == "white":
                lines.set_path_effects([patheffects.withStroke(linewidth=2.4, foreground="black")])
            drawn.append(lines)
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
    return sorted(drawn, key=lambda one: one.get_zorder())


def _lines(axes: Axes, z: NDArray, x: NDArray, values: NDArray, level: float, colour: str, width: float) -> ContourSet:
    return axes.contour(z, x, values.T, levels=[level], colors=colour, linewidths=width, linestyles="solid", zorder=2.5)


def mirrored(r: NDArray, values: NDArray) -> tuple[NDArray, NDArray]:
    """Return x from -r to r and the values there, shape (nz, columns); a column on the axis stays one column."""
    first = 1 if r[0] <= 0.0 else 0
    x = np.concatenate([-r[first:][::-1], r])
    return x, np.concatenate([values[:, first:][:, ::-1], values], axis=1)


def bled(values: NDArray, conducting: NDArray[np.bool_]) -> NDArray:
    """Return values, shape (nz, nr), continued a few cells into conductors, whose true shape is drawn over them.

    Without it the cells' stairs would show as a dark seam along slanted walls.
    """
    if not conducting.any() or conducting.all():
        return values
    distance, (k, i) = distance_transform_edt(conducting, return_indices=True)  # type: ignore[misc]
    near = conducting & (distance < _BLEED)
    out = values.copy()
    out[near] = values[k[near], i[near]]
    return out
