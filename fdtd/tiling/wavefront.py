"""Time skewing for populations: one block an antenna, one warp two time levels, rows streamed along z."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.stencils import Stencil
from fdtd.tiling.limits import Limits

LEVELS_A_WARP = 2
_LANES = 32
_VECTOR = 16  # bytes that a lane moves at once
_AHEAD = 3  # rows; 2^n - 1
_CELLS = {4: (8, 4), 8: (4, 2)}  # cells a lane that fit the registers, by bytes of a number
_WARPS = {0: 12, 1: 8}  # warps of a block, by place in `_CELLS`: fewer cells need fewer registers


@dataclass(frozen=True, kw_only=True)
class WavefrontPlan:
    """How an antenna streams through one block.

    Attributes:
        cells: Columns a lane.
        warps: Main warps; each takes two time levels.
        radial_columns: Columns of the radial layer, in warps of their own.
        radial_warps: Those warps.
        radial_levels: Time levels a lane of theirs.
        ahead: Rows asked for ahead of time.
        taps: Samples that can be under way at a time.
        lead: Zero columns before the axis: the last main column is the last lane's last cell.
        pitch: Stored columns.
        shared_bytes: Of a block.
        size: Bytes of a number.
    """

    cells: int
    warps: int
    radial_columns: int
    radial_warps: int
    radial_levels: int
    ahead: int
    taps: int
    lead: int
    pitch: int
    shared_bytes: int
    size: int

    @property
    def levels(self) -> int:
        """Time steps a pass."""
        return LEVELS_A_WARP * self.warps

    @property
    def threads(self) -> int:
        """Of a block."""
        return _LANES * (self.warps + self.radial_warps)

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return {
            "CELLS": self.cells,
            "WARPS": self.warps,
            "AHEAD": self.ahead,
            "TAPS": self.taps,
            "RADIAL_COLUMNS": self.radial_columns,
            "RADIAL_WARPS": self.radial_warps,
            "RADIAL_LEVELS": self.radial_levels,
            "REAL_BYTES": self.size,
        }


def plan(
    stencil: Stencil,
    nr: int,
    nz: int,
    *,
    layer: int,
    record_every: int,
    size: int,
    limits: Limits,
    warps: int | None = None,
    radial_warps: int | None = None,
) -> WavefrontPlan:
    """The most time levels that registers, shared memory and the lattice's height allow.

    Args:
        stencil: What is stepped.
        nr: Columns.
        nz: Rows.
        layer: Columns of the radial layer.
        record_every: Steps between samples.
        size: Bytes of a number.
        limits: Of the device.
        warps: Main warps; chosen if None.
        radial_warps: Chosen if None.

    Raises:
        Unsuitable: The rows are wider than a warp's registers, the layer wider than a warp, or the lattice too low.
    """
    if stencil.name != "bor":
        raise Unsuitable(f"wavefront has no kernel for {stencil.name}")
    fitting = [(place, cells) for place, cells in enumerate(reversed(_CELLS[size])) if nr - layer <= _LANES * cells]
    if not fitting:
        raise Unsuitable(
            f"wavefront holds rows of at most {_LANES * max(_CELLS[size])} columns (of {size} bytes) before the radial "
            f"layer, and the grid has {nr - layer}; use one_step or trapezoidal"
        )
    place, cells = fitting[0]
    if layer > _LANES:
        raise Unsuitable(f"wavefront holds radial layers of at most {_LANES} columns, and this one has {layer}")
    groups = _LANES // layer if layer else 0
    total = _WARPS[place]
    choices = [warps] if warps else range(total - 1, 0, -1)
    for main in choices:
        levels = LEVELS_A_WARP * main
        radial = radial_warps or max(1, total - main)
        deep = -(-levels // (groups * radial)) if layer else 0
        taps = 1 << (-(-levels // record_every) - 1).bit_length()
        shared = _shared_bytes(cells, main, taps, layer * groups * radial, size, nz)
        low = 2 * (levels - 1) + _AHEAD + 1 > nz
        if warps is None and (main + radial > total or deep > 5):
            continue
        if not low and shared <= limits.shared_bytes:
            return WavefrontPlan(
                cells=cells,
                warps=main,
                radial_columns=layer,
                radial_warps=radial,
                radial_levels=deep,
                ahead=_AHEAD,
                taps=taps,
                lead=_LANES * cells - (nr - layer),
                pitch=_LANES * cells + max(4, -(-layer // 4) * 4),
                shared_bytes=shared,
                size=size,
            )
    raise Unsuitable(
        f"wavefront finds no room for two time levels on a grid of {nz} rows with {limits.shared_bytes} bytes of "
        "shared memory a block; use one_step"
    )


def _shared_bytes(cells: int, warps: int, taps: int, chain: int, size: int, nz: int) -> int:
    """Links, ring, taps, edges, chain, posts and row words of the kernel's `Shared`."""
    rows = 2 * (warps - 1) + _AHEAD + 1 + 2 * taps
    levels = LEVELS_A_WARP * warps
    return rows * 6 * cells * _LANES * size + (8 * levels + 28 * chain) * size + 16 * taps + 4 * (nz + 1)
