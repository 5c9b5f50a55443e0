"""Physical optics of a feed, a sub-reflector and a dish: the directivity on axis by currents 2 n x H on both.

The feed's own far field, from its focus, excites the sub-reflector's currents. Their field, integrated without further
approximation, excites the dish's. The three fields add on the axis; what the sub-reflector covers of the dish is left
out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def _slope(section: np.ndarray) -> np.ndarray:
    """dz/dr of a surface (points, 2)."""
    return np.gradient(section[:, 1], section[:, 0])


def _ring_weights(section: np.ndarray) -> np.ndarray:
    """Area of each point's ring over its r dphi, by trapezia."""
    return np.gradient(section[:, 0]) * np.hypot(1.0, _slope(section))


def on_axis(feed: Any, focus: float, sub: np.ndarray, dish: np.ndarray, wavenumber: float) -> float:
    """Return the directivity, dBi.

    Args:
        feed: Outcome of the feed alone; its phases count from z = 0.
        focus: Height of the feed's focus, m.
        sub: Points (r, z) of the sub-reflector's surface from the axis to its edge, m, (points, 2).
        dish: The same of the dish.
        wavenumber: Radians a metre.
    """
    theta = np.radians(np.array(feed.theta_deg))
    shift = np.exp(-1j * wavenumber * focus * np.cos(theta))
    planes = [np.array(cut)[0] * shift for cut in (feed.e_plane, feed.h_plane)]
    distance, angle = np.hypot(sub[:, 0], sub[:, 1] - focus), np.arctan2(sub[:, 0], sub[:, 1] - focus)
    wave = np.exp(-1j * wavenumber * distance) / distance
    e, h = ((np.interp(angle, theta, one.real) + 1j * np.interp(angle, theta, one.imag)) * wave for one in planes)
    # eta H = E cos(phi) phi^ + H sin(phi) theta^ of a wave E cos(phi) theta^ - H sin(phi) phi^.
    count = 2 * math.ceil(4 * wavenumber * sub[-1, 0] / 2) + 16
    phi = 2 * np.pi * np.arange(count) / count
    cos, sin = np.cos(phi)[:, None], np.sin(phi)[:, None]
    h_r, h_z, h_phi = h * np.cos(angle) * sin, -h * np.sin(angle) * sin, e * cos
    slope = _slope(sub)
    n_r, n_z = slope / np.hypot(1, slope), -1 / np.hypot(1, slope)
    j_r, j_phi, j_z = -2 * n_z * h_phi, 2 * (n_z * h_r - n_r * h_z), 2 * n_r * h_phi
    current = np.stack([j_r * cos - j_phi * sin, j_r * sin + j_phi * cos, j_z + 0 * cos], axis=-1)
    area = (sub[:, 0] * _ring_weights(sub))[None, :, None] * 2 * np.pi / count
    current = current * area
    source = np.stack([sub[:, 0] * cos, sub[:, 0] * sin, sub[:, 1] + 0 * cos], axis=-1)

    def magnetic(point: np.ndarray) -> np.ndarray:
        away = point - source
        far = np.sqrt((away**2).sum(-1))
        green = (1j * wavenumber + 1 / far) * np.exp(-1j * wavenumber * far) / far**2
        return (np.cross(current, away) * green[..., None]).sum((0, 1)) / (4 * np.pi)

    along = np.array([magnetic(np.array([r, 0.0, z]))[1] for r, z in dish])
    across = np.array([magnetic(np.array([0.0, r, z])) for r, z in dish])
    slope = _slope(dish)
    n_r, n_z = -slope / np.hypot(1, slope), 1 / np.hypot(1, slope)
    current_x = 2 * np.pi * (-n_z * (along + across[:, 1]) + n_r * across[:, 2])
    weights = dish[:, 0] * _ring_weights(dish) * np.where(dish[:, 0] >= sub[-1, 0], 1.0, 0.0)
    total = (current_x * weights * np.exp(1j * wavenumber * dish[:, 1])).sum()
    total = total + (current[..., 0] * np.exp(1j * wavenumber * sub[:, 1])).sum()
    field = -1j * wavenumber / (4 * np.pi) * total + planes[0][0] * np.exp(1j * wavenumber * focus)
    return 20 * math.log10(abs(field))
