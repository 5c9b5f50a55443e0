"""The generation loop as ask and tell: who is to be solved next, and what came of it."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from antennaopt.errors import ResumeRefusedError
from antennaopt.evolution._candidate import Candidate, Scored, individual_id
from antennaopt.evolution._genome import Gene, encode
from antennaopt.evolution._individual import Individual
from antennaopt.evolution._operators import tournament, vary
from antennaopt.evolution._randomness import seeded
from antennaopt.evolution._settings import EvolutionSettings

HALL_OF_FAME_SIZE = 10
STATE_VERSION = 1


class Evolution:
    """A search that is asked for candidates and told their fitness, a generation at a time.

    What `ask` returns depends on the settings, the genes, the seed and what was told, and on nothing else: not on the
    order of the results, nor on the state of any random generator.

    Attributes:
        generation: The generation that `ask` makes next, or that waits for its results.
        population: The last complete population in order of slots, elites first.
        hall_of_fame: The ten best distinct `ok` individuals so far, best first.
        evaluations: Antennas solved so far; copies of twins do not count.
        stagnation: Generations in a row without a better best.
    """

    def __init__(
        self,
        settings: EvolutionSettings,
        genes: Sequence[Gene],
        seed: int,
        planted: Sequence[Mapping[str, float]] = (),
    ) -> None:
        """Start before the first generation.

        Args:
            settings: The search.
            genes: What a genome stands for, in order.
            seed: At least 0; the same seed gives the same search.
            planted: Known designs as gene values (SI) by name, for the first slots of the first generation; genes
                that a design leaves out are drawn at random.

        Raises:
            ConfigurationError: A planted design names no gene or leaves its range.
        """
        self.settings = settings
        self.genes = tuple(genes)
        self.seed = seed
        self._planted = [encode(self.genes, design) for design in planted]
        self.generation = 0
        self.population: list[Scored] = []
        self.hall_of_fame: list[Scored] = []
        self.evaluations = 0
        self.stagnation = 0
        self._asked: list[Candidate] | None = None

    @property
    def best(self) -> Scored | None:
        """The best `ok` individual so far."""
        return self.hall_of_fame[0] if self.hall_of_fame else None

    def ask(self) -> list[Candidate]:
        """Return the new individuals of the next generation, in order of slots.

        Elites keep their id and fitness and are not among them. In the first generation every slot is new.

        Raises:
            RuntimeError: The last candidates have not been told yet.
        """
        if self._asked is not None:
            raise RuntimeError(f"ask() was called twice: tell() the results of generation {self.generation} first")
        with seeded(self.seed, self.generation):
            if self.generation == 0:
                made = self._first_generation()
            else:
                made = self._children()
        first = self.settings.population - len(made)
        made = made[: self._evaluations_left()]
        self._asked = [
            Candidate(
                individual=individual_id(self.generation, slot),
                generation=self.generation,
                slot=slot,
                genome=genome,
                parents=parents,
                operator=operator,
            )
            for slot, (genome, parents, operator) in enumerate(made, start=first)
        ]
        return list(self._asked)

    def tell(self, scored: Sequence[Scored]) -> None:
        """Take the results of the candidates that were asked, in any order, and close the generation.

        Args:
            scored: One entry a candidate.

        Raises:
            RuntimeError: Nothing was asked.
            ValueError: The candidates are not those that were asked, or a fitness is not finite.
        """
        if self._asked is None:
            raise RuntimeError("tell() was called before ask()")
        by_slot = {one.candidate.slot: one for one in scored}
        ordered = [by_slot.get(candidate.slot) for candidate in self._asked]
        told = [one for one in ordered if one is not None]
        if len(scored) != len(self._asked) or [one.candidate for one in told] != self._asked:
            raise ValueError(
                f"tell() got {len(scored)} results that are not the {len(self._asked)} candidates of "
                f"generation {self.generation}; tell each once"
            )
        for one in told:
            if not math.isfinite(one.fitness):
                raise ValueError(f"individual {one.candidate.individual} has fitness {one.fitness}; it must be finite")
        before = self.best
        self.population = self._elites() + told
        self.evaluations += sum(not one.cached for one in told)
        self._honour(told)
        better = self.best is not None and (before is None or self.best.fitness < before.fitness)
        self.stagnation = 0 if better or self.generation == 0 else self.stagnation + 1
        self.generation += 1
        self._asked = None

    def stopped(self, wall_seconds: float = 0.0) -> str | None:
        """Say why the search is over, or None while it goes on.

        Args:
            wall_seconds: Time that the run has taken, for `stop.wall_time`.

        Returns:
            A short reason for people.
        """
        stop = self.settings.stop
        if self.generation == 0:
            return None
        if stop.fitness is not None and self.best is not None and self.best.fitness <= stop.fitness:
            return f"fitness {self.best.fitness:.4g} reached the target {stop.fitness:.4g}"
        if self.generation >= self.settings.generations:
            return f"all {self.settings.generations} generations done"
        if stop.evaluations is not None and self.evaluations >= stop.evaluations:
            return f"{self.evaluations} evaluations done"
        if stop.stagnation is not None and self.stagnation >= stop.stagnation:
            return f"no improvement for {self.stagnation} generations"
        if stop.wall_time is not None and wall_seconds >= stop.wall_time:
            return f"wall time of {stop.wall_time:g} s used up"
        return None

    def state(self) -> dict[str, Any]:
        """Return what the search knows between two generations, as JSON-able data with exact floats.

        Raises:
            RuntimeError: A generation is under way.
        """
        if self._asked is not None:
            raise RuntimeError(f"generation {self.generation} is under way; its state is that before ask()")
        return {
            "version": STATE_VERSION,
            "seed": self.seed,
            "generation": self.generation,
            "evaluations": self.evaluations,
            "stagnation": self.stagnation,
            "population": [one.to_dict() for one in self.population],
            "hall_of_fame": [one.to_dict() for one in self.hall_of_fame],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state that `state` returned; what follows is what followed then.

        Raises:
            ResumeRefusedError: The state is of another version, seed or number of genes.
        """
        if state.get("version") != STATE_VERSION or state.get("seed") != self.seed:
            raise ResumeRefusedError(
                f"the checkpoint has version {state.get('version')} and seed {state.get('seed')}; this run needs "
                f"version {STATE_VERSION} and seed {self.seed}"
            )
        population = [Scored.from_dict(one) for one in state["population"]]
        if any(len(one.candidate.genome) != len(self.genes) for one in population):
            raise ResumeRefusedError(f"the checkpoint's genomes do not have the {len(self.genes)} genes of this run")
        self.population = population
        self.hall_of_fame = [Scored.from_dict(one) for one in state["hall_of_fame"]]
        self.generation = int(state["generation"])
        self.evaluations = int(state["evaluations"])
        self.stagnation = int(state["stagnation"])
        self._asked = None

    def _uniform(self) -> tuple[float, ...]:
        return tuple(random.random() for _ in self.genes)

    def _first_generation(self) -> list[tuple[tuple[float, ...], tuple[str, ...], str]]:
        """Uniform genomes, the same for every algorithm; planted designs overwrite the first slots."""
        made = []
        for slot in range(self.settings.population):
            genome = self._uniform()
            operator = "random"
            if slot < len(self._planted):
                genome = tuple(self._planted[slot].get(index, gene) for index, gene in enumerate(genome))
                operator = "planted"
            made.append((genome, (), operator))
        return made

    def _children(self) -> list[tuple[tuple[float, ...], tuple[str, ...], str]]:
        count = self.settings.population - min(self.settings.elites, len(self.population))
        if self.settings.algorithm == "random":
            return [(self._uniform(), (), "random") for _ in range(count)]
        pool = [Individual.from_scored(one) for one in self.population]
        parents = tournament(pool, count + count % 2, self.settings.tournament_size)
        made = []
        for one, other in zip(parents[::2], parents[1::2], strict=True):
            for child, origin, operator in vary(one, other, self.settings.crossover, self.settings.mutation):
                made.append((tuple(float(gene) for gene in child), origin, operator))
        return made[:count]

    def _elites(self) -> list[Scored]:
        return sorted(self.population, key=lambda one: one.rank)[: self.settings.elites]

    def _honour(self, told: Sequence[Scored]) -> None:
        """Let `ok` newcomers into the hall of fame, one a genome."""
        distinct: dict[tuple[float, ...], Scored] = {}
        for one in sorted([*self.hall_of_fame, *(one for one in told if one.ok)], key=lambda one: one.rank):
            distinct.setdefault(one.candidate.genome, one)
        self.hall_of_fame = list(distinct.values())[:HALL_OF_FAME_SIZE]

    def _evaluations_left(self) -> int | None:
        most = self.settings.stop.evaluations
        return None if most is None else max(most - self.evaluations, 0)
