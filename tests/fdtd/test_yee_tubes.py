"""Tubes of metal on a lattice: closed walls, regular staircases, lattices for ports in guides, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fdtd.errors import ConfigError
from fdtd.yee import FACES, Block, Grid, GuidePort, LumpedPort, Scene, Tube, layout, solve
from fdtd.yee.media import fill
from fdtd.yee.mesh import huygens_box
from fdtd.yee.stairs import stairs

A, B = 22.86e-3, 10.16e-3
HORN = Tube(z=(-np.inf, 0.0, 50e-3), x=(B / 2, B / 2, 18e-3), y=(A / 2, A / 2, 25e-3))
PORT = GuidePort(x=(-B / 2, B / 2), y=(-A / 2, A / 2), source=-25e-3, planes=(-15e-3, -5e-3), reference=0.0, field="x")
SCENE = Scene(tubes=(HORN,), port=PORT)
BAND = [9e9, 11e9]


def reached(grid: Grid, metal: np.ndarray, slabs: slice) -> np.ndarray:
    """Cells that are joined with the axis by faces of which not all four edges are metal, within slabs, [k, j, i]."""
    e_x, e_y, e_z = metal
    closed = (  # faces across x, y, z
        e_y[:-1, :-1] & e_y[1:, :-1] & e_z[:-1, :-1] & e_z[:-1, 1:],
        e_x[:-1, :, :-1] & e_x[1:, :, :-1] & e_z[:-1, :, :-1] & e_z[:-1, :, 1:],
        e_x[:, :-1, :-1] & e_x[:, 1:, :-1] & e_y[:, :-1, :-1] & e_y[:, :-1, 1:],
    )
    counts = tuple(count - 1 for count in grid.shape)
    found = np.zeros(counts, dtype=bool)
    found[slabs, int(np.searchsorted(grid.y, 0.0)), int(np.searchsorted(grid.x, 0.0))] = True
    allowed = np.zeros(counts, dtype=bool)
    allowed[slabs] = True
    while True:
        before = int(found.sum())
        for axis in range(3):
            at = 2 - axis
            inner = [slice(None)] * 3
            inner[at] = slice(1, -1)
            passes = ~closed[axis][tuple(inner)]
            passes = passes[: counts[0] - (at == 0), : counts[1] - (at == 1), : counts[2] - (at == 2)]
            low, high = [slice(None)] * 3, [slice(None)] * 3
            low[at], high[at] = slice(None, -1), slice(1, None)
            found[tuple(high)] |= found[tuple(low)] & passes
            found[tuple(low)] |= found[tuple(high)] & passes
            found &= allowed
        if int(found.sum()) == before:
            return found


@pytest.mark.parametrize("wall", [0.0, 1e-3, 4e-3])
@pytest.mark.parametrize("cells", [10, 17])
def test_walls_are_closed(wall: float, cells: int) -> None:
    """From the axis no cell outside is reached but through the aperture, and the volume is that of the horn."""
    tube = replace(HORN, wall=wall)
    grid = layout(replace(SCENE, tubes=(tube,)), BAND, cells_per_wavelength=cells)
    metal = fill(replace(SCENE, tubes=(tube,)), grid).metal
    aperture = int(np.abs(grid.z - 50e-3).argmin())
    inside = reached(grid, metal, slice(0, aperture))
    x, y, z = ((planes[1:] + planes[:-1]) / 2 for planes in grid.planes)
    half = np.interp(z, [0.0, 50e-3], [B / 2, 18e-3]), np.interp(z, [0.0, 50e-3], [A / 2, 25e-3])
    expected = (np.abs(x) < half[0][:, None, None]) & (np.abs(y)[:, None] < half[1][:, None, None])
    expected[aperture:] = False
    np.testing.assert_array_equal(inside, expected)
    flare = slice(int(np.abs(grid.z).argmin()), aperture)
    sizes = np.diff(grid.z)[:, None, None] * np.diff(grid.y)[:, None] * np.diff(grid.x)
    volume = 50e-3 / 3 * (A * B + 36e-3 * 50e-3 + (A * 36e-3 + B * 50e-3) / 2)
    assert (inside * sizes)[flare].sum() == pytest.approx(volume, rel=0.01)
    assert reached(grid, metal, slice(0, aperture + 3))[:, 0].any()  # through the aperture the outside is


def test_thick_walls_are_solid() -> None:
    """On even cells of 1 mm a wall of 3 mm holds no free edge, and reaches from its inside to its outside."""
    line = np.arange(-12.0, 13.0) * 1e-3
    grid = Grid(x=line, y=line, z=np.arange(0.0, 11.0) * 1e-3)
    tube = Tube(z=(0.0, 10e-3), x=(4e-3, 4e-3), y=(6e-3, 6e-3), wall=3e-3)
    metal = fill(Scene(tubes=(tube,)), grid).metal[2, 5]
    reach = [np.abs(metal[12 + row, 12:]).nonzero()[0].tolist() for row in (0, 6, 9, 10)]
    assert reach[0] == [4, 5, 6, 7, 12]  # 12: the lattice's own wall
    assert reach[1] == [*range(8), 12] and reach[2] == [*range(8), 12] and reach[3] == [12]


@pytest.mark.parametrize(("share", "has_line"), [(0.45, False), (0.55, True), (1.0, True), (1.4, True)])
def test_a_wall_of_half_a_cell_has_its_thickness(share: float, has_line: bool) -> None:
    """The last rim's outside has a line, and the rim is solid between; thinner walls are sheets."""
    cell = 299792458 / 11e9 / 15
    scene = replace(SCENE, tubes=(replace(HORN, wall=share * cell),))
    grid = layout(scene, BAND, cells_per_wavelength=15)
    k, free = int(np.abs(grid.z - 50e-3).argmin()), fill(scene, grid).metal
    for planes, half, along in ((grid.x, 18e-3, 0), (grid.y, 25e-3, 1)):
        outside = half + share * cell
        assert (np.abs(planes - outside).min() < 1e-9) == has_line
        middles = (planes[1:] + planes[:-1]) / 2
        edges = np.flatnonzero((middles > half) & (middles < outside + (0 if has_line else 3e-3)))
        at = (k, int(np.abs(grid.y).argmin()), edges) if along == 0 else (k, edges, int(np.abs(grid.x).argmin()))
        assert free[along][at].all() if has_line else not free[along][at].any()


@pytest.mark.parametrize("cells", [10, 12, 15, 20, 25, 30])
def test_steps_are_regular(cells: int) -> None:
    """A wall moves by one cell after equal numbers of slabs, and the mean of its place is on the wall."""
    grid = layout(SCENE, BAND, cells_per_wavelength=cells)
    z = (grid.z[1:] + grid.z[:-1]) / 2
    flare = (z > 0) & (z < 50e-3)
    wanted = 299792458 / 11e9 / cells
    for planes, low, high in ((grid.x, B / 2, 18e-3), (grid.y, A / 2, 25e-3)):
        centres = (planes[1:] + planes[:-1]) / 2
        walls = np.interp(z[flare], [0.0, 50e-3], [low, high])
        places = np.array([planes[np.searchsorted(centres, one + 1e-9)] for one in walls])  # first line outside
        moves = np.flatnonzero(np.diff(places) > 1e-9)
        assert np.ptp(np.diff(moves)) == 0
        assert np.diff(places)[moves] == pytest.approx(np.diff(places)[moves[0]], rel=1e-9)
        assert np.mean(places - walls) == pytest.approx(0.0, abs=1e-9)
        assert places[moves[-1] + 1] == pytest.approx(high, abs=1e-9) and places[0] == pytest.approx(low, abs=1e-9)
    assert max(np.diff(grid.z[(grid.z > -1e-9) & (grid.z < 50e-3 + 1e-9)])) <= wanted * (1 + 1e-9)
    for half, planes in ((18e-3, grid.x), (25e-3, grid.y)):
        assert max(np.diff(planes[np.abs(planes) < half + 1e-9])) <= wanted * (1 + 1e-9)


def test_steep_and_flat_walls() -> None:
    """A wall that hardly moves has no lines of its own; a steep one moves by 2, 4, ... cells in each slab."""
    x, y, z = stairs(Tube(z=(0.0, 10e-3), x=(5e-3, 5.5e-3), y=(5e-3, 45e-3)), 1e-3)
    assert not x and len(z) >= 10
    assert len(y) // 2 >= 40 and len(y) // 2 % (2 * len(z)) == 0
    assert stairs(Tube(z=(0.0, 10e-3), x=(5e-3, 5e-3), y=(5e-3, 3e-3)), 1e-3) == ([], [], [])


def test_the_guide_has_even_cells() -> None:
    grid = layout(SCENE, BAND, cells_per_wavelength=12)
    for place in (-25e-3, -15e-3, -5e-3, 0.0, 50e-3):
        assert np.abs(grid.z - place).min() < 1e-12
    even = np.diff(grid.z[grid.z < -5e-3 + 1e-9])
    assert np.ptp(even) < 1e-9 * even[0]
    low = huygens_box(grid)[2][0]
    assert grid.z[low] == pytest.approx(-25e-3 - 3 * even[0])
    for planes, side in ((grid.x, B / 2), (grid.y, A / 2)):
        assert np.abs(planes - side).min() < 1e-12 and np.abs(planes + side).min() < 1e-12
    cells = np.diff(grid.z)
    assert np.maximum(cells[1:] / cells[:-1], cells[:-1] / cells[1:]).max() < 1.35


def test_what_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"tube has 2 places z, 1 x and 2 y"):
        Tube(z=(0.0, 1.0), x=(1.0,), y=(1.0, 1.0))
    with pytest.raises(ConfigError, match=r"tube.z = \(1.0, 0.0\) m does not increase"):
        Tube(z=(1.0, 0.0), x=(1.0, 1.0), y=(1.0, 1.0))
    with pytest.raises(ConfigError, match=r"tube.x = 0 m is not allowed"):
        Tube(z=(0.0, 1.0), x=(1.0, 0.0), y=(1.0, 1.0))
    with pytest.raises(ConfigError, match=r"tube.wall = -1 m is not allowed"):
        Tube(z=(0.0, 1.0), x=(1.0, 1.0), y=(1.0, 1.0), wall=-1.0)
    with pytest.raises(ConfigError, match=r"from z = -inf has another section"):
        Tube(z=(-np.inf, 1.0), x=(1.0, 2.0), y=(1.0, 1.0))
    with pytest.raises(ConfigError, match=r"port.field = 'z' is not allowed"):
        replace(PORT, field="z")
    with pytest.raises(ConfigError, match=r"port.source = -0.025 m and port.planes = .* are on no even cells"):
        layout(replace(SCENE, port=replace(PORT, planes=(-15e-3 + 1e-3 / np.pi, -5e-3))), BAND)
    with pytest.raises(ConfigError, match=r"a wall of 900 m has 330,[0-9]+ cells of 0.00273 m along one axis"):
        layout(replace(SCENE, tubes=(replace(HORN, z=(-np.inf, 0.0, 900.0)),)), BAND, cells_per_wavelength=10)
    grid = layout(SCENE, BAND, cells_per_wavelength=10)
    longer = replace(HORN, z=(-np.inf, 0.0, 90e-3))
    with pytest.raises(ConfigError, match=r"the scene reaches to z = 0.09 m, beyond the Huygens box"):
        solve(replace(SCENE, tubes=(longer,)), grid, BAND)
    lumped = Scene(tubes=(HORN,), port=LumpedPort(x=0.0, y=0.0, z=(1e-3, 2e-3)))
    with pytest.raises(ConfigError, match=r"the scene reaches to z = -inf m, beyond"):
        solve(lumped, grid, BAND)


def test_a_lattice_for_a_guide_of_blocks() -> None:
    """The tube's walls may be blocks: the lattice has lines on both their faces and goes through the port's planes."""
    walls = [Block(x=(side, side + 1e-3), y=(-A / 2, A / 2), z=(-np.inf, 0.0)) for side in (B / 2, -B / 2 - 1e-3)]
    walls += [Block(x=(-B / 2, B / 2), y=(side, side + 1e-3), z=(-np.inf, 0.0)) for side in (A / 2, -A / 2 - 1e-3)]
    grid = layout(Scene(blocks=tuple(walls), port=PORT, open_faces=FACES), BAND)
    for place in (B / 2, B / 2 + 1e-3):
        assert np.abs(grid.x - place).min() < 1e-12
    assert np.abs(grid.z + 15e-3).min() < 1e-12 and np.abs(grid.z).min() < 1e-12
