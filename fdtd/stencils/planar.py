"""Planar update equations: TM_z, TE_z without and with coupled nodes (`fdtd.planar.problem`), the five-point sum."""

from fdtd.stencils.stencil import PlanarStencil

TMZ = PlanarStencil(
    name="tmz", text="kernels/planar/tmz.cuh", macros={"STENCIL": "TMZ"}, fields=("e_z", "h_x", "h_y"), coefficients=4,
    memories=4, phases=2, low=1, high=1, idle=1, additions=5, multiply_adds=4,
)  # fmt: skip
TEZ = PlanarStencil(
    name="tez", text="kernels/planar/tez.cuh", macros={"STENCIL": "TEZ", "COUPLED": 0}, fields=("h_z", "e_x", "e_y"),
    coefficients=7, memories=4, phases=2, low=1, high=1, idle=1, additions=3, multiply_adds=9,
)  # fmt: skip
COUPLED_TEZ = PlanarStencil(
    name="tez", text="kernels/planar/tez.cuh", macros={"STENCIL": "TEZ", "COUPLED": 1}, fields=("h_z", "e_x", "e_y"),
    scratch=2, coefficients=8, memories=4, phases=3, low=2, high=2, back=1, idle=1, additions=3, multiply_adds=9,
)  # fmt: skip
JACOBI5 = PlanarStencil(
    name="jacobi5", text="kernels/planar/jacobi5.cuh", macros={"STENCIL": "JACOBI5"}, fields=("value",), scratch=1,
    coefficients=0, memories=0, phases=1, low=1, high=1, idle=0, additions=5, multiply_adds=0,
)  # fmt: skip
