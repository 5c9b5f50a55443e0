"""What `sidelobe_db` is, found on a pattern that is known at every angle, by the words of its definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Pattern = Callable[[np.ndarray], np.ndarray]  # dB of angles in degrees
FINE = np.arange(0, 180001) / 1000


def by_the_definition(pattern: Pattern, limit: float = 90.0) -> float | None:
    """Highest lobe or shoulder, dB over boresight, by looking at every 0.001 degrees."""
    level = pattern(FINE) - pattern(FINE[:1])
    rises = np.flatnonzero(np.diff(level) > 1e-12)
    minimum = int(rises[0]) if rises.size else len(FINE) - 1
    peaks = [
        k
        for k in 1 + np.flatnonzero((level[1:-1] >= level[:-2]) & (level[1:-1] > level[2:]))
        if k > minimum and FINE[k] <= limit
    ]
    descent = np.abs(np.gradient(level, FINE))[: minimum + 1]
    slowest = 1 + np.flatnonzero((descent[1:-1] < descent[:-2]) & (descent[1:-1] <= descent[2:]))
    shoulders = [
        k
        for k in slowest
        if level[k] <= -3
        and FINE[k] <= limit
        and descent[k] < descent[:k].max() / 2
        and descent[k:].max() > descent[k] + 1e-6
    ]
    return max((float(level[k]) for k in (*peaks, *shoulders)), default=None)
