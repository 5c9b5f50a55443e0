"""Planes along one axis: through given places, as fine as asked for there, growing slowly in between."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fdtd.errors import ConfigError

_ROUNDS = 60
_SAMPLES = 200  # of the wanted cell between two anchors


@dataclass(frozen=True, kw_only=True)
class Span:
    """Cells between two places are at most this large, all in m."""

    low: float
    high: float
    cell: float


def graded(
    anchors: list[float], spans: list[Span], growth: float, whole: tuple[tuple[float, float], ...] = ()
) -> np.ndarray:
    """Return planes from the first anchor to the last.

    The wanted cell at a place is the least over the spans of `cell` plus (growth - 1) times the distance to the span.
    Between two anchors the planes share its inverse's integral equally. Where neighbours still differ by more than
    `growth`, the smaller one becomes a span of its own, and all is done again.

    Args:
        anchors: Places of planes, m, at least two, distinct.
        spans: Largest cells; they need not touch.
        growth: Largest ratio of neighbouring cells.
        whole: Pairs of neighbouring anchors that stay one cell.

    Raises:
        ConfigError: No planes keep to the growth.
    """
    ends = sorted(anchors)
    kept = {ends.index(low) for low, _ in whole}
    limits = list(spans)
    limits += [Span(low=low, high=high, cell=high - low) for low, high in pairwise(ends)]
    planes = np.array(ends)
    for _ in range(_ROUNDS):
        parts = [
            np.array([low]) if number in kept else _share(low, high, limits, growth)
            for number, (low, high) in enumerate(pairwise(ends))
        ]
        planes = np.concatenate([*parts, ends[-1:]])
        cells = np.diff(planes)
        rough = np.maximum(cells[1:] / cells[:-1], cells[:-1] / cells[1:]) > growth * (1 + 1e-6)
        if not rough.any():
            return planes
        for number in np.nonzero(rough)[0]:
            at = number if cells[number] < cells[number + 1] else number + 1
            limits.append(Span(low=planes[at], high=planes[at + 1], cell=0.98 * cells[at]))
    worst = int(np.nonzero(rough)[0][0])
    raise ConfigError(
        f"planes near {planes[worst + 1]:g} m cannot keep to growth = {growth} (cells of {cells[worst]:.3g} and "
        f"{cells[worst + 1]:.3g} m); raise growth, lower cell, or move what is so close together"
    )


def _share(low: float, high: float, limits: list[Span], growth: float) -> np.ndarray:
    """Return planes from `low` up to but without `high`."""
    place = np.linspace(low, high, _SAMPLES + 1)
    wanted = np.full(len(place), np.inf)
    for span in limits:
        distance = np.maximum(np.maximum(span.low - place, place - span.high), 0.0)
        wanted = np.minimum(wanted, span.cell + 0.9 * (growth - 1) * distance)
    middle = (wanted[1:] + wanted[:-1]) / 2
    count = np.concatenate([[0.0], np.cumsum((high - low) / _SAMPLES / middle)])
    cells = max(1, int(np.ceil(count[-1] - 1e-6)))
    planes = np.interp(np.arange(cells) * count[-1] / cells, count, place)
    planes[0] = low
    return planes
