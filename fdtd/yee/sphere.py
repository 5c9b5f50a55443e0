"""Directions of the far field of an antenna in three dimensions: three cuts, and the whole sphere for the power."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.constants import speed_of_light

from fdtd.farfield.box import DARK, HuygensBox

CUTS_DEG = (0.0, 45.0, 90.0)
"""Planes phi of the far-field cuts, degrees."""
_DIGITS, _LEAST_ORDER = 6, 8  # of the waves that the integral over the sphere holds


@dataclass(frozen=True, kw_only=True, eq=False)
class Directions:
    """Directions of a far field: those of the cuts, then those of the integral over the sphere.

    Attributes:
        theta_deg: Of each cut.
        theta: rad, (directions,).
        phi: rad, (directions,).
        weights: Of the directions on the sphere.
        rings: Number of circles of latitude on the sphere, and of directions on each.
    """

    theta_deg: tuple[float, ...]
    theta: np.ndarray
    phi: np.ndarray
    weights: np.ndarray
    rings: tuple[int, int]

    @property
    def cuts(self) -> tuple[int, int]:
        """Number of cuts, and of directions on each."""
        return len(CUTS_DEG), len(self.theta_deg)

    def in_front_of(self, box: HuygensBox) -> np.ndarray:
        """Return the weights where nothing is behind electric walls: directions along a wall count half."""
        first, weights = math.prod(self.cuts), self.weights
        theta, phi = self.theta[first:], self.phi[first:]
        along = np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)
        for axis, _, kind in box.walls:
            if kind == "electric":
                weights = np.where(np.abs(along[axis]) <= DARK, weights / 2, weights)
        return weights


@lru_cache(maxsize=32)
def directions_of(theta_deg: tuple[float, ...], order: int) -> Directions:
    """Return the cuts' directions, and those of Gauss's rule in cos(theta) and equal steps in phi.

    The rule is exact for waves of degrees below `order`, whose intensity has twice the degree.
    """
    cosine, weights = np.polynomial.legendre.leggauss(order + order % 2)
    phi = np.arange(2 * order) * np.pi / order
    return Directions(
        theta_deg=theta_deg,
        theta=np.concatenate([np.deg2rad(np.tile(theta_deg, len(CUTS_DEG))), np.repeat(np.arccos(cosine), len(phi))]),
        phi=np.concatenate([np.deg2rad(np.repeat(CUTS_DEG, len(theta_deg))), np.tile(phi, len(cosine))]),
        weights=np.repeat(weights, len(phi)) * np.pi / order,
        rings=(len(cosine), len(phi)),
    )


def sphere_order(box: HuygensBox, frequencies: np.ndarray) -> int:
    """Return the degree below which all waves in the far field lie, but for a millionth of their amplitude.

    Sources inside a sphere of radius a about any point give waves of degree n as j_n(x), x = k a; with walls the images
    are sources too. Beyond n = x that falls as Ai((n - x) (2 / x)^(1/3)), and Ai(t) as exp(-2/3 t^(3/2)): by d digits
    at t = (3/2 d ln 10)^(2/3), n = x + 1.81 d^(2/3) x^(1/3). The power has twice the digits.

    References:
        Abramowitz & Stegun, Handbook of Mathematical Functions, eq. 9.3.23 and 10.4.59.
    """
    x = 2 * np.pi * float(frequencies.max()) / speed_of_light * box.radius
    return max(_LEAST_ORDER, math.ceil(x + 1.81 * _DIGITS ** (2 / 3) * x ** (1 / 3)))
