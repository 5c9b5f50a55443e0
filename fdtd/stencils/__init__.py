"""Update equations of one cell, as formulas: no loops and no tile sizes.

`BOR` is the set of axisymmetric Maxwell equations of one azimuthal order, six components on (r, z), as in
`fdtd.axisymmetric.problem`, whose kernels are written by hand; `TMZ` and `TEZ`, without and with coupled nodes, are the
planar ones of `fdtd.planar.problem`; `JACOBI5` is the five-point sum; `SPATIAL` are Yee's lattice and the heat equation
in space. All that is known of any but `BOR`, kernel text included, follows from their formulas.
"""

from __future__ import annotations

from fdtd.stencils.formula import Formula as Formula
from fdtd.stencils.maxwell import COUPLED_TEZ_FORMULA, TEZ_FORMULA, TMZ_FORMULA, YEE3D_FORMULA
from fdtd.stencils.stencil import PlanarStencil as PlanarStencil
from fdtd.stencils.stencil import Stencil as Stencil
from fdtd.stencils.stencil import planar, spatial
from fdtd.stencils.sums import HEAT7_FORMULA, HEAT19_FORMULA, JACOBI5_FORMULA

BOR = Stencil(
    name="bor",
    fields=("e_r", "e", "e_z", "h_r", "h", "h_z"),
    coefficients=6,
    phases=2,
    operations=20,  # ten additions and ten fused multiply-adds
    moved=18,
)
TMZ = planar(TMZ_FORMULA)
TEZ = planar(TEZ_FORMULA)
COUPLED_TEZ = planar(COUPLED_TEZ_FORMULA)
JACOBI5 = planar(JACOBI5_FORMULA)

FORMULAS = (
    TMZ_FORMULA, TEZ_FORMULA, COUPLED_TEZ_FORMULA, JACOBI5_FORMULA, YEE3D_FORMULA, HEAT7_FORMULA, HEAT19_FORMULA,
)  # fmt: skip
"""Formulas whose text kernels are made from."""

STENCILS: dict[str, Stencil] = {stencil.name: stencil for stencil in (BOR, TMZ, TEZ, JACOBI5)}
"""Stencils of lattices with two axes, by name, which schemes step; TE_z without coupled nodes."""

SPATIAL: dict[str, Stencil] = {
    formula.name: spatial(formula) for formula in (YEE3D_FORMULA, HEAT7_FORMULA, HEAT19_FORMULA)
}
"""Stencils in space, by name, in a closed box; of the schemes only one_step steps them."""
