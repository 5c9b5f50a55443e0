"""What the loop hands out and takes back: plain, frozen, JSON-able data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from antennaopt.search.genome import recorded
from antennaopt.search.settings import CROSSOVERS, MUTATIONS

MOST = 2**63 - 1
"""What a column of rows can hold."""


INDIVIDUAL = re.compile(r"g[0-9]{4,}-s[0-9]{3,}")
OPERATORS = frozenset({"random", "planted", "clone", *CROSSOVERS, *MUTATIONS})


def individual_id(generation: int, slot: int) -> str:
    """Name an individual by where it was born; the names sort in order of birth."""
    return f"g{generation:04d}-s{slot:03d}"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One genome that wants a fitness.

    Attributes:
        individual: Id, `g0003-s012` for slot 12 of generation 3.
        generation: Generation it was born in, from 0.
        slot: Its place in that generation's population.
        genome: Genes, each in [0, 1].
        parents: Ids of the individuals that it came from; empty in the first generation.
        operator: What made it: `random`, `planted`, `clone`, or the operators that changed it joined by `+`.
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

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data; floats survive a round trip through `json` exactly."""
        data = {
            "individual": self.individual,
            "generation": self.generation,
            "slot": self.slot,
            "genome": list(self.genome),
            "parents": list(self.parents),
            "operator": self.operator,
        }
        if self.birth is not None:
            data |= {"birth": self.birth, "bred_after": self.bred_after}
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
        return cls(
            individual=data["individual"],
            generation=generation,
            slot=slot,
            genome=recorded(data["genome"]),
            parents=known_parents(data["parents"]),
            operator=known_operator(data["operator"]),
            birth=_number(data.get("birth")),
            bred_after=_number(data.get("bred_after")),
        )


def counted(value: Any) -> int:
    """Return a count as a checkpoint has it.

    Raises:
        ValueError: It is no whole number from 0.
    """
    if type(value) is not int or not 0 <= value <= MOST:
        raise ValueError(f"{str(value)[:40]!r} is no whole number from 0")
    return value


def known_parents(names: Iterable[Any]) -> tuple[str, ...]:
    """Return ids of parents as a checkpoint has them.

    Raises:
        ValueError: One is no individual's id.
    """
    parents = tuple(names)
    for name in parents:
        if not isinstance(name, str) or not INDIVIDUAL.fullmatch(name):
            raise ValueError(f"{str(name)[:40]!r} is no parent's id")
    return parents


def known_operator(name: Any) -> str:
    """Return what made an individual as a checkpoint has it.

    Raises:
        ValueError: Nothing here makes any in that way.
    """
    if not isinstance(name, str) or not OPERATORS.issuperset(name.split("+")):
        raise ValueError(f"{str(name)[:40]!r} is no operator")
    return name


def _number(value: Any) -> int | None:
    return None if value is None else counted(value)


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A candidate with its fitness.

    Attributes:
        candidate: Who.
        fitness: The number that is minimised; finite.
        ok: The outcome was `ok`; only such enter the hall of fame.
        cached: The outcome was copied from an earlier duplicate; it does not count as an evaluation.
    """

    candidate: Candidate
    fitness: float
    ok: bool = True
    cached: bool = False

    @property
    def rank(self) -> tuple[float, str]:
        """Sorting key: fitness, then id, so that a tie is always broken the same way."""
        return self.fitness, self.candidate.individual

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        return {"candidate": self.candidate.to_dict(), "fitness": self.fitness, "ok": self.ok, "cached": self.cached}

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
        return cls(candidate=candidate, fitness=fitness, ok=data["ok"], cached=data["cached"])


def require_finite(individual: str, fitness: float) -> None:
    """Refuse a fitness that would break every comparison, silently.

    Raises:
        ValueError: It is not finite.
    """
    if not math.isfinite(fitness):
        raise ValueError(f"individual {individual} has fitness {fitness}; it must be finite")
