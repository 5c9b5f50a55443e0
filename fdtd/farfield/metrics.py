"""Figures of merit of a pattern: directivity, beamwidth, side lobes, front-to-back ratio, cross-polarisation.

All take the far field as A (E_theta in the plane phi = 0, the E-plane) and B (E_phi in the plane phi = 90 degrees, the
H-plane) of a field (A cos(m phi), B sin(m phi)), m >= 1, on equally spaced angles 0 ... 180 degrees.
"""

from __future__ import annotations

import numpy as np

_FLOOR_DB = -120.0  # levels below this are rounding


def polar_weights(samples: int) -> np.ndarray:
    """Weights of int_0^pi f(theta) sin(theta) d theta on equally spaced angles with both ends (Clenshaw & Curtis)."""
    n = samples - 1
    index = np.arange(samples)
    even = np.arange(0, n + 1, 2)
    scale = np.where((even == 0) | (even == n), 0.5, 1.0) * 2.0 / (1.0 - even**2.0)
    weights = 2.0 / n * (np.cos(np.pi * np.outer(index, even) / n) @ scale)
    weights[[0, -1]] /= 2
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


def half_power_beamwidth(pattern_db: np.ndarray, theta_deg: np.ndarray) -> float | None:
    """Full width at half of the boresight level, degrees; None where the level does not fall so far by 180 degrees."""
    level = pattern_db[0] + 10 * np.log10(0.5)
    below = np.nonzero(pattern_db < level)[0]
    if len(below) == 0:
        return None
    k = int(below[0])
    step = (pattern_db[k - 1] - level) / (pattern_db[k - 1] - pattern_db[k])
    return float(2 * (theta_deg[k - 1] + step * (theta_deg[k] - theta_deg[k - 1])))


def side_lobe(patterns_db: list[np.ndarray], theta_deg: np.ndarray, limit_deg: float = 90.0) -> float | None:
    """Highest local maximum beyond the first minimum of any cut, theta up to the limit, dB over boresight; or None."""
    highest = None
    for pattern in patterns_db:
        rises = np.nonzero(np.diff(pattern) > 0)[0]
        if len(rises) == 0:
            continue
        first_minimum = int(rises[0])
        inner = np.arange(first_minimum + 1, len(pattern) - 1)
        inner = inner[theta_deg[inner] <= limit_deg + 1e-9]
        peaks = inner[(pattern[inner] >= pattern[inner - 1]) & (pattern[inner] > pattern[inner + 1])]
        for peak in peaks:
            level = float(_peak_level(pattern, int(peak)) - pattern[0])
            highest = level if highest is None else max(highest, level)
    return highest


def _peak_level(pattern: np.ndarray, k: int) -> float:
    """Height of the parabola through three samples around a maximum."""
    left, centre, right = pattern[k - 1], pattern[k], pattern[k + 1]
    bend = left - 2 * centre + right
    return float(centre - (right - left) ** 2 / (8 * bend)) if bend < 0 else float(centre)


def front_to_back(e_plane_db: np.ndarray) -> float:
    """Boresight over theta = 180 degrees, dB."""
    return float(e_plane_db[0] - e_plane_db[-1])


def cross_polarisation(a: np.ndarray, b: np.ndarray, theta_deg: np.ndarray, limit_deg: float = 90.0) -> float:
    """Largest cross-polar level in the 45-degree plane over co-polar boresight, dB (Ludwig's third definition, m = 1).

    References:
        Ludwig, IEEE Trans. Antennas Propag. 21 (1973) 116: co-polar (A - B)/2, cross-polar (A + B)/2 at 45 degrees.
    """
    near = theta_deg <= limit_deg + 1e-9
    cross = np.abs(a + b)[near].max() ** 2
    return float(decibels(np.array(cross / max(np.abs(a[0] - b[0]) ** 2, np.finfo(float).tiny))))
