"""Fitness over made copies of a candidate, and the schedule of samples.

A copy, a sample, has the fitness of its outcome and meets all goals or not. An aim makes one number of a candidate's
samples. The number is monotone in each sample. So bounds for all samples follow from those solved: the others meet all
goals at best, and have the largest penalty at worst.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from antennaopt.search.objectives import PENALTY_FACTORS, WORST_SHORTFALL_DB

Sample = tuple[float, bool]
"""Fitness of a made copy, and whether it meets all goals."""

FIRST = 2
"""Samples of the first round; each further round doubles them."""

PERCENT = 100.0


@dataclass(frozen=True)
class Aim:
    """What fitness is over samples.

    | aim | fitness |
    |---|---|
    | `yield` | percent of the samples that miss a goal; equal shares in order of the mean fitness of the samples |
    | `mean` | mean of the samples' fitness |
    | `worst` | largest fitness of the samples |
    | `quantile` | fitness that a share `quantile` of the samples does not exceed |

    Of `yield` it is 100 (m + t) / n with m misses of n samples, and t = F / (F + 200) below 1, where F is the mean
    fitness of the samples. So a search has something to go by where all samples miss.

    Attributes:
        kind: `yield`, `mean`, `worst` or `quantile`.
        total: Samples of a candidate, at most.
        quantile: Of that aim.
        worst: Largest fitness of an antenna that is `ok`; see `Ranking.worst`.
    """

    kind: str
    total: int
    quantile: float | None = None
    worst: float = WORST_SHORTFALL_DB

    @cached_property
    def largest(self) -> float:
        """Largest fitness that a sample can have."""
        return self.worst * max(PENALTY_FACTORS.values())

    @cached_property
    def ceiling(self) -> float:
        """Largest fitness that a candidate can have."""
        return self.value([(self.largest, False)])

    def value(self, samples: Sequence[Sample]) -> float:
        """Return the fitness over samples, at least one."""
        each = [fitness for fitness, _ in samples]
        if self.kind == "worst":
            return max(each)
        if self.kind == "quantile":
            rank = math.ceil(round((self.quantile or 0.0) * len(each), 9))
            return sorted(each)[max(rank, 1) - 1]
        mean = math.fsum(each) / len(each)
        if self.kind == "mean":
            return mean
        missed = [met for _, met in samples].count(False) / len(each)
        return PERCENT * (missed + mean / (mean + WORST_SHORTFALL_DB) / self.total)

    def beginners(self, designs: Sequence[Sample]) -> int:
        """Return how many candidates have samples, the best first, by the samples that their designs would be.

        Of `yield` those whose design meets all goals: others have a low yield, and are in order by what they miss.
        While there is none, no samples are taken. Of other aims half of them.
        """
        return sum(met for _, met in designs) if self.kind == "yield" else math.ceil(len(designs) / 2)

    def least(self, samples: Sequence[Sample], lost: int = 0) -> float:
        """Return the fitness if all other samples met all goals.

        Args:
            samples: Those that are solved and count.
            lost: Those that the farm could not solve, which do not count.
        """
        left = max(self.total - lost - len(samples), 0)
        return self.value([*samples, *[(0.0, True)] * left]) if samples or left else 0.0

    def most(self, samples: Sequence[Sample], lost: int = 0) -> float:
        """Return the fitness if all other samples had the largest penalty."""
        left = max(self.total - lost - len(samples), 0)
        return self.value([*samples, *[(self.largest, False)] * left]) if samples or left else self.largest


def next_count(count: int, total: int, racing: int, least: int) -> int:
    """Return how many samples a candidate has after the next round: 2, 4, 8, ... and at last all of them.

    Args:
        count: Samples that each has now.
        total: At most.
        racing: Candidates in the round.
        least: Copies of a round that are worth waiting for: a smaller round takes more of each candidate.
    """
    after = 2 * count or FIRST
    while after < total and racing * (after - count) < least:
        after *= 2
    return min(after, total)


def kept(
    values: Mapping[str, float], bounds: Mapping[str, tuple[float, float]], count: int, fewest: int, *, ties: bool
) -> list[str]:
    """Return the candidates that are sampled on: the best by value, without those whose place is settled.

    The place of a candidate is settled when at least `fewest` others are better whatever the samples that are left
    come to.

    Args:
        values: So far, by candidate.
        bounds: Least and largest fitness that a candidate can come to.
        count: Candidates to keep, at most.
        fewest: Places that matter.
        ties: Whether to keep all that are as good as the last one kept.

    Returns:
        Names, the best first; equal ones in order of their names.
    """
    ranked = sorted(values, key=lambda name: (values[name], name))
    best = ranked[: max(count, fewest)]
    if ties and best:
        best = [name for name in ranked if values[name] <= values[best[-1]]]
    limits = sorted(most for _, most in bounds.values())
    limit = limits[fewest - 1] if 0 < fewest <= len(limits) else math.inf
    return [name for name in best if bounds[name][0] <= limit]


def moved(went_on: Sequence[tuple[float, float]], ceiling: float) -> tuple[float, float]:
    """Return how further samples moved the better half of the candidates that took them, for `settled`.

    Args:
        went_on: Of those that went on their value then, and what it came to.
        ceiling: Largest fitness there is.

    Returns:
        The largest value that the better half had before, and by how much the largest is higher after.
    """
    better = sorted(went_on, key=itemgetter(1))[: (len(went_on) + 1) // 2]
    before = max((then for then, _ in better), default=ceiling)
    return before, max((final for _, final in better), default=ceiling) - before


def settled(value: float, least: float, movement: tuple[float, float], ceiling: float) -> float:
    """Return the fitness of a candidate whose sampling stopped before its last sample.

    All candidates have the same samples. So further samples would have changed its value about as they changed those of
    the candidates that went on. The better half of these stays ahead, and candidates that stopped together stay in
    their order.

    Args:
        value: When it stopped.
        least: Least fitness that it can come to.
        movement: From `moved`, of those that went on.
        ceiling: Largest fitness there is.
    """
    before, change = movement
    if change <= 0.0 or before >= ceiling:
        return max(value, least)
    return max(value + change * max(ceiling - value, 0.0) / (ceiling - before), least)
