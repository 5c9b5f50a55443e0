"""Update equations of one cell, as data: one file per set of update equations, no loops and no tile sizes."""

from fdtd.stencils.bor import BOR
from fdtd.stencils.planar import COUPLED_TEZ, JACOBI5, TEZ, TMZ
from fdtd.stencils.stencil import PlanarStencil, Stencil

STENCILS: dict[str, Stencil] = {stencil.name: stencil for stencil in (BOR, TMZ, TEZ, JACOBI5)}
"""Stencils by name; TE_z without coupled nodes."""

__all__ = ["BOR", "COUPLED_TEZ", "JACOBI5", "STENCILS", "TEZ", "TMZ", "PlanarStencil", "Stencil"]
