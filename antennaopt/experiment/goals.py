"""Goals that cannot be met, that every antenna meets, or that ask for the opposite of what is usual: one line each.

They are warned of and never refused: a study may want to see how far such a goal is missed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from antennaopt.metrics import GOALS, METRICS, Metric
from antennaopt.quantities import format_frequency, format_length

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment
    from antennaopt.experiment.search import Objective


def goal_warnings(experiment: Experiment) -> list[str]:
    """Return a line for each goal that hardly makes sense: which entry, its value, what is usual."""
    found = []
    for place, goal in enumerate(experiment.objectives):
        found += [f"objective.{place}: {line}" for line in _of_one(experiment, goal)]
    return found + list(_contradictions(experiment))


def _of_one(experiment: Experiment, goal: Objective) -> Iterator[str]:
    metric = METRICS[goal.metric]
    if metric.usual_text:
        wrong = _wrong(goal, metric)
        if wrong:
            yield f"{_written(goal, metric.unit)} {wrong}; usual is {metric.usual_text}"
    elif goal.at_least is not None:
        limit = _sphere_limit(experiment, min(goal.frequencies or experiment.solver.frequencies))
        if goal.at_least > limit[0]:
            level, radius, hz = limit
            yield (
                f"{_written(goal, 'dBi')} is hardly met: the largest antenna of this file fits a sphere of radius "
                f"{format_length(radius)}; usual is at most {level:.1f} dBi at {format_frequency(hz)} (Harrington's "
                "limit N^2 + 2 N with N = k a)"
            )


def _wrong(goal: Objective, metric: Metric) -> str:
    """Say what is wrong with a goal; empty when nothing is."""
    low, high, unit = goal.at_least, goal.at_most, f" {metric.unit}" if metric.unit else ""
    usual = GOALS[metric.key]
    antenna, never = ("antenna whose main beam is on boresight", "hardly") if usual.forward else ("antenna", "never")
    if low is not None and low > usual.ceiling:
        return f"is {never} met: no {antenna} has more than {usual.ceiling:g}{unit}"
    if high is not None and (high < usual.floor or (high == usual.floor == 0.0 and metric.unit != "dB")):
        return f"is {never} met: no {antenna} has less than {usual.floor:g}{unit}"
    if low is not None and low <= usual.floor:
        return f"is met by every {antenna}: none has less than {usual.floor:g}{unit}"
    if high is not None and high >= usual.ceiling:
        return f"is met by every {antenna}: none has more than {usual.ceiling:g}{unit}"
    if metric.unusual_bound is not None and getattr(goal, metric.unusual_bound) is not None:
        return "asks for a worse antenna"
    return ""


def _written(goal: Objective, unit: str) -> str:
    word, level = ("at_least", goal.at_least) if goal.at_least is not None else ("at_most", goal.at_most)
    return f"{goal.metric} {word} = {level:g} {unit}".rstrip()


def _contradictions(experiment: Experiment) -> Iterator[str]:
    """Yield a line for each two goals for one metric that no antenna meets at a frequency that they share."""
    everywhere = experiment.solver.frequencies
    for (one, first), (other, second) in combinations(enumerate(experiment.objectives), 2):
        low, high = (first, second) if first.at_least is not None else (second, first)
        if first.metric != second.metric or low.at_least is None or high.at_most is None:
            continue
        shared = sorted(set(first.frequencies or everywhere) & set(second.frequencies or everywhere))
        if shared and low.at_least > high.at_most:
            yield (
                f"objective.{one} and objective.{other}: {first.metric} at_least = {low.at_least:g} and at_most = "
                f"{high.at_most:g} contradict each other at {format_frequency(shared[0])}: no antenna meets both; "
                "usual is at_least below at_most"
            )


def _sphere_limit(experiment: Experiment, hz: float) -> tuple[float, float, float]:
    """Return the largest usual directivity of the largest antenna of a file, dBi, with its sphere's radius and hz.

    The sphere encloses the feed too, and so does not stand too low.

    References:
        R. F. Harrington, "Effect of antenna size on gain, bandwidth, and efficiency", J. Res. NBS 64D, 1960, eq. 5.
    """
    from scipy.constants import c

    from antennaopt.families import FAMILIES, stack

    lower, upper = experiment.bounds()
    sizes = [FAMILIES[experiment.family].size(stack([design])) for design in (lower, upper)]
    radius, height = (max(float(size[at][0]) for size in sizes) for at in (0, 1))
    sphere = math.hypot(radius, 0.5 * (height + upper["feed.length"]))
    modes = 2.0 * math.pi * hz / c * sphere
    return 10.0 * math.log10(modes**2 + 2.0 * modes), sphere, hz
