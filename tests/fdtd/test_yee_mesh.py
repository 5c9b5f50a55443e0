"""Lattices of scenes: where planes fall, how cells grow, what media and metal become, and what is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fdtd.errors import ConfigError
from fdtd.yee import Block, Dielectric, Grid, LumpedPort, Scene, Sheet, layout, lines, solve
from fdtd.yee.edges import edges_of, reach
from fdtd.yee.lines import Span, graded
from fdtd.yee.media import fill
from fdtd.yee.mesh import huygens_box
from fdtd.yee.ports import port_columns

HEIGHT = 0.8e-3
SUBSTRATE = Dielectric(permittivity=2.2)


def patch(length: float = 12e-3, width: float = 15e-3, port: LumpedPort | None = None) -> Scene:
    ground = (-12e-3, 12e-3)
    return Scene(
        blocks=(Block(x=ground, y=ground, z=(0.0, HEIGHT), material=SUBSTRATE),),
        sheets=(
            Sheet(z=0.0, x=ground, y=ground),
            Sheet(z=HEIGHT, x=(-length / 2, length / 2), y=(-width / 2, width / 2)),
        ),
        port=port or LumpedPort(x=-3e-3, y=0.0, z=(0.0, HEIGHT)),
    )


def ratio(planes: np.ndarray) -> float:
    cells = np.diff(planes)
    return float(np.maximum(cells[1:] / cells[:-1], cells[:-1] / cells[1:]).max())


def reach_of(grid: Grid, z: float, cell: float) -> float:
    """How far inside of edges of a sheet on the substrate its last line is, m."""
    at, cells = int(np.abs(grid.z - z).argmin()), np.diff(grid.z)
    return reach(cell, (2.2 * cells[at - 1] + cells[at]) / 3.2, 1.3)


@pytest.mark.parametrize("length", [9.7e-3, 12e-3, 13.33e-3])
@pytest.mark.parametrize("cell", [None, 0.3e-3])
def test_edges_planes_and_growth(length: float, cell: float | None) -> None:
    """Edges of the patch where it acts as if it ended, sheets on planes, three cells in the substrate."""
    grid = layout(patch(length), [7e9, 8e9], cell=cell)
    wanted, within = cell or HEIGHT / 2, reach_of(grid, HEIGHT, cell or HEIGHT / 2)
    for edge, outward in ((-length / 2, -1), (length / 2, 1)):
        offsets = outward * (grid.x - edge)
        assert np.abs(offsets + within).min() < 1e-9 * wanted
        assert np.abs(offsets + within - wanted).min() < 1e-9 * wanted
    inside = grid.z[(grid.z >= -1e-12) & (grid.z <= HEIGHT + 1e-12)]
    assert len(inside) == 4
    assert inside[[0, -1]] == pytest.approx([0.0, HEIGHT], abs=1e-12)
    for planes in grid.planes:
        assert ratio(planes) <= 1.3 * (1 + 1e-5)
    for axis in range(3):
        low, high = huygens_box(grid)[axis]
        assert grid.planes[axis][low] < -12e-3 * (axis < 2)
        assert grid.planes[axis][high] > (12e-3 if axis < 2 else HEIGHT)


def test_one_edge_for_sheets_that_touch() -> None:
    """A line as wide as a tenth of the patch ends at its edge: the lines are the patch's."""
    scene = patch()
    line = Sheet(z=HEIGHT, x=(-12e-3, -6e-3), y=(-0.8e-3, 0.8e-3))
    grid = layout(Scene(blocks=scene.blocks, sheets=(*scene.sheets, line)), [7e9, 8e9])
    inside = grid.x + 6e-3 - reach_of(grid, HEIGHT, HEIGHT / 2)
    assert np.abs(inside).min() < 1e-12  # a line of the patch
    media = fill(Scene(sheets=(*scene.sheets, line)), grid)
    k, j = np.abs(grid.z - HEIGHT).argmin(), np.abs(grid.y).argmin()
    x = (grid.x[1:] + grid.x[:-1]) / 2
    assert media.metal[0, k, j, :-1].tolist() == ((x > -12e-3) & (x < 6e-3)).tolist()  # no gap


def test_cells_grow_from_a_layer_much_thinner_than_the_margin() -> None:
    """A substrate of 0.127 mm with 60 mm of air on both sides, as at 1 GHz, has no smaller cells than its own.

    With 200 samples of the wanted cell in 60 mm the cells next to it were not seen: 400 planes, cells of 0.009 mm.
    """
    layer = Span(low=0.0, high=0.127, cell=0.127 / 3)
    planes = graded([-60.0, 0.0, 0.127, 60.127], [Span(low=-np.inf, high=np.inf, cell=4.4), layer], 1.3)
    cells = np.diff(planes)
    assert len(planes) <= 70 and cells.min() >= 0.9 * layer.cell
    assert max((cells[1:] / cells[:-1]).max(), (cells[:-1] / cells[1:]).max()) <= 1.3 * (1 + 1e-6)


def test_planes_share_the_integral() -> None:
    planes = graded([0.0, 1.0, 10.0], [Span(low=0.0, high=1.0, cell=0.25)], 1.25)
    assert planes[:5] == pytest.approx([0, 0.25, 0.5, 0.75, 1.0], abs=0.02)
    assert ratio(planes) <= 1.25 * (1 + 1e-6)
    assert np.diff(planes)[-1] > 1.0


@pytest.mark.parametrize("seed", range(12))
def test_rounds_that_cannot_help_are_left_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planes next to pairs that stay whole, or the refusal, are those of all rounds, to the bit."""
    rng = np.random.default_rng(seed)
    gaps = np.where(rng.random(5) < 0.4, 2.0, rng.uniform(1.0, 12.0, 5))
    ends = [0.0, *np.cumsum(gaps).tolist()]
    whole = ((ends[1], ends[2]), (ends[3], ends[4]))
    spans = [Span(low=-np.inf, high=np.inf, cell=2.5), Span(low=2.0, high=9.0, cell=1.8)]

    def found() -> tuple[bytes | str, int]:
        rounds: list[int] = []
        wanted = lines._wanted
        with monkeypatch.context() as patched:
            patched.setattr(lines, "_wanted", lambda *of: rounds.append(1) or wanted(*of))
            try:
                return graded(ends, spans, 1.3, whole).tobytes(), len(rounds)
            except ConfigError as error:
                return str(error), len(rounds)

    short = found()
    monkeypatch.setattr(lines, "_rougher", lambda *of: False)
    every = found()
    assert short[0] == every[0]
    if isinstance(every[0], bytes) and every[1] == lines._ROUNDS:
        assert short[1] < 10


def test_means_of_permittivity() -> None:
    """Half a cell of permittivity 3: arithmetic across an edge, harmonic along it, a quarter at a corner."""
    line = np.arange(6.0)
    grid = Grid(x=line, y=line, z=line)
    block = Block(x=(-1, 9), y=(-1, 9), z=(-1, 2.5), material=Dielectric(permittivity=3.0, conductivity=0.2))
    media = fill(Scene(blocks=(block,)), grid)
    assert media.permittivity[0, :, 2, 2] == pytest.approx([3, 3, 3, 1, 1, 1])
    assert media.permittivity[2, :5, 2, 2] == pytest.approx([3, 3, 1 / (0.5 / 3 + 0.5), 1, 1])
    assert media.conductivity[2, :5, 2, 2] == pytest.approx([0.2, 0.2, 0.1, 0, 0])
    corner = Block(x=(2, 9), y=(2, 9), z=(-1, 9), material=Dielectric(permittivity=5.0))
    media = fill(Scene(blocks=(block, corner)), grid)
    assert media.permittivity[2, 4, 2, 1:4] == pytest.approx([1, 2, 3])
    assert media.permittivity[2, 0, 2, 1:4] == pytest.approx([3, 3.5, 4])


def test_later_blocks_count_for_metal() -> None:
    line = np.arange(9.0)
    grid = Grid(x=line, y=line, z=line)
    box = Block(x=(2, 6), y=(2, 6), z=(2, 6))
    hole = Block(x=(3, 5), y=(3, 5), z=(1, 7), material=Dielectric(permittivity=2.0))
    metal = fill(Scene(blocks=(box, hole)), grid).metal
    assert metal[2, 3, 4, 1:8].tolist() == [False, True, True, False, True, True, False]
    assert not fill(Scene(blocks=(box, hole)), grid).metal[2, 6, 2, 2]


def test_wide_ports_take_the_columns_between() -> None:
    scene = patch(port=LumpedPort(x=-3e-3, y=(-1e-3, 1e-3), z=(0.0, HEIGHT), resistance=75.0))
    grid = layout(scene, [7e9, 8e9])
    assert isinstance(scene.port, LumpedPort)
    port = port_columns(scene.port, grid, fill(scene, grid))
    columns = len(np.unique(port.points[:, 2]))
    assert columns > 2
    assert port.weights.sum() == pytest.approx(3)  # one for each edge along z
    assert len(port.points) == 3 * columns


def test_cells_between_two_sheets_are_denser() -> None:
    """33 cells a wavelength in the dielectric below the patch, 20 beside it and in air; edges have no larger cells."""
    grid = layout(patch(), [8e9], cell=2e-3)
    wave = 299792458.0 / 8e9
    below = np.diff(grid.x[np.abs(grid.x) <= 6e-3])
    assert below.max() <= wave / np.sqrt(2.2) / 20 * 0.6 * (1 + 1e-9)
    assert np.diff(grid.x).max() == pytest.approx(wave / 20, rel=0.2)
    at = int(np.searchsorted(grid.x, 6e-3))
    assert grid.x[at] - grid.x[at - 1] == pytest.approx(wave / np.sqrt(2.2) / 20 * 0.6)


def test_an_edge_further_out_than_the_middle_of_a_cell() -> None:
    """Cells twice as high as wide: a sheet acts 0.6 of a cell beyond its last line, and ends there all the same."""
    scene = Scene(sheets=(Sheet(z=0.0, x=(-6e-3, 6e-3), y=(-6e-3, 6e-3)),), blocks=patch().blocks)
    grid = layout(scene, [8e9], cell=0.1e-3)
    metal = fill(scene, grid).metal[0, int(np.abs(grid.z).argmin()), grid.y.size // 2]
    last = float(grid.x[1:][metal[:-1]].max())
    assert 6e-3 - last == pytest.approx(reach_of(grid, 0.0, 0.1e-3), rel=0.1)
    assert 6e-3 - last > 0.55e-4


REFUSED = {
    "sheet between planes": (
        Scene(sheets=(Sheet(z=0.5, x=(1, 3), y=(1, 3)),), port=LumpedPort(x=2, y=2, z=(0, 1))),
        r"sheet\.z = 0\.5 m lies",
    ),
    "port in air": (
        Scene(sheets=(Sheet(z=2, x=(1, 5), y=(1, 5)),), port=LumpedPort(x=3, y=3, z=(2, 4))),
        "ends in air at z = 4 m",
    ),
    "port across metal": (
        Scene(
            sheets=tuple(Sheet(z=z, x=(1, 5), y=(1, 5)) for z in (2, 5)),
            blocks=(Block(x=(2, 4), y=(2, 4), z=(3, 4)),),
            port=LumpedPort(x=3, y=3, z=(2, 5)),
        ),
        "runs through metal",
    ),
    "port between planes": (
        Scene(sheets=(Sheet(z=2, x=(1, 5), y=(1, 5)),), port=LumpedPort(x=3, y=3, z=(2, 3.5))),
        r"port\.z = 3\.5 m lies between",
    ),
    "through the Huygens box": (
        Scene(sheets=(Sheet(z=2, x=(1, np.inf), y=(1, 5)),), port=LumpedPort(x=3, y=3, z=(2, 4))),
        r"reaches to x = inf m, beyond the Huygens box at 9 m",
    ),
    "no port": (Scene(sheets=(Sheet(z=2, x=(1, 5), y=(1, 5)),)), r"scene\.port is missing"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_on_a_lattice(case: str) -> None:
    scene, message = REFUSED[case]
    line = np.arange(-12.0, 20.0)
    with pytest.raises(ConfigError, match=message):
        solve(scene, Grid(x=line, y=line, z=line, layers=(8,) * 6), [1e6])


def test_refused_without_one() -> None:
    with pytest.raises(ConfigError, match="too close for cell"):
        gap = Sheet(z=HEIGHT, x=(6.001e-3, 9e-3), y=(-3e-3, 3e-3))
        layout(Scene(blocks=patch().blocks, sheets=(*patch().sheets, gap)), [7e9])
    with pytest.raises(ConfigError, match="cells_per_wavelength = 4 is too coarse"):
        layout(patch(), [7e9], cells_per_wavelength=4)
    with pytest.raises(ConfigError, match=r"e\+08 cells between .* m of one axis \(must be <= 1000000\)"):
        layout(patch(), [7e9], cell=1e-12)  # took the machine's memory
    with pytest.raises(ConfigError, match="lower the ratio of the highest frequency to the lowest"):
        layout(patch(), [7.0, 8e9])  # as of "7 Hz" for "7 GHz"
    with pytest.raises(ConfigError, match="is empty"):
        Sheet(z=0.0, x=(1.0, 1.0), y=(0.0, 1.0))
    with pytest.raises(ConfigError, match=r"permittivity = 0\.5"):
        Dielectric(permittivity=0.5)
    with pytest.raises(ConfigError, match="face x- is in open_faces and magnetic_faces"):
        Scene(magnetic_faces=("x-",))
    with pytest.raises(ConfigError, match="face y- is in magnetic_faces and mirror_faces"):
        Scene(open_faces=("x-",), magnetic_faces=("y-",), mirror_faces=("y-",))
    with pytest.raises(ConfigError, match="mirror_faces with a LumpedPort"):
        Scene(open_faces=("x-",), mirror_faces=("y-",), port=LumpedPort(x=0.0, y=0.0, z=(0.0, 1e-3)))
    with pytest.raises(ConfigError, match="face x- is more than one of open, magnetic and a mirror"):
        Grid(x=np.arange(9.0), y=np.arange(9.0), z=np.arange(9.0), layers=(2, 0, 0, 0, 0, 0), mirrors=("x-",))
    with pytest.raises(ConfigError, match="layers of 15 and 15 cells leave nothing"):
        Grid(x=np.arange(21.0), y=np.arange(40.0), z=np.arange(40.0), layers=(15,) * 6)


def test_dielectrics_in_several_parts_have_the_cells_of_the_whole():
    """The default cell is decided by the thinnest and the densest part; it does not shrink with every part."""
    port = LumpedPort(x=0.0, y=0.0, z=(0.0, 8e-3))
    sheets = tuple(Sheet(z=z, x=(-9e-3, 9e-3), y=(-9e-3, 9e-3)) for z in (0.0, 8e-3))
    parts = [
        Block(x=span, y=(-9e-3, 9e-3), z=(0.0, 8e-3), material=Dielectric(permittivity=4.0))
        for span in ((-9e-3, 0.0), (0.0, 9e-3), (-9e-3, 9e-3))
    ]
    whole, split = (
        layout(Scene(sheets=sheets, blocks=tuple(blocks), port=port), [5e9]) for blocks in (parts[2:], parts)
    )
    assert split.counts == whole.counts


def test_a_gap_that_the_lattice_cannot_tell_from_none_is_refused() -> None:
    """A thousandth of a cell and less: both ends of the port have one plane."""
    ground = Sheet(z=0.0, x=(-9e-3, 9e-3), y=(-9e-3, 9e-3))
    metal = Sheet(z=2e-7, x=(-6e-3, 6e-3), y=(-7e-3, 7e-3))
    scene = Scene(sheets=(ground, metal), port=LumpedPort(x=-3e-3, y=0.0, z=(0.0, 2e-7)))
    grid = layout(scene, [5e9, 6e9], cell=2e-3)
    with pytest.raises(ConfigError, match=r"port\.z spans 2e-07 m, less than a thousandth of a cell"):
        port_columns(scene.port, grid, fill(scene, grid))


@pytest.mark.parametrize("place", [9e-3, 40e-3])
def test_media_beside_a_sheet_do_not_move_its_edges(place: float) -> None:
    """A dense block in the layer of the substrate, not under the patch, leaves the patch's last lines in place."""
    alone = patch()
    post = Block(x=(place, place + 2e-3), y=(-1e-3, 1e-3), z=(0.0, HEIGHT), material=Dielectric(permittivity=20.0))
    grid = layout(dataclasses.replace(alone, blocks=(*alone.blocks, post)), [7e9, 8e9], cell=0.4e-3)
    within = reach_of(grid, HEIGHT, 0.4e-3)
    assert np.abs(grid.x - (-6e-3 + within)).min() < 1e-9 * 0.4e-3


def arms(gap: float, axis: str = "x", across: float = 8e-3) -> Scene:
    """Two strips on a line with a port between them, as wide as they are."""
    spans = ((-25e-3, -gap / 2), (gap / 2, 25e-3))
    sides = (-across / 2, across / 2)
    port = {"x": (-gap / 2, gap / 2), "y": sides} if axis == "x" else {"x": sides, "y": (-gap / 2, gap / 2)}
    sheets = (Sheet(z=0.0, x=one, y=sides) if axis == "x" else Sheet(z=0.0, x=sides, y=one) for one in spans)
    return Scene(sheets=tuple(sheets), port=LumpedPort(**port, z=0.0, axis=axis))  # type: ignore[arg-type]


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize(("gap", "halvings", "count"), [(0.2e-3, 0, 2), (2e-3, 0, 2), (2e-3, 1, 4), (9e-3, 0, 6)])
def test_a_gap_with_a_port_acts_as_wide_as_it_is(gap: float, halvings: int, count: int, axis: str) -> None:
    """The port reaches from one sheet's last line to the other's, by cells of about the same size.

    Each of these lines is inside of its sheet by what the sheet acts beyond it, as at other edges.
    """
    scene, finer = arms(gap, axis), 2.0**halvings
    grid = layout(scene, [3e9], cell=2e-3 / finer, cells_per_wavelength=20 * finer, across=finer, between=1.0)
    assert isinstance(scene.port, LumpedPort)
    port = port_columns(scene.port, grid, fill(scene, grid))
    cells = port.lengths[:count]
    assert port.lengths.tolist() == cells.tolist() * (len(port.lengths) // count)
    assert cells == pytest.approx(cells[::-1]) and np.ptp(cells) <= 0.1 * cells[0] * (count > 4)
    each, growth = np.diff(grid.z)[np.abs(grid.z[:-1]).argmin()], 1 + 0.3 / finer
    assert cells.sum() == pytest.approx(gap + 2 * reach(cells[0], each, growth), rel=1e-6)
    for planes in grid.planes:
        assert ratio(planes) <= growth * (1 + 1e-5)


@pytest.mark.parametrize("case", ["rounding", "other level"])
def test_what_else_there_is_does_not_move_the_edges_of_such_a_gap(case: str) -> None:
    """Neither rounding of z, which put lines on the edges, nor a ground that begins at one, which left no lattice."""
    scene = arms(1e-3)
    port = scene.port
    assert isinstance(port, LumpedPort)
    if case == "rounding":
        sheets = tuple(dataclasses.replace(one, z=0.3) for one in scene.sheets)
        port = dataclasses.replace(port, z=0.1 + 0.2)
    else:
        sheets = (*scene.sheets, Sheet(z=-5e-3, x=(-0.5e-3, 30e-3), y=(-30e-3, 30e-3)))
    scene = dataclasses.replace(scene, sheets=sheets, port=port)
    grid = layout(scene, [3e9], cell=2e-3)
    at = int(np.abs(grid.z - sheets[0].z).argmin())
    cells = port_columns(port, grid, fill(scene, grid)).lengths[:2]
    height = float(np.diff(grid.z)[at - 1 : at + 1].mean())
    assert cells.sum() == pytest.approx(1e-3 + 2 * reach(cells[0], height, 1.3), rel=1e-6)


def test_a_gap_between_blocks_has_two_cells_with_sheets_on_them() -> None:
    """Faces of metal blocks are lattice lines; a sheet that ends there left one cell."""
    scene = arms(2e-3)
    blocks = tuple(Block(x=one.x, y=one.y, z=(-1e-3, 1e-3)) for one in scene.sheets)
    scene = dataclasses.replace(scene, blocks=blocks)
    grid = layout(scene, [3e9], cell=2e-3)
    assert isinstance(scene.port, LumpedPort)
    assert port_columns(scene.port, grid, fill(scene, grid)).lengths[:2] == pytest.approx([1e-3, 1e-3])


@pytest.mark.parametrize("axis", [0, 1])
def test_an_edge_of_pixels_has_one_side_at_every_pitch(axis: int) -> None:
    """Two pixels begin where one ends: twice the length. Rounding made some of these edges edges of no side."""
    sides = set()
    for pitch in np.linspace(0.1e-3, 7e-3, 400):
        lines = -3 * pitch + pitch * np.arange(7)
        ends, begins = (lines[2], lines[3]), (lines[3], lines[4])
        beside = (lines[0], lines[1]), (lines[3], lines[5])  # one pitch where metal ends, two where it begins
        sheets = tuple(
            Sheet(x=one if axis == 0 else other, y=other if axis == 0 else one, z=0.0)
            for one, other in zip((ends, begins), beside, strict=True)
        )
        sides |= {side for place, side, _ in edges_of(sheets, axis, 1e-9 * pitch) if abs(place - lines[3]) < 1e-12}
    assert sides == {1}
