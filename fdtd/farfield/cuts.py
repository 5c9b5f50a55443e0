"""Complex cuts of a far field: both planes, the values between their angles, their sampling.

`Cuts` are those of a field of azimuthal order 1, from 0 to 180 degrees, `Circles` those of any field, all the way
round. With the field (A cos(phi), B sin(phi)) of `fdtd.farfield` and exp(+jwt), E = A and H = -B, so that E(0) = H(0).
Then

- CO = (E + H)/2 and XP = (E - H)/2 are the co- and cross-polar amplitudes in the 45-degree plane (Ludwig's third
  definition). Two feeds in quadrature radiate (E, -jH) exp(-j phi): its circular components are sqrt(2) CO and
  sqrt(2) XP, the same in every plane.
- E and H continue as even functions beyond 0 and 180 degrees. A spherical wave of degree n gives cosines of at most
  n theta, so T equally spaced angles with both ends hold a field of degrees up to T - 1 exactly, and its value at any
  other angle follows from them: by Lagrange's polynomial in cos(theta), whose nodes are Chebyshev's points.

The sources of a field inside a sphere of radius a about the origin give degrees up to about k a + 2 (k a)^(1/3), and
about twice that where the origin lies on the sphere. `theta_intervals` leaves room for both, and for the squares of a
field about the centre: the interpolated field of a point source is within 4e-14 of the exact one a away from the
origin, and within 2e-11 twice as far away (a = 1/2, 5/2, 5, 10 and 30 wavelengths).

One cut's numbers come from the same operations in the same order whatever stands next to it: sums over angles are of
one cut, products with matrices have one cut's shape.

References:
    Hansen (ed.), Spherical Near-Field Antenna Measurements, 1988, ch. 2; Berrut & Trefethen, SIAM Rev. 46 (2004) 501,
    eq. 5.4 (Lagrange's polynomial at Chebyshev's points); Ludwig, IEEE Trans. Antennas Propag. 21 (1973) 116.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fdtd.errors import ConfigError
from fdtd.farfield import directivity, polar_weights

PLANES = ("e", "h", "co", "cross")
"""Components of cuts."""

REFINEMENT = 4
"""Points in place of one sample where a largest value is looked for; a parabola joins three of them."""

_AT_ONCE = 256  # cuts whose interpolation weights are in memory at the same time
_NEVER_ZERO = 1e-300
_ALMOST = 1e-15  # rad: an angle on a sample divides by this, and so takes that sample


@dataclass(frozen=True, kw_only=True, eq=False)
class Cuts:
    """E- and H-plane amplitudes on T equally spaced angles 0 ... 180 degrees.

    Figures that are absolute (dBi) take |E|^2 and |H|^2 for directivity, or for gain where `scaled` made it; all
    others do not depend on the scale.

    Attributes:
        e: E-plane amplitude, complex, (..., T).
        h: H-plane amplitude, complex, (..., T); equal to `e` at theta = 0.
    """

    e: np.ndarray
    h: np.ndarray

    def __post_init__(self) -> None:
        if self.e.shape != self.h.shape or self.e.ndim < 1 or self.e.shape[-1] < 3:
            raise ConfigError(
                f"cuts of shapes {self.e.shape} and {self.h.shape} (must be equal, the last axis at least 3 angles); "
                "give both planes on the same angles"
            )
        for name in ("e", "h"):  # sums over angles run along memory whatever was given
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=complex))

    @classmethod
    def of(cls, a: np.ndarray, b: np.ndarray) -> Cuts:
        """Return the cuts of a far field A, B of shape (..., T), scaled so that |E|^2 and |H|^2 are directivities."""
        power = directivity(a, b)[2]
        scale = 2 / np.sqrt(np.maximum(power, np.finfo(float).tiny))[..., None]
        return cls(e=scale * a, h=-scale * b)

    def scaled(self, efficiency: np.ndarray) -> Cuts:
        """Return the cuts with their powers times an efficiency of shape (...): gain in place of directivity."""
        scale = np.sqrt(np.asarray(efficiency, dtype=float))[..., None]
        return Cuts(e=scale * self.e, h=scale * self.h)

    @property
    def samples(self) -> int:
        """Number of angles, T."""
        return self.e.shape[-1]

    @property
    def theta(self) -> np.ndarray:
        """Angles, rad, (T,)."""
        return np.linspace(0.0, np.pi, self.samples)

    @property
    def co(self) -> np.ndarray:
        """Co-polar amplitude, (..., T)."""
        return (self.e + self.h) / 2

    @property
    def cross(self) -> np.ndarray:
        """Cross-polar amplitude, (..., T)."""
        return (self.e - self.h) / 2

    def component(self, plane: str) -> np.ndarray:
        """Return the amplitude of one of `PLANES`, (..., T)."""
        if plane not in PLANES:
            raise ConfigError(f"plane = {plane!r} is unknown (allowed: {', '.join(PLANES)}); use one of them")
        return getattr(self, plane)

    def within(self, low: float, high: float) -> tuple[Points, ...]:
        """Return the points of a range of angles, rad: those of `window`."""
        return (window(self.samples, low, high),)

    @property
    def boresight(self) -> np.ndarray:
        """Co-polar power at theta = 0, (...); not zero, so that it may divide."""
        return np.maximum(squared((self.e[..., 0] + self.h[..., 0]) / 2), np.finfo(float).tiny)

    @property
    def radiated(self) -> np.ndarray:
        """int_0^pi (|CO|^2 + |XP|^2) sin(theta) d theta, (...): 2 where |E|^2 is directivity."""
        return ((squared(self.e) + squared(self.h)) * polar_weights(self.samples)).sum(axis=-1) / 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Circles:
    """Co-polar amplitudes in the E and the H plane on N equally spaced angles all the way round, N even.

    A cut along a great circle is a trigonometric polynomial whose degree is that of the field's spherical waves, so N
    angles hold degrees below N / 2 exactly. Angles of windows are distances from the axis, on both sides of it.

    Attributes:
        e: Complex, at -180 degrees and on, without 180, (..., N); its square is directivity, as that of `Cuts`.
        h: The same; equal to `e` on the axis.
    """

    e: np.ndarray
    h: np.ndarray

    def __post_init__(self) -> None:
        if self.e.shape != self.h.shape or self.e.ndim < 1 or self.e.shape[-1] < 4 or self.e.shape[-1] % 2:
            raise ConfigError(
                f"circles of shapes {self.e.shape} and {self.h.shape} (must be equal, the last axis an even number of "
                "angles, at least 4); give both planes on the same angles"
            )
        for name in ("e", "h"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=complex))

    def component(self, plane: str) -> np.ndarray:
        """Return the amplitude of plane `e` or `h`, (..., N)."""
        if plane not in ("e", "h"):
            raise ConfigError(f"plane = {plane!r} is of bodies of revolution (allowed here: e, h); use one of them")
        return getattr(self, plane)

    @property
    def boresight(self) -> np.ndarray:
        """Power on the axis, (...); not zero, so that it may divide."""
        return np.maximum(squared(self.e[..., self.e.shape[-1] // 2]), np.finfo(float).tiny)

    def within(self, low: float, high: float) -> tuple[Points, ...]:
        """Return the points between two distances from the axis, rad, on one side of it and on the other."""
        return tuple(_arc(self.e.shape[-1], low, high, side) for side in (1, -1))

    def cone(self, high: float) -> tuple[Points, ...]:
        """Return the points of `quadrature` over a cone, rad, on one side of the axis and on the other."""
        return tuple(_arc_quadrature(self.e.shape[-1], high, side) for side in (1, -1))

    def side(self, plane: str, side: int) -> np.ndarray:
        """Return a plane's samples from the axis to 180 degrees, to one side (1) or the other (-1), (..., N/2 + 1)."""
        values = self.component(plane)
        middle = values.shape[-1] // 2
        whole = np.concatenate([values, values[..., :1]], axis=-1)
        return whole[..., middle:] if side > 0 else whole[..., middle::-1]

    def at(self, plane: str, theta: np.ndarray) -> np.ndarray:
        """Interpolate each cut of a plane to angles of its own.

        Args:
            plane: `e` or `h`.
            theta: rad, one row a cut, (cuts, M); negative on the other side.

        Returns:
            Complex values, (cuts, M).
        """
        values = self.component(plane)
        return (_round(values.shape[-1], theta) @ values.reshape(len(theta), -1, 1))[..., 0]


def squared(values: np.ndarray) -> np.ndarray:
    """|values|^2 of complex values."""
    return np.real(values) ** 2 + np.imag(values) ** 2


def theta_intervals(sphere: float) -> int:
    """Return in how many equal steps to store 0 ... 180 degrees: steps of 1 degree, or of a whole fraction of it.

    No step is larger than 180 / (2.4 k a + 20) degrees: twice the degrees of the field's spherical waves, so that
    powers may be integrated from samples too.

    Args:
        sphere: k a of the sphere that encloses the antenna, at the highest frequency.
    """
    return 180 * max(1, math.ceil((2.4 * sphere + 20) / 180))


@lru_cache(maxsize=8)
def equal_angles(intervals: int) -> np.ndarray:
    """Return 0 ... 180 degrees in equal steps, (intervals + 1,); read only, and the same array each time."""
    theta = np.arange(intervals + 1.0) * (180.0 / intervals)
    theta.setflags(write=False)
    return theta


def sphere_directivity(sphere: float) -> float:
    """Return the usual largest directivity, a ratio, of antennas inside a sphere of k a; no hard bound.

    References:
        R. F. Harrington, J. Res. NBS 64D (1960) 1, eq. 5.
    """
    return sphere**2 + 2 * sphere


def check_window(low: float, high: float, name: str = "theta") -> None:
    """Refuse a window of angles that is none.

    Raises:
        ConfigError: Not 0 <= low < high <= 180 degrees.
    """
    if not 0.0 <= low < high <= np.pi * (1 + 1e-12):
        raise ConfigError(
            f"{name} = {np.rad2deg(low):g} to {np.rad2deg(high):g} deg (must rise, within 0 to 180 deg); correct it"
        )


def check_half_angle(theta: float) -> None:
    """Refuse what is no half angle of a reflector, rad.

    Raises:
        ConfigError: Not above 0 and below 180 degrees.
    """
    if not 0.0 < theta < np.pi:
        raise ConfigError(f"theta = {np.rad2deg(theta):g} deg (must be above 0 and below 180 deg); correct it")


def check_positive(name: str, values: np.ndarray, unit: str) -> None:
    """Refuse lengths or wavenumbers that are not positive.

    Raises:
        ConfigError: One is not.
    """
    wrong = np.asarray(values, dtype=float)[~(np.asarray(values, dtype=float) > 0.0)]
    if wrong.size:
        raise ConfigError(f"{name} = {wrong[0]:g} {unit} (must be > 0); correct it")


@dataclass(frozen=True, kw_only=True, eq=False)
class Points:
    """Angles that cuts of T samples are interpolated to.

    Attributes:
        theta: Angles, rad, (M,).
        weights: Of the integral over the window d theta (Gauss & Legendre), (M,); empty for equally spaced points.
        matrix: Values at the angles from samples, (T, M).
    """

    theta: np.ndarray
    weights: np.ndarray
    matrix: np.ndarray

    def amplitude(self, values: np.ndarray) -> np.ndarray:
        """Interpolate complex samples (..., T): values at the angles, (..., M)."""
        parts = self._parts(values)
        return parts[..., 0, :] + 1j * parts[..., 1, :]

    def power(self, values: np.ndarray) -> np.ndarray:
        """Square of the interpolated amplitude of samples (..., T), (..., M)."""
        parts = self._parts(values)
        parts *= parts
        return parts[..., 0, :] + parts[..., 1, :]

    def _parts(self, values: np.ndarray) -> np.ndarray:
        """Real and imaginary part, (..., 2, M): one product of matrices for each cut, so that bits are its own."""
        return np.stack([np.real(values), np.imag(values)], axis=-2) @ self.matrix


@lru_cache(maxsize=32)
def window(samples: int, low: float, high: float) -> Points:
    """Return equally spaced angles with both ends, at least `REFINEMENT` for each sample and at least five.

    Args:
        samples: T of the cuts.
        low: First angle, rad.
        high: Last angle, rad.
    """
    check_window(low, high)
    count = max(4, math.ceil(REFINEMENT * (samples - 1) * (high - low) / np.pi - 1e-9))
    return _points(samples, np.linspace(low, high, count + 1), np.empty(0))


@lru_cache(maxsize=32)
def _arc(samples: int, low: float, high: float, side: int) -> Points:
    """Return the angles of `window` on one side of the axis, for `Circles` of N samples."""
    return _on_a_side(window(samples // 2 + 1, low, high), samples, side)


@lru_cache(maxsize=32)
def _arc_quadrature(samples: int, high: float, side: int) -> Points:
    """Return the angles and weights of `quadrature` on one side of the axis, for `Circles` of N samples."""
    return _on_a_side(quadrature(samples // 2 + 1, high), samples, side)


def _on_a_side(at: Points, samples: int, side: int) -> Points:
    """Return the same angles and weights on one side of the axis, for `Circles` of N samples."""
    matrix = np.ascontiguousarray(_round(samples, side * at.theta).T)
    matrix.setflags(write=False)
    return Points(theta=at.theta, weights=at.weights, matrix=matrix)


def _round(samples: int, theta: np.ndarray) -> np.ndarray:
    """Return the weights of N samples of a periodic function, from -180 degrees on, at angles (..., M): (..., M, N).

    References:
        Berrut & Trefethen, SIAM Rev. 46 (2004) 501, sec. 7: sin(N x / 2) / (N tan(x / 2)) for even N.
    """
    apart = theta[..., None] - np.pi * (2 * np.arange(samples) / samples - 1)
    apart = np.remainder(apart + np.pi, 2 * np.pi) - np.pi + 2 * _ALMOST
    return np.sin(samples / 2 * apart) / (samples * np.tan(apart / 2))


@lru_cache(maxsize=32)
def quadrature(samples: int, high: float) -> Points:
    """Return the angles and weights of an integral over 0 ... high that is exact for all powers that samples hold.

    Args:
        samples: T of the cuts.
        high: Largest angle, rad.
    """
    check_window(0.0, high)
    node, weight = legendre(12 + math.ceil((samples - 1) * high / 2))
    return _points(samples, high * node, high * weight)


@lru_cache(maxsize=32)
def legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of Gauss & Legendre over 0 ... 1, (count,) each."""
    node, weight = np.polynomial.legendre.leggauss(count)
    return (node + 1) / 2, weight / 2


def _points(samples: int, theta: np.ndarray, weights: np.ndarray) -> Points:
    factors = _barycentric(samples, theta)
    matrix = np.ascontiguousarray((factors / factors.sum(axis=-1, keepdims=True)).T)
    for array in (theta, weights, matrix):
        array.setflags(write=False)
    return Points(theta=theta, weights=weights, matrix=matrix)


def interpolated(values: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Interpolate each cut to angles of its own.

    Args:
        values: Complex samples, (..., T).
        theta: Angles, rad, (..., M).

    Returns:
        Complex values, (..., M).
    """
    samples, points = values.shape[-1], theta.shape[-1]
    rows, angles = values.reshape(-1, samples), theta.reshape(-1, points)
    columns = np.stack([np.real(rows), np.imag(rows), np.ones(rows.shape)], axis=-1)
    out = np.empty(angles.shape, dtype=complex)
    for first in range(0, len(rows), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        real, imaginary, whole = np.moveaxis(_barycentric(samples, angles[some]) @ columns[some], -1, 0)
        out[some] = real / whole + 1j * (imaginary / whole)
    return out.reshape(theta.shape)


def _barycentric(samples: int, theta: np.ndarray) -> np.ndarray:
    """Return the factors of Lagrange's polynomial in cos(theta), up to their sum, (..., M, T).

    An angle on a sample divides by almost nothing in place of nothing, and so takes that sample.
    """
    sign = np.where(np.arange(samples) % 2, -1.0, 1.0)
    sign[[0, -1]] /= 2
    apart = np.cos(theta)[..., None] - np.cos(np.linspace(0.0, np.pi, samples))
    apart += _NEVER_ZERO
    return np.divide(sign, apart, out=apart)


def largest(values: np.ndarray) -> np.ndarray:
    """Largest value of a smooth function from equally spaced samples (..., M): of the samples, or of parabolas.

    A parabola goes through each three samples whose middle one is a local maximum.
    """
    left, centre, right = values[..., :-2], values[..., 1:-1], values[..., 2:]
    peak = (centre >= left) & (centre > right)
    bend = np.where(peak, left - 2 * centre + right, -1.0)
    gain = np.where(peak, (right - left) ** 2 / (-8 * bend), 0.0)
    return np.maximum((centre + gain).max(axis=-1), np.maximum(values[..., 0], values[..., -1]))
