"""Evolution without generations: an individual is bred when a worker is free, from the individuals complete by then.

Everything follows from the seed and the order of completion: individuals are named by that order, and each holds
its place in the order of birth and how many were complete by then.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from antennaopt.search.base import Made, Search
from antennaopt.search.candidate import Candidate, Result, Scored, counted
from antennaopt.search.operators import Individual, seeded, tournament, uniform_genome, vary

FEWEST_PARENTS = 2


class SteadyState(Search):
    """A search that is asked for any number of children at any time, and told of each as it is complete.

    The population, the best first, is the best `population` so far: a newcomer takes the place of the worst, if it is
    better. A `generation` is a block of `population` individuals in order of completion; a last one that is cut short
    by a stop counts once `close` was called. The first births are the first generation of every algorithm.
    """

    by_order = True
    _first: Sequence[Made] = ()
    _pool: list[Individual] | None = None  # the population as its operators take it, in the same order

    @property
    def left(self) -> int:
        """How many may still be bred, within the budget of individuals and of evaluations."""
        left = self.settings.generations * self.settings.population - self.births
        most = self.settings.stop.evaluations
        if most is not None:
            left = min(left, most - self.evaluations - len(self.under_way))
        return max(left, 0)

    def ask(self, count: int | None = None) -> list[Candidate]:
        """Breed children, as many as the budget has left at most, from those who are complete now."""
        left = self.left if count is None else min(count, self.left)
        bred = [self.breed(self.births + place) for place in range(left)]
        self.births += len(bred)
        self.under_way |= {one.individual: one for one in bred}
        return bred

    def breed(self, number: int) -> Candidate:
        """Return the child with a number in order of birth, were it bred now; nothing is noted."""
        genome, parents, operator = self._made(number)
        return Candidate.born(number, self.completed, genome=genome, parents=parents, operator=operator)

    def tell(self, results: Iterable[Result | Scored]) -> list[Scored]:
        """Complete candidates as the next in order of completion; what is returned has their ids from now on."""
        return [self._complete(one) for one in results]

    def close(self) -> None:
        """Count a last block that will not be filled."""
        if self.completed > self.generation * self.settings.population:
            self._close_generation()

    def state(self) -> dict[str, Any]:
        """Return what the search knows now."""
        return {
            **self._shared_state(),
            "births": self.births,
            "completed": self.completed,
            "under_way": [one.birth_to_dict() for one in self.under_way.values()],
            "best_before": self._best_before,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state; what was under way then is under way again."""
        self._restore_shared(state)
        self._pool = None
        self.births, self.completed = counted(state["births"]), counted(state["completed"])
        bred = [Candidate.from_birth(one) for one in state["under_way"]]
        self.under_way = {one.individual: one for one in bred}
        before = state["best_before"]
        self._best_before = None if before is None else float(before)
        size = min(self.completed, self.settings.population)
        self._refuse_impossible(self.completed, range(size, size + 1))
        if self.generation != self.completed // self.settings.population:
            raise ValueError(f"{self.generation} blocks, of {self.completed} who are complete")
        if self.population != self.ranking():
            raise ValueError("the population is not in order of fitness")
        best = self.best()
        if before is not None and not (self.generation and best and best.fitness <= float(before) < math.inf):
            raise ValueError(f"the best before was {before}")
        self._refuse_impossible_births(bred)

    def _refuse_impossible_births(self, under_way: Sequence[Candidate]) -> None:
        """Refuse births that do not add up: each once, from those who were complete by then."""
        numbers = [counted(one.birth) for one in under_way]
        if numbers != sorted(set(numbers)) or len(numbers) != self.births - self.completed:
            raise ValueError(f"{len(numbers)} are under way, of {self.births} births with {self.completed} complete")
        complete = (one.candidate for one in (*self.population, *self.hall_of_fame))
        for number, bred_after in ((one.birth, one.bred_after) for one in (*complete, *under_way)):
            if number is None or bred_after is None or number >= self.births or bred_after > self.completed:
                raise ValueError(f"birth {number} of {self.births}, after {bred_after} of {self.completed}")
        if any(len(one.genome) != len(self.genes) for one in under_way):
            raise ValueError(f"a candidate under way does not have {len(self.genes)} genes")

    def _made(self, number: int) -> Made:
        if number < self.settings.population:
            self._first = self._first or self.first_generation()
            return self._first[number]
        if self._pool is None:
            self._pool = [Individual.from_scored(one) for one in self.population]
        with seeded(self.seed, number):
            if len(self.population) < FEWEST_PARENTS:
                return uniform_genome(len(self.genes)), (), "random"
            one, other = tournament(self._pool, 2, self.settings.tournament_size)
            return vary(one, other, self.settings.crossover, self.settings.mutation)[0]

    def _complete(self, result: Result | Scored) -> Scored:
        scored = self._scored(result)
        born = scored.candidate.individual
        placed = scored.candidate.placed(*divmod(self.completed, self.settings.population))
        scored = Scored(candidate=placed, fitness=scored.fitness, ok=scored.ok, cached=scored.cached)
        del self.under_way[born]
        self.completed += 1
        self.evaluations += not scored.cached
        self._honour([scored])
        self._admit(scored)
        if self.completed % self.settings.population == 0:
            self._close_generation()
        return scored

    def _admit(self, scored: Scored) -> None:
        """Take a newcomer into the population; of one too many the worst leaves, of equals the youngest."""
        place = bisect(self.population, scored.rank, key=lambda one: one.rank)
        self.population.insert(place, scored)
        del self.population[self.settings.population :]
        if self._pool is not None:
            self._pool.insert(place, Individual.from_scored(scored))
            del self._pool[self.settings.population :]
