"""Walls and other thin places of bodies of revolution that a lattice can be too coarse for: limits and their texts.

The lattice has the open part of every edge and face, so a wall may be thinner than a cell. It is found by searching
edges in 32 pieces: a thinner one than the limit is found in some places and lost in others, and is not solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antennaopt.families.parameters import Part

if TYPE_CHECKING:
    from antennaopt.families.family import Family

CELLS_ACROSS_A_WALL = 1 / 8
"""Thinnest wall, in cells; measured on steep horns (53 degrees), S11 jumps by 0.02 from 1/8 to 1/15 of a cell, where
the search begins to miss it."""
CELLS_ACROSS_A_LENS = 1
"""Thinnest lens, in cells: below it no node may lie in it, and its surface is not smooth any more."""
_REMEDY = "use smaller cells (solver.cell) or make it thicker"
_SLACK = 1e-6  # cells
_NEAR = 3.0  # limits: places that are thicker in their thinnest design, one parameter at a time, are not searched


@dataclass(frozen=True, kw_only=True)
class TooThin:
    """A place that is too thin for the cells, at its thickest within the ranges or at its thinnest.

    Attributes:
        thinnest: In the design where it is thinnest.
        thickest: In the design where it is thickest; the same for one antenna.
        cell: Of the lattice, m.
    """

    thinnest: Part
    thickest: Part
    cell: float

    @property
    def always(self) -> bool:
        """Whether no design of the ranges has enough cells there."""
        return _thin(self.thickest, self.cell)

    def refusal(self) -> str:
        """Return what is wrong and what would do."""
        most = "" if self.thinnest == self.thickest else "at most "
        return f"{self.thickest.what} is {most}{self._why(self.thickest)}; {_REMEDY}"

    def warning(self) -> str:
        """Return the same of ranges of which a part has enough cells."""
        return (
            f"{self.thinnest.what} is down to {self._why(self.thinnest)}: such antennas are not solved and count as "
            f"infeasible; {_REMEDY}"
        )

    def _why(self, part: Part) -> str:
        across = part.thickness * part.slope
        needs = f"(needs cells <= {_mm(across / _fewest(part))})" if across > 0 else "(there is nothing)"
        return f"{_mm(across)} thick, too thin for cells of {_mm(self.cell)} {needs}"


def too_thin(family: Family, lower: Mapping[str, float], upper: Mapping[str, float], cell: float) -> Iterator[TooThin]:
    """Yield the places that are too thin for the cells in some designs between two.

    Designs at the ends of ranges are compared: places grow or shrink with each parameter, or have a limit that does.

    Args:
        family: Of bodies of revolution.
        lower: Design at the lower ends of all ranges, SI, by dotted name.
        upper: The same at the upper ends; the same design for one antenna.
        cell: Of the lattice, m.
    """
    names = [name for name in lower if lower[name] != upper.get(name)]
    at = family.thin_parts(lower)
    moved = {name: family.thin_parts({**lower, name: upper[name]}) for name in names}
    if any(len(parts) != len(at) for parts in moved.values()):
        return  # other designs have other places
    for place, part in enumerate(at):
        grows = {name: _across(parts[place]) > _across(part) for name, parts in moved.items()}
        ends = [{**lower, **{name: upper[name] for name in names if grows[name] is more}} for more in (False, True)]
        if _across(family.thin_parts(ends[0])[place]) > _NEAR * _fewest(part) * cell:
            continue

        def found(design: Mapping[str, float], place: int = place) -> Part:
            return family.thin_parts(design)[place]

        thinnest = _extreme(found, (ends[0],), lower, upper, -1.0)
        thickest = _extreme(found, (ends[1], lower, upper), lower, upper, 1.0)
        if _thin(thinnest, cell):
            yield TooThin(thinnest=thinnest, thickest=thickest, cell=cell)


def _extreme(
    found: Callable[[Mapping[str, float]], Part],
    starts: Sequence[Mapping[str, float]],
    lower: Mapping[str, float],
    upper: Mapping[str, float],
    sign: float,
) -> Part:
    """Return the thickest (sign 1) or thinnest (-1) of a place, one parameter after the other at its better end."""
    reached = []
    for start in starts:
        design, best, improved = dict(start), found(start), True
        while improved:
            improved = False
            for name in lower:
                for end in {lower[name], upper[name]} - {design[name]}:
                    other = found({**design, name: end})
                    if sign * _across(other) > sign * _across(best):
                        design[name], best, improved = end, other, True
        reached.append(best)
    return max(reached, key=lambda part: sign * _across(part))


def _across(part: Part) -> float:
    return part.thickness * part.slope


def _fewest(part: Part) -> float:
    return CELLS_ACROSS_A_WALL if part.metal else CELLS_ACROSS_A_LENS


def _thin(part: Part, cell: float) -> bool:
    return _across(part) < _fewest(part) * cell * (1 - _SLACK)


def _mm(length: float) -> str:
    return f"{length * 1e3:.4g} mm"
