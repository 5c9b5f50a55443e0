"""From the objective tables of an experiment to objectives. A new kind gets its file and its line in `build`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from antennaopt.errors import ConfigurationError
from antennaopt.search.objectives.goal import MetricGoal
from antennaopt.search.objectives.objective import Objective


@dataclass(frozen=True, kw_only=True)
class Metric:
    """How a metric's shortfall is taken: see `MetricGoal`."""

    ratio: bool = False
    met_when_absent: bool = False


METRICS: dict[str, Metric] = {
    "directivity_dbi": Metric(),
    "max_directivity_dbi": Metric(),
    "gain_dbi": Metric(),
    "s11_db": Metric(),
    "sidelobe_db": Metric(met_when_absent=True),
    "front_to_back_db": Metric(),
    "crosspol_db": Metric(),
    "radiation_efficiency": Metric(ratio=True),
    "hpbw_e_deg": Metric(ratio=True),
    "hpbw_h_deg": Metric(ratio=True),
}


def build(tables: Iterable[Mapping[str, Any]]) -> tuple[Objective, ...]:
    """Turn the `objective` tables of a resolved experiment into objectives, in order.

    Args:
        tables: Each with `metric`, `at_least` or `at_most`, and perhaps `weight` and `frequencies` (Hz).

    Raises:
        ConfigurationError: A metric is not known.
    """
    return tuple(_metric_goal(table) for table in tables)


def _metric_goal(table: Mapping[str, Any]) -> MetricGoal:
    name = str(table["metric"])
    if name not in METRICS:
        near = get_close_matches(name, METRICS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(METRICS)}"
        raise ConfigurationError(f"objective.metric = {name!r} is not known; {hint}")
    weight = table.get("weight")
    return MetricGoal(
        metric=name,
        at_least=table.get("at_least"),
        at_most=table.get("at_most"),
        weight=1.0 if weight is None else float(weight),
        frequencies=tuple(float(hz) for hz in table.get("frequencies") or ()),
        ratio=METRICS[name].ratio,
        met_when_absent=METRICS[name].met_when_absent,
    )
