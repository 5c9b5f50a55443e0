"""Widths, levels, cross-polarisation and axial ratio of patterns that are known at every angle."""

from __future__ import annotations

import numpy as np
import pytest
from cut_patterns import Pattern, angles, cosine_power, cuts_of, he11_disc, rippled, te11_disc, uniform_disc
from scipy.optimize import brentq

from fdtd.errors import ConfigError
from fdtd.farfield import cross_polarisation, decibels, half_power_beamwidth
from fdtd.farfield.beams import (
    HALF_POWER_DB,
    LARGEST_DB,
    aperture_efficiency,
    area_efficiency,
    axial_ratio_db,
    beam_symmetry_db,
    beamwidth_deg,
    crosspol_db,
    edge_taper_db,
    fall_angle,
    flatness_db,
    level_db,
)
from fdtd.farfield.cuts import Circles, Cuts, squared, theta_intervals, window

SAMPLES = {1.0: 181, 2.0: 91, 0.3: 601}


def exact_width(pattern: Pattern, level_db: float, first_null: float) -> float:
    """Full width from the pattern itself, degrees."""
    level = np.abs(pattern(np.array([0.0]))[0]) * 10 ** (-level_db / 20)
    return 2 * np.rad2deg(brentq(lambda t: np.abs(pattern(np.array([t]))[0]) - level, 1e-6, first_null, xtol=1e-13))


@pytest.mark.parametrize("level", [1.0, 3.0, 10.0, 20.0])
@pytest.mark.parametrize(("ka", "step"), [(4.0, 0.3), (4.0, 1.0), (4.0, 2.0), (20.0, 1.0), (20.0, 2.0), (60.0, 1.0)])
def test_beamwidth_at_any_level(ka: float, level: float, step: float) -> None:
    """Steps that 2.4 ka + 20 intervals allow, over beams down to 1.6 degrees: within 1e-5 degrees."""
    wide = uniform_disc(ka)
    narrow = uniform_disc(0.8 * ka)
    cuts = cuts_of(narrow, wide, SAMPLES[step])
    null = np.arcsin(min(1.0, 3.8317 / ka))
    assert beamwidth_deg(cuts, "h", level) == pytest.approx(exact_width(wide, level, null), abs=1e-5)
    if ka > 4.0:
        null = np.arcsin(3.8317 / (0.8 * ka))
        assert beamwidth_deg(cuts, "e", level) == pytest.approx(exact_width(narrow, level, null), abs=1e-5)


@pytest.mark.parametrize("ka", [3.0, 10.0, 20.0, 35.0, 47.0, 60.0, 66.0, 67.0, 85.0, 120.0, 141.0, 216.0, 290.0])
def test_half_power_width_is_the_stored_metric(ka: float) -> None:
    """`hpbw_e_deg` reads amplitudes by a cubic, on the angles that a sphere of the disc alone has.

    The steps are largest just below 67, 141 and 216: 1.15 in units of ka sin(theta), of 1.616 at half power. A cubic
    over four samples h apart is off by 9/384 h^4 of the fourth derivative at most. Measured 0.21 % there, 0.02 % where
    steps are half as large; straight lines in dB are up to 7 % short.
    """
    disc, samples = uniform_disc(ka), theta_intervals(ka) + 1
    cuts = cuts_of(disc, disc, samples)
    known = half_power_beamwidth(decibels(squared(cuts.e)), np.rad2deg(cuts.theta))
    exact = exact_width(disc, HALF_POWER_DB, np.arcsin(min(1.0, 3.8317 / ka)))
    assert known == pytest.approx(exact, rel=3e-3 if np.pi / (samples - 1) * ka > 0.6 else 3e-4)


@pytest.mark.parametrize("ka", [20.0, 47.0, 58.7, 60.0, 66.0, 67.0, 120.0, 141.0, 216.0, 290.0])
def test_stored_cross_polarisation_is_read_between_samples(ka: float) -> None:
    """`crosspol_db` of two discs, on the angles that a sphere of the larger one alone has.

    Measured 0.055 dB low at 58.7, 0.041 dB or less at the others; the largest sample is up to 0.34 dB low.
    """
    in_e, in_h, samples = uniform_disc(ka), uniform_disc(0.8 * ka), theta_intervals(ka) + 1
    theta, fine = np.linspace(0.0, np.pi, samples), np.linspace(0.0, np.pi / 2, 90001)
    exact = 20 * np.log10(np.abs(in_e(fine) - in_h(fine)).max() / 2)
    found = cross_polarisation(in_e(theta), -in_h(theta), np.rad2deg(theta))
    assert found == pytest.approx(exact, abs=0.06)


def test_half_power_width_of_a_rippled_beam() -> None:
    cuts = rippled()
    known = half_power_beamwidth(decibels(squared(cuts.e)), np.rad2deg(cuts.theta))
    assert beamwidth_deg(cuts, "e") == pytest.approx(known, abs=1e-4)
    assert beamwidth_deg(cuts, "e", HALF_POWER_DB + 0.5) != pytest.approx(known, abs=0.2)


@pytest.mark.parametrize("ka", [20.0, 47.0, 58.0, 59.0, 60.0, 63.0, 65.0, 66.0, 120.0, 141.0])
@pytest.mark.parametrize("level", [15.0, 20.0, 24.0])
def test_a_null_between_two_samples_ends_the_beam(ka: float, level: float) -> None:
    """Of a disc side lobes are 17.6 dB down: a beam that misses the first null is twice as wide."""
    disc, samples = uniform_disc(ka), theta_intervals(ka) + 1
    cuts = cuts_of(disc, disc, samples)
    exact = exact_width(disc, level, np.arcsin(3.8317 / ka))
    assert beamwidth_deg(cuts, "h", level) == pytest.approx(exact, abs=1e-4)
    once = slice(0, -1)  # the last angle is the first one
    round_ = np.concatenate([cuts.h[..., :0:-1], cuts.h], axis=-1)[..., once]
    assert beamwidth_deg(Circles(e=round_, h=round_), "h", level) == pytest.approx(exact, abs=1e-4)


def test_a_beam_that_never_falls_has_no_width() -> None:
    cuts = cuts_of(lambda theta: 1 + 0.2 * np.cos(theta))
    assert np.isnan(beamwidth_deg(cuts, "e", 6.0))
    assert np.isnan(beam_symmetry_db(cuts))
    assert beamwidth_deg(cuts, "e", 2.0) == pytest.approx(
        2 * np.rad2deg(np.arccos((1.2 * 10 ** (-2 / 20) - 1) / 0.2)), abs=1e-6
    )


def test_levels_and_edge_taper() -> None:
    """cos^n: n 10 log10 cos at any angle, to the rim of the dish with the spreading loss cos^4(theta/2) of power."""
    n, theta = 6, np.deg2rad(45.95)
    cuts = cuts_of(cosine_power(n), cosine_power(2))
    for plane, power in (("e", 6), ("h", 2)):
        assert level_db(cuts, plane, theta) == pytest.approx(10 * power * np.log10(np.cos(theta)), abs=2e-3)
    both = (np.cos(theta) ** 3 + np.cos(theta)) / 2
    assert edge_taper_db(cuts, theta) == pytest.approx(20 * np.log10(both), abs=1e-3)
    same = cuts_of(cosine_power(n))
    alone, whole = (edge_taper_db(same, theta, spreading=spread) for spread in (False, True))
    assert [alone, whole] == pytest.approx([-9.470, -10.905], abs=1e-3)


def test_beam_symmetry() -> None:
    """cos^4(theta/2) next to cos^6: the difference grows to 20 log10 cos(theta/2)^2 at the window's end."""
    cuts = cuts_of(lambda t: np.cos(t / 2) ** 4, lambda t: np.cos(t / 2) ** 6)
    for end in (0.3, 1.234):
        assert beam_symmetry_db(cuts, end) == pytest.approx(-40 * np.log10(np.cos(end / 2)), abs=1e-9)
    end = fall_angle(cuts.co, 10.0)
    assert decibels(squared((np.cos(end / 2) ** 4 + np.cos(end / 2) ** 6) / 2)) == pytest.approx(-10.0, abs=1e-6)
    assert beam_symmetry_db(cuts) == pytest.approx(-40 * np.log10(np.cos(end / 2)), abs=1e-9)
    assert beam_symmetry_db(Cuts(e=cuts.h, h=cuts.e)) == beam_symmetry_db(cuts)


def test_flatness() -> None:
    """1 + cos(12 theta)/10: between 1.1 and 0.9 once a minimum, at 15 degrees between samples of 2, is inside."""
    cuts = cuts_of(lambda t: 1 + 0.1 * np.cos(12 * t), samples=91)
    assert flatness_db(cuts, np.deg2rad(20.3)) == pytest.approx(20 * np.log10(1.1 / 0.9), abs=1e-4)
    inside = 1 + 0.1 * np.cos(12 * np.deg2rad(7.7))
    assert flatness_db(cuts, np.deg2rad(7.7)) == pytest.approx(20 * np.log10(1.1 / inside), abs=1e-6)


@pytest.mark.parametrize(("samples", "error_db"), [(181, 0.01), (361, 0.001)])
def test_crosspol_between_samples(samples: int, error_db: float) -> None:
    """A cross-polar lobe of 3.6 degrees at any place: its top is 20 log10 0.05.

    sin^2(50 theta) times a wide bell; 181 samples hold degrees up to 100 with a factor 1.8, 361 with 3.6.
    """
    theta, fine = angles(samples), np.linspace(0.0, np.pi / 2, 200_001)
    for place in (0.6, 0.61, 0.617, 1.0):
        cross = lambda t, at=place: 0.05 * np.sin(50 * t) ** 2 * np.exp(-(((t - at) / 0.15) ** 2))  # noqa: E731
        co = np.exp(-((theta / 0.5) ** 2))
        cuts = Cuts(e=co + cross(theta), h=co - cross(theta))
        exact = 20 * np.log10(cross(fine).max())
        assert crosspol_db(cuts) == pytest.approx(exact, abs=error_db)
        inside = fine <= place - 0.05
        assert crosspol_db(cuts, place - 0.05) == pytest.approx(20 * np.log10(cross(fine[inside]).max()), abs=error_db)


def test_axial_ratio_from_jones_vectors() -> None:
    """Two feeds in quadrature, their fields added in any plane phi, and the ellipse that the sum draws.

    The second feed is the first turned by 90 degrees: A cos(phi - 90), B sin(phi - 90), times -j. Half axes of the
    ellipse are the singular values of the matrix with the rows Re and Im of (E_theta, E_phi). Sampled on the window's
    own points, so the largest is a parabola's vertex away: 0.01 dB.
    """
    cuts, end = rippled(seed=5), 0.6
    at = window(cuts.samples, 0.0, end)
    e, h = at.amplitude(cuts.e), at.amplitude(cuts.h)
    for phi in (0.0, 0.3, 2.0):
        fields = [(e * np.cos(turn), -h * np.sin(turn)) for turn in (phi, phi - np.pi / 2)]
        jones = np.stack([one - 1j * other for one, other in zip(*fields, strict=True)], axis=-1)
        axes = np.linalg.svd(np.stack([jones.real, jones.imag], axis=-2), compute_uv=False)
        ratio = 20 * np.log10(axes[..., 0] / axes[..., 1])
        assert axial_ratio_db(cuts, end) == pytest.approx(ratio.max(axis=-1), abs=0.01)
        assert ratio.max() > 3.0


def test_axial_ratio_of_linear_and_perfect_circular_polarisation() -> None:
    """H = 0 off axis radiates linear polarisation there; E = H circular; E = 2 H an ellipse of 2 to 1."""
    beam = np.exp(-(angles() ** 2))
    assert axial_ratio_db(Cuts(e=beam, h=beam * np.cos(angles())), np.pi / 2) == pytest.approx(LARGEST_DB)
    assert axial_ratio_db(Cuts(e=beam, h=beam), 1.0) == 0.0
    twice = Cuts(e=beam, h=beam * (0.75 + 0.25 * np.cos(2 * angles())))
    assert axial_ratio_db(twice, np.pi / 2) == pytest.approx(20 * np.log10(2), abs=1e-9)


def test_aperture_efficiency_of_modes() -> None:
    """TE11 0.8368, HE11 0.6917 without phase error: of a disc of ka = 150; obliquity and edge waves cost 0.1 %."""
    ka, samples = 150.0, 541
    wavenumber = np.array(2 * np.pi / 0.01)
    diameter = np.array(2 * ka / wavenumber)
    for (e, h), known in ((te11_disc(ka), 0.8368), ((he11_disc(ka),) * 2, 0.6917)):
        theta = angles(samples) + 1e-9  # off the limits 0/0 of the closed forms
        cuts = Cuts.of(e(theta).astype(complex), -h(theta).astype(complex))
        assert aperture_efficiency(cuts, diameter, wavenumber) == pytest.approx(known, rel=2e-3)


def test_efficiency_of_an_area() -> None:
    """Of a disc it is that of its diameter; a square of the same directivity and area has the same."""
    cuts, wavenumber = rippled(), np.full(3, 2 * np.pi / 0.01)
    for diameter in (0.03, 0.05):
        area = np.array(np.pi * diameter**2 / 4)
        of_disc = aperture_efficiency(cuts, np.array(diameter), wavenumber)
        assert area_efficiency(cuts, area, wavenumber) == pytest.approx(of_disc, rel=1e-12)
    with pytest.raises(ConfigError, match=r"area = 0 m2 \(must be > 0\)"):
        area_efficiency(cuts, np.array(0.0), wavenumber)


def test_what_is_refused() -> None:
    cuts = rippled()
    with pytest.raises(ConfigError, match=r"level_db = -3 dB \(must be > 0"):
        beamwidth_deg(cuts, "e", -3.0)
    with pytest.raises(ConfigError, match=r"plane = 'both' is unknown"):
        beamwidth_deg(cuts, "both")
    with pytest.raises(ConfigError, match=r"theta = 200 deg \(must be 0 to 180 deg\)"):
        level_db(cuts, "e", np.deg2rad(200))
    for angle in (0, 180):
        with pytest.raises(ConfigError, match=rf"theta = {angle} deg \(must be above 0 and below 180 deg\)"):
            edge_taper_db(cuts, np.deg2rad(angle))
    with pytest.raises(ConfigError, match=r"theta = 0 to 200 deg"):
        crosspol_db(cuts, np.deg2rad(200))
    with pytest.raises(ConfigError, match=r"diameter = 0 m \(must be > 0\)"):
        aperture_efficiency(cuts, np.array(0.0), np.array(600.0))


def tilted(theta: np.ndarray, tilt: float = 0.2) -> np.ndarray:
    """A beam off the axis, (cos((theta - tilt)/2))^20 and a phase, which is a trigonometric polynomial of degree 12."""
    return np.cos((theta - tilt) / 2) ** 20 * np.exp(0.3j) * (1 + 0.2j * np.sin(2 * theta))


def circles_of(e, h, samples: int = 360) -> Circles:
    theta = np.linspace(-np.pi, np.pi, samples, endpoint=False)
    return Circles(e=e(theta), h=h(theta))


def test_circles_hold_a_polynomial_exactly() -> None:
    circles = circles_of(tilted, tilted)
    theta = np.concatenate([np.linspace(-np.pi, np.pi, 997), np.deg2rad([-180.0, 180.0, 0.0, 17.0])])
    assert circles.at("h", theta[None])[0] == pytest.approx(tilted(theta), abs=1e-13)
    for side, points in zip((1, -1), circles.within(0.0, np.pi), strict=True):
        assert points.power(circles.e) == pytest.approx(squared(tilted(side * points.theta)), abs=1e-13)


@pytest.mark.parametrize("samples", [360, 90])
def test_beamwidth_of_a_tilted_beam(samples: int) -> None:
    """Between the angles on both sides at which the beam is below its level on the axis."""
    circles = circles_of(tilted, lambda theta: tilted(theta, 0.0), samples)
    for plane, tilt in (("e", 0.2), ("h", 0.0)):

        def above(theta: float, side: int, tilt: float = tilt) -> float:
            there, axis = np.abs(tilted(np.array([side * theta, 0.0]), tilt))
            return there - axis * 10 ** (-3 / 20)

        exact = np.sum([brentq(above, 0.01, 2.0, args=(side,)) for side in (1, -1)])
        assert beamwidth_deg(circles, plane, 3.0) == pytest.approx(np.rad2deg(exact), abs=1e-5)


def test_circles_of_even_cuts_have_their_figures() -> None:
    cuts = rippled()
    whole = [np.concatenate([one[..., :0:-1], one[..., :-1]], axis=-1) for one in (cuts.e, cuts.h)]
    circles = Circles(e=whole[0], h=whole[1])
    for plane in ("e", "h"):
        assert beamwidth_deg(circles, plane, 3.0) == pytest.approx(beamwidth_deg(cuts, plane, 3.0), abs=1e-7)
    assert beam_symmetry_db(circles, 0.3) == pytest.approx(beam_symmetry_db(cuts, 0.3), abs=1e-9)
    with pytest.raises(ConfigError, match="theta is missing; give the largest angle"):
        beam_symmetry_db(circles)


def test_beam_symmetry_of_circles_is_that_of_the_worse_side() -> None:
    circles = circles_of(lambda theta: tilted(theta, 0.1), lambda theta: tilted(theta, 0.0))
    theta = np.linspace(-0.4, 0.4, 4001)
    e, h = (decibels(squared(tilted(theta, tilt))) for tilt in (0.1, 0.0))
    e_axis = decibels(squared(tilted(np.zeros(1), 0.1)))
    assert e_axis != pytest.approx(0.0, abs=1e-3)
    assert beam_symmetry_db(circles, 0.4) == pytest.approx(np.abs(e - h).max(), abs=1e-6)


def test_a_cut_in_a_batch_has_the_bits_that_it_has_alone() -> None:
    each = [
        circles_of(lambda theta, one=one: tilted(theta, one), lambda theta: tilted(theta, 0.0))
        for one in (0.1, 0.2, 0.3)
    ]
    batch = Circles(e=np.stack([one.e for one in each]), h=np.stack([one.h for one in each]))
    assert np.array_equal(beamwidth_deg(batch, "e"), [beamwidth_deg(one, "e") for one in each])
    assert np.array_equal(beam_symmetry_db(batch, 0.5), [beam_symmetry_db(one, 0.5) for one in each])
    assert np.array_equal(edge_taper_db(batch, 0.5), [edge_taper_db(one, 0.5) for one in each])


def test_edge_taper_of_circles() -> None:
    """The mean of amplitudes in the four points of the rim, or in two; of even cuts in phase it is that of the cuts.

    Of cos^3 and cos at 45.95 degrees (3.36 and 6.95 tenths of the axis), of a tilted beam by its closed form.
    """
    theta = np.deg2rad(45.95)
    cuts = cuts_of(cosine_power(6), cosine_power(2))
    whole = [np.concatenate([one[..., :0:-1], one[..., :-1]], axis=-1) for one in (cuts.e, cuts.h)]
    even = Circles(e=whole[0], h=whole[1])
    for plane, same in ((None, "co"), ("e", "e"), ("h", "h")):
        assert edge_taper_db(even, theta, plane) == pytest.approx(edge_taper_db(cuts, theta, same), abs=1e-9)
    spread = edge_taper_db(even, theta, spreading=True) - edge_taper_db(even, theta)
    assert spread == pytest.approx(40 * np.log10(np.cos(theta / 2)), abs=1e-9)
    tilts = 0.1, 0.25
    circles = circles_of(lambda angle: tilted(angle, tilts[0]), lambda angle: tilted(angle, tilts[1]))
    sides = np.array([theta, -theta])
    axis = np.abs(tilted(np.zeros(1), tilts[0]))
    e, h = (np.abs(tilted(sides, one)) / axis for one in tilts)
    for plane, four in ((None, np.concatenate([e, h])), ("e", e), ("h", h)):
        assert edge_taper_db(circles, theta, plane) == pytest.approx(20 * np.log10(four.mean()), abs=1e-6)
    with pytest.raises(ConfigError, match="theta = 200 deg"):
        edge_taper_db(circles, float(np.deg2rad(200)))
    with pytest.raises(ConfigError, match="plane = 'co' is of bodies of revolution"):
        edge_taper_db(circles, theta, "co")


@pytest.mark.parametrize(("plane", "says"), [("co", "is of bodies of revolution"), ("cross", "allowed here: e, h")])
def test_planes_that_circles_have_not(plane: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        circles_of(tilted, tilted).component(plane)


@pytest.mark.parametrize("shape", [(361,), (2,), (4, 7)])
def test_circles_of_an_odd_number_of_angles_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="an even number of angles, at least 4"):
        Circles(e=np.ones(shape), h=np.ones(shape))
