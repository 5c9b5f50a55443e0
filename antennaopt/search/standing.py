"""Position of one antenna relative to a goal, and the label of a goal."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from antennaopt.figures import Figure
from antennaopt.metrics import Metric, metric_of


class Named:
    """Name and metric of what has a key or a figure with options."""

    metric: str
    figure: Figure | None

    @property
    def name(self) -> str:
        """Key of the outcome, and the beginning of its columns."""
        return self.metric if self.figure is None else self.figure.name

    @property
    def about(self) -> Metric:
        """Label and unit."""
        return metric_of(self.metric) if self.figure is None else self.figure.about


@dataclass(frozen=True, kw_only=True)
class Standing(Named):
    """A goal, and the value of one antenna at the frequency where it is worst.

    Attributes:
        metric: Which figure of merit.
        at_least: Lower goal, in the metric's unit, or None.
        at_most: Upper goal, in the metric's unit, or None.
        frequencies: Hz at which the goal holds; empty for all.
        weight: Factor in the weighted sum.
        value: Worst value, in the metric's unit, finite; None where the metric is not defined.
        frequency_hz: Where it is worst; None when the metric is defined nowhere and need not be.
        margin: By how much the goal is met, in the metric's unit; negative when it is missed, None without a value.
        shortfall_db: What enters the fitness; 0 when the goal is met.
        figure: The figure with its options; None for a metric of every row.
        constraint: Whether it is a constraint, which comes before all objectives.
        aim: `largest` or `least` of an objective without a level, which is neither met nor missed.
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
    figure: Figure | None = None
    constraint: bool = False
    aim: str | None = None

    @property
    def met(self) -> bool:
        """Whether the goal is met at all of its frequencies."""
        return self.shortfall_db <= 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data; frequencies in Hz."""
        apart = ("frequencies", "figure", "constraint", "aim")
        named = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in apart}
        named |= ({"constraint": True} if self.constraint else {}) | ({"aim": self.aim} if self.aim else {})
        figure = {} if self.figure is None else {"name": self.name, "options": self.figure.to_dict()["options"]}
        return {**named, "frequencies_hz": list(self.frequencies), "met": self.met, **figure}
