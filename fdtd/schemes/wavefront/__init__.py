"""Time skewing for populations: one block per antenna, one warp per time level, rows streamed along z."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes import Workload
from fdtd.stencils import Stencil

_LANES = 32
_RING = 4  # rows on their way from memory, of a block alone
_CELLS = {4: (4, 8, 12), 8: (2, 4, 6)}  # cells a lane that registers can hold, by bytes of a number
_MOST = {16: 12, 32: 9, 48: 6}  # levels of a block alone, by bytes of a lane's cells of one component
# Blocks of a multiprocessor, levels, and seconds that a row takes on an H200, likewise.
_SHAPES = {16: ((1, 12, 1.5e-6),), 32: ((1, 9, 1.4e-6),), 48: ((1, 6, 2.3e-6),)}
_REGISTERS = {16: 128, 32: 168, 48: 248}  # that a lane needs, likewise: spilled ones find no first-level cache
_NUMBERED = 16  # bytes of a lane's cells of one component where media can be numbers of pairs
_NUMBER_BYTES = 24  # of a lane's numbers of a row
_ROUNDED = 4  # warps of a block, in whole multiples of which registers are handed out
_RESERVED = 1024  # bytes of shared memory that each block of a multiprocessor takes for itself


@dataclass(frozen=True, kw_only=True)
class WavefrontPlan:
    """Stream of an antenna through one block.

    Attributes:
        cells: Columns a lane.
        levels: Time steps a pass, one warp each.
        blocks: Of a multiprocessor, side by side.
        ring: Rows on their way from memory.
        radial_columns: Columns of the radial layer, in warps of their own.
        radial_warps: Those warps; one of them records.
        staged_rows: Rows whose media are kept in shared memory.
        staged_lanes: Lanes of which they are, from the one with the axis on.
        wide: Whether some row holds more than air beyond them.
        coupled: Whether some nodes couple e_r and e_z.
        numbered: Whether media are staged as numbers of pairs of coefficients, 16 bits a cell and component.
        first_cut_lane: First lane with cut faces.
        cut_lanes: Lanes from there on whose cut faces are kept there, 0 if they do not fit.
        taps: Samples that can be under way at a time.
        lead: Zero columns before the axis: the last main column is the last lane's last cell.
        pitch: Stored columns.
        shared_bytes: Of a block.
        size: Bytes of a number.
    """

    cells: int
    levels: int
    blocks: int
    ring: int
    radial_columns: int
    radial_warps: int
    staged_rows: int
    staged_lanes: int
    wide: bool
    coupled: bool
    numbered: bool
    first_cut_lane: int
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
            "RING": self.ring,
            "STAGED_ROWS": self.staged_rows,
            "FIRST_LANE": self.lead // self.cells,
            "AXIS_CELL": self.lead % self.cells,
            "STAGED_LANES": self.staged_lanes,
            "WIDE": int(self.wide),
            "COUPLED": int(self.coupled),
            "NUMBERED": int(self.numbered),
            "FIRST_CUT_LANE": self.first_cut_lane,
            "CUT_LANES": self.cut_lanes,
            "ROW_PITCH": self.pitch,
            "RADIAL_PITCH": max(4, -(-self.radial_columns // 4) * 4),
            "RADIAL_COLUMNS": self.radial_columns,
            "RADIAL_WARPS": self.radial_warps,
            "RADIAL_LEVELS": int(self.radial_columns > 0),  # of a radial lane
            "REAL_BYTES": self.size,
        }


@dataclass(frozen=True, kw_only=True)
class Filled:
    """Columns of a batch's lattices that hold more than air.

    Attributes:
        reach: Those from the axis to the last that does; all if None.
        cuts: First and end of those with cut faces; all if None.
        coupled: Whether some nodes couple e_r and e_z.
    """

    reach: int | None = None
    cuts: tuple[int, int] | None = None
    coupled: bool = True


def plan(
    work: Workload[Stencil],
    filled: Filled = Filled(),
    *,
    cells: int | None = None,
    levels: int | None = None,
    blocks: int | None = None,
    numbered: bool | None = None,
) -> WavefrontPlan:
    """Choose time levels and blocks that registers, shared memory and the lattice's height allow.

    Args:
        work: What is stepped.
        filled: Where its media are more than air.
        cells: Columns a lane; chosen if None.
        levels: Time steps a pass; chosen if None.
        blocks: Of a multiprocessor; chosen if None.
        numbered: Whether media are staged as numbers; chosen if None.

    Raises:
        Unsuitable: The rows are wider than a warp's registers, the layer wider than a warp, or the lattice too low.
    """
    size, main = work.size, work.main
    widths = [each for each in ((cells,) if cells else _CELLS[size]) if main <= _LANES * each]
    if not widths:
        raise Unsuitable(
            f"wavefront holds rows of at most {_LANES * (cells or max(_CELLS[size]))} columns (of {size} bytes) before "
            f"the radial layer, and the grid has {main}; use {'one_step' if work.coupled else 'trapezoidal'}"
        )
    if work.layer > _LANES:
        raise Unsuitable(f"wavefront holds radial layers of at most {_LANES} columns, and this one has {work.layer}")
    shape = blocks or 1, levels
    if not (blocks or levels):
        shape = _shape(work, widths[0])
    for depth in (shape[1],) if shape[1] else range(_MOST[size * widths[0]], 0, -1):
        made = _fitted(work, filled, widths[0], depth, shape[0], numbered)
        if made:
            return made
    raise Unsuitable(
        f"wavefront finds no room on a grid of {work.rows} rows with {work.limits.shared_bytes} bytes of shared memory "
        "a block; use one_step"
    )


def _shape(work: Workload[Stencil], cells: int) -> tuple[int, int | None]:
    """Return the blocks and levels of the best pace that hold media in all columns, whatever a batch has there.

    Without any of these it is one block of as many levels as fit.
    """
    best: tuple[float, int, int | None] = (0.0, 1, None)
    for blocks, levels, seconds in _SHAPES[cells * work.size]:
        made = _fitted(work, Filled(cuts=(0, 0)), cells, levels, blocks, None)
        if made and not (blocks > 1 and made.wide):
            best = max(best, (blocks * levels / seconds, blocks, levels))
    return best[1:]


def _fitted(
    work: Workload[Stencil], filled: Filled, cells: int, levels: int, blocks: int,
    numbered: bool | None,
) -> WavefrontPlan | None:  # fmt: skip
    """Return blocks of that many levels with media of these columns, or None where they do not fit."""
    nz, layer, size, limits = work.rows, work.layer, work.size, work.limits
    radial = -(-levels // (_LANES // max(layer, 1)))
    warps = -(-(levels + radial) // _ROUNDED) * _ROUNDED * blocks
    registers = limits.registers // (_LANES * warps) // 8 * 8
    if registers < _REGISTERS[cells * size] or levels < radial or lag(levels - 1) + _RING + 4 > nz:
        return None
    ring = _RING if blocks == 1 else _RING - 1
    taps = 1 << (-(-levels // work.record_every) - 1).bit_length()
    links = 4 * levels if blocks == 1 else lag(levels - 1) + 2
    shared = _shared_bytes(work, cells, levels, 2 * (levels - 1) + ring + 2 * taps, links) + 16 * taps
    free = (limits.shared_bytes + _RESERVED) // blocks // 128 * 128 - _RESERVED - shared
    if free < 0:
        return None
    lead = _LANES * cells - work.main
    staged_rows = lag(levels - 1) + ring + 2
    staged_rows += staged_rows % 2
    lane_bytes = staged_rows * cells * size  # of one plane
    first_lane = lead // cells
    lanes = (_LANES if filled.reach is None else -(-(lead + filled.reach) // cells)) - first_lane
    first, end = (0, work.main) if filled.cuts is None else filled.cuts
    first_cut = (lead + first) // cells
    wanted = min(-(-(lead + end) // cells), _LANES) - first_cut if end else 0
    cut = wanted if 3 * wanted * lane_bytes <= free // 3 else 0
    staged = min((free - 3 * cut * lane_bytes) // (6 * lane_bytes), lanes)
    as_numbers = 4 * (nz + 1) + _NUMBER_BYTES * staged_rows * lanes
    if size * cells == _NUMBERED and size == 4 and numbered is not False and (numbered or staged < lanes):
        numbered, staged = as_numbers <= free, lanes if as_numbers <= free else staged
    else:
        numbered = False
    if numbered:
        cut = wanted if as_numbers + 3 * wanted * lane_bytes <= free else 0
    elif staged:  # all that fit: batches of narrower antennas have the same text
        staged = min((free - 3 * cut * lane_bytes) // (6 * lane_bytes), _LANES - first_lane)
    media = as_numbers if numbered else 6 * staged * lane_bytes
    return WavefrontPlan(
        cells=cells,
        levels=levels,
        blocks=blocks,
        ring=ring,
        radial_columns=layer,
        radial_warps=radial,
        taps=taps,
        staged_rows=staged_rows,
        staged_lanes=staged,
        wide=staged < lanes,
        first_cut_lane=first_cut,
        cut_lanes=cut,
        coupled=filled.coupled,
        numbered=numbered,
        lead=lead,
        pitch=_LANES * cells + max(4, -(-layer // 4) * 4),
        shared_bytes=shared + media + 3 * cut * lane_bytes,
        size=size,
    )


def lag(level: int) -> int:
    """Rows that a time level is behind the first: 2 from even to odd, 4 from odd to even levels."""
    return 3 * level - level % 2


def _shared_bytes(work: Workload[Stencil], cells: int, levels: int, rows: int, links: int) -> int:
    """Rows, `links` of the chain, edges, inlet, row words and the layers' table of the kernel's `Shared`."""
    layer, size = work.layer, work.size
    width = min(cells, 16 // size)
    run = -(-layer // width) * width
    chain, inlet = (14 * run + width, 14 * run + 2 * width) if layer else (0, 0)
    axial = sum(stop - start for start, stop, _ in work.axial)
    numbers = rows * 6 * cells * _LANES + links * chain + 4 * levels + 8 * inlet + 6 * max(axial, 1)
    return numbers * size + 8 * (work.rows + 1)
