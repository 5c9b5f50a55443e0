"""Metal on a device in a few launches: what `fdtd.axisymmetric.conductors` does with arrays, by compiled kernels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from fdtd.axisymmetric import conductors
from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.scene import LevelSet, packed
from fdtd.backends.cuda.text import flatten

_TEXT = "kernels/raster/open_parts.cu"
THREADS = 128  # of a block
_OPTIONS = ("--std=c++17", "--fmad=false")  # no fused multiply-adds: the bits of NumPy


class Launcher(Protocol):
    """Arrays of a device, and compiled text; the host emulation of the tests has the same shape.

    Attributes:
        arrays: Array library.
    """

    arrays: Any

    def __call__(self, text: str, kernel: str, grid: tuple[int, int], threads: int, *arguments: Any) -> None:
        """Start a kernel of a flattened text on arrays, int and float; None is a null pointer."""
        ...


class CudaLauncher:
    """Kernels through CuPy, on the current stream."""

    def __init__(self) -> None:
        import cupy  # pyright: ignore[reportMissingImports]

        self.arrays: Any = cupy
        self._kernels: dict[tuple[str, str], Any] = {}

    def __call__(self, text: str, kernel: str, grid: tuple[int, int], threads: int, *arguments: Any) -> None:
        """Start a kernel; it runs after everything started before."""
        found = self._kernels.get((text, kernel))
        if found is None:
            found = self._kernels[text, kernel] = self.arrays.RawKernel(text, kernel, options=_OPTIONS)
        found(grid, (threads,), tuple(map(_argument, arguments)))


@lru_cache(maxsize=1)
def launcher() -> Launcher:
    """Return the device's, made once."""
    return CudaLauncher()


def _argument(value: Any) -> Any:
    if value is None:
        return np.uint64(0)
    if hasattr(value, "flags") and not value.flags.c_contiguous:
        raise ValueError(f"a kernel reads arrays without gaps; this one of shape {value.shape} has some")
    return np.int32(value) if isinstance(value, int) else np.float64(value) if isinstance(value, float) else value


@lru_cache(maxsize=1)
def _macros() -> Mapping[str, int | str]:
    names = ("PIECES", "ON_WALL", "UPRIGHT", "SNAP", "SNAP_SLANTED", "AXIS_COLUMNS")
    return {name: repr(getattr(conductors, name)) for name in names}


@lru_cache(maxsize=1)
def open_parts_text() -> str:
    """Return the kernels' text, flattened."""
    return flatten(_TEXT, _macros())


def open_parts(
    grid: AxisymmetricGrid, metal: tuple[LevelSet, ...], antennas: int, launch: Launcher | None = None
) -> tuple[Any, Any] | None:
    """Return what `fdtd.axisymmetric.conductors.open_parts` does; None where a level set has no compiled form.

    Args:
        grid: The lattice.
        metal: Level sets with arrays of the launcher's library.
        antennas: Number of them.
        launch: Starts kernels; the device's if None.
    """
    launch = launch or launcher()
    table = packed(metal, antennas, launch.arrays)
    if table is None:
        return None
    xp, nr, nz = launch.arrays, grid.nr, grid.nz
    far, near = (conductors.headroom(grid, far) for far in (True, False))
    most_r, most_z = (conductors.smallest_opening(grid, far) for far in (True, False))
    own = (*table[:1], len(metal), *table[1:], nr, nz, grid.origin, grid.cell)
    every, inside = (nz + 1) * (nr + 1), nz * nr

    def start(kernel: str, points: int, *arguments: Any) -> None:
        launch(open_parts_text(), kernel, (-(-points // THREADS), antennas), THREADS, *arguments)

    def made(*shape: int, of: type = np.float64) -> Any:
        return xp.empty((antennas, *shape), dtype=of)

    raw, node, closed, wall_r, wall_z, beyond_r, beyond_z = (made(nz + 1, nr + 1) for _ in range(7))
    upright = made(nz + 1, nr + 1, of=np.uint8)
    start("nodes", every, *own, most_r, most_z, raw, wall_r, wall_z, upright)
    start("take_over", every, nr, nz, far, raw, wall_r, wall_z, upright, node, beyond_r, beyond_z)
    e_r, e_z = made(nz + 1, nr), made(nz, nr + 1)
    through_r, through_z = made(nz + 1, nr, of=np.uint8), made(nz, nr + 1, of=np.uint8)
    changed = xp.zeros((conductors.CLOSING_PASSES, antennas), dtype=np.int32)
    for one in range(conductors.CLOSING_PASSES):
        start("edges", every, *own, changed[one - 1] if one else None, node, e_r, e_z, through_r, through_z)
        start("close_walls", every, nr, nz, node, through_r, through_z, closed, changed[one])
        node, closed = closed, node
    lengths, areas, area, edge, least = (made(3, nz, nr) for _ in range(5))
    ways = made(3, nz, nr, 2, of=np.int8)
    start("reach", every, nr, nz, node, beyond_r, beyond_z, e_r, e_z, lengths)
    start("cut_faces", inside, *own, near, far, node, e_r, e_z, area, edge, least, ways)
    start("raise_faces", inside, nr, nz, area, edge, least, ways, areas)
    return lengths, areas
