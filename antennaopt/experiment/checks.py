"""What a file's entries must be to each other, physics that needs no field solved, and goals that hardly make sense.

Goals that hardly make sense are warned of: a study may want to see how far one is missed. Those that no antenna can
meet, an efficiency above 1 and bounds that contradict each other, are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from antennaopt.experiment.cluster import check_cluster
from antennaopt.experiment.fields import Range, refuse
from antennaopt.families import SHARED, parameter_of
from antennaopt.families.parameters import cutoff_frequency
from antennaopt.figures import LINEAR
from antennaopt.quantities import LENGTH, format_frequency, format_length, format_quantity
from antennaopt.settings import ALGORITHMS

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment
    from antennaopt.families import Family
    from antennaopt.search.objectives import Objective

FEWEST_CELLS_PER_WAVELENGTH = 8.0
FEWEST_CELLS_IN_GUIDE = 4.0


def check(experiment: Experiment) -> None:
    """Refuse what cannot work whatever values the genes take.

    Where only a part of a range is impossible nothing is said: those designs become rows `infeasible`.

    Raises:
        ConfigurationError: One line.
    """
    _check_search(experiment)
    _check_objectives(experiment)
    _check_start(experiment)
    lower, upper = experiment.bounds()
    _check_shared(lower, upper)
    _check_limits(experiment, lower, upper)
    _check_shape(experiment.kind, lower, upper)
    lower, _ = experiment.reach()
    _check_modes(experiment, lower)
    _check_cell(experiment, lower)
    _check_design_frequency(experiment, lower)


def find_warnings(experiment: Experiment) -> tuple[str, ...]:
    """Return what may surprise: modes other than TE11 that the guide carries, goals that hardly make sense."""
    _, upper = experiment.bounds()
    radius = upper["feed.inner_radius"]
    highest = max(experiment.solver.frequencies)
    found = []
    for mode, (order, kind, what) in OTHER_MODES.items():
        cutoff = cutoff_frequency(radius, order, kind, upper.get("feed.permittivity", 1.0))
        if highest > cutoff:
            found.append(
                f"solver.frequencies: {format_frequency(highest)} lies above the {mode} cutoff of "
                f"antenna.feed.inner_radius = {format_length(radius)} ({format_frequency(cutoff)}): {what}"
            )
    return (*found, *goal_warnings(experiment))


OTHER_MODES = {
    "TM01": (0, "TM", "a real feed may carry TM01 beside TE11; here it is neither excited nor measured"),
    "TM11": (1, "TM", "power that the antenna reflects into TM11 is not in S11; `modes` in the results has it"),
}


def _check_search(experiment: Experiment) -> None:
    evolution, cluster = experiment.evolution, experiment.cluster
    stepped = next((gene for gene in experiment.genes if gene.kind != "real"), None)
    if stepped is not None and not ALGORITHMS[evolution.algorithm].steps:
        others = '" or "'.join(name for name in ("ga", "de") if ALGORITHMS[name].steps)
        refuse(
            f'evolution.algorithm = "{evolution.algorithm}" searches real numbers only, and {stepped.name} is '
            f'{"a choice" if stepped.kind == "choice" else "a whole number"}; use "{others}" or give it one value'
        )
    if evolution.elites >= evolution.population:
        refuse(
            f"evolution.elites = {evolution.elites} leaves no room for children "
            f"(must be < evolution.population = {evolution.population}); use fewer elites or a larger population"
        )
    if evolution.tournament_size > evolution.population:
        refuse(
            f"evolution.tournament_size = {evolution.tournament_size} is larger than the population "
            f"(must be <= evolution.population = {evolution.population}); lower it or enlarge the population"
        )
    if len(evolution.start) > evolution.population:
        refuse(
            f"evolution.start plants {len(evolution.start)} designs "
            f"(must be <= evolution.population = {evolution.population}); plant fewer or enlarge the population"
        )
    check_cluster(cluster)


def _check_objectives(experiment: Experiment) -> None:
    solved = experiment.solver.frequencies
    for place, objective in enumerate(experiment.objectives):
        for hz in objective.frequencies:
            if hz not in solved:
                refuse(
                    f"objective.{place}.frequencies: {format_frequency(hz)} is not solved; use some of "
                    f"{', '.join(format_frequency(one) for one in solved)}, or add it to solver.frequencies"
                )
    for place, goal in enumerate(experiment.goals):
        if goal.metric.endswith("_efficiency") and (goal.at_least or 0.0) > 1.0:
            refuse(
                f"objective.{place}: {goal.name} at_least = {goal.at_least:g} is never met "
                "(an efficiency must be <= 1); lower it"
            )
    for (one, first), (other, second) in combinations(enumerate(experiment.goals), 2):
        if first.name == second.name and first.figure != second.figure:
            refuse(
                f"objective.{other}: its columns {second.name} are those of objective.{one}, which is another figure; "
                f'give one of them a name of its own, name = "{second.name}_2"'
            )
        _refuse_contradiction((one, first), (other, second), solved)


def _refuse_contradiction(one: tuple[int, Objective], other: tuple[int, Objective], solved: Sequence[float]) -> None:
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
                f"objective.{at} and objective.{place}: {first.name} at_least = {low.at_least:g} and at_most = "
                f"{high.at_most:g} contradict each other at {format_frequency(shared[0])}: no antenna meets both; "
                "lower at_least or raise at_most"
            )


def _check_start(experiment: Experiment) -> None:
    genes = {name: value for name, value in experiment.antenna.parameters() if isinstance(value, Range)}
    for place, planted in enumerate(experiment.evolution.start):
        for name, value in planted.items():
            if name not in genes:
                refuse(
                    f"evolution.start.{place}.{name} is not a gene; remove it "
                    f"(genes: {', '.join(genes) if genes else 'none'})"
                )
            _check_planted(f"evolution.start.{place}.{name}", name, value, genes[name])


def _check_planted(where: str, name: str, value: float, gene: Range) -> None:
    parameter = parameter_of(name)
    is_length = parameter is None or parameter.dimension == "length"

    def show(x: float, digits: int = 6) -> str:
        return format_quantity(x, LENGTH, digits=digits) if is_length else f"{x:.{digits}g}"

    if gene.kind == "choice" and value not in gene.choices:
        refuse(f"{where} = {show(value)} is none of the gene's choices ({', '.join(show(x) for x in gene.choices)})")
    slack = 1e-9 * gene.high
    if not gene.low - slack <= value <= gene.high + slack:
        digits = next((n for n in (6, 9, 12) if show(value, n) not in (show(gene.low, n), show(gene.high, n))), 17)
        refuse(
            f"{where} = {show(value, digits)} lies outside the gene's range ({show(gene.low)} to {show(gene.high)}); "
            "widen the range or change the design"
        )
    if gene.kind == "integer" and abs(value - round(value)) > slack:
        refuse(
            f"{where} = {show(value)} is no whole number, as the gene's values are ({show(math.ceil(gene.low))} to "
            f"{show(math.floor(gene.high))}); round it"
        )


def _check_shared(lower: dict[str, float], upper: dict[str, float]) -> None:
    for name in SHARED:
        if lower.get(name) != upper.get(name):
            low, high = (format_length(one[name]) for one in (lower, upper))
            refuse(
                f"antenna.{name} is a range ({low} to {high}), but source and port stand in the same planes in all "
                "antennas of a run; write one length"
            )


def _check_limits(experiment: Experiment, lower: dict[str, float], upper: dict[str, float]) -> None:
    fault = None if experiment.limits is None else experiment.limits.refusal(experiment.kind, lower, upper)
    if fault is not None:
        refuse(fault)


def _check_shape(family: Family, lower: dict[str, float], upper: dict[str, float]) -> None:
    if upper["feed.outer_radius"] <= lower["feed.inner_radius"]:
        refuse(
            f"antenna.feed.outer_radius{_given('feed.outer_radius', lower, upper)} leaves no wall "
            f"(must be > antenna.feed.inner_radius = {format_length(lower['feed.inner_radius'])}); enlarge it"
        )
    widest, thinnest = upper["feed.inner_radius"], lower["feed.outer_radius"]
    if lower["feed.inner_radius"] != widest and thinnest <= widest:
        refuse(
            f"antenna.feed.outer_radius = {format_length(thinnest)} is not beyond the widest "
            f"antenna.feed.inner_radius = {format_length(widest)}: one absorber serves the feeds of all antennas of a "
            "run; enlarge it or narrow the range"
        )
    for limit in family.limits:
        name, least = limit.entry(upper), lower[limit.least]
        if upper[name] < least:
            refuse(
                f"antenna.{name}{_given(name, lower, upper)} {limit.problem} "
                f"(must be >= antenna.{limit.least} = {format_length(least)}); enlarge it"
            )
    if lower == upper:
        for fault in family.faults(upper):
            refuse(f"antenna.{fault}")


def _given(name: str, lower: dict[str, float], upper: dict[str, float]) -> str:
    """Write a length that no value of its range makes right: ` = 3 mm`, or from where to where."""
    low, high = format_length(lower[name]), format_length(upper[name])
    return f" = {high}" if low == high else f" ({low} to {high})"


def _check_modes(experiment: Experiment, lower: dict[str, float]) -> None:
    radius, filled = lower["feed.inner_radius"], lower.get("feed.permittivity", 1.0)
    needed = _lowest_frequency(radius, filled)
    lowest = min(experiment.solver.frequencies)
    if lowest < needed:
        refuse(
            f"solver.frequencies: {format_frequency(lowest)} is below or near the TE11 cutoff of "
            f"antenna.feed.inner_radius = {format_length(radius)}, {_cutoff(radius, filled)} (must be >= "
            f"{format_frequency(needed)}); raise the frequency or widen the feed"
        )


def _lowest_frequency(radius: float, permittivity: float) -> float:
    """Return the lowest frequency at which the feed's waves move well enough to be solved, Hz, rounded up to 10 MHz."""
    from fdtd.axisymmetric.layout import ABOVE_CUTOFF

    return math.ceil(ABOVE_CUTOFF * cutoff_frequency(radius, 1, "TE", permittivity) / 1e7) * 1e7


def _cutoff(radius: float, permittivity: float) -> str:
    return f"{cutoff_frequency(radius, 1, 'TE', permittivity) / 1e9:.4g} GHz"


def _check_design_frequency(experiment: Experiment, lower: dict[str, float]) -> None:
    """Refuse what is no frequency of a wave here: the loss tangent holds there, and the lattice is tuned to it."""
    from scipy.constants import c

    hz, radius = experiment.solver.design_frequency, lower["feed.inner_radius"]
    filled = lower.get("feed.permittivity", 1.0)
    lowest = _lowest_frequency(radius, filled)
    if hz < lowest:
        refuse(
            f"solver.design_frequency = {format_frequency(hz)} is below or near the TE11 cutoff of the feed, "
            f"{_cutoff(radius, filled)} (must be >= {format_frequency(lowest)}); give the loss tangent at a frequency "
            "that is solved, or leave it out (the middle of the list)"
        )
    densest = math.sqrt(_densest(experiment))
    highest = c / (FEWEST_CELLS_PER_WAVELENGTH * densest * cell_size(experiment))
    if hz > highest * (1.0 + 1e-9):
        refuse(
            f"solver.design_frequency = {format_frequency(hz)} is too high for the cells (must be <= "
            f"{highest / 1e9:.4g} GHz: {FEWEST_CELLS_PER_WAVELENGTH:g} a wavelength); lower it, or leave it out "
            "(the middle of the list)"
        )


def cell_size(experiment: Experiment) -> float:
    """Return the cell before it is fitted to the feed, m: as given, or from the cells per wavelength."""
    from scipy.constants import c

    solver = experiment.solver
    if solver.cell is not None:
        return solver.cell
    densest = math.sqrt(_densest(experiment))
    return c / (max(solver.frequencies) * densest * (solver.cells_per_wavelength or 1.0))


def _densest(experiment: Experiment) -> float:
    return experiment.kind.densest(experiment.reach()[1])


def _check_cell(experiment: Experiment, lower: dict[str, float]) -> None:
    from scipy.constants import c

    solver, permittivity, highest = experiment.solver, _densest(experiment), max(experiment.solver.frequencies)
    if solver.cell is not None and solver.cells_per_wavelength is not None:
        refuse(
            f"solver.cell = {format_length(solver.cell)} and solver.cells_per_wavelength = "
            f"{solver.cells_per_wavelength:g} exclude each other; remove one"
        )
    if solver.cell is None and solver.cells_per_wavelength is None:
        refuse("solver.cell and solver.cells_per_wavelength are both empty; give one of them")
    cell = cell_size(experiment)
    per_wavelength = c / (highest * math.sqrt(permittivity) * cell)
    needs = f"needs >= {FEWEST_CELLS_PER_WAVELENGTH:g} in permittivity {permittivity:g} at {format_frequency(highest)}"
    if per_wavelength < FEWEST_CELLS_PER_WAVELENGTH * (1.0 - 1e-9):
        if solver.cell is None:
            refuse(
                f"solver.cells_per_wavelength = {solver.cells_per_wavelength:g} is too coarse ({needs}); "
                "raise it or lower the highest frequency"
            )
        refuse(
            f"solver.cell = {format_length(cell)} is too coarse: {per_wavelength:.3g} cells per wavelength ({needs}); "
            "make it smaller or lower the highest frequency"
        )
    radius = lower["feed.inner_radius"]
    if radius / cell < FEWEST_CELLS_IN_GUIDE and solver.cell is not None:
        refuse(
            f"solver.cell = {format_length(cell)} is too coarse for antenna.feed.inner_radius = "
            f"{format_length(radius)} (needs >= {FEWEST_CELLS_IN_GUIDE:g} cells across it); "
            f"make it <= {format_length(radius / FEWEST_CELLS_IN_GUIDE)}"
        )
    if radius / cell < FEWEST_CELLS_IN_GUIDE - 1.0:
        refuse(
            f"solver.cells_per_wavelength = {solver.cells_per_wavelength:g} is too coarse for "
            f"antenna.feed.inner_radius = {format_length(radius)} "
            f"(needs >= {FEWEST_CELLS_IN_GUIDE:g} cells across it); raise it"
        )


def goal_warnings(experiment: Experiment) -> list[str]:
    """Return a line for each goal that hardly makes sense: which entry, its value, what is usual."""
    found = []
    for place, goal in enumerate(experiment.goals):
        found += [f"objective.{place}: {line}" for line in _of_one(experiment, goal)]
    return found


def _of_one(experiment: Experiment, goal: Objective) -> Iterator[str]:
    metric = goal.about
    if metric.usual_text:
        wrong = _wrong(goal)
        if wrong:
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
    if low is not None and low <= usual.floor:
        return f"is met by every {antenna}: none has less than {usual.floor:g}{unit}"
    if high is not None and high >= usual.ceiling:
        return f"is met by every {antenna}: none has more than {usual.ceiling:g}{unit}"
    both = low is not None and high is not None
    if not both and metric.unusual_bound is not None and getattr(goal, metric.unusual_bound) is not None:
        return "asks for a worse antenna"
    return ""


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
    sphere = math.hypot(radius, 0.5 * (height + upper["feed.length"]))
    modes = 2.0 * math.pi * hz / c * sphere
    return 10.0 * math.log10(modes**2 + 2.0 * modes), sphere, hz
