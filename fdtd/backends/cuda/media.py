"""Dielectrics on a device: what `fdtd.axisymmetric.media` and `rim_media` do with arrays, in a few launches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fdtd.axisymmetric import media
from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.rim_media import DIRECTIONS, MOST_BORDERS, Corners
from fdtd.axisymmetric.scene import Dielectric, Scene, as_float, packed
from fdtd.backends.cuda.rasterise import THREADS, Launcher, launcher
from fdtd.backends.cuda.text import flatten

WARP = 32  # lanes
CELLS = 256  # of a block that fills the lattice


@lru_cache(maxsize=1)
def text() -> str:
    """Return the kernels' text, flattened."""
    return flatten("kernels/raster/media.cu", {"SUBCELLS": media.SUBCELLS, "CELLS": CELLS})


@dataclass(frozen=True, kw_only=True)
class Bodies:
    """Kernels of one scene's dielectrics; a `fdtd.axisymmetric.media.Compiled`.

    Attributes:
        grid: The lattice.
        scene: The batch.
        solids: Numbers of the dielectrics as the kernels take them: heads, count, level sets, materials.
        metal: The same of metal that dielectrics may touch, without materials; none where they do not.
        launch: Starts kernels.
    """

    grid: AxisymmetricGrid
    scene: Scene
    solids: tuple[Any, ...]
    metal: tuple[Any, ...]
    launch: Launcher

    @classmethod
    def of(cls, grid: AxisymmetricGrid, scene: Scene, launch: Launcher | None = None) -> Bodies | None:
        """Return a scene's kernels; None without dielectrics, and where a level set has no compiled form."""
        launch = launch or launcher()
        solids = _numbers(scene.dielectrics, scene.batch, launch.arrays) if scene.dielectrics else None
        table, metal = None, (None, 0, None)
        if scene.embedded and scene.conductors:
            table = packed(scene.conductors, scene.batch, launch.arrays)
            if table is None:
                return None
            metal = table[0], len(scene.conductors), table[1]
        return None if solids is None else cls(grid=grid, scene=scene, solids=solids, metal=metal, launch=launch)

    def effective(self, design_frequency: float, coupled: bool) -> tuple[Any, Any, Any]:
        """Return what `fdtd.axisymmetric.media.effective_permittivity` does."""
        xp, grid, batch = self.launch.arrays, self.grid, self.scene.batch
        boxes = np.array([media.box_of(grid, body) for body in self.scene.dielectrics], dtype=np.int32)
        permittivity, conductivity = (xp.empty((batch, 3, grid.nz, grid.nr)) for _ in range(2))
        coupling = xp.empty((batch, grid.nz, grid.nr)) if coupled else None
        blocks = -(-grid.cells // CELLS), batch
        self.launch(
            text(), "effective_permittivity", blocks, CELLS, *self.solids, xp.asarray(boxes), *self.metal, grid.nr,
            grid.nz, grid.origin, grid.cell, media.loss_scale(design_frequency), permittivity, conductivity, coupling,
        )  # fmt: skip
        if coupling is None:
            return permittivity, conductivity, None
        stable = xp.empty(coupling.shape)
        place = -(-grid.cells // THREADS), batch
        self.launch(text(), "stable_coupling", place, THREADS, grid.nr, grid.nz, permittivity, coupling, stable)
        return permittivity, conductivity, stable

    def seen(self, corners: Corners, distances: tuple[float, ...], directions: slice) -> Any:
        """Return what `fdtd.axisymmetric.rim_media.Corners.seen` does."""
        xp, batch = self.launch.arrays, self.scene.batch
        places = xp.asarray(np.stack([corners.r, corners.z, corners.wall, corners.opening]))
        away = xp.asarray(np.array(distances) * self.grid.cell)
        start, stop, every = directions.indices(DIRECTIONS)
        count = len(range(start, stop, every))
        found = xp.empty((len(distances), len(corners.r), batch, count))
        points = len(distances) * len(corners.r) * count
        self.launch(
            text(), "seen_from_rims", (-(-points // THREADS), batch), THREADS, *self.solids, batch, places,
            *corners.r.shape, away, len(distances), DIRECTIONS, start, every, count, found,
        )  # fmt: skip
        return found

    def borders(self, seen: Any) -> tuple[Any, Any, Any]:
        """Return the arrays of `fdtd.axisymmetric.rim_media.Borders`, of what `seen` returned for one distance."""
        xp, (*shape, directions), most = self.launch.arrays, seen.shape, MOST_BORDERS
        counts, last = xp.empty(shape, dtype=np.int32), xp.empty((*shape, most), dtype=np.int32)
        values, rows = xp.empty((*shape, most + 1)), int(np.prod(shape))
        self.launch(
            text(),
            "borders",
            (-(-rows * WARP // THREADS), 1),
            THREADS,
            seen,
            rows,
            directions,
            most,
            counts,
            last,
            values,
        )
        return counts, last, values

    def over_endless(self, endless: Scene, of: np.ndarray, size: int) -> Any:
        """Return the permittivity of edges over that of sectors.

        Args:
            endless: The sectors as bodies, one row of `of` in place of an antenna.
            of: Antenna, first column and first row of each window, (3, rows).
            size: Nodes of a window each way.

        Returns:
            Of the edges along r and z, (2, rows, size, size).
        """
        xp, rows = self.launch.arrays, of.shape[1]
        sectors = _numbers(endless.dielectrics, rows, xp)
        if sectors is None:
            raise ValueError("sectors around rims have a compiled form")
        found = xp.empty((2, rows, size, size))
        self.launch(
            text(), "over_endless", (rows, -(-2 * size * size // THREADS)), THREADS, *self.solids, self.scene.batch,
            *sectors, xp.asarray(np.ascontiguousarray(of, dtype=np.int32)), rows, size, self.grid.origin,
            self.grid.cell, found,
        )  # fmt: skip
        return found


def _numbers(bodies: tuple[Dielectric, ...], batch: int, xp: Any) -> tuple[Any, ...] | None:
    """Return heads, count, level sets and materials of bodies; None where one has no compiled form."""
    table = packed(tuple(body.distance for body in bodies), batch, xp)
    if table is None:
        return None
    materials = [as_float(getattr(body, name)) for name in ("permittivity", "loss_tangent") for body in bodies]
    return table[0], len(bodies), table[1], xp.concatenate(materials)
