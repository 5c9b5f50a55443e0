"""Figures of `bench farm` and `bench search`: rates of a farm, and waiting times of workers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from antennaopt.errors import ConfigurationError
from antennaopt.report.canvas import (
    DASHES,
    FAINT,
    FREQUENCY_COLOURS,
    GOAL,
    GREY,
    INK,
    add_legend,
    dress,
    new_figure,
    write_figure,
)

Rows = Sequence[Mapping[str, Any]]

DRAWN: Mapping[str, Any] = {"device": str}
"""What a row must have, whether of a combination or of what the farm costs."""

MARKERS = ("o", "s")
FLAT = 0.1
"""By how much a driver's memory may grow."""


def plot_farm(path: Path | str, rows: Rows) -> Path:
    """Draw what `antennaopt bench farm` measured, or with `--null` what the farm costs.

    Args:
        path: Target; its ending chooses the format.
        rows: Of `bench_farm`, `bench_simulated` or `bench_overhead`.

    Raises:
        ConfigurationError: The ending is not known, or there are no rows.
        StorageError: It cannot be written.
    """
    if not rows:
        raise ConfigurationError("there is nothing to plot: the bench has no rows")
    figure = overhead_figure(rows) if "case" in rows[0] else combinations_figure(rows)
    return write_figure(path, figure)


def combinations_figure(rows: Rows) -> Figure:
    """Draw antennas a second of every combination of the last grid, where its time went, and rates over all grids."""
    shapes = list(dict.fromkeys(_shape(row) for row in rows))
    here = [row for row in rows if _shape(row) == shapes[-1]]
    names = list(dict.fromkeys(str(row["combination"]) for row in here))
    panels = 2 + (len(shapes) > 1)
    width = 4.6 + 0.08 * max(max(map(len, names)) - 13, 0)  # longer names leave the legends as much room
    figure = new_figure(width * panels, 1.9 + 0.36 * max(len(names), 4))
    axes = figure.subplots(1, panels)
    _draw_rates(axes[0], here, names)
    _draw_time(axes[1], here, names)
    if len(shapes) > 1:
        _draw_sizes(axes[2], rows)
    simulated = any(row["simulated"] for row in rows)
    what = "simulated speeds: workers slept, nothing was solved" if simulated else _hardware(rows)
    figure.suptitle(f"Workers of one machine ({what})", fontsize=10, color=INK, x=0.01, ha="left")
    return figure


def _hardware(rows: Rows) -> str:
    """What the rows' workers solved with, each named once."""
    return "; ".join(dict.fromkeys(name for row in rows for name in str(row["device"]).split("; ")))


def _draw_rates(axes: Axes, rows: Rows, names: Sequence[str]) -> None:
    shape = _shape(rows[0])
    where = f", {shape[0]} x {shape[1]} cells" if shape else ""
    dress(axes, x_label="antennas/s", title=f"What solves a generation fastest{where}")
    policies = list(dict.fromkeys(str(row["policy"]) for row in rows))
    for place, policy in enumerate(policies):
        mine = [row for row in rows if row["policy"] == policy]
        shift = 0.14 * (place - (len(policies) - 1) / 2)
        axes.errorbar(
            [row["antennas_per_s"] for row in mine],
            [names.index(row["combination"]) + shift for row in mine],
            xerr=[row["spread"] * row["antennas_per_s"] for row in mine],
            linestyle="",
            marker=MARKERS[place % len(MARKERS)],
            markersize=5,
            color=FREQUENCY_COLOURS[place],
            capsize=2.5,
            label=policy,
        )
    best = next((row for row in rows if row["best"]), None)
    if best is not None:
        at = (
            best["antennas_per_s"],
            names.index(best["combination"]) + 0.14 * (policies.index(best["policy"]) - (len(policies) - 1) / 2),
        )
        axes.plot(*at, marker="o", markersize=12, markerfacecolor="none", color=GOAL, linestyle="", label="best")
    _name_rows(axes, names)
    axes.set_xlim(0.0, 1.12 * max(row["antennas_per_s"] * (1.0 + row["spread"]) for row in rows))
    add_legend(axes, columns=3, place="lower left")


def _draw_time(axes: Axes, rows: Rows, names: Sequence[str]) -> None:
    """A bar a combination, of its faster policy, averaged over the workers; of a lone one a bar a worker."""
    dress(axes, x_label="of the workers' time (%)", title="Where their time went")
    bars: dict[str, Sequence[Mapping[str, Any]]] = {}
    for name in names:
        row = max((one for one in rows if one["combination"] == name), key=lambda one: one["antennas_per_s"])
        bars[name] = row["by_worker"]
        if len(names) == 1:
            bars = {f"worker {one['worker']}": [one] for one in row["by_worker"]}
    labels = ("stepping", "rasterise, transform", "waiting")
    for at, workers in enumerate(bars.values()):
        stepping, solving = (
            sum(100.0 * min(one[part], 1.0) for one in workers) / len(workers) for part in ("stepping", "solving")
        )
        parts = (stepping, max(solving - stepping, 0.0), 100.0 - max(solving, stepping))
        begin = 0.0
        for part, colour, label in zip(parts, (*FREQUENCY_COLOURS[:2], FAINT), labels, strict=True):
            axes.barh(at, part, left=begin, height=0.5, color=colour, label=label if at == 0 else None)
            begin += part
    _name_rows(axes, list(bars))
    axes.set_xlim(0.0, 100.0)
    add_legend(axes, columns=3, place="lower left")


def _draw_sizes(axes: Axes, rows: Rows) -> None:
    dress(axes, x_label="problem size (cells)", y_label="million cell-steps/s", title="Against the size of the problem")
    names = list(dict.fromkeys(str(row["combination"]) for row in rows))
    for place, name in enumerate(names):
        best: dict[int, float] = {}
        for row in rows:
            if row["combination"] == name:
                cells = math.prod(row["shape"])
                best[cells] = max(best.get(cells, 0.0), row["million_cell_steps_per_s"])
        axes.plot(
            sorted(best),
            [best[cells] for cells in sorted(best)],
            color=FREQUENCY_COLOURS[place % len(FREQUENCY_COLOURS)],
            linestyle=DASHES[place // len(FREQUENCY_COLOURS) % len(DASHES)],
            marker="o",
            markersize=3.5,
            label=name,
        )
    axes.set_xscale("log")
    axes.tick_params(which="minor", labelsize=8.5)
    axes.set_ylim(bottom=0.0)
    add_legend(axes)


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) + 0.3, -0.6)  # with room for the legend
    axes.grid(visible=False, axis="y")


def overhead_figure(rows: Rows) -> Figure:
    """Draw the driver's memory over a run that solves nothing, with the band in which it counts as flat."""
    rate, beside = (next(row for row in rows if row["case"] == case) for case in ("nothing is stepped", "stepping"))
    done = [pair[0] for pair in rate["memory_mib"]]
    memory = [pair[1] for pair in rate["memory_mib"]]
    warm = next(place for place, count in enumerate(done) if count >= 0.1 * done[-1])
    figure = new_figure(7.0, 3.6)
    axes = dress(
        figure.subplots(),
        x_label="evaluations",
        y_label="driver's memory (MiB)",
        title=f"{rate['evaluations_per_s']:.0f} evaluations/s with nothing to solve; beside stepping "
        f"{beside['seconds_beside']:.2f} s a generation of {beside['population']}",
    )
    axes.fill_between(
        [done[warm], done[-1]], memory[warm], (1 + FLAT) * memory[warm], color=FAINT, lw=0, label="up to 10 % more"
    )
    axes.axhline(memory[warm], color=GREY, linewidth=0.8)
    axes.plot(done, memory, color=FREQUENCY_COLOURS[0], linewidth=1.5, label="resident")
    axes.set_ylim(0.0, 1.25 * max(memory))
    axes.set_xlim(0.0, done[-1])
    add_legend(axes, place="lower left")
    return figure


def _shape(row: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(row.get("shape", ()))


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
