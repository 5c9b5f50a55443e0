"""The goals of a run in words: for tables, for figures, and how the best antenna stands to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antennaopt.metrics import metric_of
from antennaopt.quantities import frequency_span, general, gigahertz, number
from antennaopt.report.findings import OUT_OF_REACH_DB, AtBound, Nearest
from antennaopt.search.objectives import Standing

MOST_NAMED = 6
"""More genes at a bound, or frequencies of a goal, are counted and not named."""


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
        where = frequencies_text(self.frequencies)
        return level_text(self) + (f" at {where}" if where else "")


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


def level_text(goal: Goal | Standing) -> str:
    """Write the levels of a goal: `at least 18 dBi`."""
    metric = metric_of(goal.metric)
    return " and ".join(
        f"{word} {metric.level(level)}"
        for word, level in (("at least", goal.at_least), ("at most", goal.at_most))
        if level is not None
    )


def goal_text(goal: Goal | Standing) -> str:
    """Write a goal with its metric: `S11 at most -10 dB at 28.5, 30 GHz`."""
    where = frequencies_text(goal.frequencies)
    return f"{metric_of(goal.metric).title} {level_text(goal)}" + (f" at {where}" if where else "")


def value_text(standing: Standing) -> str:
    """Write the worst value of a metric with its unit."""
    if standing.value is None:
        return metric_of(standing.metric).absent_text if standing.met else "not defined"
    return metric_of(standing.metric).text(standing.value)


def place_text(standing: Standing) -> str:
    """Write the frequency at which a metric is worst; empty when it is defined nowhere."""
    return "" if standing.frequency_hz is None else gigahertz(standing.frequency_hz)


def verdict_text(standing: Standing) -> str:
    """Write whether a goal is met, and by how much: `missed by 0.42 dB`, in the metric's own unit."""
    word = "met" if standing.met else "missed"
    if standing.margin is None or not standing.margin:
        return word
    return f"{word} by {metric_of(standing.metric).amount(abs(standing.margin))}"


def goals_table(goals: Sequence[Standing]) -> list[list[str]]:
    """Return the goals as a table: metric, goal, worst value, at which frequency, met or missed by how much."""
    rows = [["", "goal", "best antenna", "worst at", ""]]
    for one in goals:
        title = metric_of(one.metric).title
        rows.append([title, level_text(one), value_text(one), place_text(one), verdict_text(one)])
        if one.frequencies:
            rows.append([f"  at {frequencies_text(one.frequencies)}", "", "", "", ""])
    return rows


def goals_line(goals: Sequence[Standing]) -> str:
    """Say in one sentence how many goals are met, and what the others are missed by."""
    if not goals:
        return "This run has no goals."
    missed = [
        f"{metric_of(one.metric).label} by {verdict_text(one).removeprefix('missed by ')}"
        if one.margin
        else f"{metric_of(one.metric).label}, which is not defined"
        for one in goals
        if not one.met
    ]
    if not missed:
        return "The goal is met." if len(goals) == 1 else f"All {len(goals)} goals are met."
    if len(missed) == len(goals):
        return f"No goal is met; missed: {', '.join(missed)}."
    return f"{len(goals) - len(missed)} of {len(goals)} goals met; missed: {', '.join(missed)}."


def bounds_line(genes: Sequence[AtBound]) -> str:
    """Name the genes that are at a bound; empty when none is."""
    if not genes:
        return ""
    names = [f"{one.name} = {_gene(one, one.value)} ({_bound(one)})" for one in genes[:MOST_NAMED]]
    more = f" and {len(genes) - MOST_NAMED} more" if len(genes) > MOST_NAMED else ""
    return f"At a bound: {', '.join(names)}{more}. A wider range may give a better antenna."


def reach_line(goals: Sequence[Nearest]) -> str:
    """Name the goals that no antenna came near, with the nearest antenna's value; empty when there are none."""
    if not goals:
        return ""
    names = []
    for one in goals:
        where = f" at {place_text(one.standing)}" if place_text(one.standing) else ""
        names.append(f"{goal_text(one.standing)} (nearest: {value_text(one.standing)}{where}, {one.individual})")
    return f"No antenna came within {OUT_OF_REACH_DB:g} dB of: {'; '.join(names)}."


def frequencies_text(frequencies_hz: Sequence[float]) -> str:
    """Write the frequencies of a goal; empty for all."""
    if not frequencies_hz:
        return ""
    if len(frequencies_hz) > MOST_NAMED:
        return f"{len(frequencies_hz)} frequencies, {frequency_span(frequencies_hz)}"
    return ", ".join(f"{hz / 1e9:.6g}" for hz in frequencies_hz) + " GHz"


def _gene(gene: AtBound, value: float) -> str:
    return f"{number(1e3 * value, 3)} mm" if gene.dimension == "length" else general(value, 5)


def _bound(gene: AtBound) -> str:
    bound = f"{general(1e3 * gene.bound, 5)} mm" if gene.dimension == "length" else general(gene.bound, 5)
    return f"{'largest' if gene.upper else 'smallest'} allowed: {bound}"
