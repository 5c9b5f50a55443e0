"""Late-time extrapolation: the fields of a ringing antenna are continued as a sum of damped waves.

Once the source is off, every record is a sum of c exp(p t) with the same rates p: those of the antenna's resonances.
The matrix pencil finds them in the port's voltage; amplitudes of every record follow by least squares, and what the
rest of the transform would add is a geometric series.

References:
    Hua & Sarkar, IEEE Trans. Acoust. Speech Signal Process. 38 (1990) 814 (matrix pencil).
"""

from __future__ import annotations

import numpy as np

_FLOOR = 1e-3  # of the largest singular value: what is below is not a resonance
_MOST = 300  # samples that the pencil is made of
_ROUNDING = 1e-6  # of the largest value of a record
_LONGEST = 20  # times the record
_SLOWEST = 2e-5  # decay a sample, at least: an amplitude that would stay is left out


def ringing_rates(samples: np.ndarray, interval: float, largest: float = 0.0) -> np.ndarray:
    """Return the complex rates of the waves in a record, 1/s, (waves,); all decay.

    Args:
        samples: Record after the source is off, at equal intervals, (samples,).
        interval: s.
        largest: Of the whole record. There are no waves in what has fallen by 120 dB: that is rounding.
    """
    tail = samples[-_MOST:]
    if len(tail) < 8 or not np.abs(tail).max() > _ROUNDING * largest:
        return np.zeros(0, dtype=complex)
    columns = len(tail) // 2
    windows = np.lib.stride_tricks.sliding_window_view(tail, columns + 1)
    _, values, vectors = np.linalg.svd(windows, full_matrices=False)
    kept = vectors[values > _FLOOR * values[0]].conj().T
    before, after = kept[:-1], kept[1:]
    factors = np.linalg.eigvals(np.linalg.pinv(before) @ after)
    factors = factors[(np.abs(factors) < 1 - _SLOWEST) & (np.abs(factors) > 0.1)]
    return np.log(factors) / interval


def amplitudes(rates: np.ndarray, interval: float, count: int) -> np.ndarray:
    """Return the matrix from the last samples of a record to each wave's value one interval later, (waves, count)."""
    if not len(rates):
        return np.zeros((0, count))
    times = (np.arange(count) - count) * interval
    return np.linalg.pinv(np.exp(np.outer(times, rates)))


def rest_of_transform(rates: np.ndarray, interval: float, count: int, frequencies: np.ndarray) -> np.ndarray:
    """Return the matrix from the last samples to what all later ones add to a transform, (frequencies, count).

    The transform is the sum of x[m] exp(-jw m interval) interval, m from 0 one interval after the last sample.
    """
    factors = np.exp((rates[None] - 2j * np.pi * frequencies[:, None]) * interval)
    return interval / (1 - factors) @ amplitudes(rates, interval, count)


def continued(samples: np.ndarray, dt: float, rates: np.ndarray, count: int) -> np.ndarray:
    """Return a real record with what follows it until that has decayed by 80 dB.

    Args:
        samples: (samples,).
        dt: s.
        rates: Of its waves, 1/s.
        count: Last samples that the amplitudes are fitted to.
    """
    if not len(rates) or count <= len(rates):
        return samples
    length = min(int(np.log(1e4) / -np.max(np.real(rates)) / dt), _LONGEST * len(samples))
    first = amplitudes(rates, dt, count) @ samples[-count:]
    steps = np.arange(length)
    rest = np.zeros(length)
    for value, rate in zip(first, rates, strict=True):
        rest += np.real(value * np.exp(rate * dt * steps))
    return np.concatenate([samples, rest])
