"""A goal for one metric: at least or at most so much, at the worst of the frequencies asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antennaopt.objectives._objective import WORST_SHORTFALL_DB, Outcome, bounded

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
