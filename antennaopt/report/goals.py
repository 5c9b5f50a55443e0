"""Findings from the rows of a run: goals met, missed and out of reach, genes at a bound; and their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ResumeRefusedError
from antennaopt.families import SPATIAL
from antennaopt.figures import LINEAR
from antennaopt.quantities import frequency_span, general, gigahertz, number
from antennaopt.search.objectives import Objective, Standing, build, standings
from antennaopt.store.levels import finest_rows

if TYPE_CHECKING:
    from antennaopt.store.run_folder import RunFolder
    from antennaopt.store.schema import RunColumns


AT_A_BOUND = 0.01
"""A gene is at a bound when it is nearer to it than this share of its range."""
OUT_OF_REACH_DB = 1.0
"""A goal is out of reach of a run when every `ok` antenna misses it by more: in dB, or for a ratio or an angle by a
factor of 1.26. Fitness counts the same shortfall."""
ORIGINS = {"cache": "from the evaluation cache", "cells": "with the cells of another"}
"""Where an outcome is from that was not solved, in words."""

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class AtBound:
    """A gene of the best antenna that is at an end of its range.

    Attributes:
        name: Dotted name.
        dimension: `length` or `number`.
        value: SI.
        bound: The end of the range, SI.
        upper: Whether that is its upper end.
    """

    name: str
    dimension: str
    value: float
    bound: float
    upper: bool


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """The antenna that comes nearest to a goal.

    Attributes:
        individual: Its id.
        standing: How it stands to the goal.
    """

    individual: str
    standing: Standing


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Remarks on a run in addition to the figures of its best antenna.

    Attributes:
        goals: How the best antenna stands to each goal, in the experiment's order.
        at_bounds: Its genes that are at a bound.
        out_of_reach: For each goal that no antenna of the run comes near, the nearest one.
    """

    goals: tuple[Standing, ...]
    at_bounds: tuple[AtBound, ...]
    out_of_reach: tuple[Nearest, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data: `goals`, `genes_at_bounds`, `goals_out_of_reach`."""
        return {
            "goals": [one.to_dict() for one in self.goals],
            "genes_at_bounds": [asdict(one) for one in self.at_bounds],
            "goals_out_of_reach": [
                {"individual": one.individual, **one.standing.to_dict()} for one in self.out_of_reach
            ],
        }


@contextmanager
def _undamaged() -> Iterator[None]:
    """Name `resolved.json` where it does not hold what an experiment has."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise ResumeRefusedError(f"resolved.json is damaged ({problem!r}); restore it from a copy") from problem


def goals_of(resolved: Mapping[str, Any]) -> tuple[Objective, ...]:
    """Return the goals of a run in the experiment's order: objectives, then constraints.

    Args:
        resolved: What `resolved.json` holds.

    Raises:
        ResumeRefusedError: It is damaged.
    """
    with _undamaged():
        in_space = resolved.get("antenna", {}).get("family") in SPATIAL
        polarisation = LINEAR if in_space else str(resolved.get("polarisation", LINEAR))
        return build(
            resolved.get("objectives") or (), polarisation, resolved.get("constraints") or (), resolved.get("secondary")
        )


def _found(resolved: Mapping[str, Any], columns: RunColumns, best: Row, nearest: Mapping[str, Row]) -> Findings:
    objectives = goals_of(resolved)
    out_of_reach = []
    for objective, column in zip(objectives, columns.shortfall_columns, strict=False):
        row = nearest.get(column)
        if row is None:
            continue
        standing = objective.standing(metrics_of(columns, row))
        if standing.shortfall_db > OUT_OF_REACH_DB:
            out_of_reach.append(Nearest(individual=str(row["individual"]), standing=standing))
    return Findings(
        goals=standings(metrics_of(columns, best), objectives),
        at_bounds=tuple(_at_bounds(resolved.get("genes") or (), columns, best)),
        out_of_reach=tuple(out_of_reach),
    )


def findings_of(folder: RunFolder, best: str, resolved: Mapping[str, Any] | None = None) -> Findings | None:
    """Return the findings on a run, from its folder; None where the row of its best antenna cannot be read.

    Args:
        folder: The run.
        best: Individual that is its best antenna.
        resolved: What `resolved.json` holds; read when None.

    Raises:
        ResumeRefusedError: `resolved.json` is damaged.
    """
    columns = folder.columns
    rows = finest_rows(folder, ["individual", "status", *columns.shortfall_columns])
    names = {
        column: min(rows, key=lambda row: row[column])["individual"]
        for column in columns.shortfall_columns
        if rows and all(row[column] is not None for row in rows)
    }
    whole = {name: row for name in {best, *names.values()} for row in _rows_of(folder, name)}
    if best not in whole:
        return None
    nearest = {column: whole[name] for column, name in names.items() if name in whole}
    given = folder.resolved if resolved is None else resolved
    with _undamaged():
        return _found(given, columns, whole[best], nearest)


def _rows_of(folder: RunFolder, individual: str) -> Sequence[Row]:
    """Return an individual's row; nothing where its file cannot be read, though some of its columns can."""
    from antennaopt.store.generations import generation_of

    return folder.read_generation(generation_of(individual), {individual})


def origins_of(folder: RunFolder) -> dict[str, int]:
    """Return how many outcomes of a run were not solved, by `ORIGINS`; copies of duplicates are left out."""
    if not folder.columns.origin:
        return {}
    return reused(folder.all_rows(["origin"]).column("origin").to_pylist())


def reused(origins: Sequence[Any]) -> dict[str, int]:
    """Count the origins of outcomes that were not solved."""
    return dict(sorted(Counter(origin for origin in origins if origin in ORIGINS).items()))


def reused_words(counts: Mapping[str, int]) -> str:
    """Write counts of outcomes that were not solved; empty when there are none."""
    return ", ".join(f"{count} {ORIGINS.get(origin, origin)}" for origin, count in counts.items())


def metrics_of(columns: RunColumns, row: Row) -> dict[str, Any]:
    """Return what goals read of a row, in the form of an outcome."""
    wanted = {metric: [_number(row.get(name)) for name in names] for metric, names in columns.metric_columns.items()}
    return {"status": row["status"], "frequency_hz": list(columns.frequencies), **wanted}


def _number(value: Any) -> float | None:
    """Return a cell as a float; empty cells are None in rows and NaN in pandas."""
    return None if value is None or value != value else float(value)


def _at_bounds(genes: Sequence[Mapping[str, Any]], columns: RunColumns, best: Row) -> list[AtBound]:
    """Return the genes at a bound; choices have no neighbours beyond their ends, so they are left out."""
    found = []
    for gene, column in zip(genes, columns.genes, strict=False):
        low, high = float(gene["low"]), float(gene["high"])
        value = float(best[column.column]) / column.scale
        near = AT_A_BOUND * (high - low)
        upper = high - value <= near
        if gene["kind"] != "choice" and low < high and (upper or value - low <= near):
            found.append(
                AtBound(
                    name=str(gene["name"]),
                    dimension=str(gene["dimension"]),
                    value=value,
                    bound=high if upper else low,
                    upper=upper,
                )
            )
    return found


MOST_NAMED = 6
"""More genes at a bound, or frequencies of a goal, are counted and not named."""


def level_text(goal: Objective | Standing) -> str:
    """Write the levels of a goal: `at least 18 dBi`, `8 mm to 12 mm`, `within the mask`."""
    metric = goal.about
    if goal.aim is not None:
        return goal.aim
    if goal.figure is not None and goal.figure.mask is not None:
        return "within the mask"
    if goal.at_least is not None and goal.at_most is not None:
        return f"{metric.level(goal.at_least)} to {metric.level(goal.at_most)}"
    return " and ".join(
        f"{word} {metric.level(level)}"
        for word, level in (("at least", goal.at_least), ("at most", goal.at_most))
        if level is not None
    )


def target_text(goal: Objective | Standing) -> str:
    """Write the levels of a goal, and where, when that is not everywhere: `at most -10 dB at 28.5, 30 GHz`."""
    where = frequencies_text(goal.frequencies)
    return level_text(goal) + (f" at {where}" if where else "")


def goal_text(goal: Objective | Standing) -> str:
    """Write a goal with its metric: `S11 at most -10 dB at 28.5, 30 GHz`."""
    return f"{goal.about.title} {target_text(goal)}"


def value_text(standing: Standing) -> str:
    """Write the worst value of a metric with its unit."""
    if standing.value is None:
        return standing.about.absent_text if standing.met else "not defined"
    return standing.about.text(standing.value)


def place_text(standing: Standing) -> str:
    """Write the frequency at which a metric is worst; empty when it is defined nowhere."""
    return "" if standing.frequency_hz is None else gigahertz(standing.frequency_hz)


def verdict_text(standing: Standing) -> str:
    """Write whether a goal is met, and by how much: `missed by 0.42 dB`, in the metric's own unit; empty for an aim."""
    if standing.aim is not None:
        return ""
    word = "met" if standing.met else "missed"
    if standing.margin is None or not standing.margin:
        return word
    return f"{word} by {standing.about.amount(abs(standing.margin))}"


def goals_table(goals: Sequence[Standing]) -> list[list[str]]:
    """Return the goals as a table: metric, goal, worst value, at which frequency, met or missed by how much."""
    rows = [["", "goal", "best antenna", "worst at", ""]]
    for one in goals:
        title = constraint_text(one) + one.about.title
        rows.append([title, level_text(one), value_text(one), place_text(one), verdict_text(one)])
        if one.frequencies:
            rows.append([f"  at {frequencies_text(one.frequencies)}", "", "", "", ""])
    return rows


def constraint_text(goal: Objective | Standing) -> str:
    """Return what stands before the name of a constraint's metric."""
    return "Constraint: " if goal.constraint else ""


def goals_line(goals: Sequence[Standing]) -> str:
    """Return one sentence on how many goals are met, and by how much the others are missed."""
    goals = [one for one in goals if one.aim is None]
    if not goals:
        return "This run has no goals."
    missed = [
        f"{constraint_text(one).lower()}{one.about.label} by {verdict_text(one).removeprefix('missed by ')}"
        if one.margin
        else f"{constraint_text(one).lower()}{one.about.label}, which is not defined"
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
