"""Horns of curves, splines, steps and slots: areas, formulas, edges, batches.

That each is solved, exported and equal to its outline: test_every_family.py, test_geometry.py, test_outline.py.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from family_cases import DESIGNS, FLARES, KINDS, SPLINE
from scipy.interpolate import PchipInterpolator
from test_geometry import area_and_moment, built, section

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna, load_experiment
from antennaopt.families import stack
from antennaopt.families.corrugated_horn import depths, widths
from antennaopt.families.profiles import CURVES, places, radius_of
from antennaopt.families.sections import cleaned, free_corners
from antennaopt.run.summary import antenna_toml
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan
from fdtd.axisymmetric.scene import prepared
from fdtd.backends import nearest_edges
from fdtd.errors import ConfigError

HORNS = ("profile_horn", "spline_horn", "dual_mode_horn", "corrugated_horn")
SOLVER = {"frequencies": [28.5e9, 31.5e9], "design_frequency": 30e9, "cell": 0.6e-3}
START, STOP, LENGTH = 3.6e-3, 8e-3, 15e-3


def drawn(family: str, **changes: float) -> np.ndarray:
    """The horn's polygon without the feed, repeated corners left out."""
    corners = KINDS[family].outline(DESIGNS[family] | changes).conductors[1]
    return corners[(corners != np.roll(corners, 1, axis=0)).any(axis=1)]


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
    metal = prepared(built("profile_horn", **{"horn.curve": 0.0})[2], np, nearest_edges).conductors[2]
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


def test_spline_horn_is_pchip() -> None:
    corners = KINDS["spline_horn"].outline(DESIGNS["spline_horn"]).conductors[1]
    r, z = corners[len(corners) // 2 :].T
    curve = PchipInterpolator(np.linspace(0, LENGTH, 7), [START, *SPLINE])
    assert r == pytest.approx(curve(z), abs=2e-12)
    assert z[0] == LENGTH and z[-1] == 0.0


def test_dual_mode_horn() -> None:
    """Plate 0.7 x 1.3, cylinder 0.7 x 3, cone 0.7 x 12 mm, all measured along r or z; the plate is round the tube."""
    metal = built("dual_mode_horn")[2].conductors[2]
    area, volume = section(metal, 10e-3, -1e-3, 16e-3, cell=1e-5)
    assert area == pytest.approx((0.7 * 1.3 + 0.7 * 3 + 0.7 * 12) * 1e-6, rel=1e-4)
    assert volume == pytest.approx(area_and_moment(drawn("dual_mode_horn"))[1], rel=1e-4)


def test_slots_by_the_formulas() -> None:
    """Granet's worked horn, 10.7 to 14.5 GHz: 60 slots of 3.009 mm; the first 10.1, the last 6.06 mm deep."""
    centre = 24.07e-3
    horn = {
        "feed.inner_radius": 11.49e-3, "horn.slots": 60.0, "horn.pitch": 3.009e-3, "horn.aperture_radius": 46.93e-3,
        "horn.wavelength": centre, "horn.output_ratio": 1.10 / 1.2, "horn.curve": float(CURVES.index("hyperbolic")),
    }  # fmt: skip
    ratio = 14.5 / 10.7
    assert ratio < 1.4
    horn["horn.output_ratio"] = 1.02
    (radius,), (depth,) = depths(stack([DESIGNS["corrugated_horn"] | horn]))
    assert len(depth) == 60
    assert depth[0] == pytest.approx(10.1e-3, abs=0.05e-3)
    assert depth[-1] == pytest.approx(6.06e-3, abs=0.01e-3)

    def quarter(a: float, lam: float) -> float:
        return lam / 4 * math.exp(1 / (2.114 * (2 * math.pi * a / lam) ** 1.134))

    for j in (1, 3, 5, 6, 30, 60):
        a = math.sqrt(11.49e-3**2 + (j / 60) ** 2 * (46.93e-3**2 - 11.49e-3**2))
        assert radius[j - 1] == pytest.approx(a)
        if j <= 5:
            expected = 0.42 * centre - (j - 1) / 5 * (0.42 * centre - quarter(a, centre))
        else:
            end = quarter(46.93e-3, centre) - quarter(46.93e-3, centre / 1.02)
            expected = quarter(a, centre) - (j - 6) / 54 * end
        assert depth[j - 1] == pytest.approx(expected)


def test_mode_converters_by_the_formulas() -> None:
    """Ring-loaded slots and slots of variable width, 8 slots of which 5 are the converter's; the others are alike."""
    lam, pitch, share = 10.2e-3, 2.2e-3, 0.7
    design = DESIGNS["corrugated_horn"] | {"horn.slots": 8.0, "horn.neck_share": 0.15, "horn.narrowest_share": 0.2}
    radii, found, necks, slots = [], [], [], []
    for converter in range(3):
        designs = stack([design | {"horn.converter": float(converter)}])
        (radius,), (depth,) = depths(designs)
        (width,), (neck,) = widths(designs)
        radii, found, necks, slots = [*radii, radius], [*found, depth], [*necks, neck], [*slots, width]

    def e(a: float) -> float:
        return math.exp(1 / (2.114 * (2 * math.pi * a / lam) ** 1.134))

    for j in range(1, 9):
        a = 3.6e-3 + (8e-3 - 3.6e-3) * j / 8
        assert [one[j - 1] for one in radii] == pytest.approx([a] * 3)
        if j > 5:
            assert found[1][j - 1] == found[2][j - 1] == found[0][j - 1]
            assert [one[j - 1] for one in (*necks, *slots)] == pytest.approx([0.0] * 3 + [share] * 3)
            continue
        assert found[1][j - 1] == pytest.approx(lam / 4 * e(a))
        assert necks[1][j - 1] * pitch == pytest.approx((0.15 + (j - 1) * (share - 0.1 - 0.15) / 5) * pitch)
        widened = 0.42 * lam / 1.15 + (j - 1) / 4 * (lam / 4 - 0.42 * lam / 1.15)
        assert found[2][j - 1] == pytest.approx(widened * e(a))
        assert slots[2][j - 1] * pitch == pytest.approx((0.2 + (j - 1) * (share - 0.2) / 4) * pitch)
        assert necks[0][j - 1] == necks[2][j - 1] == 0.0 and slots[0][j - 1] == slots[1][j - 1] == share


@pytest.mark.parametrize(("converter", "chokes"), [(0, 0), (1, 0), (1, 2), (2, 0), (2, 1)])
def test_area_of_a_corrugated_horn(converter: int, chokes: int) -> None:
    """All inside the outer surface, less the bore and the slots; lips stand out into the bore of the tooth before."""
    share, pitch, wall, lam = 0.7, 2.2e-3, 0.8e-3, 10.2e-3
    changes = {"horn.converter": float(converter), "horn.chokes": float(chokes), "horn.slots": 8.0}
    designs = stack([DESIGNS["corrugated_horn"] | changes])
    ((radius,), (depth,)), ((width,), (neck,)) = depths(designs), widths(designs)
    outer, z = np.maximum.accumulate(radius + depth) + wall, np.append(np.arange(8) * pitch - wall, 8 * pitch)
    outer = np.append(outer, outer[-1])
    whole = np.trapezoid(outer, z)
    before = np.append(3.6e-3, radius[:-1])
    if converter == 1:
        lips = (neck > 0) * (radius - before) * (share - neck) * pitch
        slots = np.where(neck > 0, (2 * share + neck) / 3, share) * depth * pitch
        bore = 3.6e-3 * wall + (radius * pitch - lips).sum()  # the first lip is drawn with a part of the tube
    else:
        slots, bore = width * depth * pitch, 4.0e-3 * wall + (radius * pitch).sum()
    flange = chokes * lam * ((0.1 + 0.05) * (0.25 * lam + wall) - 0.1 * 0.25 * lam)
    if chokes:
        # Between the horn's outer surface and the first choke slot there is metal too.
        fine = np.linspace(8 * pitch - 0.25 * lam - wall, 8 * pitch, 20001)
        flange += np.trapezoid(outer[-1] - np.interp(fine, z, outer), fine)
    corners = drawn("corrugated_horn", **changes)
    assert area_and_moment(corners)[0] == pytest.approx(whole - bore - slots.sum() + flange, rel=1e-6)
    assert corners[:, 0].max() == pytest.approx(outer[-1] + chokes * 0.15 * lam, abs=2e-12)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"horn.converter": 1.0, "horn.neck_share": 0.7},
            "horn.neck_share = 0.7 leaves no lip (must be < horn.slot_sh",
        ),
        ({"horn.converter": 1.0, "horn.neck_margin": 0.8}, "horn.neck_margin = 0.8 closes the last neck"),
        ({"horn.converter": 2.0, "horn.narrowest_share": 0.8}, "horn.narrowest_share = 0.8 is wider than the other"),
        (
            {"horn.chokes": 1.0, "horn.choke_depth": 1.0, "horn.slots": 4.0},
            "horn.choke_depth = 1 makes chokes of 10.2 mm",
        ),
    ],
)
def test_corrugations_that_cannot_be_made(changes: dict[str, float], says: str) -> None:
    """The same numbers without the converter or the choke are sound."""
    design = DESIGNS["corrugated_horn"] | changes
    wrong, sound = KINDS["corrugated_horn"].refusal(
        stack([design, design | {"horn.converter": 0.0, "horn.chokes": 0.0}])
    )
    assert wrong is not None and wrong.startswith(says) and sound is None


def test_necks_and_lips_count_as_thin_parts() -> None:
    """A neck below a cell, a lip or a choke's tooth below an eighth are refused, with the cells that would do."""
    for changes, says in (
        ({"horn.converter": 1.0}, "the neck of horn.neck_share = 0.1 is 0.22 mm thick"),
        ({"horn.converter": 1.0, "horn.neck_share": 0.69, "horn.neck_margin": 0.01}, "the lip of a ring-loaded slot"),
        ({"horn.converter": 2.0}, "the slot of horn.narrowest_share = 0.125 is 0.275 mm thick"),
        ({"horn.chokes": 1.0, "horn.choke_width": 0.02}, "a choke slot of horn.choke_width is 0.204 mm thick"),
    ):
        design = DESIGNS["corrugated_horn"] | changes
        with pytest.raises(ConfigError, match=says):
            plan("corrugated_horn", design, design, SOLVER)


@pytest.mark.slow
def test_corrugated_horn() -> None:
    """The section inside the outer surface less the bore's steps and the slots, slot by slot."""
    design = DESIGNS["corrugated_horn"]
    metal = built("corrugated_horn")[2].conductors[2]
    area, volume = section(metal, 13e-3, -1e-3, 14e-3, cell=1e-5)
    (radius,), (depth,) = depths(stack([design]))
    outer = np.maximum.accumulate(radius + depth) + 0.8e-3
    z = np.append(np.arange(6) * 2.2e-3 - 0.8e-3, 13.2e-3)
    whole = np.trapezoid(np.append(outer, outer[-1]), z)
    bore = 4.0e-3 * 0.8e-3 + (radius * 2.2e-3).sum() + (depth * 0.7 * 2.2e-3).sum()
    assert area == pytest.approx(whole - bore, rel=1e-4)
    assert volume == pytest.approx(area_and_moment(drawn("corrugated_horn"))[1], rel=1e-4)


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        *((family, {}) for family in HORNS),
        ("profile_horn", {"horn.curve": 3.0, "horn.rho": 0.5, "horn.amplitude": 1.0, "horn.wall": 0.3e-3}),
        ("profile_horn", {"horn.wall": 0.4e-3, "horn.curve": 0.0}),
        ("profile_horn", FLARES),
        ("spline_horn", {"horn.radii.2": 3.7e-3, "horn.radii.3": 8e-3, "horn.radii.4": 4e-3}),
        ("dual_mode_horn", {"horn.step_radius": 3.6e-3, "horn.wall": 0.4e-3}),
        ("dual_mode_horn", {"horn.aperture_radius": 4.6e-3}),
        ("corrugated_horn", {"horn.slots": 2.0, "horn.wall": 3e-3}),
        ("corrugated_horn", {"horn.slots": 9.0, "horn.converter_slots": 0.0}),
        ("corrugated_horn", {"horn.converter": 1.0, "horn.chokes": 1.0}),
        ("corrugated_horn", {"horn.converter": 1.0, "horn.converter_slots": 0.0}),
        ("corrugated_horn", {"horn.converter": 1.0, "horn.converter_slots": 1.0, "feed.outer_radius": 5.5e-3}),
        ("corrugated_horn", {"horn.converter": 2.0, "horn.chokes": 3.0, "horn.choke_depth": 0.4}),
        (
            "corrugated_horn",
            {"horn.converter": 2.0, "horn.converter_slots": 1.0, "horn.slots": 2.0, "horn.chokes": 1.0},
        ),
    ],
)
def test_sections_are_sound_and_edges_are_those_of_the_union(family: str, changes: dict[str, float]) -> None:
    """Against `free_corners`, which knows polygons only; a section never crosses itself."""
    design = {name: value for name, value in DESIGNS[family].items() if f"{name}.0" not in changes} | changes
    tube, horn = KINDS[family].outline(design).conductors
    cleaned(horn.tolist())
    expected = {
        (round(one.r, 11), round(one.z, 11)): (round(one.wall % (2 * math.pi), 4), round(one.opening, 4))
        for one in free_corners([tube, horn])
    }
    found = {
        (round(float(one.r[0]), 11), round(float(one.z[0]), 11)): (
            round(float(one.wall[0]) % (2 * math.pi), 4),
            round(float(one.opening[0]), 4),
        )
        for one in KINDS[family].scene(stack([design])).rims
    }
    assert found == expected and len(found) >= 3


@pytest.mark.parametrize("family", HORNS)
def test_size_grows_with_every_parameter(family: str) -> None:
    """A lattice is laid out for all upper ends at once: no antenna below them may be larger."""
    rng = np.random.default_rng(3)
    lengths = [one.name for one in KINDS[family].parameters if one.unit == "m" and one.name.startswith("horn")]
    upper = (
        DESIGNS[family] | {"horn.slots": 9.0, "horn.converter": 2.0, "horn.chokes": 2.0}
        if family == "corrugated_horn"
        else DESIGNS[family]
    )
    radius, height = (float(one[0]) for one in KINDS[family].size(stack([upper])))
    for _ in range(30):
        lower = {
            name: value * rng.uniform(0.5, 1) for name, value in upper.items() if name.rstrip(".012345") in lengths
        }
        lower["horn.aperture_radius"] = rng.uniform(5e-3, upper.get("horn.aperture_radius", 9e-3))
        lower |= (
            {"horn.slots": float(rng.integers(3, 10)), "horn.chokes": float(rng.integers(3))}
            if family == "corrugated_horn"
            else {}
        )
        lower |= {"horn.curve": float(rng.integers(8))} if "horn.curve" in upper else {}
        lower |= {"horn.converter": float(rng.integers(3))} if family == "corrugated_horn" else {}
        corners = KINDS[family].outline(upper | lower).conductors[1]
        assert corners[:, 0].max() <= radius + 1e-9 and corners[:, 1].max() <= height + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("family", HORNS)
def test_alone_and_in_a_batch(family: str) -> None:
    """The same bits next to antennas with more slots, other curves and no step."""
    design = DESIGNS[family]
    changed = {
        "profile_horn": {"horn.curve": 6.0, "horn.wall": 0.4e-3},
        "spline_horn": {"horn.radii.2": 4.1e-3, "horn.wall": 0.4e-3},
        "dual_mode_horn": {"horn.step_radius": 3.6e-3, "horn.wall": 0.4e-3},
        "corrugated_horn": {"horn.slots": 8.0, "horn.curve": 2.0, "horn.converter": 1.0, "horn.neck_share": 0.3}
        | {"horn.chokes": 1.0},
    }[family]
    shared = plan(family, design, {name: max(value, changed.get(name, 0)) for name, value in design.items()}, SOLVER)
    batch = [design | changed, design, design | changed, design]
    together = evaluate(family, batch, shared.to_dict())
    (alone,) = evaluate(family, [design], shared.to_dict())
    assert alone.status == "ok"
    assert together[1].s11 == together[3].s11 == alone.s11 and together[1].metrics == alone.metrics
    assert together[0].metrics == together[2].metrics != alone.metrics
