"""Redundant computation (approach 5 of the seed): tiles of whole rows in registers, several steps a trip to memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes import Workload
from fdtd.schemes.machine import Limits, clusters_at_once
from fdtd.schemes.march import SIDE, MarchedPlan, MarchPlan, strips
from fdtd.stencils import PlanarStencil, Stencil

Box = tuple[int, int, int, int]
"""First row, first column, rows, columns."""

_LANES = 32
# Cells and rows a lane that registers can hold, by bytes of a number.
_SHAPES = {4: ((4, 4), (8, 2), (12, 1), (16, 1)), 8: ((2, 4), (4, 2), (6, 1), (8, 1))}
_WARPS = 12  # of a block, which leaves each of them 168 registers
_ARRIVALS = 128  # bytes
_CLUSTERS = (1, 2, 4)  # blocks a tile
_CLUSTERED = 90  # compute capability times ten
_PLANAR_WARPS = 16
_PER_MULTIPROCESSOR = 2  # blocks, so that one computes while the other loads
_RESERVED = 1024  # bytes of shared memory that a block takes for itself


@dataclass(frozen=True, kw_only=True)
class TrapezoidalPlan(MarchedPlan):
    """Tiles of an antenna, a cluster each; their shared memory is without the signals of arrivals.

    Attributes:
        depth: Steps a launch, at most; halo rows.
        tiles: Of an antenna.
        stride: Rows from one tile to the next.
        layered_rows: Of a block in axial layers, at most; those of layers over a few columns count for less.
    """

    depth: int
    tiles: int
    stride: int
    layered_rows: int

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return super().macros | {
            "DEPTH": self.depth, "TILES": self.tiles, "STRIDE": self.stride, "LAYERED_ROWS": self.layered_rows,
        }  # fmt: skip

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
    work: Workload[Stencil],
    *,
    depth: int | None = None,
    cluster: int | None = None,
    warps: int | None = None,
    shape: tuple[int, int] | None = None,
) -> TrapezoidalPlan:
    """Choose the least redundant tiles for the number of steps between samples, where launches end.

    Args:
        work: What is stepped.
        depth: Steps a launch; chosen if None.
        cluster: Blocks of a tile; chosen if None.
        warps: Patches of a block, one above the other; chosen if None.
        shape: Cells and rows a lane; chosen if None.

    Raises:
        Unsuitable: Nodes are coupled, rows are too long, or a tile does not fit the device.
    """
    limits, layer, size, main = work.limits, work.layer, work.size, work.main
    if work.coupled:
        raise Unsuitable("trapezoidal does not step coupled nodes; use surfaces = 'diagonal', or wavefront")
    if depth is None:
        depth = -(-work.record_every // (2 * -(-work.record_every // 16)))
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
                made.append(_tiled(work, march, blocks, depth))
                break
            except Unsuitable as error:
                reasons.append(str(error))
    if not made:
        raise Unsuitable(next((reason for reason in reasons if reason.startswith("a ")), reasons[0]))
    return max(made, key=lambda each: (each.useful(work.rows, limits), -each.cluster))


def _tiled(work: Workload[Stencil], march: MarchPlan, cluster: int, depth: int) -> TrapezoidalPlan:
    """Return tiles of `cluster` blocks."""
    nz, limits = work.rows, work.limits
    height, lead = cluster * march.height, march.wide - work.main
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
        layered_rows=max(_layered(work.axial, lead, march, origin) for origin in origins),
        lead=lead,
        pitch=march.wide + max(4, -(-work.layer // 4) * 4),
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


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Tiles that one kernel takes.

    Attributes:
        layered: Whether they carry the memory of absorbing layers.
        tiles: Their cores.
        height: Most rows with halo.
        width: Most columns with halo.
        warps: Of a block.
        shared_bytes: Of a block.
    """

    layered: bool
    tiles: tuple[Box, ...]
    height: int
    width: int
    warps: int
    shared_bytes: int

    @property
    def macros(self) -> dict[str, str | int]:
        """Settings of the kernel text."""
        return {"LAYERED": int(self.layered), "HEIGHT": self.height, "WIDTH": self.width, "WARPS": self.warps}


@dataclass(frozen=True, kw_only=True)
class PlanarTrapezoidalPlan:
    """Tiles of both kinds; together their cores are the lattice, each cell once.

    Attributes:
        depth: Time steps a launch.
        kinds: Those without the layers' memory first; empty kinds are left out.
        threads: Of a block.
    """

    depth: int
    kinds: tuple[Kind, ...]
    threads: int


def floats_per_cell(stencil: PlanarStencil, *, layered: bool) -> int:
    """Numbers a cell has on chip."""
    return stencil.planes + stencil.coefficients + (stencil.memories if layered else 0)


def plan_planar(
    work: Workload[PlanarStencil],
    *,
    depth: int | None = None,
    core: tuple[int, int] | None = None,
    warps: int = _PLANAR_WARPS,
) -> PlanarTrapezoidalPlan:
    """Tile a planar lattice.

    A tile is read with a halo of `depth` times the stencil's reach, stepped `depth` times in shared memory, and written
    without it. Tiles whose halo touches the absorbing layers carry the layers' memory as well, so they are smaller.

    Args:
        work: What is stepped; layers are on all sides.
        depth: Time steps a launch; the best by `best_core` if None.
        core: Rows and columns of a tile without its halo; the best if None.
        warps: Of a block.

    Raises:
        Unsuitable: No tile of that depth or size fits on chip.
    """
    stencil, rows, columns, size, limits = work.stencil, work.rows, work.columns, work.size, work.limits
    budget = min(limits.shared_bytes, limits.shared_bytes // _PER_MULTIPROCESSOR - _RESERVED)
    layer = work.layer if stencil.memories else 0
    if depth is None:
        depth = max(range(1, 13), key=lambda steps: _merit(stencil, steps, budget // size))
    reach = (stencil.low + stencil.high) * depth
    kinds = []
    inner = (layer + 1 + stencil.low * depth, layer + 2 + stencil.high * depth) if layer else (0, 0)
    boxes = _split(rows, columns, *inner)
    for layered, chosen in ((False, boxes[:1]), (True, boxes[1:])):
        if not any(box[2] > 0 and box[3] > 0 for box in chosen):
            continue
        numbers = floats_per_cell(stencil, layered=layered)
        most = core or best_core(reach, budget // size // numbers)
        if most is None or (most[0] + reach + 2) * (most[1] + reach + 2) * numbers * size > limits.shared_bytes:
            raise Unsuitable(
                f"trapezoidal: a tile of {stencil.name} with depth {depth} does not fit in {limits.shared_bytes} bytes "
                "of shared memory; lower the depth"
            )
        tiles = tuple(tile for box in chosen for tile in _cut(box, most))
        height, width = (min(max(tile[at] for tile in tiles) + reach, full) for at, full in ((2, rows), (3, columns)))
        kinds.append(
            Kind(
                layered=layered,
                tiles=tiles,
                height=height,
                width=width,
                warps=warps,
                shared_bytes=(height + 2) * (width + 2) * numbers * size,
            )
        )
    return PlanarTrapezoidalPlan(depth=depth, kinds=tuple(kinds), threads=32 * warps)


def best_core(reach: int, cells: int) -> tuple[int, int] | None:
    """The core that is the largest part of what is computed, among tiles of up to `cells` with halo and rim.

    Widths with the halo are whole warps.
    """
    best: tuple[float, int, int] | None = None
    for width in (32, 64, 96, 128):
        height = cells // (width + 2) - 2
        if width > reach and height > reach:
            part = (width - reach) / width * (height - reach) / height
            best = max(best or (0.0, 0, 0), (part, height - reach, width - reach))
    return None if best is None else best[1:]


def _merit(stencil: PlanarStencil, depth: int, numbers: int) -> float:
    """Useful cell-steps over what limits them, roughly: those computed, and cells read at eight times their cost."""
    reach = (stencil.low + stencil.high) * depth
    core = best_core(reach, numbers // floats_per_cell(stencil, layered=False))
    if core is None:
        return 0.0
    part = core[0] * core[1] / ((core[0] + reach) * (core[1] + reach))
    return part * depth / (depth + 8)


def _split(rows: int, columns: int, low: int, high: int) -> tuple[Box, ...]:
    """The inside, and the frame around it as four boxes: below, above, left, right."""
    height, width = rows - low - high, columns - low - high
    if height <= 0 or width <= 0:
        return (0, 0, 0, 0), (0, 0, rows, columns)
    return (
        (low, low, height, width),
        (0, 0, low, columns),
        (rows - high, 0, high, columns),
        (low, 0, height, low),
        (low, columns - high, height, high),
    )


def _cut(box: Box, most: tuple[int, int]) -> Iterator[Box]:
    """Cut a box into tiles of nearly equal size, none larger than `most`."""
    row, column, height, width = box
    if height <= 0 or width <= 0:
        return
    down, across = -(-height // most[0]), -(-width // most[1])
    for n in range(down):
        for m in range(across):
            top, bottom = height * n // down, height * (n + 1) // down
            left, right = width * m // across, width * (m + 1) // across
            yield row + top, column + left, bottom - top, right - left
