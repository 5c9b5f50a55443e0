"""Gerber files of boards, read by a reader of the format's regions and draws, against the metal in mm.

The reader follows the Gerber Layer Format Specification, revision 2023.08: FS (4.2.2), MO (4.2.1), LP (4.9.2), regions
G36 and G37 (4.10), D01, D02 and D03 (4.8), circles (4.4.2). It shares nothing with the library that writes. Coordinates
are whole nanometres.
"""

from __future__ import annotations

import re
from pathlib import Path

import ezdxf
import pytest
from patch_files import EDGE, INSET, PROBE, changed
from shapely import LinearRing, Point, Polygon, box, union_all
from test_pixel_patch import PIXELS

from antennaopt.experiment import load_file
from antennaopt.families.spatial import Board, Port, Rectangle, Sheet
from antennaopt.report.gerber import write_gerber


def read(path: Path):
    """Return the metal of a file, mm, the corners of its last draw, and the function of the layer."""
    text = path.read_text("utf-8")
    assert "%MOMM*%" in text and text.rstrip().endswith("M02*")
    (decimals,) = set(re.findall(r"%FSLAX\d(\d)Y\d(\d)\*%", text)[0])
    discs = {number: float(size) / 2 for number, size in re.findall(r"%ADD(\d+)C,([\d.]+)\*%", text)}
    metal, points, dark, region, disc = Polygon(), [], True, False, ""
    for word in text.replace("%", "").split("*"):
        word = word.strip()
        if word in ("LPD", "LPC"):
            dark = word == "LPD"
        elif word == "G36":
            region, points = True, []
        elif word == "G37":
            shape = Polygon(points)
            assert shape.is_valid and points[0] == points[-1]
            metal = metal.union(shape) if dark else metal.difference(shape)
            region = False
        elif found := re.fullmatch(r"D(\d\d+)", word):
            disc = found[1]
        elif found := re.fullmatch(r"X(-?\d+)Y(-?\d+)D03", word):
            flash = Point(*(int(number) / 10 ** int(decimals) for number in found.groups())).buffer(discs[disc], 64)
            metal = metal.union(flash) if dark else metal.difference(flash)
        elif found := re.fullmatch(r"X(-?\d+)Y(-?\d+)D0([12])", word):
            assert region or found[3] in "12"
            points = [] if found[3] == "2" else points
            points.append(tuple(int(number) / 10 ** int(decimals) for number in found.groups()[:2]))
    return metal, points, re.search(r"TF\.FileFunction,(.*)\*", text)[1]


def metal_of(sheet):
    return union_all([box(one.x[0] * 1e3, one.y[0] * 1e3, one.x[1] * 1e3, one.y[1] * 1e3) for one in sheet.rectangles])


def test_a_region_with_a_hole_and_metal_inside_it(tmp_path):
    """A frame of 8 by 6 mm, 1 mm wide, around a plate of 2 by 1 mm that is not in the middle; there is no ground."""
    frame = [((0, 8), (0, 1)), ((0, 8), (5, 6)), ((0, 1), (0, 6)), ((7, 8), (0, 6)), ((2, 4), (3, 4))]
    rectangles = tuple(Rectangle(x=(a * 1e-3, b * 1e-3), y=(c * 1e-3, d * 1e-3)) for (a, b), (c, d) in frame)
    sheet = Sheet(name="frame", z=0.0, rectangles=rectangles)
    board = Board(sheets=(sheet,), slabs=(), port=Port(x=0.0, y=0.0, z=(0.0, 0.0), resistance=50.0))
    assert write_gerber(tmp_path / "f.gbr", board) == [tmp_path / "f.gbr"]
    metal, _, function = read(tmp_path / "f.gbr")
    assert function == "Copper,L1,Top"
    assert metal.area == pytest.approx(8 * 6 - 6 * 4 + 2 * 1, abs=1e-9)
    assert metal.symmetric_difference(metal_of(sheet)).area < 1e-9


@pytest.mark.parametrize("command", ["export", "simulate"])
def test_it_is_written_with_other_formats(call, tmp_path, command):
    (tmp_path / "p.toml").write_text(PROBE)
    assert call(command, "p.toml", "--gerber", "p.gbr", "--stl", "p.stl")[0] == 0
    names = ["p.gbr", "p.stl", "p_dielectric_1.stl", "p_ground.gbr", "p_outline.gbr"]
    assert sorted(one.name for one in tmp_path.iterdir() if one.suffix in (".gbr", ".stl")) == names


@pytest.mark.parametrize("text", [PROBE, INSET, EDGE, PIXELS], ids=["probe", "inset", "edge", "pixels"])
def test_files_hold_the_metal(tmp_path, text):
    """Outlines are those of the sheets within 1 nm of rounding a side: measured 0 to 2e-6 mm^2 off."""
    (tmp_path / "p.toml").write_text(text)
    experiment = load_file(tmp_path / "p.toml")
    board = experiment.kind.board(experiment.design())
    files = write_gerber(tmp_path / "p.GBR", board)
    assert [one.name for one in files] == ["p.GBR", "p_ground.GBR", "p_outline.GBR"]
    for file, sheet, function in zip(files, reversed(board.sheets), ("L1,Top", "L2,Bot"), strict=False):
        metal, _, found = read(file)
        assert found == f"Copper,{function}"
        assert metal.symmetric_difference(metal_of(sheet)).area < 1e-6 * metal.length
        assert metal.bounds == pytest.approx(metal_of(sheet).bounds, abs=1e-6)
    _, edge, function = read(files[2])
    face = board.slabs[0].face
    assert function == "Profile,NP" and edge[0] == edge[-1]
    assert LinearRing(edge).bounds == pytest.approx(
        [face.x[0] * 1e3, face.y[0] * 1e3, face.x[1] * 1e3, face.y[1] * 1e3]
    )


def test_ground_has_an_opening_for_a_pin(call, tmp_path):
    """With the pin it is a coaxial line of 50 ohm in PTFE: b = 0.65 mm exp(50 sqrt(2.08) / 59.96) = 2.1639 mm."""
    text = changed(('offset = "4 mm"', 'offset = "4 mm"\nradius = "0.65 mm"'))
    (tmp_path / "p.toml").write_text(text)
    assert call("export", "p.toml", "--gerber", "p.gbr", "--dxf", "p.dxf")[0] == 0
    ground, _, _ = read(tmp_path / "p_ground.gbr")
    (hole,) = ground.interiors
    assert ground.exterior.bounds == pytest.approx((-12.2, -13, 12.2, 13), abs=1e-6)
    assert Polygon(hole).centroid.coords[0] == pytest.approx((4.0, 0.0), abs=1e-6)
    assert hole.bounds == pytest.approx((4 - 2.1639, -2.1639, 4 + 2.1639, 2.1639), abs=2e-4)
    (circle,) = ezdxf.readfile(tmp_path / "p.dxf").modelspace().query('CIRCLE[layer=="ground"]')
    assert (circle.dxf.center.x, circle.dxf.center.y, circle.dxf.radius) == pytest.approx((4.0, 0.0, 2.1639), abs=2e-4)
    top, _, _ = read(tmp_path / "p.gbr")
    assert not top.interiors and top.area == pytest.approx(16.4 * 18)


@pytest.mark.parametrize(
    "changes",
    [{"radius": 0.0}, {"what": "line", "radius": 1e-3}, {"resistance": 1000.0}, {"x": 8e-3}, {"y": -8e-3}],
    ids=["no radius", "line", "larger than the ground", "over its edge along x", "over its edge along y"],
)
def test_ground_without_an_opening(tmp_path, changes):
    port = {"x": 0.0, "y": 0.0, "z": (0.0, 1e-3), "resistance": 50.0, "radius": 0.65e-3}
    face = Rectangle(x=(-10e-3, 10e-3), y=(-10e-3, 10e-3))
    sheets = tuple(Sheet(name=name, z=z, rectangles=(face,)) for name, z in (("ground", 0.0), ("patch", 1e-3)))
    for given, holes in ((changes, 0), ({}, 1)):
        write_gerber(tmp_path / "p.gbr", Board(sheets=sheets, slabs=(), port=Port(**(port | given))))
        assert len(read(tmp_path / "p_ground.gbr")[0].interiors) == holes
