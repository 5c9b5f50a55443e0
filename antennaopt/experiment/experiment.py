"""The whole file: an experiment, or an antenna when nothing in it is a range."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field, Strict, ValidationError, model_validator

from antennaopt.errors import ConfigurationError
from antennaopt.experiment.antenna import AntennaTable
from antennaopt.experiment.checks import check, find_warnings
from antennaopt.experiment.cluster import Cluster
from antennaopt.experiment.fields import Range, Table
from antennaopt.experiment.messages import one_line
from antennaopt.experiment.search import Certificate, CertificateOrMode, Evolution, EvolutionOrGenerational, Goal
from antennaopt.experiment.solver import Solver
from antennaopt.families import FAMILIES
from antennaopt.search.objectives import Objective, build

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
    """What an experiment file says, every default filled in, SI throughout.

    Attributes:
        name: File stem, or as the file says; names the folder of the results.
        title: For people.
        seed: Same seed, same result.
        antenna: Family and parameters, ranges included.
        solver: Frequencies, cell, steps.
        evolution: The search.
        objectives: Goals in the file's order; `[[objective]]` in the file.
        cluster: Where antennas are solved.
        certificate: What is asked of the evidence.
    """

    name: str = Field(default="experiment", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    title: str = ""
    seed: Annotated[int, Strict()] = Field(default=1, ge=0, lt=2**63)
    antenna: AntennaTable
    solver: Solver
    evolution: EvolutionOrGenerational = Field(default_factory=Evolution)
    objectives: tuple[Goal, ...] = Field(default=(), alias="objective")
    cluster: Cluster = Field(default_factory=Cluster)
    certificate: CertificateOrMode = Field(default_factory=Certificate)

    @model_validator(mode="after")
    def _check(self) -> Experiment:
        check(self)
        return self

    @classmethod
    def parse(cls, data: Mapping[str, Any], *, si: bool = False) -> Experiment:
        """Build from a table.

        Args:
            data: As tomllib reads a file.
            si: Bare numbers are SI already.

        Raises:
            ConfigurationError: One line, the first fault.
        """
        try:
            return cls.model_validate(data, context={"si": si})
        except ValidationError as error:
            raise ConfigurationError(one_line(error, cls)) from None

    @classmethod
    def from_resolved(cls, data: Mapping[str, Any]) -> Experiment:
        """Undo `resolved`; keys that it did not write, or only derived, are left out.

        Raises:
            ConfigurationError: The table is damaged.
        """
        return cls.parse({key: value for key, value in data.items() if key in cls.model_fields}, si=True)

    def resolved(self) -> dict[str, Any]:
        """Return everything with its defaults as JSON-able data, SI; `genes` and `warnings` are derived."""
        data = self.model_dump(mode="json")
        data["genes"] = [
            {
                "name": gene.name,
                "low": gene.low,
                "high": gene.high,
                "kind": gene.kind,
                "dimension": gene.dimension,
                "choices": list(gene.choices),
            }
            for gene in self.genes
        ]
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
                dimension=FAMILIES[self.family].parameter(name).dimension,
                choices=value.choices,
            )
            for name, value in self.antenna.parameters()
            if isinstance(value, Range)
        )

    @cached_property
    def goals(self) -> tuple[Objective, ...]:
        """The objectives, ready to measure outcomes."""
        return build(goal.model_dump() for goal in self.objectives)

    def changed(self, **changes: Any) -> Experiment:
        """Return this experiment with other entries, checked again.

        Args:
            changes: Entries by name, SI; of a table the entries that are to differ: `solver={"cell": 3e-4}`.

        Raises:
            ConfigurationError: One line, the first fault.
        """
        data = self.resolved()
        for name, change in changes.items():
            both = isinstance(change, Mapping) and isinstance(data.get(name), Mapping)
            data[name] = {**data[name], **change} if both else change
        return self.from_resolved(data)

    @property
    def family(self) -> str:
        """Name of the antenna's family."""
        return self.antenna.family

    @property
    def start(self) -> tuple[dict[str, float], ...]:
        """Designs to plant: gene values, SI, by name."""
        return self.evolution.start

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may surprise, one line each."""
        return find_warnings(self)

    def design(self, values: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return a full design.

        Args:
            values: Gene values, SI, by name; one for each gene.

        Returns:
            Every parameter, SI, by dotted name.

        Raises:
            ConfigurationError: A gene has no value, or a name is no gene.
        """
        given = values or {}
        full = {
            name: float(given.get(name, math.nan)) if is_gene else value for name, value, is_gene in self.parameters
        }
        if given.keys() != self._gene_names:
            open_ = [gene.name for gene in self.genes if gene.name not in given]
            stranger = next((name for name in given if name not in full), next(iter(given), ""))
            wrong = f"{open_[0]} is a range and has no value" if open_ else f"{stranger} is not a gene"
            raise ConfigurationError(f"design: {wrong}; give one value for each of the {len(self.genes)} genes")
        return full

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

    @property
    def physics_hash(self) -> str:
        """SHA-256 of what decides one antenna's numbers: family and solver."""
        return _digest({"family": self.family, "solver": self.solver.model_dump(mode="json")})

    @property
    def config_hash(self) -> str:
        """SHA-256 of what decides the run's numbers: antenna, solver, objectives, seed, search without its budget."""
        data = self.model_dump(mode="json", include={"antenna", "solver", "objectives", "seed", "evolution"})
        data["evolution"] = {key: value for key, value in data["evolution"].items() if key not in BUDGET}
        return _digest(data)


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
