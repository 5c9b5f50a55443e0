"""Schemes: orders in which cells are visited, one package each, with plans in whole numbers and kernel text.

Here is what all of them are planned for: lattice, stencil, layers, device; and how planar rows are stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from fdtd.schemes.machine import Limits
from fdtd.stencils import Stencil

AnyStencil = TypeVar("AnyStencil", bound=Stencil, covariant=True)

LEAD = 32
"""Zero columns before the first in memory, so that a row starts on a cache line in either precision."""

ROW_LEAD = 4
"""The same on chip, where 16 bytes are enough."""


class AnyProblem(Protocol):
    """Interface that axisymmetric problems, planar ones and five-point sums share."""

    @property
    def stencil(self) -> Stencil:
        """Update equations."""
        ...

    @property
    def lattices(self) -> tuple[int, int, int]:
        """Number of lattices stepped side by side, their rows and columns, padding included."""
        ...

    @property
    def steps(self) -> int:
        """Step limit."""
        ...

    @property
    def layer_cells(self) -> int:
        """Cells of the absorbing layers, of the radial one where there are several kinds."""
        ...


@dataclass(frozen=True, kw_only=True)
class Workload(Generic[AnyStencil]):
    """Equal lattices that are stepped side by side on one device.

    Attributes:
        stencil: Update equations.
        rows: Rows of the lattice (nz of the axisymmetric one), padding included.
        columns: Columns of the lattice (nr).
        size: Bytes of a number.
        limits: Limits of the device.
        batch: Lattices stepped together.
        layer: Cells of the absorbing layers; of axisymmetric lattices, of the radial one.
        axial: Rows [start, stop) and columns of the axial layers.
        record_every: Steps between samples.
        coupled: Whether axisymmetric nodes may couple e_r and e_z.
    """

    stencil: AnyStencil
    rows: int
    columns: int
    size: int
    limits: Limits
    batch: int = 1
    layer: int = 0
    axial: tuple[tuple[int, int, int], ...] = ()
    record_every: int = 10
    coupled: bool = False

    @property
    def main(self) -> int:
        """Columns before the radial layer."""
        return self.columns - self.layer

    @property
    def cells(self) -> int:
        """Cells of one lattice."""
        return self.rows * self.columns


def pitch(columns: int) -> int:
    """Return the stored numbers of a row in memory: zeros before and after, whole cache lines."""
    return -(-(LEAD + columns + 1) // LEAD) * LEAD


def row_numbers(columns: int) -> int:
    """Return the numbers of a row on chip: zeros before and after, whole vectors of 16 bytes."""
    return -(-(ROW_LEAD + columns + 1) // 4) * 4
