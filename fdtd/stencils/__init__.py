"""What one cell does, as data: one file per set of update equations, no loops and no tile sizes."""

from fdtd.stencils.bor import BOR
from fdtd.stencils.stencil import Stencil

STENCILS: dict[str, Stencil] = {stencil.name: stencil for stencil in (BOR,)}

__all__ = ["BOR", "STENCILS", "Stencil"]
