"""Data of a stencil for schemes, plans and benchmarks: counts and halo, derived from its formula if it has one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fdtd.errors import Unsuitable
from fdtd.stencils.formula import Formula


@dataclass(frozen=True, kw_only=True)
class Stencil:
    """One cell's update, all phases together.

    Attributes:
        name: As the command line spells it.
        fields: State of a cell as it is stored, in the order of the arrays.
        coefficients: Numbers of a cell where the medium is neither air nor metal.
        phases: Updates of a step that must follow each other.
        operations: Instructions a cell and step in air: additions, multiplications, fused multiply-adds.
        moved: Numbers of a cell that all phases read and write, where each is a launch of its own, coefficients aside.
        formula: Where the numbers and all texts come from; None where the text of the kernels is written by hand.
        macros: More settings of the kernel text.
    """

    name: str
    fields: tuple[str, ...]
    coefficients: int
    phases: int
    operations: int
    moved: int
    formula: Formula | None = None
    macros: Mapping[str, str | int] = field(default_factory=dict)

    def bytes_per_step(self, size: int, steps: int = 1) -> float:
        """Memory traffic a cell and step when the fields are read and written once for `steps` steps.

        Args:
            size: Bytes of a number.
            steps: Time steps a trip; one step in separate launches of each half costs `split_bytes`.
        """
        return 2 * len(self.fields) * size / steps

    def split_bytes(self, size: int) -> float:
        """Memory traffic a cell and step with one launch a phase: each reads what it needs and writes its share."""
        return self.moved * size


@dataclass(frozen=True, kw_only=True)
class PlanarStencil(Stencil):
    """A planar stencil, with what the planar schemes need.

    Attributes:
        scratch: Planes of a cell on chip that are not kept in memory.
        memories: Filter states of a cell in the absorbing layers.
        low: Cells before its own that a step reads, all phases together.
        high: Cells after its own.
        back: Rows behind the first phase at which the last one can be done.
        idle: Last rows and columns that never change, walls and padding.
    """

    scratch: int = 0
    memories: int
    low: int
    high: int
    back: int = 0
    idle: int

    @property
    def kept(self) -> int:
        """Planes of a cell that are read from and written to memory."""
        return len(self.fields)

    @property
    def planes(self) -> int:
        """Planes of a cell on chip."""
        return self.kept + self.scratch

    @property
    def equations(self) -> Formula:
        """The formula, which every planar stencil has.

        Raises:
            Unsuitable: It has none.
        """
        if self.formula is None:
            raise Unsuitable(f"{self.name} has no formula; build its stencil with fdtd.stencils.planar")
        return self.formula


def spatial(formula: Formula) -> Stencil:
    """Return the stencil of a formula in space."""
    return Stencil(
        name=formula.name,
        fields=formula.kept,
        coefficients=len(formula.coefficients),
        phases=len(formula.phases),
        operations=formula.operations.instructions,
        moved=sum(map(formula.moved, range(len(formula.phases)))),
        formula=formula,
    )


def planar(formula: Formula) -> PlanarStencil:
    """Return the stencil of a formula in the plane."""
    phases = range(len(formula.phases))
    return PlanarStencil(
        name=formula.name,
        fields=formula.kept,
        coefficients=len(formula.coefficients),
        phases=len(phases),
        operations=formula.operations.instructions,
        moved=sum(map(formula.moved, phases)),
        formula=formula,
        scratch=1 if formula.exchanged else len(formula.components) - len(formula.kept),
        memories=len(formula.stretched),
        low=sum(map(formula.low, phases)),
        high=sum(map(formula.high, phases)),
        back=max(map(formula.back, phases)),
        idle=formula.idle,
    )
