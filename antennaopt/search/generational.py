"""The generation loop as ask and tell: who is to be solved next, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from antennaopt.search.base import Made, Search
from antennaopt.search.candidate import Candidate, Scored, individual_id, require_finite
from antennaopt.search.genome import Gene
from antennaopt.search.individual import Individual
from antennaopt.search.operators import tournament, vary
from antennaopt.search.randomness import seeded
from antennaopt.search.settings import EvolutionSettings


class Evolution(Search):
    """A search that is asked for candidates and told their fitness, a generation at a time.

    What `ask` returns depends on the settings, the genes, the seed and what was told, and on nothing else: not on the
    order of the results, nor on the state of any random generator.

    Attributes:
        generation: The generation that `ask` makes next, or that waits for its results.
        population: The last complete population in order of slots, elites first.
        hall_of_fame: The ten best distinct `ok` individuals so far, best first.
        evaluations: Antennas solved so far; copies of duplicates do not count.
        stagnation: Generations in a row without a better best.
    """

    def __init__(
        self,
        settings: EvolutionSettings,
        genes: Sequence[Gene],
        seed: int,
        planted: Sequence[Mapping[str, float]] = (),
        genomes: Sequence[Sequence[float | None]] = (),
    ) -> None:
        """Start before the first generation; see `Search`."""
        super().__init__(settings, genes, seed, planted, genomes)
        self._asked: list[Candidate] | None = None

    def ask(self) -> list[Candidate]:
        """Return the new individuals of the next generation, in order of slots.

        Elites keep their id and fitness and are not among them. In the first generation every slot is new.

        Raises:
            RuntimeError: The last candidates have not been told yet.
        """
        if self._asked is not None:
            raise RuntimeError(f"ask() was called twice: tell() the results of generation {self.generation} first")
        made = self.first_generation() if self.generation == 0 else self._children()
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
            require_finite(one.candidate.individual, one.fitness)
        before = self.best
        self.population = self._elites() + told
        self.evaluations += sum(not one.cached for one in told)
        self._honour(told)
        better = self.best is not None and (before is None or self.best.fitness < before.fitness)
        self.stagnation = 0 if better or self.generation == 0 else self.stagnation + 1
        self.generation += 1
        self._asked = None

    def state(self) -> dict[str, Any]:
        """Return what the search knows between two generations, as JSON-able data with exact floats.

        Raises:
            RuntimeError: A generation is under way.
        """
        if self._asked is not None:
            raise RuntimeError(f"generation {self.generation} is under way; its state is that before ask()")
        return self._shared_state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state that `state` returned; what follows is what followed then.

        Raises:
            ResumeRefusedError: The state is of another version, seed or number of genes.
            ValueError: No search with these settings can have had it.
        """
        self._restore_shared(state)
        self._asked = None
        size, last = self.settings.population, self.generation - 1
        self._refuse_impossible(self.generation * size, range(1, size + 1) if self.generation else range(1))
        passed = sum(one.candidate.generation < last for one in self.population)
        born = [(one.candidate.generation, one.candidate.slot) for one in self.population[passed:]]
        if passed > self.settings.elites or born != [(last, passed + place) for place in range(len(born))]:
            raise ValueError(f"the population is not {passed} elites and those born in generation {last}, by slots")

    def _children(self) -> list[Made]:
        count = self.settings.population - min(self.settings.elites, len(self.population))
        with seeded(self.seed, self.generation):
            if self.settings.algorithm == "random":
                return [(self._uniform(), (), "random") for _ in range(count)]
            pool = [Individual.from_scored(one) for one in self.population]
            parents = tournament(pool, count + count % 2, self.settings.tournament_size)
            made: list[Made] = []
            for one, other in zip(parents[::2], parents[1::2], strict=True):
                for child, origin, operator in vary(one, other, self.settings.crossover, self.settings.mutation):
                    made.append((tuple(float(gene) for gene in child), origin, operator))
        return made[:count]

    def _elites(self) -> list[Scored]:
        return sorted(self.population, key=lambda one: one.rank)[: self.settings.elites]

    def _evaluations_left(self) -> int | None:
        most = self.settings.stop.evaluations
        return None if most is None else max(most - self.evaluations, 0)
