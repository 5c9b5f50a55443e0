"""How a search went: fitness, shortfalls and genes against the generation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

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
)
from antennaopt.report.goals import goal_text
from antennaopt.report.record import Frame, RunRecord, is_number
from antennaopt.report.summary import gene_title
from antennaopt.store import GeneColumn

QUANTILES = {"q10": 0.1, "median": 0.5, "q90": 0.9, "best": 0.0}


def fitness_by_generation(ok: Frame) -> Frame:
    """Return best, median and the 10 % and 90 % quantiles of fitness, and the best so far, by generation."""
    groups = ok.groupby("generation")["fitness"]
    table = pd.DataFrame({name: groups.quantile(share) for name, share in QUANTILES.items()})
    table["best_so_far"] = table["best"].cummin()
    return table


def convergence_figure(record: RunRecord) -> Figure:
    """Draw fitness over the generations: best so far, median, spread, and the first generation's best as a line."""
    table = fitness_by_generation(record.ok)
    generations = table.index.to_numpy()
    figure = new_figure(5.6, 3.4)
    axes = dress(figure.add_subplot(), x_label="generation (0 is the first)", y_label="fitness (dB, lower is better)")
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
    if record.first_best is not None:
        axes.axhline(
            record.first_best["fitness"], color=GREY, lw=1.1, ls=DASHES[2], label="best of the first generation"
        )
    top = max(float(table["q90"].max()), float(table["best_so_far"].max()))
    bottom = min(float(table["best_so_far"].min()), 0.0 if table["best_so_far"].min() < 0.35 * top else top)
    margin = 0.05 * max(top - bottom, 1e-3)
    axes.set_ylim(bottom - margin, top + margin)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if lone:
        axes.set_xlim(generations[0] - 1, generations[0] + 1)
    add_legend(axes, columns=2, above=True)
    return figure


def shortfall_figure(record: RunRecord) -> Figure | None:
    """Draw by how much the best antenna so far missed each goal, generation by generation; None without goals."""
    holders = best_so_far(record)
    pairs = zip(record.goals, record.folder.columns.shortfall_columns, strict=False)
    goals = [(goal, column) for goal, column in pairs if column in record.frame]
    if not goals or not holders:
        return None
    figure = new_figure(5.6, 3.4)
    axes = dress(figure.add_subplot(), x_label="generation (0 is the first)", y_label="goal missed by (dB)")
    generations = [generation for generation, _ in holders]
    lone = len(holders) == 1
    for place, (goal, column) in enumerate(goals):
        draw_steps(
            axes,
            generations,
            [row[column] for _, row in holders],
            color=run_style(place).colour,
            ls=run_style(place).dash,
            lw=1.8,
            label=goal_text(goal),
        )
    axes.axhline(0.0, color=GOAL, lw=1.0)
    top = max(0.5, *(1.08 * float(row[column]) for _, row in holders for _, column in goals))
    axes.set_ylim(-0.04 * top, top)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if lone:
        axes.set_xlim(generations[0] - 1, generations[0] + 1)
    add_legend(axes, columns=1 if len(goals) <= 3 else 2, above=True)
    return figure


def best_so_far(record: RunRecord) -> list[tuple[int, Any]]:
    """Return (generation, row) of the best antenna up to each generation that has an `ok` one."""
    rows = record.ok.sort_values(["generation", "slot"], kind="stable")
    leader: Any = None
    holders = []
    for generation, group in rows.groupby("generation", sort=True):
        candidate = group.loc[group["fitness"].idxmin()]
        if leader is None or candidate["fitness"] < leader["fitness"]:
            leader = candidate
        holders.append((int(generation), leader))  # type: ignore[arg-type]
    return holders


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
    holders = best_so_far(record)
    lone = len(holders) == 1
    axes.plot(medians.index, medians, color=SECOND, lw=1.3, ls=DASHES[1], marker="s" if lone else "", ms=5)
    generations = [generation for generation, _ in holders]
    draw_steps(axes, generations, [row[gene.column] for _, row in holders], color=BEST, lw=1.9)
    if bounds:
        margin = 0.05 * (bounds[1] - bounds[0])
        axes.set_ylim(bounds[0] - margin, bounds[1] + margin)
    if lone:
        axes.set_xlim(generations[0] - 1, generations[0] + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
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
