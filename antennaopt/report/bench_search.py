"""The figure of `bench search --problem`: share of targets reached by each algorithm, against evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from antennaopt.errors import ConfigurationError
from antennaopt.report.canvas import add_legend, dress, new_figure, run_style, write_figure

COLUMNS = 3


def plot_suite(path: Path | str, panels: Sequence[Mapping[str, Any]]) -> Path:
    """Draw the ECDFs of running times, a panel a problem.

    Args:
        path: Target; its ending chooses the format.
        panels: Of `antennaopt.bench.running_time.panels`.

    Raises:
        ConfigurationError: The ending is not known, or there are no searches.
        StorageError: It cannot be written.
    """
    if not panels:
        raise ConfigurationError("there is nothing to plot: there are no searches")
    rows = -(-len(panels) // COLUMNS)
    columns = min(len(panels), COLUMNS)
    figure = new_figure(3.4 * columns, 2.7 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    styles = {name: run_style(place) for place, name in enumerate(_names(panels))}
    for place, axes in enumerate(grid.flat):
        if place < len(panels):
            _draw(axes, panels[place], styles)
        else:
            axes.remove()
    add_legend(grid[0, 0])
    return write_figure(path, figure)


def _names(panels: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for one in panels for name in one["curves"]))


def _draw(axes: Axes, panel: Mapping[str, Any], styles: Mapping[str, Any]) -> None:
    dress(axes, x_label=panel["axis"], y_label="share of targets reached", title=panel["title"])
    for name, (times, shares) in panel["curves"].items():
        style = styles[name]
        x, y = [*times, panel["most"]], [*shares, shares[-1] if len(shares) else 0.0]
        axes.step(x, y, where="post", label=name, color=style.colour, linestyle=style.dash, linewidth=1.5)
    axes.set_xscale("log")
    axes.set_xlim(right=panel["most"])
    axes.set_ylim(0.0, 1.0)
