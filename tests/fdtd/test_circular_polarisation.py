"""Circular polarisation of fields that are known everywhere: crossed dipoles in quadrature, and others."""

from __future__ import annotations

import numpy as np
import pytest

from fdtd.errors import ConfigError
from fdtd.farfield.beams import axial_ratio_db
from fdtd.farfield.cuts import Cuts
from fdtd.farfield.feeds import feed_efficiencies
from fdtd.farfield.polarisation import components
from fdtd.farfield.rings import Rings, axial_ratio_of_rings_db, crosspol_of_rings_db, rings_of

ORIGIN = 0.0, 0.0, 0.0
CONES = 0.3, 0.7777, np.deg2rad(60.0), 1.4
QUADRATURE = -1j
"""Moment along y over that along x of a right-handed pair: E turns from x to y, seen along the wave clockwise."""


def radiated(y: complex, theta: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E_theta and E_phi of electric dipoles along x, of moment 1, and along y: their parts across the direction."""
    return np.cos(theta) * (np.cos(phi) + y * np.sin(phi)), -np.sin(phi) + y * np.cos(phi)


def rings_with(y: complex, polarisation: str, place: float = 0.0) -> Rings:
    """Of dipoles beside the axis if `place`, m along x at 1 rad/m; the field has few waves about the dipoles."""
    theta = np.arccos(np.polynomial.legendre.leggauss(8)[0])[:, None]
    phi = np.pi * np.arange(16) / 8
    path = np.exp(1j * place * np.sin(theta) * np.cos(phi))
    field = np.stack([path * part for part in radiated(y, theta, phi)], axis=-1)
    return rings_of(field[None] + 0j, np.ones(1), centre=(place, 0.0, 0.0), polarisation=polarisation)


def axes_db(e_theta: np.ndarray, e_phi: np.ndarray) -> np.ndarray:
    """Ratio of the axes of the ellipse that Re(E exp(jwt)) draws: its squares are (|E|^2 +- |E.E|) / 2."""
    power, square = np.abs(e_theta) ** 2 + np.abs(e_phi) ** 2, np.abs(e_theta**2 + e_phi**2)
    return 10 * np.log10((power + square) / (power - square))


@pytest.mark.parametrize("place", [0.0, 3.0])
@pytest.mark.parametrize(("y", "polarisation"), [(QUADRATURE, "rhcp"), (-QUADRATURE, "lhcp")])
def test_dipoles_in_quadrature(y, polarisation, place) -> None:
    """0 dB on the axis, 1 / cos(theta) elsewhere; of the other sense there is no axial ratio but the limit."""
    found = rings_with(y, polarisation, place)
    assert axial_ratio_of_rings_db(found, 0.0) == pytest.approx(0.0, abs=1e-6)
    for theta in CONES:
        assert axial_ratio_of_rings_db(found, theta) == pytest.approx(-20 * np.log10(np.cos(theta)), abs=2e-3)
    (other,) = {"rhcp", "lhcp"} - {polarisation}
    assert axial_ratio_of_rings_db(rings_with(y, other, place), 0.0) == 120.0
    assert crosspol_of_rings_db(found, 1.0) == pytest.approx(40 * np.log10(np.sin(0.5)), abs=2e-3)


@pytest.mark.parametrize("y", [0.0, 1.0, 0.5, 1e-12])
@pytest.mark.parametrize("polarisation", ["rhcp", "lhcp"])
def test_linear_has_the_limit(y, polarisation) -> None:
    """One dipole, or two in phase: both senses alike."""
    found = rings_with(y, polarisation)
    for theta in (0.0, *CONES):
        assert axial_ratio_of_rings_db(found, theta) == pytest.approx(120.0, abs=1e-3)
    assert found.ratio is not None and found.ratio.max() <= 1.0
    assert crosspol_of_rings_db(found, 0.1) == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("y", [-0.5j, -0.9j, -2j, 0.3 - 0.6j, np.exp(-1.4j)])
def test_elliptical_in_all_phi(y) -> None:
    """On the axis and in cones, against the ellipses of a dense net of directions; two planes are not enough."""
    found = rings_with(y, "rhcp")
    assert axial_ratio_of_rings_db(found, 0.0) == pytest.approx(axes_db(1.0 + 0j, y), abs=1e-6)
    for theta in CONES[:3]:
        net = np.meshgrid(np.linspace(0, theta, 121), np.linspace(0, 2 * np.pi, 721), indexing="ij")
        exact = axes_db(*radiated(y, *net)).max()
        assert axial_ratio_of_rings_db(found, theta) == pytest.approx(exact, abs=0.01)
    planes = [axes_db(*radiated(y, np.array(CONES[2]), np.array(phi))) for phi in (0.0, np.pi / 2)]
    tilted = abs(complex(y).real) > 1e-9
    assert bool(exact > max(planes) + 0.05) is tilted


def test_right_handed_turns_clockwise_seen_along_the_wave() -> None:
    """By the field itself at four times, on the axis: with exp(+jwt) E of x - jy points to x, then to y."""
    in_time = [np.real(np.array([1.0, QUADRATURE]) * np.exp(0.5j * np.pi * step)) for step in range(4)]
    assert np.allclose(in_time, [[1, 0], [0, 1], [-1, 0], [0, -1]])
    right, left = components(*radiated(QUADRATURE, np.zeros(1), np.zeros(1)), 0.0, "rhcp")
    assert abs(right[0]) == pytest.approx(np.sqrt(2)) and abs(left[0]) < 1e-12


def test_components_keep_the_power_and_are_smooth_on_the_axis() -> None:
    rng = np.random.default_rng(5)
    e_theta, e_phi = rng.standard_normal((2, 50)) + 1j * rng.standard_normal((2, 50))
    for polarisation in ("linear", "rhcp", "lhcp"):
        co, cross = components(e_theta, e_phi, rng.uniform(0, 7, 50), polarisation)
        assert np.abs(co) ** 2 + np.abs(cross) ** 2 == pytest.approx(np.abs(e_theta) ** 2 + np.abs(e_phi) ** 2)
    phi = np.linspace(0, 6, 13)
    for polarisation in ("rhcp", "lhcp"):
        on_axis = components(*radiated(-0.3j, np.zeros(13), phi), phi, polarisation)
        assert np.ptp(on_axis[0]) == pytest.approx(0.0, abs=1e-12)


def test_rings_are_those_of_a_body_of_revolution_with_two_feeds() -> None:
    """Axial ratio and efficiencies are those of its cuts: E and H are cos^2(theta/2) (1 + part sin^2(theta))."""
    samples = np.linspace(0, np.pi, 181)
    planes = [np.cos(samples / 2) ** 2 * (1 + part * np.sin(samples) ** 2) + 0j for part in (0.3, -0.2j)]
    cuts = Cuts(e=planes[0], h=planes[1])
    theta = np.arccos(np.polynomial.legendre.leggauss(12)[0])[:, None]
    phi = np.pi * np.arange(24) / 12
    e, h = (np.cos(theta / 2) ** 2 * (1 + part * np.sin(theta) ** 2) for part in (0.3, -0.2j))
    for polarisation, way in (("rhcp", -1j), ("lhcp", 1j)):
        turn = np.exp(way * phi) / np.sqrt(2)
        field = np.stack([e * turn, way * h * turn], axis=-1)
        found = rings_of(field[None], np.ones(1), centre=ORIGIN, polarisation=polarisation)
        for cone in CONES:
            assert axial_ratio_of_rings_db(found, cone) == pytest.approx(axial_ratio_db(cuts, cone), abs=2e-3)
        ours = feed_efficiencies(found, 1.0, np.ones(1), centre=np.zeros(1))
        theirs = feed_efficiencies(cuts, 1.0, np.ones(1), centre=np.zeros(1))
        for part in ("spillover", "polarisation", "illumination", "phase", "feed"):
            assert getattr(ours, part) == pytest.approx(getattr(theirs, part), abs=1e-6)


def test_refused() -> None:
    with pytest.raises(ConfigError, match="polarisation = 'left' is unknown"):
        components(np.ones(1), np.ones(1), 0.0, "left")
    with pytest.raises(ConfigError, match="is of circular polarisation"):
        axial_ratio_of_rings_db(rings_with(QUADRATURE, "linear"), 0.3)
    for theta in (-0.1, 4.0):
        with pytest.raises(ConfigError, match="must rise, within 0 to 180 deg"):
            axial_ratio_of_rings_db(rings_with(QUADRATURE, "rhcp"), theta)
