"""Objectives: compute shortfalls in dB from outcomes, and rank candidates by them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

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
from antennaopt.search.standing import Named, Standing

if TYPE_CHECKING:
    from antennaopt.sent import Sent

FREQUENCY_TOLERANCE = 1e-9
WORST_SHORTFALL_DB = 200.0
"""No shortfall counts for more: float32 fields span less, and it keeps every `ok` fitness below every penalty."""
HALF_VIOLATION_DB = 3.0
"""A constraint that is missed by this much, a factor of two, counts as half violated."""
LARGEST, LEAST = "largest", "least"
AIMS = (LARGEST, LEAST)
"""Values of `aim`, for objectives without a level."""
SHORTFALLS = "shortfalls"
"""Name of what is computed here of a whole batch."""
UNDEFINED_AIM = 1e9
"""Number to minimise of an aim whose metric is not defined."""

Outcome = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Objective(Named):
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
        constraint: Whether it is a constraint, which comes before all objectives.
        aim: `largest` or `least`: no level, the metric itself is improved.
        secondary: Whether the aim counts only among antennas that meet all goals.
    """

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    weight: float = 1.0
    frequencies: tuple[float, ...] = ()
    ratio: bool = False
    met_when_absent: bool = False
    figure: Figure | None = None
    constraint: bool = False
    aim: str | None = None
    secondary: bool = False

    @property
    def lines(self) -> tuple[LimitLine, ...]:
        """Lines that a plot of the pattern can show."""
        return limit_lines(self.metric, self.figure, self.at_least, self.at_most)

    def shortfall(self, outcome: Outcome) -> float:
        """Return the worst shortfall over the frequencies, dB; 0 when the goal is met at all of them.

        Of an aim it is the number to minimise: the worst value in the metric's unit, negative where `largest` is
        asked for.
        """
        values = self._values(outcome)
        if self.aim is not None:
            return max(map(self._to_minimise, values), default=UNDEFINED_AIM)
        if len(values) == 1:
            return self._missing(values[0])
        return max(map(self._missing, values), default=WORST_SHORTFALL_DB)

    def misses(self, outcome: Outcome) -> list[float]:
        """Return by how much each frequency misses the goal, dB, within `WORST_SHORTFALL_DB`; of an aim as `shortfall`.

        It is negative where the goal is met; with two goals it is the larger of the two.
        """
        values = self._values(outcome)
        return [self._to_minimise(one) if self.aim else self._miss(one) for one in values]

    def shortfalls(self, sent: Sent) -> list[float] | None:
        """Return `shortfall` of every antenna of a batch; None where each has to be looked at.

        Args:
            sent: The batch's numbers.
        """
        values = None if self.figure or self.ratio or self.aim else sent.metrics.get(self.metric)
        if values is None:
            return None
        if self.frequencies:
            values = values[:, self._places(sent.frequency_hz)]
        missed = np.zeros(len(values))
        for above, below in ((self.at_least, values.min(axis=1)), (values.max(axis=1), self.at_most)):
            if above is not None and below is not None:
                with np.errstate(invalid="ignore", over="ignore"):
                    off = above - below
                missed = np.maximum(missed, np.where(off < WORST_SHORTFALL_DB, off, WORST_SHORTFALL_DB))  # NaN too
        return (missed + 0.0).tolist()  # -0.0 is 0.0

    def standing(self, outcome: Outcome) -> Standing:
        """Return the value where the goal is met least, or missed most, and by how much."""
        margins = [self._margin(value) for value in self._values(outcome)]
        worst = min(range(len(margins)), key=margins.__getitem__, default=None)
        value = frequency = margin = None
        if worst is not None and margins[worst] < math.inf:
            frequency = (self.frequencies or tuple(outcome["frequency_hz"]))[worst]
            if margins[worst] > -math.inf:
                value, margin = self._values(outcome)[worst], None if self.aim else margins[worst]
        return Standing(
            metric=self.metric,
            at_least=self.at_least,
            at_most=self.at_most,
            frequencies=self.frequencies,
            weight=self.weight,
            value=value,
            frequency_hz=frequency,
            margin=margin,
            shortfall_db=0.0 if self.aim else bounded(self.shortfall(outcome)),
            figure=self.figure,
            constraint=self.constraint,
            aim=self.aim,
        )

    def _margin(self, value: float | None) -> float:
        """Return by how much a value meets the goal, in the metric's unit; infinite where it is not defined."""
        if value is None:
            return math.inf if self.met_when_absent else -math.inf
        if self.aim is not None:
            return -math.inf if math.isnan(value) else -self._to_minimise(value)
        margins = [] if self.at_least is None else [value - self.at_least]
        margins += [] if self.at_most is None else [self.at_most - value]
        worst = min(margins, default=math.inf)
        return -math.inf if math.isnan(worst) else worst

    def _values(self, outcome: Outcome) -> Sequence[float | None]:
        values = outcome[self.metric if self.figure is None else self.figure.name]
        if not self.frequencies:
            return values
        return [values[place] for place in self._places(outcome["frequency_hz"])]

    def _places(self, solved: Sequence[float]) -> list[int]:
        """Return where its own frequencies stand among those that were solved, Hz."""
        places = []
        for wanted in self.frequencies:
            near = [at for at, hz in enumerate(solved) if math.isclose(hz, wanted, rel_tol=FREQUENCY_TOLERANCE)]
            if not near:
                listed = ", ".join(f"{hz / 1e9:g}" for hz in solved)
                raise ValueError(
                    f"objective {self.name} asks for {wanted / 1e9:g} GHz, which was not solved ({listed} GHz were)"
                )
            places.append(near[0])
        return places

    def _to_minimise(self, value: float | None) -> float:
        """Return the number that an aim minimises, in the metric's unit."""
        if value is None:
            return -WORST_SHORTFALL_DB if self.met_when_absent else UNDEFINED_AIM
        if math.isnan(value):
            return UNDEFINED_AIM
        return min(max(-value if self.aim == LARGEST else value, -UNDEFINED_AIM), UNDEFINED_AIM)

    def _miss(self, value: float | None) -> float:
        if value is None:
            return -WORST_SHORTFALL_DB if self.met_when_absent else WORST_SHORTFALL_DB
        misses = [] if self.at_least is None else [self._distance(self.at_least, value)]
        misses += [] if self.at_most is None else [self._distance(value, self.at_most)]
        worst = max(misses, default=0.0)
        return max(worst, -WORST_SHORTFALL_DB) if worst < WORST_SHORTFALL_DB else WORST_SHORTFALL_DB  # NaN too

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
    if outcome.get("status") != "ok":
        return []
    sent, place = getattr(outcome, "sent", (None, 0))
    if sent is None:
        return [objective.shortfall(outcome) for objective in objectives]
    return [
        objective.shortfall(outcome) if of_batch is None else of_batch[place]
        for objective, of_batch in zip(objectives, _of_batch(sent, objectives), strict=True)
    ]


def all_shortfalls(outcomes: Sequence[Outcome], objectives: Sequence[Objective]) -> list[list[float]]:
    """Return `shortfalls` of outcomes that came together: a batch at once where all of it is `ok` and has arrays."""
    sent = getattr(outcomes[0], "sent", (None, 0))[0] if outcomes else None
    columns: Sequence[list[float] | None] = [None] if sent is None else _of_batch(sent, objectives)
    whole = [one for one in columns if one is not None]
    places = [place for one in outcomes for of, place in [getattr(one, "sent", (None, 0))] if of is sent]
    if len(whole) < len(columns) or len(places) < len(outcomes) or any(one["status"] != "ok" for one in outcomes):
        return [shortfalls(one, objectives) for one in outcomes]
    rows = list(map(list, zip(*whole, strict=True)))
    return [rows[place] for place in places]


def _of_batch(sent: Sent, objectives: Sequence[Objective]) -> Sequence[list[float] | None]:
    """Return the shortfalls of a batch, one column an objective; None where each antenna has to be looked at."""
    known = sent.computed.get(SHORTFALLS)
    if known is None or known[0] is not objectives:
        known = sent.computed[SHORTFALLS] = objectives, [objective.shortfalls(sent) for objective in objectives]
    return known[1]


def violation(shortfall_db: float) -> float:
    """Return how much a constraint is violated: 0 when met, 0.5 when missed by 3 dB, below 1 however far it is missed.

    A constraint without a value, 200 dB, so counts no more than others that are missed by far.
    """
    return shortfall_db / (shortfall_db + HALF_VIOLATION_DB)


@dataclass(frozen=True)
class Ranking:
    """Order by the weighted sum of the shortfalls, after Deb's rules; what is not `ok` comes after all that is.

    Every antenna that meets all constraints comes before every one that does not, and these are in order of their total
    violation.

    Attributes:
        weights: One an objective, positive.
        constraints: Number of constraints; their shortfalls follow those of the objectives.
        aims: One an objective, `largest`, `least` or empty; empty without any aim.
        after: Whether aims count only among antennas that meet all goals.

    References:
        K. Deb, "An efficient constraint handling method for genetic algorithms", Comput. Methods Appl. Mech. Eng. 186
        (2000) 311.
    """

    weights: tuple[float, ...] = (1.0,)
    constraints: int = 0
    aims: tuple[str, ...] = ()
    after: bool = False

    @classmethod
    def of(cls, goals: Iterable[Objective]) -> Ranking:
        """Return the order that objectives make, and the constraints after them."""
        listed = list(goals)
        objectives = [one for one in listed if not one.constraint]
        weights, aims = tuple(one.weight for one in objectives), tuple(one.aim or "" for one in objectives)
        after = any(one.secondary for one in objectives)
        return cls(weights, len(listed) - len(objectives), aims if any(aims) else (), after)

    @property
    def worst(self) -> float:
        """No fitness of an antenna that meets all constraints is larger."""
        return WORST_SHORTFALL_DB * max(sum(self.weights), 1.0)

    def violation(self, shortfalls: Sequence[float]) -> float:
        """Return the sum of the violations of the constraints; 0 when all are met.

        Args:
            shortfalls: Of objectives and constraints; or none.
        """
        return math.fsum(map(violation, shortfalls[len(self.weights) :]))

    def fitness(self, status: str, shortfalls: Sequence[float]) -> float:
        """Return the number to minimise.

        It is the weighted sum; where a constraint is missed, between one and two times the worst of these; or the
        penalty of a status other than `ok`. An aim counts as a number between 0 and 200, 100 + 100 x / (|x| + 100).
        A secondary aim counts where the sum is 0: then fitness is that number over 200, less 1, so between -1 and 0.

        Args:
            status: Of the outcome.
            shortfalls: dB, one an objective, then one a constraint; of an aim the number that is minimised.
        """
        if status != "ok":
            return self.worst * PENALTY_FACTORS.get(status, PENALTY_FACTORS["diverged"])
        if len(shortfalls) != len(self.weights) + self.constraints:
            raise ValueError(f"{len(shortfalls)} shortfalls; {len(self.weights)} + {self.constraints} are due")
        if not (self.constraints or self.aims):
            return sum(map(mul, self.weights, shortfalls))
        violated = self.violation(shortfalls)
        if violated > 0.0:
            return self.worst * (1.0 + violated / self.constraints)
        aims = self.aims or ("",) * len(self.weights)
        terms = list(zip(self.weights, shortfalls, aims, strict=False))
        if self.after:
            missed = sum(weight * short for weight, short, aim in terms if not aim)
            return missed or sum(_squeezed(short) / 200.0 - 1.0 for _, short, aim in terms if aim)
        return sum(weight * (_squeezed(short) if aim else short) for weight, short, aim in terms)

    def all_fitness(self, statuses: Sequence[str], shortfalls: Sequence[Sequence[float]]) -> list[float]:
        """Return `fitness` of several antennas."""
        due = len(self.weights)
        if self.constraints or self.aims or {*statuses} != {"ok"} or {*map(len, shortfalls)} != {due}:
            return [self.fitness(status, missed) for status, missed in zip(statuses, shortfalls, strict=True)]
        return [sum(map(mul, self.weights, missed)) for missed in shortfalls]

    def minimised(self, levels: Sequence[float]) -> tuple[float, ...]:
        """Return levels, one an objective in its own unit, as the numbers that are minimised."""
        aims = self.aims or ("",) * len(self.weights)
        return tuple(-level if aim == LARGEST else level for level, aim in zip(levels, aims, strict=True))


def _squeezed(x: float) -> float:
    """Return a number between 0 and 200 that grows with x."""
    return 100.0 + 100.0 * x / (abs(x) + 100.0)


def build(
    tables: Iterable[Mapping[str, Any]],
    polarisation: str = LINEAR,
    constraints: Iterable[Mapping[str, Any]] = (),
    secondary: Mapping[str, Any] | None = None,
) -> tuple[Objective, ...]:
    """Turn the tables of a resolved experiment into goals: objectives, the secondary one, then constraints.

    Args:
        tables: Each with `metric` and its bounds or `aim`, and perhaps options, `name`, `weight` and `frequencies`
            (Hz); SI.
        polarisation: Of the experiment.
        constraints: Tables of the same keys, without weight and aim.
        secondary: An aim that counts only among antennas that meet all goals.

    Raises:
        ConfigurationError: A metric is not known, or its options do not fit.
    """
    goals = [_metric_goal(table, polarisation) for table in tables]
    goals += [replace(_metric_goal(secondary, polarisation), secondary=True)] if secondary else []
    return (*goals, *(replace(_metric_goal(table, polarisation), constraint=True) for table in constraints))


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
        aim=table.get("aim"),
    )
