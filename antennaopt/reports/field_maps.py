"""The antenna in its own field: |E| in dB in a plane through the axis, metal solid, dielectric outlined."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps, patheffects
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from antennaopt.exports.field_map import FieldMap
from antennaopt.reports.canvas import INK, dress, new_figure

METAL = "#9aa1a9"
RANGE_DB = 40.0
LEAST_CONTRAST = 0.02
"""Permittivity above 1 by less than this is air."""


def field_map_figure(field: FieldMap) -> Figure:
    """Draw the field map as tall as its proportions ask for, in mm with equal scales."""
    depth = float(field.z_mm[-1] - field.z_mm[0])
    width = 2.0 * float(field.r_mm[-1])
    height = 6.6 * width / max(depth, 1e-9) + 0.9
    figure = new_figure(7.8, float(np.clip(height, 2.8, 6.2)))
    draw_field_map(dress(figure.add_subplot()), field)
    return figure


def draw_field_map(axes: Axes, field: FieldMap) -> None:
    """Draw |E| and the geometry into axes, mirrored about the axis, z to the right.

    Args:
        axes: Gets equal scales, in mm.
        field: Map of the half plane r >= 0.
    """
    r_mm, e_db = mirrored(field.r_mm, field.e_db)
    _, metal = mirrored(field.r_mm, field.metal)
    _, permittivity = mirrored(field.r_mm, field.permittivity)
    axes.grid(visible=False)
    levels = np.ma.masked_array(np.clip(e_db, -RANGE_DB, 0.0), metal)
    picture = axes.pcolormesh(
        field.z_mm,
        r_mm,
        levels.T,
        cmap=colormaps["inferno"],
        vmin=-RANGE_DB,
        vmax=0.0,
        shading="nearest",
        rasterized=True,
    )
    axes.pcolormesh(
        field.z_mm,
        r_mm,
        np.ma.masked_array(np.ones(metal.shape), ~metal).T,
        cmap=ListedColormap([METAL]),
        shading="nearest",
        rasterized=True,
    )
    _outline(axes, field.z_mm, r_mm, np.ma.masked_array(permittivity, metal))
    axes.set_aspect("equal")
    axes.set_xlabel("z (mm)", fontsize=9)
    axes.set_ylabel("r (mm)", fontsize=9)
    bar = axes.figure.colorbar(picture, ax=axes, fraction=0.05, pad=0.02, shrink=0.9)
    bar.set_label("|E| (dB)", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8.5)
    bar.outline.set_visible(False)  # type: ignore[operator]


def _outline(axes: Axes, z_mm: NDArray[np.float64], r_mm: NDArray[np.float64], permittivity: NDArray) -> None:
    """Draw the dielectric's surface where the permittivity is half-way between air's and its own."""
    peak = float(permittivity.max())
    if peak < 1.0 + LEAST_CONTRAST:
        return
    lines = axes.contour(z_mm, r_mm, permittivity.T, levels=[0.5 * (1.0 + peak)], colors="white", linewidths=1.3)
    lines.set_path_effects([patheffects.withStroke(linewidth=2.6, foreground="black")])


def mirrored(r_mm: NDArray[np.float64], values: NDArray) -> tuple[NDArray[np.float64], NDArray]:
    """Return radii from -r to r and the values there, shape (nz, columns); a column on the axis stays one column."""
    first = 1 if r_mm[0] <= 0.0 else 0
    radii = np.concatenate([-r_mm[first:][::-1], r_mm])
    return radii, np.concatenate([values[:, first:][:, ::-1], values], axis=1)
