"""Time skewing with time tiling on planar lattices: how many time levels a block can carry."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes.limits import Limits
from fdtd.schemes.planar_rows import row_numbers
from fdtd.stencils.planar import PlanarStencil

_MOST_LEVELS = 16  # chosen; told, as many as a block has warps
_MOST_WARPS = 32
_AHEAD = 3  # rows on their way from memory


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
        """Of the block."""
        return 32 * self.group * self.levels

    @property
    def macros(self) -> dict[str, str | int]:
        """Settings of the kernel text."""
        return {"LEVELS": self.levels, "GROUP": self.group, "COLUMNS": self.columns, "ROW": self.row}


def slots(stencil: PlanarStencil, levels: int) -> int:
    """Rows on chip: the levels' own, those that their neighbours read, those on their way."""
    return (2 + stencil.back) * (levels - 1) + stencil.back + 2 + _AHEAD


def plan(
    stencil: PlanarStencil, rows: int, columns: int, *, size: int, limits: Limits, levels: int | None = None
) -> SkewedPlan:
    """Choose the levels.

    Args:
        stencil: What is stepped.
        rows: Of the lattice.
        columns: Of the lattice; a row and its successors must fit on chip.
        size: Bytes of a number.
        limits: Of the device.
        levels: Time steps a pass; as many as fit, up to 16, if None. As many as the run has is time skewing without
            time tiling, which only short runs allow.

    Raises:
        Unsuitable: Rows are too long for two levels, or for so many.
    """
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
