"""S11 against frequency, with its goal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from antennaopt.report.canvas import BEST, DASHES, GOAL, GREY, add_legend, dress, new_figure
from antennaopt.report.goals import Goal

FLOOR_DB = -60.0


@dataclass(frozen=True, kw_only=True)
class Reflection:
    """S11 of one antenna.

    Attributes:
        points_hz: Requested frequencies, Hz, ascending.
        points_db: |S11| there, dB.
        sweep_hz: Frequencies of a sweep, Hz, ascending; may be empty.
        sweep_db: |S11| there, dB.
    """

    points_hz: Sequence[float]
    points_db: Sequence[float]
    sweep_hz: Sequence[float] = ()
    sweep_db: Sequence[float] = ()


def matching_figure(best: Reflection, before: Reflection | None, goals: Sequence[Goal]) -> Figure:
    """Draw S11 of the best antenna and of the first generation's best."""
    figure = new_figure(5.6, 3.2)
    axes = dress(figure.add_subplot())
    draw_matching(axes, best, before, goals)
    add_legend(axes, columns=2, above=True)
    return figure


def draw_matching(
    axes: Axes, best: Reflection, before: Reflection | None = None, goals: Sequence[Goal] = (), *, label: str = "best"
) -> None:
    """Draw S11 in dB against frequency in GHz into axes; a sweep as a line, requested frequencies as dots."""
    axes.set_xlabel("frequency (GHz)", fontsize=9)
    axes.set_ylabel("|S11| (dB)", fontsize=9)
    if before is not None:
        axes.plot(
            in_ghz(before.points_hz),
            before.points_db,
            color=GREY,
            lw=1.0,
            ls=DASHES[2],
            marker="s",
            ms=4.5,
            label="first generation's best",
        )
    dotted = not best.sweep_hz
    if best.sweep_hz:
        axes.plot(in_ghz(best.sweep_hz), best.sweep_db, color=BEST, lw=1.6)
    axes.plot(
        in_ghz(best.points_hz),
        best.points_db,
        color=BEST,
        lw=1.0,
        ls=DASHES[2] if dotted else "none",
        marker="o",
        label=label,
    )
    _limit(axes, best, before, goals)
    for goal in goals:
        if goal.metric == "s11_db" and goal.at_most is not None:
            _draw_goal(axes, goal, best.points_hz)


def _limit(axes: Axes, best: Reflection, before: Reflection | None, goals: Sequence[Goal]) -> None:
    values = [*best.points_db, *best.sweep_db, *(before.points_db if before else ())]
    values += [goal.at_most for goal in goals if goal.metric == "s11_db" and goal.at_most is not None]
    lowest = max(min([value for value in values if math.isfinite(value)], default=-10.0), FLOOR_DB)
    axes.set_ylim(5.0 * math.floor((lowest - 1.0) / 5.0), max(0.0, *values) + 0.5)
    axes.yaxis.set_major_locator(MultipleLocator(5.0 if lowest > -40.0 else 10.0))
    ends = in_ghz([*best.points_hz, *best.sweep_hz])
    margin = 0.04 * (max(ends) - min(ends)) or 0.02 * max(ends)
    axes.set_xlim(min(ends) - margin, max(ends) + margin)


def _draw_goal(axes: Axes, goal: Goal, frequencies_hz: Sequence[float]) -> None:
    """Draw the level over the frequencies at which it is asked for, and shade what lies above."""
    level = float(goal.at_most or 0.0)
    asked = in_ghz(goal.frequencies or frequencies_hz)
    low, high = min(asked), max(asked)
    if low == high:
        width = 0.25 * (axes.get_xlim()[1] - axes.get_xlim()[0])
        low, high = low - width, high + width
    axes.fill_between((low, high), level, axes.get_ylim()[1], color=GOAL, alpha=0.08, lw=0)
    axes.plot((low, high), (level, level), color=GOAL, lw=2.0, label=f"goal: at most {level:g} dB".replace("-", "−"))


def in_ghz(frequencies_hz: Sequence[float]) -> list[float]:
    """Return frequencies in GHz."""
    return [hz / 1e9 for hz in frequencies_hz]
