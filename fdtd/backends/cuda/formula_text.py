"""CUDA text of a formula: `struct Stencil`, whose phases read and write one cell through the accessor of a scheme.

An accessor `Here` gives `field(plane, dj, di)` and `coefficient(which, dj, di)` (in space `dk` before these),
`stretched(derivative, difference)`, `parity` of the step, `inner()` where the rim stays; in space also
`spacing(which, index)`, `after(x, y, z)`, whether it has that many cells before it, and `stretched(derivative, which,
difference)`: a phase in space has two differences of a kind, with a memory each.
Schemes call, for each phase, `compute`, which reads, then `store`, so that the loads of several cells can be under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fdtd.stencils import Formula
from fdtd.stencils.terms import (
    AXES,
    Along,
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
    parts,
    walk,
)  # fmt: skip

_CONTRACT = """\
// {title}.
//
// A stencil has PHASES that must follow each other everywhere. Phase p reads planes up to low(p) cells before and
// high(p) cells after its own and writes its own cell only; it can be done back(p) rows behind the first phase, at most
// BACK. The last IDLE entries along each axis never change. Written by fdtd/backends/cuda/formula_text.py."""


def stencil_text(formula: Formula) -> str:
    """Return the structure `Stencil` of a formula as CUDA text."""
    phases = range(len(formula.phases))
    planes = [one.name.upper() for one in formula.components]
    kept = len(formula.kept)
    entries = [*(f"{name} = {at}" for at, name in enumerate(planes)), f"KEPT = {kept}"]
    count = 2 if formula.exchanged else len(planes)
    coefficients = [one.name.upper() for one in formula.coefficients]
    lines = [
        _CONTRACT.format(title=formula.title),
        "struct Stencil {",
        f"    enum Plane {{ {', '.join([*entries, f'PLANES = {count}'])} }};",
        f"    enum Coefficient {{ {', '.join([*coefficients, f'COEFFICIENTS = {len(coefficients)}'])} }};",
        f"    enum {{ PHASES = {len(phases)}, BACK = {max(map(formula.back, phases))}, IDLE = {formula.idle} }};",
        *(
            f"    __device__ static constexpr int {reach.__name__}(int{' phase' * (len(phases) > 1)}) "
            f"{{ return {_by_phase([reach(phase) for phase in phases])}; }}"
            for reach in (formula.low, formula.high, formula.back)
        ),
        "    // The plane that holds a kept field after a number of steps.",
        "    __device__ static int holds(int plane, int steps) { return "
        + ("steps & 1" if formula.exchanged else "plane")
        + "; }",
        "",
        *_streamed(formula),
        "    template <int PHASE, class Here> __device__ static void compute(const Here &c, Values &out) {",
        *(f"        {line}" for line in _branches([_Phase(formula, phase).lines() for phase in phases])),
        "    }",
        "    template <int PHASE, class Here> __device__ static void store(const Here &c, const Values &values) {",
        *(f"        {line}" for line in _branches([_stored(formula, phase) for phase in phases])),
        "    }",
        "};",
    ]
    return "\n".join(lines) + "\n"


def _by_phase(values: Sequence[int]) -> str:
    """Return a C expression of `phase` with these values."""
    text = str(values[-1])
    for phase in range(len(values) - 2, -1, -1):
        if str(values[phase]) != text:
            text = f"phase == {phase} ? {values[phase]} : {text}"
    return text


def _branches(bodies: Sequence[list[str]]) -> Iterator[str]:
    if len(bodies) == 1:
        yield from bodies[0]
        return
    for phase, body in enumerate(bodies):
        condition = f"if (PHASE == {phase}) " if phase < len(bodies) - 1 else ""
        yield f"{'} else ' if phase else ''}{condition}{{"
        yield from (f"    {line}" for line in body)
    yield "}"


def _stored(formula: Formula, phase: int) -> list[str]:
    if formula.exchanged:
        return ["c.field(1 - c.parity) = values.at[0];"]
    names = formula.indexed_phases[phase]
    return [f"c.field({name.upper()}) = values.at[{at}];" for at, name in enumerate(names)]


_AROUND: dict[Place, str] = {(0, -1): "below", (-1, 0): "left", (0, 0): "here", (1, 0): "right", (0, 1): "above"}


def _parted(formula: Formula) -> tuple[Term, Term] | None:
    """Return a five-point sum as what is known without the row above, and the whole; None for any other formula."""
    if not formula.exchanged or formula.axes != "xy":
        return None
    (term,) = formula.indexed_phases[0].values()
    reads = [one for one in walk(term) if isinstance(one, Read)]
    known = next((one for one in walk(term) if not any(r.shift[1] > 0 for r in walk(one) if isinstance(r, Read))
                  and sum(isinstance(r, Read) for r in walk(one)) == len(reads) - 1), None)  # fmt: skip
    return (known, term) if known is not None and [r.shift for r in reads] == list(_AROUND) else None


def _streamed(formula: Formula) -> Iterator[str]:
    """Yield the two parts of a five-point sum, for schemes in which rows follow each other."""
    parted = _parted(formula)
    if parted is None:
        return
    known, whole = parted
    arguments: dict[Term, str] = {one: _AROUND[one.shift] for one in walk(whole) if isinstance(one, Read)}
    texts = _Phase(formula, 0)
    texts.call(arguments)
    four = ", ".join(f"real {name}" for name in list(arguments.values())[:4])
    yield "    // The part of the sum without the row above, and the rest: so every scheme adds alike."
    yield f"    __device__ static real before({four}) {{ return {texts.text(known)}; }}"
    texts.call({known: "known"})
    yield f"    __device__ static real after(real known, real above) {{ return {texts.text(whole)}; }}"
    yield ""


class _Phase:
    """Text of what one phase computes."""

    def __init__(self, formula: Formula, phase: int) -> None:
        self._formula, self._terms = formula, dict(formula.indexed_phases[phase])
        self._phase = phase
        self._early = {one.name for one in formula.phases[phase].early}
        self._components = {one.name for one in formula.components}
        self._names: dict[Term, str] = {}
        self._in_space = len(formula.axes) == 3
        self._stretched: dict[tuple[str, bool], list[Term]] = {}

    def call(self, names: Mapping[Term, str]) -> None:
        """Give terms names, which stand for them from now on."""
        self._names.update(names)

    def lines(self) -> list[str]:
        """Return the statements of the phase."""
        if self._formula.exchanged:
            return self._exchanged()
        kept = self._formula.kept
        moved = [
            f"out.at[{at}] = {f'c.field({name.upper()})' if name in kept else 'real(0)'};"
            for at, name in enumerate(self._terms)
        ]
        return [
            "if (MOVE_ONLY) {",
            *(f"    {line}" for line in moved),
            "    return;",
            "}",
            *self._locals(),
            *self._outputs(),
        ]

    def _exchanged(self) -> list[str]:
        (term,) = self._terms.values()
        self.call({Read(self._formula.components[0].name, (0,) * len(self._formula.axes)): "out.at[0]"})
        parted = _parted(self._formula)
        if parted is not None:
            reads = [self.text(one) for one in walk(term) if isinstance(one, Read)]
            self.call({term: f"after(before({', '.join(reads[:4])}), {reads[4]})"})
        return [
            "const int old = c.parity;",
            "out.at[0] = c.field(old);",
            f"if (!MOVE_ONLY && c.inner()) out.at[0] = {self.text(term)};",
        ]

    def _locals(self) -> Iterator[str]:
        """Yield statements that name parts of the terms, in the order in which numbers should be on their way.

        First what is read twice (in space all fields), fields before coefficients; the coefficients of rare terms; what
        layers stretch, where it is more than a difference of two fields; then other parts used twice, and each
        stretched difference.
        """
        uses = Counter(part for node in self._nodes() for part in _shape(node))
        uses.update(self._terms.values())
        reads = [node for node in self._nodes() if isinstance(node, Read)]
        for node in sorted(reads, key=lambda one: one.name not in self._components):
            if uses[node] > 1 or node.name in self._early or (self._in_space and node.name in self._components):
                yield self._named(node)
        for term in self._terms.values():
            if isinstance(term, Where) and term.otherwise is not None:
                rare = (one for one in walk(_extra(term)) if isinstance(one, Read))
                yield from (self._named(one) for one in rare if self._rare(one))
        for node in self._nodes():
            if isinstance(node, Stretched) and not all(isinstance(side, Read) for side in parts(node.difference)):
                yield self._named(node.difference)
        for node in self._nodes():
            curl = isinstance(node, Minus) and all(self._ready(part) for part in parts(node))
            if not isinstance(node, Read) and node not in self._names and (uses[node] > 1 or curl):
                yield self._named(node)
        negated = {name.term for name in self._names if isinstance(name, Negative)}
        for node in self._nodes():
            if isinstance(node, Stretched) and not self._ready(node) and node not in negated | self._names.keys():
                yield self._named(node)

    def _ready(self, one: Term) -> bool:
        """Whether layers stretch it and what they stretch has a name."""
        return isinstance(one, Stretched) and one.difference in self._names

    def _rare(self, one: Read) -> bool:
        return one.name not in self._components and one not in self._names

    def _nodes(self) -> list[Term]:
        """Return the distinct parts of all terms, in the order in which they are written."""
        return list(dict.fromkeys(node for term in self._terms.values() for node in _walked(term)))

    def _outputs(self) -> Iterator[str]:
        later = []
        for at, (name, term) in enumerate(self._terms.items()):
            if not isinstance(term, Where):
                yield f"out.at[{at}] = {self._from_the_walls(name, self.text(term))};"
                continue
            other = "real(0)" if term.otherwise is None else self.text(term.otherwise)
            condition = f"{self.text(term.coefficient)} != real(0)"
            if term.term in self._names:
                yield f"out.at[{at}] = {condition} ? {self.text(term.term)} : {other};"
            else:
                yield f"out.at[{at}] = {other};"
                later.append(f"if ({condition}) out.at[{at}] += {self.text(_extra(term))};")
        yield from later

    def _from_the_walls(self, name: str, value: str) -> str:
        """In space, keep what stands where cells before are missing; in the plane coefficients are zero there."""
        first = self._formula.first(self._phase, name)
        if len(first) < 3 or not any(first):
            return value
        return f"c.after({', '.join(map(str, first))}) ? {value} : c.field({name.upper()})"

    def _named(self, term: Term) -> str:
        text, name = self.text(term), f"v{len(self._names)}"
        if isinstance(term, Read) and not any(term.shift):
            name = term.name
        self._names[term] = name
        return f"const real {name} = {text};"

    def text(self, term: Term) -> str:
        """Return a term as an expression."""
        if term in self._names:
            return self._names[term]
        match term:
            case Read(name, shift):
                kind = "field" if name in self._components else "coefficient"
                plane = "old" if self._formula.exchanged else name.upper()
                return f"c.{kind}({', '.join([plane, *_shift(shift)])})"
            case Along(name, axis, shift):
                which = [one.name for one in self._formula.spacings].index(name)
                return f"c.spacing({which}, c.{'ijk'[AXES.index(axis)]}{f' + {shift}' if shift else ''})"
            case Weight(name):
                return f"P.{name}"
            case Stretched(axis, half, difference):
                alike = self._stretched.setdefault((axis, half), [])
                if term not in alike:
                    alike.append(term)
                which = f"{alike.index(term)}, " if self._in_space else ""
                return f"c.stretched({'HALF' if half else 'NODE'}_{axis.upper()}, {which}{self.text(difference)})"
        found = arithmetic_text(term, self.text, self._closed)
        if found is None:
            raise TypeError(f"{term} has no text")
        return found

    def _closed(self, term: Term) -> str:
        """Return the text of an operand that must be formed first."""
        loose = isinstance(term, Sum | Minus | Negative) and term not in self._names
        return f"({self.text(term)})" if loose else self.text(term)


def _shift(shift: tuple[int, ...]) -> list[str]:
    """Return the arguments of an accessor: slowest axis first, zeros at the end left out."""
    found = [str(by) for by in reversed(shift)]
    while found and found[-1] == "0":
        found.pop()
    return found


def _shape(node: Term) -> tuple[Term, ...]:
    """Return what a term is made of; where it is a rare addition, without what it is added to."""
    if isinstance(node, Where) and node.otherwise is not None:
        return node.coefficient, node.otherwise, _extra(node)
    return parts(node)


def _walked(term: Term) -> Iterator[Term]:
    yield term
    for part in _shape(term):
        yield from _walked(part)


def _extra(term: Where) -> Term:
    """Return what a rare term adds."""
    if isinstance(term.term, Sum) and term.term.left == term.otherwise:
        return term.term.right
    raise TypeError(f"{term} must add to what stays elsewhere")
