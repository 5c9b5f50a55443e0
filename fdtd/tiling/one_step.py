"""One time step a launch: two launches a step, one thread a short column of cells."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.stencils import Stencil

_ALIGNMENT = 8  # columns; rows start on a memory sector


@dataclass(frozen=True, kw_only=True)
class OneStepPlan:
    """How the baseline visits the lattice.

    Attributes:
        columns: Threads of a block, along r.
        rows: Cells a thread, along z.
        resident: Blocks that a multiprocessor should hold at a time; sets the registers a thread.
        blocks: (along r, along z) an antenna.
        lead: Zero columns before the axis.
        pitch: Stored columns, at least one zero column after the last.
    """

    columns: int
    rows: int
    resident: int
    blocks: tuple[int, int]
    lead: int
    pitch: int

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return {"ROWS": self.rows, "COLUMNS": self.columns, "RESIDENT": self.resident}


def plan(stencil: Stencil, nr: int, nz: int, *, columns: int = 128, rows: int = 1, resident: int = 12) -> OneStepPlan:
    """Any stencil and size works.

    Args:
        stencil: What is stepped.
        nr: Columns.
        nz: Rows.
        columns: Threads of a block.
        rows: Cells a thread.
        resident: Blocks that a multiprocessor should hold.
    """
    del stencil
    columns = min(columns, -(-nr // 32) * 32)
    return OneStepPlan(
        columns=columns,
        rows=rows,
        resident=resident,
        blocks=(-(-nr // columns), -(-nz // rows)),
        lead=0,
        pitch=-(-(nr + 1) // _ALIGNMENT) * _ALIGNMENT,
    )
