"""One time step per pass through memory: one or two launches per step, one thread per vector of 16 bytes of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes import Workload
from fdtd.stencils import PlanarStencil, Stencil

_VECTOR = 16  # bytes
_SECTOR = 32  # bytes; rows start on a memory sector
_WARP = 32
_MOST_RING = 32  # rows
_MOST_THREADS = 1024
_RESERVED = 1024  # bytes of shared memory that the system takes of each block
_SIGNAL = 8  # bytes
_PLANAR_THREADS, _PLANAR_CELLS = 128, 4  # of a block at most, along a row; of a thread, one above the other


@dataclass(frozen=True, kw_only=True)
class OneStepPlan:
    """Two launches a step.

    Attributes:
        blocks: Of an antenna.
        lead: Zero columns before the axis; the radial layer starts with a whole vector.
        pitch: Stored columns, at least one zero column after the last.
        size: Bytes of a number.
        threads: Of a block.
        resident: Blocks that a multiprocessor should hold at a time; sets the registers a thread.
    """

    blocks: int
    lead: int
    pitch: int
    size: int
    threads: int = 128
    resident: int = 6

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return {"THREADS": self.threads, "RESIDENT": self.resident, "REAL_BYTES": self.size}


@dataclass(frozen=True, kw_only=True)
class WholeStepPlan:
    """One launch a step, which streams an antenna's rows through a block.

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
        """Threads of a block: two teams and a warp that moves rows."""
        return 2 * self.team + _WARP

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return {"TEAM": self.team, "ROWS": self.rows, "RING": self.ring, "BLOCKS": self.blocks, "REAL_BYTES": self.size}


@dataclass(frozen=True, kw_only=True)
class PlanarOneStepPlan:
    """Baseline on a planar lattice: one phase of one step a launch.

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


@dataclass(frozen=True, kw_only=True)
class YeeOneStepPlan:
    """One phase of one step a launch on rectilinear lattices of any size.

    Attributes:
        threads: Of a block; two columns each.
        depth: Planes of a tile; a thread does them one after the other.
        resident: Blocks that a multiprocessor should hold at a time; sets the registers a thread.
    """

    threads: int
    depth: int
    resident: int

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return {"THREADS": self.threads, "DEPTH": self.depth, "RESIDENT": self.resident}

    def grid(self, ends: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
        """Return blocks of the largest lattice, and lattices.

        Args:
            ends: Nodes that are stepped along x, y, z, of each lattice.
        """
        tiles = (-(-(-(-x // 2) * y) // self.threads) * -(-z // self.depth) for x, y, z in ends)
        return max(tiles), len(ends)


def _layout(work: Workload[Stencil]) -> tuple[int, int]:
    """Return lead and pitch."""
    lead, unit = (work.layer - work.columns) % (_VECTOR // work.size), _SECTOR // work.size
    return lead, -(-(lead + work.columns + 1) // unit) * unit


def plan(work: Workload[Stencil]) -> OneStepPlan:
    """Plan two launches a step, in place: any stencil and size works."""
    lead, pitch = _layout(work)
    blocks = -(-pitch * work.size // _VECTOR * work.rows // OneStepPlan.threads)
    return OneStepPlan(blocks=blocks, lead=lead, pitch=pitch, size=work.size)


def plan_whole(work: Workload[Stencil], *, rows: int = 4, blocks: int = 1) -> WholeStepPlan:
    """Plan one launch a step, in place: half of the traffic, but one block an antenna.

    Args:
        work: What is stepped.
        rows: That a team does at a time.
        blocks: That a multiprocessor should hold.

    Raises:
        Unsuitable: A block cannot hold enough rows.
    """
    size, most = work.size, work.limits.shared_bytes
    lead, pitch = _layout(work)
    team = -(-rows * pitch * size // (_VECTOR * _WARP)) * _WARP
    row_bytes = (6 * pitch + 8 * max(4, -(-work.layer // 4) * 4)) * size
    free = min(most, most // blocks - _RESERVED) - 4 * (work.rows + 1)
    ring = min(free // (row_bytes + _SIGNAL), _MOST_RING)
    if ring < 3 * rows + 3 or 2 * team + _WARP > _MOST_THREADS:
        raise Unsuitable(
            f"one_step in one launch keeps {3 * rows + 3} rows of {work.columns} columns on chip, too many here; "
            "use two launches"
        )
    return WholeStepPlan(
        team=team,
        rows=rows,
        ring=ring,
        blocks=blocks,
        lead=lead,
        pitch=pitch,
        size=size,
        shared_bytes=ring * (row_bytes + _SIGNAL) + 4 * (work.rows + 1),
    )


def plan_planar(work: Workload[PlanarStencil]) -> PlanarOneStepPlan:
    """Plan a launch a phase: any size works."""
    rows, columns = work.rows - work.stencil.idle, work.columns - work.stencil.idle
    threads = min(_PLANAR_THREADS, -(-columns // _WARP) * _WARP)
    return PlanarOneStepPlan(
        threads=threads, rows=_PLANAR_CELLS, blocks=(-(-columns // threads), -(-rows // _PLANAR_CELLS))
    )


def plan_yee(size: int, *, threads: int = 128, depth: int = 4, resident: int | None = None) -> YeeOneStepPlan:
    """Plan a launch a phase on rectilinear lattices: any size works.

    Args:
        size: Bytes of a number.
        threads: Of a block.
        depth: Planes of a tile.
        resident: Blocks of a multiprocessor; as many as need no spilled registers if None.
    """
    return YeeOneStepPlan(threads=threads, depth=depth, resident=resident or (6 if size == 4 else 4))
