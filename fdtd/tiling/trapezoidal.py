"""Redundant computation (approach 5 of the seed): tiles of whole rows in registers, several steps a trip to memory."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.stencils import Stencil
from fdtd.tiling.limits import Limits
from fdtd.tiling.march import MarchPlan, strips

_LANES = 32
_SHAPES = {
    4: ((4, 4), (8, 2)),
    8: ((2, 4), (4, 2)),
}  # cells and rows a lane that registers can hold, by bytes of a number
_WARPS = 12  # of a block, which leaves each of them 168 registers
_ARRIVALS = 128  # bytes
_STRIPS = 2  # of these, at most, for the radial layer


@dataclass(frozen=True, kw_only=True)
class TrapezoidalPlan:
    """How an antenna is cut into tiles.

    Attributes:
        march: What a block holds.
        depth: Steps a launch, at most; halo rows.
        tiles: Of an antenna.
        stride: Rows from one tile to the next.
        layered_rows: Of a tile in axial layers, at most; those of layers over a few columns count for less.
        lead: Zero columns before the axis: the last main column is the last lane's last cell.
        pitch: Stored columns.
        shared_bytes: Of a block, without the signals of arrivals.
    """

    march: MarchPlan
    depth: int
    tiles: int
    stride: int
    layered_rows: int
    lead: int
    pitch: int
    shared_bytes: int

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.march.threads

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return self.march.macros | {
            "DEPTH": self.depth,
            "TILES": self.tiles,
            "STRIDE": self.stride,
            "SHARED_BYTES": self.shared_bytes,
            "LAYERED_ROWS": self.layered_rows,
        }

    @property
    def least_bytes(self) -> int:
        """Shared memory of a block without coefficients of media and without the signals of arrivals."""
        march, row = self.march, self.march.wide * self.march.size
        tables = 9 * row + march.height * (16 + 4 * march.radial_columns) * march.size + 32 * march.height
        rows = 6 * march.height + 4 * self.layered_rows
        return march.shared_bytes + -(-tables // 128) * 128 + rows * row

    def launches(self, steps: int) -> list[int]:
        """Steps of each launch: an even number of launches, so that the result is where the start was."""
        count = 2 * max(1, -(-steps // (2 * self.depth)))
        return [steps * (n + 1) // count - steps * n // count for n in range(count)]


def plan(
    stencil: Stencil,
    nr: int,
    nz: int,
    *,
    layer: int,
    axial: tuple[tuple[int, int, int], ...],
    record_every: int,
    coupled: bool,
    size: int,
    limits: Limits,
    depth: int | None = None,
    warps: int | None = None,
    shape: tuple[int, int] | None = None,
) -> TrapezoidalPlan:
    """The least redundant tiles for the number of steps between samples.

    Args:
        stencil: What is stepped.
        nr: Columns.
        nz: Rows.
        layer: Columns of the radial layer.
        axial: Rows [start, stop) and columns of the axial layers.
        record_every: Steps between samples; launches end there.
        coupled: Whether nodes couple e_r and e_z.
        size: Bytes of a number.
        limits: Of the device.
        depth: Steps a launch; chosen if None.
        warps: Patches of a block, one above the other; chosen if None.
        shape: Cells and rows a lane; chosen if None.

    Raises:
        Unsuitable: Nodes are coupled, rows are too long, or a tile does not fit the device.
    """
    if stencil.name != "bor":
        raise Unsuitable(f"trapezoidal has no kernel for {stencil.name} here")
    if coupled:
        raise Unsuitable("trapezoidal does not step coupled nodes; use surfaces = 'diagonal', or wavefront")
    if depth is None:
        depth = -(-record_every // (2 * -(-record_every // 16)))
    main = nr - layer
    shapes = [shape] if shape else [each for each in _SHAPES[size] if main <= _LANES * each[0]]
    if not shapes or main > _LANES * shapes[0][0]:
        raise Unsuitable(
            f"trapezoidal holds rows of at most {_LANES * _SHAPES[size][-1][0]} columns (of {size} bytes) before the "
            f"radial layer, and the grid has {main}; use wavefront"
        )
    cells, rows = shapes[0]
    warps = warps or _WARPS - (_STRIPS if layer else 0)
    march = strips(cells=cells, rows=rows, warps=warps, layer=layer, size=size, most=_STRIPS)
    stride = march.height - 2 * depth
    if stride < 1:
        raise Unsuitable(f"a tile of {march.height} rows has nothing left after {depth} steps; lower the depth")
    tiles = 1 + max(0, -(-(nz - march.height) // stride))
    lead = march.wide - main
    made = TrapezoidalPlan(
        march=march,
        depth=depth,
        tiles=tiles,
        stride=stride,
        layered_rows=max(
            _layered(axial, lead, march, max(0, min(z * stride, nz - march.height))) for z in range(tiles)
        ),
        lead=lead,
        pitch=march.wide + max(4, -(-layer // 4) * 4),
        shared_bytes=limits.shared_bytes - _ARRIVALS,
    )
    if made.least_bytes > made.shared_bytes:
        raise Unsuitable(
            f"a tile of {march.height} x {march.wide} cells needs {made.least_bytes + _ARRIVALS} bytes of shared "
            f"memory (allowed here: {limits.shared_bytes}); use one_step"
        )
    return made


def _layered(axial: tuple[tuple[int, int, int], ...], lead: int, march: MarchPlan, origin: int) -> int:
    """Whole rows that the axial memories of a tile fill; they come in parts of eight lanes."""
    part = 8 * march.cells
    numbers = sum(
        max(0, min(stop, origin + march.height) - max(start, origin))
        * min(march.wide, -(-(lead + columns) // part) * part)
        for start, stop, columns in axial
    )
    return -(-numbers // march.wide)
