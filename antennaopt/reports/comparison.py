"""Runs side by side: how each came to its best, and what that radiates. From their files alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from antennaopt.reports.canvas import DASHES, FREQUENCY_COLOURS, GREY, add_legend, dress, gigahertz, new_figure
from antennaopt.reports.figure_file import check_kind, write_figure
from antennaopt.reports.labels import label_of
from antennaopt.reports.record import RunRecord, is_number
from antennaopt.results.schema import FREQUENCY_METRICS

LOWEST_DBI = 45.0
"""How far below the highest peak patterns are drawn, dB."""


def compared(record: RunRecord) -> dict[str, Any]:
    """Return what a run came to, JSON-able.

    Returns:
        `run`, `path`, `title`, `algorithm`, `seed`, `backend`, `generations`, `evaluations`, `wall_seconds`,
        `stop_reason`; of the best antenna `best`, `best_fitness`, `certificate`, its genes as `values` (SI units in
        the names) and `metrics`, each a list over `frequencies_hz`; and `history`: antennas solved and best fitness so
        far, by generation.
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
        "evaluations": record.solved,
        "wall_seconds": record.wall_seconds,
        "stop_reason": record.stop_reason,
        "best": None if best is None else best["individual"],
        "best_fitness": None if best is None else float(best["fitness"]),
        "certificate": _text(best.get("certificate")) if best is not None else None,
        "values": {} if best is None else {one.column: float(best[one.column]) for one in record.folder.columns.genes},
        "frequencies_hz": list(record.frequencies),
        "metrics": {}
        if best is None
        else {name: record.metric(best, name) for name in FREQUENCY_METRICS if name not in ("s11_re", "s11_im")},
        "history": history(record),
    }


def history(record: RunRecord) -> list[tuple[int, float]]:
    """Return antennas solved and best fitness so far after each generation that has an `ok` antenna by then."""
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
    """Say whether two runs came to the same individuals with the same fitness, to the bit."""
    columns = ["individual", "status", "fitness"]
    if len(one.frame) != len(other.frame):
        return False
    first, second = (record.frame.sort_values(["generation", "slot"]).reset_index(drop=True) for record in (one, other))
    genomes = (frame["genome"].map(tuple) for frame in (first, second))
    return bool(first[columns].equals(second[columns]) and next(genomes).equals(next(genomes)))


def worst_text(metric: str, values: Sequence[float | None]) -> str:
    """Write a metric's worst value over the frequencies, without its unit."""
    label = label_of(metric)
    value = label.worst(values)
    return label.absent if value is None else f"{value:.{label.decimals}f}"


def plot_comparison(path: Path | str, records: Sequence[RunRecord]) -> Path:
    """Draw best fitness so far against antennas solved, and both cuts of the best antennas at their middle frequency.

    Args:
        path: Target; its ending chooses the format.
        records: Of the runs, in order.

    Raises:
        ConfigurationError: The ending is not known.
        StorageError: It cannot be written.
    """
    check_kind(path)
    figure = new_figure(10.4, 4.6)
    left, right = figure.subplots(1, 2)
    dress(left, x_label="antennas solved", y_label="best fitness so far (dB, lower is better)")
    dress(right, x_label="theta (deg)", y_label="directivity (dBi)")
    peaks = []
    for place, record in enumerate(records):
        colour = FREQUENCY_COLOURS[place % len(FREQUENCY_COLOURS)]
        dash = DASHES[place // len(FREQUENCY_COLOURS) % len(DASHES)]
        points = history(record)
        if points:
            solved, best = zip(*points, strict=True)
            left.step(solved, best, where="post", color=colour, linestyle=dash, lw=1.8, label=record.folder.run_id)
            left.plot(solved[-1], best[-1], "o", color=colour, markersize=4)
        peaks += _draw_cuts(right, record, colour)
    if peaks:
        right.set_ylim(max(peaks) - LOWEST_DBI, max(peaks) + 2.0)
        right.set_xlim(0.0, 180.0)
        right.set_xticks(range(0, 181, 30))
    right.plot([], [], color=GREY, ls=DASHES[0], label="E plane")
    right.plot([], [], color=GREY, ls=DASHES[1], label="H plane")
    add_legend(right)
    add_legend(left, above=True)
    return write_figure(path, figure)


def _draw_cuts(axes: Axes, record: RunRecord, colour: str) -> list[float]:
    """Draw the best antenna's cuts, where there are any; return their peaks."""
    cuts = record.cuts(record.best) if record.best is not None else []
    if not cuts:
        return []
    cut = cuts[len(cuts) // 2]
    axes.plot(cut.theta_deg, cut.e_plane_dbi, color=colour, ls=DASHES[0], lw=1.5)
    axes.plot(cut.theta_deg, cut.h_plane_dbi, color=colour, ls=DASHES[1], lw=1.2)
    axes.set_title(f"best antennas at {gigahertz(cut.frequency_hz)}", fontsize=10, loc="left")
    return [max(*cut.e_plane_dbi, *cut.h_plane_dbi)]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and not is_number(value) else None
