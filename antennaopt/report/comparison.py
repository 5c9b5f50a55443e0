"""Runs side by side: how each found its best antenna, and what that radiates. From their files alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from antennaopt.quantities import gigahertz
from antennaopt.report.canvas import dress, new_figure, run_style, write_figure
from antennaopt.report.patterns import middle_cut
from antennaopt.report.record import RunRecord, is_number
from antennaopt.terminal import one_line

LONG_NAME = 60
"""Runs with longer names stand one below the other in the legend."""
LOWEST_DBI = 45.0
"""How far below the highest peak patterns are drawn, dB."""


def compared(record: RunRecord) -> dict[str, Any]:
    """Return the results of a run, JSON-able.

    Returns:
        `run`, `path`, `title`, `algorithm`, `seed`, `backend`, `generations`, `evaluations`, `reused`, `wall_seconds`,
        `stop_reason`; of the best antenna `best`, `best_fitness`, `certificate`, its genes as `values` (SI units in
        the names) and `metrics`, each a list over `frequencies_hz`; and `history`: antennas evaluated and best fitness
        so far, by generation. `reused` counts outcomes that were not solved, by origin.
    """
    best, manifest = record.best, record.folder.manifest
    evolution = record.resolved.get("evolution") or {}
    return {
        "run": record.folder.run_id,
        "path": str(record.folder.path),
        "title": manifest.get("title") or manifest.get("name"),
        "algorithm": evolution.get("algorithm"),
        "seed": manifest.get("seed"),
        "backend": manifest.get("backend"),
        "generations": record.generations,
        "generations_planned": record.generations_planned,
        "evaluations": record.evaluated,
        "reused": record.reused,
        "wall_seconds": record.wall_seconds,
        "stop_reason": record.stop_reason,
        "best": None if best is None else best["individual"],
        "best_fitness": None if best is None else float(best["fitness"]),
        "certificate": _text(best.get("certificate")) if best is not None else None,
        "values": {} if best is None else {one.column: float(best[one.column]) for one in record.folder.columns.genes},
        "frequencies_hz": list(record.frequencies),
        "metrics": {} if best is None else {name: record.metric(best, name) for name in record.folder.columns.metrics},
        "history": history(record),
    }


def history(record: RunRecord) -> list[tuple[int, float]]:
    """Return antennas evaluated and best fitness so far after each generation that has an `ok` antenna by then."""
    points: list[tuple[int, float]] = []
    solved, best = 0, np.inf
    for _, group in record.frame.groupby("generation", sort=True):
        solved += int((~group["cached"].astype(bool)).sum())
        fitness = group.loc[group["status"] == "ok", "fitness"]
        best = min(best, float(fitness.min()) if len(fitness) else np.inf)
        if np.isfinite(best):
            points.append((solved, best))
    return points


def same_rows(one: RunRecord, other: RunRecord) -> bool:
    """Return whether two runs have the same individuals with the same fitness, to the bit."""
    columns = ["individual", "status", "fitness"]
    if len(one.frame) != len(other.frame):
        return False
    first, second = (record.frame.sort_values(["generation", "slot"]).reset_index(drop=True) for record in (one, other))
    genomes = (frame["genome"].map(tuple) for frame in (first, second))
    return bool(first[columns].equals(second[columns]) and next(genomes).equals(next(genomes)))


def plot_comparison(path: Path | str, records: Sequence[RunRecord]) -> Path:
    """Draw the best fitness so far, and both cuts of each best antenna at the middle frequency of its own run.

    Args:
        path: Target; its ending chooses the format.
        records: Of the runs, in order.

    Raises:
        ConfigurationError: The ending is not known.
        StorageError: It cannot be written.
    """
    return write_figure(path, comparison_figure(records))


def comparison_figure(records: Sequence[RunRecord]) -> Figure:
    """Return the figure: a style a run, the same in every panel, named below with the frequency of its patterns."""
    columns = 2 if all(len(record.folder.run_id) <= LONG_NAME for record in records) else 1
    figure = new_figure(12.6, 4.4 + 0.2 * math.ceil(len(records) / columns))
    left, *planes = figure.subplots(1, 3)
    dress(left, x_label="antennas evaluated", y_label="best fitness so far (dB, lower is better)")
    for axes, title in zip(planes, ("best antennas, E plane", "best antennas, H plane"), strict=True):
        dress(axes, x_label="angle from the axis (°)", y_label="directivity (dBi)", title=title)
    handles, peaks = [], []
    for place, record in enumerate(records):
        style = run_style(place)
        line: dict[str, Any] = {"color": style.colour, "ls": style.dash, "lw": 1.6}
        points = history(record)
        if points:
            solved, best = zip(*points, strict=True)
            left.step(solved, best, where="post", **line)
            left.plot(solved[-1], best[-1], "o", color=style.colour, markersize=4)
        cuts = record.cuts(record.best) if record.best is not None else []
        where = "no patterns on disk"
        if cuts:
            cut = middle_cut(cuts)
            where = f"patterns at {gigahertz(cut.frequency_hz)}"
            for axes, levels in zip(planes, (cut.e_plane_dbi, cut.h_plane_dbi), strict=True):
                axes.plot(cut.theta_deg, levels, **line)
                peaks.append(max(levels))
        handles.append(Line2D([], [], label=one_line(f"run {place + 1}: {record.folder.run_id}, {where}"), **line))
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in planes:
        axes.set_xlim(0.0, 180.0)
        axes.set_xticks(range(0, 181, 30))
        if peaks:
            axes.set_ylim(max(peaks) - LOWEST_DBI, max(peaks) + 2.0)
    place_below: dict[str, Any] = {"loc": "outside lower left", "ncols": columns, "handlelength": 4.0}
    for text in figure.legend(handles=handles, fontsize=8, frameon=False, **place_below).get_texts():
        text.set_parse_math(False)  # a folder's name may hold a dollar sign
    return figure


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and not is_number(value) else None
