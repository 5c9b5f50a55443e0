"""Walls and other thin places of bodies of revolution that a lattice may not resolve: limits and messages.

The lattice has the open part of every edge and face, so a wall may be thinner than a cell. It is found by searching
edges in 32 pieces: a thinner one than the limit is found in some places and lost in others, and is not solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from antennaopt.families.parameters import Part

if TYPE_CHECKING:
    from antennaopt.families.family import Family

CELLS_ACROSS_A_WALL = 1 / 8
"""Thinnest wall, in cells; measured on steep horns (53 degrees), S11 jumps by 0.02 from 1/8 to 1/15 of a cell, where
the search begins to miss it."""
CELLS_ACROSS_A_LENS = 1
"""Thinnest lens, in cells: below it no node may lie in it, and its surface is not smooth any more."""
_SLACK = 1e-6  # cells
_NEAR = 3.0  # limits: places that are thicker in their thinnest design, one parameter at a time, are not searched
_MARGIN = 0.9
"""Of a limit: ranges are refused below it, since a place that several parameters shape may be thicker between their
ends than at them, and than where it is looked for there."""
_DRAWN, _CLIMBED, _STEPS = 64, 2, 9
"""Designs that are drawn between the ends, of which the thickest climb, along each parameter on as many values."""


@dataclass(frozen=True, kw_only=True)
class TooThin:
    """A place that is too thin for the cells, at its thickest within the ranges or at its thinnest.

    Attributes:
        thinnest: In the design where it is thinnest.
        thickest: In the design where it is thickest, of those looked at; the same for one antenna.
        most: Largest thickness of those looked at, m, along the plane of a wall's end.
        fixed: Whether no range changes that thickness.
        cell: Of the lattice, m.
    """

    thinnest: Part
    thickest: Part
    most: float
    fixed: bool
    cell: float

    @property
    def always(self) -> bool:
        """Whether no design of the ranges has enough cells there, however steep the wall is."""
        limit = _fewest(self.thickest) * self.cell * (1 - _SLACK)
        return self.most < (limit if self.fixed else _MARGIN * limit)

    def refusal(self) -> str:
        """Return what is wrong and what would do."""
        part, across = self.thickest, _across(self.thickest)
        if self.thinnest == part:
            value = f" = {_mm(part.thickness)}" if part.slope < 1 else ""
            return f"{part.what}{value}{_measured(part)} is {_mm(across)} thick, {self._why(part)}; {_remedy(part)}"
        steep = ", and thinner across the flare" if part.slope < 1 else ""
        return f"{part.what} is at most {_mm(self.most)} thick{steep}, {self._why(part)}; {_remedy(part)}"

    def warning(self) -> str:
        """Return the same of ranges of which a part has enough cells."""
        part = self.thinnest
        return (
            f"{part.what}{_measured(part)} is down to {_mm(_across(part))} thick, {self._why(part)}: such antennas are "
            f"not solved and count as infeasible; {_remedy(part)}"
        )

    def _why(self, part: Part) -> str:
        across = _across(part)
        needs = f"needs cells <= {_mm(across / _fewest(part))}" if across > 0 else "its two sides meet or cross"
        return f"too thin for cells of {_mm(self.cell)} ({needs})"


def has_thin_part(family: Family, design: Mapping[str, float], cell: float) -> bool:
    """Say whether `too_thin` would yield anything of one antenna: a worker asks it of each of a batch.

    Args:
        family: Of bodies of revolution.
        design: SI, by dotted name.
        cell: Of the lattice, m.
    """
    return any(_thin(part, cell) for part in family.thin_parts(design))


def too_thin(family: Family, lower: Mapping[str, float], upper: Mapping[str, float], cell: float) -> Iterator[TooThin]:
    """Yield the places that are too thin for the cells in some designs between two.

    Designs at the ends of ranges are compared: most thicknesses grow or shrink with each parameter, or have a limit
    that does. Others are looked for between the ends where they seem to be always too thin. A flare is steepest at an
    end, and may be least steep between. Places that only a part of the designs have are left out.

    Args:
        family: Of bodies of revolution.
        lower: Design at the lower ends of all ranges, SI, by dotted name.
        upper: The same at the upper ends; the same design for one antenna.
        cell: Of the lattice, m.
    """
    names = [] if lower is upper else [name for name in lower if lower[name] != upper.get(name)]
    at = family.thin_parts(lower)
    if not names:  # one antenna, as a worker looks at each of a batch
        for part in at:
            if _thin(part, cell):
                yield TooThin(thinnest=part, thickest=part, most=part.thickness, fixed=True, cell=cell)
        return
    moved = {name: family.thin_parts({**lower, name: upper[name]}) for name in names}
    last = family.thin_parts(upper)
    for place, part in enumerate(at):
        there = partial(_same_place, part, place, len(at))
        of_moved = {name: there(parts) for name, parts in moved.items()}
        of_last = there(last)
        others = [one for one in (*of_moved.values(), of_last) if one is not None]
        if len(others) <= len(names):
            continue  # other designs have no such place

        def found(design: Mapping[str, float], there: Callable[[Sequence[Part]], Part | None] = there) -> Part | None:
            return there(family.thin_parts(design))

        grows = {name: one is not None and _across(one) > _across(part) for name, one in of_moved.items()}
        ends = [{**lower, **{name: upper[name] for name in names if grows[name] is more}} for more in (False, True)]
        thin = found(ends[0])
        if thin is None or _across(thin) > _NEAR * _fewest(part) * cell:
            continue
        starts = ends[1], lower, upper
        thinnest = _extreme(found, (ends[0],), lower, upper, lambda one: -_across(one))
        thickest = _extreme(found, starts, lower, upper, _across)
        if thinnest and thickest and _thin(thinnest, cell):
            most = _extreme(found, starts, lower, upper, _thickness) or thickest
            fixed = all(one.thickness == part.thickness for one in (*others, most))
            if not fixed and most.thickness < _MARGIN * _fewest(part) * cell:
                most = _between(found, most, lower, upper)
            yield TooThin(
                thinnest=thinnest,
                thickest=max(thickest, most, key=_across),
                most=most.thickness,
                fixed=fixed,
                cell=cell,
            )


def _same_place(part: Part, place: int, count: int, parts: Sequence[Part]) -> Part | None:
    """Return another design's part of the same name, else of the same place among as many; None without any."""
    named = next((one for one in parts if one.what == part.what), None)
    return named or (parts[place] if len(parts) == count else None)


def _extreme(
    found: Callable[[Mapping[str, float]], Part | None],
    starts: Sequence[Mapping[str, float]],
    lower: Mapping[str, float],
    upper: Mapping[str, float],
    value: Callable[[Part], float],
) -> Part | None:
    """Return a place where a value is largest, one parameter after the other at its better end."""
    steps = {name: {lower[name], upper[name]} for name in lower}
    return max(_climbed(found, starts, steps, value), key=value, default=None)


def _between(
    found: Callable[[Mapping[str, float]], Part | None],
    most: Part,
    lower: Mapping[str, float],
    upper: Mapping[str, float],
) -> Part:
    """Return the thickest place of designs between the ends too, or `most`, which is that of the ends."""
    rng = np.random.default_rng(0)
    drawn = [{name: float(rng.uniform(lower[name], upper[name])) for name in lower} for _ in range(_DRAWN)]
    parts = [(one, design) for design in drawn if (one := found(design)) is not None]
    steps = {name: {float(one) for one in np.linspace(lower[name], upper[name], _STEPS)} for name in lower}
    starts = [design for _, design in sorted(parts, key=lambda pair: pair[0].thickness)[-_CLIMBED:]]
    return max((most, *_climbed(found, starts, steps, _thickness)), key=_thickness)


def _climbed(
    found: Callable[[Mapping[str, float]], Part | None],
    starts: Sequence[Mapping[str, float]],
    steps: Mapping[str, set[float]],
    value: Callable[[Part], float],
) -> list[Part]:
    """Return the place from each start, one parameter after the other at the step where a value is largest."""
    reached = []
    for start in starts:
        design, best = dict(start), found(start)
        improved = best is not None
        while improved:
            improved = False
            for name, values in steps.items():
                for step in sorted(values - {design[name]}):
                    other = found({**design, name: step})
                    if best is not None and other is not None and value(other) > value(best):
                        design[name], best, improved = step, other, True
        reached += [best] if best is not None else []
    return reached


def _thickness(part: Part) -> float:
    return part.thickness


def _across(part: Part) -> float:
    return part.thickness * part.slope


def _measured(part: Part) -> str:
    return ", measured across the flare," if part.slope < 1 else ""


def _remedy(part: Part) -> str:
    return "use smaller cells (solver.cell) or make it thicker" if part.thickness > 0 else "make it thicker"


def _fewest(part: Part) -> float:
    return CELLS_ACROSS_A_WALL if part.metal else CELLS_ACROSS_A_LENS


def _thin(part: Part, cell: float) -> bool:
    return _across(part) < _fewest(part) * cell * (1 - _SLACK)


def _mm(length: float) -> str:
    return f"{length * 1e3:.4g} mm"
