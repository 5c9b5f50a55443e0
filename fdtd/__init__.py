"""Maxwell's equations on Yee grids: axisymmetric antennas and planar scatterers, on the CPU and on CUDA devices.

An open circular waveguide, its fields in the aperture and its pattern; lengths in m, frequencies in Hz. All arrays have
an entry an antenna: a batch is solved at once.

>>> import numpy as np
>>> import fdtd
>>> inner, outer, length = (np.array([value]) for value in (3.6e-3, 4.2e-3, 12e-3))
>>> tube = fdtd.box(inner, outer, -length - 0.6e-3, np.zeros(1))
>>> back = fdtd.box(np.array([-np.inf]), outer, -length - 0.6e-3, -length)
>>> scene = fdtd.Scene(batch=1, conductors=(tube, back))
>>> extent = fdtd.Extent(
...     r_max=4.2e-3, z_min=-12.6e-3, z_max=0.0, feed_radius=3.6e-3, feed_length=12e-3, permittivity=1.0
... )
>>> settings = fdtd.Settings(frequencies=(30e9,), design_frequency=30e9, cell=0.6e-3)
>>> layout = fdtd.lay_out(extent, settings)
>>> solution = fdtd.solve(layout, scene, keep=fdtd.Keep(fields=True))[0]
>>> bool(abs(solution.s11[0]) < 0.5), solution.field.shape == (1, 3, layout.nz, layout.nr)
(True, True)
>>> e_plane, h_plane, _ = fdtd.directivity(solution.e_plane, solution.h_plane)
>>> bool(7 < 10 * np.log10(e_plane[0, 0]) < 9)  # dBi, boresight
True

`fill` and `pose` give the initial-value problem in place of its solution; `fdtd.planar` holds planar fields. Everything
is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fdtd.axisymmetric.grid import AxisymmetricGrid
    from fdtd.axisymmetric.layout import Extent, Layout, lay_out
    from fdtd.axisymmetric.media import Media
    from fdtd.axisymmetric.monitors import Snapshots
    from fdtd.axisymmetric.problem import Problem, Records
    from fdtd.axisymmetric.scene import Dielectric, Rim, Scene, box, capped_cylinder, cone_shell, polar_profile
    from fdtd.axisymmetric.settings import Settings
    from fdtd.axisymmetric.simulation import Hooks, Keep, fill, pose, solve
    from fdtd.axisymmetric.solutions import Solution
    from fdtd.backends import BACKENDS
    from fdtd.errors import ConfigError, DeviceError, FdtdError, Unsuitable
    from fdtd.farfield import directivity
    from fdtd.planar.problem import PlanarGrid, PlanarProblem, PlanarRecords
    from fdtd.planar.scattering import Cylinder, Scattering, scatter

_HOMES = {
    "axisymmetric.grid": ("AxisymmetricGrid",),
    "axisymmetric.layout": ("Extent", "Layout", "lay_out"),
    "axisymmetric.media": ("Media",),
    "axisymmetric.monitors": ("Snapshots",),
    "axisymmetric.problem": ("Problem", "Records"),
    "axisymmetric.scene": ("Dielectric", "Rim", "Scene", "box", "capped_cylinder", "cone_shell", "polar_profile"),
    "axisymmetric.settings": ("Settings",),
    "axisymmetric.simulation": ("Hooks", "Keep", "fill", "pose", "solve"),
    "axisymmetric.solutions": ("Solution",),
    "backends": ("BACKENDS",),
    "errors": ("ConfigError", "DeviceError", "FdtdError", "Unsuitable"),
    "farfield": ("directivity",),
    "planar.problem": ("PlanarGrid", "PlanarProblem", "PlanarRecords"),
    "planar.scattering": ("Cylinder", "Scattering", "scatter"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BACKENDS", "AxisymmetricGrid", "ConfigError", "Cylinder", "DeviceError", "Dielectric", "Extent",
    "FdtdError", "Hooks", "Keep", "Layout", "Media", "PlanarGrid", "PlanarProblem", "PlanarRecords", "Problem",
    "Records", "Rim", "Scattering", "Scene", "Settings", "Snapshots", "Solution", "Unsuitable", "box",
    "capped_cylinder", "cone_shell", "directivity", "fill", "lay_out", "polar_profile", "pose", "scatter", "solve",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
