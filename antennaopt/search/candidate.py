"""Genomes in [0, 1], decoded to SI values, and the plain JSON-able data that a search exchanges."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.errors import ConfigurationError
from antennaopt.settings import ALGORITHMS, CROSSOVERS, MUTATIONS

if TYPE_CHECKING:
    from antennaopt.experiment import Gene


Made = tuple[tuple[float, ...], tuple[str, ...], str]
"""A new genome, the ids of its parents, and what made it."""


def decode(genes: Sequence[Gene], genome: Sequence[float]) -> dict[str, float]:
    """Turn a genome into design values.

    Args:
        genes: The experiment's genes, in order.
        genome: One number in [0, 1] a gene.

    Returns:
        SI values by name; each lies in its gene's range, ends included.

    Raises:
        ValueError: The genome has another length, or a gene is not a number in [0, 1].
    """
    if len(genome) != len(genes):
        raise ValueError(f"genome has {len(genome)} genes; the experiment has {len(genes)}")
    return {gene.name: _decode(gene, x) for gene, x in zip(genes, map(float, genome), strict=True)}


def decode_all(genes: Sequence[Gene], genomes: Sequence[Sequence[float]]) -> np.ndarray:
    """Turn genomes into design values, to the bit as `decode` does each.

    Args:
        genes: The experiment's genes, in order.
        genomes: One number in [0, 1] a gene.

    Returns:
        SI values, shape (genomes, genes), float64.

    Raises:
        ValueError: As of `decode`.
    """
    if any(len(one) != len(genes) for one in genomes):
        return np.array([list(decode(genes, one).values()) for one in genomes])
    numbers = np.fromiter(chain.from_iterable(genomes), float, len(genomes) * len(genes))
    shares = numbers.reshape(len(genomes), len(genes))
    values = np.empty_like(shares)
    for place, gene in enumerate(genes):
        x = shares[:, place]
        if not ((x >= 0.0) & (x <= 1.0)).all():
            values[:, place] = [_decode(gene, one) for one in x.tolist()]
        elif gene.kind == "choice":
            step = np.minimum((x * levels(gene)).astype(int), levels(gene) - 1)
            values[:, place] = np.array(gene.choices, dtype=float)[step]
        elif gene.kind == "integer":
            step = math.ceil(gene.low) + (x * levels(gene)).astype(int)
            values[:, place] = np.minimum(step, math.floor(gene.high))
        else:
            found = (1.0 - x) * gene.low + x * gene.high
            values[:, place] = np.where(found < gene.low, gene.low, np.where(found > gene.high, gene.high, found))
    return values


def encode(genes: Sequence[Gene], values: Mapping[str, float]) -> dict[int, float]:
    """Turn known design values into genes: the inverse of `decode`, for designs to plant.

    Args:
        genes: The experiment's genes, in order.
        values: SI values by name; genes left out are left open.

    Returns:
        Gene value in [0, 1] by index of the gene, for those that `values` names.

    Raises:
        ConfigurationError: A name is no gene, or a value lies outside its gene's range.
    """
    names = {gene.name: index for index, gene in enumerate(genes)}
    encoded = {}
    for name, value in values.items():
        if name not in names:
            raise ConfigurationError(
                f"evolution.start plants {name!r}, which is not a gene; the genes are {', '.join(names) or 'none'}"
            )
        encoded[names[name]] = _encode(genes[names[name]], float(value))
    return encoded


def recorded(genome: Iterable[Any]) -> tuple[float, ...]:
    """Return a genome as a checkpoint has it.

    Raises:
        ValueError: A gene is no number in [0, 1].
    """
    genes = tuple(float(gene) for gene in genome)
    for place, gene in enumerate(genes):
        if not 0.0 <= gene <= 1.0:
            raise ValueError(f"gene {place} = {gene} lies outside [0, 1]")
    return genes


def design_key(values: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """Return a hashable key that two genomes share exactly when they stand for the same antenna."""
    return tuple(sorted((name, float(value)) for name, value in values.items()))


def levels(gene: Gene) -> int:
    """Return the number of values of a gene that moves in steps: a whole number or a choice."""
    return len(gene.choices) if gene.kind == "choice" else math.floor(gene.high) - math.ceil(gene.low) + 1


def _decode(gene: Gene, x: float) -> float:
    if not 0.0 <= x <= 1.0:
        raise ValueError(f"gene {gene.name} = {x} lies outside [0, 1]")
    if gene.kind == "choice":
        return float(gene.choices[min(int(x * levels(gene)), levels(gene) - 1)])
    if gene.kind == "integer":
        return float(min(math.ceil(gene.low) + int(x * levels(gene)), math.floor(gene.high)))
    # Weighted ends, not low + x (high - low): exact at both ends; the clamp holds against a rounded last bit.
    low, high = gene.low, gene.high
    value = (1.0 - x) * low + x * high
    return low if value < low else high if value > high else value


def _encode(gene: Gene, value: float) -> float:
    if gene.kind == "choice":
        if value not in gene.choices:
            raise ConfigurationError(f"evolution.start: {gene.name} = {value:g} is none of {list(gene.choices)}")
        return (list(gene.choices).index(value) + 0.5) / len(gene.choices)
    # A planted value was read from text, as the bounds were: let it miss them by rounding only.
    slack = 1e-9 * max(abs(gene.low), abs(gene.high))
    if not gene.low - slack <= value <= gene.high + slack:
        raise ConfigurationError(
            f"evolution.start: {gene.name} = {value:.12g} lies outside its range {gene.low:g} to {gene.high:g} (SI); "
            "widen the range or change the design"
        )
    if gene.kind == "integer":
        low, high = math.ceil(gene.low), math.floor(gene.high)
        if abs(value - round(value)) > slack:
            raise ConfigurationError(
                f"evolution.start: {gene.name} = {value:.12g} is no whole number ({low} to {high} are); round it"
            )
        return (round(value) - low + 0.5) / (high - low + 1)
    if gene.high == gene.low:
        return 0.5
    return min(max((value - gene.low) / (gene.high - gene.low), 0.0), 1.0)


MOST = 2**63 - 1
"""What a column of rows can hold."""


INDIVIDUAL = re.compile(r"g[0-9]{4,}-s[0-9]{3,}")
OPERATORS = frozenset({"random", "planted", "clone", "promoted", "polished", *CROSSOVERS, *MUTATIONS})


def individual_id(generation: int, slot: int) -> str:
    """Name an individual by where it was born; the names sort in order of birth."""
    return f"g{generation:04d}-s{slot:03d}"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One genome to be evaluated.

    Attributes:
        individual: Id, `g0003-s012` for slot 12 of generation 3. Where individuals are named in order of completion
            it is that of the birth, `b000012`, until then.
        generation: Generation it was born in, from 0.
        slot: Its place in that generation's population.
        genome: Genes, each in [0, 1].
        parents: Ids of the individuals that it came from; empty in the first generation.
        operator: What made it: `random`, `planted`, `clone`, `promoted` (from coarser cells), or the operators that
            changed it joined by `+`.
        birth: In a steady state, its number in order of birth.
        bred_after: In a steady state, how many individuals were complete when it was bred.
    """

    individual: str
    generation: int
    slot: int
    genome: tuple[float, ...]
    parents: tuple[str, ...] = ()
    operator: str = "random"
    birth: int | None = None
    bred_after: int | None = None

    def placed(self, generation: int, slot: int) -> Candidate:
        """Return it with its id and place in the order of completion."""
        return replace(self, individual=individual_id(generation, slot), generation=generation, slot=slot)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data; floats survive a round trip through `json` exactly."""
        data = {**vars(self), "genome": list(self.genome), "parents": list(self.parents)}
        if self.birth is None:
            del data["birth"], data["bred_after"]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Candidate:
        """Undo `to_dict`.

        Raises:
            ValueError: It is not what `to_dict` returned.
        """
        generation, slot = counted(data["generation"]), counted(data["slot"])
        if data["individual"] != individual_id(generation, slot):
            raise ValueError(f"{data['individual']!r} is not the id of slot {slot} of generation {generation}")
        birth, bred_after = data.get("birth"), data.get("bred_after")
        return cls(
            individual=data["individual"],
            generation=generation,
            slot=slot,
            **_bred(data),
            birth=None if birth is None else counted(birth),
            bred_after=None if bred_after is None else counted(bred_after),
        )

    @classmethod
    def born(cls, number: int, bred_after: int, **bred: Any) -> Candidate:
        """Return a candidate that has no place in the order of completion yet."""
        return cls(individual=f"b{number:06d}", generation=0, slot=0, birth=number, bred_after=bred_after, **bred)

    def birth_to_dict(self) -> dict[str, Any]:
        """Return JSON-able data of one without a place."""
        return {
            "number": self.birth,
            "bred_after": self.bred_after,
            "genome": self.genome,
            "parents": self.parents,
            "operator": self.operator,
        }

    @classmethod
    def from_birth(cls, data: Mapping[str, Any]) -> Candidate:
        """Undo `birth_to_dict`.

        Raises:
            ValueError: It is not what that returned.
        """
        return cls.born(counted(data["number"]), counted(data["bred_after"]), **_bred(data))


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a candidate: what a search is told, and ranks.

    Attributes:
        individual: Id of the candidate.
        shortfalls: dB, one an objective, then one a constraint, 0 where its goal is met; empty unless `ok`. Of an aim
            the number that is minimised.
        status: Of the outcome.
        cached: The outcome was copied from an earlier duplicate; it does not count as an evaluation.
        fitness: Where it is known, as over samples; None for that of the shortfalls.
        misses: One sequence an objective, then one a constraint: by how much each frequency misses it, negative where
            it is met; of an aim the numbers that are minimised. Empty unless `ok`, and where the search wants none.
    """

    individual: str
    shortfalls: Sequence[float] = ()
    status: str = "ok"
    cached: bool = False
    fitness: float | None = None
    misses: Sequence[Sequence[float]] = ()


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A candidate with its rank.

    Attributes:
        candidate: Which.
        fitness: The number that is minimised; finite.
        ok: The outcome was `ok`; only such enter the hall of fame.
        cached: The outcome was copied from an earlier duplicate; it does not count as an evaluation.
        values: Of a search for a front: what is minimised, one number an objective; empty unless `ok`.
    """

    candidate: Candidate
    fitness: float
    ok: bool = True
    cached: bool = False
    values: tuple[float, ...] = ()

    @property
    def rank(self) -> tuple[float, str]:
        """Sorting key: fitness, then id, so that a tie is always broken the same way."""
        return self.fitness, self.candidate.individual

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        data = {"candidate": self.candidate.to_dict(), "fitness": self.fitness, "ok": self.ok, "cached": self.cached}
        return {**data, "values": list(self.values)} if self.values else data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scored:
        """Undo `to_dict`.

        Raises:
            ValueError: It is not what `to_dict` returned.
        """
        candidate, fitness = Candidate.from_dict(data["candidate"]), float(data["fitness"])
        require_finite(candidate.individual, fitness)
        if not isinstance(data["ok"], bool) or not isinstance(data["cached"], bool):
            raise ValueError(f"whether {candidate.individual} is ok, or a copy, is neither true nor false")
        values = tuple(float(one) for one in data.get("values", ()))
        for one in values:
            require_finite(candidate.individual, one)
        return cls(candidate=candidate, fitness=fitness, ok=data["ok"], cached=data["cached"], values=values)


def require_finite(individual: str, fitness: float) -> None:
    """Refuse a fitness that would break every comparison, silently.

    Raises:
        ValueError: It is not finite.
    """
    if not math.isfinite(fitness):
        raise ValueError(f"individual {individual} has fitness {fitness}; it must be finite")


def counted(value: Any) -> int:
    """Return a count as a checkpoint has it.

    Raises:
        ValueError: It is no whole number from 0.
    """
    if type(value) is not int or not 0 <= value <= MOST:
        raise ValueError(f"{str(value)[:40]!r} is no whole number from 0")
    return value


def _bred(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what breeding made of a recorded candidate.

    Raises:
        KeyError, TypeError, ValueError: An entry is missing, or none that breeding makes.
    """
    genome, parents, operator = recorded(data["genome"]), _parents(data["parents"]), _operator(data["operator"])
    return {"genome": genome, "parents": parents, "operator": operator}


def _parents(names: Iterable[Any]) -> tuple[str, ...]:
    """Return ids of parents as a checkpoint has them."""
    parents = tuple(names)
    for name in parents:
        if not isinstance(name, str) or not INDIVIDUAL.fullmatch(name):
            raise ValueError(f"{str(name)[:40]!r} is no parent's id")
    return parents


def _operator(name: Any) -> str:
    """Return what made an individual as a checkpoint has it."""
    known = OPERATORS.union(*(algorithm.operators for algorithm in ALGORITHMS.values()))
    if not isinstance(name, str) or not known.issuperset(name.split("+")):
        raise ValueError(f"{str(name)[:40]!r} is no operator; known are {', '.join(sorted(known))}")
    return name
