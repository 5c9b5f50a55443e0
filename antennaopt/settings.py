"""Settings of the solver and of the search as plain data with its defaults, free of any file format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from antennaopt.errors import ConfigurationError

CELLS_PER_WAVELENGTH = 20.0
"""Default where neither a cell nor a density is given."""


@dataclass(frozen=True, kw_only=True)
class ReportedModes:
    """Modes of order 1 to report in a plane across a circular guide.

    Attributes:
        plane: Height of the plane, m; 0 is the reference plane of the feed's port.
        modes: Names; empty for all that propagate, at each frequency.
    """

    plane: float
    modes: tuple[str, ...] = ()


LEAST_DECAY_DB = 20.0
"""Of the energy at the stop."""

SOONER_DB = 10.0
"""By how much less the energy must fall after a short pulse."""

ADDED_LATER = ("report_modes", "pulse", "time_step")
"""Entries that tables have only where they are given: digests of files without them stay as they were."""


@dataclass(frozen=True, kw_only=True)
class SolverSettings:
    """Settings of the plan of a lattice, SI.

    Attributes:
        frequencies: Hz, as listed.
        design_frequency: Frequency of the loss tangent, Hz.
        cell: Cell size, m, used exactly as given; None to take it from `cells_per_wavelength`.
        cells_per_wavelength: In the densest medium at the highest frequency; ignored when `cell` is given.
        courant_fraction: Time step as a fraction of the largest stable one.
        max_steps: Largest number of time steps; None to choose by the size of the grid.
        decay_db: Stop when the energy is this far below its peak, dB.
        pml_cells: Thickness of the absorbing layers.
        pml_distance: From the antenna to the layers, m; None to choose by the wavelength.
        grid: (nr, nz) cells, layers included; None to choose by the antenna.
        steps: Exact number of steps, without the energy stop; for benchmarks.
        precision: Precision of the fields, `float32` or `float64`.
        surfaces: The permittivity tensor where a dielectric surface cuts cells, `full` or `diagonal`; None for the
            diagonal in a search and the full one in `simulate` and in certificates.
        report_modes: Planes in which modes are reported.
        pulse: `full`, or `short`: two fifths as long, and the stop `SOONER_DB` earlier; None for the short one in a
            search and the full one in `simulate` and in certificates.
        time_step: `standard`, or `long`: 1.147 times as long in families whose metal is the feed alone, the standard
            one in others; None for the long one in a search and the standard one in `simulate` and in certificates.
    """

    frequencies: tuple[float, ...]
    design_frequency: float
    cell: float | None = None
    cells_per_wavelength: float | None = CELLS_PER_WAVELENGTH
    courant_fraction: float = 0.98
    max_steps: int | None = None
    decay_db: float = 60.0
    pml_cells: int = 10
    pml_distance: float | None = None
    grid: tuple[int, int] | None = None
    steps: int | None = None
    precision: str = "float32"
    surfaces: str | None = None
    report_modes: tuple[ReportedModes, ...] = ()
    pulse: str | None = None
    time_step: str | None = None

    @classmethod
    def of(cls, table: SolverSettings | Mapping[str, Any]) -> SolverSettings:
        """Return settings from a table as `to_dict` writes it; settings as they are."""
        if isinstance(table, SolverSettings):
            return table
        lists = {name: tuple(table[name]) for name in ("frequencies", "grid") if table.get(name) is not None}
        planes = tuple(
            ReportedModes(plane=one["plane"], modes=tuple(one.get("modes", ())))
            for one in table.get("report_modes") or ()
        )
        return cls(**{**table, **lists, "report_modes": planes})

    def with_cell(self, cell: float) -> SolverSettings:
        """Return the same on another cell, m, on the grid that it takes."""
        return replace(self, cell=cell, cells_per_wavelength=None, grid=None)

    def in_a_search(self) -> SolverSettings:
        """Return the same with the tensor at surfaces, the pulse and the time step of a search, where none is given."""
        return replace(
            self,
            surfaces=self.surfaces or "diagonal",
            pulse=self.pulse or "short",
            time_step=self.time_step or "long",
        )

    def as_solved_alone(self) -> SolverSettings:
        """Return the same with the tensor at surfaces, the pulse and the time step of `simulate` and certificates."""
        return replace(self, surfaces="full", pulse="full", time_step="standard")

    def step_counts(self) -> dict[str, int]:
        """Return `steps` and `max_steps`, where they are given."""
        return {name: count for name in ("steps", "max_steps") if (count := getattr(self, name))}

    def to_dict(self) -> dict[str, Any]:
        """Return every entry by name, in the order above; `report_modes` as tables, `ADDED_LATER` where given."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["report_modes"] = [{"plane": one.plane, "modes": list(one.modes)} for one in self.report_modes]
        return {name: value for name, value in data.items() if value or name not in ADDED_LATER}

    @property
    def stop_db(self) -> float:
        """How far below its peak the energy is at the stop, dB."""
        return max(self.decay_db - (SOONER_DB if self.pulse == "short" else 0.0), LEAST_DECAY_DB)


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
    "nsga2": Algorithm(module="nsga2", search="NonDominated", keeps_elites=False, front=True),
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
        promote: Share of a level's distinct individuals that the next level begins with, at most a population.
        finish: Share of the generations, and of `stop.evaluations` and `stop.wall_time`, that each finer level has.
        refit: Whether the distribution of `cmaes` is fitted to the better half of the promoted, in place of staying.
    """

    cells: tuple[float, ...]
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


TRUNCATED_AT = 3.0
"""A normal tolerance ends here, in standard deviations."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How one parameter of an antenna, or each entry of a list, differs between made antennas.

    Attributes:
        name: As the file names it, `lens.radii`.
        sigma: Standard deviation, SI; of a normal one before it is truncated.
        kind: `normal`, truncated at `TRUNCATED_AT` standard deviations, or `uniform`.
        correlated: Whether all entries of a list have the same deviation.
        entries: Names of the design's entries, `lens.radii.0`.
    """

    name: str
    sigma: float
    kind: str = "normal"
    correlated: bool = False
    entries: tuple[str, ...] = ()

    @property
    def reach(self) -> float:
        """Largest deviation to either side, SI."""
        return self.sigma * (TRUNCATED_AT if self.kind == "normal" else 3.0**0.5)

    @property
    def deviations(self) -> tuple[str, ...]:
        """Names of the deviations that are drawn: one an entry, or one for all."""
        return (self.name,) if self.correlated else self.entries

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as a resolved file writes it."""
        return {"sigma": self.sigma, "kind": self.kind, "correlated": self.correlated}


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How made antennas differ from their design, and what a search makes of it.

    Attributes:
        samples: Perturbed copies of a candidate in a search, at most; 0 for none.
        aim: Fitness over the samples: `yield`, `worst`, `mean`, or `quantile`.
        quantile: Of the aim `quantile`; None for the others.
        final_samples: Perturbed copies of each of the best antennas after a search with samples; 0 for none.
        of: One a parameter.
    """

    samples: int = 0
    aim: str = "yield"
    quantile: float | None = None
    final_samples: int = 1000
    of: tuple[Spread, ...] = ()

    @property
    def deviations(self) -> tuple[str, ...]:
        """Names of all deviations that are drawn for an antenna, in order."""
        return tuple(name for one in self.of for name in one.deviations)

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of all entries of a design that differ, in order."""
        return tuple(name for one in self.of for name in one.entries)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as a resolved file writes it."""
        aim = self.aim if self.quantile is None else {"quantile": self.quantile}
        of = {one.name: one.to_dict() for one in self.of}
        return {"samples": self.samples, "aim": aim, "final_samples": self.final_samples, "of": of}
