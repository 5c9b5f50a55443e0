"""The table `fidelity`: coarser cells or an earlier stop for the first part of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, Strict, model_serializer

from antennaopt.experiment.checks import (
    FEWEST_CELLS_IN_GUIDE,
    FEWEST_CELLS_PER_WAVELENGTH,
    cell_size,
    fitted_cell,
    wavelength,
)
from antennaopt.experiment.fields import EntryError, Length, Number, Table, refuse
from antennaopt.families.narrow import too_narrow
from antennaopt.quantities import format_length
from antennaopt.settings import ALGORITHMS, LEAST_DECAY_DB, TRUSTED_DB, EvolutionSettings, Ladder, SolverSettings

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment

SAME = 1.1
"""Cells whose sizes differ by a smaller factor are the same level."""

CANDIDATES = (3.0, 2.5, 2.0, 1.5)
"""Of `auto`: coarse cells over the solver's, the coarsest first."""


class Fidelity(Table):
    """Levels of a search, the coarsest first; `fidelity = "auto"` is short for the table without cells.

    Attributes:
        cells: m; the solver's cell is the last level, whether it is listed or not. None to give the next.
        cells_per_wavelength: In the densest medium at the highest frequency.
        decay_db: Stop of all levels but the last, as `solver.decay_db`; alone it makes one level on the solver's cells.
            None for the solver's. Where all three are None the cells are measured at the start.
        promote: Share of a level's distinct individuals that the next one begins with, at most a population.
        finish: Share of the budget of each finer level.
        refit: Whether the distribution of `cmaes` is fitted to the better half of the promoted.
    """

    cells: tuple[Length, ...] | None = None
    cells_per_wavelength: tuple[Number, ...] | None = None
    decay_db: Annotated[Number, Field(ge=LEAST_DECAY_DB)] | None = None
    promote: Annotated[float, Strict(), Field(gt=0.0, le=1.0)] = Ladder.promote
    finish: Annotated[float, Strict(), Field(gt=0.0, lt=1.0)] = Ladder.finish
    refit: Annotated[bool, Strict()] = Ladder.refit

    @model_serializer(mode="wrap")
    def _written(self, handler: Any) -> dict[str, Any]:
        """Leave out `refit` and `decay_db` where they are not set: earlier versions had neither, and hashes stay."""
        return {key: value for key, value in handler(self).items() if key not in ("refit", "decay_db") or value}

    @property
    def is_measured(self) -> bool:
        """Whether the cells are chosen at the start of a run."""
        return self.cells is None and self.cells_per_wavelength is None and self.decay_db is None


def _word_alone(value: Any) -> Any:
    if isinstance(value, str):
        if value != "auto":
            text = 'is not "auto" or a table; write for example { cells = ["0.6 mm", "0.3 mm"], promote = 0.1 }'
            raise EntryError(text, value=value)
        return {}
    if isinstance(value, Mapping) and value.get("cells") is not None and value.get("cells_per_wavelength") is not None:
        raise EntryError("has cells and cells_per_wavelength, which exclude each other; remove one")
    return value


FidelityOrAuto = Annotated[Fidelity, BeforeValidator(_word_alone)]


def coarser_settings(experiment: Experiment) -> list[SolverSettings]:
    """Return the solver's settings of each level below the finest, the coarsest first.

    Args:
        experiment: With `fidelity`; of `auto` all candidates are returned.
    """
    fidelity, own = experiment.fidelity, cell_size(experiment)
    if fidelity is None:
        return []
    if fidelity.is_measured:
        return [at_cell(experiment, cell) for cell in map(own.__mul__, CANDIDATES) if _fault(experiment, cell) is None]
    if fidelity.cells is not None:
        found = [at_cell(experiment, cell) for cell in fidelity.cells if cell > own * SAME]
    elif fidelity.cells_per_wavelength is not None:
        found = [
            replace(at_cell(experiment, cell), cell=None, cells_per_wavelength=density)
            for density in fidelity.cells_per_wavelength
            if (cell := wavelength(experiment) / density) > own * SAME
        ]
    else:
        found = [experiment.solver.settings]
    return [one if fidelity.decay_db is None else replace(one, decay_db=fidelity.decay_db) for one in found]


def at_cell(experiment: Experiment, cell: float) -> SolverSettings:
    """Return the solver's settings with another cell, m; numbers of steps that are given last as long."""
    settings = experiment.solver.settings
    ratio = cell_size(experiment) / cell
    steps = {name: max(round(count * ratio), 1) for name, count in settings.step_counts().items()}
    return replace(settings.with_cell(cell), **steps)


def settings_of_level(
    experiment: Experiment, level: int | None, coarser: Sequence[Mapping[str, Any]]
) -> SolverSettings:
    """Return the solver's settings of a level of a run.

    Args:
        experiment: The run's.
        level: Counted from the coarsest, 0; None for a run with one level.
        coarser: Plans of the levels below the finest, the coarsest first; of `auto` those that were chosen.
    """
    if experiment.fidelity is None or level is None or level >= len(coarser):
        return experiment.solver.settings
    if experiment.fidelity.is_measured:
        return at_cell(experiment, coarser[level]["cell"])
    return coarser_settings(experiment)[level]


def check_fidelity(experiment: Experiment) -> None:
    """Refuse levels that are not in order, too coarse or too fine, and searches that cannot go from one to the next.

    Raises:
        ConfigurationError: One line.
    """
    fidelity, evolution = experiment.fidelity, experiment.evolution
    if fidelity is None:
        return
    fault = _excluded(experiment)
    if fault is not None:
        refuse(fault)
    if fidelity.refit and evolution.algorithm != "cmaes":
        refuse(
            f'fidelity.refit does not go with evolution.algorithm = "{evolution.algorithm}" (only "cmaes"); remove it'
        )
    if fidelity.decay_db is not None:
        _check_stop(experiment.solver.settings, fidelity.decay_db)
    if fidelity.cells is not None or fidelity.cells_per_wavelength is not None:
        _check_cells(experiment, fidelity)
    levels = 2 if fidelity.is_measured else len(coarser_settings(experiment)) + 1
    ladder = Ladder(cells=(0.0,) * levels, promote=fidelity.promote, finish=fidelity.finish)
    planned = evolution.settings.before_polish.generations
    if ladder.generations(planned, 0) < 1 or fidelity.finish * (levels - 1) >= 1.0:
        refuse(_too_few(ladder, evolution.settings))


def _too_few(ladder: Ladder, settings: EvolutionSettings) -> str:
    """Return the refusal of levels that leave the coarsest one no generation, with what would do."""
    planned = settings.before_polish.generations
    finer = ladder.levels - 1
    takes = f"{ladder.reserved(planned)} for each of {finer} finer level{'s' if finer > 1 else ''}"
    if settings.polish:
        takes = f"{settings.generations - planned} for the local search, {takes}"
    said = (
        f"fidelity.finish = {ladder.finish:g} leaves the coarsest of {ladder.levels} levels nothing of "
        f"evolution.generations = {settings.generations} ({takes})"
    )
    lower = replace(ladder, finish=0.0).generations(planned, 0) >= 1
    for more in range(settings.generations + 1, settings.generations + 1001):
        ends = ladder.generations(replace(settings, generations=more).before_polish.generations, 0)
        if ladder.finish * finer < 1.0 and ends >= 1:
            return f"{said}; {'lower fidelity.finish or ' if lower else ''}raise evolution.generations to {more}"
    return f"{said}; lower fidelity.finish"


def _excluded(experiment: Experiment) -> str | None:
    """Return why a search cannot have levels, and what would do; None where it can."""
    algorithm, tolerance = experiment.evolution.algorithm, experiment.tolerance
    if ALGORITHMS[algorithm].front or algorithm == "steady_state":
        why = "ranks by several numbers" if ALGORITHMS[algorithm].front else "has no generations"
        return f'fidelity and evolution.algorithm = "{algorithm}", which {why}, exclude each other; use "ga"'
    if tolerance is not None and tolerance.samples > 0:
        return (
            f"fidelity and tolerance.samples = {tolerance.samples} exclude each other: samples are taken on one "
            "lattice only; write samples = 0 or remove fidelity"
        )
    return None


def stop_warnings(experiment: Experiment) -> list[str]:
    """Return a line where solving stops so early that no certificate trusts what comes of it."""
    given, searched = experiment.solver.settings, bool(experiment.genes)
    settings = given.in_a_search() if searched else given
    if settings.steps or settings.stop_db >= TRUSTED_DB:
        return []
    what = "a search" if searched else "solving"
    quicker = searched and experiment.fidelity is None and _excluded(experiment) is None
    return [
        f"solver.decay_db = {given.decay_db:g} stops {what} at -{settings.stop_db:g} dB, and certificates need "
        f"-{TRUSTED_DB:g} dB: antennas will be doubtful; raise it to {TRUSTED_DB + settings.sooner_db:g}"
        + (f", and breed with the early stop by fidelity = {{ decay_db = {given.decay_db:g} }}" if quicker else "")
    ]


def level_warnings(experiment: Experiment) -> list[str]:
    """Return a line for each level whose cells, fitted to the feed, are those of the next, and for `auto` with none."""
    from fdtd.axisymmetric.layout import fitted_to

    fidelity = experiment.fidelity
    if fidelity is not None and fidelity.is_measured and not coarser_settings(experiment):
        own = cell_size(experiment)
        cell = CANDIDATES[-1] * own
        return [
            f'fidelity = "auto" takes no coarser cells: {format_length(cell)} is too coarse, '
            f"{_fault(experiment, cell)}; make the solver's cells of {format_length(own)} finer or remove fidelity"
        ]
    if fidelity is None or not fidelity.cells_per_wavelength or experiment.kind.spatial is not None:
        return []
    widest, shortest = experiment.reach()[1], wavelength(experiment)
    coarser = [one.cells_per_wavelength or 1.0 for one in coarser_settings(experiment)]
    sizes = [(f"{one:g}", fitted_to(widest["feed.inner_radius"], shortest / one)) for one in coarser]
    if fidelity.decay_db is None:  # else the last of them stops earlier
        sizes.append(("[solver]", fitted_cell(experiment, widest)))
    return [
        f"fidelity.cells_per_wavelength: {entry} has the cells of {after}, {format_length(cell)}, since "
        "antenna.feed.inner_radius is a whole number of them; take a smaller number, or leave it out"
        for (entry, cell), (after, finer) in pairwise(sizes)
        if finer > cell * (1.0 - 1e-9)
    ]


def _check_stop(settings: SolverSettings, decay_db: float) -> None:
    """Refuse a stop of the coarser levels that is not before the last one's, both as they are in a search."""
    if settings.steps:
        refuse(
            f"fidelity.decay_db = {decay_db:g} does not go with solver.steps = {settings.steps}, which sets the steps "
            "of all levels; remove one of them"
        )
    last = settings.in_a_search()
    early = replace(last, decay_db=decay_db)
    if decay_db >= last.decay_db:
        refuse(
            f"fidelity.decay_db = {decay_db:g} is no earlier stop than solver.decay_db = {last.decay_db:g}; lower it "
            "or leave it out"
        )
    if early.stop_db >= last.stop_db:
        refuse(
            f"fidelity.decay_db = {decay_db:g} stops a search at -{early.stop_db:g} dB, as solver.decay_db = "
            f"{last.decay_db:g} does; raise solver.decay_db or leave it out"
        )


def _check_cells(experiment: Experiment, fidelity: Fidelity) -> None:
    own = cell_size(experiment)
    if fidelity.cells is None and experiment.kind.spatial is not None and experiment.solver.cell is not None:
        refuse(
            f"fidelity.cells_per_wavelength does not go with solver.cell = {format_length(own)}, which sets the cells "
            'at edges of metal; write fidelity.cells, for example ["2 mm"]'
        )
    if fidelity.cells is not None:
        entries = [(f"fidelity.cells.{place} = {format_length(x)}", x) for place, x in enumerate(fidelity.cells)]
    else:
        entries = [
            (f"fidelity.cells_per_wavelength.{place} = {x:g}", wavelength(experiment) / x if x > 0.0 else 1e3)
            for place, x in enumerate(fidelity.cells_per_wavelength or ())
        ]
    if not any(cell > own * SAME for _, cell in entries):
        refuse(f"fidelity has no level that is coarser than the solver's cells of {format_length(own)}; add one")
    before = None
    for entry, cell in entries:
        if cell * SAME < own:
            refuse(
                f"{entry} is finer than the solver's cells of {format_length(own)}, which certificates halve; "
                "remove it or make the solver's cells finer"
            )
        fault = _fault(experiment, cell, fitted=fidelity.cells is None)
        if fault is not None:
            refuse(f"{entry} is too coarse: {fault}; use finer cells")
        if before is not None and cell * SAME > before:
            refuse(f"{entry} is not finer than the one before it by a factor of {SAME:g}; list the coarsest first")
        before = cell


def _fault(experiment: Experiment, cell: float, *, fitted: bool = False) -> str | None:
    """Return what is wrong with coarse cells, m; `fitted` where they are made smaller to fit the feed."""
    from fdtd.axisymmetric.layout import fitted_to

    density = wavelength(experiment) / cell
    if density < FEWEST_CELLS_PER_WAVELENGTH * (1.0 - 1e-9):
        return f"{density:.3g} cells per wavelength (needs >= {FEWEST_CELLS_PER_WAVELENGTH:g})"
    family, (lower, upper) = experiment.kind, experiment.reach()
    if family.spatial is not None:
        short = next((one for one in too_narrow(family, lower, upper, cell) if one.always), None)
        return short and f"antenna.{short.refusal()}"
    across = lower["feed.inner_radius"] / (fitted_to(upper["feed.inner_radius"], cell) if fitted else cell)
    if across < FEWEST_CELLS_IN_GUIDE * (1.0 - 1e-9):
        return f"{across:.3g} cells across antenna.feed.inner_radius (needs >= {FEWEST_CELLS_IN_GUIDE:g})"
    return None
