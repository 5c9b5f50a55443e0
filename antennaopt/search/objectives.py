"""Objectives: outcomes in, shortfalls in dB out, and how candidates rank by them. They read outcomes only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from antennaopt.errors import ConfigurationError
from antennaopt.figures import (
    KINDS,
    LINEAR,
    Figure,
    FigureError,
    LimitLine,
    bounds_of,
    figure_of,
    limit_lines,
    metric_name,
)
from antennaopt.metrics import Metric, metric_of

FREQUENCY_TOLERANCE = 1e-9
WORST_SHORTFALL_DB = 200.0
"""No shortfall counts for more: float32 fields span less, and it keeps every `ok` fitness below every penalty."""

Outcome = Mapping[str, Any]


class _Named:
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
class Standing(_Named):
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

    @property
    def met(self) -> bool:
        """Whether the goal is met at all of its frequencies."""
        return self.shortfall_db <= 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data; frequencies in Hz."""
        named = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("frequencies", "figure")}
        figure = {} if self.figure is None else {"name": self.name, "options": self.figure.to_dict()["options"]}
        return {**named, "frequencies_hz": list(self.frequencies), "met": self.met, **figure}


@dataclass(frozen=True, kw_only=True)
class Objective(_Named):
    """A goal for one metric of an outcome: at least or at most a level, at the worst of its frequencies.

    Attributes:
        metric: Which figure of merit, one number a frequency.
        at_least: Lower goal, in the metric's unit, or None.
        at_most: Upper goal, in the metric's unit, or None.
        weight: Factor in the weighted sum.
        frequencies: Hz, a subset of the outcome's; all when empty.
        ratio: The metric is a plain ratio or an angle: its shortfall is 10 log10 of how far it is off.
        met_when_absent: An outcome without a value meets the goal (no side lobe at all).
        figure: The figure with its options; None for a metric of every row. The value of a mask is the excess over it,
            for which `at_most` is 0.
    """

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    weight: float = 1.0
    frequencies: tuple[float, ...] = ()
    ratio: bool = False
    met_when_absent: bool = False
    figure: Figure | None = None

    @property
    def lines(self) -> tuple[LimitLine, ...]:
        """Lines that a plot of the pattern can show."""
        return limit_lines(self.metric, self.figure, self.at_least, self.at_most)

    def shortfall(self, outcome: Outcome) -> float:
        """Return the worst shortfall over the frequencies, dB; 0 when the goal is met at all of them."""
        return max(map(self._missing, self._values(outcome)), default=WORST_SHORTFALL_DB)

    def standing(self, outcome: Outcome) -> Standing:
        """Return the value where the goal is met least, or missed most, and by how much."""
        margins = [self._margin(value) for value in self._values(outcome)]
        worst = min(range(len(margins)), key=margins.__getitem__, default=None)
        value = frequency = margin = None
        if worst is not None and margins[worst] < math.inf:
            frequency = (self.frequencies or tuple(outcome["frequency_hz"]))[worst]
            if margins[worst] > -math.inf:
                value, margin = self._values(outcome)[worst], margins[worst]
        return Standing(
            metric=self.metric,
            at_least=self.at_least,
            at_most=self.at_most,
            frequencies=self.frequencies,
            weight=self.weight,
            value=value,
            frequency_hz=frequency,
            margin=margin,
            shortfall_db=bounded(self.shortfall(outcome)),
            figure=self.figure,
        )

    def _margin(self, value: float | None) -> float:
        """Return by how much a value meets the goal, in the metric's unit; infinite where it is not defined."""
        if value is None:
            return math.inf if self.met_when_absent else -math.inf
        margins = [] if self.at_least is None else [value - self.at_least]
        margins += [] if self.at_most is None else [self.at_most - value]
        worst = min(margins, default=math.inf)
        return -math.inf if math.isnan(worst) else worst

    def _values(self, outcome: Outcome) -> Sequence[float | None]:
        values = outcome[self.name]
        if not self.frequencies:
            return values
        solved: Mapping[float, Any] = dict(zip(outcome["frequency_hz"], values, strict=True))
        chosen = []
        for wanted in self.frequencies:
            near = [hz for hz in solved if math.isclose(hz, wanted, rel_tol=FREQUENCY_TOLERANCE)]
            if not near:
                listed = ", ".join(f"{hz / 1e9:g}" for hz in solved)
                raise ValueError(
                    f"objective {self.name} asks for {wanted / 1e9:g} GHz, which was not solved ({listed} GHz were)"
                )
            chosen.append(solved[near[0]])
        return chosen

    def _missing(self, value: float | None) -> float:
        if value is None:
            return 0.0 if self.met_when_absent else WORST_SHORTFALL_DB
        if self.at_most is None and self.at_least is not None:
            return bounded(self._distance(self.at_least, value))
        if self.at_least is None and self.at_most is not None:
            return bounded(self._distance(value, self.at_most))
        if self.at_least is None or self.at_most is None:
            return 0.0
        return max(bounded(self._distance(self.at_least, value)), bounded(self._distance(value, self.at_most)))

    def _distance(self, above: float, below: float) -> float:
        """Return `above` over `below` in dB; both are in dB already unless the metric is a ratio."""
        if not self.ratio:
            return above - below
        if math.isnan(above) or math.isnan(below):
            return math.nan
        if above <= 0.0:
            return -math.inf
        return math.inf if below <= 0.0 else 10.0 * (math.log10(above) - math.log10(below))


def standings(outcome: Outcome, objectives: Iterable[Objective]) -> tuple[Standing, ...]:
    """Return how an outcome stands to each goal; empty unless it is `ok`.

    Args:
        outcome: As `evaluate` returns it.
        objectives: From `build`.
    """
    if outcome["status"] != "ok":
        return ()
    return tuple(objective.standing(outcome) for objective in objectives)


def bounded(shortfall_db: float) -> float:
    """Clamp a shortfall to 0 ... `WORST_SHORTFALL_DB`; what is not a number is the worst."""
    if shortfall_db <= 0.0:
        return 0.0
    return shortfall_db if shortfall_db < WORST_SHORTFALL_DB else WORST_SHORTFALL_DB


PENALTY_FACTORS = {"undecayed": 2.0, "diverged": 3.0, "infeasible": 4.0}
"""Multiples of the worst fitness that an `ok` can have. `timeout`, `lost` and `error` rank as `diverged` does."""


def shortfalls(outcome: Outcome, objectives: Sequence[Objective]) -> list[float]:
    """Return each objective's shortfall in dB, 0 when met; empty unless the outcome is `ok`.

    Args:
        outcome: As `evaluate` returns it.
        objectives: From `build`.
    """
    if outcome["status"] != "ok":
        return []
    return [objective.shortfall(outcome) for objective in objectives]


@dataclass(frozen=True)
class Ranking:
    """Order by the weighted sum of the shortfalls; what is not `ok` comes after all that is.

    Attributes:
        weights: One an objective, positive.
    """

    weights: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, objectives: Iterable[Objective]) -> Ranking:
        """Return the order that objectives make."""
        return cls(tuple(objective.weight for objective in objectives))

    def fitness(self, status: str, shortfalls: Sequence[float]) -> float:
        """Return the number to minimise: the weighted sum, or the penalty of a status other than `ok`.

        Args:
            status: Of the outcome.
            shortfalls: dB, one an objective.
        """
        if status != "ok":
            worst = WORST_SHORTFALL_DB * max(sum(self.weights), 1.0)
            return worst * PENALTY_FACTORS.get(status, PENALTY_FACTORS["diverged"])
        return sum(weight * short for weight, short in zip(self.weights, shortfalls, strict=True))


def build(tables: Iterable[Mapping[str, Any]], polarisation: str = LINEAR) -> tuple[Objective, ...]:
    """Turn the `objective` tables of a resolved experiment into objectives, in order.

    Args:
        tables: Each with `metric` and its bounds, and perhaps options, `name`, `weight` and `frequencies` (Hz); SI.
        polarisation: Of the experiment.

    Raises:
        ConfigurationError: A metric is not known, or its options do not fit.
    """
    return tuple(_metric_goal(table, polarisation) for table in tables)


def figures_of(objectives: Iterable[Objective]) -> tuple[Figure, ...]:
    """Return the figures that goals ask for, each name once."""
    return tuple({one.name: one.figure for one in objectives if one.figure is not None}.values())


def _metric_goal(table: Mapping[str, Any], polarisation: str) -> Objective:
    name = metric_name(str(table["metric"]))
    if name not in KINDS:
        near = get_close_matches(name, KINDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(KINDS)}"
        raise ConfigurationError(f"objective.metric = {name!r} is not known; {hint}")
    try:
        figure = figure_of(table, polarisation)
    except FigureError as error:
        raise ConfigurationError(f"objective{'.' if error.key else ' '}{error}") from None
    goal, weight = KINDS[name].metric.goal, table.get("weight")
    bounds = bounds_of(table) if figure is None or figure.mask is None else {"at_most": 0.0}
    return Objective(
        metric=name,
        at_least=bounds.get("at_least"),
        at_most=bounds.get("at_most"),
        weight=1.0 if weight is None else float(weight),
        frequencies=tuple(float(hz) for hz in table.get("frequencies") or ()),
        ratio=goal is not None and goal.ratio,
        met_when_absent=goal is not None and goal.met_when_absent,
        figure=figure,
    )
