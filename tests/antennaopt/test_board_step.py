"""STEP of antennas in space, read back by build123d: solids, names and boxes against the lengths of the files."""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from math import pi
from typing import Any

import numpy as np
import pytest
from patch_files import INSET, PROBE
from required import skip_without
from test_dielectric_resonator import ROUND
from test_pixel_patch import PIXELS
from test_pyramidal_horn_family import HORN
from test_slot_feed_family import BLOCK
from test_strip_dipole_family import DIPOLE

from antennaopt.families.spatial import Board, Cylinder, Port, Rectangle, Sheet, Slab, Tube
from antennaopt.report.board_step import write_board_step
from antennaopt.report.geometry import board_meshes

COPPER = 0.035  # mm
Solid = tuple[str, float, list[float], list[float]]
"""Name, volume in mm^3, lowest and highest corner in mm."""


@pytest.fixture
def cad() -> Any:
    if importlib.util.find_spec("build123d") is None:
        skip_without("build123d", "no module named build123d")
    import build123d  # pyright: ignore[reportMissingImports]

    return build123d


def box(name: str, low: list[float], high: list[float], without: float = 0.0) -> Solid:
    """A block, of which an area is left out along z."""
    x, y, z = np.subtract(high, low).tolist()
    return name, (x * y - without) * z, low, high


def frustum(sides: tuple[float, float], aperture: tuple[float, float], height: float) -> float:
    (a, b), (c, d) = sides, aperture
    return height / 3 * (a * b + c * d + (a * d + b * c) / 2)


def horn() -> Solid:
    """A guide of 22.86 x 10.16 x 30 mm and a flare to 45 x 32 mm over 40 mm, with walls of 1.27 mm."""
    outside = 25.4 * 12.7 * 30 + frustum((25.4, 12.7), (47.54, 34.54), 40)
    inside = 22.86 * 10.16 * 30 + frustum((22.86, 10.16), (45, 32), 40)
    return "metal_horn", outside - inside, [-17.27, -23.77, -30], [17.27, 23.77, 40]


LAMINATE = "dielectric_1, permittivity 2.2, loss tangent 0.0009"
GROUND = box("metal_ground", [-12.2, -13, -COPPER], [12.2, 13, 0])
SUBSTRATE = box(LAMINATE, [-12.2, -13, 0], [12.2, 13, 1.6])
TOP = ([-8.2, -9, 1.6], [8.2, 9, 1.6 + COPPER])
ANTENNAS: dict[str, tuple[str, list[Solid]]] = {
    "patch": (PROBE, [GROUND, box("metal_patch", *TOP), SUBSTRATE]),
    "inset": (
        INSET,
        [
            box("metal_ground", [-18.2, -13, -COPPER], [12.2, 13, 0]),
            box("metal_patch", [-14.2, -9, 1.6], [8.2, 9, 1.6 + COPPER], 6 * (18 - 4.8) + 2 * 5 * 2),
            box(LAMINATE, [-18.2, -13, 0], [12.2, 13, 1.6]),
        ],
    ),
    "pixel_patch": (PIXELS, [GROUND, box("metal_pixels", *TOP, 3 * 4.1 * 6), SUBSTRATE]),
    "strip_dipole": (
        DIPOLE,
        [
            box("metal_dipole_part_1", [-23.5, -0.5, 0], [-1.1, 0.5, COPPER]),
            box("metal_dipole_part_2", [1.1, -0.5, 0], [23.5, 0.5, COPPER]),
        ],
    ),
    "cylinder": (
        ROUND,
        [
            box("metal_ground", [-18, -18, -COPPER], [18, 18, 0]),
            ("dielectric_1, permittivity 10, loss tangent 0", pi * 8**2 * 7, [-8, -8, 0], [8, 8, 7]),
        ],
    ),
    "slot": (
        BLOCK,
        [
            box("metal_ground", [-18, -17, -COPPER], [18, 17, 0], 8.7 * 1.7),
            box("metal_line", [-8, -0.925, -0.8 - COPPER], [9, 0.925, -0.8]),
            box("dielectric_1, permittivity 3.38, loss tangent 0", [-18, -17, -0.8], [18, 17, 0]),
            box("dielectric_2, permittivity 10, loss tangent 0", [-7, -7.5, 0], [7, 7.5, 7]),
        ],
    ),
    "pyramidal_horn": (HORN, [horn()]),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ANTENNAS)
def test_solids_are_those_of_the_file(call, tmp_path, cad, name):
    """Measured: volumes within 3e-13, corners within 3e-12 mm."""
    text, solids = ANTENNAS[name]
    (tmp_path / "a.toml").write_text(text)
    code, out, err = call("export", "a.toml", "--step", "a.step")
    assert (code, out, err) == (0, "a.step\n", "")
    read = cad.import_step(tmp_path / "a.step").children
    assert [one.label for one in read] == [word.replace(" ", "_").replace(".", "_") for word, *_ in solids]  # reader's
    written = (tmp_path / "a.step").read_text()
    assert all(f"PRODUCT('{word}'" in written for word, *_ in solids)
    for one, (word, volume, low, high) in zip(read, solids, strict=True):
        extent = one.bounding_box()
        assert one.is_valid and one.volume == pytest.approx(volume, rel=1e-9)
        assert (*extent.min, *extent.max) == pytest.approx((*low, *high), abs=1e-6)
        copper = tuple(one.color)[:3] == pytest.approx((0.8, 0.5, 0.25), abs=1e-6)
        assert copper == word.startswith("metal")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_step_and_stl_have_the_same_shapes(tmp_path, cad):
    """A board with all there is: a ring that leaves an island, a tube of three pieces, a slab and a rod."""

    def frame(half: float, width: float) -> tuple[Rectangle, ...]:
        ends = [(-half, -half + width), (half - width, half)]
        return (
            *(Rectangle(x=one, y=(-half, half)) for one in ends),
            *(Rectangle(x=(-half, half), y=one) for one in ends),
        )

    top = Sheet(name="ring", z=2e-3, rectangles=(*frame(8e-3, 2e-3), Rectangle(x=(-3e-3, 3e-3), y=(-1e-3, 1e-3))))
    ground = Sheet(name="ground", z=0.0, rectangles=(Rectangle(x=(-10e-3, 10e-3), y=(-9e-3, 9e-3)),))
    tube = Tube(name="tube", z=(-9e-3, -6e-3, -5e-3, -1e-3), x=(2e-3, 2e-3, 3e-3, 4e-3), y=(3e-3,) * 4, wall=1e-3)
    slab = Slab(name="slab", face=ground.rectangles[0], z=(0.0, 2e-3), permittivity=3.0)
    rod = Cylinder(name="rod", radius=3e-3, z=(3e-3, 8e-3), permittivity=9.8, loss_tangent=1e-3)
    port = Port(x=0.0, y=0.0, z=(0.0, 2e-3), resistance=50.0)
    board = Board(sheets=(ground, top), slabs=(slab,), rods=(rod,), tubes=(tube,), port=port)
    read = cad.import_step(write_board_step(tmp_path / "a.step", board, title="Everything"))
    metal = [one for one in read.children if one.label.startswith("metal")]
    assert [one.label for one in metal] == ["metal_ground", "metal_ring_part_1", "metal_ring_part_2", "metal_tube"]
    meshes = board_meshes(tmp_path / "a.stl", board)
    assert sum(one.volume for one in metal) == pytest.approx(meshes[tmp_path / "a.stl"].volume, rel=1e-9)
    assert sum(one.volume for one in metal[1:3]) == pytest.approx(COPPER * (16**2 - 12**2 + 6 * 2), rel=1e-9)
    sections = list(zip(np.array(tube.z) * 1e3, np.array(tube.x) * 1e3, strict=True))
    walls = sum((b - a) * (8 * (x + y + 2) - 6 * (x + y)) for (a, x), (b, y) in pairwise(sections))
    assert metal[3].volume == pytest.approx(walls, rel=1e-9)
    slab_read, rod_read = read.children[len(metal) :]
    assert slab_read.volume == pytest.approx(meshes[tmp_path / "a_dielectric_1.stl"].volume, rel=1e-9)
    facets = meshes[tmp_path / "a_dielectric_2.stl"].volume
    assert 1 - 4 / 3 * 0.01 / 3 < facets / rod_read.volume < 1
    assert rod_read.volume == pytest.approx(pi * 9 * 5, rel=1e-9) and all(one.is_valid for one in read.children)


@pytest.mark.parametrize("command", ["export", "simulate"])
@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("a.step", "--step a.step needs build123d, which is not installed; pip install 'antennaopt[step]'"),
        ("a.iges", "--step a.iges has no known ending; use one of .step, .stp"),
    ],
)
def test_refused_in_one_line_before_solving(call, tmp_path, monkeypatch, command, file, says):
    (tmp_path / "a.toml").write_text(PROBE)
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "build123d" else found(name))
    code, out, err = call(command, "a.toml", "--step", file)
    assert (code, out) == (2, "") and says in err and len(err.splitlines()) == 1
    assert not (tmp_path / file).exists()
