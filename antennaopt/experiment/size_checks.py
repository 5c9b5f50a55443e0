"""Warn about goals for a length or a diameter outside the ranges of a file, from drawings, before solving."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from antennaopt.families import stack
from antennaopt.families.measures import extents_of

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment, Gene
    from antennaopt.search.objectives import Objective

EXTENTS = {"length_mm": 0, "diameter_mm": 1}
"""Metrics that a drawing gives at once, with their places in `extents_of`; volumes take long."""
DRAWN = 32
"""Random corners that are tried before the best design is improved."""
PASSES = 3
_ROUNDING_MM = 1e-6


def size_warning(experiment: Experiment, goal: Objective) -> str:
    """Return what a goal for a length or diameter says that no design tried within the ranges meets; empty elsewhere.

    Corners are tried, and the nearest is improved gene by gene, so that an extent that grows or shrinks with each gene
    is found at its end. Designs that cannot be built do not count.

    Args:
        experiment: With its genes.
        goal: Any of its goals.
    """
    if goal.metric not in EXTENTS or goal.aim is not None or not experiment.genes:
        return ""
    tried, nearest = 0, None
    for value in _extents(experiment, goal):
        tried += 1
        if _miss(goal, value) <= _ROUNDING_MM:
            return ""
        nearest = value if nearest is None or _miss(goal, value) < _miss(goal, nearest) else nearest
    if nearest is None:
        return ""
    small = goal.at_least is not None and nearest < goal.at_least
    bound, level, word = ("at_least", goal.at_least, "more") if small else ("at_most", goal.at_most, "less")
    return (
        f"{goal.name} {bound} = {level:g} mm is hardly met: of {tried} designs within the ranges none has {word} than "
        f"{nearest:.5g} mm{_feed(experiment, goal)}; change it, or widen the ranges"
    )


def _feed(experiment: Experiment, goal: Objective) -> str:
    """Say how long the feed's tube is, which no gene changes."""
    design = experiment.bounds()[0]
    if goal.metric != "length_mm":
        return ""
    tube = design["feed.length"] + design["feed.outer_radius"] - design["feed.inner_radius"]
    return f", of which the feed's tube and back wall are {1e3 * tube:.5g} mm"


def _miss(goal: Objective, value: float) -> float:
    """Return by how much a value misses a goal, mm; 0 where it is met."""
    under = 0.0 if goal.at_least is None else goal.at_least - value
    return max(under, 0.0 if goal.at_most is None else value - goal.at_most, 0.0)


def _extents(experiment: Experiment, goal: Objective) -> Iterator[float]:
    """Yield the extent, mm, of one design after another that can be built, ever nearer to the goal."""
    ends = [_values(gene) for gene in experiment.genes]
    corners = np.random.default_rng(0).random((DRAWN, len(ends)))
    first = [[one[0] for one in ends], [one[len(one) // 2] for one in ends], [one[-1] for one in ends]]
    first += [[one[int(len(one) * x)] for one, x in zip(ends, row, strict=True)] for row in corners]
    best: list[float] = []
    least = np.inf
    for design in first:
        value = _extent(experiment, goal, design)
        if value is not None:
            yield value
            if _miss(goal, value) < least:
                best, least = design, _miss(goal, value)
    for _ in range(PASSES if best else 0):
        before = least
        for place, values in enumerate(ends):
            for one in values:
                design = [*best[:place], one, *best[place + 1 :]]
                value = None if design == best else _extent(experiment, goal, design)
                if value is not None:
                    yield value
                    if _miss(goal, value) < least:
                        best, least = design, _miss(goal, value)
        if least == before:
            return


def _values(gene: Gene) -> tuple[float, ...]:
    """Return the values of a gene that are tried, in order: three, or all choices."""
    if gene.kind == "choice":
        return gene.choices
    middle = (gene.low + gene.high) / 2
    return gene.low, float(round(middle)) if gene.kind == "integer" else middle, gene.high


def _extent(experiment: Experiment, goal: Objective, values: Sequence[float]) -> float | None:
    """Return the extent of gene values that a goal is for, mm; None where the design cannot be built."""
    names = (gene.name for gene in experiment.genes)
    design, family = experiment.design(dict(zip(names, values, strict=True))), experiment.kind
    if family.refusal(stack([design]))[0] is not None:
        return None
    return 1e3 * extents_of(family.outline(design))[EXTENTS[goal.metric]]
