"""NSGA-II: a front of non-dominated antennas, without weights.

References:
    Deb, Pratap, Agarwal, Meyarivan, A fast and elitist multiobjective genetic algorithm: NSGA-II, IEEE Trans. Evol.
    Comput. 6 (2002) 182.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np
from deap import tools

from antennaopt.search.base import HALL_OF_FAME_SIZE, Made
from antennaopt.search.candidate import Scored
from antennaopt.search.fronts import crowded, hypervolume, ranks, spread
from antennaopt.search.generational import Survivors
from antennaopt.search.objectives import UNDEFINED_AIM
from antennaopt.search.operators import Individual, vary


@dataclass(frozen=True)
class _Standing:
    """What DEAP's tournament compares: fronts first, then crowding."""

    front: int
    crowding_dist: float

    def dominates(self, other: _Standing) -> bool:
        """Whether it is of an earlier front."""
        return self.front < other.front


class NonDominated(Survivors):
    """A search for a front; its children compete with all of their parents for the places of the population.

    `population` is in the order of fronts, the least crowded first in each, repeated antennas last. `hall_of_fame` is a
    choice of the first front: the antenna with the best fitness of the run, then each time the one farthest from those
    before. A fitness is only a way to put antennas in an order that no dominated one leads.
    """

    _largest: float = 0.0

    def breed(self, count: int) -> Iterator[Made]:
        """Return children of pairs of parents, each parent the winner of a tournament of two."""
        settings, values, fronts = self.settings, *self._sorted(self.population)
        pool = [Individual.from_scored(one) for one in self.population]
        for one, front, distance in zip(pool, fronts, crowded(values, fronts), strict=True):
            one.fitness = _Standing(int(front), float(distance))  # type: ignore[attr-defined] - read by DEAP
        size = 4 * math.ceil(count / 4)
        parents = tools.selTournamentDCD(list(islice(cycle(pool), size)), size)
        for one, other in zip(parents[::2], parents[1::2], strict=True):
            yield from vary(one, other, settings.crossover, settings.mutation)

    def survivors(self, told: Sequence[Scored]) -> list[Scored]:
        """Keep the first fronts of parents and children; of the last that has no room for all the least crowded.

        Genes that move in steps make the same antenna more than once: one with the values of another comes last.
        """
        distinct: dict[Any, Scored] = {}
        repeated = []
        for one in (*self.population, *told):
            if distinct.setdefault(one.values or one.candidate.individual, one) is not one:
                repeated.append(one)
        kept = [*self._ordered(list(distinct.values())), *self._ordered(repeated)]
        return kept[: self.settings.population]

    def _ordered(self, pool: Sequence[Scored]) -> list[Scored]:
        """Return individuals in the order of fronts, the least crowded first in each."""
        values, fronts = self._sorted(pool)
        return [pool[place] for place in np.lexsort((-crowded(values, fronts), fronts))]

    def _sorted(self, pool: Sequence[Scored]) -> tuple[np.ndarray, np.ndarray]:
        """Return what each one minimises and the number of its front; values of one that is not `ok` mean nothing."""
        width = max((len(one.values) for one in pool), default=0) or 1
        values = np.array([one.values or (UNDEFINED_AIM,) * width for one in pool], dtype=float).reshape(-1, width)
        return values, ranks(values, np.array([self._penalty(one) for one in pool]))

    def _penalty(self, one: Scored) -> float:
        """Return 0 of an antenna that is compared by its objectives, else a number that grows with the fault."""
        worst = self._order.worst
        if one.ok and one.fitness <= worst:
            return worst if max(one.values) >= UNDEFINED_AIM else 0.0
        return one.fitness

    def _minimised(self, shortfalls: Sequence[float]) -> tuple[float, ...]:
        return tuple(shortfalls[: len(self._order.weights)])

    def _honour(self, told: Iterable[Scored]) -> None:
        """Choose the best from the first front, the one with the best fitness of the run before all."""
        able = [one for one in (*self.hall_of_fame[:1], *told, *self.population) if one.ok]
        if not able:
            return
        best = min(able, key=lambda one: one.rank)
        pool = list({one.candidate.genome: one for one in (best, *self.population) if one.ok}.values())
        values, fronts = self._sorted(pool)
        first = np.flatnonzero(fronts == 0)
        self.hall_of_fame = [pool[first[place]] for place in spread(values[first], HALL_OF_FAME_SIZE)]

    def _close_generation(self) -> None:
        """Measure the front; a generation without a larger hypervolume counts as one without improvement."""
        values = np.array(self.front_values())
        self.reference = self.reference or self._first_reference()
        self.hypervolume = None if self.reference is None else hypervolume(values, self.reference)
        better = (self.hypervolume or 0.0) > self._largest
        self._largest = max(self._largest, self.hypervolume or 0.0)
        self.stagnation = 0 if better or self.generation == 0 else self.stagnation + 1
        self.generation += 1

    def front_values(self) -> list[tuple[float, ...]]:
        """Return the values of those that are compared by their objectives."""
        return [one.values for one in self.population if self._penalty(one) <= 0.0]

    def _first_reference(self) -> tuple[float, ...] | None:
        """Return the point that is given, or the worst values so far, whether or not constraints are met."""
        if self.settings.reference:
            return self._order.minimised(self.settings.reference)
        values = [one.values for one in self.population if one.ok and max(one.values) < UNDEFINED_AIM]
        return tuple(map(max, zip(*values, strict=True))) if values else None

    def own_state(self) -> dict[str, Any]:
        """Return the reference point and the hypervolumes, the last and the largest."""
        reference = None if self.reference is None else list(self.reference)
        return {"reference": reference, "hypervolume": self.hypervolume, "largest": self._largest}

    def restore_own(self, state: Mapping[str, Any]) -> None:
        """Go back to what `own_state` returned.

        Raises:
            ValueError: No search can have had it.
        """
        given, volume, largest = state["reference"], state["hypervolume"], float(state["largest"])
        reference = None if given is None else tuple(float(x) for x in given)
        if reference is not None and (len(reference) != len(self._order.weights) or not np.isfinite(reference).all()):
            raise ValueError(f"a reference point of {len(reference)} numbers, or one that is not finite")
        if (reference is None) != (volume is None) or not 0.0 <= float(volume or 0.0) <= largest < math.inf:
            raise ValueError(f"a hypervolume of {volume}, the largest {largest}")
        if any(one.ok and len(one.values) != len(self._order.weights) for one in self.population):
            raise ValueError(f"an individual does not have {len(self._order.weights)} values")
        self.reference, self._largest = reference, largest
        self.hypervolume = None if volume is None else float(volume)

    def _refuse_impossible_population(self, last: int) -> None:
        for one in self.population:
            if one.candidate.generation > last:
                raise ValueError(f"{one.candidate.individual} is of no generation up to {last}")
