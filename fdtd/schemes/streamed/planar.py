"""Time skewing in registers: strips of columns, streamed row by row through several time levels by a warp each."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes.limits import Limits
from fdtd.stencils.planar import PlanarStencil

_WARPS = 4
# Rows a warp, in levels: below the first the overlap costs more than idle multiprocessors; above the second the last
# warps to end, those at the rim, leave too much idle.
_LEAST_CHUNK, _MOST_CHUNK = 4, 8


@dataclass(frozen=True, kw_only=True)
class StreamedPlan:
    """How a lattice is cut into strips and chunks, one a warp.

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
        """Of a block."""
        return 32 * _WARPS

    @property
    def macros(self) -> dict[str, str | int]:
        """Settings of the kernel text."""
        return {
            "LEVELS": self.levels, "CELLS": self.cells, "BURST": self.burst, "CHUNK": self.chunk, "WARPS": _WARPS,
            "BLOCKS": self.blocks_wanted,
        }  # fmt: skip


def strip_columns(levels: int, cells: int) -> int:
    """Columns that a warp writes: its lanes but those that the levels use up at both sides."""
    return (32 - 2 * -(-levels // cells)) * cells


def plan(
    stencil: PlanarStencil,
    rows: int,
    columns: int,
    *,
    batch: int,
    size: int,
    limits: Limits,
    levels: int | None = None,
    cells: int = 4,
    burst: int = 4,
    blocks_wanted: int | None = None,
    chunk: int | None = None,
) -> StreamedPlan:
    """Cut a lattice so that no multiprocessor idles, nor much work is done twice.

    Args:
        stencil: What is stepped; one plane a cell, no coefficients.
        rows: Of the lattice.
        columns: Of the lattice.
        batch: Problems.
        size: Bytes of a number.
        limits: Of the device.
        levels: Time steps a launch; 8, or 4 in double precision, if None.
        cells: A lane, whole vectors of 16 bytes.
        burst: Rows loaded together.
        blocks_wanted: On a multiprocessor; as many as the levels' registers allow if None.
        chunk: Rows that a warp writes; four to eight times the levels, the most with which no multiprocessor idles, if
            None.

    Raises:
        Unsuitable: A cell has more state than registers can hold for several levels.
    """
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
    blocks_wanted = blocks_wanted or max(1, min(8, limits.registers // (32 * _WARPS * min(255, registers))))
    strips = -(-columns // strip)
    if chunk is None:
        at_once = limits.multiprocessors * blocks_wanted * _WARPS
        chunks = max(1, at_once // (strips * batch))
        chunk = min(max(-(-rows // chunks), _LEAST_CHUNK * levels), _MOST_CHUNK * levels)
    return StreamedPlan(
        levels=levels,
        cells=cells,
        burst=burst,
        chunk=chunk,
        blocks_wanted=blocks_wanted,
        blocks=-(-strips * -(-rows // chunk) // _WARPS),
    )
