"""Axisymmetric Maxwell equations of one azimuthal order: six components on (r, z), as `fdtd.axisymmetric.problem`."""

from fdtd.stencils.stencil import Stencil

BOR = Stencil(
    name="bor",
    text="kernels/axisymmetric/curl.cuh",
    fields=("e_r", "e", "e_z", "h_r", "h", "h_z"),
    coefficients=6,
    phases=2,
    additions=10,
    multiply_adds=10,
)
