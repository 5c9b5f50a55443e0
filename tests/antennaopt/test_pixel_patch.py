"""The family `pixel_patch`: which pixels are metal, what is refused, its drawings, and a grid without air."""

from __future__ import annotations

import ezdxf
import numpy as np
import pytest
import trimesh
from antennas_in_space import loaded, solved_alone
from patch_files import PROBE, changed

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_file
from antennaopt.families import kind, stack
from antennaopt.families.pixel_patch import metal_of, without_corners
from antennaopt.store import load
from antennaopt.store.run_folder import RunFolder

PATCH = 'length = "16.4 mm"\nwidth = "18 mm"'
GRID = f"{PATCH}\ncolumns = 4\nrows = 4\nmetal = ["
ROWS = ("1, 1, 1, 1", "0, 0, 1, 1", "1, 1, 1, 1", "1, 0, 0, 1")
PIXELS = changed(
    ('family = "patch"', 'family = "pixel_patch"'),
    ("[antenna.patch]", "[antenna.pixels]"),
    (PATCH, GRID + ",\n".join(ROWS) + "]"),
    ('offset = "4 mm"', 'offset = "6 mm"'),
)
"""Four by four pixels, a slot and a notch."""


def grid(*replacements, tmp_path):
    return metal_of(loaded(changed(*replacements, text=PIXELS), tmp_path).design()).astype(int).tolist()


def test_the_list_is_the_board_from_above(tmp_path):
    assert grid(tmp_path=tmp_path) == [[1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 1, 1], [1, 0, 0, 1]]
    experiment = loaded(PIXELS, tmp_path)
    board = experiment.kind.board(experiment.design())
    top = max(board.sheets[1].rectangles, key=lambda one: one.y[1])
    assert top.x == pytest.approx((-8.2e-3, 8.2e-3)) and top.y == pytest.approx((4.5e-3, 9e-3))
    assert (board.port.x, board.port.y) == (6e-3, 0.0)


def test_mirrors(tmp_path):
    half = (GRID + ",\n".join(ROWS), f'{PATCH}\ncolumns = 4\nrows = 4\nmirror = "y"\nmetal = [1, 1, 0, 1, 0, 1, 1, 1')
    assert grid(half, tmp_path=tmp_path) == [[1, 1, 0, 1], [0, 1, 1, 1], [0, 1, 1, 1], [1, 1, 0, 1]]
    odd = 'columns = 3\nrows = 3\nmirror = "both"\nmetal = [1, 0, 1, 1'
    assert grid((GRID + ",\n".join(ROWS), f"{PATCH}\n{odd}"), tmp_path=tmp_path) == [[1, 0, 1], [1, 1, 1], [1, 0, 1]]


def test_the_pixels_at_the_feed_are_metal(tmp_path):
    """The probe stands between rows 1 and 2, on column 3; a line touches both rows of column 0."""
    air = (", ".join(ROWS[:1]) + ",\n" + ",\n".join(ROWS[1:]), ", ".join(["0"] * 16))
    assert grid(air, tmp_path=tmp_path) == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    line = ('offset = "6 mm"', 'kind = "edge"\nline_width = "2 mm"\nline_length = "6 mm"')
    assert grid(air, line, tmp_path=tmp_path) == [[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]


def corners(metal):
    one, two, three, four = metal[:-1, :-1], metal[:-1, 1:], metal[1:, :-1], metal[1:, 1:]
    return int(((one & four & ~two & ~three) | (two & three & ~one & ~four)).sum())


def test_no_pixels_meet_in_a_corner_alone():
    """Of 500 random grids: metal only grows, a mirrored grid stays mirrored, a sound one stays as it is."""
    draw, added = np.random.default_rng(3), 0
    for _ in range(500):
        rows, columns = draw.integers(2, 9, 2)
        metal = draw.random((rows, columns)) < draw.uniform(0.2, 0.8)
        found = without_corners(metal)
        assert corners(found) == 0 and (found >= metal).all()
        assert np.array_equal(without_corners(found), found)
        mirrored = metal | metal[::-1]
        assert np.array_equal(without_corners(mirrored), without_corners(mirrored)[::-1])
        both = mirrored | mirrored[:, ::-1]
        assert np.array_equal(without_corners(both), without_corners(both)[:, ::-1])
        added += int(found.sum() - metal.sum())
    assert added > 500  # the rule is at work


def test_rectangles_cover_the_metal_once():
    """Random grids: areas add up to that of the pixels, and no rectangle reaches over air."""
    draw, family = np.random.default_rng(4), kind("pixel_patch")
    about = {"substrate.permittivity": 2.2, "substrate.thickness": 1e-3, "substrate.margin": 1e-3}
    about |= {"pixels.length": 6e-3, "pixels.width": 5e-3, "pixels.columns": 6, "pixels.rows": 5, "pixels.mirror": 0}
    about |= {"feed.kind": 0, "feed.offset": 0.5e-3, "feed.resistance": 50.0}
    for _ in range(50):
        design = about | {f"pixels.metal.{place}": float(draw.integers(2)) for place in range(30)}
        metal = metal_of(design)
        counted = np.zeros_like(metal, dtype=int)
        for one in family.board(design).sheets[1].rectangles:
            (left, right), (low, high) = (
                np.rint(np.array(span) * 1e3 + half) for span, half in ((one.x, 3), (one.y, 2.5))
            )
            counted[5 - int(high) : 5 - int(low), int(left) : int(right)] += 1
        assert np.array_equal(counted, metal.astype(int))


@pytest.mark.parametrize(
    ("replacements", "says"),
    [
        ([("columns = 4", "columns = 5")], "pixels.metal has 16 entries, but 4 rows of 5 pixels are 20; write 20"),
        ([("rows = 4", 'rows = 4\nmirror = "y"')], "2 rows of 4 pixels (of the part that is not mirrored) are 8"),
        (
            [('offset = "6 mm"', 'offset = "8.2 mm"')],
            "feed.offset = 8.2 mm puts the probe outside the grid (must be < pixels.length / 2",
        ),
        ([("1, 0, 0, 1]", "1, 0, 0, 2]")], "antenna.pixels.metal.15 = 2 is out of bounds (must be >= 0 and <= 1)"),
        ([("columns = 4", "columns = { min = 2, max = 5 }")], "antenna.pixels.columns cannot be a gene"),
        ([("rows = 4", "rows = 1")], "antenna.pixels.rows = 1 is out of bounds (must be >= 2 and <= 40)"),
    ],
)
def test_refused_in_one_line(tmp_path, replacements, says):
    with pytest.raises(ConfigurationError) as refused:
        loaded(changed(*replacements, text=PIXELS), tmp_path)
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_a_pixel_below_a_cell_is_refused(call, tmp_path):
    (tmp_path / "p.toml").write_text(
        changed(
            ('cell = "2 mm"', 'cell = "4 mm"'),
            ("columns = 4", "columns = 8"),
            ("0, 0, 1, 1", "0, " * 19 + "1"),
            text=PIXELS,
        )
    )
    code, _, err = call("validate", "p.toml")
    assert code == 2 and len(err.splitlines()) == 1
    says = "antenna.pixels.length = 16.4 mm is too small for pixels.columns = 8 and cells of 4 mm (must be >= 32 mm)"
    assert says in err and "use cells of at most 2.05 mm" in err


def test_stl_and_dxf_hold_the_pixels(call, tmp_path):
    """12 pixels of 4.1 x 4.5 mm in one outline, which runs round the slot."""
    (tmp_path / "p.toml").write_text(PIXELS)
    assert call("export", "p.toml", "--stl", "p.stl", "--dxf", "p.dxf")[0] == 0
    metal = trimesh.load(tmp_path / "p.stl")
    assert metal.is_watertight
    assert metal.volume == pytest.approx(0.035 * (12 * 4.1 * 4.5 + 24.4 * 26.0), rel=1e-5)
    (line,) = ezdxf.readfile(tmp_path / "p.dxf").modelspace().query('LWPOLYLINE[layer=="pixels"]')
    x, y = np.array([point[:2] for point in line.get_points()]).T
    assert abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2 == pytest.approx(12 * 4.1 * 4.5, rel=1e-6)


def test_size_is_that_of_the_whole_grid(tmp_path):
    experiment = loaded(PIXELS, tmp_path)
    radius, height = experiment.kind.size(stack([experiment.design()]))
    assert radius[0] == pytest.approx(np.hypot(12.2e-3, 13e-3)) and height[0] == 1.6e-3


def test_all_metal_is_a_patch_to_the_bit(tmp_path):
    """A grid without air is the rectangle of the family `patch`: the same lattice of a half, the same numbers."""
    found = []
    whole = (GRID + ",\n".join(ROWS) + "]", f'{PATCH}\ncolumns = 4\nrows = 4\nmirror = "y"\nmetal = 1')
    for text in (changed(whole, ('offset = "6 mm"', 'offset = "4 mm"'), text=PIXELS), PROBE):
        outcome = solved_alone(loaded(text, tmp_path), fields=False)
        found.append((outcome.s11, outcome.metrics))
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_search_over_pixels(call, tmp_path):
    """Two generations of four: rows with a column a pixel, a report with the drawing, and an antenna file to solve."""
    study = changed(
        ("[" + ",\n".join(ROWS) + "]", "{ count = 16, choices = [0, 1] }"),
        ("[solver]\n", "[evolution]\npopulation = 4\ngenerations = 1\nstart = 'balanis'\n\n[solver]\ndecay_db = 30\n"),
        text="certificate = 'off'\n"
        + PIXELS
        + "[[objective]]\nmetric = 's11_db'\nat_most = -40\n[cluster]\nworkers = 1\n",
    )
    (tmp_path / "p.toml").write_text(study)
    code, out, err = call("run", "p.toml", "--no-cache", "-q")
    assert code == 0, err
    folder = tmp_path / out.splitlines()[-1]
    rows = load(RunFolder.open(folder))
    names = [f"pixels_metal_{place}" for place in range(16)]
    assert set(rows["status"]) == {"ok"} and set(np.unique(rows[names])) == {0.0, 1.0}
    assert (rows.loc[0, names] == 1.0).all()  # the planted patch covers the grid
    assert "Drawing of" in (folder / "report.html").read_text()
    assert {one.name for one in (folder / "files").iterdir()} == {"best.dxf", "best.s1p"}
    assert call("export", folder / "best" / "antenna.toml", "--dxf", "again.dxf")[0] == 0
    assert len(metal_of(load_file(folder / "best" / "antenna.toml").design())) == 4
