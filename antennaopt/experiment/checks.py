"""Checks of a file's entries against each other, and of physics that needs no solution."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from antennaopt.experiment.fields import refuse
from antennaopt.experiment.goal_checks import check_objectives, goal_warnings
from antennaopt.experiment.search_checks import check_search, check_start, restart_warnings
from antennaopt.experiment.spatial import check_narrow, check_spatial, narrow_warnings
from antennaopt.families import FAMILIES, SHARED
from antennaopt.families.parameters import cutoff_frequency
from antennaopt.families.walls import too_thin
from antennaopt.quantities import ROUNDED, format_frequency, format_length

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment
    from antennaopt.families import Family

FEWEST_CELLS_PER_WAVELENGTH = 8.0
FEWEST_CELLS_IN_GUIDE = 4.0
OUTSIDE_THE_BAND = 2.0
"""Largest ratio of the design frequency to the nearest frequency that is solved, either way."""


def check(experiment: Experiment) -> None:
    """Refuse what cannot work whatever values the genes take.

    A range of which only a part is impossible is accepted: those designs become rows `infeasible`.

    Raises:
        ConfigurationError: One line.
    """
    check_objectives(experiment)
    check_search(experiment)
    check_start(experiment)
    lower, upper = experiment.bounds()
    if experiment.kind.spatial is not None:
        check_spatial(experiment, lower, upper)
        check_density(experiment)
        check_narrow(experiment)
        _check_band(experiment)
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
    _check_band(experiment)


def find_warnings(experiment: Experiment) -> tuple[str, ...]:
    """Return what may surprise: other modes than TE11 in the guide, new starts that never come, odd goals."""
    of_search = [*restart_warnings(experiment.evolution), *goal_warnings(experiment)]
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
    return (*found, *_wall_warnings(experiment), *of_search)


def _wall_warnings(experiment: Experiment) -> list[str]:
    """Return a line for each wall that is too thin for the cells in a part of the designs alone.

    Gaps and dielectrics often depend on several genes and are thin in rare designs; these become rows.
    """
    lower, upper = experiment.reach() if experiment.genes else experiment.bounds()
    thin = too_thin(experiment.kind.of(upper), lower, upper, fitted_cell(experiment, upper))
    return [f"antenna: {one.warning()}" for one in thin if one.thinnest.metal and not one.always]


OTHER_MODES = {
    "TM01": (0, "TM", "a real feed may carry TM01 too; here it is neither excited nor measured"),
    "TM11": (1, "TM", "power that the antenna reflects into TM11 is not in S11; `modes` in the results has it"),
}


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
    """Return the lowest frequency at which the feed's waves can be solved, Hz, rounded up to four digits."""
    from fdtd.axisymmetric.layout import ABOVE_CUTOFF

    lowest = ABOVE_CUTOFF * cutoff_frequency(radius, 1, "TE", permittivity)
    digit = 10.0 ** (math.floor(math.log10(lowest)) - 3)
    return math.ceil(lowest / digit) * digit


def _cutoff(radius: float, permittivity: float) -> str:
    return format_frequency(float(f"{cutoff_frequency(radius, 1, 'TE', permittivity):.4g}"))


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


def check_distance(experiment: Experiment) -> None:
    """Refuse a distance of the layers of bodies of revolution that is below a cell; the lattice would take five.

    Raises:
        ConfigurationError: It is.
    """
    distance = experiment.solver.pml_distance
    if distance is None or experiment.kind.spatial is not None:
        return
    cell = fitted_cell(experiment, experiment.bounds()[1])
    if distance < cell * (1 - ROUNDED):
        refuse(
            f"solver.pml_distance = {format_length(distance)} is less than a cell (must be >= {format_length(cell)}); "
            "enlarge it, an eighth of the longest wavelength is enough, or leave it out (a quarter)"
        )


def _check_band(experiment: Experiment) -> None:
    """Refuse a design frequency far from all that is solved.

    A loss tangent becomes the conductivity that it has there, so at another frequency it acts multiplied by the ratio
    of both.
    """
    hz, solved = experiment.solver.design_frequency, experiment.solver.frequencies
    least, most = min(solved) / OUTSIDE_THE_BAND, max(solved) * OUTSIDE_THE_BAND
    if not least * (1.0 - ROUNDED) <= hz <= most * (1.0 + ROUNDED):
        refuse(
            f"solver.design_frequency = {format_frequency(hz)} is far from solver.frequencies (must be >= "
            f"{format_frequency(least)} and <= {format_frequency(most)}): loss tangents hold there, and at other "
            "frequencies they change with the ratio; give the loss tangent at a frequency that is solved, or leave it "
            "out (the middle of the list)"
        )


def cell_size(experiment: Experiment) -> float:
    """Return the cell before it is fitted to the feed, m: as given, or from the cells per wavelength."""
    solver = experiment.solver
    return solver.cell if solver.cell is not None else wavelength(experiment) / (solver.cells_per_wavelength or 1.0)


def fitted_cell(experiment: Experiment, upper: Mapping[str, float]) -> float:
    """Return the cell of antennas of revolution between two designs, `upper` with the widest feed, m."""
    from fdtd.axisymmetric.layout import fitted_to

    return experiment.solver.cell or fitted_to(upper["feed.inner_radius"], cell_size(experiment))


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
    given, density = solver.cell, solver.cells_per_wavelength
    if given is not None and density is not None and experiment.kind.spatial is None:  # in space both have a meaning
        refuse(
            f"solver.cell = {format_length(given)} and solver.cells_per_wavelength = {density:g} exclude each other; "
            "remove one"
        )
    if solver.cell is None and solver.cells_per_wavelength is None:
        refuse("solver.cell and solver.cells_per_wavelength are both empty; give one of them")
    cell = cell_size(experiment)
    per_wavelength = c / (highest * math.sqrt(permittivity) * cell)
    widened = permittivity > experiment.kind.densest(experiment.bounds()[1])
    of_medium = f"permittivity {permittivity:g}{', its tolerance included,' if widened else ''}"
    needs = f"needs >= {FEWEST_CELLS_PER_WAVELENGTH:g} in {of_medium} at {format_frequency(highest)}"
    lower = f"lower the highest frequency{' or the tolerance' if widened else ''}"
    coarse = min(per_wavelength, solver.cells_per_wavelength or per_wavelength)
    if coarse < FEWEST_CELLS_PER_WAVELENGTH * (1.0 - 1e-9):
        if coarse < per_wavelength or solver.cell is None:
            refuse(
                f"solver.cells_per_wavelength = {solver.cells_per_wavelength:g} is too coarse ({needs}); "
                f"raise it or {lower}"
            )
        refuse(
            f"solver.cell = {format_length(cell)} is too coarse: {per_wavelength:.3g} cells per wavelength ({needs}); "
            f"make it smaller or {lower}"
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
