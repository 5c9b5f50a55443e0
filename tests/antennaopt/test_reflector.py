"""A paraboloid with an open waveguide in its focus: surface, frame of its patterns, gain, what does not fit.

That one is solved, exported and equal to its outline: test_every_family.py, test_geometry.py, test_outline.py.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from family_cases import DESIGNS, FEED, KINDS
from test_every_family import antenna_file

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna
from antennaopt.families import Body, kind, stack
from antennaopt.families.sections import cleaned, free_corners
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


def aperture_directivity(feed: Any, design: dict[str, float], hz: float) -> float:
    """Directivity on axis, dBi, by aperture integration of the feed's own pattern, without the disc of the feed.

    Rays from the focus at the angle theta come back at r = 2 F tan(theta / 2), with the amplitude of the feed's field
    over the distance F / cos^2(theta / 2). Of E cos(phi) and H sin(phi) the mean over phi is (E + H) / 2.
    """
    theta = np.radians(np.array(feed.theta_deg))
    diameter = design["reflector.diameter"]
    focal = diameter * design["reflector.focal_ratio"]
    angles = np.linspace(
        2 * math.atan(design["feed.outer_radius"] / (2 * focal)), 2 * math.atan(diameter / (4 * focal)), 4001
    )
    co = np.array(feed.e_plane)[0] + np.array(feed.h_plane)[0]
    between = np.interp(angles, theta, np.real(co)) + 1j * np.interp(angles, theta, np.imag(co))
    # exp(-jkr) of the phase centre's distance from the mouth, toward which the dish is moved.
    between *= np.exp(1j * 2 * np.pi * hz / 299792458.0 * design["reflector.defocus"] * (np.cos(angles) - 1))
    # d = k^2 / (4 pi) |int E dA|^2 / power; |E| = |co| / 2 over the distance, dA = 2 pi r dr, r dr = rho^2 sin d(theta)
    distance = focal / np.cos(angles / 2) ** 2
    integral = np.trapezoid(between / 2 * distance * np.sin(angles), angles)
    return 10 * math.log10((2 * np.pi * hz / 299792458.0) ** 2 * abs(integral) ** 2)


@pytest.mark.slow
def test_gain_by_aperture_integration() -> None:
    """12 wavelengths: rays against waves, which the rim and the tube scatter. Measured 0.046 dB on cells of 0.5 mm."""
    design = DESIGN | {"reflector.diameter": 120e-3, "reflector.defocus": 0.0}
    solver = SOLVER | {"cell": 0.5e-3}
    (dish,) = evaluate("reflector", [design], plan("reflector", design, design, solver).to_dict())
    (feed,) = evaluate("open_waveguide", [FEED], plan("open_waveguide", FEED, FEED, solver).to_dict())
    (reached,) = np.array(dish.metrics["directivity_dbi"], dtype=float)
    expected = aperture_directivity(feed, design, 30e9)
    assert dish.status == "ok" and reached == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            ('reflector.diameter="7 mm"',),
            "antenna.reflector.diameter = 7 mm is smaller than the waveguide",
        ),
        (
            ('reflector.defocus="-21 mm"',),
            "antenna.reflector.defocus = -21 mm puts the dish behind",
        ),
        (
            ('reflector.shroud="30 mm"',),
            "antenna.reflector.shroud = 30 mm puts the dish's edge at z = -",
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
