"""Evolution without generations: a child is bred whenever a place is free, from those who are complete by then.

Everything follows from the seed and the order of completion: individuals are named by that order, and each says in
which place of the order of birth it was bred and how many were complete by then. `replay` needs no more than that.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from antennaopt.search.base import Made, Search
from antennaopt.search.candidate import (
    Candidate,
    Scored,
    counted,
    individual_id,
    known_operator,
    known_parents,
    require_finite,
)
from antennaopt.search.genome import Gene, recorded
from antennaopt.search.individual import Individual
from antennaopt.search.operators import tournament, vary
from antennaopt.search.randomness import seeded
from antennaopt.search.settings import EvolutionSettings

FEWEST_PARENTS = 2


@dataclass(frozen=True, kw_only=True)
class Birth:
    """Somebody bred who has not been solved yet, and so has no place in the order of completion.

    Attributes:
        number: In order of birth, from 0.
        bred_after: How many individuals were complete.
        genome: Genes, each in [0, 1].
        parents: Ids of the parents.
        operator: What made it.
    """

    number: int
    bred_after: int
    genome: tuple[float, ...]
    parents: tuple[str, ...] = ()
    operator: str = "random"

    @property
    def name(self) -> str:
        """Until it has a place in the order of completion."""
        return f"b{self.number:06d}"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Birth:
        """Undo `asdict`.

        Raises:
            ValueError: It is not what `asdict` returned.
        """
        return cls(
            number=counted(data["number"]),
            bred_after=counted(data["bred_after"]),
            genome=recorded(data["genome"]),
            parents=known_parents(data["parents"]),
            operator=known_operator(data["operator"]),
        )


class SteadyState(Search):
    """A search that is asked for any number of children at any time, and told of each as it is complete.

    The population is the best `population` so far: a newcomer takes the place of the worst, if it is better. A
    `generation` is a block of `population` individuals in order of completion.

    Attributes:
        generation: Blocks complete; a last one that is cut short by a stop counts once `close` was called.
        population: The best first.
        births: How many have been bred.
        completed: How many are complete.
        under_way: Bred and not complete, by name, in order of birth.
    """

    def __init__(
        self,
        settings: EvolutionSettings,
        genes: Sequence[Gene],
        seed: int,
        planted: Sequence[Mapping[str, float]] = (),
        genomes: Sequence[Sequence[float | None]] = (),
    ) -> None:
        """Start before the first birth; see `Search`. The first births are the first generation of every algorithm."""
        super().__init__(settings, genes, seed, planted, genomes)
        self.births = 0
        self.completed = 0
        self.under_way: dict[str, Birth] = {}
        self._first: list[Made] = []
        self._best_before: float | None = None
        self._pool: list[Individual] = []  # the population as its operators take it, in the same order

    @property
    def left(self) -> int:
        """How many may still be bred, within the budget of individuals and of evaluations."""
        left = self.settings.generations * self.settings.population - self.births
        most = self.settings.stop.evaluations
        if most is not None:
            left = min(left, most - self.evaluations - len(self.under_way))
        return max(left, 0)

    def ask(self, count: int) -> list[Birth]:
        """Breed so many children, or as many as the budget has left, from those who are complete now."""
        bred = [self.breed(self.births + place) for place in range(min(count, self.left))]
        self.births += len(bred)
        self.under_way |= {one.name: one for one in bred}
        return bred

    def breed(self, number: int) -> Birth:
        """Return the child with a number in order of birth, were it bred now; nothing is noted."""
        genome, parents, operator = self._made(number)
        return Birth(number=number, bred_after=self.completed, genome=genome, parents=parents, operator=operator)

    def tell(self, name: str, *, fitness: float, ok: bool = True, cached: bool = False) -> Scored:
        """Complete somebody who is under way, as the next in order of completion.

        Args:
            name: Of the birth.
            fitness: The number that is minimised; finite.
            ok: The outcome was `ok`.
            cached: The outcome was copied from an earlier duplicate.

        Returns:
            Who it is from now on.

        Raises:
            ValueError: Nobody of that name is under way, or the fitness is not finite.
        """
        if name not in self.under_way:
            raise ValueError(f"{name} is not under way; tell each birth once")
        require_finite(name, fitness)
        birth = self.under_way.pop(name)
        scored = Scored(candidate=self._candidate(birth), fitness=fitness, ok=ok, cached=cached)
        self.completed += 1
        self.evaluations += not cached
        self._honour([scored])
        self._admit(scored)
        if self.completed % self.settings.population == 0:
            self._close_block()
        return scored

    def close(self) -> None:
        """Count a last block that will not be filled."""
        if self.completed > self.generation * self.settings.population:
            self._close_block()

    def state(self) -> dict[str, Any]:
        """Return what the search knows, as JSON-able data with exact floats."""
        return {
            **self._shared_state(),
            "births": self.births,
            "completed": self.completed,
            "under_way": [asdict(one) for one in self.under_way.values()],
            "best_before": self._best_before,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state that `state` returned; who was under way then is under way again.

        Raises:
            ResumeRefusedError: The state is of another version, seed or number of genes.
            ValueError: No search with these settings can have had it.
        """
        self._restore_shared(state)
        self._pool = [Individual.from_scored(one) for one in self.population]
        self.births, self.completed = counted(state["births"]), counted(state["completed"])
        bred = [Birth.from_dict(one) for one in state["under_way"]]
        self.under_way = {one.name: one for one in bred}
        best = state["best_before"]
        self._best_before = None if best is None else float(best)
        size = min(self.completed, self.settings.population)
        self._refuse_impossible(self.completed, range(size, size + 1))
        if self.generation != self.completed // self.settings.population:
            raise ValueError(f"{self.generation} blocks, of {self.completed} who are complete")
        if self.population != sorted(self.population, key=lambda one: one.rank):
            raise ValueError("the population is not in order of fitness")
        if best is not None and not (self.generation and self.best and self.best.fitness <= float(best) < math.inf):
            raise ValueError(f"the best before was {best}")
        self._refuse_impossible_births(bred)

    def _refuse_impossible_births(self, under_way: Sequence[Birth]) -> None:
        """Refuse births that do not add up: each once, from those who were complete by then."""
        numbers = [one.number for one in under_way]
        if numbers != sorted(set(numbers)) or len(numbers) != self.births - self.completed:
            raise ValueError(f"{len(numbers)} are under way, of {self.births} births with {self.completed} complete")
        done = [(one.candidate.birth, one.candidate.bred_after) for one in (*self.population, *self.hall_of_fame)]
        for number, bred_after in (*done, *((one.number, one.bred_after) for one in under_way)):
            if number is None or bred_after is None or number >= self.births or bred_after > self.completed:
                raise ValueError(f"birth {number} of {self.births}, after {bred_after} of {self.completed}")
        if any(len(one.genome) != len(self.genes) for one in under_way):
            raise ValueError(f"somebody under way does not have {len(self.genes)} genes")

    def _made(self, number: int) -> Made:
        if number < self.settings.population:
            self._first = self._first or self.first_generation()
            return self._first[number]
        with seeded(self.seed, number):
            if len(self.population) < FEWEST_PARENTS:
                return self._uniform(), (), "random"
            one, other = tournament(self._pool, 2, self.settings.tournament_size)
            child, parents, operator = vary(one, other, self.settings.crossover, self.settings.mutation)[0]
        return tuple(float(gene) for gene in child), parents, operator

    def _candidate(self, birth: Birth) -> Candidate:
        block, slot = divmod(self.completed, self.settings.population)
        return Candidate(
            individual=individual_id(block, slot),
            generation=block,
            slot=slot,
            genome=birth.genome,
            parents=birth.parents,
            operator=birth.operator,
            birth=birth.number,
            bred_after=birth.bred_after,
        )

    def _admit(self, scored: Scored) -> None:
        """Take a newcomer into the population; of one too many the worst leaves, of equals the youngest."""
        place = bisect(self.population, scored.rank, key=lambda one: one.rank)
        self.population.insert(place, scored)
        self._pool.insert(place, Individual.from_scored(scored))
        del self.population[self.settings.population :], self._pool[self.settings.population :]

    def _close_block(self) -> None:
        best = self.best.fitness if self.best else None
        better = best is not None and (self._best_before is None or best < self._best_before)
        self.stagnation = 0 if better or self.generation == 0 else self.stagnation + 1
        self._best_before = best
        self.generation += 1


def replay(search: SteadyState, recorded: Iterable[Scored]) -> Iterator[Scored]:
    """Go through a recorded order of completion once more.

    Args:
        search: At the beginning.
        recorded: Everybody who was complete, in that order, with the fitness that each was given.

    Yields:
        Who comes out, one by one; the same, if nothing was changed since.

    Raises:
        ValueError: Somebody has no birth: the rows are not of a steady state.
    """
    order = list(recorded)
    waiting = sorted(((one.candidate.bred_after, one.candidate.birth) for one in order), reverse=True, key=_known)
    for one in order:
        while waiting and waiting[-1][0] == search.completed:
            born = search.breed(_known(waiting.pop())[1])
            search.under_way[born.name] = born
            search.births = max(search.births, born.number + 1)
        name = f"b{_known((one.candidate.bred_after, one.candidate.birth))[1]:06d}"
        yield search.tell(name, fitness=one.fitness, ok=one.ok, cached=one.cached)


def _known(one: tuple[int | None, int | None]) -> tuple[int, int]:
    bred_after, birth = one
    if bred_after is None or birth is None:
        raise ValueError("the rows have no order of birth; they are not of a steady state")
    return bred_after, birth
