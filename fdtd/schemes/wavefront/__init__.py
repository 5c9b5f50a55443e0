"""Time skewing for populations: one block an antenna, one warp a time level, rows streamed along z."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes import Workload
from fdtd.stencils import Stencil

_LANES = 32
_RING = 4  # rows on their way from memory
_CELLS = {4: (4, 8, 12), 8: (2, 4, 6)}  # cells a lane that registers can hold, by bytes of a number
_WARPS = (16, 12, 8)  # warps of a block that leave each of them registers enough


@dataclass(frozen=True, kw_only=True)
class WavefrontPlan:
    """Stream of an antenna through one block.

    Attributes:
        cells: Columns a lane.
        levels: Time steps a pass, one warp each.
        radial_columns: Columns of the radial layer, in warps of their own.
        radial_warps: Those warps; one of them records.
        staged_rows: Rows whose media are kept in shared memory, 2^n.
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
) -> WavefrontPlan:
    """Choose the most time levels that registers, shared memory and the lattice's height allow.

    Args:
        work: What is stepped.
        reach: Columns, from the axis, that hold anything but air somewhere; all if None.
        cut_reach: Columns, from the axis, that hold cut faces somewhere; all if None.
        coupled: Whether some nodes couple e_r and e_z.

    Raises:
        Unsuitable: The rows are wider than a warp's registers, the layer wider than a warp, or the lattice too low.
    """
    nz, layer, size, limits, main = work.rows, work.layer, work.size, work.limits, work.main
    axial = sum(stop - start for start, stop, _ in work.axial)
    fitting = [place for place, cells in enumerate(_CELLS[size]) if main <= _LANES * cells]
    if not fitting:
        raise Unsuitable(
            f"wavefront holds rows of at most {_LANES * max(_CELLS[size])} columns (of {size} bytes) before the radial "
            f"layer, and the grid has {main}; use one_step"
        )
    if layer > _LANES:
        raise Unsuitable(f"wavefront holds radial layers of at most {_LANES} columns, and this one has {layer}")
    cells, total = _CELLS[size][fitting[0]], _WARPS[fitting[0]]
    groups = _LANES // max(layer, 1)
    for depth in range(total - 1, 0, -1):
        radial = -(-depth // groups)
        taps = 1 << (-(-depth // work.record_every) - 1).bit_length()
        shared = _shared_bytes(cells, depth, taps, layer, size, nz) + 6 * size * max(axial, 1)
        fits = depth + radial <= total and 4 * radial <= depth + radial and lag(depth - 1) + _RING + 4 <= nz
        if fits and shared <= limits.shared_bytes:
            lead = _LANES * cells - main
            staged_rows = 1 << (lag(depth - 1) + _RING + 1).bit_length()
            lane_bytes = staged_rows * cells * size  # of one plane
            free = limits.shared_bytes - shared
            filled = (_LANES if reach is None else -(-(lead + reach) // cells)) - lead // cells
            cut = (_LANES if cut_reach is None else -(-(lead + cut_reach) // cells)) - lead // cells
            cut = cut if cut_reach != 0 and 3 * cut * lane_bytes <= free // 3 else 0
            staged = min((free - 3 * cut * lane_bytes) // (6 * lane_bytes), filled)
            return WavefrontPlan(
                cells=cells,
                levels=depth,
                radial_columns=layer,
                radial_warps=radial,
                taps=taps,
                staged_rows=staged_rows,
                staged_lanes=staged,
                wide=staged < filled,
                cut_lanes=cut,
                coupled=coupled,
                lead=lead,
                pitch=_LANES * cells + max(4, -(-layer // 4) * 4),
                shared_bytes=shared + (6 * staged + 3 * cut) * lane_bytes,
                size=size,
            )
    raise Unsuitable(
        f"wavefront finds no room on a grid of {nz} rows with {limits.shared_bytes} bytes of shared memory a block; "
        "use one_step"
    )


def lag(level: int) -> int:
    """Rows that a time level is behind the first: 2 from even to odd, 4 from odd to even levels."""
    return 3 * level - level % 2


def _shared_bytes(cells: int, levels: int, taps: int, layer: int, size: int, nz: int) -> int:
    """Links, ring, taps, edges, chain, inlet, posts and row words of the kernel's `Shared`."""
    rows = 2 * (levels - 1) + _RING + 2 * taps
    width = 16 // size
    run = -(-layer // width) * width
    chain, inlet = (14 * run + width, 14 * run + 2 * width) if layer else (0, 0)
    numbers = rows * 6 * cells * _LANES + 4 * (chain + 1) * levels + 8 * inlet
    return numbers * size + 16 * taps + 8 * (nz + 1)
