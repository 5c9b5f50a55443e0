"""Several steps of a formula as one: the cells that they depend on, and the repeated work of a tile.

A tile reads its core and a halo, steps both, and gives its core back. Each phase of each step uses up the cells of the
halo that it reads and cannot form, so the cells that are formed shrink towards the core.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from fdtd.stencils.formula import Formula, Window
from fdtd.stencils.terms import Read, walk

Shape = tuple[int, ...]
"""Cells along each axis of the formula."""


def depends(formula: Formula, steps: int, component: str | None = None) -> dict[str, Window]:
    """Return which cells of each component at the start one cell depends on after some steps.

    The boxes follow from the equations, phase by phase backwards, for each component by itself.

    Args:
        formula: Update equations.
        steps: How many.
        component: The one that the cell is of; all that are kept if None.

    Returns:
        The first and last cell along each axis, relative to the cell, by name; components that do not matter are left
        out.
    """
    here: Window = tuple((0, 0) for _ in formula.axes)
    needed: dict[str, Window] = dict.fromkeys(formula.kept if component is None else (component,), here)
    for _ in range(steps):
        for terms in reversed(formula.indexed_phases):
            before = {name: box for name, box in needed.items() if name not in terms}
            for name, term in terms.items():
                if name not in needed:
                    continue
                for read in (one for one in walk(term) if isinstance(one, Read) and _is_component(formula, one.name)):
                    box = tuple((low + by, high + by) for (low, high), by in zip(needed[name], read.shift, strict=True))
                    before[read.name] = _joined(before.get(read.name), box)
            needed = before
    return {name: box for name, box in needed.items() if name in formula.kept}


def _is_component(formula: Formula, name: str) -> bool:
    return any(one.name == name for one in formula.components)


def _joined(one: Window | None, other: Window) -> Window:
    if one is None:
        return other
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))


def halo(formula: Formula, steps: int) -> Window:
    """Return the cells before and after a tile that it must read to give its core back after some steps."""
    boxes = depends(formula, steps).values()
    axes = range(len(formula.axes))
    return tuple((-min(box[at][0] for box in boxes), max(box[at][1] for box in boxes)) for at in axes)


@dataclass(frozen=True, kw_only=True)
class TileWork:
    """Cells that a tile reads and forms for some steps of its core.

    Attributes:
        core: Cells that it gives back.
        steps: Steps that it takes.
        read: Cells with the halo.
        formed: Cells formed in all phases and steps, over the number of phases: cell-steps.
    """

    core: int
    steps: int
    read: int
    formed: float

    @property
    def again(self) -> float:
        """Cell-steps formed for each one that is given back; 1 without redundant work."""
        return self.formed / (self.core * self.steps)


def tile_work(formula: Formula, core: Shape, steps: int, *, units: Shape | None = None) -> TileWork:
    """Return what a tile far from the walls reads and forms.

    Args:
        formula: Update equations.
        core: Cells along each axis.
        steps: Steps between reading and giving back.
        units: Whole cells along each axis that are formed together, such as 32 of a warp; 1 if None.
    """
    units = units or (1,) * len(core)
    formed = 0
    for window in _windows(formula, core, steps):
        formed += math.prod(tuple(-(-side // unit) * unit for side, unit in zip(window, units, strict=True)))
    read = math.prod(tuple(side + steps * (low + high) for side, (low, high) in zip(core, formula.reach, strict=True)))
    return TileWork(core=math.prod(core), steps=steps, read=read, formed=formed / len(formula.phases))


def _windows(formula: Formula, core: Shape, steps: int) -> Iterator[Shape]:
    """Yield the cells along each axis that each phase of each step forms, from the last backwards."""
    window = core
    for _ in range(steps):
        for phase in reversed(range(len(formula.phases))):
            yield window
            window = tuple(side + high - low for side, (low, high) in zip(window, formula.windows[phase], strict=True))
