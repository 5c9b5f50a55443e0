"""Searches with generations: the genetic algorithm, random search at the same budget, and their common base."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from typing import Any

from antennaopt.search.base import Made, Search
from antennaopt.search.candidate import Candidate, Result, Scored, individual_id
from antennaopt.search.operators import (
    Draws,
    Individual,
    contestants,
    seeded,
    tournament,
    uniform_genome,
    vary,
    winners,
)
from antennaopt.search.restart import RESTARTED
from antennaopt.unchecked import owned


class Generational(Search):
    """A search that closes a generation when all of it has been told.

    `population` is the last complete one in order of slots, elites first; these keep their id and fitness, and are not
    asked again.
    """

    _bred: list[Candidate] | None = None
    _coming: Iterator[Candidate]
    _draws: AbstractContextManager[Any]
    _left: int
    _told: dict[int, Scored]

    @abstractmethod
    def breed(self, count: int) -> Iterable[Made]:
        """Return that many children, or more; drawn within `seeded`, and of an iterator when they are taken.

        They do not depend on what is told meanwhile: what is told changes nothing before the generation is complete.
        """

    def ask(self, count: int | None = None) -> list[Candidate]:
        """Return the next candidates of the generation in order of slots; none when all have been asked.

        With `count` no more than those are bred, where the algorithm breeds one after another.
        """
        if self._bred is None:
            self._coming, self._bred, self._told = self._new_generation(), [], {}
        wanted = self._left if count is None else min(count, self._left)
        with self._draws:
            asked = list(islice(self._coming, wanted))
        self._left = 0 if len(asked) < wanted else self._left - len(asked)
        self._bred += asked
        self.births += len(asked)
        self.under_way |= {one.individual: one for one in asked}
        return asked

    def tell(self, results: Iterable[Result | Scored]) -> list[Scored]:
        """Take results; the last ones close the generation."""
        told = [self._scored(one) for one in results]
        if len({one.candidate.individual for one in told}) < len(told):
            raise ValueError("a candidate was told twice; tell each once")
        for one in told:
            del self.under_way[one.candidate.individual]
        self.completed += len(told)
        if told and self._bred:
            self._told |= {one.candidate.slot: one for one in told}
            if not self._left and len(self._told) == len(self._bred):
                self._close([self._told[one.slot] for one in self._bred])
        return told

    def state(self) -> dict[str, Any]:
        """Return what the search knew between the last two generations."""
        return self._shared_state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state; a generation under way is bred again by `ask`."""
        self._restore_shared(state)
        self._bred = None
        size, last = self.settings.population, self.generation - 1
        self._refuse_impossible(self.generation * size, range(1, size + 1) if self.generation else range(1))
        self._refuse_impossible_population(last)
        best = self.best()
        self._best_before = best.fitness if best else None

    def _refuse_impossible_population(self, last: int) -> None:
        """Refuse a restored population that cannot be that after the generation `last`.

        Raises:
            ValueError: It is one.
        """
        passed = sum(one.candidate.generation < last for one in self.population)
        born = [(one.candidate.generation, one.candidate.slot) for one in self.population[passed:]]
        if passed > self.settings.elites or born != [(last, passed + place) for place in range(len(born))]:
            raise ValueError(f"the population is not {passed} elites and those born in generation {last}, by slots")

    def _new_generation(self) -> Iterator[Candidate]:
        """Begin a generation: return its candidates, to be taken within `_draws`, and set how many are to be asked."""
        first, most = 0, self._most_evaluations
        polish, number = self.polish, self.generation
        self._draws = nullcontext()
        made: Iterable[Made]
        if not number:
            made = self.first_generation()
            count = len(made)
        elif self.climb is not None and self.climb.promotes_in(number):
            made = self.climb.promoted()
            count = len(made)
        else:
            self._draws = seeded(self.seed, number)
            if self._starts_again:
                count = self._children
                made = ((uniform_genome(len(self.genes)), (), RESTARTED) for _ in range(count))
            else:
                polished = polish is not None and polish.is_on(number)
                count = self._polished if polished else self._children
                with self._draws:
                    made = polish.breed(count) if polish is not None and polished else self.breed(count)
                first = self._passing
        self._left = count if most is None else min(count, max(most - self.evaluations, 0))
        return (_newborn(number, slot, one) for slot, one in enumerate(made, start=first))

    @property
    def _starts_again(self) -> bool:
        """Whether the next generation is uniform: never on finer cells, nor in the local search."""
        return self.restart is not None and self.restart.due and self._is_plain

    @property
    def _is_plain(self) -> bool:
        """Whether the next generation is of the coarsest cells and not of the local search."""
        polish = self.polish
        return not self.level_of(self.generation) and (polish is None or not polish.is_on(self.generation))

    @property
    def _most_evaluations(self) -> int | None:
        """Evaluations at most by the end of the part of the search that is under way."""
        if self.polish is not None and self.polish.is_on(self.generation):
            return self.polish.stop.evaluations
        return (self._before.stop if self.climb is None else self.climb.stop).evaluations

    @property
    def _polished(self) -> int:
        """Number of individuals of a generation of the local search."""
        return self.settings.population - self._passing

    @property
    def _passing(self) -> int:
        """Number of individuals that pass to the next generation as they are; its first slots are theirs."""
        return min(self.settings.elites, len(self.population))

    @property
    def _children(self) -> int:
        """Number of individuals bred for a generation but the first."""
        return self.settings.population - self._passing

    def _elites(self) -> list[Scored]:
        """Return the best of the population, the best first."""
        return nsmallest(self.settings.elites, self.population, key=lambda one: one.rank)

    def _next_population(self, told: list[Scored]) -> list[Scored]:
        return self._elites() + told

    def promoted(self, told: list[Scored]) -> list[Scored]:
        """Return the first population on finer cells: those solved there, in order of slots."""
        return told

    def started_again(self, told: list[Scored]) -> list[Scored]:
        """Return the population after a new start: nothing before it is bred from."""
        return told

    def after_polish(self, told: list[Scored]) -> list[Scored]:
        """Return the population after a generation of the local search."""
        return self._elites() + told

    def _close(self, told: list[Scored]) -> None:
        climb, polish = self.climb, self.polish
        if climb is not None:
            climb.take(told, self.generation)
        if climb is not None and climb.promotes_in(self.generation):
            self.population, self.hall_of_fame = self.promoted(told), []
        elif polish is not None and polish.is_on(self.generation):
            polish.take(told, self._polished, self.generation)
            self.population = self.after_polish(told)
        elif self._starts_again:
            self.population = self.started_again(told)
        else:
            self.population = self._next_population(told)
        if self.restart is not None and self._is_plain:
            self.restart.take(told)
        self.evaluations += sum(not one.cached for one in told)
        self._honour(told)
        self._close_generation()
        self._bred = None
        if climb is not None or polish is not None:
            self.stopped()  # whether the next generation is the first one of a part is a part of the state


def _newborn(generation: int, slot: int, made: Made) -> Candidate:
    genome, parents, operator = made
    found = {
        "individual": individual_id(generation, slot),
        "generation": generation,
        "slot": slot,
        "genome": genome,
        "parents": parents,
        "operator": operator,
        "birth": None,
        "bred_after": None,
    }
    return owned(Candidate, found)


class Genetic(Generational):
    """The genetic algorithm: tournaments, crossover, mutation.

    With `overlap` a pair of parents has random numbers of its own. So its children depend on the seed, the generation,
    their place and the contestants for the pair's two places, and on no other pair.
    """

    counts_restarts = True
    _ahead: _Ahead | None = None

    def breed(self, count: int) -> Iterator[Made]:
        """Return children of pairs of parents."""
        settings = self.settings
        if settings.overlap:
            pool = [Individual.from_scored(one) for one in self.population]
            made, self._ahead = {} if self._ahead is None else self._ahead.made, None
            for place in range(-(-count // 2)):
                draws: Draws = self._draws  # type: ignore[assignment] - those of a generation that is bred
                yield from made.get(place) or self._of_pair(place, pool, draws)
            return
        population = self.population
        places = winners([-one.fitness for one in population], count + count % 2, settings.tournament_size)
        parents: dict[int, Individual] = {}
        for place, another in zip(places[::2], places[1::2], strict=True):
            one = parents.get(place) or parents.setdefault(place, Individual.from_scored(population[place]))
            other = parents.get(another) or parents.setdefault(another, Individual.from_scored(population[another]))
            yield from vary(one, other, settings.crossover, settings.mutation)

    def ask_ahead(self, results: Iterable[Result]) -> list[Candidate]:
        """Return the children of pairs whose contestants are all elites, or have results that were given."""
        settings, number = self.settings, self.generation + 1
        if not settings.overlap or not self._bred or self._left or number >= settings.generations:
            return []
        draws = seeded(self.seed, number)
        ahead = self._ahead = self._ahead or self._begin_ahead(draws)
        for one in results:
            ahead.pool[self.under_way[one.individual].slot] = Individual.from_scored(self._scored(one))
        known = {place for place, one in enumerate(ahead.pool) if one is not None}
        decided = [place for place, those in ahead.open.items() if those <= known]
        with draws:
            made = {place: self._of_pair(place, ahead.pool, draws) for place in decided}  # type: ignore[arg-type]
        for place in decided:
            del ahead.open[place]
        ahead.made |= made
        born = ((2 * place + at, one) for place, children in made.items() for at, one in enumerate(children))
        return [_newborn(number, ahead.first + at, one) for at, one in born if at < ahead.count]

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state; a generation under way is bred again by `ask`."""
        super().restore(state)
        self._ahead = None

    def _begin_ahead(self, draws: Draws) -> _Ahead:
        """Draw the contestants of the next generation's pairs, of those that are asked for in any case."""
        settings, most = self.settings, self._most_evaluations
        pool = [*map(Individual.from_scored, self._elites()), *(None for _ in self._bred or ())]
        first = min(settings.elites, len(pool))
        count = settings.population - first
        if most is not None:
            count = max(min(count, most - self.evaluations - len(self._bred or ())), 0)
        meeting = {}
        with draws:
            for place in range(-(-count // 2)):
                draws.begin_part(place)
                meeting[place] = set(contestants(len(pool), 2 * settings.tournament_size))
        return _Ahead(pool=pool, first=first, count=count, open=meeting)

    def _of_pair(self, place: int, pool: Sequence[Individual], draws: Draws) -> list[Made]:
        """Return the two children of a pair; within `draws`."""
        draws.begin_part(place)
        one, other = tournament(pool, 2, self.settings.tournament_size)
        return vary(one, other, self.settings.crossover, self.settings.mutation)


@dataclass(kw_only=True)
class _Ahead:
    """What is known of the next generation.

    Attributes:
        pool: The population that it is bred from; None is not known yet.
        first: Slot of its first child.
        count: Children that are asked for in any case.
        open: Places in the pool that meet for a pair, by the pair, where its children are not made.
        made: Children of the other pairs.
    """

    pool: list[Individual | None]
    first: int
    count: int
    open: dict[int, set[int]]
    made: dict[int, list[Made]] = field(default_factory=dict)


class Survivors(Generational):
    """A search that breeds a whole population each generation and keeps what it likes of parents and children."""

    @abstractmethod
    def survivors(self, told: Sequence[Scored]) -> list[Scored]:
        """Return the next population, at most one a slot; called once a generation."""

    @abstractmethod
    def own_state(self) -> dict[str, Any]:
        """Return what the algorithm knows in addition to its population, as JSON-able data with exact floats."""

    @abstractmethod
    def restore_own(self, state: Mapping[str, Any]) -> None:
        """Go back to what `own_state` returned.

        Raises:
            ValueError: No search can have had it.
        """

    def state(self) -> dict[str, Any]:
        """Return what the search knew between the last two generations: nothing changes inside of one."""
        return {**super().state(), "own": self.own_state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state; a generation under way is bred again by `ask`."""
        super().restore(state)
        self.restore_own(state["own"])

    @property
    def _passing(self) -> int:
        return 0

    def after_polish(self, told: list[Scored]) -> list[Scored]:
        """Return those who were polished: no other generation is bred from them."""
        return told

    def _next_population(self, told: list[Scored]) -> list[Scored]:
        return self.survivors(told)

    def _refuse_impossible_population(self, last: int) -> None:
        slots = [one.candidate.slot for one in self.population]
        if slots != list(range(len(slots))):
            raise ValueError("the population is not in the order of slots")


class RandomSearch(Generational):
    """Fresh uniform genomes each generation: what any algorithm has to beat."""

    def breed(self, count: int) -> list[Made]:
        """Return fresh genomes."""
        return [(uniform_genome(len(self.genes)), (), "random") for _ in range(count)]
