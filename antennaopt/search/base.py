"""The protocol of every algorithm, and common parts: settings, genes, seed, population, best so far."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from antennaopt.errors import ResumeRefusedError
from antennaopt.quantities import duration
from antennaopt.search.candidate import Candidate, Made, Result, Scored, counted, encode, require_finite
from antennaopt.search.climb import Climb
from antennaopt.search.objectives import Ranking
from antennaopt.search.operators import seeded, uniform_genome
from antennaopt.search.polish import Polish
from antennaopt.search.restart import Restart
from antennaopt.settings import ALGORITHMS, EvolutionSettings, Ladder, Stop
from antennaopt.unchecked import owned

if TYPE_CHECKING:
    from antennaopt.experiment import Gene

HALL_OF_FAME_SIZE = 10
STATE_VERSION = 1
COUNTS = ("generation", "evaluations", "stagnation")
ALL_GOALS_MET = "all goals are met"
"""Why a search is over whose best fitness, the weighted sum of what is missed, is 0."""


class Search(ABC):
    """An algorithm as its driver sees it: `ask` for candidates, `tell` what came of them, in any order.

    What is asked depends on the settings, the genes, the seed and what was told, and on nothing else: not on the state
    of any random generator, nor on the order of the results unless `by_order`.

    Attributes:
        by_order: Whether the order of completion decides what is bred, so that a driver has to record it.
        wants_misses: Whether `Result.misses` is of use to it.
        settings: Of the search.
        genes: What a genome stands for, in order.
        seed: At least 0.
        generation: The generation that is made next, or that waits for its results.
        population: Individuals that children are bred from.
        hall_of_fame: The ten best distinct `ok` individuals so far, best first.
        evaluations: Antennas solved so far; copies of duplicates do not count.
        stagnation: Generations in a row without a better best.
        under_way: Asked and not told, by id, in the order of asking.
        births: How many have been asked.
        completed: How many have been told.
        hypervolume: Of a search for a front: that of the last generation's; else None.
        reference: The point that the hypervolume is measured from; None until an antenna is `ok`.
        climb: From coarse cells to fine ones; None of a search that stays on the same.
        polish: The local search at the end; None of a search without.
        restart: When the search starts again; None of one that does not, or that decides by itself.
    """

    by_order: ClassVar[bool] = False
    counts_restarts: ClassVar[bool] = False
    wants_misses: ClassVar[bool] = False
    hypervolume: float | None = None
    reference: tuple[float, ...] | None = None

    def __init__(
        self,
        settings: EvolutionSettings,
        genes: Sequence[Gene],
        seed: int,
        order: Ranking | None = None,
        planted: Sequence[Mapping[str, float]] = (),
        genomes: Sequence[Sequence[float | None]] = (),
        ladder: Ladder | None = None,
    ) -> None:
        """Start before the first generation.

        Args:
            settings: The search.
            genes: What a genome stands for, in order.
            seed: At least 0; the same seed gives the same search.
            order: Makes a number to minimise of shortfalls; of one objective with weight 1 when None.
            planted: Known designs as gene values (SI) by name, for the first slots of the first generation; genes
                that a design leaves out are drawn at random.
            genomes: Genomes to plant before those, to the bit; genes that are None are drawn at random.
            ladder: How to go from coarse cells to fine ones; None to stay on the same.

        Raises:
            ConfigurationError: A planted design names no gene or leaves its range.
        """
        self.settings = settings
        self.genes = tuple(genes)
        self.seed = seed
        self._order = order or Ranking()
        given = [{place: float(x) for place, x in enumerate(genome) if x is not None} for genome in genomes]
        self._planted = [*given, *(encode(self.genes, design) for design in planted)]
        self.generation = 0
        self.population: list[Scored] = []
        self.hall_of_fame: list[Scored] = []
        self.evaluations = 0
        self.stagnation = 0
        self.under_way: dict[str, Candidate] = {}
        self.births = 0
        self.completed = 0
        self._best_before: float | None = None
        self.polish = Polish(settings, self.genes) if settings.polish and not self.by_order else None
        self.climb = None if ladder is None else Climb(ladder, self._before)
        after = settings.restart_after if self.counts_restarts else None
        self.restart = None if after is None else Restart(after)

    @abstractmethod
    def ask(self, count: int | None = None) -> list[Candidate]:
        """Return at most `count` new candidates, all there are when None; none while it has to wait for results."""

    @abstractmethod
    def tell(self, results: Iterable[Result | Scored]) -> list[Scored]:
        """Take what came of candidates that are under way, each once, in any order.

        Args:
            results: Of candidates; or what `rank` made of them.

        Returns:
            The candidates with their ranks; where they are named in order of completion, with their names.

        Raises:
            ValueError: A candidate is not under way, or its rank is not finite; nothing was taken in.
        """

    def rank(
        self,
        candidates: Iterable[Candidate],
        statuses: Iterable[str],
        shortfalls: Iterable[Sequence[float]],
        fitness: Iterable[float],
    ) -> list[Scored]:
        """Rank candidates that are under way, and were solved for themselves, before they are told.

        Args:
            candidates: As they were asked.
            statuses: Of their outcomes.
            shortfalls: As `Result` has them.
            fitness: From `fitness_of`.

        Returns:
            What `tell` takes in place of their results, of a search with generations that wants no misses.
        """
        return [
            self._ranked(one, number, ok=status == "ok", cached=False, shortfalls=missed)
            for one, status, missed, number in zip(candidates, statuses, shortfalls, fitness, strict=True)
        ]

    def ask_ahead(self, results: Iterable[Result]) -> list[Candidate]:
        """Return candidates of the next generation that follow from what is known of this one.

        `ask` returns the same ones when this generation has been told, unless the search is over then.

        Args:
            results: Of candidates under way that were not given before; `tell` still needs them all.

        Returns:
            Those that were not returned before; none of an algorithm that needs the whole generation.
        """
        return []

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return what the search knows, as JSON-able data with exact floats.

        Of a search with generations it is the state before the generation that is under way.
        """

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state that `state` returned; what follows is what followed then.

        Raises:
            ResumeRefusedError: The state is of another version, seed or number of genes.
            ValueError: No search with these settings can have had it.
        """

    def best(self) -> Scored | None:
        """Return the best `ok` individual so far."""
        return self.hall_of_fame[0] if self.hall_of_fame else None

    def ranking(self) -> list[Scored]:
        """Return the population, the best first; a tie goes to the older one."""
        return sorted(self.population, key=lambda one: one.rank)

    def front_values(self) -> list[tuple[float, ...]]:
        """Return what the population of a search for a front minimises, without antennas that cannot be on it."""
        return []

    def fitness_of(self, status: str, shortfalls: Sequence[float]) -> float:
        """Return the number that a row has as its fitness; the smaller the better.

        Args:
            status: Of the outcome.
            shortfalls: dB, one an objective, then one a constraint; empty unless `ok`.
        """
        return self._order.fitness(status, shortfalls)

    def all_fitness_of(self, statuses: Sequence[str], shortfalls: Sequence[Sequence[float]]) -> list[float]:
        """Return `fitness_of` of several rows."""
        return self._order.all_fitness(statuses, shortfalls)

    @property
    def has_constraints(self) -> bool:
        """Whether rows have a violation."""
        return self._order.constraints > 0

    def violation_of(self, shortfalls: Sequence[float]) -> float | None:
        """Return the total violation of the constraints; None without any, and without shortfalls."""
        return self._order.violation(shortfalls) if self._order.constraints and shortfalls else None

    def level_of(self, generation: int) -> int:
        """Return the level of the cells that a generation is solved on, 0 the coarsest."""
        return 0 if self.climb is None else self.climb.level_of(generation)

    @property
    def at_top(self) -> bool:
        """Whether the hall of fame is of the finest cells."""
        climb = self.climb
        return climb is None or (climb.at_top and not climb.promotes_in(self.generation))

    def close(self) -> None:  # noqa: B027 - only a search without generations has anything to do
        """Count a last generation that will not be filled."""

    @property
    def planted(self) -> list[tuple[float, ...]]:
        """Genomes of the first generation that were not all drawn."""
        return [genome for genome, _, operator in self.first_generation() if operator == "planted"]

    def stopped(self, wall_seconds: float = 0.0) -> str | None:
        """Return why the search is over, or None.

        Args:
            wall_seconds: Of the run so far.

        Returns:
            A short reason for people.
        """
        if self.generation == 0:
            return None
        polish = self.polish
        if polish is not None and polish.is_on(self.generation):
            stop = replace(polish.stop, stagnation=None)
            reason = self._over(stop, polish.generations, wall_seconds)
            return polish.over() if reason is None else polish.ended(reason)
        reason = self._searched(wall_seconds)
        if reason is None or polish is None or self._is_good_enough:
            return reason
        return None if polish.begin(self.generation, reason, self.hall_of_fame) else reason

    def _searched(self, wall_seconds: float) -> str | None:
        """Return why the search is over, apart from its local search, or None; go up where a level is over."""
        if self.climb is None:
            return self._over(self._before.stop, self._before.generations, wall_seconds)
        climb = self.climb
        return climb.step(self.generation, self._over(climb.stop, climb.generations, wall_seconds))

    @property
    def _before(self) -> EvolutionSettings:
        """The search without its local search."""
        return self.settings if self.polish is None else self.settings.before_polish

    @property
    def _is_good_enough(self) -> bool:
        """Whether nothing is gained by a better antenna."""
        best, wanted = self.best(), self.settings.stop.fitness
        if self._order.after:
            return False
        return best is not None and best.fitness <= max(0.0, wanted or 0.0)

    def _over(self, stop: Stop, generations: int, wall_seconds: float) -> str | None:
        """Return why a search, or a level of it, is over, or None."""
        best = self.best()
        if stop.goals and not self._order.after and best is not None and best.fitness <= 0.0:
            return ALL_GOALS_MET
        if stop.fitness is not None and best is not None and best.fitness <= stop.fitness:
            return f"fitness {best.fitness:.4g} reached the target {stop.fitness:.4g}"
        if self.generation >= generations:
            return f"all {generations} generations done" if generations > 1 else "its one generation is done"
        if stop.evaluations is not None and self.evaluations >= stop.evaluations:
            return f"{self.evaluations} evaluations done"
        if stop.stagnation is not None and self.stagnation >= stop.stagnation:
            return f"no improvement for {self.stagnation} generations"
        if stop.wall_time is not None and wall_seconds >= stop.wall_time:
            return f"wall time of {duration(stop.wall_time)} used up"
        return None

    def first_generation(self) -> list[Made]:
        """Uniform genomes, the same for every algorithm; planted designs overwrite the first slots."""
        made: list[Made] = []
        with seeded(self.seed, 0):
            for slot in range(self.settings.population):
                genome = uniform_genome(len(self.genes))
                operator = "random"
                if slot < len(self._planted):
                    genome = tuple(self._planted[slot].get(index, gene) for index, gene in enumerate(genome))
                    operator = "planted"
                made.append((genome, (), operator))
        return made

    def _scored(self, result: Result | Scored) -> Scored:
        """Rank a candidate that is under way, unless `rank` did.

        Raises:
            ValueError: It is not, or its rank is not finite.
        """
        if isinstance(result, Scored):
            name = result.candidate.individual
            require_finite(name, result.fitness)
            if self.under_way.get(name) is not result.candidate:
                raise ValueError(f"{name} is not under way; tell each once")
            return result
        if result.individual not in self.under_way:
            raise ValueError(f"{result.individual} is not under way; tell each once")
        given = result.fitness
        fitness = self.fitness_of(result.status, result.shortfalls) if given is None else given
        require_finite(result.individual, fitness)
        ok, candidate = result.status == "ok", self.under_way[result.individual]
        return self._ranked(candidate, fitness, ok=ok, cached=result.cached, shortfalls=result.shortfalls)

    def _ranked(
        self, candidate: Candidate, fitness: float, *, ok: bool, cached: bool, shortfalls: Sequence[float]
    ) -> Scored:
        values = self._minimised(shortfalls)
        found = {"candidate": candidate, "fitness": fitness, "ok": ok, "cached": cached, "values": values}
        return owned(Scored, found)

    def _minimised(self, shortfalls: Sequence[float]) -> tuple[float, ...]:
        """Return the numbers by which a search for a front compares an antenna; none of other searches."""
        return ()

    def _honour(self, told: Iterable[Scored]) -> None:
        """Let `ok` newcomers into the hall of fame, one a genome."""
        hall = self.hall_of_fame
        worst = hall[-1].fitness if len(hall) == HALL_OF_FAME_SIZE else math.inf  # none that is worse enters
        distinct: dict[tuple[float, ...], Scored] = {}
        for one in sorted([*hall, *(one for one in told if one.ok and one.fitness <= worst)], key=lambda one: one.rank):
            distinct.setdefault(one.candidate.genome, one)
        self.hall_of_fame = list(distinct.values())[:HALL_OF_FAME_SIZE]

    def _close_generation(self) -> None:
        """Count a generation that is complete, and whether it came to a better best."""
        best = self.best()
        if self.climb is not None and self.climb.promotes_in(self.generation):
            self.stagnation, self._best_before = 0, None  # values of another level
        better = best is not None and (self._best_before is None or best.fitness < self._best_before)
        self.stagnation = 0 if better or self.generation == 0 else self.stagnation + 1
        self._best_before = best.fitness if best else None
        self.generation += 1

    def _shared_state(self) -> dict[str, Any]:
        parts = {} if self.climb is None else {"climb": self.climb.state()}
        parts |= {} if self.polish is None else {"polish": self.polish.state()}
        parts |= {} if self.restart is None else {"restart": self.restart.state()}
        return {
            "version": STATE_VERSION,
            "seed": self.seed,
            **{name: getattr(self, name) for name in COUNTS},
            **{name: [one.to_dict() for one in getattr(self, name)] for name in ("population", "hall_of_fame")},
            **parts,
        }

    def _restore_shared(self, state: Mapping[str, Any]) -> None:
        """Go back to what `_shared_state` returned.

        Raises:
            ResumeRefusedError: The state is of another version, seed or number of genes.
            ValueError: Something in it is not what was written.
        """
        if state.get("version") != STATE_VERSION or state.get("seed") != self.seed:
            raise ResumeRefusedError(
                f"the checkpoint has version {state.get('version')} and seed {state.get('seed')}; this run needs "
                f"version {STATE_VERSION} and seed {self.seed}"
            )
        population = [Scored.from_dict(one) for one in state["population"]]
        hall_of_fame = [Scored.from_dict(one) for one in state["hall_of_fame"]]
        if any(len(one.candidate.genome) != len(self.genes) for one in (*population, *hall_of_fame)):
            raise ResumeRefusedError(f"the checkpoint's genomes do not have the {len(self.genes)} genes of this run")
        self.population, self.hall_of_fame = population, hall_of_fame
        self.generation, self.evaluations, self.stagnation = (counted(state[name]) for name in COUNTS)
        if self.climb is not None:
            self.climb.restore(state["climb"], self.generation)
        if self.polish is not None:
            self.polish.restore(state["polish"], self.generation)
        if self.restart is not None:
            self.restart.restore(state["restart"], self.generation)
        self.under_way = {}

    def _refuse_impossible(self, complete: int, sizes: range) -> None:
        """Refuse a restored state that no search with these settings can have had.

        Args:
            complete: How many individuals there can have been by then, at most.
            sizes: How many of them the population can have.

        Raises:
            ValueError: It is one; the message names the contradiction.
        """
        most, population, hall = self.settings.population, self.population, self.hall_of_fame
        if len(population) not in sizes:
            raise ValueError(f"a population of {len(population)}, where {sizes[0]} to {sizes[-1]} are due")
        if len({one.candidate.individual for one in population}) < len(population):
            raise ValueError("an individual is twice in the population")
        for one in (scored.candidate for scored in (*population, *hall)):
            if one.slot >= most or one.generation * most + one.slot >= complete:
                raise ValueError(f"{one.individual} has not been solved yet")
        self._honour(population)
        if self.hall_of_fame != hall or not all(one.ok for one in hall):
            raise ValueError("the hall of fame is not that of the population")
        if self.evaluations > complete or self.stagnation > max(self.generation - 1, 0):
            raise ValueError(f"{self.evaluations} evaluations and {self.stagnation} generations without a better best")


def new_search(settings: EvolutionSettings, genes: Sequence[Gene], seed: int, **start: Any) -> Search:
    """Return a search of the algorithm that the settings name, before its first generation.

    Args:
        settings: The search.
        genes: What a genome stands for, in order.
        seed: At least 0.
        start: What else `Search` takes.
    """
    entry = ALGORITHMS[settings.algorithm]
    search = getattr(import_module(f"antennaopt.search.{entry.module}"), entry.search)
    return search(settings, genes, seed, **start)
