"""Redundant computation (approach 5 of the seed): tiles of whole rows in registers, several steps a trip to memory."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes.limits import Limits
from fdtd.schemes.march import SIDE, MarchPlan, strips
from fdtd.schemes.need import clusters_at_once
from fdtd.stencils import Stencil

_LANES = 32
_SHAPES = {
    4: ((4, 4), (8, 2)),
    8: ((2, 4), (4, 2)),
}  # cells and rows a lane that registers can hold, by bytes of a number
_WARPS = 12  # of a block, which leaves each of them 168 registers
_ARRIVALS = 128  # bytes
_CLUSTERS = (1, 2, 4)  # blocks a tile
_CLUSTERED = 90  # compute capability times ten


@dataclass(frozen=True, kw_only=True)
class TrapezoidalPlan:
    """How an antenna is cut into tiles.

    Attributes:
        march: What a block holds.
        cluster: Blocks of a tile, one above the other.
        depth: Steps a launch, at most; halo rows.
        tiles: Of an antenna.
        stride: Rows from one tile to the next.
        layered_rows: Of a block in axial layers, at most; those of layers over a few columns count for less.
        lead: Zero columns before the axis: the last main column is the last lane's last cell.
        pitch: Stored columns.
        shared_bytes: Of a block, without the signals of arrivals.
    """

    march: MarchPlan
    cluster: int
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
            "CLUSTER": self.cluster,
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
        tables = march.air_bytes + march.height * (16 + 4 * march.radial_columns) * march.size + 32 * march.height
        rows = 6 * march.height + 4 * self.layered_rows
        return march.shared_bytes + -(-tables // 128) * 128 + rows * row

    def useful(self, nz: int, limits: Limits) -> float:
        """Rows of the lattice over those that tiles hold, times the part of the device that has a tile."""
        busy = clusters_at_once(limits.multiprocessors, self.cluster) * self.cluster / limits.multiprocessors
        return busy * nz / (self.tiles * self.cluster * self.march.height)

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
    cluster: int | None = None,
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
        cluster: Blocks of a tile; chosen if None.
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
    if cluster and cluster > 1 and limits.capability < _CLUSTERED:
        raise Unsuitable("trapezoidal needs compute capability 9.0 for tiles of several blocks; use cluster = 1")
    made, reasons = [], []
    for blocks in (cluster,) if cluster else _CLUSTERS if limits.capability >= _CLUSTERED else _CLUSTERS[:1]:
        for patches in (warps,) if warps else range(_WARPS - (layer > 0), 0, -1):
            try:
                march = strips(
                    cells=shapes[0][0], rows=shapes[0][1], warps=patches, layer=layer, size=size,
                    most=max(_WARPS - patches, 1),
                )  # fmt: skip
                made.append(_tiled(march, blocks, nz, main, layer, axial, depth, limits))
                break
            except Unsuitable as error:
                reasons.append(str(error))
    if not made:
        raise Unsuitable(next((reason for reason in reasons if reason.startswith("a ")), reasons[0]))
    return max(made, key=lambda each: (each.useful(nz, limits), -each.cluster))


def _tiled(
    march: MarchPlan,
    cluster: int,
    nz: int,
    main: int,
    layer: int,
    axial: tuple[tuple[int, int, int], ...],
    depth: int,
    limits: Limits,
) -> TrapezoidalPlan:
    """Tiles of so many blocks."""
    height, lead = cluster * march.height, march.wide - main
    stride = height - 2 * depth
    if stride < 1:
        raise Unsuitable(f"a tile of {height} rows has nothing left after {depth} steps; lower the depth")
    tiles = 1 + max(0, -(-(nz - height) // stride))
    origins = [
        max(0, min(z * stride, nz - height)) + rank * march.height for z in range(tiles) for rank in range(cluster)
    ]
    made = TrapezoidalPlan(
        march=march,
        cluster=cluster,
        depth=depth,
        tiles=tiles,
        stride=stride,
        layered_rows=max(_layered(axial, lead, march, origin) for origin in origins),
        lead=lead,
        pitch=march.wide + max(4, -(-layer // 4) * 4),
        shared_bytes=limits.shared_bytes - _ARRIVALS,
    )
    if made.least_bytes > made.shared_bytes:
        raise Unsuitable(
            f"a block of {march.height} x {march.wide} cells needs {made.least_bytes + _ARRIVALS} bytes of shared "
            f"memory (allowed here: {limits.shared_bytes}); use one_step"
        )
    return made


def _layered(axial: tuple[tuple[int, int, int], ...], lead: int, march: MarchPlan, origin: int) -> int:
    """Whole rows that the axial memories of a block fill; they come in parts of four lanes from the axis on."""
    part = SIDE * march.cells
    numbers = sum(
        max(0, min(stop, origin + march.height) - max(start, origin))
        * (march.wide if lead + columns >= march.wide else (-(-(lead + columns) // part) - lead // part) * part)
        for start, stop, columns in axial
    )
    return -(-numbers // march.wide)
