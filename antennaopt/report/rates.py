"""Predicted rates of the kernels against measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from antennaopt.errors import ConfigurationError
from antennaopt.report.canvas import FAINT, FREQUENCY_COLOURS, GREY, add_legend, dress, new_figure, render
from antennaopt.report.labels import kernel_name
from antennaopt.store.atomic import storing, write_atomically

_MARKERS = {"one_step": "o", "trapezoidal": "s", "skewed": "^", "wavefront": "D", "resident": "v"}
KINDS = ("png", "svg", "pdf")


def rates_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw each row as a point; on the line prediction and measurement agree, in the band to a factor of 1.5.

    Args:
        rows: With `stencil`, `scheme`, `predicted_cell_steps_per_s`, `cell_steps_per_s`; `choice`, where the plan was
            told something, makes the point hollow.
    """
    figure = new_figure(5.6, 4.6)
    axes = dress(figure.add_subplot(), x_label="predicted (G cell-steps/s)", y_label="measured (G cell-steps/s)")
    stencils = list(dict.fromkeys(row["stencil"] for row in rows))
    colours = dict(zip(stencils, FREQUENCY_COLOURS * len(stencils), strict=False))
    values = [1e-9 * row[name] for row in rows for name in ("predicted_cell_steps_per_s", "cell_steps_per_s")]
    ends = [0.7 * min(values), 1.4 * max(values)]
    axes.fill_between(ends, [2 / 3 * end for end in ends], [1.5 * end for end in ends], color=FAINT, alpha=0.5, lw=0)
    axes.plot(ends, ends, color=GREY, lw=1.0)
    drawn = set()
    for row in rows:
        kind = (row["stencil"], kernel_name(row))
        axes.plot(
            1e-9 * row["predicted_cell_steps_per_s"],
            1e-9 * row["cell_steps_per_s"],
            marker=_MARKERS.get(row["scheme"], "o"),
            color=colours[row["stencil"]],
            markerfacecolor="white" if row.get("choice") else None,
            linestyle="",
            markersize=6,
            label="_" if kind in drawn else " ".join(kind),
        )
        drawn.add(kind)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    add_legend(axes, columns=2, above=True)
    return figure


def draw_rates(rows: Sequence[Mapping[str, Any]], file: str) -> None:
    """Write the figure.

    Args:
        rows: See `rates_figure`.
        file: .png, .svg or .pdf.

    Raises:
        ConfigurationError: There are no rows, or the file is of no such kind.
    """
    kind = Path(file).suffix.lstrip(".").lower()
    if kind not in KINDS:
        raise ConfigurationError(f"--plot {file} is of no kind that can be drawn; use {', '.join(KINDS)}")
    if not rows:
        raise ConfigurationError("there is nothing to draw: no measured row has a prediction; name other files")
    data, path = render(rates_figure(rows), kind), Path(file)
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda out: out.write(data))
