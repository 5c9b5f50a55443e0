"""A race: the candidates of a generation that continue in each round, and those already certain within a round.

A round's decision is made when all of its samples are solved. So it does not depend on the order in which they come.
Before that, it is certain of some candidates that they will be sampled on, whatever the other samples come to. Their
next samples can be solved at once, while the round's last ones are under way.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antennaopt.search.robust import FIRST, Aim, Sample, kept, moved, next_count, settled

BEST: Sample = (0.0, True)
"""The best that a sample can come to."""


@dataclass(frozen=True)
class Taken:
    """What is known of a candidate's samples, up to the number of its round.

    Attributes:
        counted: Those that are solved and count.
        lost: Number of those that the farm could not solve, which do not count.
        open: Number of those that are not solved yet.
    """

    counted: Sequence[Sample] = ()
    lost: int = 0
    open: int = 0

    @property
    def at_best(self) -> list[Sample]:
        """Those that count, if all open ones are as good as can be."""
        return [*self.counted, *[BEST] * self.open]


class Race:
    """The rounds of one generation.

    Attributes:
        racing: Candidates of the round, the best of the round before first.
        count: Samples that each of them has after the round; 0 before the first one.
        over: Whether nothing more is sampled.
        taken: Samples of each candidate up to the last round that it was in; of others nothing.
    """

    def __init__(self, aim: Aim, designs: Mapping[str, Sample], *, fewest: int, least: int) -> None:
        """Begin with the first round.

        Args:
            aim: What fitness is over samples.
            designs: By candidate, the sample that its design would be.
            fewest: Places that matter.
            least: Copies of a round that are worth waiting for; see `next_count`.
        """
        self.racing, self.count, self.over = list(designs), 0, False
        self._aim, self._designs, self._fewest, self._least = aim, designs, fewest, least
        self._values = {name: aim.value([one]) for name, one in designs.items()}
        self._begin = aim.beginners(list(designs.values()))
        self.taken: dict[str, Taken] = {}
        self._unsampled = self._bounds_of(Taken())
        self._stops: list[tuple[dict[str, float], list[str]]] = []
        self.next({})

    @property
    def _share(self) -> int:
        """Candidates that go on after this round, at most; more of the first one if they are as good."""
        return math.ceil(self._begin / max(self.count, 1))

    def next(self, taken: Mapping[str, Taken]) -> None:
        """Begin the next round.

        Args:
            taken: By candidate of this round; none has an open sample.
        """
        self.taken.update(taken)
        for name, one in taken.items():
            self._values[name] = self._value(name, one)
        self.over = not self._begin or self.count >= self._aim.total
        if self.over:
            return
        now = {name: self._values[name] for name in self.racing}
        bounds = {name: self._bounds(name) for name in self.racing}
        going = kept(now, bounds, self._share, self._fewest, ties=self.count == 0)
        self._stops.append((now, going))
        self.racing = going
        self.count = next_count(self.count, self._aim.total, len(going), self._least)

    def certain(self, taken: Mapping[str, Taken]) -> tuple[list[str], int]:
        """Return candidates of the next round, and samples that each has after it at least, before this one is over.

        An open sample makes no candidate better than if it met all goals, and the limit of `kept` not lower.

        Args:
            taken: By candidate of this round.
        """
        if self.over or self.count >= self._aim.total:
            return [], self.count
        share = min(max(self._share, self._fewest), len(self.racing))
        known = {name: self._value(name, one) for name, one in taken.items() if not one.open}
        ranked = sorted((known[name] if name in known else self._at_best(one), name) for name, one in taken.items())
        found = [name for name, value in known.items() if bisect_left(ranked, (value, name)) < share]
        least = {name: self._aim.least(taken[name].counted, taken[name].lost) for name in found}
        if any(least.values()):
            limits = sorted(self._aim.most(one.at_best, one.lost) for one in taken.values())
            limit = limits[self._fewest - 1] if self._fewest <= len(limits) else math.inf
            found = [name for name in found if least[name] <= limit]
        return found, next_count(self.count, self._aim.total, share, self._least)

    def fitness(self) -> dict[str, float]:
        """Return the fitness of all candidates, once the race is over."""
        final = {name: self._values[name] for name in self.racing}
        ceiling, sampled, unsampled = self._aim.ceiling, self.taken, self._unsampled[0]
        for then, going in reversed(self._stops):
            movement = moved([(then[name], final[name]) for name in going], ceiling)
            for name in then.keys() - set(going):
                least = self._bounds(name)[0] if name in sampled else unsampled
                final[name] = settled(then[name], least, movement, ceiling)
        return final

    def _value(self, name: str, one: Taken) -> float:
        return self._aim.value(one.counted or [self._designs[name]])

    def _at_best(self, one: Taken) -> float:
        return self._aim.value(one.at_best)

    def _bounds(self, name: str) -> tuple[float, float]:
        one = self.taken.get(name)
        return self._unsampled if one is None else self._bounds_of(one)

    def _bounds_of(self, one: Taken) -> tuple[float, float]:
        return self._aim.least(one.counted, one.lost), self._aim.most(one.counted, one.lost)


def beginning(aim: Aim, met: int, undecided: int, *, fewest: int, least: int) -> int:
    """Return how many samples each candidate whose design meets all goals has after the first round, at least.

    Args:
        aim: What fitness is over samples; of others than `yield` nothing is certain before all designs are solved.
        met: Candidates so far whose design meets all goals.
        undecided: Candidates whose design is not solved yet.
        fewest: Places that matter.
        least: Copies of a round that are worth waiting for.
    """
    if aim.kind != "yield":
        return 0
    # With fewer than matter, any number of others may tie for the last place: then only the first samples are certain.
    return next_count(0, aim.total, met + undecided, least) if met >= fewest else min(FIRST, aim.total)
