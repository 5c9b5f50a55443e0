"""Time skewing for populations: one block an antenna, one warp a time level, rows streamed along z."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fdtd.errors import Unsuitable
from fdtd.schemes import Workload
from fdtd.stencils import Stencil

_LANES = 32
_RING = 4  # rows on their way from memory
_CELLS = {4: (4, 8, 12), 8: (2, 4, 6)}  # cells a lane that registers can hold, by bytes of a number
_LEVELS = {8: 12, 16: 12, 32: 9, 48: 6}  # most of a plan's own choice, by bytes of a lane's cells of one component
_REGISTERS = {8: 56, 16: 80, 32: 128, 48: 248}  # that a lane needs at least
_KEPT = {8: 80, 16: 112, 32: 160, 48: 248}  # from which on the factors of its columns have a place there
_ROUNDED = 4  # warps of a block, in whole multiples of which registers are handed out
_RESERVED = 1024  # bytes of shared memory that each block of a multiprocessor takes for itself


@dataclass(frozen=True, kw_only=True)
class WavefrontPlan:
    """Stream of an antenna through one block.

    Attributes:
        cells: Columns a lane.
        levels: Time steps a pass, one warp each.
        blocks: Of a multiprocessor, side by side.
        kept: Whether registers keep the factors of a lane's columns; if not, shared memory does.
        radial_columns: Columns of the radial layer, in warps of their own.
        radial_warps: Those warps; one of them records.
        staged_rows: Rows whose media are kept in shared memory.
        staged_lanes: Lanes of which they are, from the one with the axis on.
        wide: Whether some row holds more than air beyond them.
        coupled: Whether some nodes couple e_r and e_z.
        cut_lanes: Lanes whose cut faces are kept there, 0 if they do not fit.
        taps: Samples that can be under way at a time.
        lead: Zero columns before the axis: the last main column is the last lane's last cell.
        pitch: Stored columns.
        shared_bytes: Of a block.
        size: Bytes of a number.
    """

    cells: int
    levels: int
    blocks: int
    kept: bool
    radial_columns: int
    radial_warps: int
    staged_rows: int
    staged_lanes: int
    wide: bool
    coupled: bool
    cut_lanes: int
    taps: int
    lead: int
    pitch: int
    shared_bytes: int
    size: int

    def iterations(self, nz: int, steps: int) -> int:
        """Rows that the first level meets, and the last one after it, for that many steps; an even number."""
        rounds = -(-steps // self.levels)
        return (rounds * (nz + 1) + lag(self.levels - 1) + 2) // 2 * 2

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _LANES * (self.levels + self.radial_warps)

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return {
            "CELLS": self.cells,
            "LEVELS": self.levels,
            "TAPS": self.taps,
            "BLOCKS": self.blocks,
            "KEPT": int(self.kept),
            "STAGED_ROWS": self.staged_rows,
            "FIRST_LANE": self.lead // self.cells,
            "STAGED_LANES": self.staged_lanes,
            "WIDE": int(self.wide),
            "COUPLED": int(self.coupled),
            "CUT_LANES": self.cut_lanes,
            "ROW_PITCH": self.pitch,
            "RADIAL_PITCH": max(4, -(-self.radial_columns // 4) * 4),
            "RADIAL_COLUMNS": self.radial_columns,
            "RADIAL_WARPS": self.radial_warps,
            "RADIAL_LEVELS": int(self.radial_columns > 0),  # of a radial lane
            "REAL_BYTES": self.size,
        }


def plan(
    work: Workload[Stencil],
    *,
    reach: int | None = None,
    cut_reach: int | None = None,
    coupled: bool = True,
    cells: int | None = None,
    levels: int | None = None,
    blocks: int | None = None,
    kept: bool | None = None,
) -> WavefrontPlan:
    """Choose time levels and blocks that registers, shared memory and the lattice's height allow.

    Args:
        work: What is stepped.
        reach: Columns, from the axis, that hold anything but air somewhere; all if None.
        cut_reach: Columns, from the axis, that hold cut faces somewhere; all if None.
        coupled: Whether some nodes couple e_r and e_z.
        cells: Columns a lane; chosen if None.
        levels: Time steps a pass; chosen if None.
        blocks: Of a multiprocessor; chosen if None.
        kept: Whether registers keep the factors of columns; chosen if None.

    Raises:
        Unsuitable: The rows are wider than a warp's registers, the layer wider than a warp, or the lattice too low.
    """
    size, main = work.size, work.main
    widths = [each for each in ((cells,) if cells else _CELLS[size]) if main <= _LANES * each]
    if not widths:
        raise Unsuitable(
            f"wavefront holds rows of at most {_LANES * (cells or max(_CELLS[size]))} columns (of {size} bytes) before "
            f"the radial layer, and the grid has {main}; use one_step"
        )
    if work.layer > _LANES:
        raise Unsuitable(f"wavefront holds radial layers of at most {_LANES} columns, and this one has {work.layer}")
    most = _LEVELS[size * widths[0]]
    for depth in (levels,) if levels else range(most, 0, -1):
        made = _fitted(work, widths[0], depth, blocks or 1, (reach, cut_reach), kept)
        if made:
            return replace(made, coupled=coupled)
    raise Unsuitable(
        f"wavefront finds no room on a grid of {work.rows} rows with {work.limits.shared_bytes} bytes of shared memory "
        "a block; use one_step"
    )


def _fitted(
    work: Workload[Stencil], cells: int, levels: int, blocks: int, reaches: tuple[int | None, int | None],
    kept: bool | None,
) -> WavefrontPlan | None:  # fmt: skip
    """Return blocks of that many levels with media of these columns, or None where they do not fit."""
    nz, layer, size, limits = work.rows, work.layer, work.size, work.limits
    axial = sum(stop - start for start, stop, _ in work.axial)
    radial = -(-levels // (_LANES // max(layer, 1)))
    warps = -(-(levels + radial) // _ROUNDED) * _ROUNDED * blocks
    registers = limits.registers // (_LANES * warps) // 8 * 8
    if registers < _REGISTERS[cells * size] or levels < radial or lag(levels - 1) + _RING + 4 > nz:
        return None
    keeps = registers >= _KEPT[cells * size] if kept is None else kept
    taps = 1 << (-(-levels // work.record_every) - 1).bit_length()
    shared = _shared_bytes(cells, levels, taps, layer, size, nz) + 6 * size * max(axial, 1)
    shared += 0 if keeps else (3 * _LANES * cells + 22 * layer) * size
    free = (limits.shared_bytes + _RESERVED) // blocks // 128 * 128 - _RESERVED - shared
    if free < 0:
        return None
    lead = _LANES * cells - work.main
    staged_rows = lag(levels - 1) + _RING + 2
    lane_bytes = staged_rows * cells * size  # of one plane
    filled, cut = ((_LANES if each is None else -(-(lead + each) // cells)) - lead // cells for each in reaches)
    cut = cut if reaches[1] != 0 and 3 * cut * lane_bytes <= free // 3 else 0
    staged = min((free - 3 * cut * lane_bytes) // (6 * lane_bytes), filled)
    return WavefrontPlan(
        cells=cells,
        levels=levels,
        blocks=blocks,
        kept=keeps,
        radial_columns=layer,
        radial_warps=radial,
        taps=taps,
        staged_rows=staged_rows,
        staged_lanes=staged,
        wide=staged < filled,
        cut_lanes=cut,
        coupled=True,
        lead=lead,
        pitch=_LANES * cells + max(4, -(-layer // 4) * 4),
        shared_bytes=shared + (6 * staged + 3 * cut) * lane_bytes,
        size=size,
    )


def lag(level: int) -> int:
    """Rows that a time level is behind the first: 2 from even to odd, 4 from odd to even levels."""
    return 3 * level - level % 2


def _shared_bytes(cells: int, levels: int, taps: int, layer: int, size: int, nz: int) -> int:
    """Links, ring, taps, edges, chain, inlet, posts and row words of the kernel's `Shared`."""
    rows = 2 * (levels - 1) + _RING + 2 * taps
    width = min(cells, 16 // size)
    run = -(-layer // width) * width
    chain, inlet = (14 * run + width, 14 * run + 2 * width) if layer else (0, 0)
    numbers = rows * 6 * cells * _LANES + 4 * (chain + 1) * levels + 8 * inlet
    return numbers * size + 16 * taps + 8 * (nz + 1)
