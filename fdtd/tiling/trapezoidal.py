"""Redundant computation (approach 5 of the seed): tiles with halos in registers, several steps a trip to memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fdtd.errors import Unsuitable
from fdtd.stencils import Stencil
from fdtd.tiling.limits import Limits
from fdtd.tiling.march import MarchPlan, strips

_LANES = 32
_SHAPES = {4: (2, 6), 8: (1, 6)}  # cells and rows a lane, by bytes of a number
_WARPS = 12  # of patches; with the radial layer's, no more than 16


@dataclass(frozen=True, kw_only=True)
class TrapezoidalPlan:
    """How an antenna is cut into tiles.

    Attributes:
        march: What a block holds.
        depth: Steps a launch, at most; halo rows.
        tiles: Along r and z.
        strides: Columns and rows from one tile to the next.
        lead: Zero columns before the axis.
        pitch: Stored columns.
        shared_bytes: Of a block.
    """

    march: MarchPlan
    depth: int
    tiles: tuple[int, int]
    strides: tuple[int, int]
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
            "TILES_R": self.tiles[0],
            "TILES_Z": self.tiles[1],
            "STRIDE_R": self.strides[0],
            "STRIDE_Z": self.strides[1],
            "SHARED_BYTES": self.shared_bytes,
        }

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
    axial: tuple[tuple[int, int], ...],
    record_every: int,
    coupled: bool,
    size: int,
    limits: Limits,
    depth: int | None = None,
    warps: int = _WARPS,
    shape: tuple[int, int] | None = None,
) -> TrapezoidalPlan:
    """The least redundant tiles for the number of steps between samples.

    Args:
        stencil: What is stepped.
        nr: Columns.
        nz: Rows.
        layer: Columns of the radial layer.
        axial: Rows [start, stop) of the axial layers.
        record_every: Steps between samples; launches end there.
        coupled: Whether nodes couple e_r and e_z.
        size: Bytes of a number.
        limits: Of the device.
        depth: Steps a launch; chosen if None.
        warps: Patches of a block, one above the other.
        shape: Cells and rows a lane.

    Raises:
        Unsuitable: Nodes are coupled, the radial layer is wider than a warp, or a tile does not fit the device.
    """
    if stencil.name != "bor":
        raise Unsuitable(f"trapezoidal has no kernel for {stencil.name} here")
    if coupled:
        raise Unsuitable("trapezoidal does not step coupled nodes; use surfaces = 'diagonal', or wavefront")
    if depth is None:
        depth = -(-record_every // (2 * -(-record_every // 16)))
    cells, rows = shape or _SHAPES[size]
    wide, height = _LANES * cells, warps * rows
    piece, chunk, main = 8 // size, 16 // size, nr - layer
    step_r, step_z = (wide - 2 * depth) // piece * piece, height - 2 * depth
    if min(step_r, step_z) < 1:
        raise Unsuitable(f"a tile of {wide} x {height} cells has nothing left after {depth} steps; lower the depth")
    lead = wide - main if main <= wide else -main % piece
    tiles_r = 1 + max(0, -(-(lead + main - wide) // step_r))
    tiles_z = 1 + max(0, -(-(nz - height) // step_z))
    origins = [max(0, min(z * step_z, nz - height)) for z in range(tiles_z)]
    layered = [
        w
        for w in range(warps)
        if any(start < o + (w + 1) * rows and o + w * rows < stop for o in origins for start, stop in axial)
    ]
    march = replace(
        strips(cells=cells, rows=rows, warps=warps, layer=layer, axial_warps=sum(1 << w for w in layered), size=size),
        positions=tiles_r,
    )
    if march.threads > 512:
        raise Unsuitable(f"trapezoidal has no room for a radial layer of {layer} columns beside its patches")
    shared = march.shared_bytes + warps * 6 * rows * (wide + chunk) * size
    if shared > limits.shared_bytes:
        raise Unsuitable(
            f"a tile of {wide} x {height} cells needs {shared} bytes of shared memory (allowed here: "
            f"{limits.shared_bytes}); use one_step"
        )
    return TrapezoidalPlan(
        march=march,
        depth=depth,
        tiles=(tiles_r, tiles_z),
        strides=(step_r, step_z),
        lead=lead,
        pitch=-(-(lead + main + max(chunk, layer)) // (2 * chunk)) * 2 * chunk,
        shared_bytes=shared,
    )
