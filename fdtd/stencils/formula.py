"""A stencil as a formula: components with positions, coefficients, update equations, and derived counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from fdtd.errors import ConfigError
from fdtd.stencils.terms import (
    Coefficient,
    Component,
    Minus,
    Product,
    Read,
    Shifted,
    Spacing,
    Stretched,
    Sum,
    Term,
    Weight,
    indexed,
    parts,
    walk,
)  # fmt: skip

Window = tuple[tuple[int, int], ...]
"""First cell and last cell along each axis, relative to a cell's own."""


@dataclass(frozen=True)
class Phase:
    """Updates of a step that need nothing of each other: what each component becomes.

    Attributes:
        updates: New value of each component.
        sparse: Whether the phase changes few cells, those of coupled nodes; it is left out of the counts, which are for
            air.
        early: Coefficients that kernels read before they form differences, so that they are under way meanwhile.
    """

    updates: Mapping[Component, Term]
    sparse: bool = False
    early: tuple[Coefficient, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Formula:
    """Update equations on a rectilinear lattice.

    Attributes:
        name: As the command line spells it.
        title: One sentence.
        axes: "xy" or "xyz".
        components: In the order of the arrays, kept ones first.
        coefficients: Numbers of a cell, in the order of the arrays.
        phases: In their order in time; each needs what the one before it gave, everywhere.
        rim: Cells at each side of the lattice that never change. 0: components at half nodes have one array entry to
            spare at the far side, and coefficients are zero where nothing is stepped.
        limit: Largest stable step, in words.
    """

    name: str
    title: str
    axes: str
    components: tuple[Component, ...]
    coefficients: tuple[Coefficient, ...] = ()
    phases: tuple[Phase, ...]
    rim: int = 0
    limit: str

    def __post_init__(self) -> None:
        places = [component.kept for component in self.components]
        if places != sorted(places, reverse=True):
            raise ConfigError(f"{self.name}: components that are not kept must come last")
        known: set[Term] = {*self.components, *self.coefficients}
        for phase in self.phases:
            for component, term in phase.updates.items():
                arrays = {one.component if isinstance(one, Shifted) else one for one in walk(term)}
                for one in (component, *(one for one in arrays if isinstance(one, Component | Coefficient))):
                    if one not in known:
                        raise ConfigError(f"{self.name}: {one} is no component or coefficient of this stencil")
                if len(component.at) != len(self.axes):
                    raise ConfigError(f"{self.name}: {component.name} needs a place along each of {self.axes}")
        if self.exchanged and len(self.components) > 1:
            raise ConfigError(f"{self.name}: one component may read its own neighbours only where it is the only one")
        if not self.indexed_phases:  # which refuses an array that has no value where it is read
            raise ConfigError(f"{self.name} has no phases (needs >= 1)")

    @cached_property
    def indexed_phases(self) -> tuple[dict[str, Term], ...]:
        """New value of each component by name, with indices in place of places, a phase each."""
        return tuple({one.name: indexed(term, one.at) for one, term in phase.updates.items()} for phase in self.phases)

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the components that are state."""
        return tuple(one.name for one in self.components if one.kept)

    @cached_property
    def spacings(self) -> tuple[Spacing, ...]:
        """Inverse distances along the axes, in the order of the equations."""
        return tuple(dict.fromkeys(one for one in self._parts() if isinstance(one, Spacing)))

    @cached_property
    def weights(self) -> tuple[Weight, ...]:
        """Numbers of the whole lattice, in the order of the equations."""
        return tuple(dict.fromkeys(one for one in self._parts() if isinstance(one, Weight)))

    def _parts(self) -> Iterator[Term]:
        return (one for phase in self.phases for term in phase.updates.values() for one in walk(term))

    @property
    def exchanged(self) -> bool:
        """Whether a component reads its own neighbours, so that old and new values need an array each."""
        return any(isinstance(one, Shifted) and any(one.shift) for one in self._parts())

    @property
    def idle(self) -> int:
        """Last entries along each axis that never change: walls and what components at half nodes have to spare."""
        return int(any(any(one.at) for one in self.components))

    def reads(self, phase: int) -> dict[str, set[tuple[int, ...]]]:
        """Return which cells of each component one phase reads, relative to its own."""
        names = {one.name for one in self.components}
        found: dict[str, set[tuple[int, ...]]] = {}
        for term in self.indexed_phases[phase].values():
            for one in walk(term):
                if isinstance(one, Read) and one.name in names:
                    found.setdefault(one.name, set()).add(one.shift)
        return found

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The box of cells that each phase reads."""
        found = []
        for phase in range(len(self.phases)):
            shifts = [(0,) * len(self.axes), *(shift for some in self.reads(phase).values() for shift in some)]
            found.append(tuple((min(axis), max(axis)) for axis in zip(*shifts, strict=True)))
        return tuple(found)

    @cached_property
    def reach(self) -> Window:
        """Cells before and after its own that a step reads along each axis, where every phase forms all it reads."""
        return tuple(
            (-sum(low for low, _ in axis), sum(high for _, high in axis)) for axis in zip(*self.windows, strict=True)
        )

    def first(self, phase: int, name: str) -> tuple[int, ...]:
        """Return the first cell along each axis that has all that an update reads."""
        reads = (one for one in walk(self.indexed_phases[phase][name]) if isinstance(one, Read))
        return tuple(max(self.rim, *(-by for by in axis)) for axis in zip(*(one.shift for one in reads), strict=True))

    def low(self, phase: int) -> int:
        """Return the cells before its own that a phase reads, along the worst axis."""
        return max(-first for first, _ in self.windows[phase])

    def high(self, phase: int) -> int:
        """Return the cells after its own that a phase reads, along the worst axis."""
        return max(last for _, last in self.windows[phase])

    def back(self, phase: int) -> int:
        """Return the rows behind the first phase at which a phase can be done where rows follow each other.

        Rows are counted along the last axis. A phase may read the row above its own only where the phase that writes it
        has been there.
        """
        rows = [0]
        for at in range(1, phase + 1):
            reads = self.reads(at)
            rows.append(
                max(
                    rows[before] + max((shift[-1] for shift in reads.get(name, ())), default=0)
                    for before in range(at)
                    for name in self.indexed_phases[before]
                )
            )
        return rows[phase]

    @property
    def stretched(self) -> tuple[Stretched, ...]:
        """Differences that absorbing layers stretch, each with a memory, in the order of the equations."""
        found = (one for phase in self.indexed_phases for term in phase.values() for one in walk(term))
        return tuple(dict.fromkeys(one for one in found if isinstance(one, Stretched)))

    @cached_property
    def operations(self) -> Operations:
        """Arithmetic of a cell and step in air, lossy or not, without layers."""
        return sum((_counted(phase) for phase in self._dense), Operations())

    @property
    def _dense(self) -> Iterator[dict[str, Term]]:
        kept = self.kept
        for phase, terms in zip(self.phases, self.indexed_phases, strict=True):
            if not phase.sparse:
                yield {name: term for name, term in terms.items() if name in kept}

    def moved(self, phase: int) -> int:
        """Return the numbers of a cell that a phase reads and writes, each once, coefficients aside."""
        return len(self.reads(phase)) + len(self.indexed_phases[phase])

    def coefficients_read(self, phase: int) -> int:
        """Return how many coefficients of a cell a phase reads, each once."""
        names, terms = {one.name for one in self.coefficients}, self.indexed_phases[phase].values()
        return len({one.name for term in terms for one in walk(term) if isinstance(one, Read)} & names)

    def summary(self) -> dict[str, object]:
        """Return name, components, counts and reach as plain data."""
        operations = self.operations
        return {
            "stencil": self.name,
            "title": self.title,
            "axes": self.axes,
            "components": {one.name: [half / 2 for half in one.at] for one in self.components if one.kept},
            "coefficients": [one.name for one in self.coefficients],
            "phases": len(self.phases),
            "additions": operations.additions,
            "multiplications": operations.multiplications,
            "multiply_adds": operations.multiply_adds,
            "memories": len(self.stretched),
            "halo": {axis: list(cells) for axis, cells in zip(self.axes, self.reach, strict=True)},
            "limit": self.limit,
        }


@dataclass(frozen=True, kw_only=True)
class Operations:
    """Arithmetic of a cell and step; one instruction each on a machine that fuses.

    Attributes:
        additions: Sums and differences that no product is part of.
        multiplications: Products that are not part of a sum, or of one whose other part is a product too.
        multiply_adds: Sums of a product and something else.
    """

    additions: int = 0
    multiplications: int = 0
    multiply_adds: int = 0

    def __add__(self, other: Operations) -> Operations:
        return Operations(
            additions=self.additions + other.additions,
            multiplications=self.multiplications + other.multiplications,
            multiply_adds=self.multiply_adds + other.multiply_adds,
        )

    def __radd__(self, other: object) -> Operations:
        return self

    @property
    def instructions(self) -> int:
        """All of them."""
        return self.additions + self.multiplications + self.multiply_adds


def _counted(terms: Mapping[str, Term]) -> Operations:
    """Count distinct sums and products; what layers stretch counts as the plain difference."""
    seen: set[Term] = set()
    sums = fused = products = 0
    for term in terms.values():
        for one in walk(term):
            if one in seen:
                continue
            seen.add(one)
            if isinstance(one, Product):
                products += 1
            elif isinstance(one, Sum | Minus):
                sums += 1
                fused += any(isinstance(part, Product) for part in parts(one))
    return Operations(additions=sums - fused, multiplications=products - fused, multiply_adds=fused)
