"""Synchronised thread blocks on planar lattices: how large a cluster holds a problem."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.errors import Unsuitable
from fdtd.schemes.limits import Limits
from fdtd.schemes.planar_rows import row_numbers
from fdtd.stencils.planar import PlanarStencil

CLUSTERS = (1, 2, 4, 8, 16)  # 16 needs the device's consent, asked for at launch


@dataclass(frozen=True, kw_only=True)
class ResidentPlan:
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
        """Of a block."""
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


def plan(
    stencil: PlanarStencil, rows: int, columns: int, *, size: int, limits: Limits, cluster: int | None = None
) -> ResidentPlan:
    """Choose the cluster.

    Args:
        stencil: What is stepped.
        rows: Of the lattice.
        columns: Of the lattice.
        size: Bytes of a number.
        limits: Of the device.
        cluster: Blocks; the smallest that holds the problem if None.

    Raises:
        Unsuitable: The device has no clusters, or none that holds the problem.
    """
    if limits.capability < 90:
        raise Unsuitable(
            f"resident: thread-block clusters need compute capability 9.0 (this device has "
            f"{limits.capability / 10:.1f}); use trapezoidal"
        )
    row = row_numbers(columns)
    for blocks in CLUSTERS if cluster is None else (cluster,):
        slab = -(-rows // blocks)
        need = (slab + 2) * row * (stencil.planes + stencil.coefficients) * size
        if need <= limits.shared_bytes and slab * (blocks - 1) < rows:
            return ResidentPlan(
                cluster=blocks,
                slab=slab,
                columns=columns - stencil.idle,
                row=row,
                warps=min(32, max(4, slab)),
                shared_bytes=need,
            )
    blocks = CLUSTERS[-1] if cluster is None else cluster
    most = limits.shared_bytes // (row * (stencil.planes + stencil.coefficients) * size) - 2
    raise Unsuitable(
        f"resident: {rows} x {columns} cells of {stencil.name} do not fit in the shared memory of {blocks} blocks "
        f"(allowed here: up to {max(0, most) * blocks} rows of {columns} cells); use trapezoidal"
    )
