"""Gerber files of boards, read by a reader of the format's regions and draws, against the metal in mm.

The reader follows the Gerber Layer Format Specification, revision 2023.08: FS (4.2.2), MO (4.2.1), LP (4.9.2), regions
G36 and G37 (4.10), D01 and D02 (4.8). It shares nothing with the library that writes. Coordinates are whole nanometres.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from patch_files import EDGE, INSET, PROBE
from shapely import LinearRing, Polygon, box, union_all
from test_pixel_patch import PIXELS

from antennaopt.experiment import load_file
from antennaopt.families.spatial import Board, Port, Rectangle, Sheet
from antennaopt.report.gerber import write_gerber


def read(path: Path):
    """Return the metal of a file, mm, the corners of its last draw, and the function of the layer."""
    text = path.read_text("utf-8")
    assert "%MOMM*%" in text and text.rstrip().endswith("M02*")
    (decimals,) = set(re.findall(r"%FSLAX\d(\d)Y\d(\d)\*%", text)[0])
    metal, points, dark, region = Polygon(), [], True, False
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
