"""Settings of a search: algorithm, operators, stop, and levels from coarse to fine cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from antennaopt.errors import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """Where an algorithm is, by name: an experiment file must know it, and must not import DEAP.

    Attributes:
        module: Module of `antennaopt.search`.
        search: Its class, a `Search`.
        keeps_elites: Whether elites pass from a generation to the next without a new evaluation.
        restarts: Whether it can start again from random designs.
        front: Whether it searches for a front: its objectives have no weights.
        operators: Names of its own operators, as the column `operator` of its rows has them; letters, digits and `_`.
    """

    module: str
    search: str
    keeps_elites: bool = True
    restarts: bool = False
    front: bool = False
    operators: tuple[str, ...] = ()


ALGORITHMS = {
    "ga": Algorithm(module="generational", search="Genetic", restarts=True, operators=("restart",)),
    "de": Algorithm(
        module="differential",
        search="Differential",
        keeps_elites=False,
        restarts=True,
        operators=("current_to_pbest", "restart"),
    ),
    "cmaes": Algorithm(
        module="cmaes",
        search="CovarianceAdaptation",
        keeps_elites=False,
        restarts=True,
        operators=("sampled", "restart"),
    ),
    "surrogate": Algorithm(
        module="surrogate",
        search="SurrogateAdaptation",
        keeps_elites=False,
        restarts=True,
        operators=("sampled", "preselected", "restart"),
    ),
    "nsga2": Algorithm(module="nsga2", search="NonDominated", keeps_elites=False, front=True),
    "random": Algorithm(module="generational", search="RandomSearch"),
    "steady_state": Algorithm(module="steady", search="SteadyState", keeps_elites=False),
}
"""Every algorithm, by its name in experiment files."""

CROSSOVERS = ("simulated_binary", "blend", "uniform", "two_point")
MUTATIONS = ("polynomial", "gaussian")

READ_BY = {
    "crossover": {"eta": "simulated_binary", "alpha": "blend", "swap_probability": "uniform"},
    "mutation": {"eta": "polynomial", "sigma": "gaussian"},
}
"""Entries of the tables of operators that one kind alone reads, and that kind."""


def _known(cls: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the entries of `data` that are fields of `cls` and are given."""
    names = {item.name for item in fields(cls)}
    return {name: value for name, value in data.items() if name in names and value is not None}


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigurationError(message)


def _check_operator(operator: Crossover | Mutation, table: str, kinds: tuple[str, ...]) -> None:
    _require(operator.kind in kinds, f"evolution.{table}.kind = {operator.kind!r}; it is one of {kinds}")
    _require(
        0.0 <= operator.probability <= 1.0,
        f"evolution.{table}.probability = {operator.probability}; it lies between 0 and 1",
    )


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
        _check_operator(self, "crossover", CROSSOVERS)


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
        _check_operator(self, "mutation", MUTATIONS)


@dataclass(frozen=True, kw_only=True)
class Stop:
    """When to stop before the last generation; any of them suffices, None is never.

    Attributes:
        evaluations: Antennas solved, never exceeded; copies of duplicates are free.
        fitness: Best fitness that is good enough.
        stagnation: Generations in a row without a better best.
        wall_time: Seconds since the run began, pauses between stop and resume left out.
        goals: Stop when the best individual meets all goals.
    """

    evaluations: int | None = None
    fitness: float | None = None
    stagnation: int | None = None
    wall_time: float | None = None
    goals: bool = True

    def shortened(self, share: float, times: int = 1) -> Stop:
        """Return the same without a share of evaluations and wall time, or without several such shares."""
        evaluations, wall_time = self.evaluations, self.wall_time
        if evaluations is not None:
            evaluations = max(evaluations - times * max(round(share * evaluations), 1), 1)
        return replace(self, evaluations=evaluations, wall_time=wall_time and wall_time * (1.0 - times * share))


POLISH_SHARE = 0.15  # of generations, evaluations and wall time


@dataclass(frozen=True, kw_only=True)
class EvolutionSettings:
    """Everything that decides the search but the genes and the seed.

    Attributes:
        algorithm: One of `ALGORITHMS`.
        population: Individuals in a generation, elites included.
        generations: How many, the random first one included; in a steady state blocks of `population` individuals.
        tournament_size: Individuals that meet for each parent's place.
        elites: Best individuals that pass on without a new evaluation; without meaning in a steady state.
        crossover: How two parents mix.
        mutation: How a child is disturbed.
        stop: When to stop early.
        reference: Of `nsga2`: the point that the hypervolume is measured from, in dB for a goal, in the metric's unit
            for an aim; empty for the worst of the first generation.
        polish: Whether the last share of the budget is a local search around the best few.
        restart_after: Generations in a row without a better best after which the search starts again from random
            designs; None for never, of `cmaes` for its own rule.
        overlap: Of `ga`: whether each pair of parents draws numbers of its own, so that a child whose parents are
            decided can be solved before the generation before it is complete.
    """

    algorithm: str = "ga"
    population: int = 24
    generations: int = 12
    tournament_size: int = 3
    elites: int = 2
    crossover: Crossover = field(default_factory=Crossover)
    mutation: Mutation = field(default_factory=Mutation)
    stop: Stop = field(default_factory=Stop)
    reference: tuple[float, ...] = ()
    polish: bool = False
    restart_after: int | None = None
    overlap: bool = False

    def __post_init__(self) -> None:
        _require(
            self.algorithm in ALGORITHMS, f"evolution.algorithm = {self.algorithm!r}; it is one of {tuple(ALGORITHMS)}"
        )
        for name in ("population", "generations", "tournament_size"):
            count = getattr(self, name)
            _require(count >= 1, f"evolution.{name} = {count}; at least 1 is needed")
        _require(
            0 <= self.elites < self.population,
            f"evolution.elites = {self.elites} leaves no room for children in a population of {self.population}; "
            "use fewer elites",
        )

    @property
    def passed(self) -> int:
        """Individuals that pass to the next generation without a new evaluation."""
        return self.elites if ALGORITHMS[self.algorithm].keeps_elites else 0

    @property
    def most_evaluations(self) -> int:
        """Evaluations at most, if no generation holds duplicates and no stop but `stop.evaluations` comes first."""
        planned = self.population + (self.generations - 1) * (self.population - self.passed)
        return planned if self.stop.evaluations is None else min(planned, self.stop.evaluations)

    @property
    def before_polish(self) -> EvolutionSettings:
        """The search before its local search, which has the last share of the budget; itself without one."""
        if not self.polish:
            return self
        generations = max(self.generations - max(round(POLISH_SHARE * self.generations), 2), 1)
        return replace(self, polish=False, generations=generations, stop=self.stop.shortened(POLISH_SHARE))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EvolutionSettings:
        """Build from the `evolution` table of a resolved experiment; keys of other packages are left out."""
        known = _known(cls, data)
        for name, part in (("crossover", Crossover), ("mutation", Mutation), ("stop", Stop)):
            if isinstance(known.get(name), Mapping):
                known[name] = part(**_known(part, known[name]))
        return cls(**{**known, "reference": tuple(known.get("reference", ()))})


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """How a search goes from coarse cells to fine ones.

    Attributes:
        cells: Cell of each level, m, the coarsest first.
        stops: Energy over its peak at which each level stops, dB; empty where all stop at the same.
        promote: Share of a level's distinct individuals that the next level begins with, at most a population.
        finish: Share of the generations, and of `stop.evaluations` and `stop.wall_time`, that each finer level has.
        refit: Whether the distribution of `cmaes` is fitted to the better half of the promoted, in place of staying.
    """

    cells: tuple[float, ...]
    stops: tuple[float | None, ...] = ()
    promote: float = 0.1
    finish: float = 0.1
    refit: bool = False

    @property
    def levels(self) -> int:
        """Number of lattices."""
        return len(self.cells)

    def reserved(self, generations: int) -> int:
        """Return the number of generations of each finer level: one that is promoted, and at least one that is bred."""
        return max(round(self.finish * generations), 2)

    def generations(self, planned: int, level: int) -> int:
        """Return after how many of a run's generations a level ends."""
        return planned - (self.levels - 1 - level) * self.reserved(planned)

    def stop(self, stop: Stop, level: int) -> Stop:
        """Return when a level ends, of when the run does."""
        return stop.shortened(self.finish, self.levels - 1 - level)

    def promoted(self, distinct: int, settings: EvolutionSettings) -> int:
        """Return how many of a level's distinct individuals the next one begins with, at most."""
        return min(max(round(self.promote * distinct), settings.elites, 2), settings.population)

    def budget(self, settings: EvolutionSettings) -> list[int]:
        """Return the evaluations of each level, at most, the coarsest first."""
        counts: list[int] = []
        first, plain = 0, settings.before_polish
        for level in range(self.levels):
            finest = level == self.levels - 1
            last = settings.generations if finest else self.generations(plain.generations, level)
            begins = self.promoted(counts[-1], settings) if level else settings.population
            most = begins + (last - first - 1) * (settings.population - settings.passed)
            stop = settings.stop if finest else self.stop(plain.stop, level)
            counts.append(most if stop.evaluations is None else min(most, stop.evaluations - sum(counts)))
            first = last
        return counts
