"""Windows around the rims of a batch, with the ratios by which edge conditions correct the lattice.

The ratio of an edge is the flux of the wedge's static field through the lattice's face across it over the voltage along
it; see `fdtd.axisymmetric.rims`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fdtd.arrays import library
from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.scene import Scene
from fdtd.axisymmetric.wedges import Wedges

REACH = 2.5  # cells from a rim within which edges are corrected; 1.2 does most of it, 4 does no more
SMALLEST_VOLTAGE = 0.05  # of the potential one cell from the rim; edges across the field carry none
WINDOW = 9  # cells around a rim that may be corrected, each way
_AT_A_TIME = 1 << 18  # nodes, so that a host's cache holds them

Find = Callable[[Wedges, np.ndarray, np.ndarray], np.ndarray]  # `Windows.ratios`, or a compiled form of it


@dataclass(frozen=True, kw_only=True)
class Windows:
    """The cells around each rim of each antenna; those with the same metal count as one antenna.

    Attributes:
        grid: The lattice.
        real: Whether the rim is there, (rims, antennas), on the host.
        x, y: Place of the rim, cells, (rims, antennas).
        i0, k0: Column and row of the window's first node, (rims, antennas).
        wall, opening: As `Rim` has them, (rims, antennas).
        near: The rims that may be nearer to some edge of the window, (rims, most); filled up with the rim itself.
        conducts: Whether a node of the lattice conducts, (antennas, nz, nr), in the metal's library.
    """

    grid: AxisymmetricGrid
    real: np.ndarray
    x: np.ndarray
    y: np.ndarray
    i0: np.ndarray
    k0: np.ndarray
    wall: np.ndarray
    opening: np.ndarray
    near: np.ndarray
    conducts: np.ndarray

    @classmethod
    def of(cls, grid: AxisymmetricGrid, scene: Scene, open_length: np.ndarray) -> Windows:
        """Return the windows of a scene's rims."""
        count = len(open_length)
        r, z, wall, opening = (
            np.stack([np.broadcast_to(getattr(rim, name), (scene.batch,))[:count] for rim in scene.rims])
            for name in ("r", "z", "wall", "opening")
        )
        real = ~np.isnan(r)
        x, y = np.where(real, r / grid.cell, -1e6), np.where(real, z / grid.cell + grid.origin, -1e6)
        i0, k0 = ((np.where(real, one - REACH, 0.0)).astype(int) - 1 for one in (x, y))
        return cls(
            grid=grid,
            real=real,
            x=np.where(real, x, 0.0),
            y=np.where(real, y, 0.0),
            i0=i0,
            k0=k0,
            wall=np.where(real, wall, 0.0),
            opening=np.where(real, opening, np.pi),
            near=_near(x, y, real),
            conducts=open_length[:, 1] == 0,
        )

    def place(self, rim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows and columns of a rim's windows and one cell more on each side, and whether each is a node there.

        Shapes: (antennas, window + 2, 1), (antennas, 1, window + 2), (antennas, window + 2, window + 2). Those beyond
        the lattice come in again on its other side.
        """
        xp, steps = library(self.conducts), np.arange(-1, WINDOW + 1)
        k, i = self.k0[rim][:, None, None] + steps[:, None], self.i0[rim][:, None, None] + steps
        inside = (k >= 0) & (k < self.grid.nz) & (i >= 1) & (i < self.grid.nr) & self.real[rim][:, None, None]
        return xp.asarray(k % self.grid.nz), xp.asarray(i % self.grid.nr), xp.asarray(inside)

    def ratios(self, wedges: Wedges, rim: np.ndarray, antenna: np.ndarray) -> np.ndarray:
        """Return flux over voltage of the edges along r and z of windows, 0 where the edge keeps what it has.

        Args:
            wedges: The static field around each rim.
            rim: The rim of each wedge.
            antenna: Its antenna.

        Returns:
            Shape (2, wedges, window, window).
        """
        most = max(_AT_A_TIME // WINDOW**2, 1)
        if library(self.conducts) is not np:
            most *= 16
        starts = range(0, len(rim), most)
        parts = [slice(start, start + most) for start in starts]
        return library(self.conducts).concatenate(
            [self._ratios(wedges.some(part), rim[part], antenna[part]) for part in parts], axis=1
        )

    def _ratios(self, wedges: Wedges, rim: np.ndarray, antenna: np.ndarray) -> np.ndarray:
        xp = library(self.conducts)
        i0, k0 = self.i0[rim, antenna], self.k0[rim, antenna]
        steps = np.arange(WINDOW + 1)
        rows, columns = (first[:, None] + steps for first in (k0, i0))
        on_rows, on_columns = (rows >= 0) & (rows < self.grid.nz), (columns >= 1) & (columns < self.grid.nr)
        real = self.real[rim, antenna]
        near = self.near[rim]
        other_x, other_y = self.x[near, antenna[:, None]].T, self.y[near, antenna[:, None]].T
        other_x = np.where(self.real[near, antenna[:, None]].T, other_x, 1e6)
        to_rim_x, to_rim_y = (np.round(first - own[rim, antenna], 9) for first, own in ((i0, self.x), (k0, self.y)))
        # From here on where the metal's arrays are.
        wedges, wall, real = wedges.moved(xp), xp.asarray(self.wall[rim, antenna]), xp.asarray(real)
        to_other = [
            (xp.asarray(np.round(i0 - x, 9)), xp.asarray(np.round(k0 - y, 9)))
            for x, y in zip(other_x, other_y, strict=True)
        ]
        place = (
            xp.asarray(antenna)[:, None, None],
            *(xp.asarray(one) for one in ((rows % self.grid.nz)[:, :-1, None], (columns % self.grid.nr)[:, None, :-1])),
        )
        on_rows, on_columns = xp.asarray(on_rows), xp.asarray(on_columns)
        nodes, corners = xp.arange(WINDOW), xp.arange(WINDOW + 1) - 0.5

        def offsets(along: np.ndarray, across: np.ndarray, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
            """Places (wedges, rows, columns) from points that stand at (x, y) of the window's first node."""
            shape = (len(x), len(across), len(along))
            return (
                np.broadcast_to(x[:, None, None] + along, shape).copy(),
                np.broadcast_to(y[:, None, None] + across[:, None], shape).copy(),
            )

        from_rim = xp.asarray(to_rim_x), xp.asarray(to_rim_y)
        voltage = np.where(self.conducts[place], 0.0, wedges.potential(*offsets(nodes, nodes, *from_rim), wall))
        flux = wedges.flux(*offsets(corners, corners, *from_rim), wall)
        padded = xp.zeros((len(rim), WINDOW + 1, WINDOW + 1))
        padded[:, :-1, :-1] = voltage
        found = []
        for along_r, along_z in ((1, 0), (0, 1)):
            middle = nodes + along_r / 2, nodes + along_z / 2
            away = np.hypot(*offsets(*middle, *from_rim))
            nearest = real[:, None, None] & on_rows[:, :-1, None] & on_columns[:, None, :-1]
            for other in to_other:
                nearest &= away <= np.hypot(*offsets(*middle, *other)) + 1e-9
            ends = (
                (padded[:, :-1, 1:], on_columns[:, None, 1:]) if along_r else (padded[:, 1:, :-1], on_rows[:, 1:, None])
            )
            drop = ends[0] - voltage
            through = flux[:, 1:, 1:] - flux[:, :-1, 1:] if along_r else flux[:, 1:, :-1] - flux[:, 1:, 1:]
            use = (away < REACH) & nearest & ends[1] & (np.abs(drop) > SMALLEST_VOLTAGE)
            use[(..., -1) if along_r else (slice(None), -1)] = False  # these edges end outside the window
            found.append(np.maximum(np.where(use, through / np.where(use, drop, 1.0), 0.0), 0.0))
        return xp.stack(found)


def _near(x: np.ndarray, y: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Return for each rim the others that may own edges of its window, (rims, most); filled up with the rim itself."""
    found = []
    for one in range(len(x)):
        apart = np.where(real & real[one], (x - x[one]) ** 2 + (y - y[one]) ** 2, np.inf).min(axis=1)
        found.append([other for other in np.nonzero(apart < (2 * REACH + 1) ** 2)[0] if other != one])
    most = max(map(len, found))
    return np.array([those + [one] * (most - len(those)) for one, those in enumerate(found)], dtype=int)
