"""The figure of one simulated antenna: geometry with its field and phase, patterns, S11 and the figures of merit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from antennaopt.metrics import Place, reported_in
from antennaopt.quantities import gigahertz
from antennaopt.report.canvas import (
    FAINT,
    GREY,
    INK,
    add_legend,
    check_kind,
    chosen_places,
    dress,
    frequency_styles,
    new_figure,
    write_figure,
)
from antennaopt.report.field_data import FieldMap, sweep_of
from antennaopt.report.field_maps import draw_magnitude, draw_phase
from antennaopt.report.patterns import Reflection, draw_matching, limit_axes
from antennaopt.report.record import Cuts
from antennaopt.store.files import storing
from antennaopt.terminal import one_line


def plot_simulation(
    path: Path | str, outcome: Mapping[str, Any], *, title: str = "", frequency: float | None = None
) -> Path:
    """Draw one solved antenna: geometry with |E| and phase, E- and H-plane patterns, S11 against frequency, a table.

    Args:
        path: Target; its ending chooses the format.
        outcome: An `ok` outcome of `evaluate(..., fields=True)`; without `field` its panels hold a note, without
            `sweep` S11 is drawn at the requested frequencies only.
        title: Above the panels.
        frequency: Whose field is drawn, Hz; None for the one nearest the design's.

    Returns:
        The file written.

    Raises:
        ConfigurationError: The ending is not a known format.
        StorageError: It cannot be written.
        ValueError: The outcome has no frequencies: it was not solved.
    """
    path = Path(path)
    check_kind(path, f"plot = {str(path)!r}")
    figure = draw_simulation(outcome, title=title, frequency=frequency)
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    return write_figure(path, figure)


def draw_simulation(outcome: Mapping[str, Any], *, title: str = "", frequency: float | None = None) -> Figure:
    """Return the figure that `plot_simulation` writes; arguments and errors are the same."""
    if not outcome.get("frequency_hz"):
        raise ValueError(f"there is nothing to plot: the antenna's status is {outcome.get('status')!r}")
    figure: Any = new_figure(13.2, 9.0)
    figure.get_layout_engine().set(w_pad=0.1)
    if title:
        figure.suptitle(one_line(title), fontsize=13, color=INK, x=0.01, ha="left", parse_math=False)
    parts = figure.subfigures(2, 1, height_ratios=(1.0, 0.8))
    _draw_fields(parts[0].subplots(1, 2), outcome, frequency)
    panels = parts[1].subplots(1, 3, width_ratios=(1.0, 1.0, 1.2))
    _draw_patterns(panels[0], outcome)
    dress(panels[1], title="S11")
    draw_matching(panels[1], reflection_of(outcome), label="requested frequencies")
    add_legend(panels[1])
    _draw_table(panels[2], outcome)
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
    cuts = [
        Cuts(frequency_hz=float(hz), theta_deg=outcome["theta_deg"], e_plane_dbi=e_plane, h_plane_dbi=h_plane)
        for hz, e_plane, h_plane in zip(
            outcome["frequency_hz"], outcome["e_plane_dbi"], outcome["h_plane_dbi"], strict=True
        )
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


def _draw_patterns(axes: Axes, outcome: Mapping[str, Any]) -> None:
    """Draw both planes of up to five frequencies: a colour a frequency, E plane solid, H plane dashed."""
    dress(axes, x_label="angle from the axis (°)", y_label="directivity (dBi)", title="Patterns")
    cuts = cuts_of(outcome)
    shown = [cuts[place] for place in chosen_places(len(cuts))]
    handles = []
    for cut, style in zip(shown, frequency_styles(len(shown)), strict=True):
        axes.plot(cut.theta_deg, cut.e_plane_dbi, color=style.colour, lw=1.5)
        axes.plot(cut.theta_deg, cut.h_plane_dbi, color=style.colour, lw=1.3, ls=(0, (4, 2)))
        handles.append(Line2D([], [], color=style.colour, lw=2.0, label=gigahertz(cut.frequency_hz)))
    handles.append(Line2D([], [], color=INK, lw=1.5, label="E plane"))
    handles.append(Line2D([], [], color=INK, lw=1.3, ls=(0, (4, 2)), label="H plane"))
    limit_axes(axes, [curve for cut in shown for curve in (cut.e_plane_dbi, cut.h_plane_dbi)])
    axes.legend(handles=handles, loc="upper right", fontsize=8, framealpha=0.85, edgecolor="none")


def _draw_table(axes: Axes, outcome: Mapping[str, Any]) -> None:
    axes.set_axis_off()
    places = [int(place) for place in np.argsort(outcome["frequency_hz"])]
    places = [places[one] for one in chosen_places(len(places))]
    metrics = reported_in(Place.FIGURE, outcome)
    table = axes.table(
        cellText=[[metric.bare(outcome[metric.key][place]) for place in places] for metric in metrics],
        rowLabels=[metric.heading for metric in metrics],
        colLabels=[gigahertz(outcome["frequency_hz"][place]) for place in places],
        cellLoc="right",
        rowLoc="left",
        colLoc="right",
        bbox=Bbox.from_bounds(0.34, 0.08, 0.66, 0.86),
        edges="horizontal",
    )
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    for (row, _), cell in table.get_celld().items():
        cell.set_edgecolor(FAINT)
        cell.get_text().set_color(INK)
        if row == 0:
            cell.get_text().set_fontweight("bold")
    axes.text(0.0, 0.0, _account(outcome), fontsize=8.5, color=GREY, transform=axes.transAxes)


def _account(outcome: Mapping[str, Any]) -> str:
    parts: Sequence[tuple[str, str]] = (("cells", "{:,} cells"), ("steps", "{:,} steps"), ("seconds", "{:.1f} s"))
    known = [text.format(outcome[name]) for name, text in parts if outcome.get(name) is not None]
    return ", ".join([str(outcome.get("status", "")), *known]).strip(", ")
