"""One time step a trip through memory: two launches a step or one, one thread a vector of 16 bytes of a row."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.stencils import Stencil
from fdtd.tiling.limits import Limits

_VECTOR = 16  # bytes
_SECTOR = 32  # bytes; rows start on a memory sector
_RESIDENT = {1: 2, 2: 8}  # blocks of a multiprocessor, by launches a step
_THREADS = {1: 512, 2: 128}  # of a block, by launches a step
_MOST_THREADS = 1024
_WARP = 32


@dataclass(frozen=True, kw_only=True)
class OneStepPlan:
    """How the baseline visits the lattice.

    Attributes:
        launches: A step: two in place, or one from one buffer to another.
        threads: Of a block.
        resident: Blocks that a multiprocessor should hold at a time; sets the registers a thread.
        blocks: Of an antenna, in one of two launches.
        rows: That a block writes in one launch.
        whole_blocks: Of an antenna, in one launch.
        lead: Zero columns before the axis; the radial layer starts with a whole vector.
        pitch: Stored columns, at least one zero column after the last.
        size: Bytes of a number.
    """

    launches: int
    threads: int
    resident: int
    blocks: int
    rows: int
    whole_blocks: int
    lead: int
    pitch: int
    size: int

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        rows = {"TILE_ROWS": self.rows} if self.launches == 1 else {}
        return {"THREADS": self.threads, "RESIDENT": self.resident, "REAL_BYTES": self.size} | rows

    @property
    def shared_bytes(self) -> int:
        """Of a block, in one launch."""
        return 3 * (self.rows + 1) * self.pitch * self.size


def plan(
    stencil: Stencil,
    nr: int,
    nz: int,
    *,
    layer: int,
    size: int,
    limits: Limits,
    launches: int = 2,
    threads: int | None = None,
    resident: int | None = None,
) -> OneStepPlan:
    """Any stencil and size works in two launches.

    Args:
        stencil: What is stepped.
        nr: Columns.
        nz: Rows.
        layer: Columns of the radial layer.
        size: Bytes of a number.
        limits: Of the device.
        launches: A step: 2, in place, or 1, with a second buffer and half of the traffic.
        threads: Of a block; chosen if None.
        resident: Blocks that a multiprocessor should hold; chosen if None.

    Raises:
        Unsuitable: There is no such number of launches, or a block cannot hold two rows, which one launch needs.
    """
    del stencil
    if launches not in _RESIDENT:
        raise Unsuitable(f"one_step takes launches = 1 or 2 a step, not {launches}")
    unit = _SECTOR // size
    lead = (layer - nr) % (_VECTOR // size)
    pitch = -(-(lead + nr + 1) // unit) * unit
    vectors = pitch * size // _VECTOR
    threads, rows = threads or _THREADS[launches], 1
    if launches == 1:
        rows = max(1, threads // vectors - 1)
        threads = -(-(rows + 1) * vectors // _WARP) * _WARP
    made = OneStepPlan(
        launches=launches,
        threads=threads,
        resident=min(resident or _RESIDENT[launches], max(1, 2 * _MOST_THREADS // threads)),
        blocks=-(-vectors * nz // threads),
        rows=rows,
        whole_blocks=-(-nz // rows),
        lead=lead,
        pitch=pitch,
        size=size,
    )
    if launches == 1 and (threads > _MOST_THREADS or made.shared_bytes > limits.shared_bytes):
        raise Unsuitable(f"one_step in one launch holds two rows a block, and rows of {nr} columns are too long; use two")
    return made
