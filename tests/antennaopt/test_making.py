"""Limits of making: found before solving, with the place and the number; sharp corners and curves break none."""

from __future__ import annotations

import re

import numpy as np
import pytest
from config_files import LENS
from family_cases import CASES, FEED, KINDS

from antennaopt.experiment import load_file
from antennaopt.families import Body, Making, kind, stack
from antennaopt.families.making import same_fault
from antennaopt.families.shapes import Outline
from antennaopt.run.summary import antenna_toml
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan

CORRUGATED = {
    **FEED,
    "horn.slots": 5.0,
    "horn.pitch": 1.5e-3,
    "horn.aperture_radius": 8e-3,
    "horn.wavelength": 10e-3,
    "horn.wall": 1e-3,
    "horn.slot_share": 0.8,
    "horn.converter_slots": 2.0,
    "horn.sigma": 0.42,
    "horn.output_ratio": 1.02,
}


def fault(family, design, **limits):
    known = kind(family)
    full = {one.name: one.default for one in known.parameters if one.default is not None and one.kind != "list"}
    return Making(**limits).fault(known.outline({**full, **design}))


def drawn(*points, permittivity=None):
    """The first line of a fault of a feed with one body of mm."""
    corners = np.array(points) * 1e-3
    bodies = (Body(points=tuple(map(tuple, corners)), metal=permittivity is None),)
    known = kind("outline", bodies)
    design = FEED if permittivity is None else {**FEED, "body.0.permittivity": permittivity}
    return known.outline(design)


def place(text):
    """Return limit, number and place of a fault: name, mm or degrees, r, z in mm."""
    found = re.search(r"limits\.(\w+) .* (?:of|is|radius) ([\d.]+) mm.* at r = ([\d.]+) mm, z = (-?[\d.]+) mm", text)
    assert found, text
    return found[1], float(found[2]), float(found[3]), float(found[4])


def test_tooth_and_slot_of_a_corrugated_horn():
    assert fault("corrugated_horn", CORRUGATED, tooth=0.299e-3, slot=1.199e-3) is None
    name, width, r, z = place(fault("corrugated_horn", CORRUGATED, tooth=0.31e-3) or "")
    assert (name, width) == ("tooth", pytest.approx(0.3, abs=2e-3))
    assert 3.6 < r < 9 and 1.2 < z % 1.5 < 1.5
    name, width, r, z = place(fault("corrugated_horn", CORRUGATED, slot=1.25e-3) or "")
    assert (name, width) == ("slot", pytest.approx(1.2, abs=2e-3)) and 0.0 < z % 1.5 < 1.2


def test_walls_of_metal_and_dielectric():
    horn = {**FEED, "horn.length": 15e-3, "horn.wall": 0.2e-3, "horn.radii.0": 6e-3, "horn.radii.1": 9e-3}
    assert fault("spline_horn", horn, wall=0.199e-3) is None
    name, width, _, z = place(fault("spline_horn", horn, wall=0.3e-3) or "")
    assert (name, width) == ("wall", pytest.approx(0.2, abs=2e-3)) and 0 < z < 15
    shell = drawn((10.0, 0.0), (10.3, 0.0), (10.3, 8.0), (10.0, 8.0), permittivity=2.0)
    name, width, r, _ = place(Making(wall=0.4e-3).fault(shell) or "")
    assert (name, width, round(r, 1)) == ("wall", pytest.approx(0.3, abs=2e-3), pytest.approx(10.15, abs=0.1))
    assert Making(wall=0.29e-3).fault(shell) is None


def test_sharp_corners_are_neither_thin_nor_narrow():
    wedge = drawn((4.0, 0.0), (12.0, 0.0), (4.0, 2.0))  # an edge of 14 degrees
    assert Making(wall=0.3e-3, tooth=0.3e-3, slot=0.3e-3).fault(wedge) is None
    rod = drawn((0.0, 0.0), (4.5, 0.0), (0.2, 20.0), (0.0, 20.0), permittivity=2.0)
    assert Making(wall=0.39e-3).fault(rod) is None


def test_a_dielectric_on_the_axis_is_as_thick_as_its_diameter():
    pin = drawn((0.0, 0.0), (4.5, 0.0), (4.5, 5.0), (0.15, 5.0), (0.15, 9.0), (0.0, 9.0), permittivity=2.0)
    assert Making(wall=0.29e-3).fault(pin) is None
    assert "dielectric 1 is 0.3 mm thick at r = 0 mm" in (Making(wall=0.35e-3).fault(pin) or "")


def test_tool_radius_of_inner_corners():
    def cup(radius):
        """A cup whose one inner corner has a radius, mm, in 64 steps: its floor covers the tube."""
        angles = np.linspace(0.0, np.pi / 2, 65) if radius else np.zeros(1)
        arc = [(8.0 - radius + radius * np.cos(a), 1.0 + radius - radius * np.sin(a)) for a in angles]
        corners = [(3.6, -12.4), (9.0, -12.4), (9.0, 6.0), (8.0, 6.0), *arc, (3.6, 1.0)]
        return Outline(
            conductors=(np.array([(3.6, -12.4), (4.0, -12.4), (4.0, 0), (3.6, 0)]) * 1e-3, np.array(corners) * 1e-3)
        )

    assert Making(tool_radius=0.45e-3).fault(cup(0.5)) is None
    assert "a sharp inner corner at r = 7.9" in (Making(tool_radius=0.2e-3).fault(cup(0.0)) or "")
    name, radius, r, z = place(Making(tool_radius=0.8e-3).fault(cup(0.5)) or "")
    assert (name, radius) == ("tool_radius", pytest.approx(0.5, rel=0.1))
    assert (r, z) == (pytest.approx(7.8, abs=0.2), pytest.approx(1.2, abs=0.2))


def test_overhang_with_the_better_end_down():
    horn = {**FEED, "horn.length": 10e-3, "horn.aperture_radius": 13.6e-3, "horn.wall": 0.4e-3}
    assert fault("conical_horn", horn, overhang=45.1) is None
    assert "has 45 deg" in (fault("conical_horn", horn, overhang=44.0) or "")
    lens = {**FEED, "lens.permittivity": 2.53, "lens.radius": 9e-3, "lens.extension": 3e-3}
    assert fault("hemispherical_lens", lens, overhang=5.0) is None  # it stands on its base
    plate = drawn((4.0, 5.0), (9.0, 5.0), (9.0, 6.0), (4.0, 6.0))
    assert "90 deg" in (Making(overhang=60.0).fault(plate) or "")


def test_monotone_bore():
    radii = {"horn.length": 15e-3, "horn.wall": 0.5e-3}
    rising = {f"horn.radii.{at}": value * 1e-3 for at, value in enumerate((4.0, 5.0, 5.0, 8.0))}
    assert fault("spline_horn", {**FEED, **radii, **rising}, monotone=True) is None
    falling = {**rising, "horn.radii.2": 4.5e-3}
    text = fault("spline_horn", {**FEED, **radii, **falling}, monotone=True) or ""
    assert text.startswith("limits.monotone: the bore narrows to ") and "from 5 mm before it" in text
    assert "narrows" in (fault("corrugated_horn", CORRUGATED, monotone=True) or "")


@pytest.mark.parametrize("family", CASES)
def test_a_sound_antenna_of_every_family_passes(family):
    """Limits far below the parts of an antenna break nothing, curves and corners included."""
    known = kind(family, CASES[family].bodies)
    full = {one.name: one.default for one in known.parameters if one.default is not None and one.kind != "list"}
    limits = Making(slot=0.15e-3, tooth=0.15e-3, wall=0.15e-3)
    assert limits.fault(known.outline({**full, **CASES[family].design})) is None


def test_a_design_becomes_infeasible_and_the_others_stay_as_they_are():
    horns = [
        {**FEED, "horn.length": 8e-3, "horn.aperture_radius": 6e-3, "horn.wall": wall} for wall in (0.5e-3, 0.1e-3)
    ]
    settings = {"frequencies": [30e9], "design_frequency": 30e9, "cell": 0.6e-3}
    limited = plan(kind("conical_horn", making=Making(wall=0.3e-3)), horns[0], horns[0], settings).to_dict()
    free = plan("conical_horn", horns[0], horns[0], settings).to_dict()
    sound, thin = evaluate("conical_horn", horns, limited)
    assert thin.status == "infeasible" and "limits.wall = 0.3 mm: a wall of" in str(thin.error)
    (alone,) = evaluate("conical_horn", horns[:1], free)
    assert sound.ok and sound["s11"] == alone["s11"]


HORN = """
[antenna]
family = "spline_horn"
[antenna.feed]
inner_radius = "3.6 mm"
outer_radius = "4 mm"
length = "12 mm"
[antenna.horn]
length = "10 mm"
radii = ["5 mm", "4.5 mm", "6 mm"]
wall = "0.5 mm"
[solver]
frequencies = ["30 GHz"]
cell = "0.6 mm"
[limits]
"""


def test_validate_and_simulate_tell(call, tmp_path):
    (tmp_path / "horn.toml").write_text(HORN + "monotone = true\nwall = '0.2 mm'\n")
    for command in ("validate", "simulate"):
        code, _, err = call(command, "horn.toml", *(["-q"] if command == "simulate" else []))
        assert code == 2 and "limits.monotone: the bore narrows" in err and len(err.splitlines()) == 1
    (tmp_path / "horn.toml").write_text(HORN + "overhang = '60 deg'\nslot = '1 mm'\n")
    code, out, _ = call("validate", "horn.toml")
    assert code == 0 and "limits       slot 1 mm, overhang 60 deg" in out


def test_limits_are_in_files_that_are_written(call, tmp_path):
    """Of `--outline` none: its polygons are no horn's radii."""
    limits = "monotone = false\nslot = '1 mm'\noverhang = '60.5 deg'\nwall = '0.25 mm'\n"
    (tmp_path / "horn.toml").write_text('polarisation = "lhcp"\n' + HORN + limits)
    given = load_file(tmp_path / "horn.toml")
    text = antenna_toml(
        title="", family=given.kind, design=given.design(), solver={"frequencies": [30e9]}, polarisation="lhcp"
    )
    (tmp_path / "other.toml").write_text(text)
    other = load_file(tmp_path / "other.toml")
    assert other.limits == given.limits and other.limits is not None and other.polarisation == "lhcp"
    assert other.kind.making == given.kind.making
    assert "[limits]" not in antenna_toml(title="", family="spline_horn", design=given.design(), solver={})


def test_repair_of_a_spline_horn(tmp_path):
    (tmp_path / "horn.toml").write_text(HORN + "monotone = true\nrepair = true\n")
    experiment = load_file(tmp_path / "horn.toml")
    assert [experiment.design()[f"horn.radii.{at}"] for at in range(3)] == [5e-3, 5e-3, 6e-3]
    assert experiment.kind.refusal(stack([experiment.design()])) == [None]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("overhang = true", "limits.overhang = true must be a number"),
        ("", "limits: no limit is set"),
        ("slot = 0.3", "limits.slot = 0.3 "),
        ("slott = '1 mm'", "limits.slott is not a known key; did you mean 'slot'"),
        ("overhang = 95", "limits.overhang = 95 must be < 90"),
        ("overhang = '45'", "is no angle; write degrees"),
        ("wall = '0.5 mm'", "is thicker than the feed's wall of 0.4 mm"),
        ("slot = '1 mm'\nrepair = true", "breaks limits.slot can be repaired in many ways; remove repair"),
    ],
)
def test_refused_in_one_line(tmp_path, call, lines, says):
    (tmp_path / "horn.toml").write_text(HORN + lines)
    code, _, err = call("validate", "horn.toml")
    assert code == 2 and says in err and len(err.splitlines()) == 1


def test_a_lens_has_no_bore(tmp_path, call):
    (tmp_path / "lens.toml").write_text(LENS + "\n[limits]\nmonotone = true\n")
    code, _, err = call("validate", "lens.toml")
    assert code == 2 and "limits.monotone is about a horn's bore, and a shaped_lens has none; remove it" in err


def test_errors_of_one_limit_count_as_one_reason():
    lines = [f"limits.wall = 0.5 mm: a wall of {width} mm at r = 3 mm, z = 1 mm" for width in (0.3, 0.4)]
    assert {same_fault(line) for line in lines} == {"limits.wall = 0.5 mm"}
    lines = [f"plate.diameter = {size} mm covers the dish (must be < {size} mm)" for size in ("70", "6.5e+03")]
    assert len({same_fault(line) for line in lines}) == 1
    assert same_fault("layers.thickness.0 is thin") != same_fault("layers.thickness.1 is thin")


def test_limits_change_the_experiment_only_where_they_are_set(tmp_path):
    (tmp_path / "lens.toml").write_text(LENS)
    plain = load_file(tmp_path / "lens.toml")
    limited = plain.changed(limits={"wall": 0.3e-3})
    assert plain.resolved()["limits"] is None
    assert (plain.physics_hash, plain.config_hash) != (limited.physics_hash, limited.config_hash)
    assert limited.from_resolved(limited.resolved()).kind.making == Making(wall=0.3e-3)


@pytest.mark.parametrize("family", CASES)
def test_a_limit_alone_finds_what_it_finds_next_to_others(family):
    """What a limit does not need is not computed: dielectrics for slots, the section for a bore."""
    known = KINDS[family]
    full = {one.name: one.default for one in known.parameters if one.default is not None and one.kind != "list"}
    outline = known.outline({**full, **CASES[family].design})
    other = {"wall": 1e-6}  # kept by all
    for limit in ({"slot": 3e-3}, {"tooth": 0.7e-3}, {"tool_radius": 0.2e-3}, {"monotone": True}):
        assert Making(**limit).fault(outline) == Making(**limit, **other).fault(outline)
