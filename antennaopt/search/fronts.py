"""Fronts: non-dominated sorting, crowding, selection of spread points, and hypervolume. All numbers are minimised.

References:
    Deb, Pratap, Agarwal, Meyarivan, A fast and elitist multiobjective genetic algorithm: NSGA-II, IEEE Trans. Evol.
    Comput. 6 (2002) 182.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def ranks(values: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """Return the number of each point's front, 0 the first, by constrained dominance.

    Args:
        values: Numbers to minimise, (points, objectives).
        penalties: (points,); 0 of a point that meets all constraints. Any other comes after all of these, those with
            the smaller penalty first.

    Returns:
        Whole numbers, (points,).
    """
    from moocore import pareto_rank

    found = np.zeros(len(values), dtype=int)
    free = penalties <= 0.0
    behind = 0
    if free.any():
        found[free] = pareto_rank(np.ascontiguousarray(values[free], dtype=float))
        behind = int(found[free].max()) + 1
    if not free.all():
        found[~free] = behind + np.unique(penalties[~free], return_inverse=True)[1]
    return found


def crowding(values: np.ndarray) -> np.ndarray:
    """Return the crowding distances of the points of one front, infinite at the ends.

    Args:
        values: Numbers to minimise, (points, objectives).

    Returns:
        (points,); sums of the distances between the neighbours in each objective, over its span.
    """
    count, objectives = values.shape
    found = np.zeros(count)
    for place in range(objectives):
        order = np.argsort(values[:, place], kind="stable")
        column = values[order, place]
        span = column[-1] - column[0]
        found[order[[0, -1]]] = np.inf
        if span > 0.0 and count > 2:
            found[order[1:-1]] += (column[2:] - column[:-2]) / (span * objectives)
    return found


def crowded(values: np.ndarray, fronts: np.ndarray) -> np.ndarray:
    """Return the crowding distance of each point within its front, (points,)."""
    found = np.zeros(len(values))
    for front in np.unique(fronts):
        here = fronts == front
        found[here] = crowding(values[here])
    return found


def spread(values: np.ndarray, count: int, given: int = 1) -> list[int]:
    """Choose points of a front that are far from each other: the first one, then each time the most lonely.

    Args:
        values: Numbers to minimise, (points, objectives).
        count: Of points, at most.
        given: How many of the first points are chosen already, at least 1.

    Returns:
        Indices in the order of the choice, none chosen here of a point that is equal to one before. Distances are
        measured with each objective over its span.
    """
    if not len(values):
        return []
    low, span = values.min(axis=0), np.ptp(values, axis=0)
    scaled = (values - low) / np.where(span > 0.0, span, 1.0)
    chosen = list(range(min(given, len(values))))
    distance = np.min([np.linalg.norm(scaled - scaled[place], axis=1) for place in chosen], axis=0)
    while len(chosen) < min(count, len(values)):
        farthest = int(np.argmax(distance))
        if distance[farthest] <= 0.0:
            break
        chosen.append(farthest)
        distance = np.minimum(distance, np.linalg.norm(scaled - scaled[chosen[-1]], axis=1))
    return chosen


def hypervolume(values: np.ndarray, reference: Sequence[float]) -> float:
    """Return the volume that points dominate, up to a reference point that each is no worse than.

    Args:
        values: Numbers to minimise, (points, objectives).
        reference: One number an objective; points beyond it count nothing.
    """
    from moocore import hypervolume as measured

    if not len(values):
        return 0.0
    return float(measured(np.ascontiguousarray(values, dtype=float), ref=list(reference)))


@dataclass(frozen=True, kw_only=True)
class Front:
    """The front that a search ended with.

    Attributes:
        antennas: Rows of the run that are on it.
        hypervolume: Of these rows, up to `reference`; that of the last population is smaller where it has not all.
        values: Numbers that are minimised, a tuple a row that meets all constraints.
        reference: The point that the hypervolume is measured from.
    """

    antennas: int
    hypervolume: float
    values: tuple[tuple[float, ...], ...]
    reference: tuple[float, ...]


def on_one_scale(fronts: Sequence[Front]) -> list[float]:
    """Return the hypervolumes of several searches up to one point, the worst of their references in each objective."""
    reference = np.max([one.reference for one in fronts], axis=0)
    return [hypervolume(np.array(one.values), reference.tolist()) for one in fronts]
