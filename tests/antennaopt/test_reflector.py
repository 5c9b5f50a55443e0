"""A paraboloid with a feed in its focus: surface, frame of its patterns, gain, what does not fit.

That one is solved, exported and equal to its outline: test_every_family.py, test_geometry.py, test_outline.py.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from family_cases import DESIGNS, FEED, IN_A_DISH, KINDS
from scipy.constants import speed_of_light
from test_every_family import antenna_file

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna, load_experiment
from antennaopt.families import Body, kind, stack
from antennaopt.families.measures import measures
from antennaopt.families.outline import outlined
from antennaopt.families.sections import cleaned, free_corners
from antennaopt.run.summary import antenna_toml
from antennaopt.solve.arithmetic import arithmetic
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan
from fdtd.errors import ConfigError

SOLVER = {"frequencies": [30e9], "design_frequency": 30e9, "cell": 0.6e-3}
FAMILY, DESIGN = KINDS["reflector"], DESIGNS["reflector"] | {"reflector.diameter": 50e-3}


@pytest.mark.parametrize("shroud", [0.0, 8e-3])
def test_surface(shroud: float) -> None:
    """All paths from the focus over the surface to a plane are equally long; even metal; edges of two bodies."""
    design = DESIGN | {"reflector.shroud": shroud}
    tube, dish = FAMILY.outline(design).conductors
    cleaned(dish.tolist())
    front = dish[: len(dish) // 2 - 2]
    focus = 1e-3  # the mouth is 1 mm away from it, on the far side of the dish
    path = np.hypot(front[:, 0], front[:, 1] - focus) + front[:, 1]
    assert path == pytest.approx(2 * 20e-3 + focus, abs=1e-11)
    back = dish[-len(front) + 3 :]
    distance = np.hypot(*(back[:, None] - front[None]).transpose(2, 0, 1)).min(axis=1)
    assert distance[10:-10] == pytest.approx(0.8e-3, abs=2e-6)  # to the chords' corners
    rim = 21e-3 - 50e-3**2 / (16 * 20e-3)
    assert dish[:, 1].min() == pytest.approx(rim - shroud, abs=1e-11)
    expected = {(round(one.r, 11), round(one.z, 11)) for one in free_corners([tube, dish])}
    rims = FAMILY.scene(stack([design])).rims
    assert {(round(float(one.r[0]), 11), round(float(one.z[0]), 11)) for one in rims} == expected
    radius, height = (float(one[0]) for one in FAMILY.size(stack([design])))
    assert dish[:, 0].max() <= radius + 1e-11 and dish[:, 1].max() == pytest.approx(height, abs=1e-11)


@pytest.mark.parametrize("feed", IN_A_DISH)
def test_feeds_in_the_focus(feed: str, tmp_path: Path) -> None:
    """The feed is what its own family draws, the dish is as far from its mouth as from an open waveguide's."""
    design = DESIGNS["reflector"] | IN_A_DISH[feed]
    own = {name: value for name, value in design.items() if not name.startswith("reflector.")}
    known, alone = FAMILY.of(design), KINDS[feed]
    assert [one for one in known.parameters if one.table != "reflector"] == list(alone.parameters)
    section, bare = known.outline(design), alone.outline(own)
    *metal, dish = section.conductors
    assert all(np.array_equal(one, other) for one, other in zip(metal, bare.conductors, strict=True))
    assert [one.permittivity for one in section.dielectrics] == [one.permittivity for one in bare.dielectrics]
    mouth = float(alone.size(stack([own]))[1][0])
    (first, *_), _ = dish, cleaned(dish.tolist())
    assert first == pytest.approx((0.0, mouth + 0.4 * 56e-3 + 1e-3))
    expected = {(round(one.r, 10), round(one.z, 10)) for one in free_corners([*section.conductors])}
    rims = known.scene(stack([design])).rims
    found = {(round(float(one.r[0]), 10), round(float(one.z[0]), 10)) for one in rims if not np.isnan(one.r[0])}
    assert found == expected
    radius, height = (float(one[0]) for one in known.size(stack([design])))
    points = np.concatenate(section.conductors)
    assert points[:, 0].max() <= radius + 1e-11 and points[:, 1].max() == pytest.approx(height, abs=1e-11)
    assert measures(known, design).aperture == 56e-3
    # Read from a file, solved and refused as that family.
    path = tmp_path / "dish.toml"
    path.write_text(antenna_toml(title="dish", family="reflector", design=design, solver=SOLVER))
    assert load_antenna(path).design() == design | {"reflector.shroud": 0.0}
    wall = plan("reflector", design, design, SOLVER).layout
    assert wall.contour_top - wall.origin > height / 0.6e-3
    small = design | {"reflector.diameter": 7.9e-3}
    (refused,) = evaluate("reflector", [small], plan(FAMILY, design, design, SOLVER).to_dict())
    assert refused.status == "infeasible" and "is smaller than the feed" in (refused.error or "")


def test_a_dish_with_choke_rings_is_its_outline() -> None:
    """Alone, with another dish next to it, and drawn."""
    design = DESIGNS["reflector"] | IN_A_DISH["choke_ring_feed"]
    other = design | {"reflector.defocus": 0.0, "rings.depth": 2e-3}
    made = plan("reflector", other, design, SOLVER).to_dict()
    _, one = evaluate("reflector", [other, design], made)
    (alone,) = evaluate("reflector", [design], made)
    assert (
        one.status == "ok" and one.s11 == alone.s11 and np.array_equal(np.array(one.e_plane), np.array(alone.e_plane))
    )
    bodies, drawn = outlined(FAMILY.of(design), design)
    known = kind("outline", bodies)
    (same,) = evaluate("outline", [drawn], plan(known, drawn, drawn, SOLVER).to_dict())
    assert same.metrics["directivity_dbi"] == pytest.approx(alone.metrics["directivity_dbi"], abs=1e-3)


def test_patterns_in_the_turned_frame() -> None:
    """Of one outline, both ways: the cuts are mirrored, both planes begin alike, and what is not a pattern stays."""
    plate = Body(metal=True, points=((0.0, 8e-3), (9e-3, 8e-3), (9e-3, 9e-3), (0.0, 9e-3)))
    known = kind("outline", [plate])
    found = []
    for direction in (0.0, 1.0):
        design = FEED | {"beam.direction": direction}
        shared = plan(known, design, design, SOLVER).to_dict()
        found += evaluate("outline", [design], shared)
    ahead, behind = found
    assert (ahead.status, behind.status) == ("ok", "ok") and ahead.s11 == behind.s11
    assert np.array_equal(np.array(behind.e_plane), -np.array(ahead.e_plane)[:, ::-1])
    assert np.array_equal(np.array(behind.h_plane), np.array(ahead.h_plane)[:, ::-1])
    for one in found:
        e, h = (np.array(cut)[0] for cut in (one.e_plane, one.h_plane))
        assert e[0] == pytest.approx(h[0], rel=1e-4) and e[-1] == pytest.approx(-h[-1], rel=1e-4)
    on_axis = [np.array(one.metrics["directivity_dbi"], dtype=float) for one in found]
    ratio = [np.array(one.metrics["front_to_back_db"], dtype=float) for one in found]
    assert on_axis[0] - on_axis[1] == pytest.approx(ratio[0]) and ratio[0] == pytest.approx(-ratio[1])
    assert on_axis[1] > on_axis[0]  # the plate sends it back


def test_other_directions_share_no_results() -> None:
    """The cells are the same, the patterns are not: a cache must not take one for the other."""
    plate = Body(metal=True, points=((0.0, 8e-3), (9e-3, 8e-3), (9e-3, 9e-3), (0.0, 9e-3)))
    known = kind("outline", [plate])
    designs = [FEED | {"beam.direction": one} for one in (0.0, 1.0)]
    contexts = {arithmetic(plan(known, one, one, SOLVER).to_dict(), "cpu").context for one in designs}
    assert len(contexts) == 2
    with pytest.raises(ConfigError, match=r"antenna\.beam\.direction is a gene"):
        plan(known, designs[0], designs[1], SOLVER)


def aperture_directivity(feed: Any, design: dict[str, float], hz: float, *, height: float, blocked: float) -> float:
    """Directivity on axis, dBi, by aperture integration of the feed's own pattern, without the disc of the feed.

    Rays from the focus at the angle theta come back at r = 2 F tan(theta / 2), with the amplitude of the feed's field
    over the distance F / cos^2(theta / 2). Of E cos(phi) and H sin(phi) the mean over phi is (E + H) / 2.

    Args:
        feed: Outcome of the feed alone.
        design: Of the dish.
        hz: Frequency, Hz.
        height: Of the focus over z = 0, from where the feed's phases count, m.
        blocked: Radius of the disc, m.
    """
    theta = np.radians(np.array(feed.theta_deg))
    diameter = design["reflector.diameter"]
    focal = diameter * design["reflector.focal_ratio"]
    angles = np.linspace(2 * math.atan(blocked / (2 * focal)), 2 * math.atan(diameter / (4 * focal)), 4001)
    co = np.array(feed.e_plane)[0] + np.array(feed.h_plane)[0]
    # exp(-jkr) of the focus's distance from the origin; it is taken off before the phase is interpolated
    wavenumber = 2 * np.pi * hz / speed_of_light
    co = co * np.exp(-1j * wavenumber * height * np.cos(theta))
    between = np.interp(angles, theta, np.real(co)) + 1j * np.interp(angles, theta, np.imag(co))
    # d = k^2 / (4 pi) |int E dA|^2 / power; |E| = |co| / 2 over the distance, dA = 2 pi r dr, r dr = rho^2 sin d(theta)
    distance = focal / np.cos(angles / 2) ** 2
    integral = np.trapezoid(between / 2 * distance * np.sin(angles), angles)
    return 10 * math.log10(wavenumber**2 * abs(integral) ** 2)


def by_both(feed: str, own: dict[str, float], dish: dict[str, float], solver: dict[str, Any]) -> tuple[float, float]:
    """Return the directivity of a dish on axis, dBi, full wave and by aperture integration."""
    (hz,) = solver["frequencies"]
    names = FAMILY.parameter("reflector.feed").choices
    design = own | dish | {"reflector.feed": float(names.index(feed)), "reflector.shroud": 0.0}
    (solved,) = evaluate("reflector", [design], plan("reflector", design, design, solver).to_dict())
    (alone,) = evaluate(feed, [own], plan(feed, own, own, solver).to_dict())
    radius, mouth = (float(one[0]) for one in KINDS[feed].size(stack([own])))
    height = mouth + design["reflector.defocus"]
    assert solved.status == "ok"
    (reached,) = np.array(solved.metrics["directivity_dbi"], dtype=float)
    return float(reached), aperture_directivity(alone, design, hz, height=height, blocked=radius)


@pytest.mark.slow
@pytest.mark.parametrize("feed", ["open_waveguide", "choke_ring_feed"])
def test_gain_by_aperture_integration(feed: str) -> None:
    """12 wavelengths: rays against waves, which rim and feed scatter.

    Measured on cells of 0.5 mm: 29.970 and 29.925 dBi with an open guide, 29.926 and 29.886 with choke rings.
    """
    own = {name: value for name, value in DESIGNS[feed].items() if not name.startswith("reflector.")}
    dish = {name: value for name, value in DESIGN.items() if name.startswith("reflector.")}
    dish |= {"reflector.diameter": 120e-3, "reflector.defocus": 0.0}
    reached, expected = by_both(feed, own, dish, SOLVER | {"cell": 0.5e-3})
    assert reached == pytest.approx(expected, abs=0.1)


@pytest.mark.slow
def test_fekos_horn_in_its_dish() -> None:
    """Horn and dish of Feko's example guide: 36 wavelengths, F = 25, the phase centre in the focus.

    Guide radius 0.51 wavelengths, flare from 0.65 to 1.00 over 3.05. Measured: full wave 39.912 dBi on 20 cells a
    wavelength, 39.926 on 30; by aperture integration 39.823 and 39.831 with the disc of the horn taken out, 39.890 and
    39.894 with it. Feko's guide draws the gain and prints no number.
    """
    hz = 12.5e9
    lam = speed_of_light / hz
    own = {
        "feed.inner_radius": 0.51, "feed.outer_radius": 0.56, "feed.length": 1.5, "horn.step_radius": 0.65,
        "horn.phasing": 1e-6, "horn.flare": 3.05, "horn.aperture_radius": 1.0, "horn.wall": 0.05,
    }  # fmt: skip
    own = {name: value * lam for name, value in own.items()}
    dish = {
        "reflector.diameter": 36 * lam, "reflector.focal_ratio": 25 / 36, "reflector.thickness": 0.1 * lam,
        "reflector.defocus": -2.6821e-3,
    }  # fmt: skip
    solver = {"frequencies": [hz], "design_frequency": hz, "cell": lam / 20}
    reached, expected = by_both("dual_mode_horn", own, dish, solver)
    assert reached == pytest.approx(39.912, abs=2e-3) and reached == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            ('reflector.diameter="7 mm"',),
            "antenna.reflector.diameter = 7 mm is smaller than the feed",
        ),
        (
            ('reflector.defocus="-21 mm"',),
            "antenna.reflector.defocus = -21 mm puts the dish into the feed",
        ),
        (
            ('reflector.shroud="30 mm"',),
            "antenna.reflector.shroud = 30 mm puts the dish's edge at z = -",
        ),
        (('reflector.feed="horn"',), 'antenna.reflector.feed = "horn" is not one of'),
        (
            ('rod.radius="3 mm"',),
            'antenna.rod does not go with feed = "open_waveguide"; write antenna.reflector.feed = "dielectric_rod", or',
        ),
        (
            ('reflector.feed={ choices = ["open_waveguide", "conical_horn"] }',),
            'antenna.reflector.feed = {"choices": ["open_waveguide", "conical_horn"]} cannot be a gene',
        ),
        (('reflector.feed="choke_ring_feed"',), "antenna.rings is missing; add a table [antenna.rings]"),
        (
            ('reflector.feed="conical_horn"', 'horn={ length = "9 mm", aperture_radius = "3 mm", wall = "1 mm" }'),
            "antenna.horn.aperture_radius = 3 mm is smaller than the feed (must be >= antenna.feed.inner_radius",
        ),
        (
            ('reflector.feed="conical_horn"', 'horn={ length = "9 mm", aperture_radius = "25 mm", wall = "1 mm" }'),
            "antenna.reflector.diameter = 50 mm is smaller than the feed (must be >= 52 mm)",
        ),
        (("reflector.focal_ratio=0.01",), "antenna.reflector.focal_ratio = 0.01 is out of bounds"),
        (('reflector.thickness="0 mm"',), 'antenna.reflector.thickness = "0 mm" is out of bounds'),
    ],
)
def test_bad_values(changes: tuple[str, ...], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_antenna(
            antenna_file("reflector", tmp_path, **{"reflector.diameter": 50e-3}),
            tuple(f"antenna.{one}" for one in changes),
        )
    assert f": {says}" in str(refused.value) and "\n" not in str(refused.value)


def test_a_planted_length_may_be_negative(tmp_path: Path) -> None:
    """As its range may."""
    path = antenna_file("reflector", tmp_path)
    path.write_text(path.read_text() + '[[objective]]\nmetric = "gain_dbi"\nat_least = 12\n')
    changes = ('antenna.reflector.defocus={ min = "-2 mm", max = "1 mm" }',)
    for planted in ("-1 mm", "0 mm"):
        read = load_experiment(path, (*changes, f'evolution.start=[{{ "reflector.defocus" = "{planted}" }}]'))
        assert read.start == ({"reflector.defocus": float(planted[:2]) * 1e-3},)
