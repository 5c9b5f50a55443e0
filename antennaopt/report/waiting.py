"""The figure of searches with and without generations: what they find, and how long their workers wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from antennaopt.errors import ConfigurationError
from antennaopt.report.canvas import DASHES, FREQUENCY_COLOURS, add_legend, dress, new_figure
from antennaopt.report.figure_file import check_kind, write_figure

LABELS = {"ga": "with generations", "steady_state": "without generations", "random": "random search"}


def plot_waiting(path: Path | str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Draw utilisation and final fitness against the number of workers, a curve an algorithm.

    Lines are medians over the seeds, bands or bars the quartiles.

    Args:
        path: Target; its ending chooses the format.
        rows: As `bench_waiting` makes them.

    Raises:
        ConfigurationError: The ending is not known, or there are no rows.
        StorageError: It cannot be written.
    """
    check_kind(path)
    if not rows:
        raise ConfigurationError("there is nothing to plot: there are no searches")
    figure = new_figure(9.6, 3.9)
    left, right = figure.subplots(1, 2)
    dress(left, x_label="workers", y_label="share of the workers' time that they solve (%)")
    dress(right, x_label="workers", y_label="best fitness (dB, lower is better)")
    for place, algorithm in enumerate(dict.fromkeys(row["algorithm"] for row in rows)):
        mine = [row for row in rows if row["algorithm"] == algorithm]
        style = {"color": FREQUENCY_COLOURS[place % 4], "linestyle": DASHES[place % len(DASHES)]}
        _draw(left, mine, "utilisation", 100.0, style, LABELS.get(str(algorithm), str(algorithm)))
        _draw(right, mine, "best_fitness", 1.0, style, LABELS.get(str(algorithm), str(algorithm)))
    for axes in (left, right):
        counts = sorted({row["workers"] for row in rows})
        axes.set_xscale("log")
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.minorticks_off()
    left.set_ylim(top=100.5)
    right.set_ylim(bottom=0.0)
    names = ", ".join(dict.fromkeys(str(row["experiment"]) for row in rows))
    evaluations = max(row["evaluations"] for row in rows)
    left.set_title(f"{names}: {evaluations} antennas a search", fontsize=10, loc="left")
    right.set_title(f"{len({row['seed'] for row in rows})} seeds, median and quartiles", fontsize=10, loc="left")
    add_legend(left)
    return write_figure(path, figure)


def _draw(
    axes: Axes, rows: Sequence[Mapping[str, Any]], name: str, scale: float, style: Mapping[str, Any], label: str
) -> None:
    counts = sorted({row["workers"] for row in rows})
    quartiles = [
        np.quantile([scale * row[name] for row in rows if row["workers"] == count], (0.25, 0.5, 0.75))
        for count in counts
    ]
    low, middle, high = np.transpose(quartiles)
    axes.errorbar(
        counts, middle, yerr=[middle - low, high - middle], marker="o", markersize=4, capsize=3, lw=1.6, label=label,
        **style,
    )  # fmt: skip
