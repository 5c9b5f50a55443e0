"""Checks of objectives and constraints: refuse those that no antenna can meet, and warn about doubtful ones.

A study may want to see how far a goal is missed. An efficiency above 1 and bounds that contradict each other are
refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from antennaopt.experiment.fields import refuse
from antennaopt.experiment.size_checks import size_warning
from antennaopt.figures import LINEAR, limit_lines
from antennaopt.quantities import format_frequency, format_length
from antennaopt.settings import ALGORITHMS

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment
    from antennaopt.search.objectives import Objective


def check_objectives(experiment: Experiment) -> None:
    """Refuse goals that cannot be met, or that do not go together or with the algorithm.

    Raises:
        ConfigurationError: One line.
    """
    _check_front(experiment)
    solved = experiment.solver.frequencies
    tables = _tables(experiment)
    entries = list(tables)
    for entry, objective in tables.items():
        for hz in objective.frequencies:
            if hz not in solved:
                refuse(
                    f"{entry}.frequencies: {format_frequency(hz)} is not solved; use some of "
                    f"{', '.join(format_frequency(one) for one in solved)}, or add it to solver.frequencies"
                )
    for entry, goal in zip(entries, experiment.goals, strict=True):
        if goal.metric.endswith("_efficiency") and (goal.at_least or 0.0) > 1.0:
            refuse(
                f"{entry}: {goal.name} at_least = {goal.at_least:g} is never met (an efficiency must be <= 1); lower it"
            )
    for (one, first), (other, second) in combinations(zip(entries, experiment.goals, strict=True), 2):
        if first.name == second.name and first.figure != second.figure:
            refuse(
                f"{other}: its columns {second.name} are those of {one}, which is another figure; "
                f'give one of them a name of its own, name = "{second.name}_2"'
            )
        _refuse_contradiction((one, first), (other, second), solved)


def _check_front(experiment: Experiment) -> None:
    """Refuse objectives that do not suit the algorithm: some search for a front, the others minimise a weighted sum.

    Raises:
        ConfigurationError: They do not.
    """
    evolution, objectives = experiment.evolution, experiment.objectives
    entry = f'evolution.algorithm = "{evolution.algorithm}"'
    if not ALGORITHMS[evolution.algorithm].front:
        for place, one in enumerate(objectives):
            if one.aim is not None:
                refuse(
                    f'objective.{place}.aim = "{one.aim}" does not go with {entry}, which minimises a weighted sum of '
                    "shortfalls; give a level, at_least or at_most, write secondary = "
                    f'{{ metric = "{one.metric}", aim = "{one.aim}" }} at the top of the file, or use '
                    'algorithm = "nsga2"'
                )
        if evolution.reference:
            refuse(f"evolution.reference does not go with {entry}, which has no hypervolume; remove it")
        _check_secondary(experiment)
        return
    if experiment.secondary is not None:
        refuse(f"secondary does not go with {entry}, whose objectives all count; write it as an [[objective]]")
    if evolution.population % 4:
        refuse(
            f"evolution.population = {evolution.population} does not go with {entry}, whose tournaments take four at a "
            f"time (must be a multiple of 4); use {4 * math.ceil(evolution.population / 4)}"
        )
    if not objectives:
        return
    if len(objectives) == 1:
        level = "give it a level, at_least or at_most, and use" if objectives[0].aim else "use"
        refuse(f'{entry} searches for a front and has one objective; add another, or {level} algorithm = "ga"')
    for place, one in enumerate(objectives):
        if one.weight != 1.0:
            refuse(
                f"objective.{place}.weight = {one.weight:g} does not go with {entry}, which has no weights; remove it"
            )
    if evolution.reference and len(evolution.reference) != len(objectives):
        refuse(
            f"evolution.reference has {len(evolution.reference)} numbers for {len(objectives)} objectives; "
            "give one of each, in its own unit"
        )
    if evolution.stop.fitness is not None:
        refuse(f"evolution.stop.fitness does not go with {entry}, which minimises no single number; remove it")


def entries_of(experiment: Experiment) -> list[str]:
    """Return the name of each goal's table: `objective.0`, ... `secondary`, `constraint.0`, ..."""
    return list(_tables(experiment))


def _tables(experiment: Experiment) -> dict[str, Any]:
    """Return the tables of all goals by name, in the order of `Experiment.goals`."""
    return (
        {f"objective.{place}": one for place, one in enumerate(experiment.objectives)}
        | ({} if experiment.secondary is None else {"secondary": experiment.secondary})
        | {f"constraint.{place}": one for place, one in enumerate(experiment.constraints)}
    )


def _check_secondary(experiment: Experiment) -> None:
    """Refuse a secondary aim with a stop or with samples that leave it no effect."""
    if experiment.secondary is None:
        return
    fitness = experiment.evolution.stop.fitness
    if fitness is not None and fitness >= 0.0:
        refuse(
            f"evolution.stop.fitness = {fitness:g} ends the run before secondary counts (must be < 0: with all goals "
            "met the fitness is between -1 and 0); remove it"
        )
    if experiment.tolerance is not None and experiment.tolerance.samples:
        refuse("secondary does not go with tolerance.samples, whose fitness is over made copies; remove one of the two")


def check_stop(experiment: Experiment) -> None:
    """Refuse a fitness to stop at that no antenna has.

    Raises:
        ConfigurationError: It is below 0, and nothing makes a fitness negative.
    """
    fitness, tolerance = experiment.evolution.stop.fitness, experiment.tolerance
    if fitness is not None and fitness < 0.0 and experiment.secondary is None:
        add = "" if tolerance is not None and tolerance.samples else " or add secondary"  # the two exclude each other
        refuse(
            f"evolution.stop.fitness = {fitness:g} is never reached (must be >= 0: with all goals met the fitness is "
            f"0, and only secondary makes it negative); raise it{add}"
        )


def _refuse_contradiction(one: tuple[str, Objective], other: tuple[str, Objective], solved: Sequence[float]) -> None:
    """Refuse two goals for one metric that no antenna meets at a frequency that they share.

    Raises:
        ConfigurationError: They are such.
    """
    (at, first), (place, second) = one, other
    shared = sorted(set(first.frequencies or solved) & set(second.frequencies or solved))
    if first.name != second.name or not shared:
        return
    for low, high in ((first, second), (second, first)):
        if low.at_least is not None and high.at_most is not None and low.at_least > high.at_most:
            refuse(
                f"{at} and {place}: {first.name} at_least = {low.at_least:g} and at_most = "
                f"{high.at_most:g} contradict each other at {format_frequency(shared[0])}: no antenna meets both; "
                "lower at_least or raise at_most"
            )


def goal_warnings(experiment: Experiment) -> list[str]:
    """Return a line for each goal that hardly makes sense: which entry, its value, what is usual."""
    found = []
    for entry, goal in zip(entries_of(experiment), experiment.goals, strict=True):
        found += [f"{entry}: {line}" for line in _of_one(experiment, goal)] if goal.aim is None else []
    return found + list(_repeated(experiment))


def _repeated(experiment: Experiment) -> Iterator[str]:
    """Yield a line for each objective that is another one again."""
    what = "it counts twice; remove it or give one of them more weight"
    if ALGORITHMS[experiment.evolution.algorithm].front:
        what = "a front has nothing to weigh between them; remove it"
    tables = [one.model_dump(exclude={"weight", "name"}) for one in experiment.objectives]
    for (first, one), (second, other) in combinations(enumerate(tables), 2):
        if one == other:
            yield f"objective.{second} is objective.{first} again: {what}"


def _of_one(experiment: Experiment, goal: Objective) -> Iterator[str]:
    metric = goal.about
    wrong = _wrong(goal)
    if wrong and metric.usual_text:
        yield f"{_written(goal)} {wrong}; usual is {metric.usual_text}"
    elif goal.at_least is not None and metric.unit == "dBi":
        limit = _sphere_limit(experiment, min(goal.frequencies or experiment.solver.frequencies))
        if goal.at_least > limit[0]:
            level, radius, hz = limit
            yield (
                f"{_written(goal)} is hardly met: the largest antenna of this file fits a sphere of radius "
                f"{format_length(radius)}; usual is at most {level:.1f} dBi at {format_frequency(hz)} (Harrington's "
                "limit N^2 + 2 N with N = k a)"
            )
    size = size_warning(experiment, goal)
    if size:
        yield size
    elif wrong and not metric.usual_text:
        yield f"{_written(goal)} {wrong}; correct it"
    yield from _on_boresight(goal)
    if goal.metric == "axial_ratio_db" and experiment.polarisation == LINEAR:
        yield (
            f"{goal.name} is that of the antenna fed in circular polarisation, and polarisation is linear; "
            'write polarisation = "rhcp" or "lhcp" at the top of the file'
        )


def _wrong(goal: Objective) -> str:
    """Say what is wrong with a goal; empty when nothing is."""
    usual, metric = goal.about.goal, goal.about
    if usual is None:
        return ""
    low, high, unit = goal.at_least, goal.at_most, f" {metric.unit}" if metric.unit else ""
    antenna, never = ("antenna whose main beam is on boresight", "hardly") if usual.forward else ("antenna", "never")
    if low is not None and low > usual.ceiling:
        return f"is {never} met: no {antenna} has more than {usual.ceiling:g}{unit}"
    if high is not None and (high < usual.floor or (high == usual.floor == 0.0 and metric.unit != "dB")):
        return f"is {never} met: no {antenna} has less than {usual.floor:g}{unit}"
    if low is not None and high is not None:
        return ""
    if low is not None and low <= usual.floor:
        return f"is met by every {antenna}: none has less than {usual.floor:g}{unit}"
    if high is not None and high >= usual.ceiling:
        return f"is met by every {antenna}: none has more than {usual.ceiling:g}{unit}"
    if metric.usual_text and metric.unusual_bound is not None and getattr(goal, metric.unusual_bound) is not None:
        return "asks for a worse antenna"
    return ""


def _on_boresight(goal: Objective) -> Iterator[str]:
    """Yield a line for a limit over boresight that boresight itself breaks: its level is 0 dB."""
    if goal.metric != "pattern_db":
        return
    for line in limit_lines(goal.metric, goal.figure, goal.at_least, goal.at_most):
        level = line.level[0]
        if line.theta_deg[0] > 0.0 or line.absolute or line.planes == ("cross",):
            continue
        if level < 0.0 if line.upper else level > 0.0:
            word = "at_most" if line.upper else "at_least"
            yield (
                f"{goal.name} {word} = {level:g} dB at theta = 0 is never met: levels are over boresight, which has "
                "0 dB; begin theta beyond the main beam, or write absolute = true for dBi"
            )


def _written(goal: Objective) -> str:
    word, level = ("at_least", goal.at_least) if goal.at_least is not None else ("at_most", goal.at_most)
    return f"{goal.name} {word} = {level:g} {goal.about.unit}".rstrip()


def _sphere_limit(experiment: Experiment, hz: float) -> tuple[float, float, float]:
    """Return the largest usual directivity of the largest antenna of a file, dBi, with its sphere's radius and hz.

    The sphere encloses the feed too, and so does not stand too low.

    References:
        R. F. Harrington, "Effect of antenna size on gain, bandwidth, and efficiency", J. Res. NBS 64D, 1960, eq. 5.
    """
    from scipy.constants import c

    from antennaopt.families import stack

    lower, upper = experiment.bounds()
    sizes = [experiment.kind.size(stack([design])) for design in (lower, upper)]
    radius, height = (max(float(size[at][0]) for size in sizes) for at in (0, 1))
    sphere = math.hypot(radius, 0.5 * (height + upper.get("feed.length", 0.0)))  # a board has no guide
    modes = 2.0 * math.pi * hz / c * sphere
    return 10.0 * math.log10(modes**2 + 2.0 * modes), sphere, hz
