"""Spherical waves of cuts: dipoles are one wave each, and moving the origin keeps the power."""

import numpy as np
import pytest

from fdtd.farfield.waves import angular_functions, spherical_waves

THETA = np.radians(np.arange(181.0))
ONE = np.ones_like(THETA, dtype=complex)


def test_dipoles_are_one_wave_each():
    """E of an electric dipole along x: cos(theta) cos(phi), -sin(phi); of a magnetic one along y they change places."""
    for e, h, own in ((np.cos(THETA) + 0j, ONE, 1), (ONE, np.cos(THETA) + 0j, 0)):
        waves = spherical_waves(e, h)
        assert [len(one) for one in waves] == [1, 1]
        assert abs(waves[1 - own][0]) < 1e-14
        # int |E|^2 = 8 pi / 3 is half of the sum of |Q|^2 over m = -1 and 1: the modulus of Q.
        assert abs(waves[own][0]) ** 2 == pytest.approx(8 * np.pi / 3, rel=1e-14)


def test_waves_are_orthonormal():
    """P / sin and dP/dtheta of two degrees: int (product + product) sin = n (n + 1) for one, 0 for two."""
    node, weight = np.polynomial.legendre.leggauss(60)
    ratio, slope = angular_functions(40, np.arccos(node))
    n = np.arange(1, 41)
    np.testing.assert_allclose((ratio * weight) @ ratio.T + (slope * weight) @ slope.T, np.diag(n * (n + 1)), atol=1e-9)


@pytest.mark.parametrize("shift", [0.5, 3.0])
def test_moving_the_origin_keeps_the_power(shift):
    """A Huygens source some wavelengths up the axis.

    1e-12 of the power is d = 6 digits of the amplitude: degrees up to k a + 1.8 d^(2/3) (k a)^(1/3) of the excess
    bandwidth formula, and the source's own degree 1.
    """
    field = (1 + np.cos(THETA)) * np.exp(2j * np.pi * shift * np.cos(THETA))
    first, second = spherical_waves(field, field)
    ka = 2 * np.pi * shift
    assert ka < len(first) <= 1 + ka + 1.8 * 6 ** (2 / 3) * ka ** (1 / 3)
    radiated = np.pi * 2 * 8 / 3  # 2 pi int (1 + cos)^2 sin
    assert (np.abs(first) ** 2 + np.abs(second) ** 2).sum() == pytest.approx(radiated, rel=1e-11)
