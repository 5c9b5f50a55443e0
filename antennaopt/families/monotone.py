"""Monotone cubics through points (PCHIP): equal to SciPy's, to the bit, without the second that its import takes.

Derivatives at the points are weighted harmonic means of the slopes on either side (Fritsch & Butland, SIAM J. Sci.
Stat. Comput. 5 (1984) 300), at the ends three-point estimates that keep the shape (Moler, Numerical Computing with
MATLAB, section 3.6).
"""

from __future__ import annotations

import numpy as np


def monotone_cubics(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the cubics between points.

    Args:
        x: Places of the points, rising, shape (points,), at least three.
        y: Values there, shape (points, curves).

    Returns:
        Coefficients of powers of the distance from a piece's first point, highest first, shape
        (4, points - 1, curves).
    """
    step = np.diff(x)[:, None]
    slope = np.diff(y, axis=0) / step
    first = _derivatives(step, slope)
    bend = (first[:-1] + first[1:] - 2 * slope) / step
    return np.stack([bend / step, (slope - first[:-1]) / step - bend, first[:-1], y[:-1]])


def _derivatives(step: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return the derivatives at the points, shape (points, curves)."""
    left, right = slope[:-1], slope[1:]
    flat = (np.sign(right) != np.sign(left)) | (right == 0) | (left == 0)
    to_left, to_right = 2 * step[1:] + step[:-1], step[1:] + 2 * step[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = 1.0 / ((to_left / left + to_right / right) / (to_left + to_right))
    ends = [_end(*steps, *slopes) for steps, slopes in ((step[:2], slope[:2]), (step[:-3:-1], slope[:-3:-1]))]
    return np.concatenate([ends[0][None], np.where(flat, 0.0, inner), ends[1][None]])


def _end(step: np.ndarray, next_step: np.ndarray, slope: np.ndarray, next_slope: np.ndarray) -> np.ndarray:
    found = ((2 * step + next_step) * slope - step * next_slope) / (step + next_step)
    turns = np.sign(found) != np.sign(slope)
    steep = ~turns & (np.sign(slope) != np.sign(next_slope)) & (np.abs(found) > 3.0 * np.abs(slope))
    return np.where(turns, 0.0, np.where(steep, 3.0 * slope, found))
