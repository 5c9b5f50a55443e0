"""Settings of the search and the registry of its algorithms, free of any file format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from antennaopt.errors import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """Where an algorithm is, by name: an experiment file must know it, and must not import DEAP.

    Attributes:
        module: Module of this package.
        search: Its class, a `Search`.
        keeps_elites: Whether elites pass from a generation to the next without a new evaluation.
    """

    module: str
    search: str
    keeps_elites: bool = True


ALGORITHMS = {
    "ga": Algorithm(module="generational", search="Genetic"),
    "random": Algorithm(module="generational", search="RandomSearch"),
    "steady_state": Algorithm(module="steady", search="SteadyState", keeps_elites=False),
}
"""Every algorithm, by its name in experiment files."""

CROSSOVERS = ("simulated_binary", "blend", "uniform", "two_point")
MUTATIONS = ("polynomial", "gaussian")


def _known(cls: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the entries of `data` that are fields of `cls` and are given."""
    names = {item.name for item in fields(cls)}
    return {name: value for name, value in data.items() if name in names and value is not None}


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigurationError(message)


@dataclass(frozen=True, kw_only=True)
class Crossover:
    """How two parents mix.

    Attributes:
        kind: One of `CROSSOVERS`.
        probability: That a pair is crossed at all.
        eta: Crowding of `simulated_binary`: large keeps children near their parents.
        alpha: Reach of `blend` beyond the parents, as a fraction of their distance.
        swap_probability: That `uniform` exchanges one gene.
    """

    kind: str = "simulated_binary"
    probability: float = 0.9
    eta: float = 15.0
    alpha: float = 0.5
    swap_probability: float = 0.5

    def __post_init__(self) -> None:
        _require(self.kind in CROSSOVERS, f"evolution.crossover.kind = {self.kind!r}; it is one of {CROSSOVERS}")
        _require(
            0.0 <= self.probability <= 1.0,
            f"evolution.crossover.probability = {self.probability}; it lies between 0 and 1",
        )


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """How a child is disturbed.

    Attributes:
        kind: One of `MUTATIONS`.
        probability: That a gene is changed, for each gene by itself.
        eta: Crowding of `polynomial`: large keeps steps small.
        sigma: Standard deviation of `gaussian`, as a fraction of the gene's range.
    """

    kind: str = "polynomial"
    probability: float = 0.2
    eta: float = 20.0
    sigma: float = 0.1

    def __post_init__(self) -> None:
        _require(self.kind in MUTATIONS, f"evolution.mutation.kind = {self.kind!r}; it is one of {MUTATIONS}")
        _require(
            0.0 <= self.probability <= 1.0,
            f"evolution.mutation.probability = {self.probability}; it lies between 0 and 1",
        )


@dataclass(frozen=True, kw_only=True)
class Stop:
    """When to stop before the last generation; any of them suffices, None is never.

    Attributes:
        evaluations: Antennas solved, never exceeded; copies of duplicates are free.
        fitness: Best fitness that is good enough.
        stagnation: Generations in a row without a better best.
        wall_time: Seconds since the run began, pauses between stop and resume left out.
        goals: Stop when the best individual meets all goals (its fitness is 0).
    """

    evaluations: int | None = None
    fitness: float | None = None
    stagnation: int | None = None
    wall_time: float | None = None
    goals: bool = True


@dataclass(frozen=True, kw_only=True)
class EvolutionSettings:
    """Everything that decides the search but the genes and the seed.

    Attributes:
        algorithm: `ga`; `steady_state`, in which a child is bred whenever a place is free; or `random`: fresh uniform
            genomes each generation, with the same budget.
        population: Individuals in a generation, elites included.
        generations: How many, the random first one included; in a steady state blocks of `population` individuals.
        tournament_size: Individuals that meet for each parent's place.
        elites: Best individuals that pass to the next generation as they are, without a new evaluation; in a steady
            state all of the population are what elites are elsewhere, and this has no meaning.
        crossover: How two parents mix.
        mutation: How a child is disturbed.
        stop: When to stop early.
    """

    algorithm: str = "ga"
    population: int = 24
    generations: int = 12
    tournament_size: int = 3
    elites: int = 2
    crossover: Crossover = field(default_factory=Crossover)
    mutation: Mutation = field(default_factory=Mutation)
    stop: Stop = field(default_factory=Stop)

    def __post_init__(self) -> None:
        _require(
            self.algorithm in ALGORITHMS, f"evolution.algorithm = {self.algorithm!r}; it is one of {tuple(ALGORITHMS)}"
        )
        _require(self.population >= 1, f"evolution.population = {self.population}; at least 1 is needed")
        _require(self.generations >= 1, f"evolution.generations = {self.generations}; at least 1 is needed")
        _require(self.tournament_size >= 1, f"evolution.tournament_size = {self.tournament_size}; at least 1 is needed")
        _require(
            0 <= self.elites < self.population,
            f"evolution.elites = {self.elites} leaves no room for children in a population of {self.population}; "
            "use fewer elites",
        )

    @property
    def most_evaluations(self) -> int:
        """Evaluations at most, if no generation holds duplicates and no stop but `stop.evaluations` comes first."""
        passed = self.elites if ALGORITHMS[self.algorithm].keeps_elites else 0
        planned = self.population + (self.generations - 1) * (self.population - passed)
        return planned if self.stop.evaluations is None else min(planned, self.stop.evaluations)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EvolutionSettings:
        """Build from the `evolution` table of a resolved experiment; keys of other packages are left out."""
        known = _known(cls, data)
        for name, part in (("crossover", Crossover), ("mutation", Mutation), ("stop", Stop)):
            if isinstance(known.get(name), Mapping):
                known[name] = part(**_known(part, known[name]))
        return cls(**known)
