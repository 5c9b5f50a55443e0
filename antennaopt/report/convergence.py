"""Convergence of searches: fitness, shortfalls and genes of a run by generation, and comparisons of runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from antennaopt.quantities import format_level, gigahertz
from antennaopt.report.canvas import (
    BEST,
    DASHES,
    GOAL,
    GREY,
    SECOND,
    add_legend,
    draw_steps,
    dress,
    new_figure,
    run_style,
    write_figure,
)
from antennaopt.report.goals import goal_text
from antennaopt.report.patterns import limit_angles, middle_cut
from antennaopt.report.record import Frame, Row, RunRecord, is_number
from antennaopt.report.summary import gene_title
from antennaopt.store.schema import LEVEL, GeneColumn
from antennaopt.terminal import one_line

LONG_LABEL = 36
"""Goals with longer texts stand one below the other in the legend."""
GENERATION = "generation (0 is the first)"
QUANTILES = {"q10": 0.1, "median": 0.5, "q90": 0.9, "best": 0.0}


def fitness_by_generation(ok: Frame) -> Frame:
    """Return best, median and the 10 % and 90 % quantiles of fitness, and the best so far, by generation."""
    groups = ok.groupby("generation")["fitness"]
    table = pd.DataFrame({name: groups.quantile(share) for name, share in QUANTILES.items()})
    table["best_so_far"] = table["best"].cummin()
    return table


def convergence_figure(record: RunRecord) -> Figure:
    """Draw fitness over the generations: best so far, median, spread, and the first generation's best as a line.

    Of a run on several lattices each level has a panel with a scale of its own.
    """
    if not record.cells:
        figure = new_figure(5.6, 3.4)
        axes = dress(figure.add_subplot(), x_label=GENERATION, y_label="fitness (dB, lower is better)")
        _draw_fitness(axes, record.ok, record.first_best)
        add_legend(axes, columns=2, above=True)
        return figure
    shown = [one for one in range(len(record.cells)) if (record.all_ok[LEVEL] == one).any()]
    figure = new_figure(5.6, 3.6)
    for axes, level in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        dress(
            axes,
            x_label="generation",
            y_label="fitness (dB, lower is better)" if level == shown[0] else "",
            title=f"level {level + 1}: {format_level(record.cells[level], record.stops[level])}".replace(", ", "\n"),
        )
        _draw_fitness(axes, record.all_ok[record.all_ok[LEVEL] == level], None)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8, frameon=False)
    return figure


def _draw_fitness(axes: Axes, ok: Frame, first_best: Row | None) -> None:
    """Draw the fitness of one level's rows; a line at that of the first generation's best, where it is given."""
    table = fitness_by_generation(ok)
    generations = table.index.to_numpy()
    lone = len(generations) == 1
    if lone:
        low, high = table["median"] - table["q10"], table["q90"] - table["median"]
        axes.errorbar(
            generations,
            table["median"],
            yerr=[low, high],
            color=GREY,
            capsize=6,
            lw=1.2,
            fmt="none",
            label="10 to 90 %",
        )
    else:
        axes.fill_between(generations, table["q10"], table["q90"], color=GREY, alpha=0.22, lw=0, label="10 to 90 %")
    axes.plot(
        generations, table["median"], color=SECOND, lw=1.4, ls=DASHES[1], marker="o" if lone else "", label="median"
    )
    draw_steps(axes, generations.tolist(), table["best_so_far"].tolist(), color=BEST, lw=2.0, label="best so far")
    axes.scatter(generations, table["best"], s=9, color=BEST, alpha=0.55, zorder=3)
    if first_best is not None:
        axes.axhline(first_best["fitness"], color=GREY, lw=1.1, ls=DASHES[2], label="best of the first generation")
    top = max(float(table["q90"].max()), float(table["best_so_far"].max()))
    bottom = min(float(table["best_so_far"].min()), 0.0 if table["best_so_far"].min() < 0.35 * top else top)
    margin = 0.05 * max(top - bottom, 1e-3)
    axes.set_ylim(bottom - margin, top + margin)
    _number_generations(axes, generations)


def hypervolume_figure(volumes: Mapping[int, float]) -> Figure:
    """Draw the hypervolume over the generations.

    Args:
        volumes: By generation, at least one.
    """
    generations = sorted(volumes)
    figure = new_figure(5.6, 3.4)
    axes = dress(figure.add_subplot(), x_label="generation (0 is the first)", y_label="hypervolume of the front")
    axes.plot(generations, [volumes[one] for one in generations], color=BEST, lw=2.0, marker="o", ms=3)
    _number_generations(axes, generations)
    axes.set_ylim(bottom=0.0)
    return figure


def shortfall_figure(record: RunRecord) -> Figure | None:
    """Draw by how much the best antenna so far missed each goal, generation by generation; None without goals."""
    holders = record.leaders
    pairs = zip(record.goals, record.folder.columns.shortfall_columns, strict=False)
    goals = [(goal, column) for goal, column in pairs if column in record.frame and goal.aim is None]
    if not goals or not holders:
        return None
    labels = [goal_text(goal) for goal, _ in goals]
    columns = 1 if len(goals) <= 3 or max(map(len, labels)) > LONG_LABEL else 2
    figure = new_figure(5.6, 3.4 + 0.2 * max(math.ceil(len(goals) / columns) - 3, 0))
    axes = dress(figure.add_subplot(), x_label="generation (0 is the first)", y_label="goal missed by (dB)")
    generations = [generation for generation, _ in holders]
    for place, (_, column) in enumerate(goals):
        draw_steps(
            axes,
            generations,
            [row[column] for _, row in holders],
            color=run_style(place).colour,
            ls=run_style(place).dash,
            lw=1.8,
            label=labels[place],
        )
    axes.axhline(0.0, color=GOAL, lw=1.0)
    top = max(0.5, *(1.08 * float(row[column]) for _, row in holders for _, column in goals))
    axes.set_ylim(-0.04 * top, top)
    _number_generations(axes, generations)
    add_legend(axes, columns=columns, above=True)
    return figure


def _number_generations(axes: Axes, generations: Sequence[int], **ticks: int) -> None:
    """Number the generations along x; a lone one stands in the middle."""
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, **ticks))
    if len(generations) == 1:
        axes.set_xlim(generations[0] - 1, generations[0] + 1)


MOST_VECTOR_DOTS = 1500
"""Beyond that the dots are drawn as pixels, so that the report does not grow with the run."""


def gene_figure(record: RunRecord, gene: GeneColumn) -> Figure:
    """Draw one gene against the generation, its bounds as thin lines."""
    ok = record.ok
    figure = new_figure(3.5, 2.2)
    axes = dress(figure.add_subplot(), x_label="generation", title=gene_title(gene))
    bounds = gene_bounds(record.resolved, gene)
    for bound in bounds or ():
        axes.axhline(bound, color=GREY, lw=0.8)
    axes.scatter(
        ok["generation"], ok[gene.column], s=7, color=GREY, alpha=0.45, lw=0, rasterized=len(ok) > MOST_VECTOR_DOTS
    )
    medians = ok.groupby("generation")[gene.column].median()
    holders = record.leaders
    lone = len(holders) == 1
    axes.plot(medians.index, medians, color=SECOND, lw=1.3, ls=DASHES[1], marker="s" if lone else "", ms=5)
    generations = [generation for generation, _ in holders]
    draw_steps(axes, generations, [row[gene.column] for _, row in holders], color=BEST, lw=1.9)
    if bounds:
        margin = 0.05 * (bounds[1] - bounds[0])
        axes.set_ylim(bounds[0] - margin, bounds[1] + margin)
    _number_generations(axes, generations, nbins=6)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
    return figure


def gene_bounds(resolved: Mapping[str, Any], gene: GeneColumn) -> tuple[float, float] | None:
    """Return a gene's range in its column's unit, as `resolved.json` holds it, or None when it has none."""
    entry: Any = resolved.get("antenna") or {}
    for part in gene.name.split("."):
        if isinstance(entry, Mapping):
            entry = entry.get(part)
        elif isinstance(entry, list) and part.isdecimal() and int(part) < len(entry):
            entry = entry[int(part)]
        else:
            return None
    if not isinstance(entry, Mapping):
        return None
    ends = [float(end) for end in (entry.get("min"), entry.get("max")) if is_number(end)]
    if len(ends) < 2:
        ends = [float(end) for end in entry.get("choices") or () if is_number(end)]
    if len(ends) < 2 or min(ends) >= max(ends):
        return None
    return gene.scale * min(ends), gene.scale * max(ends)


LONG_NAME = 60
"""Runs with longer names stand one below the other in the legend."""
LOWEST_DBI = 45.0
"""How far below the highest peak patterns are drawn, dB."""


def compared(record: RunRecord) -> dict[str, Any]:
    """Return the results of a run, JSON-able.

    Returns:
        `run`, `path`, `title`, `algorithm`, `seed`, `backend`, `generations`, `evaluations`, `reused`, `wall_seconds`,
        `stop_reason`; of the best antenna `best`, `best_fitness`, `certificate`, `mesh_checked`, whether that compares
        two meshes, its genes as `values` (SI units in the names) and `metrics`, each a list over `frequencies_hz`, also
        of the `figures` that its objectives ask for; `on_front`, rows of the front of a search for one; and `history`:
        antennas evaluated and best fitness so far, by generation. `reused` counts outcomes that were not solved, by
        origin.
    """
    best, manifest = record.best, record.folder.manifest
    evolution = record.resolved.get("evolution") or {}
    names = [one.key for one in record.folder.columns.merits]
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
        "on_front": None if record.front is None else len(record.front),
        "certificate": _text(best.get("certificate")) if best is not None else None,
        "mesh_checked": best is not None and bool(pd.notna(best.get("mesh_s11"))),
        "values": {} if best is None else {one.column: float(best[one.column]) for one in record.folder.columns.genes},
        "frequencies_hz": list(record.frequencies),
        "metrics": {} if best is None else {name: record.metric(best, name) for name in names},
        "figures": [one.to_dict() for one in record.folder.columns.figures],
        "history": history(record),
    }


def history(record: RunRecord) -> list[tuple[int, float]]:
    """Return antennas evaluated and best fitness so far after each generation that has an `ok` antenna by then."""
    points: list[tuple[int, float]] = []
    ok = record.ok
    solved, best = 0, np.inf
    for _, group in record.frame.groupby("generation", sort=True):
        solved += int((~group["cached"].astype(bool)).sum())
        fitness = ok.loc[ok.index.intersection(group.index), "fitness"]
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
    handles, peaks, first = [], [], 0.0
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
            first = min(first, cut.theta_deg[0])
        handles.append(Line2D([], [], label=one_line(f"run {place + 1}: {record.folder.run_id}, {where}"), **line))
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in planes:
        limit_angles(axes, both=first < 0.0)
        if peaks:
            axes.set_ylim(max(peaks) - LOWEST_DBI, max(peaks) + 2.0)
    place_below: dict[str, Any] = {"loc": "outside lower left", "ncols": columns, "handlelength": 4.0}
    for text in figure.legend(handles=handles, fontsize=8, frameon=False, **place_below).get_texts():
        text.set_parse_math(False)  # a folder's name may hold a dollar sign
    return figure


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and not is_number(value) else None
