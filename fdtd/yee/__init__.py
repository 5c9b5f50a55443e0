"""Antennas in three dimensions on a rectilinear Yee lattice: scene, lattice, solution.

A patch of 12 x 12 mm on a grounded substrate of permittivity 2.2; lengths in m, frequencies in Hz.

>>> from fdtd import yee
>>> substrate = yee.Dielectric(permittivity=2.2)
>>> scene = yee.Scene(
...     blocks=(yee.Block(x=(-12e-3, 12e-3), y=(-12e-3, 12e-3), z=(0, 0.8e-3), material=substrate),),
...     sheets=(
...         yee.Sheet(z=0.0, x=(-12e-3, 12e-3), y=(-12e-3, 12e-3)),
...         yee.Sheet(z=0.8e-3, x=(-6e-3, 6e-3), y=(-6e-3, 6e-3)),
...     ),
...     port=yee.LumpedPort(x=-2e-3, y=0.0, z=(0.0, 0.8e-3)),
... )
>>> grid = yee.layout(scene, [7.5e9, 8.5e9])
>>> solution = yee.solve(scene, grid, [7.5e9, 8.0e9, 8.5e9])  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fdtd.yee.circuit import CircuitSolution, solve_circuit
    from fdtd.yee.grid import FACES, Grid
    from fdtd.yee.mesh import layout
    from fdtd.yee.microstrip import LinePort
    from fdtd.yee.scene import Block, Dielectric, GuidePort, LumpedPort, Scene, Sheet, Tube
    from fdtd.yee.simulation import Hooks, Solution, Stepper, solve, solve_batch
    from fdtd.yee.symmetry import halved

_HOMES = {
    "circuit": ("CircuitSolution", "solve_circuit"),
    "grid": ("FACES", "Grid"),
    "mesh": ("layout",),
    "microstrip": ("LinePort",),
    "scene": ("Block", "Dielectric", "GuidePort", "LumpedPort", "Scene", "Sheet", "Tube"),
    "simulation": ("Hooks", "Solution", "Stepper", "solve", "solve_batch"),
    "symmetry": ("halved",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "FACES", "Block", "CircuitSolution", "Dielectric", "Grid", "GuidePort", "Hooks", "LinePort", "LumpedPort", "Scene",
    "Sheet", "Solution", "Stepper", "Tube", "halved", "layout", "solve", "solve_batch", "solve_circuit",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what is first used: the backends need some of these modules, and `solve` the backends."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
