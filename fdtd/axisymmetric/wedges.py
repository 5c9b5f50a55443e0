"""The static field around rims of metal, many at a time.

In the plane (r, z) a rim is a wedge outside which rho^nu f(phi) is harmonic, f = 0 on both walls. Where dielectrics
meet at the rim, f is joined at their borders with continuous eps f'.

References:
    Meixner, IEEE Trans. Antennas Propag. 20 (1972) 442 (edge condition); Van Bladel, Singular Electromagnetic Fields
    and Sources (1991), ch. 4 (dielectric and metal wedges).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from fdtd.arrays import library

_TRIALS = (0.3, 1.2, 181)  # exponents among which the first change of sign is looked for
_HALVINGS = 50
_LOOKED_AT = 721  # angles at which the largest f is looked for


@dataclass(frozen=True, kw_only=True)
class Wedges:
    """Wedges whose walls stand at the angles 0 and `opening`, V = 0 on both.

    V = rho^nu f, W = -rho^nu g with g = eps f' / nu; nu is the smallest exponent with f = 0 on the second wall, and the
    largest f is 1. Sectors without width fill the arrays up.

    Attributes:
        opening: Angle outside the metal, rad, (wedges,).
        exponent: nu, (wedges,).
        ends: Where each sector ends, rad from the first wall, (sectors, wedges).
        permittivity: Of each sector, relative, the same shape.
        f, g: At each sector's start, the same shape.
    """

    opening: np.ndarray
    exponent: np.ndarray
    ends: np.ndarray
    permittivity: np.ndarray
    f: np.ndarray
    g: np.ndarray

    @classmethod
    def in_air(cls, opening: np.ndarray) -> Wedges:
        """Return wedges with one medium around them, of permittivity 1."""
        one = np.ones((1, *opening.shape))
        return cls(opening=opening, exponent=np.pi / opening, ends=opening * one, permittivity=one, f=0 * one, g=one)

    @classmethod
    def of(cls, ends: np.ndarray, permittivity: np.ndarray) -> Wedges:
        """Return wedges with at least two media around them.

        Args:
            ends: Where each sector ends, rad from the first wall, (sectors, wedges); the last one at the second wall.
            permittivity: Of each sector, relative, the same shape.
        """
        return _joined(ends.tobytes(), permittivity.tobytes(), len(ends))

    def moved(self, xp: Any) -> Wedges:
        """Return the same with the arrays of a library."""
        return Wedges(**{one.name: xp.asarray(getattr(self, one.name)) for one in fields(self)})

    def some(self, which: np.ndarray | slice) -> Wedges:
        """Return some of the wedges, by number."""
        return Wedges(**{one.name: getattr(self, one.name)[..., which] for one in fields(self)})

    def angular(self, angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f and g at angles from the first wall, rad, (wedges, ...)."""

        def of(one: np.ndarray) -> np.ndarray:
            return one.reshape(-1, *(1,) * (angle.ndim - 1))

        exponent, start = of(self.exponent), of(0 * self.opening)
        f, g = np.zeros_like(angle), np.zeros_like(angle)
        for end, eps, value, slope in zip(*map(list, (self.ends, self.permittivity, self.f, self.g)), strict=True):
            here, turn = (angle >= start) & (angle <= of(end)), exponent * (angle - start)
            cosine, sine = np.cos(turn), np.sin(turn)
            f = np.where(here, of(value) * cosine + of(slope / eps) * sine, f)
            g = np.where(here, of(slope) * cosine - of(eps * value) * sine, g)
            start = of(end)
        return f, g

    def potential(self, x: np.ndarray, y: np.ndarray, wall: np.ndarray) -> np.ndarray:
        """Return V at places from the rim, (wedges, ...), 0 in the metal; the first wall stands at the angle `wall`."""
        angle, opening = _from_wall(x, y, wall), _along(self.opening, x)
        f = self.angular(np.minimum(angle, opening))[0]
        return np.where(angle > opening, 0.0, np.hypot(x, y) ** _along(self.exponent, x) * f)

    def flux(self, x: np.ndarray, y: np.ndarray, wall: np.ndarray) -> np.ndarray:
        """Return W at places from the rim; in the metal, of the nearest place on a wall, where the flux ends."""
        angle, opening = _from_wall(x, y, wall), _along(self.opening, x)
        exponent, away = _along(self.exponent, x), np.hypot(x, y)
        g = self.angular(np.minimum(angle, opening))[1]
        in_metal = angle > opening
        on_second = in_metal & (angle < opening / 2 + np.pi)
        beyond = np.where(on_second, angle - opening, 2 * np.pi - angle)
        foot = away * np.maximum(np.cos(beyond), 0.0)
        ends = self.angular(library(x).stack([0 * self.opening, self.opening], axis=1))[1]
        at_wall = np.where(on_second, _along(ends[:, 1], x), _along(ends[:, 0], x))
        return -(np.where(in_metal, foot, away) ** exponent * np.where(in_metal, at_wall, g))


@lru_cache(maxsize=32)
def _joined(ends: bytes, permittivity: bytes, sectors: int) -> Wedges:
    """Return wedges with several media; kept, for in most studies all batches have the same media around the feed."""
    borders, eps = (np.frombuffer(one).reshape(sectors, -1) for one in (ends, permittivity))
    exponent = _smallest_exponent(borders, eps)
    starts = _join(exponent, borders, eps)[:-1]
    f, g = (np.stack(one) for one in zip(*starts, strict=True))
    found = Wedges(opening=borders[-1], exponent=exponent, ends=borders, permittivity=eps, f=f, g=g)
    angles = np.linspace(0.0, 1.0, _LOOKED_AT) * borders[-1][:, None]
    largest = np.abs(found.angular(angles)[0]).max(axis=1)
    return replace(found, f=f / largest, g=g / largest)


def _along(one: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return one number a wedge for each of its points.

    Repeated in memory: how a library rounds powers may depend on strides, and so on how many wedges there are.
    """
    return np.broadcast_to(one.reshape(-1, *(1,) * (points.ndim - 1)), points.shape).copy()


def _from_wall(x: np.ndarray, y: np.ndarray, wall: np.ndarray) -> np.ndarray:
    """Return the angle from a wall, 0 ... 2 pi, counterclockwise from r to z; places on the wall itself count as 0."""
    tiny = 1e-9
    return np.maximum(np.mod(np.arctan2(y, x) - _along(wall, x) + tiny, 2 * np.pi) - tiny, 0.0)


def _smallest_exponent(ends: np.ndarray, permittivity: np.ndarray) -> np.ndarray:
    """Bisect f on the second wall."""
    trial = np.linspace(*_TRIALS)
    at_wall = _join(trial[:, None] * np.ones(ends.shape[1]), ends, permittivity)[-1][0]
    first = np.argmax((at_wall[:-1] > 0) & (at_wall[1:] <= 0), axis=0)
    low, high = trial[first], trial[first + 1]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        positive = _join(middle, ends, permittivity)[-1][0] > 0
        low, high = np.where(positive, middle, low), np.where(positive, high, middle)
    return (low + high) / 2


def _join(exponent: np.ndarray, ends: np.ndarray, permittivity: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return f and g at each sector's start and at the second wall, each of the shape of `exponent`."""
    f, g, start = np.zeros_like(exponent), np.ones_like(exponent), np.zeros_like(ends[0])
    found = []
    for end, eps in zip(ends, permittivity, strict=True):
        found.append((f, g))
        turn = exponent * (end - start)
        cosine, sine = np.cos(turn), np.sin(turn)
        f, g = f * cosine + g / eps * sine, g * cosine - eps * f * sine
        start = end
    return [*found, (f, g)]
