"""Spectra of a device's records in one launch: what `fdtd.axisymmetric.solutions` does with arrays on the host."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from fdtd.backends.cuda.rasterise import Launcher, launcher
from fdtd.backends.cuda.text import REALS, flatten

_NUMBERS, _THREADS = 32, 256  # of a block, as in the kernel


@lru_cache(maxsize=2)
def text(precision: str) -> str:
    """Return the kernel's text for records of a precision, flattened."""
    return flatten("kernels/axisymmetric/spectra.cu", {"REAL": REALS[precision]})


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
        text(str(samples.dtype)), "spectra", (-(-numbers // _NUMBERS), antennas), _THREADS,
        samples, length, numbers, counts, weights, waves, frequencies, found,
    )  # fmt: skip
    return found
