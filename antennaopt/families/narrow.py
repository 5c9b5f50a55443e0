"""Smallest lengths of antennas in three dimensions that a lattice can resolve, and the message for smaller ones.

Lattice planes stand at the edges of metal, whatever the cell, and cells between two edges are smaller than `cell` where
those are close together. They may be a twentieth of it: smaller ones would make time steps too short to be of use.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antennaopt.quantities import ROUNDED, format_length
from antennaopt.settings import CELLS_PER_WAVELENGTH, SolverSettings

if TYPE_CHECKING:
    from antennaopt.families.family import Family

GAP = 1.0
"""Cells across a gap between edges of metal, and across a pixel."""
STRIP = 0.15
"""Cells between two other edges: `fdtd.yee.layout` puts three of a twentieth there."""
PORT = 0.1
"""Cells across a gap that a port fills, which has two."""
LAYER = 0.1
"""Cells across a layer of dielectric or air between parallel planes, which has three or four. Thinner ones make the
lattice along z many times as large, and below a thousandth both planes are one."""
ACROSS_GUIDE = 0.2
"""Cells across a guide, which has four."""


@dataclass(frozen=True, kw_only=True)
class Narrow:
    """A length that must not be too short for the cells. One of 0 is left out, and is none.

    Attributes:
        entry: Of a design, `feed.slot_width`.
        cells: Across it, at least; may be a part of one.
        parts: Entry with the number of equal parts that it has, each of which must have those cells; empty for one.
    """

    entry: str
    cells: float
    parts: str = ""


def narrow(cells: float, *entries: str) -> tuple[Narrow, ...]:
    """Return the same limit of several lengths."""
    return tuple(Narrow(entry=entry, cells=cells) for entry in entries)


@dataclass(frozen=True, kw_only=True)
class TooNarrow:
    """A length, or the lower part of a range, that is too short for the cells.

    Attributes:
        limit: Which.
        low: Smallest value, m.
        high: Largest value, m.
        cell: At edges, m.
        parts: Number of its equal parts.
    """

    limit: Narrow
    low: float
    high: float
    cell: float
    parts: int

    @property
    def always(self) -> bool:
        """Whether no value of the range has enough cells."""
        return self.high < self._least * (1 - ROUNDED)

    @property
    def _least(self) -> float:
        return self.limit.cells * self.cell * self.parts

    @property
    def _why(self) -> str:
        parts = f"{self.limit.parts} = {self.parts} and " if self.limit.parts else ""
        return f"too small for {parts}cells of {format_length(self.cell)} (must be >= {format_length(self._least)})"

    def refusal(self) -> str:
        """Return what is wrong and what would do, as the rest of a line after `antenna.`."""
        span = format_length(self.high)
        given = f" = {span}" if self.low == self.high else f" ({format_length(self.low)} to {span})"
        return f"{self.limit.entry}{given} is {self._why}; enlarge it or use {self._cells(self.high)}"

    def warning(self) -> str:
        """Return the same of a range of which a part has enough cells."""
        return (
            f"{self.limit.entry} reaches down to {format_length(self.low)}, {self._why}: such antennas are not solved "
            f"and count as infeasible; raise its smallest value or use {self._cells(self.low)}"
        )

    def _cells(self, length: float) -> str:
        if not length:
            return "smaller cells (solver.cell)"
        return f"cells of at most {format_length(length / self.parts / self.limit.cells)} (solver.cell)"


def too_narrow(
    family: Family, lower: Mapping[str, float], upper: Mapping[str, float], cell: float
) -> Iterator[TooNarrow]:
    """Yield the lengths that are too short for the cells at the lower ends of all ranges.

    Args:
        family: One that is solved in three dimensions.
        lower: Design at the lower ends, SI, by dotted name.
        upper: The same at the upper ends; the same design for one antenna.
        cell: At edges, m.
    """
    for limit in () if family.spatial is None else family.spatial.narrow:
        low, high = (design.get(limit.entry, 0.0) for design in (lower, upper))
        parts = round(upper[limit.parts]) if limit.parts else 1
        if high > 0.0 and low < limit.cells * cell * parts * (1 - ROUNDED):
            yield TooNarrow(limit=limit, low=low, high=high, cell=cell, parts=parts)


def edge_cell(
    family: Family, lower: Mapping[str, float], upper: Mapping[str, float], settings: SolverSettings
) -> float:
    """Return the largest cell at edges that antennas between two designs share, m.

    It is the one that is given, or that of the density in the densest medium, at most half of a substrate.

    Args:
        family: One that is solved in three dimensions.
        lower: Design at the lower ends of all ranges, SI, by dotted name.
        upper: The same at the upper ends.
        settings: Of the solver.
    """
    if settings.cell is not None:
        return settings.cell
    thin = [design["substrate.thickness"] / 2 for design in (lower, upper) if "substrate.thickness" in design]
    density = settings.cells_per_wavelength or CELLS_PER_WAVELENGTH
    return min([shortest_wave(family, upper, settings) / density, *thin])


def shortest_wave(family: Family, design: Mapping[str, float], settings: SolverSettings) -> float:
    """Return the wavelength in the densest medium of a design at the highest frequency, m."""
    from scipy.constants import c

    return c / (max(settings.frequencies) * math.sqrt(family.densest(design)))
