"""Cuts between their samples: interpolation, integrals, sampling."""

from __future__ import annotations

import numpy as np
import pytest
from cut_patterns import angles, cosine_power, cuts_of, rippled, uniform_disc

from fdtd.errors import ConfigError
from fdtd.farfield import directivity
from fdtd.farfield.cuts import (
    Cuts,
    interpolated,
    largest,
    quadrature,
    sphere_directivity,
    squared,
    theta_intervals,
    window,
)


@pytest.mark.parametrize(("radius", "least"), [(0.5, 29), (5.0, 97), (30.0, 474)])
@pytest.mark.parametrize(("offset", "error"), [(1.0, 1e-12), (2.0, 1e-10)])
def test_interpolation_is_exact_at_the_sampling_rule(radius: float, least: int, offset: float, error: float) -> None:
    """A point source on the sphere about the origin, and twice as far: an origin on the rim of the sphere.

    exp(j x cos theta), x = k z, has degrees up to about x + 2 x^(1/3), samples hold 2.4 k a + 20. Measured: 3e-14 and,
    where x is 2 k a, 1.5e-11.
    """
    ka = 2 * np.pi * radius
    samples = int(np.ceil(2.4 * ka + 20)) + 1
    assert samples == least
    source = lambda theta: np.exp(1j * offset * ka * np.cos(theta))  # noqa: E731
    at = window(samples, 0.31, 1.07)
    assert at.theta[[0, -1]] == pytest.approx([0.31, 1.07], abs=1e-15)
    exact = source(at.theta)
    assert np.abs(at.amplitude(source(angles(samples))) - exact).max() < error
    assert at.power(source(angles(samples))) == pytest.approx(1.0, abs=2 * error)
    assert np.abs(interpolated(source(angles(samples))[None], at.theta[None])[0] - exact).max() < error


def test_interpolation_at_samples_and_close_to_them() -> None:
    values = uniform_disc(20.0)(angles()) * np.exp(0.3j)
    near = np.array([angles()[40], angles()[40] * (1 + 2e-16), np.nextafter(angles()[40], 4), 0.0, np.pi])
    expected = values[[40, 40, 40, 0, 180]]
    assert interpolated(values[None], near[None])[0] == pytest.approx(expected, abs=1e-13)


def test_integrals_of_part_of_the_sphere() -> None:
    """cos^4(theta/2) = (1 + c)^2/4: int_0^t sin = [8 - (1 + cos t)^3]/12."""
    cuts = cuts_of(lambda theta: np.cos(theta / 2) ** 2)
    for t in (0.4, 1.0, 2.345):
        at = quadrature(181, t)
        found = (at.power(cuts.e) * at.weights * np.sin(at.theta)).sum()
        assert found == pytest.approx((8 - (1 + np.cos(t)) ** 3) / 12, rel=1e-13)
    assert cuts.radiated == pytest.approx(8 / 12, rel=1e-13)


def test_cuts_of_a_far_field_are_directivities() -> None:
    """E = A and H = -B; |E|^2 is the directivity, the power inside the sphere 2; gain is an efficiency less."""
    a, b = 3.7j * cosine_power(4)(angles()), -3.7j * cosine_power(4)(angles())
    cuts = Cuts.of(a, b)
    assert squared(cuts.e) == pytest.approx(directivity(a, b)[0], rel=1e-12)
    assert squared(cuts.h) == pytest.approx(directivity(a, b)[1], rel=1e-12)
    assert cuts.e[0] == cuts.h[0]
    assert cuts.boresight == pytest.approx(10.0, rel=1e-6)  # 2 (n + 1), n = 4; the kink at 90 degrees costs 1e-8
    assert cuts.radiated == pytest.approx(2.0, rel=1e-12)
    assert cuts.scaled(np.array(0.5)).boresight == pytest.approx(5.0, rel=1e-6)


def test_co_and_cross_are_ludwigs_in_the_45_degree_plane() -> None:
    """Field (A cos phi, B sin phi): co-polar E_theta cos phi - E_phi sin phi, cross-polar E_theta sin + E_phi cos."""
    cuts = rippled()
    a, b, half = cuts.e, -cuts.h, np.sqrt(0.5)
    e_theta, e_phi = a * half, b * half
    assert cuts.co == pytest.approx(e_theta * half - e_phi * half)
    assert cuts.cross == pytest.approx(e_theta * half + e_phi * half)
    assert cuts.component("cross") == pytest.approx(cuts.cross)


def test_largest_is_a_parabolas_vertex_or_an_end() -> None:
    x = np.linspace(0.0, 1.0, 6)
    assert largest(3 - (x - 0.37) ** 2) == pytest.approx(3.0, abs=1e-12)
    assert largest(np.stack([x, -x])) == pytest.approx([1.0, 0.0])
    assert largest(np.ones(5)) == 1.0


@pytest.mark.parametrize(
    ("sphere", "intervals"), [(0.5, 180), (66.6, 180), (66.7, 360), (141.6, 360), (141.7, 540), (320.0, 900)]
)
def test_step_of_theta(sphere: float, intervals: int) -> None:
    """At most 180 / (2.4 k a + 20) degrees: one degree up to 10.6 wavelengths of radius."""
    assert theta_intervals(sphere) == intervals
    assert 180 / intervals <= 180 / (2.4 * sphere + 20)


def test_directivity_of_the_sphere() -> None:
    """Degrees up to N = k a: N^2 + 2 N (Harrington); N = 1 is the Huygens source's 3."""
    assert sphere_directivity(1.0) == 3.0
    assert sphere_directivity(10.0) == 120.0


def test_what_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"theta = 30 to 20 deg \(must rise"):
        window(181, np.deg2rad(30), np.deg2rad(20))
    with pytest.raises(ConfigError, match=r"0 to 181 deg \(must rise, within 0 to 180 deg\)"):
        quadrature(181, np.deg2rad(181))
    with pytest.raises(ConfigError, match=r"plane = 'f' is unknown \(allowed: e, h, co, cross\)"):
        rippled().component("f")
    with pytest.raises(ConfigError, match=r"shapes \(3, 181\) and \(181,\)"):
        Cuts(e=np.ones((3, 181)), h=np.ones(181))
