"""Spherical waves of a far field of azimuthal order 1: the coefficients of TICRA's files from complex cuts.

With exp(+jwt) and exp(-jkr), and P the associated Legendre function of degree n and order 1 without the Condon &
Shortley phase, of int P^2 d(cos theta) = 1,

    E = sum over s, m, n of Q_smn f_smn,  c = (-m / |m|)^m exp(-j m phi) / (2 sqrt(pi) sqrt(n (n + 1)))
    f_1mn = -j^(n+1) c (j m P / sin(theta) theta^ + dP/dtheta phi^)
    f_2mn =  j^n     c (dP/dtheta theta^ - j m P / sin(theta) phi^)

Two different waves are orthogonal, and int |f|^2 d(solid angle) = 1/2. A field E_theta = E(theta) cos(phi),
E_phi = -H(theta) sin(phi) has m = +1 and -1 alone, and

    Q_1mn =    -(-j)^n sqrt(pi / (n (n + 1))) int (P / sin(theta) E + dP/dtheta H) sin(theta) dtheta
    Q_2mn = -m (-j)^n sqrt(pi / (n (n + 1))) int (dP/dtheta E + P / sin(theta) H) sin(theta) dtheta

References:
    Hansen (ed.), Spherical Near-Field Antenna Measurements, 1988, sec. 2.2 and A1 (there with exp(-iwt): conjugated).
"""

from __future__ import annotations

import numpy as np

from fdtd.farfield import polar_weights

NEGLIGIBLE = 1e-12
"""Share of the power that the degrees left out may have."""


def angular_functions(degrees: int, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return P / sin(theta) and dP/dtheta of order 1 and degrees 1 ... N, (N, T) each.

    Args:
        degrees: N.
        theta: Angles, rad, (T,).

    References:
        Bohren & Huffman, Absorption and Scattering of Light by Small Particles, 1983, eq. 4.47.
    """
    cosine = np.cos(theta)
    ratio, slope = (np.empty((degrees, len(theta))) for _ in range(2))
    before, now = np.zeros_like(cosine), np.ones_like(cosine)
    for n in range(1, degrees + 1):
        norm = np.sqrt((2 * n + 1) / (2 * n * (n + 1)))
        ratio[n - 1] = norm * now
        slope[n - 1] = norm * (n * cosine * now - (n + 1) * before)
        before, now = now, ((2 * n + 1) * cosine * now - (n + 1) * before) / n
    return ratio, slope


def spherical_waves(e: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients Q of a far field from its cuts.

    Args:
        e: E-plane amplitude on T equally spaced angles 0 ... 180 degrees, complex, (T,).
        h: H-plane amplitude, equal to `e` at theta = 0.

    Returns:
        Q_1 of m = +1, which is that of m = -1, and Q_2 of m = +1, which is minus that of m = -1, (N,) each. N is at
        most half of the intervals, up to which the quadrature is exact; the last degrees, which hold less than
        `NEGLIGIBLE` of the power, are left out. With |e|^2 the directivity, the sum of |Q|^2 over all four is 8 pi.
    """
    intervals = len(e) - 1
    degrees = max(intervals // 2, 1)
    ratio, slope = angular_functions(degrees, np.linspace(0.0, np.pi, len(e)))
    weights = polar_weights(len(e))
    n = np.arange(1, degrees + 1)
    scale = -((-1j) ** (n % 4)) * np.sqrt(np.pi / (n * (n + 1)))
    first = scale * (ratio @ (weights * e) + slope @ (weights * h))
    second = scale * (slope @ (weights * e) + ratio @ (weights * h))
    power = np.abs(first) ** 2 + np.abs(second) ** 2
    beyond = np.cumsum(power[::-1])[::-1]
    kept = max(int((beyond > NEGLIGIBLE * power.sum()).sum()), 1)
    return first[:kept], second[:kept]
