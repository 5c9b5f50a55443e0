"""One time step a launch: two launches a step, one thread a vector of 16 bytes of a row."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.stencils import Stencil

_VECTOR = 16  # bytes
_SECTOR = 32  # bytes; rows start on a memory sector


@dataclass(frozen=True, kw_only=True)
class OneStepPlan:
    """How the baseline visits the lattice.

    Attributes:
        threads: Of a block.
        resident: Blocks that a multiprocessor should hold at a time; sets the registers a thread.
        blocks: Of an antenna.
        lead: Zero columns before the axis; the radial layer starts with a whole vector.
        pitch: Stored columns, at least one zero column after the last.
        size: Bytes of a number.
    """

    threads: int
    resident: int
    blocks: int
    lead: int
    pitch: int
    size: int

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return {"THREADS": self.threads, "RESIDENT": self.resident, "REAL_BYTES": self.size}


def plan(
    stencil: Stencil, nr: int, nz: int, *, layer: int, size: int, threads: int = 128, resident: int = 8
) -> OneStepPlan:
    """Any stencil and size works.

    Args:
        stencil: What is stepped.
        nr: Columns.
        nz: Rows.
        layer: Columns of the radial layer.
        size: Bytes of a number.
        threads: Of a block.
        resident: Blocks that a multiprocessor should hold.
    """
    del stencil
    unit = _SECTOR // size
    lead = (layer - nr) % (_VECTOR // size)
    pitch = -(-(lead + nr + 1) // unit) * unit
    return OneStepPlan(
        threads=threads,
        resident=resident,
        blocks=-(-pitch * size // _VECTOR * nz // threads),
        lead=lead,
        pitch=pitch,
        size=size,
    )
