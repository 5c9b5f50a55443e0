"""Open parts of edges and faces around perfect metal, on and between lattice planes.

Straight walls cut every edge exactly, so those are asserted to rounding (walls within 1e-6 of a cell of a node count as
on it); where they leave less than 0.39 of a cell open (0.71 along z) the cell before reaches to the wall. Slanted ones
are cut in straight pieces; a face is a polygon of its cut edges. A face whose open part is small compared with the
edges that drive it is enlarged (to 0.43 of a cell, near the axis to 0.59) for the sake of the time step; that is only
in the area. Figures are for 0.98 of the lattice's Courant limit.
"""

from __future__ import annotations

import numpy as np
import pytest

from fdtd.axisymmetric import conductors
from fdtd.axisymmetric.conductors import _Metal, _parts, open_parts
from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import Sampling
from fdtd.axisymmetric.polygons import in_polygon
from fdtd.axisymmetric.problem import Problem
from fdtd.axisymmetric.scene import LevelSet, Scene, box, cone_shell
from fdtd.backends.reference import Stepper
from fdtd.cpml import RadialLayer

FAR = 1.0


def lattice(nr: int = 20, nz: int = 30, cell: float = 1e-3) -> AxisymmetricGrid:
    return AxisymmetricGrid(nr=nr, nz=nz, cell=cell, origin=10, courant_number=0.98 * courant_limit(1))


def ring(r_min: float, r_max: float, z_min: float, z_max: float) -> LevelSet:
    """A box for a batch of one."""
    return box(*(np.array([bound]) for bound in (r_min, r_max, z_min, z_max)))


def parts(grid: AxisymmetricGrid, *conductors: LevelSet) -> tuple[np.ndarray, np.ndarray]:
    """Open lengths and areas of one antenna, each (3, nz, nr)."""
    lengths, areas = open_parts(grid, Scene(batch=1, conductors=conductors))
    return lengths[0], areas[0]


def test_nothing_there() -> None:
    """Without metal everything is open."""
    lengths, areas = parts(lattice())
    assert (lengths == 1).all() and (areas == 1).all()


def test_walls_on_the_lattice() -> None:
    """A ring 5 d <= r <= 8 d, -3 d <= z <= 4 d: edges are whole or gone, its surface belongs to it, no face is cut."""
    grid = lattice()
    lengths, areas = parts(grid, ring(5e-3, 8e-3, -3e-3, 4e-3))
    k, i = np.mgrid[: grid.nz, : grid.nr]
    k = k - grid.origin
    inside = [
        (k >= -3) & (k <= 4) & (i >= 5) & (i < 8),  # e_r, between the nodes i and i + 1
        (k >= -3) & (k <= 4) & (i >= 5) & (i <= 8),
        (k >= -3) & (k < 4) & (i >= 5) & (i <= 8),
    ]
    assert np.array_equal(lengths, 1.0 - np.array(inside))
    assert (areas == 1).all()


@pytest.mark.parametrize("place", [0.41, 0.5, 0.75, 0.9])
def test_straight_wall_round_the_axis(place: float) -> None:
    """The edge that a wall r = const cuts is open up to the wall; so are its faces, h_z as r dr."""
    lengths, areas = parts(lattice(), ring((10 + place) * 1e-3, FAR, -FAR, FAR))
    assert lengths[0, 3:27, 10] == pytest.approx(place, abs=2e-6)
    assert (lengths[0, :, :10] == 1).all() and (lengths[0, :, 11:] == 0).all()
    assert (lengths[1, :, :11] == 1).all() and (lengths[1, :, 11:] == 0).all()
    assert areas[1, 3:27, 10] == pytest.approx(place, abs=2e-6)
    assert areas[2, 3:27, 10] == pytest.approx(((10 + place) ** 2 - 10**2) / 2 / 10.5, abs=2e-6)
    assert (areas[0] == 1).all()


@pytest.mark.parametrize("place", [0.72, 0.8, 0.9])
def test_straight_wall_across_the_axis(place: float) -> None:
    """The same for a wall z = const."""
    grid = lattice()
    lengths, areas = parts(grid, ring(-FAR, FAR, (4 + place) * 1e-3, FAR))
    assert lengths[2, grid.origin + 4] == pytest.approx(place, abs=2e-6)
    assert (lengths[2, : grid.origin + 4] == 1).all() and (lengths[2, grid.origin + 5 :] == 0).all()
    assert areas[0, grid.origin + 4] == pytest.approx(place, abs=2e-6)
    assert areas[1, grid.origin + 4] == pytest.approx(place, abs=2e-6)


@pytest.mark.parametrize("place", [0.02, 0.1, 0.2, 0.3, 0.38])
def test_cell_before_a_sliver_reaches_to_the_wall(place: float) -> None:
    """Where little is open beyond a node, the node conducts and edge and faces before it are longer by that much."""
    lengths, areas = parts(lattice(), ring((10 + place) * 1e-3, FAR, -FAR, FAR))
    assert lengths[0, 3:27, 9] == pytest.approx(1 + place, abs=2e-6)
    assert (lengths[:, 3:27, :9] == 1).all() and (lengths[:, 3:27, 10:] == 0).all()
    assert areas[1, 3:27, 9] == pytest.approx(1 + place, abs=2e-6)
    assert areas[2, 3:27, 9] == pytest.approx(((10 + place) ** 2 - 9**2) / 2 / 9.5, abs=2e-6)
    assert (areas[:, 3:27, 10:] == 1).all() and (areas[0] == 1).all()


@pytest.mark.parametrize("place", [0.1, 1 / 3, 0.38])
@pytest.mark.parametrize("across", [0.0, 1e-4, 0.2])
def test_inner_corner_leaves_no_sliver(place: float, across: float) -> None:
    """A tube closed by a wall, their corner as far from a node in r as in z, nearly so, and not: no edge is small.

    A feed of 5.5 mm, 16 mm long, on cells of 0.3 mm has such a corner; its fields grew after 3,000 steps.
    """
    tube = ring((10 + place) * 1e-3, FAR, -FAR, FAR)
    wall = ring(-FAR, FAR, -FAR, (3 - place - across) * 1e-3)
    lengths, _ = parts(lattice(), tube, wall)
    assert ((lengths == 0) | (lengths >= 0.39)).all()
    assert (lengths[1, 13:27, 10] == 0).all()


def test_sliver_beside_a_rim_is_left() -> None:
    """The node level with the rim of a tube keeps its field: a wall must not grow past its end."""
    grid = lattice()
    lengths, _ = parts(grid, ring(10.3e-3, 13e-3, -FAR, 4e-3))
    assert (lengths[1, 3 : grid.origin + 4, 10] == 0).all()
    assert lengths[1, grid.origin + 4, 10] == 1


@pytest.mark.parametrize(("far", "headroom"), [(True, 1.28), (False, 0.85)])
def test_small_faces_keep_the_time_step(far: bool, headroom: float) -> None:
    """What drives H on a cut face is at most 1.28 times what drives it on a whole one, near the axis 0.85 times.

    A cone of slope 0.37 cuts faces of all shapes; a smaller time step allows smaller ones.
    """
    for fraction in (0.98, 0.5):
        grid = AxisymmetricGrid(nr=40, nz=60, cell=0.5e-3, origin=10, courant_number=fraction * courant_limit(1))
        throat, slope = (4.1e-3, 0.37) if far else (0.2e-3, 0.09)
        lengths, areas = parts(grid, lambda index, r, z, a=throat, b=slope: (r - a - b * z) / np.hypot(1, b))
        columns = slice(8, None) if far else slice(0, 8)
        low, left = lengths[0, 11:50, columns], lengths[2, 11:50, columns]
        high, right = lengths[0, 12:51, columns], np.roll(lengths[2], -1, 1)[11:50, columns]
        allowed = headroom * (0.98 / fraction) ** 2
        driven = (low + high + left + right) / areas[1, 11:50, columns]
        assert driven.max() <= max(4 * allowed, 4) + 1e-3
        assert (low / areas[2, 11:50, columns])[low != 1].max() <= 2 * allowed + 1e-3


def test_slanted_wall_section() -> None:
    """A solid outside of a cone: open edges reach to the wall in each plane, open faces add up to the section.

    Slope 0.37 over 38 rows of cells: an edge is cut where the wall crosses it, unless a node within 0.21 of a cell took
    the wall over. Nodes that join shrink the section, enlarged faces widen it: within 1 % in all.
    """
    grid = lattice(nr=40, nz=60, cell=0.5e-3)
    throat, slope = 4.1e-3, 0.37
    lengths, areas = parts(grid, lambda index, r, z: (r - throat - slope * z) / np.hypot(1, slope))
    rows = slice(grid.origin, grid.origin + 38)
    heights = np.arange(38) * grid.cell
    assert lengths[0, rows].sum(axis=1) * grid.cell == pytest.approx(throat + slope * heights, abs=0.23 * grid.cell)
    exact = (throat + slope * 19e-3 / 2) * 19e-3 / grid.cell**2
    reached = lengths[0, rows] + lengths[0, grid.origin + 1 : grid.origin + 39] > 0
    assert (areas[1, rows] * reached).sum() == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("thickness", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("place", [0.1, 0.35])
def test_thin_wall_is_tight(thickness: float, place: float) -> None:
    """A tube thinner than a cell, between lattice planes, closed at the ends: not one bit gets out."""
    grid = lattice()
    metal = (
        ring((7 + place) * 1e-3, (7 + place + thickness) * 1e-3, -6e-3, 6e-3),
        ring(-FAR, (7 + place + thickness) * 1e-3, -6e-3, -5e-3),
        ring(-FAR, (7 + place + thickness) * 1e-3, 5e-3, 6e-3),
    )
    lengths, areas = open_parts(grid, Scene(batch=1, conductors=metal))
    start = np.zeros((1, 6, grid.nz, grid.nr))
    middle = np.s_[grid.origin - 3 : grid.origin + 3, 1:5]
    start[(0, slice(0, 3), *middle)] = np.random.default_rng(1).standard_normal((3, 6, 4))
    ones = np.ones_like(lengths)
    stepper = Stepper(
        Problem(
            grid=grid,
            media=Media(permittivity=ones, conductivity=0 * ones, open_length=lengths, open_area=areas),
            sampling=Sampling(record_every=1, check_every=1, steps=600, decay=0.0),
            radial_layer=RadialLayer(cells=0),
            axial_layers=(),
            initial=start,
        )
    )
    for _ in range(600):
        stepper.step()
    fields = stepper.stored()[0]
    assert np.isfinite(fields).all() and np.abs(fields[:3, grid.origin, 2:6]).max() > 1e-3
    assert (fields[:, :, 10:] == 0).all()
    assert (fields[:, grid.origin + 8 :] == 0).all() and (fields[:, : grid.origin - 7] == 0).all()


def test_each_antenna_for_itself() -> None:
    """A batch of two horns: each as it is alone, also when all are looked at at once, as on a device."""
    grid = lattice()
    rims = np.array([8e-3, 11e-3])

    def shells(rim: np.ndarray) -> Scene:
        ones = np.ones_like(rim)
        return Scene(batch=len(rim), conductors=(cone_shell(4e-3 * ones, rim, 5e-3 * ones, rim + 1e-3, 12e-3 * ones),))

    together = open_parts(grid, shells(rims))
    for place in range(2):
        for many, one in zip(together, open_parts(grid, shells(rims[place : place + 1])), strict=True):
            assert np.array_equal(many[place], one[0])
    at_once = _parts(_Metal(grid, shells(rims).conductors, np.arange(2)))
    for one_by_one, all_at_once in zip(together, at_once, strict=True):
        assert np.array_equal(one_by_one, all_at_once)


def slotted(seed: int) -> LevelSet:
    """A wall of 0.2 to 1.5 cells along a crooked line, with a slanted block of metal next to it."""
    rng = np.random.default_rng(seed)
    z = np.cumsum(rng.uniform(1.0, 4.0, 6)) - 8.0
    r = 9.0 + np.cumsum(rng.uniform(-2.5, 2.5, 6))
    wall = rng.uniform(0.2, 1.5)
    line = np.stack([r, z], axis=1)
    back = line[::-1] + np.array([wall, 0.0])
    block = np.array([[3.0, 6.0], [6.0, 5.0], [7.0, 11.0], [4.5, 9.0]]) + rng.uniform(-1.0, 1.0, (4, 2))
    shapes = [1e-3 * one[None] for one in (np.concatenate([line, back]), block)]
    return lambda *point: np.maximum(*(in_polygon(one, *point) for one in shapes))


@pytest.mark.parametrize("seed", range(24))
def test_what_is_far_from_metal_need_not_be_looked_at(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Open parts have the same bits as with the depth of every node, and 33 depths along every edge."""
    grid, metal = lattice(30, 40), slotted(seed)
    found = parts(grid, metal)

    def every_node(metal: _Metal, which: np.ndarray, r: np.ndarray, z: np.ndarray) -> np.ndarray:
        return metal.depth(which, r[None, None], z[None, :, None])

    def every_edge(node: np.ndarray, axis: int) -> np.ndarray:
        return np.ones_like(conductors._ends(node, axis)[0], dtype=bool)

    monkeypatch.setattr(conductors, "_by_blocks", every_node)
    monkeypatch.setattr(conductors, "_may_be_cut", every_edge)
    for fast, slow in zip(found, parts(grid, metal), strict=True):
        assert np.array_equal(fast, slow)
    assert ((found[0] > 0) & (found[0] < 1)).sum() >= 10
