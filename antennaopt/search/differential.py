"""Differential evolution: SHADE, which adapts step length and crossover rate to successful offspring.

References:
    Tanabe, Fukunaga, Success-history based parameter adaptation for differential evolution, IEEE CEC 2013, p. 71.
    Zhang, Sanderson, JADE, IEEE Trans. Evol. Comput. 13 (2009) 945: current-to-pbest, archive, bounds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from antennaopt.search.base import Made
from antennaopt.search.candidate import Scored, counted
from antennaopt.search.generational import Survivors
from antennaopt.search.operators import uniform_genome

_MEMORY = 6  # pairs of (scale, crossover rate) remembered
_PBEST = 0.11  # part of the population, the best of which pull
_SPREAD = 0.1  # of both around what is remembered


class Differential(Survivors):
    """A search in which each individual has one child a generation, and makes way for it if the child is no worse.

    `population` is in the order of slots: the child of place i is solved in slot i. Places that a limit of evaluations
    left open in the first generation are filled at random. The archive holds individuals that made way, for longer
    steps between the old and the new.
    """

    counts_restarts = True
    _archive: list[Scored]
    _scales: list[float]
    _rates: list[float]
    _next: int
    _used: list[tuple[float, float]]

    def __init__(self, *args: Any, **start: Any) -> None:
        super().__init__(*args, **start)
        self._used = []
        self._forget()

    def _forget(self) -> None:
        self._archive = []
        self._scales, self._rates, self._next = [0.5] * _MEMORY, [0.5] * _MEMORY, 0

    def breed(self, count: int) -> list[Made]:
        """Return a child for each of the first `count` places; of those without an individual a random one."""
        ranked = self.ranking()
        best = ranked[: max(2, round(_PBEST * len(ranked)))]
        self._used = []
        bred = [self._child(place, best) for place in range(min(count, len(ranked)))]
        return bred + [(uniform_genome(len(self.genes)), (), "random") for _ in range(count - len(bred))]

    def _child(self, place: int, best: Sequence[Scored]) -> Made:
        target, scale, rate = self.population[place], *self._drawn()
        self._used.append((scale, rate))
        puller = best[random.randrange(len(best))]
        others = [one for one in self.population if one is not target] or [target]
        one = others[random.randrange(len(others))]
        rest = [other for other in (*others, *self._archive) if other is not one]
        parents = [target, puller, one]
        forced, genome = random.randrange(len(self.genes)), list(target.candidate.genome)
        other = rest[random.randrange(len(rest))] if rest else target
        parents += [other] if rest else []
        for gene, (x, pull, near, far) in enumerate(
            zip(*(each.candidate.genome for each in (target, puller, one, other)), strict=True)
        ):
            if random.random() < rate or gene == forced:
                genome[gene] = _within(x + scale * (pull - x) + scale * (near - far), x)
        names = dict.fromkeys(each.candidate.individual for each in parents)
        return tuple(genome), tuple(names), "current_to_pbest"

    def promoted(self, told: list[Scored]) -> list[Scored]:
        """Forget the archive, which is of coarser cells."""
        self._archive = []
        return told

    def started_again(self, told: list[Scored]) -> list[Scored]:
        """Forget the archive and what was learnt."""
        self._forget()
        return told

    @property
    def _children(self) -> int:
        """One a place: on finer cells there may be fewer than a population."""
        return self.settings.population if not self.level_of(self.generation) else len(self.population)

    def _drawn(self) -> tuple[float, float]:
        """Draw a step length and a crossover rate around a remembered pair."""
        place = random.randrange(_MEMORY)
        rate = min(max(random.gauss(self._rates[place], _SPREAD), 0.0), 1.0)
        scale = 0.0
        while scale <= 0.0:
            scale = self._scales[place] + _SPREAD * math.tan(math.pi * (random.random() - 0.5))
        return min(scale, 1.0), rate

    def survivors(self, told: Sequence[Scored]) -> list[Scored]:
        """Let each child that is no worse take its parent's place, and learn from those that are better."""
        if not self.population:
            return list(told)
        kept, gains = list(self.population), []
        for child in told:
            place = child.candidate.slot
            if place >= len(self.population):
                kept.append(child)
                continue
            parent = self.population[place]
            if child.fitness <= parent.fitness:
                kept[place] = child
            if child.fitness < parent.fitness:
                self._archive.append(parent)
                gains.append((parent.fitness - child.fitness, *self._used[place]))
        self._trim(len(kept))
        self._learn(gains)
        return kept

    def _trim(self, size: int) -> None:
        """Leave out archived individuals, those that came first, until there are as many as in the population."""
        self._archive = self._archive[max(len(self._archive) - size, 0) :]

    def _learn(self, gains: Sequence[tuple[float, float, float]]) -> None:
        """Remember the pair that served best, means weighted by the gain in fitness."""
        total = math.fsum(gain for gain, _, _ in gains)
        if total <= 0.0:
            return
        weighted = math.fsum(gain * scale for gain, scale, _ in gains)
        if weighted > 0.0:
            self._scales[self._next] = math.fsum(gain * scale**2 for gain, scale, _ in gains) / weighted
        self._rates[self._next] = math.fsum(gain * rate for gain, _, rate in gains) / total
        self._next = (self._next + 1) % _MEMORY

    def own_state(self) -> dict[str, Any]:
        """Return the archive and what was learnt."""
        archive = [one.to_dict() for one in self._archive]
        return {"archive": archive, "scales": list(self._scales), "rates": list(self._rates), "next": self._next}

    def restore_own(self, state: Mapping[str, Any]) -> None:
        """Go back to what `own_state` returned.

        Raises:
            ValueError: No search can have had it.
        """
        self._archive = [Scored.from_dict(one) for one in state["archive"]]
        self._scales, self._rates = ([float(one) for one in state[name]] for name in ("scales", "rates"))
        self._next = counted(state["next"])
        for name, values in (("scales", self._scales), ("rates", self._rates)):
            if len(values) != _MEMORY or not all(0.0 <= one <= 1.0 for one in values):
                raise ValueError(f"{name} are not {_MEMORY} numbers from 0 to 1")
        if self._next >= _MEMORY or len(self._archive) > self.settings.population:
            raise ValueError(f"an archive of {len(self._archive)}, next memory {self._next}")
        if any(len(one.candidate.genome) != len(self.genes) for one in self._archive):
            raise ValueError(f"an archived individual does not have {len(self.genes)} genes")


def _within(x: float, parent: float) -> float:
    """Return a gene in [0, 1]; one beyond a bound goes half-way from the parent to it."""
    return parent / 2 if x < 0.0 else (1.0 + parent) / 2 if x > 1.0 else x
