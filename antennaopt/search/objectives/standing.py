"""How an antenna stands to a goal, in the metric's own unit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from antennaopt.search.objectives.objective import Objective, Outcome


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A goal, and the value of one antenna at the frequency where it is worst.

    Attributes:
        metric: Key of the outcome.
        at_least: Lower goal, in the metric's unit, or None.
        at_most: Upper goal, in the metric's unit, or None.
        frequencies: Hz at which the goal holds; empty for all.
        weight: Factor in the weighted sum.
        value: Worst value, in the metric's unit, finite; None where the metric is not defined.
        frequency_hz: Where it is worst; None when the metric is defined nowhere and need not be.
        margin: By how much the goal is met, in the metric's unit; negative when it is missed, None without a value.
        shortfall_db: What enters the fitness; 0 when the goal is met.
    """

    metric: str
    at_least: float | None
    at_most: float | None
    frequencies: tuple[float, ...]
    weight: float
    value: float | None
    frequency_hz: float | None
    margin: float | None
    shortfall_db: float

    @property
    def met(self) -> bool:
        """Whether the goal is met at all of its frequencies."""
        return self.shortfall_db <= 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data; frequencies in Hz."""
        return {
            "metric": self.metric,
            "at_least": self.at_least,
            "at_most": self.at_most,
            "frequencies_hz": list(self.frequencies),
            "weight": self.weight,
            "value": self.value,
            "frequency_hz": self.frequency_hz,
            "margin": self.margin,
            "shortfall_db": self.shortfall_db,
            "met": self.met,
        }


def standings(outcome: Outcome, objectives: Iterable[Objective]) -> tuple[Standing, ...]:
    """Return how an outcome stands to each goal; empty unless it is `ok`.

    Args:
        outcome: As `evaluate` returns it.
        objectives: From `build`.
    """
    if outcome["status"] != "ok":
        return ()
    return tuple(objective.standing(outcome) for objective in objectives)
