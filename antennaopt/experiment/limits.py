"""The table [limits]: limits of a workshop or a printer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, Strict

from antennaopt.experiment.fields import EntryError, Length, Table
from antennaopt.families import Family, Making
from antennaopt.quantities import format_length
from antennaopt.terminal import with_article


def _degrees(value: Any) -> Any:
    """Read an angle, a number of degrees or text, `"45 deg"`."""
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*deg\s*", value)
        if match is None:
            raise EntryError('is no angle; write degrees, for example "45 deg"', value=value)
        return float(match[1])
    return float(value) if type(value) is int else value


class Limits(Table):
    """Limits of making; see `antennaopt.families.making.Making`.

    Attributes:
        repair: Change a design that breaks a limit in place of refusing it, where that has one meaning.
    """

    slot: Length | None = None
    tooth: Length | None = None
    wall: Length | None = None
    tool_radius: Length | None = None
    overhang: Annotated[float | None, Strict(), BeforeValidator(_degrees)] = Field(default=None, ge=0.0, lt=90.0)
    monotone: Annotated[bool, Strict()] = False
    repair: Annotated[bool, Strict()] = False

    @property
    def making(self) -> Making:
        """The limits as plain data."""
        return Making(**{name: getattr(self, name) for name in type(self).model_fields if name != "repair"})

    def lines(self) -> list[str]:
        """Return each limit that is set, `slot 0.3 mm`."""
        found = [
            f"{name} {format_length(value)}"
            for name in ("slot", "tooth", "wall", "tool_radius")
            if (value := getattr(self, name)) is not None
        ]
        found += [f"overhang {self.overhang:g} deg"] if self.overhang is not None else []
        return found + [name for name in ("monotone", "repair") if getattr(self, name)]

    def refusal(self, family: Family, lower: Mapping[str, float], upper: Mapping[str, float]) -> str | None:
        """Return why the table makes no sense for antennas between two designs, None where it does."""
        if not self.lines() or self.lines() == ["repair"]:
            return 'limits: no limit is set; write one, for example slot = "0.5 mm", or remove the table'
        wall = upper["feed.outer_radius"] - lower["feed.inner_radius"]
        if self.wall is not None and wall < self.wall * (1 - 1e-9):
            return (
                f"limits.wall = {format_length(self.wall)} is thicker than the feed's wall of {format_length(wall)} "
                "(antenna.feed.outer_radius - inner_radius), so no antenna keeps it; enlarge outer_radius or lower it"
            )
        if self.monotone and not family.outline(lower).conductors[1:]:
            return f"limits.monotone is about a horn's bore, and {with_article(family.name)} has none; remove it"
        if not self.repair:
            return None
        first = next((line.split()[0] for line in self.lines() if line not in ("monotone", "repair")), None)
        if first is not None:
            return (
                f"limits.repair = true: a design that breaks limits.{first} can be repaired in many ways; remove "
                "repair (only monotone of a spline_horn is repaired)"
            )
        if family.name != "spline_horn":
            return (
                f"limits.repair = true: {with_article(family.name)} "
                "that breaks limits.monotone can be repaired in many ways; "
                "remove repair (only that of a spline_horn is repaired)"
            )
        return None


def widened(design: dict[str, float]) -> dict[str, float]:
    """Return a design of a spline horn whose radii nowhere fall: each is at least as large as the one before it."""
    least, changed = design["feed.inner_radius"], dict(design)
    for name, value in design.items():
        if name.startswith("horn.radii."):
            least = max(least, value)
            changed[name] = least
    return changed
