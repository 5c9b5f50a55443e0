"""Figures of a report from the rows of a run, which do not need the field of the best antenna."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from antennaopt.errors import ConfigurationError
from antennaopt.quantities import gigahertz
from antennaopt.report.best_files import BestFile, section_figure
from antennaopt.report.boards import board_figure
from antennaopt.report.canvas import data_address
from antennaopt.report.convergence import (
    convergence_figure,
    gene_figure,
    hypervolume_figure,
    shortfall_figure,
)
from antennaopt.report.explorer import explorer_data
from antennaopt.report.patterns import Reflection, has_relative_goals, matching_figure, middle_cut, pattern_figure
from antennaopt.report.record import Row, RunRecord
from antennaopt.report.simulation import field_map_figure, in_decibels
from antennaopt.store.files import hypervolumes

MOST_GENES = 24


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What was drawn of a run's rows. It holds for as long as these, and the best antenna, are the same.

    Attributes:
        best: The best antenna's id; None without one.
        figures: Of the page, see `draw`.
        explored: From `explorer_data`.
        files: Of the best antenna; empty when they were not written.
    """

    best: str | None
    figures: dict[str, Any]
    explored: tuple[str, int] | None
    files: Sequence[BestFile] = ()


class Stopped(Exception):  # noqa: N818 - no error
    """What is being drawn is not needed any more."""


def name_of_best(record: RunRecord) -> str | None:
    """Return the best antenna's id; None without one."""
    return None if record.best is None else str(record.best["individual"])


Proceed = Callable[[], bool]


def draw(record: RunRecord, proceed: Proceed = lambda: True) -> Drawn:
    """Draw all figures that show a run's rows and patterns, but none of the best antenna's field.

    Args:
        record: What was read of the run.
        proceed: Asked before each figure whether to go on.

    Returns:
        With figures as `data:` addresses, None where there is nothing to draw; `genes` is a list of them.

    Raises:
        Stopped: `proceed` said no.
    """
    return together([part(record, proceed) for part in PARTS.values()])


def together(parts: Sequence[Drawn]) -> Drawn:
    """Return what was drawn in parts as one."""
    figures = {name: one for part in parts for name, one in part.figures.items()}
    explored = next((part.explored for part in parts if part.explored is not None), None)
    return Drawn(
        best=parts[0].best, figures=figures, explored=explored, files=[one for part in parts for one in part.files]
    )


def _address(figure: Callable[[], Figure | None], proceed: Proceed) -> str | None:
    if not proceed():
        raise Stopped
    made = figure()
    return None if made is None else data_address(made)


def charts(record: RunRecord, proceed: Proceed = lambda: True) -> Drawn:
    """Draw how the search went; as `draw`."""
    drawn: dict[str, Any] = dict.fromkeys(("convergence", "hypervolume", "shortfalls"))
    drawn["genes"] = []
    if record.best is not None:
        volumes = hypervolumes(record.events) if record.front is not None else {}
        drawn["hypervolume"] = _address(lambda: hypervolume_figure(volumes), proceed) if volumes else None
        if record.front is None:
            drawn["convergence"] = _address(lambda: convergence_figure(record), proceed)
            drawn["shortfalls"] = _address(lambda: shortfall_figure(record), proceed)
        for gene in record.folder.columns.genes[:MOST_GENES]:
            figure = _address(lambda gene=gene: gene_figure(record, gene), proceed)
            drawn["genes"].append((gene.name, figure))
    return Drawn(best=name_of_best(record), figures=drawn, explored=None)


def antenna(record: RunRecord, proceed: Proceed = lambda: True) -> Drawn:
    """Draw the best antenna and its cuts; as `draw`."""
    drawn: dict[str, Any] = dict.fromkeys(("section", "e_plane", "h_plane", "co_plane", "middle"))
    best = record.best
    if best is not None:
        drawn["section"] = _address(lambda: section(record), proceed)
        cuts = record.cuts(best)
        if cuts:
            before = record.cuts(record.first_best) if not is_same(record) else []  # type: ignore[arg-type]
            about = {"polarisation": record.polarisation}
            for plane in ("e", "h", "co") if cuts[0].co_dbi else ("e", "h"):
                drawn[f"{plane}_plane"] = _address(
                    lambda plane=plane: pattern_figure(plane, cuts, before, record.goals, **about), proceed
                )
            if has_relative_goals(record.goals):
                drawn["middle"] = gigahertz(middle_cut(cuts).frequency_hz)
    return Drawn(best=name_of_best(record), figures=drawn, explored=None)


def explorer(record: RunRecord, proceed: Proceed = lambda: True) -> Drawn:
    """Return the data of the plot of all antennas; as `draw`."""
    if not proceed():
        raise Stopped
    return Drawn(best=name_of_best(record), figures={}, explored=explorer_data(record))


PARTS: Mapping[str, Callable[[RunRecord, Proceed], Drawn]] = {
    "charts": charts, "antenna": antenna, "explorer": explorer,
}  # fmt: skip
"""Parts of what is drawn, of which none needs another."""


def field_figures(record: RunRecord) -> dict[str, str | None]:
    """Return the figures that show what was recorded with the best antenna's field, as `draw` does."""
    if record.best is None:
        return dict.fromkeys(("field", "matching"))
    old = None if is_same(record) else reflection(record, record.first_best)  # type: ignore[arg-type]
    matching = matching_figure(reflection(record, record.best, sweep=True), old, record.goals)
    field = None if record.field_map is None else data_address(field_map_figure(record.field_map))
    return {"field": field, "matching": data_address(matching)}


def is_same(record: RunRecord) -> bool:
    """Return whether there is no other antenna to compare the best one with."""
    return (
        record.first_best is None or record.best is None or record.first_best["individual"] == record.best["individual"]
    )


def reflection(record: RunRecord, row: Row, *, sweep: bool = False) -> Reflection:
    """Return an antenna's S11 in dB at the requested frequencies, and the best one's sweep where there is one."""
    pairs = [
        (hz, level)
        for hz, level in sorted(zip(record.frequencies, record.metric(row, "s11_db"), strict=True))
        if level is not None
    ]
    field = record.field_map if sweep else None
    return Reflection(
        points_hz=[hz for hz, _ in pairs],
        points_db=[level for _, level in pairs],
        sweep_hz=field.sweep_frequency.tolist() if field is not None else (),
        sweep_db=in_decibels(field.sweep_s11) if field is not None else (),
    )


def section(record: RunRecord) -> Figure | None:
    """Return the dimensioned drawing of the best antenna; None where it cannot be drawn."""
    if record.best_antenna is None:
        return None
    family, design = record.best_antenna
    board = family.board(design)
    if board is not None:
        return board_figure(board)
    with suppress(ConfigurationError):
        return section_figure(family.outline(design))
    return None
