"""Geometry files, read back by ezdxf, trimesh, build123d and NumPy, against volumes by Pappus and the designs' lengths.

Facets: a circle of n corners on the true radius R has the area pi R^2 sin(x)/x, x = 2 pi / n, and its edges are
R (1 - cos(x/2)) inside. An edge within s of the circle loses 4 s / (3 R) of the area to first order.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import ezdxf
import numpy as np
import pytest
import trimesh
from family_cases import CASES, DESIGNS, FEED, KINDS, TWO_REFLECTORS, with_slow
from required import skip_without

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna
from antennaopt.families import Body, kind
from antennaopt.families.shapes import Outline, Solid, polygon
from antennaopt.report.drawing import write_dxf
from antennaopt.report.geometry import STL_CHORD_MM, bodies, write_profiles, write_step, write_stl

FAMILIES = list(CASES)
SOLVER = '[solver]\nfrequencies = ["30 GHz"]\ncell = "0.6 mm"\n'
TUBE = (
    '[antenna]\nfamily = "outline"\n[antenna.feed]\ninner_radius = "3.6 mm"\nouter_radius = "4 mm"\nlength = "12 mm"\n'
)


def volume(corners: np.ndarray) -> float:
    """Volume of revolution, m^3: 2 pi times the integral of r over the section, by Green's theorem."""
    (r, z), (r1, z1) = corners.T, np.roll(corners, -1, axis=0).T
    return abs(float(np.pi / 3 * ((r**2 + r * r1 + r1**2) * (z1 - z)).sum()))


def outline_of(family: str) -> Outline:
    return KINDS[family].outline(DESIGNS[family])


def expected(outline: Outline) -> dict[str, float]:
    """Volumes, mm^3, of an outline whose bodies touch and do not overlap."""
    found = {"metal": sum(map(volume, outline.conductors))}
    found |= {f"dielectric_{place}": volume(one.corners) for place, one in enumerate(outline.dielectrics, start=1)}
    return {name: value * 1e9 for name, value in found.items()}


STAND_FREE = ("reflector", "cassegrain", "ring_focus", "splash_plate")
"""Families with a reflector that touches no other metal."""


@pytest.mark.parametrize("family", with_slow(FAMILIES, TWO_REFLECTORS))
def test_stl_is_watertight_and_has_the_volume_within_the_chords(family: str, tmp_path: Path) -> None:
    """Measured: sin(x)/x of the volume within 3e-7, which float32 leaves."""
    outline = outline_of(family)
    files = write_stl(tmp_path / "a.stl", outline)
    volumes = expected(outline)
    assert [one.name for one in files] == ["a.stl", *(f"a_{name}.stl" for name in volumes if name != "metal")]
    for file, exact in zip(files, volumes.values(), strict=True):
        mesh: Any = trimesh.load_mesh(file)
        pieces = 2 if family in STAND_FREE else 1
        assert mesh.is_watertight and mesh.is_winding_consistent and mesh.body_count == pieces
        radius = mesh.bounds[1][0]
        assert 1 - 4 / 3 * STL_CHORD_MM / radius < mesh.volume / exact < 1 + 1e-6
    metal: Any = trimesh.load_mesh(files[0])
    everything = np.concatenate(outline.conductors) * 1e3
    assert metal.bounds[:, 2] == pytest.approx([everything[:, 1].min(), everything[:, 1].max()], abs=2e-4)
    assert metal.bounds[1][:2] == pytest.approx(everything[:, 0].max(), abs=2e-4)


@pytest.mark.parametrize("family", with_slow(FAMILIES, TWO_REFLECTORS))
def test_dxf_has_the_bodies_in_layers(family: str, tmp_path: Path) -> None:
    outline = outline_of(family)
    drawing = ezdxf.readfile(write_dxf(tmp_path / "a.dxf", outline, title="Horn für 30 GHz"))  # type: ignore[attr-defined]
    assert not drawing.audit().has_errors and drawing.units == 4
    shapes = {one.dxf.layer: one for one in drawing.modelspace().query("LWPOLYLINE")}
    assert shapes.keys() == bodies(outline).keys()
    for name, corners in bodies(outline).items():
        assert shapes[name].closed
        points = np.array(shapes[name].get_points("xy"))
        np.testing.assert_allclose(points[:, ::-1], corners * 1e3, rtol=0, atol=1e-9)
    for number, solid in enumerate(outline.dielectrics, start=1):
        assert f"permittivity {solid.permittivity:.6g}," in drawing.layers.get(f"dielectric_{number}").description


def test_dxf_dimensions_are_those_of_the_design(tmp_path: Path) -> None:
    """Of the horn: feed 7.2 and 8 mm, 12.4 mm behind z = 0, 18 mm long to an aperture of 18 mm with 0.5 mm of wall."""
    drawing = ezdxf.readfile(write_dxf(tmp_path / "a.dxf", outline_of("conical_horn")))  # type: ignore[attr-defined]
    found: dict[str, list[float]] = {"diameter": [], "length": []}
    for one in drawing.modelspace().query("DIMENSION"):
        assert one.dxf.layer == "dimensions"
        (text,) = (part.text for part in one.get_geometry_block() if part.dxftype() == "MTEXT")
        assert float(text.removeprefix("%%c")) == pytest.approx(one.get_measurement(), abs=5.1e-4)
        found["diameter" if text.startswith("%%c") else "length"].append(one.get_measurement())
    slope = 18 / np.hypot(18, 9 - 3.6)  # the shell is thinnest across its thinner end, which is the tube's
    assert sorted(found["diameter"]) == pytest.approx([7.2, 8.0, 18.0, 19.0])
    assert sorted(found["length"]) == pytest.approx([0.4 * slope, 0.4, 12.4, 18.0, 30.4], abs=2e-3)


@pytest.mark.parametrize(
    "family", with_slow([family for family in FAMILIES if family != "open_waveguide"], TWO_REFLECTORS)
)
def test_profile_and_dxf_are_read_by_the_family_outline(family: str, tmp_path: Path) -> None:
    outline = outline_of(family)
    shapes = {name: corners for name, corners in bodies(outline).items() if name != "feed"}
    files = write_profiles(tmp_path / "a.csv", outline)
    assert [one.name for one in files] == (["a.csv"] if len(shapes) == 1 else [f"a_{name}.csv" for name in shapes])
    write_dxf(tmp_path / "a.dxf", outline)
    for file, (name, corners) in zip(files, shapes.items(), strict=True):
        table = np.genfromtxt(file, delimiter=",", names=True)
        assert table.dtype.names == ("r", "z")
        np.testing.assert_allclose(np.column_stack([table["r"], table["z"]]), corners * 1e3, rtol=0, atol=1e-9)
        for profile in (f'profile = "{file.name}"', f'profile = "a.dxf"\nlayer = "{name}"'):
            antenna = tmp_path / "antenna.toml"
            antenna.write_text(f"{TUBE}[[antenna.body]]\npermittivity = 2\n{profile}\n{SOLVER}")
            (body,) = load_antenna(antenna).antenna.bodies
            np.testing.assert_allclose(np.array(body.points), corners, rtol=0, atol=1e-12)


def covered() -> Outline:
    """A flange through the tube, and a lens drawn whole over a core and through the flange."""
    flange = polygon((3.8e-3, -5e-3), (8e-3, -5e-3), (8e-3, -2e-3), (3.8e-3, -2e-3))
    whole = polygon((0, -3e-3), (7e-3, -3e-3), (7e-3, 9e-3), (0, 9e-3))
    core = polygon((0, 1e-3), (3e-3, 1e-3), (3e-3, 6e-3), (0, 6e-3))
    feed = KINDS["open_waveguide"].outline(FEED).conductors[0]
    solids = (Solid(corners=whole, permittivity=2.0), Solid(corners=core, permittivity=3.0))
    return Outline(conductors=(feed, flange), dielectrics=solids)


def covered_volumes() -> list[float]:
    """Of the metal, the lens and the core, mm^3, written down by hand."""
    tube = 16 * 12.4 - 3.6**2 * 12
    flange = (64 - 16) * 3  # what stands out of the tube
    lens = 49 * 12 - 9 * 5 - (49 - 3.6**2) * 1 - (16 - 3.6**2) * 2  # without core, flange, tube
    return [np.pi * one for one in (tube + flange, lens, 9 * 5)]


def test_metal_is_united_and_later_bodies_replace_earlier_ones(tmp_path: Path) -> None:
    for file, exact in zip(write_stl(tmp_path / "a.stl", covered()), covered_volumes(), strict=True):
        mesh: Any = trimesh.load_mesh(file)
        assert mesh.is_watertight
        assert 1 - 4 / 3 * STL_CHORD_MM / mesh.bounds[1][0] < mesh.volume / exact < 1 + 1e-6


def test_a_dielectric_that_is_covered_has_no_solid(tmp_path: Path) -> None:
    outline = covered()
    hidden = Outline(conductors=outline.conductors, dielectrics=tuple(reversed(outline.dielectrics)))
    assert [one.name for one in write_stl(tmp_path / "a.stl", hidden)] == ["a.stl", "a_dielectric_2.stl"]


def test_parts_that_meet_in_a_line_are_refused(tmp_path: Path) -> None:
    feed = KINDS["open_waveguide"].outline(FEED).conductors[0]
    ring = polygon((4e-3, 0), (6e-3, 0), (6e-3, 2e-3))
    with pytest.raises(ConfigurationError, match="parts of metal meet in a line"):
        write_stl(tmp_path / "a.stl", Outline(conductors=(feed, ring)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("write", "name"), [(write_dxf, "dxf"), (write_stl, "stl"), (write_profiles, "profile")])
def test_what_cannot_be_written_is_one_line(write: Any, name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=rf"^--{name} .*a\.txt has no known ending; use \.\w+[^\n]*$"):
        write(tmp_path / "a.txt", outline_of("conical_horn"))
    crossed = kind("outline", [Body(metal=True, points=((5e-3, 0), (7e-3, 2e-3), (7e-3, 0), (5e-3, 2e-3)))])
    ending = "csv" if name == "profile" else name
    with pytest.raises(ConfigurationError, match=rf"^--{name} [^\n]*section of metal_1 cannot be drawn: point 0 "):
        write(tmp_path / f"a.{ending}", crossed.outline(FEED))
    assert list(tmp_path.iterdir()) == []


def test_step_without_its_package_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"needs build123d, .*pip install 'antennaopt\[step\]'$"):
        write_step(tmp_path / "a.step", outline_of("conical_horn"))
    with pytest.raises(ConfigurationError, match=r"use one of \.step, \.stp"):
        write_step(tmp_path / "a.stl", outline_of("conical_horn"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_step_has_the_exact_volumes(tmp_path: Path) -> None:
    """Measured: within 2e-14; corners of these sections are on the grid of 0.1 um."""
    if importlib.util.find_spec("build123d") is None:
        skip_without("build123d", "no module named build123d")
    import build123d as cad  # pyright: ignore[reportMissingImports]

    read = cad.import_step(write_step(tmp_path / "a.step", covered(), title="A lens"))
    assert [one.label for one in read.children] == ["metal", "dielectric_1", "dielectric_2"]
    assert [one.volume for one in read.children] == pytest.approx(covered_volumes(), rel=1e-9)
    assert all(one.is_valid for one in read.children)
