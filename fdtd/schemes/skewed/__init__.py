"""Time skewing with time tiling on planar lattices: the number of time levels that a block or a warp can carry.

Windows of rows lie in a block's shared memory. What fits in registers is streamed through them instead: strips of
columns, row by row, through several time levels by a warp each.
"""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes import Workload, row_numbers
from fdtd.stencils import PlanarStencil

_MOST_LEVELS = 16  # if the plan chooses; at most as many as a block has warps
_MOST_WARPS = 32
_AHEAD = 3  # rows on their way from memory
_STREAM_WARPS = 4
# Rows a warp, in levels: below the first the overlap costs more than idle multiprocessors; above the second the last
# warps to end, those at the rim, leave too much idle.
_LEAST_CHUNK, _MOST_CHUNK = 4, 8


@dataclass(frozen=True, kw_only=True)
class SkewedPlan:
    """One block a problem.

    Attributes:
        levels: Time steps a pass.
        group: Warps a level.
        columns: That change.
        row: Numbers of a row of one plane.
        shared_bytes: Of the block.
    """

    levels: int
    group: int
    columns: int
    row: int
    shared_bytes: int

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return 32 * self.group * self.levels

    @property
    def macros(self) -> dict[str, str | int]:
        """Settings of the kernel text."""
        return {"LEVELS": self.levels, "GROUP": self.group, "COLUMNS": self.columns, "ROW": self.row}


def slots(stencil: PlanarStencil, levels: int) -> int:
    """Rows on chip: the levels' own, those that their neighbours read, those on their way."""
    return (2 + stencil.back) * (levels - 1) + stencil.back + 2 + _AHEAD


def plan(work: Workload[PlanarStencil], *, levels: int | None = None) -> SkewedPlan:
    """Choose the levels.

    Args:
        work: What is stepped; a row and its successors must fit on chip.
        levels: Time steps a pass; as many as fit, up to 16, if None. As many as the run has is time skewing without
            time tiling, which only short runs allow.

    Raises:
        Unsuitable: Rows are too long for two levels, or for `levels`.
    """
    stencil, columns, size, limits = work.stencil, work.columns, work.size, work.limits
    if levels is not None and not 1 <= levels <= _MOST_WARPS:
        raise Unsuitable(f"skewed: levels = {levels} do not fit in a block (allowed: 1 to {_MOST_WARPS})")
    row = row_numbers(columns)
    slot = (stencil.planes + stencil.coefficients) * row * size
    for count in range(_MOST_LEVELS, 1, -1) if levels is None else (levels,):
        need = slots(stencil, count) * slot
        if need <= limits.shared_bytes:
            stepped = columns - stencil.idle
            group = max(1, min(_MOST_WARPS // count, -(-stepped // 128)))
            return SkewedPlan(levels=count, group=group, columns=stepped, row=row, shared_bytes=need)
    count = 2 if levels is None else levels
    most = limits.shared_bytes // (slots(stencil, count) * (stencil.planes + stencil.coefficients) * size)
    raise Unsuitable(
        f"skewed: rows of {columns} cells are too long for {count} time levels of {stencil.name} on chip "
        f"(allowed here: up to {most // 4 * 4 - 8}); use trapezoidal"
    )


@dataclass(frozen=True, kw_only=True)
class StreamedPlan:
    """Strips and chunks of a lattice, one a warp.

    Attributes:
        levels: Time steps a launch.
        cells: A lane.
        burst: Rows loaded together.
        chunk: Rows that a warp writes.
        blocks_wanted: On a multiprocessor.
        blocks: A problem.
    """

    levels: int
    cells: int
    burst: int
    chunk: int
    blocks_wanted: int
    blocks: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * _STREAM_WARPS

    @property
    def macros(self) -> dict[str, str | int]:
        """Settings of the kernel text."""
        return {
            "LEVELS": self.levels, "CELLS": self.cells, "BURST": self.burst, "CHUNK": self.chunk,
            "WARPS": _STREAM_WARPS, "BLOCKS": self.blocks_wanted,
        }  # fmt: skip


def strip_columns(levels: int, cells: int) -> int:
    """Columns that a warp writes: its lanes but those that the levels use up at both sides."""
    return (32 - 2 * -(-levels // cells)) * cells


def plan_streamed(
    work: Workload[PlanarStencil],
    *,
    levels: int | None = None,
    cells: int = 4,
    burst: int = 4,
    blocks_wanted: int | None = None,
    chunk: int | None = None,
) -> StreamedPlan:
    """Cut a lattice so that no multiprocessor idles, nor much work is done twice.

    Args:
        work: What is stepped; its stencil has one plane a cell, and no coefficients.
        levels: Time steps a launch; 8, or 4 in double precision, if None.
        cells: A lane, whole vectors of 16 bytes.
        burst: Rows loaded together.
        blocks_wanted: On a multiprocessor; as many as the levels' registers allow if None.
        chunk: Rows that a warp writes; four to eight times the levels, the most with which no multiprocessor idles, if
            None.

    Raises:
        Unsuitable: A cell has more state than registers can hold for several levels.
    """
    stencil, rows, size, limits = work.stencil, work.rows, work.size, work.limits
    if stencil.kept > 1 or stencil.coefficients:
        raise Unsuitable(f"streamed rows: {stencil.name} has more state a cell than registers hold; use skewed")
    levels = levels if levels is not None else 32 // size
    strip = strip_columns(levels, cells)
    if strip <= 0:
        raise Unsuitable(
            f"streamed rows: levels = {levels} use up the whole strip of 32 lanes of {cells} cells "
            f"(allowed: below {16 * cells})"
        )
    # Two rows a level, two bursts, and what addresses and sums in hand take.
    registers = ((2 * levels + 2 * burst) * cells + 8) * size // 4 + 24
    blocks_wanted = blocks_wanted or max(1, min(8, limits.registers // (32 * _STREAM_WARPS * min(255, registers))))
    strips = -(-work.columns // strip)
    if chunk is None:
        at_once = limits.multiprocessors * blocks_wanted * _STREAM_WARPS
        chunks = max(1, at_once // (strips * work.batch))
        chunk = min(max(-(-rows // chunks), _LEAST_CHUNK * levels), _MOST_CHUNK * levels)
    return StreamedPlan(
        levels=levels,
        cells=cells,
        burst=burst,
        chunk=chunk,
        blocks_wanted=blocks_wanted,
        blocks=-(-strips * -(-rows // chunk) // _STREAM_WARPS),
    )
