"""Trade-offs between goals, from the rows of a run: the antenna nearest to each goal, and its other figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from antennaopt.quantities import general
from antennaopt.report.goals import constraint_text, goal_text, metrics_of, value_text
from antennaopt.report.record import RunRecord
from antennaopt.search.objectives import LARGEST, Standing, standings


@dataclass(frozen=True, kw_only=True)
class Extreme:
    """The antenna of a run that is nearest to one goal; of several that meet it, the one of least fitness.

    Attributes:
        individual: Its id.
        fitness: Of all goals.
        standings: How it stands to each goal, in the experiment's order.
    """

    individual: str
    fitness: float
    standings: tuple[Standing, ...]


def extremes(record: RunRecord) -> tuple[Extreme, ...]:
    """Return the antenna nearest to each goal; nothing with one goal, and where the rows do not say.

    Args:
        record: What was read of the run.
    """
    columns, goals, ok = record.folder.columns, record.goals, record.ok
    missed = ok[list(columns.shortfall_columns)].to_numpy(dtype=float)
    if len(goals) < 2 or missed.shape[1] != len(goals) or not len(ok) or not np.isfinite(missed).all():
        return ()
    found = []
    signs = [-1.0 if goal.aim == LARGEST else 1.0 for goal in goals]
    for shortfall in (missed * signs).T:
        row = ok.iloc[np.lexsort((ok["fitness"], shortfall))[0]].to_dict()
        found.append(
            Extreme(
                individual=str(row["individual"]),
                fitness=float(row["fitness"]),
                standings=standings(metrics_of(columns, row), goals),
            )
        )
    return tuple(found)


def extremes_table(found: Sequence[Extreme]) -> dict[str, Any]:
    """Return the antennas nearest to each goal as header and rows for people: a row and a column a goal."""
    goals = found[0].standings
    header = ["nearest to", "antenna", *(constraint_text(one) + one.about.title for one in goals), "fitness"]
    rows = [
        [
            constraint_text(goal) + goal_text(goal),
            one.individual,
            *(f"{value_text(other)}{', met' if other.met and not other.aim else ''}" for other in one.standings),
            general(one.fitness, 4),
        ]
        for goal, one in zip(goals, found, strict=True)
    ]
    return {"header": header, "rows": rows}
