"""The slot feed of `dielectric_resonator`: its board, lattice, closed forms, what is refused, drawings and files.

What it does as an antenna is in `tests/physics/test_slot_feed.py` and `tests/published/test_openems_slot.py`.
"""

from __future__ import annotations

import math

import ezdxf
import numpy as np
import pytest
import trimesh
from antennas_in_space import SEARCH, board_of, loaded
from config_files import replaced
from matplotlib.figure import Figure
from test_gerber import metal_of, read

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_file
from antennaopt.families import kind, parameter_of
from antennaopt.families.dielectric_resonator import FAMILY, resonance
from antennaopt.report.boards import draw_section, draw_top
from antennaopt.run.planning import halved_plan, plan_for
from antennaopt.solve.yee_plan import YeePlan, grid_of, scene_of
from fdtd.yee.media import fill
from fdtd.yee.ports import port_columns

SLOT = """
title = "Resonator on a slot"
[antenna]
family = "dielectric_resonator"
[antenna.resonator]
shape = "cylinder"
radius = "8 mm"
height = "7 mm"
permittivity = 10.0
[antenna.ground]
length = "36 mm"
width = "34 mm"
[antenna.substrate]
permittivity = 3.38
thickness = "0.8 mm"
[antenna.feed]
kind = "slot"
slot_length = "8.7 mm"
slot_width = "1.7 mm"
slot_offset = "1 mm"
stub_length = "8 mm"
line_width = "1.85 mm"
line_length = "9 mm"
[solver]
frequencies = ["5 GHz", "5.3 GHz"]
cell = "0.8 mm"
"""
BLOCK = SLOT.replace('"cylinder"', '"block"').replace('radius = "8 mm"', 'length = "14 mm"\nwidth = "15 mm"')
STUDY = SLOT.replace('radius = "8 mm"', 'radius = { min = "7 mm", max = "9 mm" }') + SEARCH
PIN = 'kind = "probe"\noffset = "8 mm"\nheight = "5 mm"\n'


@pytest.mark.parametrize("text", [SLOT, BLOCK], ids=["cylinder", "block"])
def test_board(tmp_path, text):
    """All metal is ground with a hole and a line below it; the resonator stands on the ground."""
    board = board_of(text, tmp_path)
    ground, line = board.sheets
    assert (ground.name, ground.z, line.name, line.z) == ("ground", 0.0, "line", -0.8e-3)
    metal = metal_of(ground)
    (hole,) = metal.interiors
    assert metal.bounds == pytest.approx((-18, -17, 18, 17)) and metal.area == pytest.approx(36 * 34 - 8.7 * 1.7)
    assert hole.bounds == pytest.approx((1 - 0.85, -4.35, 1 + 0.85, 4.35))
    assert metal_of(line).bounds == pytest.approx((-8, -0.925, 9, 0.925))
    assert board.port.z == (-0.8e-3, 0.0)
    assert (board.port.x, board.port.width) == pytest.approx((-8e-3, 1.85e-3))
    assert board.extent == ((-18e-3, 18e-3), (-17e-3, 17e-3), (-0.8e-3, 7e-3))
    assert board.below == (line,) and board.slabs[0].z == (-0.8e-3, 0.0)


def test_the_lattice_has_three_cells_in_the_substrate_and_three_in_the_slot(tmp_path):
    """With any cell, so that neither can be a single cell. The port has all edges from line to ground across it."""
    experiment = loaded(STUDY, tmp_path)
    board = experiment.kind.board(experiment.design({"resonator.radius": 8e-3}))
    plan = YeePlan.from_dict(plan_for(experiment))
    scene = scene_of(board, plan.design_frequency)
    grid = grid_of(plan, scene)
    assert ((grid.z > -0.81e-3) & (grid.z < 0.01e-3)).sum() == 4
    media = fill(scene, grid)
    k, j = np.abs(grid.z).argmin(), np.abs(grid.y).argmin()
    open_edges = np.flatnonzero(~media.metal[0, k, j] & (np.abs(grid.x - 1e-3) < 2e-3))
    assert len(open_edges) >= 3
    assert np.ptp(grid.x[[open_edges[0], open_edges[-1] + 1]]) == pytest.approx(1.7e-3, rel=0.4)
    port = port_columns(scene.port, grid, media)
    levels, columns = np.unique(port.points[:, 1]), np.unique(port.points[:, 2])
    assert len(levels) == 3 and len(columns) >= 3 and len(port.points) == 3 * len(columns)


def test_a_certificate_halves_the_slots_cells(tmp_path):
    experiment = loaded(STUDY, tmp_path)
    scene = scene_of(experiment.kind.board(experiment.design({"resonator.radius": 8e-3})), 5.3e9)
    plan = plan_for(experiment)
    counts = []
    for one in (plan, halved_plan(experiment, plan)):
        grid = grid_of(YeePlan.from_dict(one), scene)
        counts.append(((grid.x > 0.15e-3) & (grid.x < 1.85e-3)).sum())
    assert counts[1] >= 2 * counts[0] - 1


def test_every_feed_of_every_shape_has_its_parameters():
    leaves = FAMILY.all_variants
    assert len(leaves) == 4
    for shape, radius in ((0, True), (1, False)):
        for feed, slot in ((0, False), (1, True)):
            names = {one.name for one in FAMILY.of({"resonator.shape": shape, "feed.kind": feed}).parameters}
            assert ("resonator.radius" in names, "feed.slot_length" in names) == (radius, slot)
            assert ("feed.height" in names, "substrate.thickness" in names) == (not slot, slot)
    for name in ("slot_length", "slot_width", "slot_offset", "stub_length", "line_width", "line_length"):
        found = parameter_of(f"feed.{name}")
        assert found is not None and found.unit == "m"


def test_a_file_without_a_word_has_a_pin(tmp_path):
    text = replaced(SLOT.partition("[antenna.substrate]")[0] + "[antenna.feed]\n" + PIN, 'kind = "probe"\n', "")
    experiment = loaded(text + '[solver]\nfrequencies = ["5 GHz"]\n', tmp_path)
    assert experiment.kind.board(experiment.design()).port.pin == pytest.approx(5e-3)


def test_closed_forms():
    """By hand, at 5 GHz: 0.4 wavelengths in the mean of both permittivities, a quarter of the line's, less its end.

    Line: Balanis, eqs. 14-1 and 14-2 with w/h = 1.85/0.8: 2.6627 and 0.377 mm.
    """
    design = {
        "resonator.radius": 8e-3,
        "resonator.height": 7e-3,
        "resonator.permittivity": 10.0,
        "feed.kind": 1,
        "substrate.permittivity": 3.38,
        "substrate.thickness": 0.8e-3,
    }
    start = kind("dielectric_resonator").spatial.start(design, 5e9)
    lam = 299792458 / 5e9
    assert start["feed.slot_length"] == pytest.approx(0.4 * lam / math.sqrt(6.69))
    assert start["feed.slot_width"] == pytest.approx(0.2 * start["feed.slot_length"])
    ratio = start["feed.line_width"] / 0.8e-3
    assert ratio == pytest.approx(2.31, rel=5e-3)
    effective = 4.38 / 2 + 2.38 / 2 / math.sqrt(1 + 12 / ratio)
    quarter = lam / 4 / math.sqrt(effective)
    end = 0.412 * 0.8e-3 * (effective + 0.3) * (ratio + 0.264) / ((effective - 0.258) * (ratio + 0.8))
    assert start["feed.line_length"] == pytest.approx(quarter)
    assert start["feed.stub_length"] == pytest.approx(quarter - end)
    assert resonance(design | start) == pytest.approx(5e9)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "slot"', 'kind = "slot"\noffset = "8 mm"', 'feed.offset does not go with kind = "slot"; write'),
        ('kind = "slot"', 'kind = "slot"\nheight = "5 mm"', 'feed.height does not go with kind = "slot"; write'),
        ('kind = "slot"', 'kind = "probe"', 'antenna.substrate does not go with kind = "probe"'),
        ('kind = "slot"', 'kind = { choices = ["probe", "slot"] }', "cannot be a gene"),
        ('kind = "slot"', 'kind = "loop"', "is not one of probe, slot"),
        ('slot_length = "8.7 mm"', 'slot_length = "34 mm"', "feed.slot_length = 34 mm cuts the ground in two"),
        ('slot_width = "1.7 mm"', 'slot_width = "34 mm"', "over the ground's end along x (must be < 34 mm"),
        ('slot_offset = "1 mm"', 'slot_offset = "8.9 mm"', "feed.slot_offset = 8.9 mm puts the slot outside"),
        ('stub_length = "8 mm"', 'stub_length = "17.1 mm"', "takes the stub over the ground's end (must be <= 17 mm)"),
        ('stub_length = "8 mm"', 'stub_length = "0.8 mm"', "feed.stub_length = 0.8 mm ends the line inside the slot"),
        ('line_length = "9 mm"', 'line_length = "0.8 mm"', "feed.line_length = 0.8 mm ends the line inside the slot"),
        ('line_length = "9 mm"', 'line_length = "19.1 mm"', "takes the port over the ground's end (must be <= 19 mm)"),
        ('line_width = "1.85 mm"', 'line_width = "35 mm"', "feed.line_width = 35 mm is wider than the ground"),
        ('length = "36 mm"', 'length = "15 mm"', "ground.length = 15 mm is smaller than the resonator"),
        ('thickness = "0.8 mm"', 'thickness = "0 mm"', "antenna.substrate.thickness"),
    ],
)  # fmt: skip
def test_refused_in_one_line(tmp_path, old, new, says):
    with pytest.raises(ConfigurationError) as refused:
        loaded(replaced(SLOT, f"\n{old}", f"\n{new}"), tmp_path)
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_a_slot_below_a_cell_is_refused(call, tmp_path):
    (tmp_path / "s.toml").write_text(replaced(SLOT, 'slot_width = "1.7 mm"', 'slot_width = "0.7 mm"'))
    code, _, err = call("validate", "s.toml")
    assert code == 2 and "s.toml: antenna.feed.slot_width = 0.7 mm is too small for cells of 0.8 mm" in err


@pytest.mark.parametrize("text", [SLOT, BLOCK], ids=["cylinder", "block"])
def test_drawn_with_line_and_slot_dashed(tmp_path, text):
    """Each length of the file but permittivities is drawn once, and the section is open where the slot is."""
    board = board_of(text, tmp_path)
    top, section = Figure().subplots(1, 2)
    draw_top(top, board)
    draw_section(section, board)
    dashed = [one.get_xydata() for one in top.lines if one.get_linestyle() == "--"]
    found = {tuple(np.round([*ring.min(axis=0), *ring.max(axis=0)], 6).tolist()) for ring in dashed}
    assert found == {(-8.0, -0.925, 9.0, 0.925), (0.15, -4.35, 1.85, 4.35)}
    words = [one.get_text() for axes in (top, section) for one in axes.texts]
    lengths = [float(one.removesuffix(" mm")) for one in words if one]
    given = {name: value for name, value in loaded(text, tmp_path).design().items() if parameter_of(name).unit == "m"}
    assert sorted(lengths) == pytest.approx(sorted(1e3 * value for value in given.values()))
    metal = [one for one in section.lines if one.get_linewidth() == 2.4]
    grounds = [one.get_xdata() for one in metal if one.get_ydata()[0] == one.get_ydata()[1] == 0]
    assert sorted(ends for one in grounds for ends in one) == pytest.approx([-18, 0.15, 1.85, 18])


@pytest.mark.parametrize("text", [SLOT, BLOCK], ids=["cylinder", "block"])
def test_files_hold_the_antenna(call, tmp_path, text):
    (tmp_path / "s.toml").write_text(text)
    board = board_of(text, tmp_path)
    assert call("export", "s.toml", "--stl", "s.stl", "--dxf", "s.dxf", "--gerber", "s.gbr")[0] == 0
    metal = trimesh.load(tmp_path / "s.stl")
    assert metal.is_watertight
    assert metal.volume == pytest.approx(0.035 * (36 * 34 - 8.7 * 1.7 + 17 * 1.85), rel=1e-5)
    assert metal.bounds[:, 2] == pytest.approx([-0.835, 0.0], abs=1e-6)
    laminate, body = (trimesh.load(tmp_path / f"s_dielectric_{number}.stl") for number in (1, 2))
    assert laminate.bounds[:, 2] == pytest.approx([-0.8, 0.0]) and body.bounds[:, 2] == pytest.approx([0.0, 7.0])
    space = ezdxf.readfile(tmp_path / "s.dxf").modelspace()
    assert len(space.query("LWPOLYLINE[layer=='ground']")) == 2  # its edge and the slot
    (line,) = space.query("LWPOLYLINE[layer=='line']")
    assert {round(x, 6) for x, *_ in line.get_points()} == {-8.0, 9.0}
    for name, sheet, side in (("s.gbr", board.sheets[0], "L1,Top"), ("s_line.gbr", board.sheets[1], "L2,Bot")):
        found, _, function = read(tmp_path / name)
        assert function == f"Copper,{side}" and found.symmetric_difference(metal_of(sheet)).area < 1e-4
    assert (tmp_path / "s_outline.gbr").exists()


def test_all_lengths_may_be_genes(call, tmp_path):
    """A study over every length of the antenna starts with the closed form, and its file is a study's."""
    genes = {"radius": 8, "height": 7, "thickness": 0.8, "slot_length": 8.7, "slot_width": 1.7, "slot_offset": 1}
    genes |= {"stub_length": 8, "line_width": 1.85, "line_length": 9}
    study = SLOT
    for name, value in genes.items():
        wide = f'{{ min = "{0.6 * value:g} mm", max = "{1.4 * value:g} mm" }}'
        study = replaced(study, f'\n{name} = "{value} mm"', f"\n{name} = {wide}")
    (tmp_path / "s.toml").write_text(study + SEARCH)
    code, out, err = call("validate", "s.toml")
    assert code == 0 and "ready for    antennaopt run" in out, err
    experiment = load_file(tmp_path / "s.toml")
    (start,) = experiment.evolution.start
    assert len(experiment.genes) == 9 and start["feed.slot_length"] == pytest.approx(8.9e-3, rel=0.05)
