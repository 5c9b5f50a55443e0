"""Planes along one axis: through given positions, with the requested spacing there, growing slowly in between."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fdtd.errors import ConfigError

_ROUNDS = 60
_ROUGHEST = 2.5  # ratio of neighbours that is taken where none keeps to the growth, as next to pairs that stay whole
_ROUNDING = 1e-9  # of a gap; cells are differences of places, with errors of 1e-13 of a cell
_SAMPLES = 200  # of the wanted cell between two anchors, at least
_MOST_SAMPLES = 20_000
_MOST_CELLS = 1_000_000  # between two anchors: no lattice in space with as many along one axis can be solved


@dataclass(frozen=True, kw_only=True)
class Span:
    """Cells between two places are at most this large, all in m."""

    low: float
    high: float
    cell: float


def largest_at(spans: list[Span], place: float) -> float:
    """Return the largest cell that spans around a place allow, m."""
    return min((one.cell for one in spans if one.low <= place <= one.high), default=math.inf)


def graded(
    anchors: list[float], spans: list[Span], growth: float, whole: tuple[tuple[float, float], ...] = ()
) -> np.ndarray:
    """Return planes from the first anchor to the last.

    The wanted cell at a place is the least over the spans of `cell` plus (growth - 1) times the distance to the span.
    Between two anchors the planes share its inverse's integral equally. Where neighbours still differ by more than
    `growth`, the smaller one becomes a span of its own, and all is done again. A gap of one and a half cells next to a
    pair that stays whole can never keep to it: the smoothest planes of all rounds are returned then. Rounds end where
    no later one can be smoother (`_rougher`).

    Args:
        anchors: Places of planes, m, at least two, distinct.
        spans: Largest cells; they need not touch.
        growth: Largest ratio of neighbouring cells.
        whole: Pairs of neighbouring anchors that stay one cell.

    Raises:
        ConfigError: Neighbours of all planes differ by more than a factor of 2.5, or there are more than a million
            cells between two anchors.
    """
    ends = sorted(anchors)
    kept = {ends.index(low) for low, _ in whole}
    limits = list(spans)
    limits += [Span(low=low, high=high, cell=high - low) for low, high in pairwise(ends)]
    samples = _samples(ends, limits)
    places = np.array([np.linspace(low, high, samples + 1) for low, high in pairwise(ends)])
    wanted, parts = np.full(places.shape, np.inf), [np.array([low]) for low in ends[:-1]]
    planes, smoothest, worst = np.array(ends), np.array(ends), np.inf
    gaps, beside = np.diff(ends), [one for one in range(len(ends) - 1) if one not in kept and {one - 1, one + 1} & kept]
    for _ in range(_ROUNDS):
        lower = np.minimum(wanted, _wanted(places, limits, growth))  # least of all rounds
        for number in np.nonzero((lower < wanted).any(axis=1))[0]:
            if number not in kept:
                parts[number] = _share(places[number], lower[number])
        wanted, limits = lower, []
        planes = np.concatenate([*parts, ends[-1:]])
        cells = np.diff(planes)
        ratios = np.maximum(cells[1:] / cells[:-1], cells[:-1] / cells[1:])
        rough = ratios > growth * (1 + 1e-6)
        if not rough.any():
            return planes
        if ratios.max() < worst:
            smoothest, worst = planes, float(ratios.max())
        if any(_rougher(gaps, kept, one, len(parts[one]), worst) for one in beside):
            break
        for number in np.nonzero(rough)[0]:
            at = number if cells[number] < cells[number + 1] else number + 1
            limits.append(Span(low=planes[at], high=planes[at + 1], cell=0.98 * cells[at]))
    if worst <= _ROUGHEST:
        return smoothest
    cells = np.diff(smoothest)
    place = int(np.argmax(np.maximum(cells[1:] / cells[:-1], cells[:-1] / cells[1:])))
    raise ConfigError(
        f"planes near {smoothest[place + 1]:g} m are too close together (cells of {cells[place]:.3g} and "
        f"{cells[place + 1]:.3g} m differ by more than a factor of {_ROUGHEST}); lower cell, or move what is there"
    )


def _samples(ends: list[float], limits: list[Span]) -> int:
    """Return how many samples of the wanted cell there are between two anchors.

    Where they are further apart than the smallest cell, the cells that grow from it are not seen: next to it they would
    be too large, and all rounds would make more of them small.
    """
    gaps = pairwise(ends)
    cells = [
        (high - low) / min(one.cell for one in limits if one.low <= high and low <= one.high) for low, high in gaps
    ]
    return _SAMPLES if max(cells) <= _SAMPLES else min(math.ceil(2 * max(cells)), _MOST_SAMPLES)


def _rougher(gaps: np.ndarray, kept: set[int], number: int, cells: int, ratio: float) -> bool:
    """Return whether `cells` in a gap next to a pair that stays whole must have neighbours beyond `ratio`.

    Cell i from a pair of width w is w / ratio^i at least, or two neighbours on the way differ by more. More cells need
    more room, and no round has fewer cells in a gap than the one before: its wanted cells are no larger anywhere.

    Args:
        gaps: Between anchors, m.
        kept: Those that stay one cell.
        number: Of the gap.
        cells: In it.
        ratio: Of neighbouring cells.
    """
    powers, least = float(ratio) ** -np.arange(1.0, cells + 1), np.zeros(cells)
    if number - 1 in kept:
        least = gaps[number - 1] * powers
    if number + 1 in kept:
        least = np.maximum(least, gaps[number + 1] * powers[::-1])
    return bool(least.sum() > gaps[number] * (1 + _ROUNDING))


def _wanted(places: np.ndarray, limits: list[Span], growth: float) -> np.ndarray:
    """Return the largest cell at places, (intervals, samples), that all of the limits allow."""
    slope, found = 0.9 * (growth - 1), np.full(places.shape, np.inf)
    for one in limits:
        distance = np.maximum(np.maximum(one.low - places, places - one.high), 0.0)
        np.minimum(found, one.cell + slope * distance, out=found)
    return found


def _share(place: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return planes from the first of equally spaced places up to but without the last, by the cell at each."""
    low, high = place[0], place[-1]
    middle = (wanted[1:] + wanted[:-1]) / 2
    count = np.concatenate([[0.0], np.cumsum((high - low) / len(middle) / middle)])
    if not count[-1] <= _MOST_CELLS:
        raise ConfigError(
            f"the lattice has {count[-1]:.2g} cells between {low:.4g} and {high:.4g} m of one axis (must be <= "
            f"{_MOST_CELLS}); use larger cells, or lower the ratio of the highest frequency to the lowest"
        )
    cells = max(1, int(np.ceil(count[-1] - 1e-6)))
    planes = np.interp(np.arange(cells) * count[-1] / cells, count, place)
    planes[0] = low
    return planes
