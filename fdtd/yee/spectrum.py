"""Transforms of samples at the frequencies, computed while the samples arrive."""

from __future__ import annotations

import numpy as np

from fdtd.yee.ringing import rest_of_transform

FITTED = 48
"""Samples of the box that extrapolation is fitted to."""


def weights(frequencies: np.ndarray, interval: float, first: int, end: int) -> np.ndarray:
    """Return what the samples [first, end) weigh in their transform, complex, s, (F, end - first).

    Args:
        frequencies: Hz, (F,).
        interval: Between samples, s; sample n is of the time (n + 1) interval.
        first: Number of the first.
        end: Number after that of the last.
    """
    return np.exp(np.outer(-2j * np.pi * frequencies * interval, np.arange(first, end) + 1)) * interval


class Accumulator:
    """Spectrum of samples that come in blocks; E and H at their own times."""

    def __init__(self, frequencies: np.ndarray, size: int, interval: float) -> None:
        self._phase = -2j * np.pi * frequencies * interval
        self._frequencies, self._interval = frequencies, interval
        self._last = np.zeros((0, size), np.float32)
        self._taken = 0
        self.values = np.zeros((len(frequencies), size), dtype=complex)

    def __call__(self, first: int, samples: np.ndarray) -> None:
        """Add a block of samples, (samples, size); sample n is of the time (n + 1) interval."""
        factors = weights(self._frequencies, self._interval, first, first + len(samples))
        self._add(factors, samples)
        self._last = np.concatenate([self._last, samples[-FITTED:]])[-FITTED:]
        self._taken = first + len(samples)

    def ring_on(self, rates: np.ndarray, count: int) -> None:
        """Add what waves of these rates, 1/s, do after the last sample; they are fitted to the last `count`."""
        if len(rates) and count > len(rates):
            rest = rest_of_transform(rates, self._interval, count, self._frequencies)
            matrix = np.exp(self._phase * (self._taken + 1))[:, None] * rest
            self._add(matrix, self._last[-count:].astype(float))

    def _add(self, factors: np.ndarray, samples: np.ndarray) -> None:
        """Add samples times factors, (F, samples), in the samples' precision: both parts by one product of matrices."""
        both = np.concatenate([np.real(factors), np.imag(factors)]).astype(samples.dtype) @ samples
        self.values += both[: len(factors)] + 1j * both[len(factors) :]
