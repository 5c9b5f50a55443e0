"""Figures of a batch's patterns in two launches: what `fdtd.farfield` computes with arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from fdtd import farfield
from fdtd.arrays import kept
from fdtd.backends.cuda.rasterise import THREADS, Launcher, launcher
from fdtd.backends.cuda.text import flatten

NUMBERS = 10  # of a row, in the order of patterns.cu


@lru_cache(maxsize=1)
def text() -> str:
    """Return the kernels' text, flattened."""
    names = ("HALF_DB", "HALVINGS", "ROUNDING_DB", "SAME_LEVEL", "SAME_DESCENT")
    names += ("SHOULDER_BELOW_DB", "SHOULDER_DESCENT")
    macros = {name: repr(getattr(farfield, name)) for name in names}
    macros |= {"DIGITS": repr(10.0**farfield.EXACT_DIGITS), "FLOOR": repr(10 ** (farfield.FLOOR_DB / 10))}
    return flatten("kernels/axisymmetric/patterns.cu", {**macros, "THREADS": THREADS})


@lru_cache(maxsize=8)
def _constants(xp: Any, angles: int) -> tuple[Any, Any]:
    """Return weights and angles, degrees, of equally spaced angles; a device keeps them."""
    return tuple(kept(xp, one) for one in (farfield.polar_weights(angles), np.linspace(0.0, 180.0, angles)))


def patterns(a: Any, b: Any, launch: Launcher | None = None) -> Any:
    """Return figures of patterns; those of an antenna depend on its own far field alone.

    Args:
        a: Far field A at equally spaced angles, complex, (antennas, F, T); see `fdtd.farfield`.
        b: Far field B.
        launch: Starts kernels; the device's if None.

    Returns:
        For `fdtd.farfield.Beams.of`, (antennas, F, NUMBERS).
    """
    launch = launch or launcher()
    xp, (antennas, frequencies, angles) = launch.arrays, a.shape
    rows, (weights, theta_deg) = antennas * frequencies, _constants(xp, angles)
    a, b = xp.ascontiguousarray(a), xp.ascontiguousarray(b)
    levels, found = xp.empty((2, angles, rows)), xp.empty((antennas, frequencies, NUMBERS))
    step = 180.0 / (angles - 1)
    near = int(farfield.LIMIT_DEG / step + 1e-9) + 1
    limit = farfield.LIMIT_DEG / step + 1e-3  # as in `fdtd.farfield.cut_lobe`
    launch(text(), "levels", (rows, 1), THREADS, a, b, rows, angles, near, weights, levels, found)
    launch(text(), "beams", (-(-2 * rows // THREADS), 1), THREADS, levels, rows, angles, theta_deg, limit, found)
    return found
