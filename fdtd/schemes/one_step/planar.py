"""One phase of one step a launch on planar lattices: any stencil, any size."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OneStepPlan:
    """How the baseline visits the lattice.

    Attributes:
        threads: Of a block, along a row.
        rows: Cells a thread.
        blocks: (along a row, across rows) a problem.
    """

    threads: int
    rows: int
    blocks: tuple[int, int]

    @property
    def macros(self) -> dict[str, str | int]:
        """Settings of the kernel text."""
        return {"ROWS": self.rows}


def plan(rows: int, columns: int, *, threads: int = 128, cells: int = 4) -> OneStepPlan:
    """Any size works.

    Args:
        rows: Of the lattice that change.
        columns: Likewise.
        threads: Most of a block.
        cells: A thread takes so many, one above the other.
    """
    threads = min(threads, -(-columns // 32) * 32)
    return OneStepPlan(threads=threads, rows=cells, blocks=(-(-columns // threads), -(-rows // cells)))
