"""What a file's entries must be to each other, and physics that needs no field solved."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from antennaopt.experiment.cluster import check_cluster
from antennaopt.experiment.fields import Range, refuse
from antennaopt.experiment.goal_checks import check_objectives, goal_warnings
from antennaopt.experiment.spatial import check_narrow, check_spatial, narrow_warnings
from antennaopt.families import FAMILIES, SHARED, parameter_of
from antennaopt.families.parameters import cutoff_frequency
from antennaopt.quantities import LENGTH, format_frequency, format_length, format_quantity
from antennaopt.settings import ALGORITHMS

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment
    from antennaopt.experiment.search import Evolution
    from antennaopt.families import Family

FEWEST_CELLS_PER_WAVELENGTH = 8.0
FEWEST_CELLS_IN_GUIDE = 4.0


def check(experiment: Experiment) -> None:
    """Refuse what cannot work whatever values the genes take.

    Where only a part of a range is impossible nothing is said: those designs become rows `infeasible`.

    Raises:
        ConfigurationError: One line.
    """
    check_objectives(experiment)
    _check_search(experiment)
    _check_start(experiment)
    lower, upper = experiment.bounds()
    if experiment.kind.spatial is not None:
        check_spatial(experiment, lower, upper)
        check_density(experiment)
        check_narrow(experiment)
        return
    _check_shared(lower, upper)
    _check_limits(experiment, lower, upper)
    _check_shape(experiment.kind, lower, upper)
    _check_time_step(experiment)
    lower, _ = experiment.reach()
    _check_modes(experiment, lower)
    _check_bores(experiment, upper)
    _check_cell(experiment, lower)
    _check_design_frequency(experiment, lower)


def find_warnings(experiment: Experiment) -> tuple[str, ...]:
    """Return what may surprise: other modes than TE11 in the guide, new starts that never come, odd goals."""
    of_search = [*_restart_warnings(experiment.evolution), *goal_warnings(experiment)]
    if experiment.kind.spatial is not None:
        return (*narrow_warnings(experiment), *of_search)
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
    lowest = min(experiment.solver.frequencies)
    for entry, radius, mode, cutoff, without in _bores(experiment, upper):
        if lowest < cutoff <= highest:
            found.append(
                f"antenna.{entry} = {format_length(radius)} carries {mode} above {format_frequency(cutoff)}, and below "
                f"that {without}; widen it or leave out {format_frequency(lowest)}"
            )
    return (*found, *of_search)


OTHER_MODES = {
    "TM01": (0, "TM", "a real feed may carry TM01 beside TE11; here it is neither excited nor measured"),
    "TM11": (1, "TM", "power that the antenna reflects into TM11 is not in S11; `modes` in the results has it"),
}


FEWEST_GENERATIONS = 4
"""Of a search that is polished: two of the search, two of the local one."""


def can_polish(experiment: Experiment) -> bool:
    """Return whether a search by one algorithm of generations, on one lattice, can end with a local search."""
    is_sampled = experiment.tolerance is not None and experiment.tolerance.samples
    has_real = any(gene.kind == "real" for gene in experiment.genes)
    is_plain = experiment.fidelity is None and not is_sampled
    return is_plain and has_real and experiment.evolution.generations >= FEWEST_GENERATIONS


def _check_polish(experiment: Experiment) -> None:
    """Refuse a local search where there is no single best antenna, no generation, or nothing to move by little."""
    name, generations = experiment.evolution.algorithm, experiment.evolution.generations
    if ALGORITHMS[name].front or name == "steady_state":
        why = "which searches for a front" if ALGORITHMS[name].front else "which has no generations"
        refuse(f'evolution.polish does not go with evolution.algorithm = "{name}", {why}; use "ga" or remove it')
    if experiment.tolerance is not None and experiment.tolerance.samples:
        refuse("evolution.polish compares designs, and tolerance.samples yields; remove one of the two")
    if experiment.genes and not any(gene.kind == "real" for gene in experiment.genes):
        refuse("evolution.polish moves real numbers, and all genes are whole numbers or choices; remove it")
    if generations < FEWEST_GENERATIONS:
        refuse(
            f"evolution.generations = {generations} leaves evolution.polish nothing "
            f"(must be >= {FEWEST_GENERATIONS}); raise it"
        )


def _check_restart(evolution: Evolution) -> None:
    """Refuse new starts where there is nothing to count, and those that never come."""
    name, after, stagnation = evolution.algorithm, evolution.restart_after, evolution.stop.stagnation
    if after is None:
        return
    if not ALGORITHMS[name].restarts:
        others = '", "'.join(other for other, one in ALGORITHMS.items() if one.restarts)
        refuse(f'evolution.restart_after does not go with evolution.algorithm = "{name}" (only "{others}"); remove it')
    if stagnation is not None and stagnation <= after:
        refuse(
            f"evolution.restart_after = {after} never comes: evolution.stop.stagnation = {stagnation} ends the run "
            "first; raise stop.stagnation or remove it"
        )


def _check_overlap(experiment: Experiment) -> None:
    """Refuse overlapping generations where the next one is not certain before this one is complete."""
    evolution, tolerance = experiment.evolution, experiment.tolerance
    if evolution.algorithm != "ga":
        refuse(
            f'evolution.overlap does not go with evolution.algorithm = "{evolution.algorithm}" (only "ga"); remove it'
        )
    others = {
        "evolution.polish": evolution.polish,
        f"evolution.restart_after = {evolution.restart_after}": evolution.restart_after is not None,
        "fidelity": experiment.fidelity is not None,
        "tolerance.samples": tolerance is not None and tolerance.samples > 0,
    }
    for name in (name for name, given in others.items() if given):
        refuse(f"evolution.overlap and {name} exclude each other: what is bred next is not known early; remove one")


def _restart_warnings(evolution: Evolution) -> Iterator[str]:
    """Yield a warning where a run ends before the first new start: one comes in generation `restart_after` + 2."""
    after, last = evolution.restart_after, evolution.generations - 2
    if after is not None and after > last:
        most = f" (must be <= {last}); lower it or" if last >= 1 else ";"
        yield (
            f"evolution.restart_after = {after} never comes in evolution.generations = {evolution.generations}{most} "
            "remove it"
        )


def _check_search(experiment: Experiment) -> None:
    evolution, cluster = experiment.evolution, experiment.cluster
    if evolution.polish:
        _check_polish(experiment)
    _check_restart(evolution)
    if evolution.overlap:
        _check_overlap(experiment)
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


def _check_time_step(experiment: Experiment) -> None:
    if experiment.solver.time_step == "long" and not experiment.kind.long_step:
        known = ", ".join(name for name, one in sorted(FAMILIES.items()) if one.long_step)
        refuse(
            f'solver.time_step = "long" is for families whose metal is the feed alone ({known}), and this is a '
            f"{experiment.family}; remove it"
        )


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


def _check_bores(experiment: Experiment, upper: dict[str, float]) -> None:
    """Refuse a bore that is too narrow at its widest for a mode that it is there for, at the highest frequency."""
    highest = max(experiment.solver.frequencies)
    for entry, radius, mode, cutoff, without in _bores(experiment, upper):
        if cutoff > highest:
            refuse(
                f"antenna.{entry} = {format_length(radius)} is below the cutoff of {mode} at "
                f"{format_frequency(highest)}, so {without} (must be >= {format_length(radius * cutoff / highest)}); "
                "widen it or raise the frequency"
            )


def _bores(experiment: Experiment, upper: dict[str, float]) -> Iterator[tuple[str, float, str, float, str]]:
    """Yield entry, largest radius, mode and cutoff, Hz, of bores in air, and what the antenna is without the mode.

    What fills a feed may go on into the bore, which then carries more.
    """
    from fdtd.axisymmetric.modes import mode_cutoff

    if upper.get("feed.permittivity", 1.0) > 1.0:
        return
    for one in experiment.kind.carries:
        for entry in one.entries(upper):
            yield entry, upper[entry], one.mode, mode_cutoff(one.mode, upper[entry], 1.0), one.without


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
    solver = experiment.solver
    return solver.cell if solver.cell is not None else wavelength(experiment) / (solver.cells_per_wavelength or 1.0)


def wavelength(experiment: Experiment) -> float:
    """Return the wavelength in the densest medium at the highest frequency, m."""
    from scipy.constants import c

    return c / (max(experiment.solver.frequencies) * math.sqrt(_densest(experiment)))


def _densest(experiment: Experiment) -> float:
    return experiment.kind.densest(experiment.reach()[1])


def check_density(experiment: Experiment) -> None:
    """Refuse cells that are too coarse for the shortest wave.

    Raises:
        ConfigurationError: They are, or there are two sizes, or none.
    """
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


def _check_cell(experiment: Experiment, lower: dict[str, float]) -> None:
    check_density(experiment)
    solver, cell = experiment.solver, cell_size(experiment)
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
