"""The tables of a search: [evolution] and [certificate]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, Strict, ValidationInfo, model_serializer

from antennaopt import settings as plain
from antennaopt.experiment.automatic import AUTO
from antennaopt.experiment.fields import (
    LENGTH_BOUNDS,
    Bounds,
    Count,
    Duration,
    EntryError,
    Fraction,
    Number,
    Table,
    below,
    is_of_a_run,
    is_resolved,
    refuse_without_effect,
)
from antennaopt.families import parameter_of
from antennaopt.quantities import LENGTH


def _planted(value: Any, info: ValidationInfo) -> dict[str, float]:
    """Read one design of `start`: gene values by dotted name, or nested as in [antenna]; lists count from 0."""
    if not isinstance(value, Mapping):
        raise EntryError(
            'is not a table of gene values; write for example { "lens.radii" = ["17 mm", ...] }', value=value
        )
    found = {}
    for name, one in _leaves("", value):
        parameter = parameter_of(name)
        bounds = LENGTH_BOUNDS
        if parameter:
            dimension = None if parameter.dimension == "number" else LENGTH
            bounds = Bounds(dimension=dimension, lowest=parameter.lowest, above=parameter.above)
        if parameter and parameter.choices:
            bounds = Bounds(dimension=None, choices=parameter.choices)
        with below(name):
            found[name] = bounds.read(one, si=is_resolved(info))
    return found


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix else str(key), one)
    elif isinstance(value, (list, tuple)):
        for place, one in enumerate(value):
            yield from _leaves(f"{prefix}.{place}", one)
    else:
        yield prefix.removeprefix("antenna."), value


def _read_by_its_kind(table: str) -> AfterValidator:
    """Return a check that refuses an entry of a table of operators that its kind does not read."""

    def check(value: float, info: ValidationInfo) -> float:
        key, given = str(info.field_name), info.data.get("kind")
        reader = plain.READ_BY[table][key]
        if given not in (None, reader):
            why = f'does not go with kind = "{given}" (only "{reader}" uses {key}); remove it'
            refuse_without_effect(info, EntryError(why, value=value), f"evolution.{table}.{key} = {value:g} {why}")
        return value

    return AfterValidator(check)


_OF_CROSSOVER, _OF_MUTATION = map(_read_by_its_kind, plain.READ_BY)


class Crossover(Table):
    """How two parents mix; see `antennaopt.search.Crossover`."""

    kind: Literal["simulated_binary", "blend", "uniform", "two_point"] = "simulated_binary"
    probability: Fraction = plain.Crossover.probability
    eta: Annotated[Number, _OF_CROSSOVER] = Field(default=plain.Crossover.eta, ge=0.0)
    alpha: Annotated[Number, _OF_CROSSOVER] = Field(default=plain.Crossover.alpha, ge=0.0)
    swap_probability: Annotated[Fraction, _OF_CROSSOVER] = plain.Crossover.swap_probability


class Mutation(Table):
    """How a child is disturbed; see `antennaopt.search.Mutation`."""

    kind: Literal["polynomial", "gaussian"] = "polynomial"
    probability: Fraction = plain.Mutation.probability
    eta: Annotated[Number, _OF_MUTATION] = Field(default=plain.Mutation.eta, ge=0.0)
    sigma: Annotated[Number, _OF_MUTATION] = Field(default=plain.Mutation.sigma, gt=0.0)


class Stop(Table):
    """When to stop before the last generation: any of them suffices.

    Attributes:
        evaluations: Antennas solved.
        fitness: Best fitness that is good enough.
        stagnation: Generations in a row without a better best.
        wall_time: s.
        goals: Whether to stop when the best antenna meets all goals.
    """

    evaluations: Count | None = None
    fitness: Number | None = None
    stagnation: Count | None = None
    wall_time: Duration | None = None
    goals: Annotated[bool, Strict()] = plain.Stop.goals


def _without_generational(data: Any) -> Any:
    """Read `generational`, which is short for the choice between two algorithms, and leave only `algorithm`."""
    if not isinstance(data, Mapping) or "generational" not in data:
        return data
    given, rest = data["generational"], {key: value for key, value in data.items() if key != "generational"}
    algorithm = rest.get("algorithm")
    if not isinstance(given, bool):
        raise EntryError("must be true or false", path=("generational",), value=given)
    if given and algorithm == "steady_state":
        raise EntryError(
            'contradicts algorithm = "steady_state", which has no generations; leave one of the two out',
            path=("generational",),
            value=given,
        )
    if not given and algorithm not in (None, "ga", "steady_state"):
        raise EntryError(
            f'does not go with algorithm = "{algorithm}"; generational = false is short for '
            'algorithm = "steady_state", so leave one of the two out',
            path=("generational",),
            value=given,
        )
    return rest if given else {**rest, "algorithm": "steady_state"}


def _of_a_resolved_file(text: str, info: ValidationInfo) -> str:
    if not is_of_a_run(info):
        raise EntryError('is what the program writes for algorithm = "auto"; remove it', value=text)
    return text


class Evolution(Table):
    """The search; see `antennaopt.search.EvolutionSettings`.

    In a file `generational = false` is another way to write `algorithm = "steady_state"`.

    Attributes:
        reference: The point that the hypervolume of a front is measured from; empty for the worst of the first
            generation.
        polish: Whether the last share of the budget is a local search around the best few.
        restart_after: Generations in a row without a better best after which the search starts again.
        overlap: Whether children are solved as soon as their parents are decided, before all of the generation before
            are solved.
        start: Designs to plant in the first generation: gene values, SI, by dotted name.
        chosen: Why `algorithm` was chosen, where the file has "auto"; only in a resolved file.
    """

    also_known: ClassVar[tuple[str, ...]] = ("generational",)
    unlisted: ClassVar[tuple[str, ...]] = ("chosen",)

    algorithm: Literal[(*plain.ALGORITHMS, AUTO)] = "ga"  # type: ignore[valid-type] - the names of the registry
    population: Annotated[int, Strict()] = Field(default=plain.EvolutionSettings.population, ge=2, le=1_000_000)
    generations: Count = plain.EvolutionSettings.generations
    tournament_size: Count = plain.EvolutionSettings.tournament_size
    elites: Annotated[int, Strict()] = Field(default=plain.EvolutionSettings.elites, ge=0)
    crossover: Crossover = Field(default_factory=Crossover)
    mutation: Mutation = Field(default_factory=Mutation)
    reference: tuple[Number, ...] = ()
    polish: Annotated[bool, Strict()] = False
    restart_after: Count | None = None
    overlap: Annotated[bool, Strict()] = False
    start: tuple[Annotated[dict[str, float], PlainValidator(_planted)], ...] = ()
    stop: Stop = Field(default_factory=Stop)
    chosen: Annotated[str, AfterValidator(_of_a_resolved_file)] = ""

    @model_serializer(mode="wrap")
    def _written(self, handler: Any) -> dict[str, Any]:
        """Leave out what earlier versions did not have where it is not given: their hashes stay."""
        return {key: value for key, value in handler(self).items() if key not in LATER or value}

    @property
    def settings(self) -> plain.EvolutionSettings:
        """What decides the search, as plain data."""
        return plain.EvolutionSettings.from_dict(self.model_dump())


LATER = ("reference", "polish", "restart_after", "overlap", "chosen")
"""Entries that are left out where they are not given."""

EvolutionOrGenerational = Annotated[Evolution, BeforeValidator(_without_generational)]


class Certificate(Table):
    """What is required of the evidence that comes with a result; `certificate = "report"` is short for the table.

    Attributes:
        mode: `strict` crowns no doubtful winner, `report` only reports it, `off` leaves it out.
    """

    mode: Literal["strict", "report", "off"] = "strict"


def _mode_alone(value: Any) -> Any:
    return {"mode": value} if isinstance(value, str) else value


CertificateOrMode = Annotated[Certificate, BeforeValidator(_mode_alone)]
