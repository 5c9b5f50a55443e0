"""Horns of curves: the primer's formulas, walls, horns of several sections."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from family_cases import DESIGNS, KINDS
from test_geometry import area_and_moment, built, section
from test_horn_families import LENGTH, SOLVER, START, STOP, drawn

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna, load_experiment
from antennaopt.families import stack
from antennaopt.families.profiles import CURVES, places, radius_of
from antennaopt.run.summary import antenna_toml
from fdtd.axisymmetric.scene import prepared
from fdtd.backends import POLYGONS


def granet(curve: str, t: float, a: float, rho: float, gamma: float) -> float:
    """Radius over z / L = t as the primer prints it, with L = 1."""
    rise = STOP - START
    if curve == "asymmetric_sine_squared":
        l1 = 1 / (1 + gamma)
        l2 = 1 - l1
        part = (
            math.sin(math.pi * t / (4 * l1)) ** 2
            if t <= l1
            else gamma * math.sin(math.pi * (t + l2 - l1) / (4 * l2)) ** 2 + (1 - gamma) / 2
        )
        return START + 2 * rise / (1 + gamma) * part
    return {
        "linear": START + rise * t,
        "sinusoid": START + rise * ((1 - a) * t + a * math.sin(math.pi * t / 2) ** rho),
        "tangential": START + rise * ((1 - a) * t + a * math.tan(math.pi * t / 4) ** rho),
        "x_rho": START + rise * ((1 - a) * t + a * t**rho),
        "exponential": START * math.exp(math.log(STOP / START) * t),
        "hyperbolic": math.sqrt(START**2 + t**2 * (STOP**2 - START**2)),
        "polynomial": START + (rho + 1) * rise * (1 - rho * t / (rho + 1)) * t**rho,
    }[curve]


@pytest.mark.parametrize("curve", CURVES)
def test_curves(curve: str) -> None:
    """The formulas, from the feed to the aperture, never narrower than before; chords within 0.5 um."""
    for a, rho, gamma in ((0.8, 1.6, 1.5), (1.0, 0.5, 0.4), (0.3, 5.0, 3.0)):
        numbers = {"horn.amplitude": a, "horn.rho": rho, "horn.gamma": gamma}
        design = DESIGNS["profile_horn"] | {"horn.curve": float(CURVES.index(curve)), **numbers}
        share = np.linspace(0, 1, 60)
        (found,) = radius_of(stack([design]), "horn", share)
        assert found == pytest.approx([granet(curve, t, a, rho, gamma) for t in share], rel=1e-12)
        assert (found[0], found[-1]) == pytest.approx((START, STOP), rel=1e-12) and (np.diff(found) > -1e-15).all()
        ends = places()
        (on_curve,) = radius_of(stack([design]), "horn", ends)
        (middle,) = radius_of(stack([design]), "horn", (ends[1:] + ends[:-1]) / 2)
        slope = np.diff(on_curve) / (np.diff(ends) * LENGTH)
        chord = np.abs(middle - (on_curve[1:] + on_curve[:-1]) / 2) / np.sqrt(1 + slope**2)
        assert chord.max() < 0.5e-6  # measured 0.36 um at a root of z, 0.1 um elsewhere


def test_a_gaussian_profile_is_a_hyperbolic_one() -> None:
    """r0 sqrt(1 + (lam z / (pi alpha^2 r0^2))^2) with the aperture that it has at z = L."""
    lam, alpha = 10e-3, 0.65
    width = math.pi * alpha**2 * START**2 / lam
    aperture = START * math.sqrt(1 + (LENGTH / width) ** 2)
    design = DESIGNS["profile_horn"] | {"horn.curve": CURVES.index("hyperbolic"), "horn.aperture_radius": aperture}
    share = np.linspace(0, 1, 20)
    expected = START * np.sqrt(1 + (share * LENGTH / width) ** 2)
    assert radius_of(stack([design]), "horn", share)[0] == pytest.approx(expected, rel=1e-12)


def test_profile_horn_wall() -> None:
    """A wall of 0.7 mm along the curve: its length times 0.7 mm, less the two ends where it is cut off flat.

    The linear one is exact: from r at z = 0 the outer surface stands 0.7 mm / cos over it, and at the aperture it turns
    round the inner edge.
    """
    metal = prepared(built("profile_horn", **{"horn.curve": 0.0})[2], np, POLYGONS).conductors[2]
    area, volume = section(metal, 10e-3, -1e-3, 16e-3, cell=1e-5)
    slope = math.atan2(STOP - START, LENGTH)
    straight = 0.7e-3 / math.cos(slope) * LENGTH
    # Where the normal at the aperture has left: a triangle of the straight wall less the arc's sector.
    corner = 0.7e-3**2 * (math.tan(slope) - slope) / 2
    assert area == pytest.approx(straight - corner, rel=1e-4)
    assert volume == pytest.approx(area_and_moment(drawn("profile_horn", **{"horn.curve": 0.0}))[1], rel=1e-4)


@pytest.mark.parametrize("family", ["profile_horn", "spline_horn"])
def test_walls_are_even(family: str) -> None:
    """No point of the outer surface is nearer to the inside than the wall's 0.7 mm, nor further where it is free."""
    corners = KINDS[family].outline(DESIGNS[family]).conductors[1]
    outer, inner = corners[: len(corners) // 2], corners[len(corners) // 2 :]
    start, step = inner[:-1], np.diff(inner, axis=0)
    away = outer[:, None] - start
    along = np.clip((away * step).sum(-1) / (step**2).sum(-1), 0, 1)
    distance = np.hypot(*np.moveaxis(away - along[..., None] * step, -1, 0)).min(axis=1)
    assert distance.min() > 0.7e-3 - 2e-12 and distance.max() < 0.7e-3 + 1e-10


THREE = (("length", (5e-3, 7e-3, 3e-3)), ("aperture_radius", (5e-3, 7e-3, 8e-3)), ("curve", (0.0, 6.0, 1.0)))


def sections(*lists: tuple[str, tuple[float, ...]]) -> dict[str, float]:
    """The horn with lists in place of single values."""
    given = {f"horn.{name}" for name, _ in lists}
    bare = {name: value for name, value in DESIGNS["profile_horn"].items() if name not in given}
    return bare | {f"horn.{name}.{place}": one for name, values in lists for place, one in enumerate(values)}


def test_sections_of_a_horn_follow_their_own_curves() -> None:
    """A cone, a hyperbola and a sinusoid, each from the radius where the one before ends."""
    design = sections(*THREE)
    corners = KINDS["profile_horn"].outline(design).conductors[1]
    r, z = corners[len(corners) // 2 :].T
    ends, radii = (0.0, 5e-3, 12e-3, 15e-3), (3.6e-3, 5e-3, 7e-3, 8e-3)
    t, (_, _, low, high) = (z - 5e-3) / 7e-3, radii
    assert np.interp(ends, z[::-1], r[::-1]) == pytest.approx(radii, abs=2e-12)
    cone, middle, last = z <= 5e-3, (z >= 5e-3) & (z <= 12e-3), z >= 12e-3
    assert r[cone] == pytest.approx(3.6e-3 + 1.4e-3 * z[cone] / 5e-3, abs=2e-12)
    assert r[middle] == pytest.approx(np.sqrt(5e-3**2 + t[middle] ** 2 * (7e-3**2 - 5e-3**2)), abs=2e-12)
    t = (z[last] - 12e-3) / 3e-3
    assert r[last] == pytest.approx(low + (high - low) * (0.2 * t + 0.8 * np.sin(np.pi * t / 2) ** 1.6), abs=2e-12)
    radius, height = (float(one[0]) for one in KINDS["profile_horn"].size(stack([design])))
    assert (radius, height) == pytest.approx((8.7e-3, 15e-3))


def test_one_section_in_a_list_is_the_horn_to_the_bit() -> None:
    """And two halves of a cone are the cone."""
    known, design = KINDS["profile_horn"], DESIGNS["profile_horn"]
    one = sections(("length", (15e-3,)), ("aperture_radius", (8e-3,)))
    assert np.array_equal(known.outline(one).conductors[1], known.outline(design).conductors[1])
    cone = design | {"horn.curve": 0.0}
    halves = sections(("length", (7e-3, 8e-3)), ("aperture_radius", (3.6e-3 + 4.4e-3 * 7 / 15, 8e-3))) | {
        "horn.curve": 0.0
    }
    areas = [area_and_moment(known.outline(one).conductors[1]) for one in (cone, halves)]
    assert areas[0] == pytest.approx(areas[1], rel=1e-6)  # the arc round the mouth has other chords


def test_sections_in_a_file(tmp_path: Path) -> None:
    """Lists of lengths, radii and words read back; their entries are genes; lists of other lengths are refused."""
    path = tmp_path / "three.toml"
    path.write_text(antenna_toml(title="three", family="profile_horn", design=sections(*THREE), solver=SOLVER))
    assert 'curve = ["linear", "hyperbolic", "sinusoid"]' in path.read_text()
    assert load_antenna(path).design() == sections(*THREE)
    goal = '\n[[objective]]\nmetric = "directivity_dbi"\nat_least = 30.0\n'
    path.write_text(path.read_text() + goal)
    changes = (
        'antenna.horn.curve=["linear", { choices = ["linear", "x_rho"] }, "sinusoid"]',
        'antenna.horn.length={ count = 3, min = "3 mm", max = "6 mm" }',
    )
    genes = [gene.name for gene in load_experiment(path, changes).genes]
    assert genes == ["horn.length.0", "horn.length.1", "horn.length.2", "horn.curve.1"]
    for change, says in (
        (
            'horn.aperture_radius=["5 mm", "8 mm"]',
            "antenna.horn.aperture_radius has 2 entries, but antenna.horn.length has 3",
        ),
        ('horn.aperture_radius="8 mm"', "antenna.horn.aperture_radius is one radius, but horn.length has 3 sections"),
        ('horn.length="15 mm"', "antenna.horn.aperture_radius has 3 entries, but antenna.horn.length has 1"),
        ('horn.curve=["linear", "round", "linear"]', 'antenna.horn.curve.1 = "round" is not one of linear'),
        (
            'horn.aperture_radius=["5 mm", "7 mm", "3 mm"]',
            "antenna.horn.aperture_radius.2 = 3 mm is smaller than the feed",
        ),
        ('horn.length=["5 mm", "0 mm", "3 mm"]', 'antenna.horn.length.1 = "0 mm" is out of bounds'),
    ):
        with pytest.raises(ConfigurationError) as refused:
            load_antenna(path, (f"antenna.{change}",))
        assert f": {says}" in str(refused.value) and "\n" not in str(refused.value)
