"""Radiation patterns of the principal planes in dBi, with the goals drawn where they apply."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from antennaopt.quantities import gigahertz
from antennaopt.report.canvas import (
    GOAL,
    GREY,
    add_legend,
    chosen_places,
    dress,
    frequency_styles,
    new_figure,
)
from antennaopt.report.goals import Goal
from antennaopt.report.record import Cuts

SHOWN_BELOW_PEAK_DB = 50.0
DIRECTIVITIES = ("directivity_dbi", "max_directivity_dbi")
PLANES = {"e": "E plane", "h": "H plane"}


def pattern_figure(plane: str, cuts: Sequence[Cuts], before: Sequence[Cuts], goals: Sequence[Goal]) -> Figure:
    """Draw one principal plane of the best antenna, and of the first generation's best at the middle frequency.

    Args:
        plane: `e` or `h`.
        cuts: The best antenna's, ascending in frequency.
        before: The best of the first generation's; may be empty.
        goals: Those on directivity, side lobes and the front-to-back ratio are drawn.
    """
    figure = new_figure(5.6, 3.8)
    axes = dress(figure.add_subplot(), x_label="angle from the axis (°)", y_label=f"{PLANES[plane]} (dBi)")
    middle = middle_cut(cuts)
    shown = [cuts[place] for place in chosen_places(len(cuts))]
    for cut, style in zip(shown, frequency_styles(len(shown)), strict=True):
        label = gigahertz(cut.frequency_hz)
        axes.plot(cut.theta_deg, levels(cut, plane), color=style.colour, ls=style.dash, lw=1.6, label=label)
    old = [cut for cut in before if cut.frequency_hz == middle.frequency_hz]
    if old:
        name = f"first generation's best, {gigahertz(middle.frequency_hz)}"
        axes.plot(old[0].theta_deg, levels(old[0], plane), color=GREY, lw=1.2, label=name, zorder=1.8)
    limit_axes(axes, [levels(cut, plane) for cut in [*shown, *old]])
    wanted = [goal.at_least for goal in goals if goal.metric in DIRECTIVITIES and goal.at_least is not None]
    axes.set_ylim(top=max([axes.get_ylim()[1], *(level + 3.0 for level in wanted)]))
    draw_pattern_goals(axes, goals, middle)
    add_legend(axes, columns=2, above=True)
    return figure


def draw_pattern_goals(axes: Axes, goals: Sequence[Goal], cut: Cuts) -> None:
    """Draw the goals that a pattern can show, those relative to boresight at the level of one cut.

    Args:
        axes: With its limits set.
        goals: All of the experiment's.
        cut: The middle frequency's.
    """
    boresight = cut.e_plane_dbi[0]
    for goal in goals:
        if goal.metric in DIRECTIVITIES and goal.at_least is not None:
            _goal_line(axes, goal.at_least, (0.0, 30.0), f"directivity ≥ {goal.at_least:g} dBi", to_right=True)
        elif goal.metric == "sidelobe_db" and goal.at_most is not None:
            start = first_minimum(cut)
            name = f"side lobes ≤ {goal.at_most:g} dB"
            _goal_line(axes, boresight + goal.at_most, (start, 90.0), name)
        elif goal.metric == "front_to_back_db" and goal.at_least is not None:
            name = f"front to back ≥ {goal.at_least:g} dB"
            _goal_line(axes, boresight - goal.at_least, (150.0, 180.0), name)


def _goal_line(axes: Axes, level: float, span: tuple[float, float], text: str, *, to_right: bool = False) -> None:
    """Draw a level over a span of angles with its name above it, right-aligned with its end or from its start on."""
    axes.plot(span, (level, level), color=GOAL, lw=2.2, solid_capstyle="butt", zorder=4)
    note = axes.annotate(
        text.replace("-", "\N{MINUS SIGN}"),
        (span[0] if to_right else span[1], level),
        xytext=(3 if to_right else -1, 3),
        textcoords="offset points",
        ha="left" if to_right else "right",
        va="bottom",
        fontsize=8,
        color=GOAL,
        zorder=5,
    )
    note.set_path_effects([patheffects.withStroke(linewidth=3.0, foreground="white")])


def limit_axes(axes: Axes, curves: Sequence[Sequence[float]]) -> None:
    """Set the limits: all angles, and from the peak down to the lowest level or 50 dB, whichever comes first."""
    peak = max(max(curve) for curve in curves)
    floor = max(min(min(curve) for curve in curves), peak - SHOWN_BELOW_PEAK_DB)
    axes.set_xlim(0.0, 180.0)
    axes.set_xticks(range(0, 181, 30))
    axes.set_ylim(floor - 1.0, peak + 5.0)


def levels(cut: Cuts, plane: str) -> Sequence[float]:
    """Return one plane's directivity, dBi."""
    return cut.e_plane_dbi if plane == "e" else cut.h_plane_dbi


def middle_cut(cuts: Sequence[Cuts]) -> Cuts:
    """Return the cut at the middle frequency."""
    return cuts[len(cuts) // 2]


def first_minimum(cut: Cuts) -> float:
    """Return the angle of the first minimum of either plane, degrees; 0 when both fall all the way to 90 degrees."""
    found = []
    for curve in (cut.e_plane_dbi, cut.h_plane_dbi):
        inner = range(1, len(curve) - 1)
        places = [place for place in inner if curve[place - 1] > curve[place] <= curve[place + 1]]
        found += [cut.theta_deg[place] for place in places[:1] if cut.theta_deg[place] < 90.0]
    return min(found, default=0.0)
