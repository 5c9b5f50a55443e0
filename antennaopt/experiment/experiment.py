"""The whole file: an experiment, or an antenna if no parameter is a range; reports the first error in one line."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    Strict,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from antennaopt.errors import ConfigurationError
from antennaopt.experiment.antenna import AntennaTable, Solver
from antennaopt.experiment.automatic import by_genes, by_objectives, is_automatic, reason, with_algorithm
from antennaopt.experiment.changes import with_changes
from antennaopt.experiment.checks import check, check_distance, find_warnings
from antennaopt.experiment.closed_form import closed_form_of
from antennaopt.experiment.cluster import Cluster
from antennaopt.experiment.faults import first_fault
from antennaopt.experiment.fidelity import FidelityOrAuto, check_fidelity, level_warnings, stop_warnings
from antennaopt.experiment.fields import Range, Table, of_python, refuse_without_effect
from antennaopt.experiment.goal_checks import check_stop
from antennaopt.experiment.limits import Limits, widened
from antennaopt.experiment.objective import Goal, Improved, Required
from antennaopt.experiment.search import Certificate, CertificateOrMode, Evolution, EvolutionOrGenerational
from antennaopt.experiment.search_checks import can_polish
from antennaopt.experiment.tolerance import ToleranceTable, check_tolerance, tolerance_warnings
from antennaopt.experiment.tolerance import widened as spread_out
from antennaopt.families import Family, kind
from antennaopt.figures import LINEAR, POLARISATIONS, Figure
from antennaopt.search.objectives import Objective, build, figures_of
from antennaopt.settings import ALGORITHMS, Mutation

LATER = ("constraints", "fidelity", "secondary")
"""Tables that earlier versions did not have: they are left out where they are not given, and hashes stay."""

LARGEST_SEED = 2**63 - 1

BUDGET = ("generations", "stop")
"""Entries of [evolution] that may change before a resume."""


@dataclass(frozen=True, kw_only=True)
class Gene:
    """A design parameter that the search may choose.

    Attributes:
        name: Dotted name, `lens.radii.0`.
        low: Smallest value, SI.
        high: Largest value, SI.
        kind: `real`, `integer` or `choice`.
        dimension: `length` or `number`.
        choices: The values of a `choice`, SI.
    """

    name: str
    low: float
    high: float
    kind: str = "real"
    dimension: str = "length"
    choices: tuple[float, ...] = ()


class Experiment(Table):
    """Content of an experiment file, every default filled in, SI throughout.

    Attributes:
        name: File stem, or as the file gives it; names the folder of the results.
        title: As the user reads it.
        seed: Same seed, same result.
        polarisation: Of a body of revolution how it is excited: one feed, or two in quadrature. Of an antenna in space
            the wanted one.
        antenna: Family and parameters, ranges included.
        limits: What a workshop cannot make; None where the file has no such table.
        solver: Frequencies, cell, steps.
        tolerance: How made antennas differ from their design; None where the file has no such table.
        fidelity: The coarser cells that the search breeds on first; None where the file has no such table.
        evolution: The search.
        objectives: Goals in the file's order; `[[objective]]` in the file.
        constraints: Goals that come before them; `[[constraint]]` in the file.
        secondary: What is improved among antennas that meet all goals; None where the file has no such table.
        cluster: Where antennas are solved.
        certificate: Whether and how the best antennas are solved again on a finer mesh.
    """

    name: str = Field(default="experiment", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    title: str = ""
    seed: Annotated[int, Strict()] = Field(default=1, ge=0, le=LARGEST_SEED)
    polarisation: Literal[POLARISATIONS] = LINEAR  # type: ignore[valid-type]
    antenna: AntennaTable
    limits: Limits | None = None
    solver: Solver
    tolerance: ToleranceTable = None
    fidelity: FidelityOrAuto | None = None
    evolution: EvolutionOrGenerational = Field(default_factory=Evolution)
    objectives: tuple[Goal, ...] = Field(default=(), alias="objective")
    constraints: tuple[Required, ...] = Field(default=(), alias="constraint")
    secondary: Improved | None = None
    cluster: Cluster = Field(default_factory=Cluster)
    certificate: CertificateOrMode = Field(default_factory=Certificate)

    @model_validator(mode="wrap")
    @classmethod
    def _from_words(cls, data: Any, handler: ModelWrapValidatorHandler[Experiment]) -> Experiment:
        """Read `algorithm = "auto"`, which becomes the algorithm that is chosen; `de` is polished unless said."""
        if not is_automatic(data):
            return _from_closed_form(data, handler)
        first, polish = by_objectives(data), False
        read = _from_closed_form(with_algorithm(data, first), handler)
        if first == "ga" and (chosen := by_genes(read)) != first:
            polish = chosen == "de" and "polish" not in data["evolution"] and can_polish(read)
            read = _from_closed_form(with_algorithm(data, chosen, polish=polish), handler)
        why = reason(read, polish)
        return read.model_copy(update={"evolution": read.evolution.model_copy(update={"chosen": why})})

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Experiment:
        check(self)
        for newer in (check_distance, check_stop):
            try:
                newer(self)
            except ConfigurationError as fault:  # runs of earlier versions must open
                refuse_without_effect(info, fault, str(fault))
        check_tolerance(self)
        check_fidelity(self)
        return self

    @classmethod
    def parse(
        cls, data: Mapping[str, Any], *, si: bool = False, of_a_run: bool | list[str] = False, folder: Path | str = "."
    ) -> Experiment:
        """Build from a table.

        Args:
            data: As tomllib reads a file.
            si: Bare numbers are SI already.
            of_a_run: Entries without effect are accepted, as in tables that runs wrote; a list gets them.
            folder: Where paths in the file begin.

        Raises:
            ConfigurationError: One line, the first fault.
        """
        try:
            return cls.model_validate(data, context={"si": si, "of_a_run": of_a_run, "folder": str(folder)})
        except ValidationError as error:
            raise ConfigurationError(first_fault(error, cls)) from None

    @classmethod
    def from_resolved(cls, data: Mapping[str, Any]) -> Experiment:
        """Undo `resolved`; keys that it did not write, or only derived, are left out.

        Raises:
            ConfigurationError: The table is damaged.
        """
        return cls.parse({key: value for key, value in data.items() if key in cls.model_fields}, si=True, of_a_run=True)

    def resolved(self) -> dict[str, Any]:
        """Return everything with its defaults as JSON-able data, SI; `genes` and `warnings` are derived."""
        later = {name for name in LATER if not getattr(self, name)}
        data = self.model_dump(mode="json", exclude=later)
        data["genes"] = [{**asdict(gene), "choices": list(gene.choices)} for gene in self.genes]
        data["warnings"] = list(self.warnings)
        return data

    @cached_property
    def genes(self) -> tuple[Gene, ...]:
        """What the search may choose, in the order of the antenna's tables."""
        return tuple(
            Gene(
                name=name,
                low=value.low,
                high=value.high,
                kind=value.kind,
                dimension=self.kind.parameter(name).dimension,
                choices=value.choices,
            )
            for name, value in self.antenna.parameters()
            if isinstance(value, Range)
        )

    @property
    def of_cuts(self) -> str:
        """Polarisation that decides the plane of a pattern that has none: cuts in space are co-polar, both of them."""
        return self.polarisation if self.kind.spatial is None else LINEAR

    @cached_property
    def goals(self) -> tuple[Objective, ...]:
        """The objectives, the secondary one, then the constraints, ready to measure outcomes."""
        objectives, constraints = (
            [one.model_dump() for one in tables] for tables in (self.objectives, self.constraints)
        )
        secondary = None if self.secondary is None else self.secondary.model_dump()
        return build(objectives, self.of_cuts, constraints, secondary)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """Figures that objectives and constraints ask for, each once."""
        return figures_of(self.goals)

    def changed(self, **changes: Any) -> Experiment:
        """Return this experiment with other entries, checked again.

        Args:
            changes: Entries by name, SI; lists may be arrays of NumPy. Of a table the entries that are to differ:
                `solver={"cell": 3e-4}`, and so of the tables of `antenna` and `evolution`:
                `evolution={"stop": {"fitness": 0.1}}`. Other frequencies have their own middle as the design
                frequency, where the old one was in the middle. Another kind of crossover or mutation comes without the
                entries that the old kind alone reads.

        Raises:
            ConfigurationError: One line, the first fault.
        """
        other = self.parse(with_changes(self, of_python(changes)), si=True, of_a_run="evolution" not in changes)
        if "secondary" in changes:
            check_stop(other)
        return other

    @property
    def mutation_by_default(self) -> float:
        """Probability of a mutation where none is given: with `nsga2` that of the literature, one of all genes."""
        is_front = ALGORITHMS[self.evolution.algorithm].front and self.genes
        return 1.0 / len(self.genes) if is_front else Mutation.probability

    @property
    def family(self) -> str:
        """Name of the antenna's family."""
        return self.antenna.family

    @cached_property
    def kind(self) -> Family:
        """The antenna's family, with the bodies that the file draws and its limits of making."""
        return kind(self.antenna.kind, making=None if self.limits is None else self.limits.making)

    @property
    def start(self) -> tuple[dict[str, float], ...]:
        """Designs to plant: gene values, SI, by name."""
        return self.evolution.start

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may surprise, one line each."""
        return (*find_warnings(self), *stop_warnings(self), *level_warnings(self), *tolerance_warnings(self))

    def design(self, values: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return a full design.

        Args:
            values: Gene values, SI, by name; one for each gene.

        Returns:
            Every parameter, SI, by dotted name.

        Raises:
            ConfigurationError: A gene has no value, or a name is no gene.
        """
        given, full = values or {}, self._template.copy()
        if given.keys() == self._gene_names:
            full.update(given)
            if {*map(type, given.values())} != {float}:
                full.update(zip(given, map(float, given.values()), strict=True))
        else:
            open_ = [gene.name for gene in self.genes if gene.name not in given]
            stranger = next((name for name in given if name not in full), next(iter(given), ""))
            wrong = f"{open_[0]} is a range and has no value" if open_ else f"{stranger} is not a gene"
            raise ConfigurationError(f"design: {wrong}; give one value for each of the {len(self.genes)} genes")
        return widened(full) if self.limits is not None and self.limits.repair else full

    @cached_property
    def _template(self) -> dict[str, float]:
        """Every parameter, SI, in order; NaN for a gene."""
        return {name: value for name, value, _ in self.parameters}

    @cached_property
    def _gene_names(self) -> frozenset[str]:
        return frozenset(gene.name for gene in self.genes)

    @cached_property
    def parameters(self) -> tuple[tuple[str, float, bool], ...]:
        """Name, value (SI; NaN for a gene) and whether it is a gene, of every parameter."""
        return tuple(
            (name, math.nan if isinstance(value, Range) else value, isinstance(value, Range))
            for name, value in self.antenna.parameters()
        )

    def bounds(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the designs with every gene at its lowest and at its highest."""
        lower = self.design({gene.name: gene.low for gene in self.genes})
        return lower, self.design({gene.name: gene.high for gene in self.genes})

    def reach(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return `bounds` with room for the tolerances: two designs between which all made antennas are."""
        lower, upper = self.bounds()
        return (lower, upper) if self.tolerance is None else spread_out(self.tolerance.of, lower, upper)

    @property
    def physics_hash(self) -> str:
        """SHA-256 of what decides one antenna's numbers: family, drawn bodies, limits and solver."""
        drawn = {"bodies": self.antenna.digest} if self.antenna.bodies else {}
        limits = {} if self.limits is None else {"limits": self.limits.model_dump(mode="json")}
        return _digest({"family": self.family, **drawn, **limits, "solver": self.solver.model_dump(mode="json")})

    @property
    def config_hash(self) -> str:
        """SHA-256 of what decides the run's numbers: antenna, solver, objectives, seed, search without its budget."""
        parts = {"antenna", "solver", "objectives", "seed", "evolution"} | ({"limits"} if self.limits else set())
        parts |= {"tolerance"} if self.tolerance else set()
        parts |= {name for name in LATER if getattr(self, name)}
        parts |= {"polarisation"} if self.polarisation != LINEAR else set()  # earlier versions had no other
        data = self.model_dump(mode="json", include=parts)
        data["evolution"] = {key: value for key, value in data["evolution"].items() if key not in (*BUDGET, "chosen")}
        data.get("tolerance", {}).pop("final_samples", None)
        return _digest(data)


def _from_closed_form(data: Any, handler: ModelWrapValidatorHandler[Experiment]) -> Experiment:
    """Read `start = "balanis"` of [evolution]: a word in place of designs, which is resolved to one.

    A mutation probability that is not given becomes one over the number of genes where a front is searched for.
    """
    evolution = data.get("evolution") if isinstance(data, Mapping) else None
    if not isinstance(evolution, Mapping) or not isinstance(evolution.get("start"), str):
        return _with_mutation(handler(data))
    word = evolution["start"]
    read = handler({**data, "evolution": {**evolution, "start": []}})
    start = (closed_form_of(read, word),)
    read = _with_mutation(read)
    return read.model_copy(update={"evolution": read.evolution.model_copy(update={"start": start})})


def _with_mutation(read: Experiment) -> Experiment:
    """Return the experiment with the mutation probability of its algorithm where none is given."""
    evolution = read.evolution
    if "mutation" in evolution.model_fields_set and "probability" in evolution.mutation.model_fields_set:
        return read
    mutation = evolution.mutation.model_copy(update={"probability": read.mutation_by_default})
    return read.model_copy(update={"evolution": evolution.model_copy(update={"mutation": mutation})})


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
