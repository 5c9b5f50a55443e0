"""How each gene moved: every antenna as a dot, the generation's median and the best so far as lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from antennaopt.report.canvas import BEST, DASHES, GREY, SECOND, draw_steps, dress, new_figure
from antennaopt.report.convergence import best_so_far
from antennaopt.report.record import RunRecord, is_number
from antennaopt.report.summary import gene_title
from antennaopt.store import GeneColumn

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
    draw_steps(
        axes,
        generations,
        [row[gene.column] for _, row in holders],
        color=BEST,
        lw=1.9,
    )
    if bounds:
        margin = 0.05 * (bounds[1] - bounds[0])
        axes.set_ylim(bounds[0] - margin, bounds[1] + margin)
    if lone:
        axes.set_xlim(generations[0] - 1, generations[0] + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
    return figure


def gene_bounds(resolved: Mapping[str, Any], gene: GeneColumn) -> tuple[float, float] | None:
    """Return a gene's range in its column's unit, as `resolved.json` holds it, or None when it does not say."""
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
