"""The antenna in its own field: |E| and phase in the E plane, with the true outlines of metal and dielectric."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from antennaopt.quantities import gigahertz
from antennaopt.report.canvas import INK, colour_bar, dress, new_figure
from antennaopt.report.exports.field_map import FieldMap
from antennaopt.report.outlines import METAL, bled, draw_outlines, mirrored

RANGE_DB = 40.0
PHASE_RANGE_DB = 70.0
"""Below the reference by more, a field's phase is noise and is not drawn."""

REFERENCE_PERCENTILE = 99.8
"""0 dB is the level that all but this share of the air and dielectric stays below: a few cells at metal edges, where
the field is singular, would dim all the rest."""


def field_map_figure(field: FieldMap) -> Figure:
    """Draw |E| and phase beside each other, or above each other when the antenna is long, in mm with equal scales."""
    depth, width = float(field.z[-1] - field.z[0]), 2.0 * float(field.r[-1])
    slender = width < 0.6 * depth
    each = 8.6 if slender else 4.6
    height = float(np.clip((each - 1.4) * width / max(depth, 1e-9) + 0.9, 2.0, 6.4))
    figure = new_figure(each, 2 * height) if slender else new_figure(2 * each, height)
    panels = figure.subplots(2, 1) if slender else figure.subplots(1, 2)
    draw_magnitude(dress(panels[0]), field)
    draw_phase(dress(panels[1]), field)
    return figure


def draw_magnitude(axes: Axes, field: FieldMap) -> None:
    """Draw |E| in dB in the E plane, z to the right, and the bodies.

    Args:
        axes: Gets a title with the frequency, equal scales in mm, a colour bar.
        field: Map of the half plane r >= 0; its frequency `shown`.
    """
    magnitude, reference = magnitude_of(field)
    with np.errstate(divide="ignore"):
        level = 20 * np.log10(magnitude / reference) if reference > 0 else np.full(magnitude.shape, -np.inf)
    levels = np.clip(bled(level, magnitude == 0), -RANGE_DB, 0.0)
    picture = _picture(axes, field, levels, cmap=colormaps["inferno"], vmin=-RANGE_DB, vmax=0.0)
    axes.set_title(f"|E| at {gigahertz(field.shown_frequency)}, E plane", fontsize=10, color=INK, loc="left")
    colour_bar(axes, picture, f"|E| (dB; 0 dB is {_volts(reference)} for 1 W)", extend="both")


def draw_phase(axes: Axes, field: FieldMap) -> None:
    """Draw the phase of E_x in the E plane, that of the component along the feed's polarisation, and the bodies.

    Args:
        axes: As for `draw_magnitude`.
        field: As for `draw_magnitude`.
    """
    _, reference = magnitude_of(field)
    e_x = field.e[field.shown, 0]
    faint = np.abs(e_x) <= reference * 10 ** (-PHASE_RANGE_DB / 20)
    there = bled(np.where(faint, 0.0, e_x), faint)
    phase = np.ma.masked_array(np.degrees(np.angle(there)), there == 0)
    scale = colormaps["twilight"].with_extremes(bad=METAL)
    picture = _picture(axes, field, phase, cmap=scale, vmin=-180.0, vmax=180.0)
    axes.set_title(f"Phase of E$_x$ at {gigahertz(field.shown_frequency)}, E plane", fontsize=10, color=INK, loc="left")
    bar = colour_bar(axes, picture, "phase (°), exp(+j\u03c9t)")
    bar.set_ticks([-180, -90, 0, 90, 180])


def magnitude_of(field: FieldMap) -> tuple[NDArray[np.float64], float]:
    """Return |E| in the E plane, shape (nz, nr), V/m, and the level that is drawn as 0 dB."""
    e = field.e[field.shown].astype(complex)
    magnitude = np.hypot(np.abs(e[0]), np.abs(e[2]))
    outside = magnitude[~field.metal & np.isfinite(magnitude)]
    return magnitude, float(np.percentile(outside, REFERENCE_PERCENTILE)) if outside.size else 0.0


def _picture(axes: Axes, field: FieldMap, values: NDArray, **style: Any) -> Any:
    """Draw values of the half plane as cells around the nodes, mirrored, and the outlines over them."""
    axes.grid(visible=False)
    x_mm, shown = mirrored(1e3 * field.r, values)
    if isinstance(values, np.ma.MaskedArray):
        shown = np.ma.masked_array(shown, mirrored(field.r, np.ma.getmaskarray(values))[1])
    picture = axes.pcolormesh(1e3 * field.z, x_mm, shown.T, shading="nearest", rasterized=True, **style)
    draw_outlines(axes, field.outlines)
    axes.set_aspect("equal")
    axes.set_xlabel("z (mm)", fontsize=9)
    axes.set_ylabel("x (mm)", fontsize=9)
    return picture


def _volts(level: float) -> str:
    return f"{level / 1e3:.3g} kV/m" if level >= 1e3 else f"{level:.3g} V/m"
