"""Contents of a block of patches and strips (`march.cuh`): the same for tiles and for antennas that stay on chip."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fdtd.errors import Unsuitable

_LANES = 32
SIDE = 4  # lanes whose coefficients and axial memories lie together
MOST_STRIP_ROWS = {4: 6, 8: 4}
"""Rows of the radial layer that a lane's registers can hold, by bytes of a number."""


@dataclass(frozen=True, kw_only=True)
class MarchPlan:
    """Warps of a block.

    Attributes:
        cells: Columns a lane of a patch.
        rows: Rows a lane of a patch.
        warps: Patches, one above the other.
        radial_columns: Of the radial layer.
        radial_warps: Strips of it, one above the other.
        strip_rows: Rows a lane of a strip.
        size: Bytes of a number.
    """

    cells: int
    rows: int
    warps: int
    radial_columns: int
    radial_warps: int
    strip_rows: int
    size: int

    @property
    def wide(self) -> int:
        """Columns of the patches."""
        return _LANES * self.cells

    @property
    def height(self) -> int:
        """Rows of the block."""
        return self.warps * self.rows

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return _LANES * (self.warps + self.radial_warps)

    @property
    def shared_bytes(self) -> int:
        """For signals, and for rows and columns on their way between warps."""
        signals = -(-8 * 3 * (self.warps + self.radial_warps) // 16) * 16
        numbers = self.warps * 4 * self.wide + self.radial_warps * 4 * self.radial_columns
        numbers += 4 * self.height if self.radial_warps else 0
        return -(-(signals + numbers * self.size) // 128) * 128

    @property
    def air_bytes(self) -> int:
        """For nine planes of air's coefficients, in fours of lanes that avoid each other's banks."""
        piece = math.gcd(self.cells, 16 // self.size)
        return _LANES // SIDE * (9 * self.cells // piece * SIDE | 4) * piece * self.size

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return {
            "CELLS": self.cells,
            "ROWS": self.rows,
            "WARPS": self.warps,
            "RADIAL_COLUMNS": self.radial_columns,
            "RADIAL_WARPS": self.radial_warps,
            "STRIP_ROWS": self.strip_rows,
            "REAL_BYTES": self.size,
        }


@dataclass(frozen=True, kw_only=True)
class MarchedPlan:
    """Rows of an antenna in the registers of a cluster of blocks.

    Attributes:
        march: What a block holds.
        cluster: Blocks, one above the other.
        lead: Zero columns before the axis: the last main column is the last lane's last cell.
        pitch: Stored columns.
        shared_bytes: Of a block; what the rest leaves is for coefficients of media.
    """

    march: MarchPlan
    cluster: int
    lead: int
    pitch: int
    shared_bytes: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.march.threads

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return self.march.macros | {"CLUSTER": self.cluster, "SHARED_BYTES": self.shared_bytes}


def strips(
    *, cells: int, rows: int, warps: int, layer: int, size: int, most: int = 4, strip_rows: int | None = None
) -> MarchPlan:
    """Put strips of the radial layer beside patches, in at most `most` warps.

    Whole strips end where the block ends and where patches end, so that a patch has to do with one strip only. A row
    takes fourteen numbers of a lane, and more rows than registers hold cost far more than a warp.

    Args:
        cells: Columns a lane of a patch.
        rows: Rows a lane of a patch.
        warps: Patches.
        layer: Columns of the radial layer.
        size: Bytes of a number.
        most: Warps for strips.
        strip_rows: Most rows a lane of a strip; what registers hold if None.

    Raises:
        Unsuitable: The layer is wider than a warp, or needs more warps or registers.
    """
    if layer > _LANES:
        raise Unsuitable(f"strips hold radial layers of at most {_LANES} columns, and this one has {layer}")
    height, taken, radial_warps = warps * rows, 0, 0
    if layer:
        groups = _LANES // layer
        for taken in range(1, min(height, strip_rows or MOST_STRIP_ROWS[size]) + 1):
            radial_warps = -(-height // (groups * taken))
            if height % taken == 0 and groups * taken % rows == 0 and radial_warps <= most:
                break
        else:
            raise Unsuitable(
                f"strips of a radial layer of {layer} columns do not fit beside {warps} patches of {rows} rows"
            )
    return MarchPlan(
        cells=cells,
        rows=rows,
        warps=warps,
        radial_columns=layer,
        radial_warps=radial_warps,
        strip_rows=taken,
        size=size,
    )
