"""Statistics of made antennas: the share that meets all goals, the spread of each goal, and its causes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from antennaopt.search.objectives import LARGEST, Objective, Standing, standings
from antennaopt.solve.outcome import REPEATABLE

CONFIDENCE = 0.95
FEWEST = 8
"""Antennas that a rank correlation needs."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share of antennas with its interval of confidence.

    Attributes:
        met: Antennas that meet all goals.
        judged: Antennas that count.
        low: Lower end of Wilson's 95 % interval; 0 where none counts.
        high: Upper end.
    """

    met: int
    judged: int
    low: float
    high: float

    @classmethod
    def of(cls, met: int, judged: int) -> Share:
        """Return the share with Wilson's score interval, whose coverage is near 95 % also for shares near 0 and 1.

        References:
            Wilson, J. Am. Stat. Assoc. 22 (1927) 209; Brown, Cai, DasGupta, Stat. Sci. 16 (2001) 101.
        """
        from scipy.stats import binomtest

        if judged == 0:
            return cls(met=0, judged=0, low=0.0, high=1.0)
        interval = binomtest(met, judged).proportion_ci(CONFIDENCE, method="wilson")
        return cls(met=met, judged=judged, low=float(interval.low), high=float(interval.high))

    @property
    def value(self) -> float | None:
        """The share; None where no antenna counts."""
        return self.met / self.judged if self.judged else None

    def text(self) -> str:
        """Write it: `83.4 % (95 % interval 81.7 to 84.9 %)`."""
        if self.value is None:
            return "not known"
        return f"{self.value:.1%} (95 % interval {100 * self.low:.1f} to {100 * self.high:.1f} %)".replace("%", " %", 1)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        return {
            **asdict(self),
            "share": self.value,
            "text": self.text(),
            "interval": "wilson",
            "confidence": CONFIDENCE,
        }


@dataclass(frozen=True, kw_only=True)
class GoalSpread:
    """How one figure of the made antennas spreads, at the frequency where each is worst.

    Attributes:
        goal: The goal.
        design: How the design itself stands to it; None where the design is not `ok`.
        met: Antennas that meet it.
        values: Antennas with a value.
        mean: Of the values, in the metric's unit; None without values, as all below.
        deviation: Standard deviation.
        q05: 5 % quantile.
        q50: Median.
        q95: 95 % quantile.
        worst: The value with the smallest margin, or of an aim the worst one.
    """

    goal: Objective
    design: Standing | None
    met: int
    values: int
    mean: float | None = None
    deviation: float | None = None
    q05: float | None = None
    q50: float | None = None
    q95: float | None = None
    worst: float | None = None

    @classmethod
    def of(cls, goal: Objective, design: Standing | None, made: Sequence[Standing]) -> GoalSpread:
        """Sum up how antennas stand to a goal."""
        met = sum(one.met for one in made)
        pairs = [(better, one.value) for one in made if one.value is not None and (better := _better(one)) is not None]
        if not pairs:
            return cls(goal=goal, design=design, met=met, values=0)
        values = np.array([value for _, value in pairs])
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
        return cls(
            goal=goal,
            design=design,
            met=met,
            values=len(pairs),
            mean=float(values.mean()),
            deviation=float(values.std(ddof=1)) if len(values) > 1 else 0.0,
            q05=float(low),
            q50=float(middle),
            q95=float(high),
            worst=min(pairs)[1],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        names = ("met", "values", "mean", "deviation", "q05", "q50", "q95", "worst")
        goal = {name: getattr(self.goal, name) for name in ("name", "metric", "at_least", "at_most")}
        design = self.design.value if self.design else None
        return {**goal, "design": design, **{name: getattr(self, name) for name in names}}


def _better(one: Standing) -> float | None:
    """Return a number that is larger for a better antenna: the margin, or of an aim the value with its sign."""
    if one.aim is None or one.value is None:
        return one.margin
    return one.value if one.aim == LARGEST else -one.value


@dataclass(frozen=True, kw_only=True)
class Influence:
    """How a deviation goes with the margins of the goals.

    Attributes:
        deviation: Its name, as in `Tolerance.deviations`.
        correlations: Spearman's rank correlation with each goal's margin; None where it is not defined.
    """

    deviation: str
    correlations: tuple[float | None, ...]

    @property
    def strongest(self) -> float:
        """Largest absolute correlation."""
        return max((abs(one) for one in self.correlations if one is not None), default=0.0)


def influences(names: Sequence[str], deviations: np.ndarray, margins: np.ndarray) -> tuple[Influence, ...]:
    """Return the rank correlations of deviations with margins, the strongest first.

    Args:
        names: Of the deviations.
        deviations: Shape (antennas, deviations).
        margins: Shape (antennas, goals); NaN where there is none.
    """
    found = [
        Influence(
            deviation=name,
            correlations=tuple(_spearman(deviations[:, column], margins[:, goal]) for goal in range(margins.shape[1])),
        )
        for column, name in enumerate(names)
    ]
    return tuple(sorted(found, key=lambda one: (-one.strongest, one.deviation)))


def _spearman(first: np.ndarray, second: np.ndarray) -> float | None:
    from scipy.stats import rankdata

    there = np.isfinite(first) & np.isfinite(second)
    if there.sum() < FEWEST:
        return None
    one, other = rankdata(first[there]), rankdata(second[there])
    if one.std() == 0.0 or other.std() == 0.0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


@dataclass(frozen=True, kw_only=True)
class Account:
    """What came of the made antennas of a design.

    Attributes:
        share: That meet all goals.
        goals: Spread of each goal, in the experiment's order.
        influences: Of the deviations, the strongest first.
        statuses: Antennas by status.
        origins: Antennas that were not solved, by where their outcome is from: `cache`, `cells`.
    """

    share: Share
    goals: tuple[GoalSpread, ...]
    influences: tuple[Influence, ...]
    statuses: dict[str, int]
    origins: dict[str, int]

    @property
    def not_judged(self) -> int:
        """Antennas that do not count: the farm could not solve them."""
        return sum(count for status, count in self.statuses.items() if status not in REPEATABLE)


def meets(outcome: Mapping[str, Any], goals: Sequence[Objective]) -> bool | None:
    """Say whether an antenna meets all goals: not where it cannot be solved; None where the farm failed."""
    if outcome["status"] not in REPEATABLE:
        return None
    return outcome["status"] == "ok" and all(one.met for one in standings(outcome, goals))


def account(
    names: Sequence[str],
    deviations: np.ndarray,
    outcomes: Sequence[Mapping[str, Any]],
    design: Mapping[str, Any],
    goals: Sequence[Objective],
) -> Account:
    """Sum up the outcomes of made antennas.

    Args:
        names: Of the deviations.
        deviations: Shape (antennas, deviations), SI.
        outcomes: One an antenna.
        design: Outcome of the design itself.
        goals: Of the experiment.
    """
    stand = [standings(one, goals) for one in outcomes]
    margins = np.full((len(outcomes), len(goals)), math.nan)
    for row, each in enumerate(stand):
        for column, one in enumerate(each):
            better = _better(one)
            margins[row, column] = math.nan if better is None else better
    verdicts = [meets(one, goals) for one in outcomes]
    own = standings(design, goals) or (None,) * len(goals)
    return Account(
        share=Share.of(sum(one is True for one in verdicts), sum(one is not None for one in verdicts)),
        goals=tuple(
            GoalSpread.of(goal, own[place], [each[place] for each in stand if each]) for place, goal in enumerate(goals)
        ),
        influences=influences(names, deviations, margins),
        statuses=dict(sorted(Counter(one["status"] for one in outcomes).items())),
        origins=dict(sorted(Counter(one["origin"] for one in outcomes if one.get("origin")).items())),
    )
