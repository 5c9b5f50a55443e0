"""Synchronised blocks: a cluster of blocks holds one antenna on chip (the seed's approach 2, made safe by hardware)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes import Workload, row_numbers
from fdtd.schemes.march import MOST_STRIP_ROWS, MarchedPlan, strips
from fdtd.stencils import PlanarStencil, Stencil

CLUSTERS = range(1, 17)  # blocks; more than 8 are not portable, and an H200 has room for 7 clusters of 16
# Cells and rows a lane, warps of a block and most rows a lane of a strip, by bytes of a number: eight warps leave each
# 255 registers, twelve 168, sixteen 128, of which strips of four rows spill some.
_SHAPES = {
    4: ((4, 2, 16, 2), (4, 4, 8, 6), (4, 3, 12, 6), (8, 2, 12, 6)),
    8: ((2, 4, 8, 4), (2, 3, 12, 4), (4, 2, 12, 4)),
}
_PLANAR_CLUSTERS = (1, 2, 4, 8, 16)  # 16 needs an attribute at launch
_WARPS = 12
_LANES = 32
_RESERVED = 1024  # bytes of shared memory that clusters need for themselves


@dataclass(frozen=True, kw_only=True)
class ResidentPlan(MarchedPlan):
    """Place of an antenna in a cluster.

    Attributes:
        axial: Whether there are axial layers, whose memories lie in shared memory.
    """

    axial: bool

    @property
    def macros(self) -> dict[str, int]:
        """Settings of the kernel text."""
        return super().macros | {"LAYERED_ROWS": self.march.height if self.axial else 0}

    @property
    def least_bytes(self) -> int:
        """Shared memory of a block without coefficients of media."""
        march, row = self.march, self.march.wide * self.march.size
        tables = march.air_bytes + march.height * (8 + 4 * march.radial_columns) * march.size + 16 * march.height
        memories = march.height * 4 * row if self.axial else 0
        return march.shared_bytes + -(-tables // 128) * 128 + march.warps * 6 * row + memories


def plan(
    work: Workload[Stencil],
    *,
    cluster: int | None = None,
    shape: tuple[int, int] | None = None,
    warps: int | None = None,
) -> ResidentPlan:
    """Choose the smallest cluster that holds an antenna, in the shape that takes the shortest steps.

    Args:
        work: What is stepped.
        cluster: Blocks; chosen if None.
        shape: Cells and rows a lane; chosen if None.
        warps: Most warps of a block; of the shape's own if None, and twelve for a shape that is given.

    Raises:
        Unsuitable: The device has no clusters, nodes are coupled, or the grid does not fit in 16 blocks.
    """
    limits, layer, size, nz, main = work.limits, work.layer, work.size, work.rows, work.main
    if limits.capability < 90:
        major, minor = divmod(limits.capability, 10)
        raise Unsuitable(
            f"resident needs thread-block clusters, so compute capability 9.0 (this device has {major}.{minor}); "
            "use wavefront"
        )
    if work.coupled:
        raise Unsuitable("resident does not step coupled nodes; use surfaces = 'diagonal', or wavefront")
    shapes = [each for each in _SHAPES[size] if main <= _LANES * each[0] and each[2] <= (warps or each[2])]
    if shape:
        shapes = [(*shape, warps or _WARPS, MOST_STRIP_ROWS[size])]
    if not shapes:
        raise Unsuitable(
            f"resident holds rows of at most {_LANES * _SHAPES[size][-1][0]} columns (of {size} bytes) before the "
            f"radial layer, and the grid has {main}; use trapezoidal"
        )
    for (cells, rows, most, long), blocks in itertools.product(shapes, (cluster,) if cluster else CLUSTERS):
        patches = -(-nz // (blocks * rows))
        if patches > most - (layer > 0):
            continue
        try:
            march = strips(
                cells=cells, rows=rows, warps=patches, layer=layer, size=size, most=most - patches, strip_rows=long
            )
        except Unsuitable:
            continue
        made = ResidentPlan(
            march=march,
            axial=bool(work.axial),
            cluster=blocks,
            lead=march.wide - main,
            pitch=march.wide + max(4, -(-layer // 4) * 4),
            shared_bytes=limits.shared_bytes - _RESERVED,
        )
        if made.least_bytes <= made.shared_bytes:
            return made
    raise Unsuitable(
        f"{work.columns} x {nz} cells of {size} bytes and a radial layer of {layer} columns do not fit in the "
        f"registers of {cluster or max(CLUSTERS)} blocks; use trapezoidal or wavefront"
    )


@dataclass(frozen=True, kw_only=True)
class PlanarResidentPlan:
    """One cluster a problem.

    Attributes:
        cluster: Blocks.
        slab: Rows a block.
        columns: That change.
        row: Numbers of a row of one plane.
        warps: A block.
        shared_bytes: Of a block.
    """

    cluster: int
    slab: int
    columns: int
    row: int
    warps: int
    shared_bytes: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def macros(self) -> dict[str, str | int]:
        """Settings of the kernel text."""
        return {
            "CLUSTER": self.cluster,
            "SLAB": self.slab,
            "COLUMNS": self.columns,
            "ROW": self.row,
            "WARPS": self.warps,
        }


def plan_planar(work: Workload[PlanarStencil], *, cluster: int | None = None) -> PlanarResidentPlan:
    """Choose the cluster of a planar problem, whose planes and coefficients lie in shared memory.

    Args:
        work: What is stepped.
        cluster: Blocks; the smallest that holds the problem if None.

    Raises:
        Unsuitable: The device has no clusters, or none that holds the problem.
    """
    stencil, rows, columns, size, limits = work.stencil, work.rows, work.columns, work.size, work.limits
    if limits.capability < 90:
        raise Unsuitable(
            f"resident: thread-block clusters need compute capability 9.0 (this device has "
            f"{limits.capability / 10:.1f}); use trapezoidal"
        )
    row = row_numbers(columns)
    for blocks in _PLANAR_CLUSTERS if cluster is None else (cluster,):
        slab = -(-rows // blocks)
        need = (slab + 2) * row * (stencil.planes + stencil.coefficients) * size
        if need <= limits.shared_bytes and slab * (blocks - 1) < rows:
            return PlanarResidentPlan(
                cluster=blocks,
                slab=slab,
                columns=columns - stencil.idle,
                row=row,
                warps=min(32, max(4, slab)),
                shared_bytes=need,
            )
    blocks = _PLANAR_CLUSTERS[-1] if cluster is None else cluster
    most = limits.shared_bytes // (row * (stencil.planes + stencil.coefficients) * size) - 2
    raise Unsuitable(
        f"resident: {rows} x {columns} cells of {stencil.name} do not fit in the shared memory of {blocks} blocks "
        f"(allowed here: up to {max(0, most) * blocks} rows of {columns} cells); use trapezoidal"
    )
