"""Curves of one antenna: patterns of the principal planes, and S11 against frequency, with the goals."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from antennaopt.figures import LINEAR
from antennaopt.quantities import gigahertz
from antennaopt.report.canvas import (
    BEST,
    DASHES,
    GOAL,
    GREY,
    add_legend,
    chosen_places,
    dress,
    frequency_styles,
    new_figure,
)
from antennaopt.search.objectives import Objective

SHOWN_BELOW_PEAK_DB = 50.0
DIRECTIVITIES = ("directivity_dbi", "max_directivity_dbi")
SIDE_LOBES_DEG = 90.0
PLANES = {"e": "E plane", "h": "H plane", "co": "45° plane"}
MOST_LINES = 12
"""Limits of a plot; more would hide the curves."""
SHADE = 0.03
"""Height of the shade on the forbidden side of a limit, over that of the plot."""
FIRST_ANGLES_DEG = 60.0
"""Names of limits that end before run to the right: there is no room on the left."""


@dataclass(frozen=True, kw_only=True)
class Cuts:
    """Patterns of one individual at one frequency.

    Attributes:
        frequency_hz: Hz.
        theta_deg: Angle from the axis, shape (angles,), from 0; from -180 degrees where both sides differ.
        e_plane_dbi: Directivity in the E plane, dBi.
        h_plane_dbi: Directivity in the H plane, dBi.
        co_dbi: Co-polar part in the 45-degree plane, dBi; empty for a run that stored no complex cuts.
        cross_dbi: Cross-polar part there.
    """

    frequency_hz: float
    theta_deg: Sequence[float]
    e_plane_dbi: Sequence[float]
    h_plane_dbi: Sequence[float]
    co_dbi: Sequence[float] = ()
    cross_dbi: Sequence[float] = ()


def polar_names(polarisation: str) -> dict[str, str]:
    """Return what the co- and the cross-polar curve of an experiment's polarisation are called."""
    other = {"rhcp": "lhcp", "lhcp": "rhcp"}
    if polarisation not in other:
        return {"co": "co-polar", "cross": "cross-polar"}
    return {"co": polarisation.upper(), "cross": other[polarisation].upper()}


def plane_names(polarisation: str, cut: Cuts) -> dict[str, str]:
    """Return what the planes of cuts are called; an antenna in space of circular polarisation has no E or H plane."""
    if polarisation == LINEAR or not _two_sided(cut):
        return PLANES
    return {key: f"{polar_names(polarisation)['co']}, φ = {angle}°" for key, angle in (("e", 0), ("h", 90))}


def pattern_figure(
    plane: str,
    cuts: Sequence[Cuts],
    before: Sequence[Cuts],
    goals: Sequence[Objective],
    *,
    polarisation: str = LINEAR,
) -> Figure:
    """Draw one principal plane of the best antenna, and of the first generation's best at the middle frequency.

    Args:
        plane: `e`, `h`, or `co` for the 45-degree plane, co-polar and, dashed, cross-polar.
        cuts: The best antenna's, ascending in frequency.
        before: The best of the first generation's; may be empty.
        goals: Those on directivity, side lobes, the front-to-back ratio and limits of the pattern are drawn.
        polarisation: Of the experiment; in a circular one every plane has the curves of `co`.
    """
    figure = new_figure(5.6, 3.8)
    names = polar_names(polarisation)
    in_planes = plane_names(polarisation, cuts[0])
    where = in_planes[plane] if plane != "co" or polarisation == LINEAR else f"{names['co']}, thin {names['cross']}"
    axes = dress(figure.add_subplot(), x_label="angle from the axis (°)", y_label=f"{where} (dBi)")
    middle = middle_cut(cuts)
    shown = [cuts[place] for place in chosen_places(len(cuts))]
    for cut, style in zip(shown, frequency_styles(len(shown)), strict=True):
        label = gigahertz(cut.frequency_hz)
        axes.plot(cut.theta_deg, levels(cut, plane), color=style.colour, ls=style.dash, lw=1.6, label=label)
        if plane == "co":
            axes.plot(cut.theta_deg, cut.cross_dbi, color=style.colour, ls=style.dash, lw=0.9)
    old = [cut for cut in before if cut.frequency_hz == middle.frequency_hz]
    if old:
        name = f"first generation's best, {gigahertz(middle.frequency_hz)}"
        axes.plot(old[0].theta_deg, levels(old[0], plane), color=GREY, lw=1.2, label=name, zorder=1.8)
    limit_axes(axes, [levels(cut, plane) for cut in [*shown, *old]], middle)
    wanted = [goal.at_least for goal in goals if goal.metric in DIRECTIVITIES and goal.at_least is not None]
    axes.set_ylim(top=max([axes.get_ylim()[1], *(level + 3.0 for level in wanted)]))
    if plane != "co":
        draw_pattern_goals(axes, goals, middle, plane)
    draw_limits(axes, goals, ("co", "cross") if plane == "co" else (plane,), boresight(middle))
    add_legend(axes, columns=2, above=True)
    return figure


def has_relative_goals(goals: Sequence[Objective]) -> bool:
    """Return whether a goal is drawn at a level that follows from boresight or a maximum of a pattern."""
    return any(
        one.metric in ("sidelobe_db", "front_to_back_db") or any(not line.absolute for line in one.lines)
        for one in goals
    )


def draw_pattern_goals(axes: Axes, goals: Sequence[Objective], cut: Cuts, plane: str) -> None:
    """Draw the goals that a pattern can show, those relative to boresight at the level of one cut.

    Side lobes of a cut with two sides count from its maximum, which need not be on the axis.

    Args:
        axes: With its limits set.
        goals: All of the experiment's.
        cut: The middle frequency's.
        plane: `e` or `h`.
    """
    ahead = boresight(cut)
    for goal in goals:
        if goal.metric in DIRECTIVITIES and goal.at_least is not None:
            name = f"directivity ≥ {goal.at_least:g} dBi"
            _goal_line(axes, goal.at_least, (0.0, 30.0), name, to_right=True)
        elif goal.metric == "sidelobe_db" and goal.at_most is not None:
            highest = max(max(side) for _, side in _sides(cut, levels(cut, plane))) if _two_sided(cut) else ahead
            name = f"side lobes ≤ {goal.at_most:g} dB"
            _goal_line(axes, highest + goal.at_most, (first_minimum(cut), SIDE_LOBES_DEG), name)
        elif goal.metric == "front_to_back_db" and goal.at_least is not None:
            name = f"front to back ≥ {goal.at_least:g} dB"
            _goal_line(axes, ahead - goal.at_least, (150.0, 180.0), name)


def draw_limits(axes: Axes, goals: Sequence[Objective], planes: Sequence[str], boresight: float) -> None:
    """Draw the limits of a pattern that goals set, each shaded on its forbidden side; on both sides of the axis.

    Curves of both sides are of an antenna in space: limits of its co-polar level are those of every plane.

    Args:
        axes: With its limits set.
        goals: All of the experiment's.
        planes: Curves that are drawn: `e`, `h`, `co`, `cross`.
        boresight: Level that relative limits count from, dBi.
    """
    curves = {*planes, "co"} if len(_drawn_sides(axes)) == 2 else set(planes)
    lines = [line for goal in goals for line in goal.lines if curves & set(line.planes)]
    for line in lines[:MOST_LINES]:
        level = [one + (0.0 if line.absolute else boresight) for one in line.level]
        low, high = axes.get_ylim()
        shade = SHADE * (high - low) * (1.0 if line.upper else -1.0)
        for side in _drawn_sides(axes):
            theta = [side * one for one in line.theta_deg]
            axes.plot(theta, level, color=GOAL, lw=1.8, solid_capstyle="butt", zorder=4)
            axes.fill_between(theta, level, [one + shade for one in level], color=GOAL, alpha=0.15, lw=0, zorder=1.5)
        axes.set_ylim(low, high)
        to_right = not line.upper or line.theta_deg[-1] < FIRST_ANGLES_DEG
        at = 0 if to_right else len(level) - 1
        _note(axes, line.text, (line.theta_deg[at], level[at]), to_right=to_right)


def _drawn_sides(axes: Axes) -> tuple[float, ...]:
    """Return the signs of the angles that axes with their limits set show."""
    return (1.0, -1.0) if axes.get_xlim()[0] < 0.0 else (1.0,)


def _goal_line(axes: Axes, level: float, span: tuple[float, float], text: str, *, to_right: bool = False) -> None:
    """Draw a level over a span of angles, or of both sides, with its name right-aligned or from its start on."""
    for side in _drawn_sides(axes):
        ends = [side * end for end in span]
        axes.plot(ends, (level, level), color=GOAL, lw=2.2, solid_capstyle="butt", zorder=4)
    _note(axes, text, (span[0] if to_right else span[1], level), to_right=to_right)


def _note(axes: Axes, text: str, place: tuple[float, float], *, to_right: bool) -> None:
    """Write a line's name above a place of it, from there on or up to there."""
    note = axes.annotate(
        re.sub(r"-(?=\d)", "\N{MINUS SIGN}", text),
        place,
        xytext=(3 if to_right else -1, 3),
        textcoords="offset points",
        ha="left" if to_right else "right",
        va="bottom",
        fontsize=8,
        color=GOAL,
        zorder=5,
    )
    note.set_path_effects([patheffects.withStroke(linewidth=3.0, foreground="white")])


def boresight(cut: Cuts) -> float:
    """Return the level on the axis, dBi."""
    return cut.e_plane_dbi[0 if cut.theta_deg[0] >= 0.0 else len(cut.theta_deg) // 2]


def limit_axes(axes: Axes, curves: Sequence[Sequence[float]], cut: Cuts) -> None:
    """Set the limits: all angles, and from the peak down to the lowest level or 50 dB, whichever comes first.

    Args:
        axes: Of the plot.
        curves: Levels, dBi.
        cut: Has the angles of all.
    """
    peak = max(max(curve) for curve in curves)
    floor = max(min(min(curve) for curve in curves), peak - SHOWN_BELOW_PEAK_DB)
    limit_angles(axes, both=_two_sided(cut))
    axes.set_ylim(floor - 1.0, peak + 5.0)


def limit_angles(axes: Axes, *, both: bool) -> None:
    """Set the limits to all angles of one side, or of both."""
    axes.set_xlim(-180.0 if both else 0.0, 180.0)
    axes.set_xticks(range(-180, 181, 60) if both else range(0, 181, 30))


def levels(cut: Cuts, plane: str) -> Sequence[float]:
    """Return one plane's directivity, dBi; of the 45-degree plane its co-polar part."""
    return {"e": cut.e_plane_dbi, "h": cut.h_plane_dbi, "co": cut.co_dbi}[plane]


def middle_cut(cuts: Sequence[Cuts]) -> Cuts:
    """Return the cut at the middle frequency."""
    return cuts[len(cuts) // 2]


def first_minimum(cut: Cuts) -> float:
    """Return the smallest angle of a minimum of either plane, degrees; 0 when all fall all the way to 90 degrees."""
    found = []
    for curve in (cut.e_plane_dbi, cut.h_plane_dbi):
        for angles, side in _sides(cut, curve):
            inner = range(1, len(side) - 1)
            places = [place for place in inner if side[place - 1] > side[place] <= side[place + 1]]
            found += [angles[place] for place in places[:1]]
    return min(found, default=0.0)


def _two_sided(cut: Cuts) -> bool:
    return cut.theta_deg[0] < 0.0


def _sides(cut: Cuts, curve: Sequence[float]) -> Iterator[tuple[list[float], list[float]]]:
    """Yield angles up to 90 degrees and levels of each side of a cut, from the axis outwards."""
    for side in (1.0, -1.0)[: 1 + _two_sided(cut)]:
        ahead = [(side * one, level) for one, level in zip(cut.theta_deg, curve, strict=True)]
        ahead = sorted(pair for pair in ahead if 0.0 <= pair[0] <= SIDE_LOBES_DEG)
        yield [angle for angle, _ in ahead], [level for _, level in ahead]


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


def matching_figure(best: Reflection, before: Reflection | None, goals: Sequence[Objective]) -> Figure:
    """Draw S11 of the best antenna and of the first generation's best."""
    figure = new_figure(5.6, 3.2)
    axes = dress(figure.add_subplot())
    draw_matching(axes, best, before, goals)
    add_legend(axes, columns=2, above=True)
    return figure


def draw_matching(
    axes: Axes,
    best: Reflection,
    before: Reflection | None = None,
    goals: Sequence[Objective] = (),
    *,
    label: str = "best",
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


def _limit(axes: Axes, best: Reflection, before: Reflection | None, goals: Sequence[Objective]) -> None:
    values = [*best.points_db, *best.sweep_db, *(before.points_db if before else ())]
    values += [goal.at_most for goal in goals if goal.metric == "s11_db" and goal.at_most is not None]
    lowest = max(min([value for value in values if math.isfinite(value)], default=-10.0), FLOOR_DB)
    axes.set_ylim(5.0 * math.floor((lowest - 1.0) / 5.0), max(0.0, *values) + 0.5)
    axes.yaxis.set_major_locator(MultipleLocator(5.0 if lowest > -40.0 else 10.0))
    ends = in_ghz([*best.points_hz, *best.sweep_hz])
    margin = 0.04 * (max(ends) - min(ends)) or 0.02 * max(ends)
    axes.set_xlim(min(ends) - margin, max(ends) + margin)


def _draw_goal(axes: Axes, goal: Objective, frequencies_hz: Sequence[float]) -> None:
    """Draw the level over the frequencies of the goal, and shade what lies above."""
    level = float(goal.at_most or 0.0)
    holds_at = in_ghz(goal.frequencies or frequencies_hz)
    low, high = min(holds_at), max(holds_at)
    if low == high:
        width = 0.25 * (axes.get_xlim()[1] - axes.get_xlim()[0])
        low, high = low - width, high + width
    axes.fill_between((low, high), level, axes.get_ylim()[1], color=GOAL, alpha=0.08, lw=0)
    axes.plot((low, high), (level, level), color=GOAL, lw=2.0, label=f"goal: at most {level:g} dB".replace("-", "−"))


def in_ghz(frequencies_hz: Sequence[float]) -> list[float]:
    """Return frequencies in GHz."""
    return [hz / 1e9 for hz in frequencies_hz]
