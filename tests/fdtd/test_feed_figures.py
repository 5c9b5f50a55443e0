"""Phase centres of sources whose place is known, and Kildal's efficiencies against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from cut_patterns import angles, cosine_power, cuts_of, rippled, uniform_disc
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar

from fdtd.errors import ConfigError
from fdtd.farfield.beams import fall_angle
from fdtd.farfield.cuts import Circles, Cuts, squared, theta_intervals
from fdtd.farfield.feeds import feed_efficiencies, phase_centre, phase_centre_spread

K = 2 * np.pi / 0.01


def displaced(pattern, z: float, wavenumber: float = K, samples: int = 181) -> Cuts:
    """A source with a pattern of even phase at z, with any constant phase."""
    return cuts_of(lambda t: pattern(t) * np.exp(1j * (wavenumber * z * np.cos(t) + 2.7)), samples=samples)


@pytest.mark.parametrize("theta", [None, 0.2, np.deg2rad(40.3), 1.5])
@pytest.mark.parametrize("z", [0.0, 2.6821e-3, -0.013, 0.1])
def test_displaced_point_source(z: float, theta: float | None) -> None:
    """The phase is k z cos(theta) and nothing is left of it: exact to rounding, up to 10 wavelengths away."""
    found = phase_centre(displaced(lambda t: np.cos(t / 2) ** 12, z), np.array(K), theta)
    assert found == pytest.approx(z, abs=1e-12)


def test_source_far_away_in_a_large_antenna() -> None:
    """60 wavelengths off the origin: 377 rad of phase between the axis and 90 degrees, sampled by the rule."""
    samples = theta_intervals(K * 0.6) + 1
    cuts = displaced(uniform_disc(100.0), 0.6, samples=samples)
    for theta in (None, 0.03, 1.2):
        assert phase_centre(cuts, np.array(K), theta) == pytest.approx(0.6, abs=1e-11)


def round_about(place: tuple[float, float, float]) -> Circles:
    """A source beside the axis whose pattern is not even either: E towards +x, H with two lobes and a null between."""
    x, y, z = place
    theta = np.linspace(-np.pi, np.pi, 360, endpoint=False)
    e = (1 + np.cos(theta)) * (1 + 0.3 * np.sin(theta)) * np.exp(1j * K * (z * np.cos(theta) + x * np.sin(theta)))
    h = (1 + np.cos(theta)) * np.cos(2 * theta) * np.exp(1j * K * (z * np.cos(theta) + y * np.sin(theta)))
    return Circles(e=e * np.exp(2.7j), h=h * np.exp(2.7j))


@pytest.mark.parametrize("theta", [0.2, np.deg2rad(40.3), 1.5])
@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (0.0, 0.0, 0.013), (1.3e-3, -0.9e-3, -4e-3), (6e-3, -4e-3, 5e-3)])
def test_source_beside_the_axis(place: tuple[float, float, float], theta: float) -> None:
    """With x and y fitted, z is exact of a source 0.7 wavelengths off the axis; z alone would be millimetres off."""
    assert phase_centre(round_about(place), np.array(K), theta) == pytest.approx(place[2], abs=1e-11)


def test_circles_alone_and_in_a_batch_have_the_same_bits() -> None:
    several = [round_about((1e-4 * n, -2e-4 * n, 1e-3 * n)) for n in range(12)]
    together = Circles(e=np.stack([one.e for one in several]), h=np.stack([one.h for one in several]))
    found = phase_centre(together, np.array(K), 0.7)
    assert np.array_equal(found, [phase_centre(one, np.array(K), 0.7) for one in several])
    dark = Circles(e=several[3].e, h=np.zeros(360))
    assert phase_centre(dark, np.array(K), 0.7) == pytest.approx(3e-3, abs=1e-6)


def test_lobes_of_opposite_sign_and_nulls() -> None:
    """Behind a null the sign changes. That is no displacement: four lobes of a disc still radiate from its middle."""
    cuts = displaced(uniform_disc(20.0), 0.02)
    for degrees in (10.0, 18.0, 50.0):
        assert phase_centre(cuts, np.array(K), np.deg2rad(degrees)) == pytest.approx(0.02, abs=1e-12)


def test_least_squares_weighted_by_power() -> None:
    """E radiates from z1, H from z2 with half the amplitude; a phase error besides. The minimum of the definition.

    Sum over both planes of int |amplitude|^2 (phase - constant - k z cos)^2 sin d theta, minimised by another program
    on the phases that were put in. Equal amplitudes without the error give the middle of z1 and z2.
    """
    z1, z2, end, k = 0.4e-3, -0.7e-3, np.deg2rad(47.3), K
    amplitudes = (lambda t: np.exp(-((t / 0.6) ** 2)), lambda t: np.exp(-((t / 0.45) ** 2)))
    phases = (lambda t: k * z1 * np.cos(t) + 0.3 * np.sin(t) ** 4, lambda t: k * z2 * np.cos(t) - 0.2 * np.sin(t) ** 2)
    e, h = (a(angles()) * np.exp(1j * p(angles())) for a, p in zip(amplitudes, phases, strict=True))
    theta = np.linspace(0, end, 20_001)

    def left(x: np.ndarray) -> float:
        return sum(
            float(np.trapezoid(a(theta) ** 2 * (p(theta) - x[0] - x[1] * np.cos(theta)) ** 2 * np.sin(theta), theta))
            for a, p in zip(amplitudes, phases, strict=True)
        )

    best = minimize(left, [0.0, 0.0], method="BFGS", options={"gtol": 1e-10}).x[1] / k
    found = phase_centre(Cuts(e=e, h=h), np.array(k), end)
    assert found == pytest.approx(best, abs=1e-8)
    assert abs(best - (z1 + z2) / 2) > 5e-5
    same = np.exp(-((angles() / 0.5) ** 2))
    both = Cuts(e=same * np.exp(1j * k * z1 * np.cos(angles())), h=same * np.exp(1j * k * z2 * np.cos(angles())))
    assert phase_centre(both, np.array(k), 0.5) == pytest.approx((z1 + z2) / 2, abs=1e-12)


def test_default_angle_is_that_of_minus_10_db() -> None:
    """Phases that are not those of one point, so that the angle matters."""
    cuts = cuts_of(lambda t: np.exp(-((t / 0.5) ** 2) + 1j * 2 * np.sin(t) ** 4))
    end = float(fall_angle(cuts.co, 10.0))
    assert end == pytest.approx(0.5 * np.sqrt(np.log(10) / 2), abs=1e-9)
    found = phase_centre(cuts, np.array(K))
    assert found == pytest.approx(float(phase_centre(cuts, np.array(K), end)), abs=1e-9)
    assert abs(found - phase_centre(cuts, np.array(K), end * 1.02)) > 1e-6
    assert np.isnan(phase_centre(cuts_of(lambda t: 1 + 0.2 * np.cos(t)), np.array(K)))


def test_frequencies_and_spread() -> None:
    """A wavenumber a frequency, and the distance over which the centre moves in the band."""
    k = np.array([600.0, 630.0, 660.0])
    z = np.array([[1e-3, 3e-3, 2e-3], [0.0, 0.0, 0.5e-3]])
    beam = np.exp(-(angles() ** 2)) * np.exp(1j * (k * z)[..., None] * np.cos(angles()))
    centres = phase_centre(Cuts(e=beam, h=beam), k)
    assert centres == pytest.approx(z, abs=1e-10)  # exp(-theta^2) has a kink at 180 degrees
    assert phase_centre_spread(centres) == pytest.approx([2e-3, 0.5e-3], abs=1e-10)


CLOSED = {
    2: lambda s, c, t: 24 * (s**2 + np.log(c)) ** 2,
    4: lambda s, c, t: 40 * (s**4 + np.log(c)) ** 2,
    6: lambda s, c, t: 14 * (2 * np.log(c) + (1 - np.cos(t)) ** 3 / 3 + np.sin(t) ** 2 / 2) ** 2,
    8: lambda s, c, t: (
        18 * ((1 - np.cos(t) ** 4) / 4 - 2 * np.log(c) - (1 - np.cos(t)) ** 3 / 3 - np.sin(t) ** 2 / 2) ** 2
    ),
}
"""2 (n + 1) cot^2(t/2) [int cos^(n/2) tan(theta/2)]^2 in closed form, up to cot^2(t/2); s, c of t/2 (Balanis, Antenna
Theory, sec. 15.4)."""


@pytest.mark.parametrize("step", [1.0, 2.0])
@pytest.mark.parametrize(
    ("n", "best", "at_deg", "taper_db"),
    [(2, 0.829, 66.0, -7.8), (4, 0.820, 53.3, -8.9), (6, 0.817, 46.0, -9.5), (8, 0.816, 41.0, -9.8)],
)
def test_feeds_of_cosine_power(n: int, best: float, at_deg: float, taper_db: float, step: float) -> None:
    """Each efficiency at any half angle, and the best half angle of all.

    Power cos^n, none behind: spillover 1 - cos^(n+1); XP = 0, so polarisation 1; even phase 1; illumination the rest.
    The kink of cos^(n/2) at 90 degrees rings in the interpolation: 1.1e-5 of the efficiency at n = 2 and 2 degrees.
    """
    cuts = cuts_of(cosine_power(n), samples=round(180 / step) + 1)

    def feed(degrees: float) -> float:
        return float(feed_efficiencies(cuts, np.deg2rad(degrees), np.array(K)).feed)

    found = minimize_scalar(lambda degrees: -feed(degrees), bounds=(30.0, 80.0), method="bounded")
    assert round(-found.fun, 3) == best
    assert found.x == pytest.approx(at_deg, abs=0.08)
    assert round(10 * n * np.log10(np.cos(np.deg2rad(found.x))), 1) == pytest.approx(taper_db, abs=0.11)
    for t in np.deg2rad([at_deg, 35.7]):
        parts = feed_efficiencies(cuts, t, np.array(K))
        closed = CLOSED[n](np.sin(t / 2), np.cos(t / 2), t) / np.tan(t / 2) ** 2
        integral = quad(lambda x: np.cos(x) ** (n / 2) * np.tan(x / 2), 0, t)[0]
        assert 2 * (n + 1) * integral**2 / np.tan(t / 2) ** 2 == pytest.approx(closed, rel=1e-9)
        assert parts.spillover == pytest.approx(1 - np.cos(t) ** (n + 1), abs=2e-5)
        assert parts.polarisation == pytest.approx(1.0, abs=1e-12)
        assert parts.phase == pytest.approx(1.0, abs=1e-12)
        assert parts.illumination * parts.spillover == pytest.approx(closed, abs=2e-5)
        assert parts.feed == pytest.approx(closed, abs=2e-5)


def test_polarisation_and_spillover_of_unequal_planes() -> None:
    """E = c^4, H = c^8 of c = cos(theta/2): powers in closed form with u = c^2, sin d theta = -2 du."""
    cuts = cuts_of(lambda t: np.cos(t / 2) ** 4, lambda t: np.cos(t / 2) ** 8)
    t = 0.9
    whole = lambda p, u: 2 * (1 - u ** (p + 1)) / (p + 1)  # noqa: E731  (int of u^p from the axis to u)
    u = np.cos(t / 2) ** 2
    co = (whole(4, u) + 2 * whole(6, u) + whole(8, u)) / 4
    both = (whole(4, u) + whole(8, u)) / 2
    parts = feed_efficiencies(cuts, t, np.array(K))
    assert parts.polarisation == pytest.approx(co / both, rel=1e-12)
    assert parts.spillover == pytest.approx(both / ((whole(4, 0.0) + whole(8, 0.0)) / 2), rel=1e-12)
    assert parts.feed == parts.spillover * parts.polarisation * parts.illumination * parts.phase


def test_phase_refers_to_the_phase_centre() -> None:
    """A source at z loses nothing in the focus; out of focus by d it loses what a phase k d cos(theta) does."""
    z, t = 7e-3, 0.8
    cuts = displaced(lambda x: np.cos(x / 2) ** 8, z)
    assert feed_efficiencies(cuts, t, np.array(K)).phase == pytest.approx(1.0, abs=1e-12)
    weight = lambda x: np.cos(x / 2) ** 8 * np.tan(x / 2)  # noqa: E731
    for off in (1e-3, 3e-3):
        found = feed_efficiencies(cuts, t, np.array(K), centre=np.array(z - off)).phase
        along, across = (
            quad(lambda x, f=f, off=off: weight(x) * f(K * off * np.cos(x)), 0, t)[0] for f in (np.cos, np.sin)
        )
        assert found == pytest.approx((along**2 + across**2) / quad(weight, 0, t)[0] ** 2, rel=1e-9)
        assert found < 0.998


def test_efficiencies_bound_the_power_on_the_axis() -> None:
    """None is above 1, and their product is 2 cot^2(t0/2) |int CO tan(theta/2)|^2 over all power."""
    cuts, t = rippled(), 0.7
    z = phase_centre(cuts, np.full(3, K), t)
    parts = feed_efficiencies(cuts, t, np.full(3, K))
    for one in (parts.spillover, parts.polarisation, parts.illumination, parts.phase):
        assert one.shape == (6, 3)
        assert ((one > 0) & (one <= 1)).all()
    x = np.linspace(0, t, 20_001)
    wave = np.cos(np.outer(np.arange(181), x))
    series = np.fft.hfft(cuts.co.real)[..., :181] + 1j * np.fft.hfft(cuts.co.imag)[..., :181]
    series[..., [0, -1]] /= 2
    co = (series / 180) @ wave * np.exp(-1j * K * z[..., None] * np.cos(x))
    lit = np.trapezoid(co * np.tan(x / 2), x, axis=-1)
    assert parts.feed == pytest.approx(2 / np.tan(t / 2) ** 2 * squared(lit) / cuts.radiated, rel=1e-6)


def test_what_is_refused() -> None:
    cuts = rippled()
    with pytest.raises(ConfigError, match=r"theta = 180 deg \(must be above 0 and below 180 deg\)"):
        feed_efficiencies(cuts, np.pi, np.array(K))
    with pytest.raises(ConfigError, match=r"wavenumber = 0 rad/m \(must be > 0\)"):
        phase_centre(cuts, np.array([600.0, 0.0, 600.0]))
    with pytest.raises(ConfigError, match=r"theta = 0 to -1"):
        phase_centre(cuts, np.array(K), np.deg2rad(-1))
