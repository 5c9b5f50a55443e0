"""The figure of one simulated antenna: its field and phase with true outlines, patterns, S11, figures of merit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps, patheffects
from matplotlib.axes import Axes
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from antennaopt.families.spatial import Board
from antennaopt.figures import LINEAR
from antennaopt.metrics import Place, reported_in
from antennaopt.quantities import gigahertz
from antennaopt.report.boards import draw_section, draw_top
from antennaopt.report.canvas import (
    FAINT,
    GREY,
    INK,
    METAL,
    METAL_EDGE,
    add_legend,
    check_kind,
    chosen_places,
    colour_bar,
    dress,
    frequency_styles,
    new_figure,
    write_figure,
)
from antennaopt.report.field_data import FieldMap, Outlines, sweep_of
from antennaopt.report.patterns import (
    Cuts,
    Reflection,
    boresight,
    draw_limits,
    draw_matching,
    limit_axes,
    middle_cut,
    plane_names,
    polar_names,
)
from antennaopt.report.record import polar_parts
from antennaopt.search.objectives import Objective
from antennaopt.store.files import storing
from antennaopt.terminal import one_line


def plot_simulation(
    path: Path | str,
    outcome: Mapping[str, Any],
    *,
    title: str = "",
    frequency: float | None = None,
    goals: Sequence[Objective] = (),
    polarisation: str = LINEAR,
    board: Board | None = None,
) -> Path:
    """Draw one solved antenna: geometry with |E| and phase, E- and H-plane patterns, S11 against frequency, a table.

    Args:
        path: Target; its ending chooses the format.
        outcome: An `ok` outcome of `evaluate(..., fields=True)`; without `field` its panels hold a note, without
            `sweep` S11 is drawn at the requested frequencies only.
        title: Above the panels.
        frequency: Whose field is drawn, Hz; None for the one nearest the design's.
        goals: Whose limits of the pattern are drawn as lines, and whose figures are in the table.
        polarisation: Of the experiment; of a circular one the patterns are those of both hands.
        board: Of an antenna that is no body of revolution: drawn from above and in section in place of a field.

    Returns:
        The file written.

    Raises:
        ConfigurationError: The ending is not a known format.
        StorageError: It cannot be written.
        ValueError: The outcome has no frequencies: it was not solved.
    """
    path = Path(path)
    check_kind(path, f"plot = {str(path)!r}")
    figure = draw_simulation(
        outcome, title=title, frequency=frequency, goals=goals, polarisation=polarisation, board=board
    )
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    return write_figure(path, figure)


def draw_simulation(
    outcome: Mapping[str, Any],
    *,
    title: str = "",
    frequency: float | None = None,
    goals: Sequence[Objective] = (),
    polarisation: str = LINEAR,
    board: Board | None = None,
) -> Figure:
    """Return the figure that `plot_simulation` writes; arguments and errors are the same."""
    if not outcome.get("frequency_hz"):
        raise ValueError(f"there is nothing to plot: the antenna's status is {outcome.get('status')!r}")
    figure: Any = new_figure(13.2, 9.0)
    figure.get_layout_engine().set(w_pad=0.1)
    if title:
        figure.suptitle(one_line(title), fontsize=13, color=INK, x=0.01, ha="left", parse_math=False)
    parts = figure.subfigures(2, 1, height_ratios=(1.0, 0.8))
    if board is None:
        _draw_fields(parts[0].subplots(1, 2), outcome, frequency)
    else:
        views = parts[0].subplots(1, 2, width_ratios=(1.6, 1.0))
        draw_top(views[0], board)
        draw_section(views[1], board)
    panels = parts[1].subplots(
        1, 3, width_ratios=(1.5, 0.9, 1.2) if any(one.lines for one in goals) else (1.0, 1.0, 1.2)
    )
    _draw_patterns(panels[0], outcome, goals, polarisation)
    dress(panels[1], title="S11")
    draw_matching(panels[1], reflection_of(outcome), label="requested frequencies")
    add_legend(panels[1])
    _draw_table(panels[2], outcome, goals)
    return figure


def reflection_of(outcome: Mapping[str, Any]) -> Reflection:
    """Return an outcome's S11 in dB, requested frequencies ascending, with its sweep."""
    order = np.argsort(outcome["frequency_hz"])
    sweep_hz, sweep_s11 = sweep_of(outcome)
    return Reflection(
        points_hz=[float(outcome["frequency_hz"][place]) for place in order],
        points_db=[float(outcome["s11_db"][place]) for place in order],
        sweep_hz=sweep_hz.tolist(),
        sweep_db=in_decibels(sweep_s11),
    )


def in_decibels(s11: Any) -> list[float]:
    """Return |S11| in dB, floored at -200."""
    return (20.0 * np.log10(np.maximum(np.abs(s11), 1e-10))).tolist()


def cuts_of(outcome: Mapping[str, Any]) -> list[Cuts]:
    """Return an outcome's patterns in order of frequency."""
    planes = [outcome.get(name) for name in ("e_plane", "h_plane")]
    cuts = [
        Cuts(
            frequency_hz=float(hz),
            theta_deg=outcome["theta_deg"],
            e_plane_dbi=outcome["e_plane_dbi"][place],
            h_plane_dbi=outcome["h_plane_dbi"][place],
            **polar_parts(outcome["theta_deg"], *(None if plane is None else plane[place] for plane in planes)),
        )
        for place, hz in enumerate(outcome["frequency_hz"])
    ]
    return sorted(cuts, key=lambda cut: cut.frequency_hz)


def _draw_fields(panels: Sequence[Axes], outcome: Mapping[str, Any], frequency: float | None) -> None:
    if outcome.get("field") is None:
        for axes, text in zip(panels, ("no field was recorded", ""), strict=True):
            axes.set_axis_off()
            axes.text(0.5, 0.5, text, ha="center", va="center", color=GREY, transform=axes.transAxes)
        return
    field = FieldMap.of_outcome(outcome)
    field = field if frequency is None else field.at(frequency)
    draw_magnitude(dress(panels[0]), field)
    draw_phase(dress(panels[1]), field)


def _draw_patterns(axes: Axes, outcome: Mapping[str, Any], goals: Sequence[Objective], polarisation: str) -> None:
    """Draw both planes of up to five frequencies: a colour a frequency, E plane solid, H plane dashed.

    Where a goal limits the co- or cross-polar pattern, or the polarisation is circular, those are drawn too, dotted;
    and the limits of the goals.
    """
    dress(axes, x_label="angle from the axis (°)", y_label="directivity (dBi)", title="Patterns")
    cuts = cuts_of(outcome)
    shown = [cuts[place] for place in chosen_places(len(cuts))]
    wanted = {plane for goal in goals for line in goal.lines for plane in line.planes}
    names, planes = polar_names(polarisation), plane_names(polarisation, cuts[0])
    limited = [part for part in names if (part in wanted or polarisation != LINEAR) and cuts[0].co_dbi]
    handles = []
    for cut, style in zip(shown, frequency_styles(len(shown)), strict=True):
        axes.plot(cut.theta_deg, cut.e_plane_dbi, color=style.colour, lw=1.5)
        axes.plot(cut.theta_deg, cut.h_plane_dbi, color=style.colour, lw=1.3, ls=(0, (4, 2)))
        handles.append(Line2D([], [], color=style.colour, lw=2.0, label=gigahertz(cut.frequency_hz)))
        for part in limited:
            axes.plot(cut.theta_deg, getattr(cut, f"{part}_dbi"), color=style.colour, lw=1.1, ls=POLAR_DASHES[part])
    handles.append(Line2D([], [], color=INK, lw=1.5, label=planes["e"]))
    handles.append(Line2D([], [], color=INK, lw=1.3, ls=(0, (4, 2)), label=planes["h"]))
    handles += [Line2D([], [], color=INK, lw=1.1, ls=POLAR_DASHES[part], label=names[part]) for part in limited]
    limit_axes(axes, [curve for cut in shown for curve in (cut.e_plane_dbi, cut.h_plane_dbi)], cuts[0])
    draw_limits(axes, goals, ("e", "h", *limited), boresight(middle_cut(cuts)))
    axes.legend(handles=handles, loc="upper right", fontsize=8, framealpha=0.85, edgecolor="none")


_UNDEFINED = "–"  # as wide as a column of five can be
POLAR_DASHES = {"co": (0, (1, 1)), "cross": (0, (4, 1, 1, 1))}


def _draw_table(axes: Axes, outcome: Mapping[str, Any], goals: Sequence[Objective]) -> None:
    axes.set_axis_off()
    places = [int(place) for place in np.argsort(outcome["frequency_hz"])]
    places = [places[one] for one in chosen_places(len(places))]
    asked = {one.name: one.about for one in goals if one.figure is not None and one.name in outcome}
    rows = {one.key: one.heading for one in reported_in(Place.FIGURE, outcome)} | {name: name for name in asked}
    metrics = [*reported_in(Place.FIGURE, outcome), *asked.values()]
    values = [[outcome[metric.key][place] for place in places] for metric in metrics]
    written = [
        [_UNDEFINED if one is None and metric.absent_text == "not defined" else metric.bare(one) for one in row]
        for metric, row in zip(metrics, values, strict=True)
    ]
    table = axes.table(
        cellText=[[f"{outcome['frequency_hz'][place] / 1e9:.5g}" for place in places], *written],
        rowLabels=["frequency (GHz)", *(rows[metric.key] for metric in metrics)],
        cellLoc="right",
        rowLoc="left",
        bbox=Bbox.from_bounds(0.34, 0.08, 0.66, 0.86),
        edges="horizontal",
    )
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    for cell in table.get_celld().values():
        cell.set_edgecolor(FAINT)
        cell.get_text().set_color(INK)
    table[0, -1].get_text().set_fontweight("bold")
    axes.text(0.0, 0.0, _account(outcome), fontsize=8.5, color=GREY, transform=axes.transAxes)


def _account(outcome: Mapping[str, Any]) -> str:
    parts: Sequence[tuple[str, str]] = (("cells", "{:,} cells"), ("steps", "{:,} steps"), ("seconds", "{:.1f} s"))
    known = [text.format(outcome[name]) for name, text in parts if outcome.get(name) is not None]
    return ", ".join([str(outcome.get("status", "")), *known]).strip(", ")


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


RANGE_DB = 40.0
PHASE_RANGE_DB = 70.0
"""Below the reference by more, a field's phase is noise and is not drawn."""

REFERENCE_PERCENTILE = 99.8
"""0 dB is the level that all but this share of the air and dielectric stays below: a few cells at metal edges, where
the field is singular, would dim all the rest."""


def field_map_figure(field: FieldMap) -> Figure:
    """Draw |E| and phase side by side, or one above the other when the antenna is long, in mm with equal scales."""
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
