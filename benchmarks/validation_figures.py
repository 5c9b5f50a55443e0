"""Pictures of docs/validation.md: error against resolution, with the fitted lines."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import NullFormatter
from orders import EXTRAPOLATED, family_errors, line_of, mesh_mm
from reference_antennas import SETS
from validation_tables import RESOLUTIONS, curves, is_sweep, order_of

from antennaopt.report.canvas import DASHES, FREQUENCY_COLOURS, GREY, add_legend, dress, new_figure

PANELS = (("directivity", "directivity (dB)"), ("s11", "complex S11"), ("pattern", "pattern (amplitude)"))
MOST_CURVES = 8
MARKERS = ("o", "s")


def family_figure(rows, family):
    """Root mean square errors over the cell: an antenna a thin line, the family with its fitted order.

    The set on other feeds is drawn over the cell that is the same part of a wavelength on the reference antennas.
    """
    ours = [row for row in rows if row["family"] == family and row["mesh"] != EXTRAPOLATED]
    figure = new_figure(9.0, 3.1)
    for axes, (key, label) in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
        dress(axes, x_label="cell (mm)", y_label=f"error of {label}")
        for case in dict.fromkeys(row["case"] for row in ours):
            points = sorted((mesh_mm(row), row["rms"][key], row["set"]) for row in ours if row["case"] == case)
            dash = dict(zip(SETS, DASHES, strict=False))[points[0][2]]
            axes.loglog(*np.array([point[:2] for point in points]).T, color=GREY, linestyle=dash, linewidth=0.8)
        for group, colour in zip(SETS, FREQUENCY_COLOURS, strict=False):
            chosen = [row for row in ours if row["set"] == group]
            if not chosen:
                continue
            meshes, errors = family_errors(chosen, family, key)
            line = line_of(meshes, errors)
            text = f"{group}, order {line[0]:.2f}" if line else group
            axes.loglog(meshes, errors, "o", color=colour, markersize=4.5, label=text)
            if line:
                ends = np.array([min(meshes), max(meshes)])
                axes.loglog(ends, line[1] * ends ** line[0], color=colour, linewidth=1.6)
        plain_ticks(axes, sorted({mesh_mm(row) for row in ours}))
        add_legend(axes, above=True)
    return figure


def curve_panels(figures):
    """Sweeps over a resolution, those that share resolution and unit in one panel of at most `MOST_CURVES`.

    Of more than twice as many, only that with the largest error of each name.

    Returns:
        Key, unit, and curves: label, whether the errors fall on a line, points.
    """
    found = {}
    for (name, unit), group in curves(figures).items():
        for place, key, points in group:
            if is_sweep(key, points):
                order = order_of(key, points)
                parts = (name, place.partition("backend = ")[0].strip(", "), f"order {order:.2f}" if order else "")
                label = ", ".join(part for part in parts if part)
                found.setdefault((key, unit), []).append((name, (label, order is not None, points)))
    panels = []
    for (key, unit), named in found.items():
        if len(named) > 2 * MOST_CURVES:
            named.sort(key=lambda item: max(point["value"] for point in item[1][2]))
            named = list(dict(named).items())
        lines = sorted((line for _, line in named), key=lambda line: line[0])
        panels += [(key, unit, lines[first : first + MOST_CURVES]) for first in range(0, len(lines), MOST_CURVES)]
    return panels


def curve_figure(figures):
    """Errors of one test file over resolution, with the fitted lines; None where it has no curves."""
    panels = curve_panels(figures)
    if not panels:
        return None
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    height = 2.6 + 0.16 * max(len(lines) for _, _, lines in panels)
    figure = new_figure(4.6 * columns, height * rows)
    places = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (key, unit, lines) in zip(places, panels, strict=False):
        common = shared_parts([label for label, *_ in lines])
        dress(axes, x_label=RESOLUTIONS[key][0], y_label=(common or "error") + (f" ({unit})" if unit else ""))
        for at, (label, straight, points) in enumerate(lines):
            colour, dash = FREQUENCY_COLOURS[at % 4], DASHES[at // 4]
            x, y = np.array([point["at"] for point in points]), np.array([point["value"] for point in points])
            axes.loglog(x, y, MARKERS[at // 4], color=colour, markersize=4)
            if straight:
                slope, height_at_one = np.polyfit(np.log(x), np.log(y), 1)
                y = np.exp(height_at_one) * x**slope
            width = 1.1 if straight else 0.6
            axes.loglog(x, y, color=colour, linestyle=dash, linewidth=width, label=label[len(common) :].strip(", "))
        plain_ticks(axes, sorted({point["at"] for *_, points in lines for point in points}))
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=7, frameon=False)
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    return figure


def shared_parts(labels):
    """Parts between commas that all labels begin with; none for a single one."""
    if len(labels) < 2:
        return ""
    parts = [label.split(", ") for label in labels]
    count = next((at for at, column in enumerate(zip(*parts, strict=False)) if len(set(column)) > 1), 0)
    return ", ".join(parts[0][:count])


def plain_ticks(axes, places):
    """Ticks at the meshes that were solved, written as numbers, as many as there is room for."""
    room = np.log(places[-1] / places[0]) / 7
    shown = places[:1]
    for place in places[1:]:
        if np.log(place / shown[-1]) >= room:
            shown.append(place)
    axes.set_xticks(shown, [f"{place:.3g}" for place in shown])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="y", which="both", labelsize=8)
