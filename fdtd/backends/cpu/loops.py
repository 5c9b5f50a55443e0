"""Loops of a formula for Numba as Python text: one function a phase, whose inner loops along x LLVM vectorises.

`python -m fdtd.backends.cpu.loops` writes `planar_loops.py` and `box_loops.py` from the formulas; a test
compares them.

All functions take components and coefficients, `(state, media, ...)`, as arrays `[plane, (z,) y, x]`. Without layers
they go on with `(spacings, weights, old)`: inverse distances `[which, index]`, weights, and which of two planes is the
old one. With layers, in the plane alone, `(layers, scratch)`: an object with `cells`, `along`, `across`, `psi` as
`fdtd.backends.cpu.planar` has it, and rows, one each of `DERIVATIVES`. A sparse phase goes on with `(places)`, rows and
columns of its nodes.

Where absorbing layers stretch a difference, a row of it is formed first, stretched where it lies in a layer, and read
by the update: the layers cost nothing in the middle. Components are stepped where the cells that they read exist, up to
the entries at the far sides that never change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fdtd.stencils import Formula
from fdtd.stencils.maxwell import COUPLED_TEZ_FORMULA, TMZ_FORMULA, YEE3D_FORMULA
from fdtd.stencils.sums import HEAT7_FORMULA, HEAT19_FORMULA
from fdtd.stencils.terms import (
    AXES,
    Along,
    Both,
    Coefficient,
    Minus,
    Negative,
    Place,
    Read,
    Stretched,
    Sum,
    Term,
    Weight,
    Where,
    arithmetic_text,
    indexed,
    walk,
)  # fmt: skip

DERIVATIVES = ("node_x", "half_x", "node_y", "half_y")
"""Those that have a memory, in the order of the memories; the place of a row of scratch too."""

_INDEX = {"x": "i", "y": "j", "z": "k"}
_SIZE = {"x": "nx", "y": "ny", "z": "nz"}


def function_name(formula: Formula, phase: int) -> str:
    """Return the name of a phase's function."""
    return f"{formula.name}_{phase}"


def loops_text(formula: Formula, *, layers: bool = False) -> str:
    """Return the functions of a formula, one a phase."""
    lines: list[str] = []
    for phase, one in enumerate(formula.phases):
        writer = _Sparse(formula, phase) if one.sparse else _Rows(formula, phase, layers)
        lines += ["", "", "@compiled(**OPTIONS)", *writer.lines()]
    return "\n".join([*lines, ""])


def module_text(about: str, formulas: Sequence[Formula], *, layers: bool) -> str:
    """Return a module with the loops of several formulas."""
    stretching = ", stretch_across, stretch_along" if layers else ""
    head = [
        f'"""{about}', "", "Written by `python -m fdtd.backends.cpu.loops`; change the formulas, not this file.", '"""',
        "# ruff: noqa", "# fmt: off", "",
        "from fdtd.backends.cpu.compiled import compiled",
        f"from fdtd.backends.cpu.stretching import OPTIONS{stretching}", "",
    ]  # fmt: skip
    return "\n".join(head) + "".join(loops_text(formula, layers=layers) for formula in formulas)


def modules() -> dict[str, str]:
    """Return the modules of this package that are written from formulas, by file name."""
    return {
        "planar_loops.py": module_text(
            "Loops of TM_z and TE_z with absorbing layers.", (TMZ_FORMULA, COUPLED_TEZ_FORMULA), layers=True
        ),
        "box_loops.py": module_text(
            "Loops of stencils in a closed box, without layers.",
            (YEE3D_FORMULA, HEAT7_FORMULA, HEAT19_FORMULA),
            layers=False,
        ),
    }


class _Writer:
    """Text of the terms of one phase."""

    def __init__(self, formula: Formula, phase: int) -> None:
        self.formula, self.phase = formula, phase
        self.planes = {one.name: at for at, one in enumerate(formula.components)}
        self.media = {one.name: at for at, one in enumerate(formula.coefficients)}
        # Passing values that are zero on closed cells: kept whole by rows, masked by the few nodes that read them.
        self.masks = {
            component.name: term.coefficient.name
            for phase in formula.phases
            for component, term in phase.updates.items()
            if not component.kept and isinstance(term, Where) and isinstance(term.coefficient, Coefficient)
        }

    def lines(self) -> Iterator[str]:
        """Yield the function."""
        raise NotImplementedError

    def leaf(self, term: Term) -> str:
        """Return the text of a term that is an array or a number."""
        raise NotImplementedError

    def text(self, term: Term) -> str:
        """Return a term as an expression."""
        if isinstance(term, Where):
            other = "zero" if term.otherwise is None else self.text(term.otherwise)
            return f"({self.text(term.term)}) if {self.text(term.coefficient)} != 0 else {other}"
        found = arithmetic_text(term, self.text, self._closed)
        return self.leaf(term) if found is None else found

    def _closed(self, term: Term) -> str:
        return f"({self.text(term)})" if isinstance(term, Sum | Minus | Negative | Where) else self.text(term)


class _Rows(_Writer):
    """Text of a phase as loops over rows.

    Planes are taken out of their arrays before the loops: LLVM checks once a row that they do not overlap.
    """

    def __init__(self, formula: Formula, phase: int, layers: bool) -> None:
        super().__init__(formula, phase)
        self._layers, self._views = layers, dict[str, str]()

    def lines(self) -> Iterator[str]:
        """Yield the function."""
        axes = self.formula.axes
        more = "layers, scratch" if self._layers else "spacings, weights, old"
        depth, body = 1, []
        for axis in reversed(axes[1:]):
            body.append(f"{'    ' * depth}for {_INDEX[axis]} in range({self.formula.rim}, {self._end(axis)}):")
            depth += 1
        for first, names in self._groups().items():
            outside = [f"{_INDEX[axis]} >= {low}" for axis, low in zip(axes[1:], first[1:], strict=True)
                       if low > self.formula.rim]  # fmt: skip
            if outside:
                body.append(f"{'    ' * depth}if {' and '.join(outside)}:")
            body += [f"{'    ' * (depth + bool(outside))}{line}" for line in self._group(first[0], names)]
        yield f"def {function_name(self.formula, self.phase)}(state, media, {more}):"
        yield f"    {', '.join(_SIZE[axis] for axis in reversed(axes))} = state.shape[1:]"
        yield from (f"    {view} = {array}" for array, view in self._views.items())
        yield from body

    def _end(self, axis: str) -> str:
        """Return the end of the entries that are stepped."""
        return f"{_SIZE[axis]} - {max(self.formula.rim, self.formula.idle)}"

    def _groups(self) -> dict[Place, list[str]]:
        """Return the updates by the first cell along each axis that has all that they read."""
        found: dict[Place, list[str]] = {}
        for name in self.formula.indexed_phases[self.phase]:
            found.setdefault(self.formula.first(self.phase, name), []).append(name)
        return found

    def _group(self, first: int, names: Sequence[str]) -> list[str]:
        """Return the loops of updates that begin at the same cell of a row."""
        terms = {name: self._whole(name, self.formula.indexed_phases[self.phase][name]) for name in names}
        loop = f"for i in range({first}, {self._end('x')}):"
        body: list[str] = []
        stretched = dict.fromkeys(one for term in terms.values() for one in walk(term) if isinstance(one, Stretched))
        for one in stretched if self._layers else ():
            body += [loop, *self._stretch(one)]
        for name, term in terms.items():
            plane = self._view(f"state[{'1 - old' if self.formula.exchanged else self.planes[name]}]")
            # One store a loop lets LLVM check which arrays overlap; what is passed on comes from the row just read.
            body += [] if name in self.masks else [loop]
            body.append(f"    {plane}[{self._at((0,) * len(self.formula.axes))}] = {self.text(term)}")
        return body

    def _whole(self, name: str, term: Term) -> Term:
        return term.term if name in self.masks and isinstance(term, Where) else term

    def _stretch(self, one: Stretched) -> list[str]:
        """Return the body of the loop that forms a difference, and how layers stretch it."""
        at = _derivative(one.axis, one.half)
        row, psi = self._view(f"scratch[{at}]"), self._view(f"layers.psi[{at}]")
        lines = [f"    {row}[i] = {self.text(one.difference)}"]
        if one.axis == "x":
            cells, size = ("layers.cells", "nx - 1") if one.half else ("layers.cells + 1", "nx")
            filters = self._view(f"layers.along[{int(one.half)}]")
            return [*lines, f"stretch_along({row}, {psi}[j], {filters}, {cells}, {size})"]
        return [
            *lines,
            f"if j {'<' if one.half else '<='} layers.cells or j >= ny - 1 - layers.cells:",
            f"    f = layers.across[{int(one.half)}, :, j]",
            f"    stretch_across({row}, {psi}[j], f[0], f[1], f[2], nx)",
        ]

    def leaf(self, term: Term) -> str:
        """Return the text of a term that is an array or a number."""
        match term:
            case Read(name, shift):
                array, plane = ("state", self.planes.get(name)) if name in self.planes else ("media", self.media[name])
                which = "old" if self.formula.exchanged else plane
                return f"{self._view(f'{array}[{which}]')}[{self._at(shift)}]"
            case Along(name, axis, shift):
                at = [one.name for one in self.formula.spacings].index(name)
                return f"{self._view(f'spacings[{at}]')}[{_INDEX[axis]}{_by(shift)}]"
            case Weight(name):
                return self._view(f"weights[{[one.name for one in self.formula.weights].index(name)}]")
            case Stretched(axis, half, difference):
                if not self._layers:
                    return f"({self.text(difference)})"
                return f"{self._view(f'scratch[{_derivative(axis, half)}]')}[i]"
        raise TypeError(f"{term} has no text")

    def _at(self, shift: Place) -> str:
        axes = self.formula.axes
        return ", ".join(f"{_INDEX[axis]}{_by(by)}" for axis, by in reversed([*zip(axes, shift, strict=True)]))

    def _view(self, array: str) -> str:
        return self._views.setdefault(array, f"v{len(self._views)}")


class _Sparse(_Writer):
    """Text of a phase node by node: each passes its value on to the two neighbours that would sum it."""

    def lines(self) -> Iterator[str]:
        """Yield the function."""
        yield f"def {function_name(self.formula, self.phase)}(state, media, places):"
        yield "    zero = state.dtype.type(0)"
        yield "    for n in range(places.shape[1]):"
        yield "        j, i = places[0, n], places[1, n]"
        sums, values = [], []
        for at, (target, term) in enumerate(self.formula.phases[self.phase].updates.items()):
            match term:
                case Where(Coefficient() as open_, Sum(_, Both(axis, inner)), _):
                    node = tuple(0 for _ in self.formula.axes)
                    values.append(f"        v{at} = {self.text(indexed(inner, node))}")
                    along = AXES.index(axis)
                    for by in (1, -1):
                        place = (*node[:along], by, *node[along + 1 :])
                        sums += self._passed(indexed(target, place), indexed(open_, place), f"v{at}")
                case _:
                    raise TypeError(f"{term} is no sum of neighbours where a coefficient is not zero")
        yield from (*values, *sums)

    def _passed(self, target: Term, open_: Term, value: str) -> list[str]:
        return [f"        if {self.text(open_)} != 0:", f"            {self.text(target)} += {value}"]

    def leaf(self, term: Term) -> str:
        """Return the text of a term that is an array."""
        if not isinstance(term, Read):
            raise TypeError(f"{term} has no text")
        at = f"j{_by(term.shift[1])}, i{_by(term.shift[0])}"
        if term.name in self.media:
            return f"media[{self.media[term.name]}, {at}]"
        value = f"state[{self.planes[term.name]}, {at}]"
        return (
            f"({value} if media[{self.media[self.masks[term.name]]}, {at}] != 0 else zero)"
            if term.name in self.masks
            else value
        )


def _derivative(axis: str, half: bool) -> int:
    return DERIVATIVES.index(f"{'half' if half else 'node'}_{axis}")


def _by(shift: int) -> str:
    return f" {'+' if shift > 0 else '-'} {abs(shift)}" if shift else ""


if __name__ == "__main__":
    for file, text in modules().items():
        Path(__file__).with_name(file).write_text(text, "utf-8")
