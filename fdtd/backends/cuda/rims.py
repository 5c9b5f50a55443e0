"""Rims on a device in three launches: what `fdtd.axisymmetric.rims` does with arrays, by compiled kernels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from fdtd.axisymmetric import rim_windows, rims
from fdtd.axisymmetric.conductors import AXIS_COLUMNS
from fdtd.axisymmetric.rim_windows import WINDOW, Windows
from fdtd.axisymmetric.wedges import Wedges
from fdtd.backends.cuda.rasterise import THREADS, Launcher, launcher
from fdtd.backends.cuda.text import flatten


@lru_cache(maxsize=1)
def text() -> str:
    """Return the kernels' text, flattened."""
    macros = {name: repr(getattr(rim_windows, name)) for name in ("WINDOW", "REACH", "SMALLEST_VOLTAGE")}
    return flatten("kernels/raster/rims.cu", macros | {"AXIS_COLUMNS": AXIS_COLUMNS})


class Rims:
    """Kernels of one batch's rims; a `fdtd.axisymmetric.rims.Compiled`.

    Args:
        windows: The rims.
        launch: Starts kernels; the device's if None.
    """

    def __init__(self, windows: Windows, launch: Launcher | None = None) -> None:
        self._launch = launch or launcher()
        self._windows, xp = windows, self._launch.arrays
        first = np.stack([windows.i0, windows.k0, windows.real])
        self._first = xp.asarray(np.ascontiguousarray(first, dtype=np.int32))
        self._places = xp.asarray(np.stack([windows.x, windows.y, windows.wall]))
        self._near = xp.asarray(np.ascontiguousarray(windows.near, dtype=np.int32))

    def ratios(self, wedges: Wedges, rim: np.ndarray, antenna: np.ndarray) -> Any:
        """Return flux over voltage in windows, as `fdtd.axisymmetric.rim_windows.Windows.ratios` does."""
        xp, windows = self._launch.arrays, self._windows
        each = (wedges.opening, wedges.exponent, wedges.ends, wedges.permittivity, wedges.f, wedges.g)
        fields = xp.asarray(np.concatenate([np.ravel(one) for one in each]).astype(float))
        of = xp.asarray(np.stack([rim, antenna]).astype(np.int32))
        found = xp.empty((2, len(rim), WINDOW, WINDOW))
        grid, near = windows.grid, windows.near.shape[1]
        self._launch(
            text(), "window_ratios", (len(rim), 1), THREADS, len(rim), len(wedges.ends), fields, of,
            *windows.real.shape, self._places, self._first, near, self._near, grid.nr, grid.nz,
            xp.ascontiguousarray(windows.conducts), found,
        )  # fmt: skip
        return found

    def correct(self, in_air: Any, ratios: Any, permittivity: Any, open_length: Any, open_area: Any) -> None:
        """Correct all rims in place.

        Args:
            in_air: Ratios with air around the rims, (2, rims, antennas, window, window).
            ratios: With the media there, (2, rims, batch, window, window), or `in_air` itself.
            permittivity: See `fdtd.axisymmetric.rims.edge_conditions`.
            open_length: The same.
            open_area: The same.
        """
        xp, grid = self._launch.arrays, self._windows.grid
        count, antennas = self._windows.real.shape
        least, (near, far) = rims.least_coefficient(grid), rims.allowed(grid)
        least_phi = xp.empty((count, antennas, WINDOW, WINDOW))
        self._launch(
            text(), "correct_areas", (antennas, 1), THREADS, count, antennas, self._first, grid.nr, grid.nz,
            least, near, far, xp.ascontiguousarray(in_air), open_length, open_area, least_phi,
        )  # fmt: skip
        self._launch(
            text(), "correct_edges", (len(permittivity), 1), THREADS, count, antennas, ratios.shape[2],
            self._first, grid.nr, grid.nz, least, xp.ascontiguousarray(ratios), least_phi, open_length, permittivity,
        )  # fmt: skip
