"""A scene on a lattice: permittivity and conductivity of every E component on its edge, and the metal.

An edge sees the mean permittivity over the cell of the dual lattice around it: arithmetic across the edge (fields
parallel to an interface are continuous), harmonic along it (there the displacement is). Interfaces parallel to the axes
then keep the second order wherever they fall.

A tube's walls are the faces between cells inside and cells outside: closed wherever they run.

Metal is on an edge whose middle lies in a block of metal, or whose middle and both ends lie on sheets of one plane. A
sheet acts as if it ended beyond its outermost lattice line, by a quarter of a cell or more, since fields at its edge
are singular; `fdtd.yee.mesh` places the lines accordingly.

References:
    Taflove & Hagness, 3rd ed., sec. 3.6.7; Hwang & Cangellaris, IEEE Microw. Wirel. Compon. Lett. 11 (2001) 158
    (means at interfaces); Farjadpour et al., Opt. Lett. 31 (2006) 2972.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fdtd.errors import ConfigError
from fdtd.yee.grid import Grid, half_node
from fdtd.yee.scene import Block, Scene, Sheet, Tube

_TOLERANCE = 1e-6  # of the smallest cell: places that are equal
_E = ("e_x", "e_y", "e_z")


@dataclass(frozen=True, kw_only=True, eq=False)
class Media:
    """Media on the edges of a lattice, all arrays (3, nz + 1, ny + 1, nx + 1) in the order e_x, e_y, e_z.

    Attributes:
        permittivity: Relative.
        conductivity: S/m.
        metal: Where E is zero; padding and electric walls too.
    """

    permittivity: np.ndarray
    conductivity: np.ndarray
    metal: np.ndarray


def empty(grid: Grid) -> Media:
    """Return air up to the lattice's walls."""
    shape = (3, *grid.shape)
    closed = ~np.stack([grid.inside(name) for name in _E])
    return Media(permittivity=np.ones(shape), conductivity=np.zeros(shape), metal=closed)


def fill(scene: Scene, grid: Grid) -> Media:
    """Rasterise a scene.

    Args:
        scene: What stands in space.
        grid: The lattice.

    Raises:
        ConfigError: A sheet lies between lattice planes.
    """
    media = empty(grid)
    if any(block.material for block in scene.blocks):
        permittivity, conductivity = _means(scene.blocks, grid)
        media = replace(media, permittivity=permittivity, conductivity=conductivity)
    tolerance = _TOLERANCE * min(float(grid.spacing(axis).min()) for axis in range(3))
    for at, name in enumerate(_E if any(block.material is None for block in scene.blocks) else ()):
        places = [places_of(grid, name, axis) for axis in range(3)]
        metal = np.zeros(grid.shape, dtype=bool)
        for block in scene.blocks:
            margin = tolerance if block.material is None else -tolerance  # metal has its surface, dielectric does not
            metal[_inside(block, places, margin)] = block.material is None
        media.metal[at] |= metal
    _put_sheets(scene.sheets, grid, media.metal, tolerance)
    for tube in scene.tubes:
        _put_tube(tube, grid, media.metal, tolerance)
    return media


def places_of(grid: Grid, component: str, axis: int) -> np.ndarray:
    """Return where a component stands along an axis, m, (cells + 1,); padding is one half cell beyond the end."""
    planes = grid.planes[axis]
    if not half_node(component, axis):
        return planes
    ends = np.append(planes, 2 * planes[-1] - planes[-2])
    return (ends[:-1] + ends[1:]) / 2


def _inside(block: Block, places: list[np.ndarray], margin: float) -> tuple[slice, slice, slice]:
    """Slices [k, j, i] of the places in a block that is larger by a margin."""
    x, y, z = (
        _between(place, interval, margin) for place, interval in zip(places, (block.x, block.y, block.z), strict=True)
    )
    return z, y, x


def _between(places: np.ndarray, interval: tuple[float, float], margin: float) -> slice:
    low, high = interval
    return slice(int(np.searchsorted(places, low - margin)), int(np.searchsorted(places, high + margin, side="right")))


def _put_sheets(sheets: tuple[Sheet, ...], grid: Grid, metal: np.ndarray, tolerance: float) -> None:
    """Put metal on edges of the lattice whose middle and both ends lie on sheets of one plane.

    The middle alone would not do: where cells are much higher than wide, a sheet acts as if it ended more than half a
    cell beyond its last line, and the middle of the next edge lies on it.
    """
    planes: dict[int, list[Sheet]] = {}
    for sheet in sheets:
        k = plane_at(grid.z, sheet.z)
        if k is None:
            nearest = grid.z[np.abs(grid.z - sheet.z).argmin()]
            raise ConfigError(
                f"sheet.z = {sheet.z:g} m lies between lattice planes (the nearest is {nearest:g} m); "
                "move the sheet or make the grid with `layout`"
            )
        planes.setdefault(k, []).append(sheet)
    for k, level in planes.items():
        node = _covered(level, (grid.x, grid.y), tolerance)
        ends = np.zeros((2, *grid.shape[1:]), dtype=bool)
        ends[0, :, :-1] = node[:, :-1] & node[:, 1:]
        ends[1, :-1, :] = node[:-1, :] & node[1:, :]
        for at, name in enumerate(_E[:2]):
            metal[at, k] |= ends[at] & _covered(level, [places_of(grid, name, axis) for axis in (0, 1)], tolerance)


def _covered(sheets: Iterable[Sheet], places: Sequence[np.ndarray], tolerance: float) -> np.ndarray:
    """Return which of the places along x and y lie on sheets of one plane, [j, i]."""
    found = np.zeros((len(places[1]), len(places[0])), dtype=bool)
    for sheet in sheets:
        x, y = (
            _between(place, interval, tolerance) for place, interval in zip(places, (sheet.x, sheet.y), strict=True)
        )
        found[y, x] = True
    return found


def plane_at(planes: np.ndarray, place: float) -> int | None:
    """Return the index of the plane at a place, m, or None where there is none within 1e-3 of a cell."""
    index = int(np.abs(planes - place).argmin())
    cell = float(np.diff(planes).min())
    return index if abs(planes[index] - place) <= 1e-3 * cell else None


def _put_tube(tube: Tube, grid: Grid, metal: np.ndarray, tolerance: float) -> None:
    """Put metal on the faces between the cells in a tube and those around it, and on the edges of cells in its walls.

    A cell is where its centre is, so a slanted wall is a staircase whose mean place is the wall's own.
    """
    x, y, z = ((planes[1:] + planes[:-1]) / 2 for planes in grid.planes)
    slabs = np.flatnonzero((z > tube.z[0]) & (z < tube.z[-1]))
    if not len(slabs):
        return
    z = z[slabs][:, None, None]
    wide, high = tube.half_width(0, z) + tolerance, tube.half_width(1, z) + tolerance
    away = np.abs(x) - wide, np.abs(y)[:, None] - high  # m, beyond the inner walls
    inside = (away[0] < 0) & (away[1] < 0)
    solid = (away[0] < tube.wall) & (away[1] < tube.wall) & ~inside
    first, last = int(slabs[0]), int(slabs[-1]) + 1
    for axis in range(3):
        at = 2 - axis
        changes = np.diff(inside, axis=at)  # between each cell and the next one along the axis
        low = [first, 0, 0]
        low[at] += 1
        _close_faces(metal[:, : last + 1], changes, axis, low)
        for side in (0, 1):
            low = [first, 0, 0]
            low[at] += side
            _close_faces(metal[:, : last + 1], solid, axis, low)


def _close_faces(metal: np.ndarray, faces: np.ndarray, axis: int, low: list[int]) -> None:
    """Put metal on the four edges of faces across an axis.

    Args:
        metal: Of the edges, (3, nz + 1, ny + 1, nx + 1).
        faces: Which faces, [k, j, i].
        axis: Normal of the faces.
        low: Indices [k, j, i] of the first face.
    """
    for along in range(3):
        if along == axis:
            continue
        across = 3 - axis - along
        for side in (0, 1):
            start = list(low)
            start[2 - across] += side
            k, j, i = (slice(one, one + count) for one, count in zip(start, faces.shape, strict=True))
            metal[along, k, j, i] |= faces


def _means(blocks: tuple[Block, ...], grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Return mean permittivity and conductivity of all edges, (3, nz + 1, ny + 1, nx + 1) each.

    The ends of blocks divide each axis into segments, and the lattice into boxes of one medium. A cell's mean along an
    axis is that of the segments by their shares in it. Most cells lie within one segment: means are computed once for
    cells with equal shares.
    """
    solid = [block for block in blocks if block.material is not None]  # metal needs no permittivity
    cuts = [_segments(grid.planes[axis], [getattr(block, "xyz"[axis]) for block in solid]) for axis in range(3)]
    middles = [(one[1:] + one[:-1]) / 2 for one in cuts]
    permittivity = np.ones([len(middle) for middle in middles[::-1]])
    conductivity = np.zeros_like(permittivity)
    for block in solid:
        assert block.material is not None  # noqa: S101 - see above
        at = _inside(block, middles, 0.0)
        permittivity[at] = block.material.permittivity
        conductivity[at] = block.material.conductivity
    shares = [[_shares(grid.planes[axis], cuts[axis], half=half) for half in (False, True)] for axis in range(3)]
    found = np.ones((3, *grid.shape)), np.zeros((3, *grid.shape))
    for along in range(3):
        distinct, cells = zip(*(shares[axis][axis == along] for axis in range(3)), strict=True)
        for which, values in enumerate((permittivity, conductivity)):
            mean = values
            for axis in sorted(range(3), key=lambda one: one == along):  # along the edge last
                if axis == along and which == 0:
                    mean = 1 / _mixed(1 / mean, distinct[axis], axis)
                else:
                    mean = _mixed(mean, distinct[axis], axis)
            own = tuple(slice(len(one)) for one in cells[::-1])  # padding along the edge stays air
            z, y, x = cells[::-1]
            found[which][along][own] = mean.take(z, 0).take(y, 1).take(x, 2)
    return found


def _segments(planes: np.ndarray, intervals: list[tuple[float, float]]) -> np.ndarray:
    """Return the lattice's ends and the ends of the intervals between them, m, sorted, each once."""
    ends = np.array([end for interval in intervals for end in interval])
    return np.unique([planes[0], *ends[(ends > planes[0]) & (ends < planes[-1])], planes[-1]])


def _shares(planes: np.ndarray, cuts: np.ndarray, *, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of segments in cells, (different, segments), and which are each cell's, (cells,).

    Cells are the primal ones (`half`) or the dual ones, halved at the ends. Neighbours with equal shares have one row.
    """
    bounds = planes if half else np.concatenate([planes[:1], (planes[1:] + planes[:-1]) / 2, planes[-1:]])
    low, high = np.maximum(bounds[:-1, None], cuts[:-1]), np.minimum(bounds[1:, None], cuts[1:])
    shares = np.maximum(high - low, 0.0) / np.diff(bounds)[:, None]
    changes = np.concatenate([[True], (shares[1:] != shares[:-1]).any(axis=1)])
    return shares[changes], np.cumsum(changes) - 1


def _mixed(values: np.ndarray, shares: np.ndarray, axis: int) -> np.ndarray:
    """Mean along one axis of boxes, (z, y, x), by the shares of its segments."""
    boxes = np.moveaxis(values, 2 - axis, 0)
    mean = sum(share[:, None, None] * box for share, box in zip(shares.T, boxes, strict=True))
    return np.moveaxis(np.asarray(mean), 0, 2 - axis)
