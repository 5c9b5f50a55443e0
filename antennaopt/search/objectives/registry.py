"""From the objective tables of an experiment to objectives. A new kind gets its file and its line in `build`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from antennaopt.errors import ConfigurationError
from antennaopt.metrics import GOALS
from antennaopt.search.objectives.goal import Objective


def build(tables: Iterable[Mapping[str, Any]]) -> tuple[Objective, ...]:
    """Turn the `objective` tables of a resolved experiment into objectives, in order.

    Args:
        tables: Each with `metric`, `at_least` or `at_most`, and perhaps `weight` and `frequencies` (Hz).

    Raises:
        ConfigurationError: A metric is not known.
    """
    return tuple(_metric_goal(table) for table in tables)


def _metric_goal(table: Mapping[str, Any]) -> Objective:
    name = str(table["metric"])
    if name not in GOALS:
        near = get_close_matches(name, GOALS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(GOALS)}"
        raise ConfigurationError(f"objective.metric = {name!r} is not known; {hint}")
    weight = table.get("weight")
    return Objective(
        metric=name,
        at_least=table.get("at_least"),
        at_most=table.get("at_most"),
        weight=1.0 if weight is None else float(weight),
        frequencies=tuple(float(hz) for hz in table.get("frequencies") or ()),
        ratio=GOALS[name].ratio,
        met_when_absent=GOALS[name].met_when_absent,
    )
