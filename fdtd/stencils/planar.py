"""Planar update equations as the schemes see them: TM_z, TE_z (see `fdtd.planar.problem`), the five-point sum."""

from __future__ import annotations

from dataclasses import dataclass

from fdtd.stencils.stencil import Stencil


@dataclass(frozen=True, kw_only=True)
class PlanarStencil:
    """What the planar schemes need to know; the same numbers stand in the stencil's CUDA text.

    Attributes:
        macros: Which text, and its settings.
        kept: Planes of a cell that are read from and written to memory.
        planes: Planes of a cell on chip.
        coefficients: Of a cell.
        memories: Filter states of a cell in the absorbing layers.
        phases: Updates of a step that must follow each other.
        low: Cells before its own that a step reads, all phases together.
        high: Cells after its own.
        back: Rows behind the first phase at which the last one can be done.
        idle: Last rows and columns that never change, walls and padding.
    """

    name: str
    macros: dict[str, str | int]
    kept: int
    planes: int
    coefficients: int
    memories: int
    phases: int
    low: int
    high: int
    back: int
    idle: int


TMZ_CELL = PlanarStencil(
    name="tmz", macros={"STENCIL": "TMZ"}, kept=3, planes=3, coefficients=4, memories=4,
    phases=2, low=1, high=1, back=0, idle=1,
)  # fmt: skip
TEZ_CELL = PlanarStencil(
    name="tez", macros={"STENCIL": "TEZ", "COUPLED": 0}, kept=3, planes=3, coefficients=7, memories=4,
    phases=2, low=1, high=1, back=0, idle=1,
)  # fmt: skip
COUPLED_TEZ_CELL = PlanarStencil(
    name="tez", macros={"STENCIL": "TEZ", "COUPLED": 1}, kept=3, planes=5, coefficients=8, memories=4,
    phases=3, low=2, high=2, back=1, idle=1,
)  # fmt: skip
JACOBI5_CELL = PlanarStencil(
    name="jacobi5", macros={"STENCIL": "JACOBI5"}, kept=1, planes=2, coefficients=0, memories=0,
    phases=1, low=1, high=1, back=0, idle=0,
)  # fmt: skip

TMZ = Stencil(
    name="tmz",
    fields=("e_z", "h_x", "h_y"),
    halves=2,
    coefficients=4,
    column_coefficients=0,
    radial_memory=2,
    axial_memory=2,
    additions=5,
    multiply_adds=4,
    text="kernels/planar/tmz.cuh",
)
TEZ = Stencil(
    name="tez",
    fields=("h_z", "e_x", "e_y"),
    halves=2,
    coefficients=7,
    column_coefficients=0,
    radial_memory=2,
    axial_memory=2,
    additions=3,
    multiply_adds=9,
    text="kernels/planar/tez.cuh",
)
JACOBI5 = Stencil(
    name="jacobi5",
    fields=("value",),
    halves=1,
    coefficients=0,
    column_coefficients=0,
    radial_memory=0,
    axial_memory=0,
    additions=5,
    multiply_adds=0,
    text="kernels/planar/jacobi5.cuh",
)
