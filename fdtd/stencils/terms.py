"""Terms of update equations: components and coefficients with their positions, differences, sums, products.

A place is given in half cells along each axis. Index n of an array whose offset along an axis is o stands at 2 n + o,
so a component at half nodes has offset 1. A term has no place of its own: `Difference` asks its operand half a cell
before and after the place where it is needed, and so on down to the arrays, which then say which index that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fdtd.errors import ConfigError

AXES = "xyz"
Place = tuple[int, ...]
"""Half cells along x, y (, z)."""


@dataclass(frozen=True)
class Term:
    """Anything that has a value; `+`, `-` and `*` keep the order in which they are written, and so the rounding."""

    def __add__(self, other: Term) -> Term:
        return Sum(self, other)

    def __sub__(self, other: Term) -> Term:
        return Minus(self, other)

    def __mul__(self, other: Term) -> Term:
        return Product(self, other)

    def __neg__(self) -> Term:
        return Negative(self)


@dataclass(frozen=True)
class Component(Term):
    """A field.

    Attributes:
        name: As arrays and kernels spell it.
        at: Offset along each axis, half cells: 0 at nodes, 1 at half nodes.
        kept: Whether it is state; otherwise it is formed again in each step.
    """

    name: str
    at: Place
    kept: bool = True


@dataclass(frozen=True)
class Coefficient(Term):
    """A number of each cell that no step changes; `at` is its offset, None if it stands with what it multiplies."""

    name: str
    at: Place | None = None


@dataclass(frozen=True)
class Spacing(Term):
    """A number of each index along one axis: the inverse distance of neighbours at nodes or at half nodes."""

    name: str
    axis: str


@dataclass(frozen=True)
class Weight(Term):
    """One number for the whole lattice."""

    name: str


@dataclass(frozen=True)
class Sum(Term):
    """left + right."""

    left: Term
    right: Term


@dataclass(frozen=True)
class Minus(Term):
    """left - right."""

    left: Term
    right: Term


@dataclass(frozen=True)
class Product(Term):
    """left * right."""

    left: Term
    right: Term


@dataclass(frozen=True)
class Negative(Term):
    """-term."""

    term: Term


@dataclass(frozen=True)
class Shifted(Term):
    """A component some whole cells away along each axis."""

    component: Component
    shift: Place


@dataclass(frozen=True)
class Difference(Term):
    """Central difference over one cell along an axis: half a cell after less half a cell before."""

    axis: str
    term: Term


@dataclass(frozen=True)
class Both(Term):
    """Sum of the values half a cell before and after along an axis, the one with the own index first."""

    axis: str
    term: Term


@dataclass(frozen=True)
class Layered(Term):
    """A difference as absorbing layers stretch it, with a memory of its own; advanced once a step."""

    difference: Difference


@dataclass(frozen=True)
class Where(Term):
    """One term where a coefficient is not zero, else another; None stands for zero."""

    coefficient: Term
    term: Term
    otherwise: Term | None = None


@dataclass(frozen=True)
class Read(Term):
    """A component or a coefficient some cells away: what is left of places in an `indexed` term."""

    name: str
    shift: Place


@dataclass(frozen=True)
class Along(Term):
    """A `Spacing` some cells away along its axis."""

    name: str
    axis: str
    shift: int


@dataclass(frozen=True)
class Stretched(Term):
    """A layered difference in an `indexed` term.

    Attributes:
        axis: Of the difference.
        half: Whether it is formed at half nodes.
        difference: What is stretched.
    """

    axis: str
    half: bool
    difference: Term


def indexed(term: Term, place: Place) -> Term:
    """Return a term needed at a place with every array's index: `Read`, `Along`, `Stretched` for what has a place.

    Args:
        term: Part of an update equation.
        place: Half cells along each axis, 0 or 1 in an equation's own cell.

    Raises:
        ConfigError: An array has no value at the place where the equation needs one.
    """
    match term:
        case Component(name, at) | Coefficient(name, at):
            offset = tuple(p % 2 for p in place) if at is None else at
            if len(offset) != len(place) or any((p - o) % 2 for p, o in zip(place, offset, strict=True)):
                raise ConfigError(
                    f"{name} stands at {offset} half cells, and the equation needs it at {place}; take a difference or "
                    "a sum of neighbours along the axes that differ"
                )
            return Read(name, tuple((p - o) // 2 for p, o in zip(place, offset, strict=True)))
        case Shifted(component, shift):
            return indexed(component, tuple(p + 2 * s for p, s in zip(place, shift, strict=True)))
        case Spacing(name, axis):
            return Along(name, axis, place[AXES.index(axis)] // 2)
        case Difference(axis, inner):
            return Minus(indexed(inner, _moved(place, axis, 1)), indexed(inner, _moved(place, axis, -1)))
        case Both(axis, inner):
            own = -1 if place[AXES.index(axis)] % 2 else 1
            return Sum(indexed(inner, _moved(place, axis, own)), indexed(inner, _moved(place, axis, -own)))
        case Layered(difference):
            axis = difference.axis
            return Stretched(axis, place[AXES.index(axis)] % 2 == 1, indexed(difference, place))
        case Where(coefficient, inner, otherwise):
            other = None if otherwise is None else indexed(otherwise, place)
            return Where(indexed(coefficient, place), indexed(inner, place), other)
        case Negative(inner):
            return Negative(indexed(inner, place))
        case Sum(left, right) | Minus(left, right) | Product(left, right):
            return type(term)(indexed(left, place), indexed(right, place))
    return term


def _moved(place: Place, axis: str, by: int) -> Place:
    at = AXES.index(axis)
    return (*place[:at], place[at] + by, *place[at + 1 :])


def parts(term: Term) -> tuple[Term, ...]:
    """Return the operands of a term, in order."""
    match term:
        case Sum(left, right) | Minus(left, right) | Product(left, right):
            return left, right
        case Negative(inner) | Difference(_, inner) | Both(_, inner) | Layered(inner) | Stretched(_, _, inner):
            return (inner,)
        case Where(coefficient, inner, otherwise):
            return (coefficient, inner) if otherwise is None else (coefficient, inner, otherwise)
    return ()


def walk(term: Term) -> Iterator[Term]:
    """Yield a term and all that it is made of, operands before the next term."""
    yield term
    for part in parts(term):
        yield from walk(part)


def arithmetic_text(term: Term, text: Callable[[Term], str], closed: Callable[[Term], str]) -> str | None:
    """Return a sum, difference, product or negative as an expression of C or Python; None of any other term.

    Args:
        term: In an `indexed` equation.
        text: Writes an operand that needs no brackets.
        closed: Writes one with brackets where it must be formed first.
    """
    match term:
        case Negative(inner):
            return f"-{closed(inner)}"
        case Product(left, right):
            return f"{closed(left)} * {closed(right)}"
        case Sum(left, right):
            return f"{text(left)} + {closed(right)}"
        case Minus(left, right):
            return f"{text(left)} - {closed(right)}"
    return None
