"""Efficiencies of feeds without symmetry, from the means over phi of their field."""

from __future__ import annotations

import numpy as np
import pytest
from cut_patterns import cuts_of, of_revolution, on_circles, rippled
from scipy.optimize import minimize_scalar

from fdtd.errors import ConfigError
from fdtd.farfield.cuts import Circles, Cuts
from fdtd.farfield.feeds import FeedEfficiencies, feed_efficiencies, phase_centre
from fdtd.farfield.rings import Rings, rings_of

K = 2 * np.pi / 0.01
ORIGIN = 0.0, 0.0, 0.0
PARTS = "spillover", "bor1", "polarisation", "illumination", "phase", "feed"


def test_a_body_of_revolution_has_the_efficiencies_of_its_cuts() -> None:
    """Random beams with side lobes and cross-polarisation: powers of degree 118 on 181 circles, so to rounding."""
    random, uneven = rippled(), cuts_of(lambda t: np.cos(t / 2) ** 4, lambda t: np.cos(t / 2) ** 8)
    cuts = Cuts(e=np.stack([*random.e[0, :2], uneven.e]), h=np.stack([*random.h[0, :2], uneven.h]))
    rings, wavenumber = rings_of(of_revolution(cuts, 60), np.full(3, K), centre=ORIGIN), np.full(3, K)
    for theta in (0.3, 0.87, 2.0):
        centre = phase_centre(cuts, wavenumber, theta)
        own, of_cuts = (feed_efficiencies(one, theta, wavenumber, centre=centre) for one in (rings, cuts))
        assert (of_cuts.bor1 == 1.0).all() and of_cuts.polarisation[2] < 1 - theta**4 / 400
        for part in PARTS:
            assert getattr(own, part) == pytest.approx(getattr(of_cuts, part), rel=1e-9)


@pytest.mark.parametrize(
    ("n", "best", "at_deg"), [(2, 0.829, 66.0), (4, 0.820, 53.3), (6, 0.817, 46.0), (8, 0.816, 41.0)]
)
def test_feeds_of_cosine_power(n: int, best: float, at_deg: float) -> None:
    """Power cos^n, none behind, no sum of few waves: its kink costs 7e-7 of the spillover at n = 2 with 60 circles."""

    def field(theta: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        level = np.maximum(np.cos(theta), 0.0) ** (n / 2)
        return level * np.cos(phi), -level * np.sin(phi)

    rings = rings_of(on_circles(field, 60)[None], np.array([K]), centre=ORIGIN)

    def efficiencies(degrees: float) -> FeedEfficiencies:
        return feed_efficiencies(rings, np.deg2rad(degrees), np.array([K]), centre=np.zeros(1))

    found = minimize_scalar(lambda degrees: -efficiencies(degrees).feed[0], bounds=(30.0, 80.0), method="bounded")
    assert round(-found.fun, 3) == best
    assert found.x == pytest.approx(at_deg, abs=0.08)
    parts, t = efficiencies(at_deg), np.deg2rad(at_deg)
    assert parts.spillover == pytest.approx(1 - np.cos(t) ** (n + 1), abs=2e-6)
    assert [parts.bor1[0], parts.polarisation[0], parts.phase[0]] == pytest.approx([1.0] * 3, abs=1e-12)


SOURCES = [  # place in m, weights of the sources along x and along y
    ((0.0, 0.0, 2e-3), 1.0, 0.0),
    ((6e-3, 0.0, 1e-3), 0.5, 0.1j),
    ((-5e-3, 1e-3, 0.0), 0.45 + 0.2j, 0.0),
    ((1e-3, 3e-3, -1e-3), 0.3j, 0.15),
    ((0.0, -4e-3, 3e-3), 0.4, -0.05),
]


def of_sources(theta: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E_theta and E_phi of crossed electric and magnetic dipoles, each (1 + cos theta) in its own polarisation."""
    along = np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta) + 0 * phi
    co = cross = 0.0
    for place, x, y in SOURCES:
        turn = (1 + np.cos(theta)) * np.exp(1j * K * sum(a * b for a, b in zip(place, along, strict=True)))
        co, cross = co + x * turn, cross + y * turn
    return co * np.cos(phi) + cross * np.sin(phi), cross * np.cos(phi) - co * np.sin(phi)


def rings_of_sources(rings: int = 24) -> Rings:
    return rings_of(on_circles(of_sources, rings)[None], np.array([K]), centre=ORIGIN)


@pytest.mark.parametrize("theta", [0.4, 1.0, 2.2])
def test_each_efficiency_of_a_feed_without_symmetry(theta: float) -> None:
    """Against the double integrals themselves, and their product against that over the reflector's aperture."""
    z = 1.7e-3
    found = feed_efficiencies(rings_of_sources(), theta, np.array([K]), centre=np.array([z]))

    def integrals(end: float) -> tuple[np.ndarray, ...]:
        node, weight = np.polynomial.legendre.leggauss(80)
        t, phi = (node[:, None] + 1) * end / 2, 2 * np.pi * np.arange(120) / 120
        e = np.stack(np.broadcast_arrays(*of_sources(t, phi))) * np.exp(-1j * K * z * np.cos(t))
        co = e[0] * np.cos(phi) - e[1] * np.sin(phi)
        power = (np.abs(e) ** 2).sum(axis=0)
        terms = [np.abs((one * np.exp(sign * 1j * phi)).mean(axis=1)) ** 2 for one in e for sign in (1, -1)]
        mean, body = co.mean(axis=1), np.sum(terms, axis=0)
        area, t = 2 * np.pi * weight * end / 2, t[:, 0]
        whole, of_body, of_co = (
            (area * one * np.sin(t)).sum() for one in (power.mean(axis=1), body, np.abs(mean) ** 2)
        )
        lit = (area * np.abs(mean) * np.tan(t / 2)).sum() if end < np.pi else np.inf
        summed = (co * np.tan(t / 2)[:, None] * area[:, None]).sum() / len(phi) if end < np.pi else np.inf
        return whole, of_body, of_co, lit, summed

    inside, body, co, lit, summed = integrals(theta)
    all_ = integrals(np.pi)[0]
    factor = 1 / (np.pi * np.tan(theta / 2) ** 2)
    for part, exact in {
        "spillover": inside / all_,
        "bor1": body / inside,
        "polarisation": co / body,
        "illumination": factor * lit**2 / co,
        "phase": np.abs(summed) ** 2 / lit**2,
        "feed": factor * np.abs(summed) ** 2 / all_,
    }.items():
        assert getattr(found, part) == pytest.approx(exact, rel=1e-6)
        assert 0.1 < exact < 0.9995


def test_a_beam_of_unequal_width_loses_power_to_order_3_and_to_cross_polarisation() -> None:
    """CO = C0 + C2 cos(2 phi) without cross-polarisation, as of a long horn.

    E_theta = CO cos(phi) has (C0 + C2/2) cos(phi) in order 1, E_phi = -CO sin(phi) has -(C0 - C2/2) sin(phi). So the
    means over phi of the powers are P = C0^2 + C2^2 / 2 and P1 = C0^2 + C2^2 / 4.
    """

    def parts(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        even = (1 + np.cos(theta)) / 2
        return even, np.sin(theta) ** 2 * even

    def field(theta: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c0, c2 = parts(theta)
        level = c0 + c2 * np.cos(2 * phi)
        return level * np.cos(phi), -level * np.sin(phi)

    end = 1.1
    found = feed_efficiencies(
        rings_of(on_circles(field, 20)[None], np.array([K]), centre=ORIGIN), end, np.array([K]), centre=np.zeros(1)
    )
    node, weight = np.polynomial.legendre.leggauss(40)
    theta = (node + 1) * end / 2
    c0, c2 = parts(theta)
    co, body, power = (float((weight * np.sin(theta) * (c0**2 + share * c2**2)).sum()) for share in (0.0, 0.25, 0.5))
    assert found.bor1[0] == pytest.approx(body / power, abs=1e-12)
    assert found.polarisation[0] == pytest.approx(co / body, abs=1e-12)
    assert body / power < 0.96 and co / body < 0.96


def test_more_directions_change_nothing(measured) -> None:
    """16 circles are what the solver takes for sources within 7 mm at 30 GHz, k a = 4.4: 2e-11 from 48 of them."""
    few, many = (
        feed_efficiencies(rings_of_sources(count), 0.9, np.array([K]), centre=np.zeros(1)) for count in (16, 48)
    )
    for part in PARTS:
        change = abs(getattr(few, part)[0] / getattr(many, part)[0] - 1)
        measured(f"{part} from a third of the directions along each angle", change, at_most=1e-9)


def test_in_the_phase_centre_nothing_is_lost() -> None:
    """Of one source at z, and what its circles say of z."""
    z, t = 7e-3, 0.8

    def field(theta: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        level = (1 + np.cos(theta)) * np.exp(1j * K * z * np.cos(theta))
        return level * np.cos(phi), -level * np.sin(phi)

    rings = rings_of(on_circles(field, 40)[None], np.array([K]), centre=(0.0, 0.0, z))
    around = np.linspace(-np.pi, np.pi, 180, endpoint=False)
    cut = field(around, np.zeros(180))[0][None]
    centre = phase_centre(Circles(e=cut, h=cut), np.array([K]), t)
    assert feed_efficiencies(rings, t, np.array([K]), centre=centre).phase == pytest.approx(1.0, abs=1e-9)
    assert (feed_efficiencies(rings, t, np.array([K]), centre=centre + 3e-3).phase < 0.99).all()


def test_what_is_refused() -> None:
    rings = rings_of_sources()
    with pytest.raises(ConfigError, match="centre is missing; rings have no phase centre of their own"):
        feed_efficiencies(rings, 0.9, np.array([K]))
    for angle in (0, 180):
        with pytest.raises(ConfigError, match=rf"theta = {angle} deg \(must be above 0 and below 180 deg\)"):
            feed_efficiencies(rings, float(np.deg2rad(angle)), np.array([K]), centre=np.zeros(1))
