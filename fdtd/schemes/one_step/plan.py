"""One time step a trip through memory: two launches a step or one, one thread a vector of 16 bytes of a row."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes.limits import Limits
from fdtd.stencils import Stencil

_VECTOR = 16  # bytes
_SECTOR = 32  # bytes; rows start on a memory sector
_WARP = 32
_MOST_RING = 32  # rows
_MOST_THREADS = 1024
_RESERVED = 1024  # bytes of shared memory that the system takes of each block
_SIGNAL = 8  # bytes


@dataclass(frozen=True, kw_only=True)
class OneStepPlan:
    """How two launches a step visit the lattice.

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


@dataclass(frozen=True, kw_only=True)
class WholeStepPlan:
    """How one launch a step streams an antenna's rows through a block.

    Attributes:
        team: Threads that do E, or H.
        rows: That a team does at a time.
        ring: Rows in shared memory.
        blocks: That a multiprocessor should hold at a time.
        lead: Zero columns before the axis; the radial layer starts with a whole vector.
        pitch: Stored columns, at least one zero column after the last.
        size: Bytes of a number.
        shared_bytes: Of a block.
    """

    team: int
    rows: int
    ring: int
    blocks: int
    lead: int
    pitch: int
    size: int
    shared_bytes: int

    @property
    def threads(self) -> int:
        """Of a block: two teams and a warp that moves rows."""
        return 2 * self.team + _WARP

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return {
            "TEAM": self.team,
            "ROWS": self.rows,
            "RING": self.ring,
            "BLOCKS": self.blocks,
            "REAL_BYTES": self.size,
        }


def _layout(nr: int, layer: int, size: int) -> tuple[int, int]:
    """Lead and pitch."""
    lead, unit = (layer - nr) % (_VECTOR // size), _SECTOR // size
    return lead, -(-(lead + nr + 1) // unit) * unit


def plan(
    stencil: Stencil, nr: int, nz: int, *, layer: int, size: int, threads: int = 128, resident: int = 6
) -> OneStepPlan:
    """Two launches a step, in place: any stencil and size works.

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
    lead, pitch = _layout(nr, layer, size)
    return OneStepPlan(
        threads=threads,
        resident=resident,
        blocks=-(-pitch * size // _VECTOR * nz // threads),
        lead=lead,
        pitch=pitch,
        size=size,
    )


def plan_whole(
    stencil: Stencil, nr: int, nz: int, *, layer: int, size: int, limits: Limits, rows: int = 4, blocks: int = 1
) -> WholeStepPlan:
    """One launch a step, in place: half of the traffic, but one block an antenna.

    Args:
        stencil: What is stepped.
        nr: Columns.
        nz: Rows.
        layer: Columns of the radial layer.
        size: Bytes of a number.
        limits: Of the device.
        rows: That a team does at a time.
        blocks: That a multiprocessor should hold.

    Raises:
        Unsuitable: A block cannot hold enough rows.
    """
    del stencil
    lead, pitch = _layout(nr, layer, size)
    team = -(-rows * pitch * size // (_VECTOR * _WARP)) * _WARP
    row_bytes = (6 * pitch + 8 * max(4, -(-layer // 4) * 4)) * size
    free = min(limits.shared_bytes, limits.shared_bytes // blocks - _RESERVED) - 4 * (nz + 1)
    ring = min(free // (row_bytes + _SIGNAL), _MOST_RING)
    if ring < 3 * rows + 3 or 2 * team + _WARP > _MOST_THREADS:
        raise Unsuitable(
            f"one_step in one launch keeps {3 * rows + 3} rows of {nr} columns on chip, too many here; use two launches"
        )
    return WholeStepPlan(
        team=team,
        rows=rows,
        ring=ring,
        blocks=blocks,
        lead=lead,
        pitch=pitch,
        size=size,
        shared_bytes=ring * (row_bytes + _SIGNAL) + 4 * (nz + 1),
    )
