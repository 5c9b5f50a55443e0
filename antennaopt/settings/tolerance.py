"""Settings of the deviations of made antennas from their design."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

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

    @cached_property
    def deviations(self) -> tuple[str, ...]:
        """Names of all deviations that are drawn for an antenna, in order."""
        return tuple(name for one in self.of for name in one.deviations)

    @cached_property
    def entries(self) -> tuple[str, ...]:
        """Names of all entries of a design that differ, in order."""
        return tuple(name for one in self.of for name in one.entries)

    @cached_property
    def drawn_by(self) -> tuple[tuple[str, int], ...]:
        """Entries, each with the place of its deviation among `deviations`."""
        at = {name: place for place, name in enumerate(self.deviations)}
        return tuple((entry, at[one.name if one.correlated else entry]) for one in self.of for entry in one.entries)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as a resolved file writes it."""
        aim = self.aim if self.quantile is None else {"quantile": self.quantile}
        of = {one.name: one.to_dict() for one in self.of}
        return {"samples": self.samples, "aim": aim, "final_samples": self.final_samples, "of": of}
