"""Spectra of a device's records, and power through a contour: on the host `fdtd.axisymmetric.solutions` has arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from fdtd.backends.cuda.rasterise import Launcher, launcher
from fdtd.backends.cuda.text import REALS, flatten

_NUMBERS, _SLICES, _FLUX_THREADS = 32, 8, 128  # of a block


@lru_cache(maxsize=2)
def text(precision: str) -> str:
    """Return the kernel's text for records of a precision, flattened."""
    macros = {"REAL": REALS[precision], "NUMBERS": _NUMBERS, "SLICES": _SLICES, "THREADS": _FLUX_THREADS}
    return flatten("kernels/axisymmetric/spectra.cu", macros)


def spectra(samples: Any, counts: Any, waves: Any, weights: Any = None, launch: Launcher | None = None) -> Any:
    """Return sum_n x_n exp(-jwt_n) of each antenna's record; its bits depend on that record alone.

    Args:
        samples: Records, (antennas, samples, numbers), float32 or float64.
        counts: Samples of each antenna that count, int32.
        waves: cos(wt) and -sin(wt), (samples, frequencies, 2).
        weights: Of the samples; 1 if None.
        launch: Starts kernels; the device's if None.

    Returns:
        Complex, (antennas, frequencies, numbers).
    """
    launch = launch or launcher()
    (antennas, length, numbers), frequencies = samples.shape, waves.shape[1]
    found = launch.arrays.empty((antennas, frequencies, numbers), dtype=complex)
    launch(
        text(str(samples.dtype)), "spectra", (-(-numbers // _NUMBERS), antennas), _NUMBERS * _SLICES,
        samples, length, numbers, counts, weights, waves, frequencies, found,
    )  # fmt: skip
    return found


def flux(spectra: Any, pairs: Any, launch: Launcher | None = None) -> Any:
    """Return the power through a contour; see `fdtd.farfield.axisymmetric.contour_power`.

    Args:
        spectra: Complex, (antennas, frequencies, numbers).
        pairs: From `fdtd.farfield.axisymmetric.flux_pairs`.
        launch: Starts kernels; the device's if None.

    Returns:
        (antennas, frequencies).
    """
    launch = launch or launcher()
    *shape, numbers = spectra.shape
    found = launch.arrays.empty(shape)
    launch(
        text("float64"), "flux", (int(np.prod(shape)), 1), _FLUX_THREADS, spectra, numbers, pairs, pairs.shape[1], found
    )
    return found
