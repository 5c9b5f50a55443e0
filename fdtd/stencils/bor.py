"""Axisymmetric Maxwell equations of one azimuthal order: six components on (r, z), as `fdtd.axisymmetric.problem`."""

from fdtd.stencils.stencil import Stencil

BOR = Stencil(
    name="bor",
    fields=("e_r", "e_phi", "e_z", "h_r", "h_phi", "h_z"),
    halves=2,
    coefficients=6,
    column_coefficients=4,
    radial_memory=8,
    axial_memory=4,
    additions=10,
    multiply_adds=10,
    text="kernels/axisymmetric/bor.cuh",
)
