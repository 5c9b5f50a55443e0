"""Checks of files of antennas in three dimensions, and their closed form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from antennaopt.experiment.fields import refuse
from antennaopt.families.narrow import TooNarrow, edge_cell, too_narrow
from antennaopt.families.spatial import Guide
from antennaopt.figures import LINEAR
from antennaopt.quantities import ROUNDED, format_length
from antennaopt.settings import SolverSettings
from antennaopt.terminal import with_article

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment
    from antennaopt.families import Family
    from antennaopt.figures import Figure

_UNSYMMETRIC = {
    "patch": "give antenna.feed.across (probe) or antenna.feed.line_offset (edge), or ",
    "pixel_patch": 'write antenna.pixels.mirror = "none", or ',
}
"""What takes the symmetry of a family."""

_OFF_THE_MIDDLE = "feed.across", "feed.line_offset"
"""Places of feeds that make an antenna unsymmetric, unless they are 0 throughout."""

OF_REVOLUTION = ("report_modes", "surfaces", "pulse", "time_step", "grid", "courant_fraction", "steps")
"""Entries of [solver] that only the solver of bodies of revolution has."""


def check_spatial(experiment: Experiment, lower: Mapping[str, float], upper: Mapping[str, float]) -> None:
    """Refuse what only bodies of revolution have, and an antenna that cannot be built.

    Args:
        experiment: Of a family that is solved in three dimensions.
        lower: Design at the lower ends of all ranges, SI, by dotted name.
        upper: The same at the upper ends.

    Raises:
        ConfigurationError: One line.
    """
    family, plain = experiment.family, SolverSettings(frequencies=(1.0,), design_frequency=1.0)
    if experiment.limits is not None:
        refuse(
            f"limits: they are about sections of bodies of revolution, and {with_article(family)} "
            "is none; remove the table"
        )
    _check_polarisation(experiment, upper)
    for name in OF_REVOLUTION:
        given = getattr(experiment.solver, name)
        if given and given != getattr(plain, name):
            refuse(
                f"solver.{name} is of bodies of revolution, and {with_article(family)} "
                "is solved in three dimensions; remove it"
            )
    for name in () if experiment.kind.spatial is None else experiment.kind.spatial.fixed:
        if lower.get(name) != upper.get(name):
            refuse(f"antenna.{name} cannot be a gene, since it decides how many others there are; write one value")
    fault = figures_fault(experiment.kind, experiment.figures, experiment.polarisation)
    if fault is not None:
        refuse(fault)
    for problem in experiment.kind.faults(upper):
        if lower == upper or problem in experiment.kind.faults(lower):  # the same in words: no value mends it
            refuse(f"antenna.{problem}")


def _check_polarisation(experiment: Experiment, design: Mapping[str, float]) -> None:
    """Refuse circular polarisation of an antenna whose plane of symmetry makes its field linear on the axis.

    Args:
        experiment: Of a family that is solved in three dimensions.
        design: At the upper ends of all ranges, SI.

    Raises:
        ConfigurationError: One line.
    """
    if experiment.polarisation == LINEAR or (board := experiment.kind.board(design)) is None:
        return
    feeds = [design[name] for name in _OFF_THE_MIDDLE if name in design]
    if isinstance(board.port, Guide) or board.symmetric or (feeds and not any(feeds)):
        remedy = _UNSYMMETRIC.get(experiment.family, "")
        refuse(
            f'polarisation = "{experiment.polarisation}" does not go with this {experiment.family}, which is symmetric '
            f'about the plane y = 0 and so linear on the axis; {remedy}write polarisation = "linear"'
        )


def check_narrow(experiment: Experiment) -> None:
    """Refuse lengths that are too short for the cells, whatever values the genes take, and a margin below a cell.

    Raises:
        ConfigurationError: One line.
    """
    margin, cell = experiment.solver.pml_distance, _cell_at_edges(experiment)
    if margin is not None and margin < cell * (1 - ROUNDED):
        refuse(
            f"solver.pml_distance = {format_length(margin)} is less than a cell (must be >= {format_length(cell)}); "
            "enlarge it, or leave it out (a fifth of the longest wavelength)"
        )
    for one in _too_narrow(experiment):
        if one.always:
            refuse(f"antenna.{one.refusal()}")


def narrow_warnings(experiment: Experiment) -> list[str]:
    """Return a line for each range of which a part is too short for the cells."""
    return [f"antenna.{one.warning()}" for one in _too_narrow(experiment) if not one.always]


def _too_narrow(experiment: Experiment) -> Iterator[TooNarrow]:
    lower, upper = experiment.reach() if experiment.genes else experiment.bounds()
    return too_narrow(experiment.kind, lower, upper, _cell_at_edges(experiment))


def _cell_at_edges(experiment: Experiment) -> float:
    lower, upper = experiment.reach() if experiment.genes else experiment.bounds()
    return edge_cell(experiment.kind, lower, upper, experiment.solver.settings)


def figures_fault(family: Family, figures: Iterable[Figure], polarisation: str) -> str | None:
    """Return why a family has not one of the figures that are asked for; None where it has all.

    Figures of bodies of revolution are computed from two stored cuts, which stand for the whole pattern. Those of a
    board do not.
    """
    if family.spatial is None:
        return None
    for one in figures:
        fault = one.fault_in_space(polarisation)
        if fault is None and one.kind.geometric and family.spatial.mouth is None:
            fault = f"is of antennas with a mouth, and {with_article(family.name)} has none; leave it out"
        if fault is not None:
            return f"{one.name}: {one.metric} {fault}"
    return None


def closed_form_in_space(experiment: Experiment, word: str) -> dict[str, float]:
    """Return the gene values of the closed form of a family that is solved in three dimensions, SI.

    Parameters that the closed form takes and that are genes are taken in the middle of their ranges.

    Args:
        experiment: With ranges.
        word: `closed_form`, or the author's name.

    Raises:
        ConfigurationError: The word is another family's, or no gene is in the closed form.
    """
    spatial = experiment.kind.spatial
    if spatial is None or word not in ("closed_form", spatial.author):
        author = "" if spatial is None else f'; use "{spatial.author}"'
        refuse(f'evolution.start = "{word}" is no closed form of {experiment.family}{author}')
    middle = experiment.design({gene.name: (gene.low + gene.high) / 2 for gene in experiment.genes})
    found: dict[str, float] = {}
    for _ in range(2):  # pixels follow from the size of the grid, which may be a gene of the closed form itself
        made = spatial.start(middle | found, experiment.solver.design_frequency)
        if experiment.polarisation != LINEAR and spatial.turned is not None:
            made = spatial.turned(made, experiment.polarisation)
        found = {
            gene.name: min(max(made[gene.name], gene.low), gene.high) for gene in experiment.genes if gene.name in made
        }
    if not found:
        refuse(f'evolution.start = "{word}" gives none of the genes a value; write designs, or leave it out')
    return found
