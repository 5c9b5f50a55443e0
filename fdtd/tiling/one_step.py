"""One time step a trip through memory: two launches a step or one, one thread a vector of 16 bytes of a row."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.stencils import Stencil

_VECTOR = 16  # bytes
_SECTOR = 32  # bytes; rows start on a memory sector
_OWN = 31  # lanes of a warp that write; the last one's E is its neighbour's
_CHUNK = 16  # rows
_RESIDENT = {1: 4, 2: 8}  # blocks of a multiprocessor, by launches a step


@dataclass(frozen=True, kw_only=True)
class OneStepPlan:
    """How the baseline visits the lattice.

    Attributes:
        launches: A step: two in place, or one from one buffer to another.
        chunk: Rows that a lane steps in one launch.
        threads: Of a block.
        resident: Blocks that a multiprocessor should hold at a time; sets the registers a thread.
        blocks: Of an antenna, in one of two launches.
        whole_blocks: Of an antenna, in one launch.
        lead: Zero columns before the axis; the radial layer starts with a whole vector.
        pitch: Stored columns, at least one zero column after the last.
        size: Bytes of a number.
    """

    launches: int
    chunk: int
    threads: int
    resident: int
    blocks: int
    whole_blocks: int
    lead: int
    pitch: int
    size: int

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        chunk = {"CHUNK": self.chunk} if self.launches == 1 else {}
        return {"THREADS": self.threads, "RESIDENT": self.resident, "REAL_BYTES": self.size} | chunk


def plan(
    stencil: Stencil,
    nr: int,
    nz: int,
    *,
    layer: int,
    size: int,
    launches: int = 2,
    threads: int = 128,
    resident: int | None = None,
    chunk: int = _CHUNK,
) -> OneStepPlan:
    """Any stencil and size works.

    Args:
        stencil: What is stepped.
        nr: Columns.
        nz: Rows.
        layer: Columns of the radial layer.
        size: Bytes of a number.
        launches: A step: 2, in place, or 1, with a second buffer and half of the traffic.
        threads: Of a block.
        resident: Blocks that a multiprocessor should hold; chosen if None.
        chunk: Rows that a lane steps, if one launch does it all.

    Raises:
        Unsuitable: There is no such number of launches.
    """
    del stencil
    if launches not in _RESIDENT:
        raise Unsuitable(f"one_step takes launches = 1 or 2 a step, not {launches}")
    unit = _SECTOR // size
    lead = (layer - nr) % (_VECTOR // size)
    pitch = -(-(lead + nr + 1) // unit) * unit
    vectors = pitch * size // _VECTOR
    return OneStepPlan(
        launches=launches,
        chunk=chunk,
        threads=threads,
        resident=_RESIDENT[launches] if resident is None else resident,
        blocks=-(-vectors * nz // threads),
        whole_blocks=-(-vectors * -(-nz // chunk) // (threads // 32 * _OWN)),
        lead=lead,
        pitch=pitch,
        size=size,
    )
