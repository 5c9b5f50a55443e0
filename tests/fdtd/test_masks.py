"""Masks against patterns that are known at every angle; limits that cross; isoflux and sec^2 coverage."""

from __future__ import annotations

import numpy as np
import pytest
from cut_patterns import cuts_of, rippled, uniform_disc
from scipy.integrate import quad

from fdtd.errors import ConfigError
from fdtd.farfield.cuts import Circles, Cuts
from fdtd.farfield.masks import (
    Mask,
    ideal_db,
    isoflux_db,
    isoflux_edge,
    mask_excess_db,
    sec2_db,
    slant_range,
)

DEG = np.pi / 180


def level(pattern, theta):
    return 20 * np.log10(np.maximum(np.abs(pattern(theta) / pattern(np.array([0.0]))), 1e-9))


@pytest.mark.parametrize("samples", [91, 181, 541])
def test_side_lobes_of_a_disc_under_a_mask(samples: int) -> None:
    """2 J_1(u)/u at ka = 20: the first lobe, -17.57 dB and 0.14 dB less by obliquity, lies 2.6 dB above -20 dB.

    The window begins at the first null's 13 degrees, no sample's angle. 2 degrees are 1.34 samples for each that
    2.4 ka + 20 asks for: within 0.005 dB.
    """
    disc = uniform_disc(20.0)
    fine = np.linspace(13 * DEG, 80 * DEG, 100_001)
    mask = Mask.of(plane="e", theta=(13 * DEG, 80 * DEG), at_most=-20.0)
    exact = level(disc, fine).max() + 20
    assert exact == pytest.approx(2.33, abs=0.05)
    assert mask_excess_db(cuts_of(disc, samples=samples), mask) == pytest.approx(exact, abs=0.005)


def test_window_ends_between_samples() -> None:
    """A falling flank: the level at the window's beginning decides, exactly, at 20.0 and at 20.37 degrees."""
    cuts = cuts_of(lambda t: np.cos(t / 2) ** 40)
    for begin in (20.0, 20.37):
        mask = Mask.of(plane="co", theta=(begin * DEG, 90 * DEG), at_most=-5.0)
        assert mask_excess_db(cuts, mask) == pytest.approx(800 * np.log10(np.cos(begin / 2 * DEG)) + 5, abs=1e-9)


def test_sloping_limits_and_steps() -> None:
    """Straight lines between corners, a step at 40 degrees that counts on both of its sides."""
    disc = uniform_disc(14.0)
    cuts = cuts_of(disc)
    corners = [(10, -3), (40, -20), (40, -26), (90, -40)]
    mask = Mask.of(plane="e", at_most=[[angle * DEG, db] for angle, db in corners])
    first, second = np.linspace(10, 40, 60_001), np.linspace(40, 90, 60_001)
    over = [
        (level(disc, first * DEG) - np.interp(first, [10, 40], [-3, -20])).max(),
        (level(disc, second * DEG) - np.interp(second, [40, 90], [-26, -40])).max(),
    ]
    assert mask_excess_db(cuts, mask) == pytest.approx(max(over), abs=2e-3)
    part = Mask.of(plane="e", theta=(15 * DEG, 40 * DEG), at_most=[[angle * DEG, db] for angle, db in corners])
    inside = first >= 15
    alone = (level(disc, first * DEG) - np.interp(first, [10, 40], [-3, -20]))[inside].max()
    assert part.at_most[0] == pytest.approx((15 * DEG, -3 - 17 * 5 / 30))
    assert mask_excess_db(cuts, part) == pytest.approx(alone, abs=2e-3)
    assert alone != pytest.approx(max(over), abs=0.1)


def test_lower_limits_and_both_planes() -> None:
    """cos^2(theta/2) falls by 1.25 dB to 30 degrees, cos^8 by 4.82: a floor of -3 dB holds for one plane alone."""
    e, h = 40 * np.log10(np.cos(15 * DEG)), 160 * np.log10(np.cos(15 * DEG))
    cuts = cuts_of(lambda t: np.cos(t / 2) ** 2, lambda t: np.cos(t / 2) ** 8)
    excess = {
        plane: float(mask_excess_db(cuts, Mask.of(plane=plane, theta=(0.0, 30 * DEG), at_least=-3.0)))
        for plane in ("e", "h", "both")
    }
    assert excess == pytest.approx({"e": -3 - e, "h": -3 - h, "both": -3 - h}, abs=1e-9)
    between = Mask.of(plane="e", theta=(0.0, 30 * DEG), at_least=-3.0, at_most=0.5)
    assert mask_excess_db(cuts, between) == pytest.approx(-0.5)  # boresight is closer to the upper limit
    swapped = Cuts(e=cuts.h, h=cuts.e)
    assert mask_excess_db(swapped, Mask.of(theta=(0.0, 30 * DEG), at_least=-3.0)) == pytest.approx(-3 - h, abs=1e-9)


def test_absolute_levels_and_polarisations() -> None:
    """Directivity 3 cos^2... of a cut scaled to 10 dBi: absolute limits see 10 dB more than those of boresight."""
    cuts = cuts_of(lambda t: np.sqrt(10) * np.cos(t / 2) ** 4, lambda t: np.sqrt(10) * np.cos(t / 2) ** 6)
    window = (10 * DEG, 50 * DEG)
    relative, absolute = (
        mask_excess_db(cuts, Mask.of(plane="co", theta=window, at_most=-1.0, absolute=absolute))
        for absolute in (False, True)
    )
    assert absolute - relative == pytest.approx(10.0, abs=1e-9)
    c = np.cos(np.linspace(*window, 10_001) / 2)
    cross = 20 * np.log10((c**4 - c**6).max() / 2)
    found = mask_excess_db(cuts, Mask.of(plane="cross", theta=window, at_most=-30.0))
    assert found == pytest.approx(cross + 30, abs=1e-5)


def test_numbers_and_lists_agree() -> None:
    cuts = rippled()
    number = Mask.of(plane="h", theta=(0.3, 1.1), at_most=-14.0, at_least=-60.0)
    lists = Mask.of(plane="h", at_most=[[0.3, -14], [1.1, -14]], at_least=[[0.3, -60], [1.1, -60]])
    assert number == lists
    assert np.array_equal(mask_excess_db(cuts, number), mask_excess_db(cuts, lists))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"theta": (0.0, 1.0)}, "at_most and at_least are both empty", id="no limit"),
        pytest.param({"at_most": -3.0}, "theta is missing", id="no angles"),
        pytest.param({"theta": (1.0, 0.5), "at_most": -3.0}, r"must rise", id="a window that falls"),
        pytest.param({"plane": "d", "at_most": -3.0, "theta": (0.0, 1.0)}, "plane = 'd' is unknown", id="plane"),
        pytest.param(
            {"theta": (10 * DEG, 40 * DEG), "at_most": -15.0, "at_least": -12.0},
            r"at_least = -12 dB lies above at_most = -15 dB at theta = 10 deg",
            id="crossing numbers",
        ),
        pytest.param(
            {"at_most": [[0.0, 0.0], [60 * DEG, -30.0]], "at_least": [[0.0, -5.0], [60 * DEG, -20.0]]},
            r"at_least = -20 dB lies above at_most = -30 dB at theta = 60 deg: no antenna meets both",
            id="crossing lines",
        ),
        pytest.param(
            {
                "at_most": [[0.0, 0.0], [30 * DEG, 0.0], [30 * DEG, -20.0], [60 * DEG, 0.0]],
                "at_least": [[0.0, -10.0], [60 * DEG, -10.0]],
            },
            r"at_least = -10 dB lies above at_most = -20 dB at theta = 30 deg",
            id="crossing in a step, and nowhere else at corners of the lower limit",
        ),
        pytest.param(
            {"theta": (10 * DEG, 90 * DEG), "at_most": [[20 * DEG, -10.0], [90 * DEG, -20.0]]},
            r"at_most reaches from 20 deg to 90 deg \(must cover theta, 10 deg to 90 deg\)",
            id="too short",
        ),
        pytest.param(
            {"at_most": [[30 * DEG, -10.0], [20 * DEG, -20.0], [60 * DEG, -20.0]]},
            r"at_most: 20 deg comes after 30 deg \(angles must rise\)",
            id="out of order",
        ),
        pytest.param({"at_most": [[0.0, np.nan], [1.0, -3.0]]}, "not finite", id="not finite"),
        pytest.param({"at_most": [[0.0, -3.0]], "theta": (0.0, 1.0)}, "at least two pairs", id="one corner"),
        pytest.param({"at_most": [[0.0, -3.0, 1.0], [1.0, -3.0]]}, "no list of pairs", id="no pair"),
    ],
)
def test_masks_that_are_refused(given: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Mask.of(**given)


def test_corners_rounded_to_seven_digits_cover_a_range() -> None:
    """1.5707963 rad is 90 degrees less 2.7e-8 rad."""
    mask = Mask.of(theta=(np.deg2rad(20.0), np.pi / 2), at_most=[(0.3490658, -20.0), (1.5707963, -30.0)])
    assert mask.at_most[-1] == (np.pi / 2, pytest.approx(-30.0))
    with pytest.raises(ConfigError, match="must cover theta"):
        Mask.of(theta=(np.deg2rad(20.0), np.pi / 2), at_most=[(0.349, -20.0), (1.5707, -30.0)])


def test_limits_that_touch_are_allowed() -> None:
    mask = Mask.of(at_most=[[0.0, 0.0], [1.0, -10.0]], at_least=[[0.0, -3.0], [1.0, -10.0]])
    assert mask.at_least[-1] == mask.at_most[-1]


@pytest.mark.parametrize(
    ("height_km", "elevation", "edge_deg", "rise_db", "edge_dbi"),
    [
        (600, 5, 65.6, 11.8, 11.93),
        (500, 5, 67.5, 12.4, 11.99),
        (800, 10, 61.0, 9.4, 11.01),
        (1200, 10, 56.0, 8.3, 11.17),
    ],
)
def test_isoflux_table(height_km: float, elevation: float, edge_deg: float, rise_db: float, edge_dbi: float) -> None:
    """Edge angle, rise from nadir to edge, level at the edge of the ideal pattern, to the digits of the table.

    The edge once more from the triangle of Earth's centre, satellite and ground: its angle at the ground is 90 degrees
    plus the elevation, so the slant range there is Re sin(central angle)/sin(edge). And an isotropic antenna (0 dBi)
    falls short of the ideal by the level at the edge.
    """
    height, rise = height_km * 1e3, elevation * DEG
    edge = isoflux_edge(height, rise)
    assert round(edge / DEG, 1) == edge_deg
    far = slant_range(np.array([0.0, edge]), height)
    assert far[0] == pytest.approx(height)
    central = np.pi / 2 - rise - edge
    assert far[1] == pytest.approx(6371e3 * np.sin(central) / np.sin(edge), rel=1e-12)
    assert round(float(20 * np.log10(far[1] / far[0])), 1) == rise_db
    ideal = ideal_db(lambda theta: slant_range(theta, height) ** 2, edge)
    assert round(float(ideal(np.array(edge))), 2) == edge_dbi
    assert quad(lambda t: 10 ** (float(ideal(np.array(t))) / 10) * np.sin(t), 0, edge)[0] == pytest.approx(2, rel=1e-9)
    isotropic = cuts_of(np.ones_like)
    assert isotropic.radiated == pytest.approx(2.0)
    assert isoflux_db(isotropic, height, rise) == pytest.approx(float(ideal(np.array(edge))), abs=1e-9)


def test_isoflux_of_a_beam() -> None:
    """cos^2(theta/2) of 3 dBi falls where the ideal rises: short by the difference at the edge. CO counts, not E."""
    edge = isoflux_edge(6e5, 5 * DEG)
    beam = lambda t: np.sqrt(3) * np.cos(t / 2) ** 2  # noqa: E731
    theta = np.linspace(0, np.pi, 181)
    cuts = Cuts(e=1.5 * beam(theta), h=0.5 * beam(theta))
    assert isoflux_db(cuts, 6e5, 5 * DEG) == pytest.approx(11.926 - 20 * np.log10(beam(edge)), abs=1e-3)


def test_sec2() -> None:
    """K = 2/(sec t - 1): up to 60 degrees K = 2 and 2 sec^2(60) = 8, 9.03 dBi; an isotropic antenna lacks all of it."""
    isotropic = cuts_of(np.ones_like)
    assert sec2_db(isotropic, 60 * DEG) == pytest.approx(10 * np.log10(8), abs=1e-9)
    hole = cuts_of(lambda t: 2 * (1 - 0.9 * np.exp(-(((t - 0.4) / 0.1) ** 2))))  # 20 dB deep at 22.9 degrees
    theta = np.linspace(0, 60 * DEG, 200_001)
    field = 2 * (1 - 0.9 * np.exp(-(((theta - 0.4) / 0.1) ** 2)))
    exact = (10 * np.log10(2 / np.cos(theta) ** 2) - 20 * np.log10(field)).max()
    assert sec2_db(hole, 60 * DEG) == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (lambda cuts: sec2_db(cuts, np.pi / 2), r"theta = 90 deg \(must be above 0 and below 90 deg\)"),
        (lambda cuts: isoflux_db(cuts, -1.0, 0.1), r"height = -1 m \(must be > 0\)"),
        (lambda cuts: isoflux_db(cuts, 6e5, np.pi / 2), r"elevation = 90 deg \(must be 0 to below 90 deg\)"),
    ],
)
def test_coverage_that_is_refused(compute, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compute(rippled())


def test_a_mask_of_circles_limits_both_sides() -> None:
    """A beam at 10 degrees is over the limit on one side by what it has there, and below it on the other."""
    theta = np.linspace(-np.pi, np.pi, 360, endpoint=False)
    pattern = lambda t: np.cos((t - 10 * DEG) / 2) ** 40  # noqa: E731
    circles = Circles(e=pattern(theta), h=np.cos(5 * DEG) ** 40 * np.cos(theta / 2) ** 40)
    fine = np.linspace(20, 90, 20_001) * DEG
    over = {side: (level(pattern, side * fine) + 6).max() for side in (1, -1)}
    assert over[1] > 0 > over[-1]
    mask = Mask.of(plane="e", theta=(20 * DEG, 90 * DEG), at_most=-6.0)
    assert mask_excess_db(circles, mask) == pytest.approx(over[1], abs=1e-6)
    turned = Circles(e=np.roll(circles.e[::-1], 1), h=circles.h)
    assert mask_excess_db(turned, mask) == pytest.approx(over[1], abs=1e-6)
    h_alone = Mask.of(plane="h", theta=(20 * DEG, 90 * DEG), at_most=-6.0)
    assert mask_excess_db(circles, h_alone) == pytest.approx(800 * np.log10(np.cos(10 * DEG)) + 6, abs=1e-9)
