"""A goal for one metric: at least or at most so much, at the worst of the frequencies asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antennaopt.search.objectives.objective import WORST_SHORTFALL_DB, Outcome, bounded
from antennaopt.search.objectives.standing import Standing

FREQUENCY_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class MetricGoal:
    """Wants one metric of an outcome to reach a level.

    Attributes:
        metric: Key of the outcome, one number a frequency.
        at_least: Lower goal, in the metric's unit, or None.
        at_most: Upper goal, in the metric's unit, or None.
        weight: Factor in the weighted sum.
        frequencies: Hz, a subset of the outcome's; all when empty.
        ratio: The metric is a plain ratio or an angle: its shortfall is 10 log10 of how far it is off.
        met_when_absent: An outcome without a value meets the goal (no side lobe at all).
    """

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    weight: float = 1.0
    frequencies: tuple[float, ...] = ()
    ratio: bool = False
    met_when_absent: bool = False

    @property
    def name(self) -> str:
        """Name for columns: the metric's own."""
        return self.metric

    def shortfall(self, outcome: Outcome) -> float:
        """Return the worst shortfall over the frequencies, dB; 0 when the goal is met at all of them."""
        return max((self._missing(value) for value in self._values(outcome)), default=WORST_SHORTFALL_DB)

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
        values = outcome[self.metric]
        if not self.frequencies:
            return values
        solved: Mapping[float, Any] = dict(zip(outcome["frequency_hz"], values, strict=True))
        chosen = []
        for wanted in self.frequencies:
            near = [hz for hz in solved if math.isclose(hz, wanted, rel_tol=FREQUENCY_TOLERANCE)]
            if not near:
                listed = ", ".join(f"{hz / 1e9:g}" for hz in solved)
                raise ValueError(
                    f"objective {self.metric} asks for {wanted / 1e9:g} GHz, which was not solved ({listed} GHz were)"
                )
            chosen.append(solved[near[0]])
        return chosen

    def _missing(self, value: float | None) -> float:
        if value is None:
            return 0.0 if self.met_when_absent else WORST_SHORTFALL_DB
        missing = 0.0
        if self.at_least is not None:
            missing = max(missing, bounded(self._distance(self.at_least, value)))
        if self.at_most is not None:
            missing = max(missing, bounded(self._distance(value, self.at_most)))
        return missing

    def _distance(self, above: float, below: float) -> float:
        """Return `above` over `below` in dB; both are in dB already unless the metric is a ratio."""
        if not self.ratio:
            return above - below
        if math.isnan(above) or math.isnan(below):
            return math.nan
        if above <= 0.0:
            return -math.inf
        return math.inf if below <= 0.0 else 10.0 * (math.log10(above) - math.log10(below))
