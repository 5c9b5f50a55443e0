"""Figures of merit of a pattern: directivity, beamwidth, side lobes, front-to-back ratio, cross-polarisation.

All take the far field as A (E_theta in the plane phi = 0, the E-plane) and B (E_phi in the plane phi = 90 degrees, the
H-plane) of a field (A cos(m phi), B sin(m phi)), m >= 1, on equally spaced angles 0 ... 180 degrees.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_FLOOR_DB = -120.0  # levels below this are rounding


@lru_cache(maxsize=8)
def polar_weights(samples: int) -> np.ndarray:
    """Weights of int_0^pi f(theta) sin(theta) d theta on equally spaced angles with both ends (Clenshaw & Curtis)."""
    n = samples - 1
    index = np.arange(samples)
    even = np.arange(0, n + 1, 2)
    scale = np.where((even == 0) | (even == n), 0.5, 1.0) * 2.0 / (1.0 - even**2.0)
    weights = 2.0 / n * (np.cos(np.pi * np.outer(index, even) / n) @ scale)
    weights[[0, -1]] /= 2
    weights.setflags(write=False)
    return weights


def decibels(ratio: np.ndarray) -> np.ndarray:
    """10 lg of a ratio of powers, not below -120 dB."""
    return 10 * np.log10(np.maximum(ratio, 10 ** (_FLOOR_DB / 10)))


def directivity(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Directivity in both planes, and the power that it is normalised by.

    Args:
        a: Far field A, (..., T).
        b: Far field B, (..., T).

    Returns:
        E-plane and H-plane directivity, ratios (..., T); and int (|A|^2 + |B|^2) sin(theta) d theta, (...): D is
        4 |A|^2 over that.
    """
    power = (np.abs(a) ** 2 + np.abs(b) ** 2) @ polar_weights(a.shape[-1])
    safe = np.maximum(power, np.finfo(float).tiny)[..., None]
    return 4 * np.abs(a) ** 2 / safe, 4 * np.abs(b) ** 2 / safe, power


def half_power_beamwidth(pattern_db: np.ndarray, theta_deg: np.ndarray) -> np.ndarray:
    """Full width at half of the boresight level, degrees, of patterns (..., T); NaN where none falls so far by 180."""
    level = pattern_db[..., :1] + 10 * np.log10(0.5)
    below = pattern_db < level
    k = np.maximum(np.argmax(below, axis=-1), 1)[..., None]
    before, after = (np.take_along_axis(pattern_db, at, -1) for at in (k - 1, k))
    falls = below.any(axis=-1, keepdims=True)
    step = (before - level) / np.where(falls, before - after, 1.0)
    width = 2 * (theta_deg[k - 1] + step * (theta_deg[k] - theta_deg[k - 1]))
    return np.where(falls, width, np.nan)[..., 0]


def side_lobe(e_db: np.ndarray, h_db: np.ndarray, theta_deg: np.ndarray, limit_deg: float = 90.0) -> np.ndarray:
    """Highest local maximum beyond the first minimum of either cut, theta up to the limit, dB over boresight.

    Args:
        e_db: One cut, (..., T).
        h_db: The other, (..., T).
        theta_deg: Angles, (T,).
        limit_deg: Largest angle of a side lobe.

    Returns:
        Levels (...), NaN where there is none.
    """
    highest = np.maximum(*(_highest_lobe(cut, theta_deg, limit_deg) for cut in (e_db, h_db)))
    return np.where(np.isfinite(highest), highest, np.nan)


def _highest_lobe(pattern: np.ndarray, theta_deg: np.ndarray, limit_deg: float) -> np.ndarray:
    """Of one cut, -inf where there is none; a peak's height is that of the parabola through three samples."""
    rises = np.diff(pattern, axis=-1) > 0
    first_minimum = np.where(rises.any(axis=-1), np.argmax(rises, axis=-1), pattern.shape[-1])[..., None]
    left, centre, right = pattern[..., :-2], pattern[..., 1:-1], pattern[..., 2:]
    inner = np.arange(1, pattern.shape[-1] - 1)
    peak = (centre >= left) & (centre > right) & (inner > first_minimum) & (theta_deg[1:-1] <= limit_deg + 1e-9)
    bend = left - 2 * centre + right
    height = np.where(bend < 0, centre - (right - left) ** 2 / (8 * np.where(bend < 0, bend, -1.0)), centre)
    return np.where(peak, height - pattern[..., :1], -np.inf).max(axis=-1)


def front_to_back(e_plane_db: np.ndarray) -> np.ndarray:
    """Boresight over theta = 180 degrees, dB, of patterns (..., T)."""
    return e_plane_db[..., 0] - e_plane_db[..., -1]


def cross_polarisation(a: np.ndarray, b: np.ndarray, theta_deg: np.ndarray, limit_deg: float = 90.0) -> np.ndarray:
    """Largest cross-polar level in the 45-degree plane over co-polar boresight, dB (Ludwig's third definition, m = 1).

    References:
        Ludwig, IEEE Trans. Antennas Propag. 21 (1973) 116: co-polar (A - B)/2, cross-polar (A + B)/2 at 45 degrees.
    """
    near = theta_deg <= limit_deg + 1e-9
    cross = (np.abs(a + b) ** 2)[..., near].max(axis=-1)
    return decibels(cross / np.maximum(np.abs(a[..., 0] - b[..., 0]) ** 2, np.finfo(float).tiny))


def or_none(values: np.ndarray) -> list:
    """Plain numbers of any shape, None for NaN."""
    plain = values.astype(object)
    plain[np.isnan(values)] = None
    return plain.tolist()
