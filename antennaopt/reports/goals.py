"""The goals of a run, as `resolved.json` holds them, for tables and to be drawn into figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antennaopt.reports.canvas import frequency_span
from antennaopt.reports.labels import label_of, number


@dataclass(frozen=True, kw_only=True)
class Goal:
    """One objective.

    Attributes:
        metric: Name of the figure of merit, or of another kind of objective.
        at_least: Lower goal, in the metric's unit, or None.
        at_most: Upper goal, or None.
        weight: In the weighted sum.
        frequencies: Hz at which it is asked for; empty for all.
        column: Its shortfall's column in the rows.
    """

    metric: str
    at_least: float | None
    at_most: float | None
    weight: float
    frequencies: tuple[float, ...]
    column: str

    @property
    def level(self) -> float | None:
        """The value to reach."""
        return self.at_least if self.at_least is not None else self.at_most

    def text(self) -> str:
        """Write the goal for people: `at least 18 dBi`, and where, when that is not everywhere."""
        label = label_of(self.metric)
        words = [
            f"{word} {number(level, 4).rstrip('0').rstrip('.')} {label.unit}".rstrip()
            for word, level in (("at least", self.at_least), ("at most", self.at_most))
            if level is not None
        ]
        where = f" at {frequency_span(self.frequencies)}" if self.frequencies else ""
        return " and ".join(words) + where


def goals_of(resolved: Mapping[str, Any], columns: tuple[str, ...]) -> tuple[Goal, ...]:
    """Return the goals in the experiment's order.

    Args:
        resolved: What `resolved.json` holds.
        columns: Shortfall columns of the rows, one an objective, in the same order.
    """
    tables: Sequence[Mapping[str, Any]] = resolved.get("objectives") or resolved.get("objective") or ()
    return tuple(
        Goal(
            metric=str(table.get("metric", column)),
            at_least=table.get("at_least"),
            at_most=table.get("at_most"),
            weight=1.0 if table.get("weight") is None else float(table["weight"]),
            frequencies=tuple(float(hz) for hz in table.get("frequencies") or ()),
            column=column,
        )
        for table, column in zip(tables, columns, strict=False)
    )
