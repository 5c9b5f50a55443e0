"""The figure of a sweep: throughput against problem size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from antennaopt.errors import ConfigurationError
from antennaopt.report.canvas import DASHES, FREQUENCY_COLOURS, add_legend, dress, new_figure
from antennaopt.report.figure_file import check_kind, write_figure
from antennaopt.report.labels import kernel_name

MARKERS = ("o", "s", "^", "D")
DRAWN: Mapping[str, Any] = {
    **dict.fromkeys(("stencil", "scheme", "backend", "dtype", "device"), str),
    **dict.fromkeys(("cells", "million_cells_per_s", "spread"), (int, float)),
}
"""What a row must have."""

LABELS = {"tmz": "TM_z", "tez": "TE_z", "bor": "axisymmetric"}


def plot_throughput(path: Path | str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Draw million cells a second against the number of cells, a curve a stencil, scheme, backend and precision.

    Colours tell stencils apart; dashes and markers the curves of one, in the legend too.

    The bars are half of the range of the timings. The same axes as Elsherbeni & Demir, The FDTD Method for
    Electromagnetics, 2nd ed., figure 16.6, logarithmic in size.

    Args:
        path: Target; its ending chooses the format.
        rows: As `bench_sweep` makes them; of several sweeps too.

    Raises:
        ConfigurationError: The ending is not known, or there are no rows.
        StorageError: It cannot be written.
    """
    check_kind(path)
    if not rows:
        raise ConfigurationError("there is nothing to plot: the sweep has no rows")
    figure = new_figure(7.6, 4.6)
    axes = dress(
        figure.subplots(),
        x_label="problem size (cells)",
        y_label="throughput (million cells/s)",
        title=f"Throughput against problem size, {', '.join(sorted({str(row['device']) for row in rows}))}",
    )
    keys = list(dict.fromkeys(_key(row) for row in rows))
    stencils = list(dict.fromkeys(key[0] for key in keys))
    for key in keys:
        curve = sorted((row for row in rows if _key(row) == key), key=lambda row: row["cells"])
        place = [other for other in keys if other[0] == key[0]].index(key)
        axes.errorbar(
            [row["cells"] for row in curve],
            [row["million_cells_per_s"] for row in curve],
            yerr=[row["spread"] * row["million_cells_per_s"] for row in curve],
            color=FREQUENCY_COLOURS[stencils.index(key[0]) % len(FREQUENCY_COLOURS)],
            linestyle=DASHES[place % len(DASHES)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=4.5,
            markerfacecolor=None if place == 0 else "white",
            linewidth=1.5,
            capsize=2.0,
            label=", ".join([LABELS.get(key[0], key[0]), *key[1:]]),
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0.0)
    add_legend(axes)
    return write_figure(path, figure)


def _key(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return (str(row["stencil"]), kernel_name(row), str(row["backend"]), str(row["dtype"]))
