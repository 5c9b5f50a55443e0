"""Redundant computation on planar lattices: tiles in shared memory, several steps per pass through memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes import Workload
from fdtd.stencils import PlanarStencil

Box = tuple[int, int, int, int]
"""First row, first column, rows, columns."""

_PLANAR_WARPS = 16
_PER_MULTIPROCESSOR = 2  # blocks, so that one computes while the other loads
_RESERVED = 1024  # bytes of shared memory that a block takes for itself


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
