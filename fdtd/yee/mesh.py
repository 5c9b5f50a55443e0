"""The lattice of a scene: planes on flat surfaces, lines around the edges of sheets, growing cells in between.

The field at the edge of a thin sheet is singular: a sheet on a lattice acts as if it ended beyond its outermost line,
by a quarter of a cell or more, with its height (`fdtd.yee.edges.reach`). The two lines around an edge stand so that it
acts where it is.

References:
    Rennings, Otto & Waldow, openEMS mesh rules ("thirds rule"); Esselle, Okoniewski & Stuchly, IEEE MTT 47 (1999) 2051
    (edges of sheets on Yee lattices).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.constants import speed_of_light

from fdtd.errors import ConfigError, TooClose
from fdtd.yee.edges import (
    between_sheets,
    cell_in_gap,
    distinct,
    edges_of,
    ends_at,
    gap_of_port,
    last_line,
    mean_height,
)
from fdtd.yee.grid import FACES, Grid
from fdtd.yee.lines import Span, graded, largest_at
from fdtd.yee.scene import GuidePort, LumpedPort, Scene, Tube
from fdtd.yee.stairs import Pair, stairs

_DENSER = 5 / 3  # times as many cells a wavelength in a dielectric between two sheets, whose waves stand there
_GROWTH = 0.3  # largest share that a cell is larger than its neighbour by, where they can keep to it
_SMALLEST = 0.05  # of the cell asked for, at edges that are close together
_SLACK = 1e-4  # of lengths that a message gave in six digits
_THICKNESS = 3  # cells between two planes of metal or dielectric
_HIGHEST = 1.3  # times the cell at edges, cells between sheets: with finer edges these are finer too
_CLEAR = 2  # cells between the Huygens box and the layers
_BEHIND = 3  # cells between the Huygens box and the source of a guide
_ACROSS = 4  # cells across a guide, at least
_GAP = 2  # the same of the gap that a port fills
_ROOM = 0.7  # of a cell, from other lines to those that need not be there
_RIM = 0.5  # the same of the outside of a tube's last section: its wall counts, and thinner ones are sheets
_FINEST = 8  # times as many cells along a guide as asked for, to find even ones


@dataclass(frozen=True, kw_only=True)
class _Wishes:
    """What `layout` is asked for, lengths in m: cells at edges, wavelength at the highest frequency, margin.

    `between` is how many cells of an edge there are between two edges, at least; `across` how many times as many as
    usual there are where others decide than `cell`: see `layout`; `stairs` are neighbouring planes along x, y and z at
    slanted walls.
    """

    cell: float
    wavelength: float
    cells_per_wavelength: float
    margin: float
    between: float
    across: float
    stairs: tuple[list[Pair], list[Pair], list[Pair]]

    @property
    def growth(self) -> float:
        """Largest ratio of neighbouring cells: twice as many cells grow by half as much from one to the next."""
        return 1 + _GROWTH / self.across

    def spans(self, scene: Scene, axis: int) -> list[Span]:
        """Largest cells in the dielectrics and in air."""
        found = [Span(low=-math.inf, high=math.inf, cell=self.wavelength / self.cells_per_wavelength)]
        for block in scene.blocks:
            if block.material is not None:
                low, high = getattr(block, "xyz"[axis])
                cell = found[0].cell / math.sqrt(block.material.permittivity)
                found.append(Span(low=low, high=high, cell=cell))
                for low, high in between_sheets(block, scene.sheets, axis) if axis < 2 else ():
                    found.append(Span(low=low, high=high, cell=cell / _DENSER))
        for tube in scene.tubes:
            low, high = _ends_of_tube(tube, axis)
            found.append(Span(low=low, high=high, cell=self.cell))
        if isinstance(scene.port, GuidePort) and axis < 2:
            low, high = getattr(scene.port, "xy"[axis])
            across = _ACROSS / 2 if f"{'xy'[axis]}-" in scene.mirror_faces else _ACROSS
            found.append(Span(low=low, high=high, cell=(high - low) / (across * self.across)))
        return found


def layout(
    scene: Scene,
    frequencies: Sequence[float] | np.ndarray,
    *,
    cells_per_wavelength: float = 20.0,
    cell: float | None = None,
    margin: float | None = None,
    layers: int = 8,
    between: float = 3.0,
    across: float = 1.0,
) -> Grid:
    """Return a lattice for a scene.

    On a closed face the lattice ends where the scene does, and cuts tubes along the axis. On an open one a margin and
    the absorbing layers follow. Where the port is in a guide, the layers of z- follow five cells behind its source, and
    cells are even from there to the second plane of the port. Slanted walls of tubes get lines, see
    `fdtd.yee.stairs`.

    Args:
        scene: What stands in space.
        frequencies: Hz; the highest one decides the cells, the lowest one the margin.
        cells_per_wavelength: Cells a wavelength, at least, in each medium; 5 / 3 as many along a dielectric between
            two sheets.
        cell: Cells across the edges of sheets, and largest cells within the extent of tubes, m; default is half the
            thinnest dielectric, and at most the cells of the densest one. Between two sheets cells are at most 1.3
            times as high. Cells at edges are no larger than those of the media there.
        margin: From the scene to the layers, m; default is a fifth of the wavelength in air at the lowest frequency,
            and next to tubes at least three cells.
        layers: Cells of the absorbing layers.
        between: Cells of an edge between two edges, at least: edges closer than that get smaller cells than `cell`.
        across: Times as many cells as usual in layers (three), across guides (four) and gaps of ports (two), at least;
            cells grow the slower.

    Raises:
        ConfigError: The scene is empty, edges stand too close together for the cell, or source and planes of a port
            in a guide do not fit even cells.
    """
    low, high = float(np.min(frequencies)), float(np.max(frequencies))
    if not 0 < low <= high:
        raise ConfigError(f"frequencies = {low:g} to {high:g} Hz are not allowed (need > 0)")
    if not cells_per_wavelength >= 8:
        raise ConfigError(f"cells_per_wavelength = {cells_per_wavelength} is too coarse (needs >= 8); raise it")
    wavelength = speed_of_light / high
    cell = cell or _edge_cell(scene, wavelength / cells_per_wavelength)
    steps = [stairs(tube, min(cell, wavelength / cells_per_wavelength)) for tube in scene.tubes]
    wishes = _Wishes(
        cell=cell,
        wavelength=wavelength,
        cells_per_wavelength=cells_per_wavelength,
        margin=_margin(scene, speed_of_light / low / 5, wavelength / cells_per_wavelength)
        if margin is None
        else margin,
        between=between,
        across=across,
        stairs=tuple([pair for one in steps for pair in one[axis]] for axis in range(3)),  # type: ignore[arg-type]
    )
    upright = _upright(scene, wishes)
    planes = [_flat(scene, 0, wishes, upright), _flat(scene, 1, wishes, upright), upright]
    counts = tuple(layers if face in scene.open_faces else 0 for face in FACES)
    for axis in range(3):
        below, above = counts[2 * axis : 2 * axis + 2]
        planes[axis] = _with_layers(planes[axis], below, above)
    return Grid(
        x=planes[0],
        y=planes[1],
        z=planes[2],
        layers=counts,  # type: ignore[arg-type]
        magnetic=scene.magnetic_faces,
        mirrors=scene.mirror_faces,
    )


def _margin(scene: Scene, default: float, cell: float) -> float:
    """Return the distance to the layers, m: around a horn, whose cells are large everywhere, the box needs room."""
    return max(default, (_CLEAR + 1) * cell) if scene.tubes else default


def huygens_box(grid: Grid) -> tuple[tuple[int, int], ...]:
    """Return the first and last plane of the Huygens box along x, y and z; at a wall the wall itself."""
    found = []
    for axis, count in enumerate(grid.counts):
        below, above = grid.layers[2 * axis : 2 * axis + 2]
        found.append((below + _CLEAR if below else 0, count - above - _CLEAR if above else count))
    return tuple(found)


def check_inside(scene: Scene, grid: Grid) -> None:
    """Check that the Huygens box holds the whole scene, or its far field would miss what is outside.

    Metal may come through the face z- where the port is in a guide.

    Raises:
        ConfigError: Something reaches through an open face of the box.
    """
    box = huygens_box(grid)
    for axis, name in enumerate("xyz"):
        every = [end for thing in (*scene.blocks, *scene.sheets) for end in _pair(getattr(thing, name))]
        every += [end for tube in scene.tubes for end in _ends_of_tube(tube, axis)]
        for side, cells in enumerate(grid.layers[2 * axis : 2 * axis + 2]):
            limit = float(grid.planes[axis][box[axis][side]])
            ends = every
            if axis == 2 and side == 0 and isinstance(scene.port, GuidePort):
                ends = [block.z[0] for block in scene.blocks if block.material] + [one.z for one in scene.sheets]
            end = (max if side else min)(ends, default=limit)
            if cells and (end > limit if side else end < limit):
                raise ConfigError(
                    f"the scene reaches to {name} = {end:g} m, beyond the Huygens box at {limit:g} m: the far field "
                    "would miss a part; end it inside, widen the margin (pml_distance), or close that face"
                )


def _pair(value: float | tuple[float, float]) -> tuple[float, float]:
    return value if isinstance(value, tuple) else (value, value)


def _ends_of_tube(tube: Tube, axis: int) -> tuple[float, float]:
    """Lowest and highest place of a tube along an axis, its walls included, m."""
    if axis == 2:
        return tube.z[0], tube.z[-1]
    furthest = max((tube.x, tube.y)[axis]) + tube.wall
    return -furthest, furthest


def _edge_cell(scene: Scene, cell: float) -> float:
    """Half the thinnest dielectric, and at most the cells of the densest."""
    solid = [(block.z, block.material.permittivity) for block in scene.blocks if block.material is not None]
    if solid:
        thinnest, densest = min(high - low for (low, high), _ in solid), max(one for _, one in solid)
        return min(cell, thinnest / 2, cell / math.sqrt(densest))
    return cell


def _with_layers(planes: np.ndarray, below: int, above: int) -> np.ndarray:
    """Planes with layers as fine as the cells in front of them."""
    first, last = planes[1] - planes[0], planes[-1] - planes[-2]
    head = planes[0] - first * np.arange(below, 0, -1)
    return np.concatenate([head, planes, planes[-1] + last * np.arange(1, above + 1)])


def _ends(scene: Scene, axis: int) -> list[float]:
    """Finite ends of everything along an axis, m."""
    name = "xyz"[axis]
    found: list[float] = []
    for thing in (*scene.blocks, *scene.sheets):
        value = getattr(thing, name)
        found += value if isinstance(value, tuple) else (value,)
    for tube in scene.tubes:
        closed = [f"{name}{side}" not in scene.open_faces and axis < 2 for side in "-+"]  # planes of symmetry
        found += [0.0 if wall else end for wall, end in zip(closed, _ends_of_tube(tube, axis), strict=True)]
    if axis == 2:
        found += [place for tube in scene.tubes for place in tube.z]
    if isinstance(scene.port, LumpedPort):
        found += scene.port.span(name)
    if isinstance(scene.port, GuidePort) and axis < 2:
        found += getattr(scene.port, name)
    found = [one for one in found if math.isfinite(one)]
    if not found:
        raise ConfigError(f"the scene has no end along {name}; give a block, sheet or port one")
    return found


def _bounds(scene: Scene, axis: int, wishes: _Wishes) -> tuple[float, float]:
    """Ends of the lattice without layers, m."""
    found = _ends(scene, axis)
    low = min(found) - (wishes.margin if f"{'xyz'[axis]}-" in scene.open_faces else 0.0)
    high = max(found) + (wishes.margin if f"{'xyz'[axis]}+" in scene.open_faces else 0.0)
    return low, high


def _upright(scene: Scene, wishes: _Wishes) -> np.ndarray:
    """Planes along z: on every sheet, face and end of the port, and at least three cells between sheets and faces.

    Where everything is in one plane the cells next to it are those of its edges.
    """
    low, high = _bounds(scene, 2, wishes)
    spans, ends = _spans_upright(scene, wishes), [high, *_ends(scene, 2)]
    if isinstance(scene.port, GuidePort):  # the lattice begins behind its source, wherever the margin ends
        return _from_guide(scene.port, ends, spans, wishes)
    return _through([low, *ends], spans, wishes.stairs[2], wishes.growth, 1e-3 * wishes.cell)


def _spans_upright(scene: Scene, wishes: _Wishes) -> list[Span]:
    """Return the largest cells along z."""
    spans = wishes.spans(scene, 2)
    inner = distinct(_ends(scene, 2), 1e-3 * wishes.cell)
    faces, sheets = _faces(scene), {one.z for one in scene.sheets}
    for below, above in pairwise(inner):
        # a port with a pin on it is one edge, if cells allow
        count = _THICKNESS * wishes.across if {below, above} <= faces else 1
        highest = _HIGHEST * wishes.cell if {below, above} <= sheets else math.inf
        spans.append(Span(low=below, high=above, cell=min((above - below) / count, highest)))
    if len(inner) == 1:
        spans.append(Span(low=inner[0] - wishes.cell, high=inner[0] + wishes.cell, cell=wishes.cell))
    return spans


def _through(places: list[float], spans: list[Span], whole: list[Pair], growth: float, same: float) -> np.ndarray:
    """Return planes through places, m, those closer than `same` taken as one; pairs of `whole` stay one cell."""
    anchors = np.array(distinct([*places, *(end for pair in whole for end in pair)], same))
    kept = {tuple(float(anchors[np.abs(anchors - end).argmin()]) for end in pair) for pair in whole}
    return graded(anchors.tolist(), spans, growth, tuple(sorted(kept)))  # type: ignore[arg-type]


def _from_guide(port: GuidePort, ends: list[float], spans: list[Span], wishes: _Wishes) -> np.ndarray:
    """Return planes along z: even ones from behind the port's source to its second plane, then up to the last end.

    Raises:
        ConfigError: No even cells have planes on the port's three, or the cells beyond would be much smaller.
    """
    (near, far), lead = port.planes, port.planes[0] - port.source
    largest = min(span.cell for span in spans if span.low < far and span.high > port.source)
    fewest = math.ceil((far - near) / largest - 1e-6)
    for count in range(fewest, _FINEST * fewest + 1):
        cell = (far - near) / count
        if abs(lead / cell - round(lead / cell)) > 1e-6:
            continue
        beyond = [far, *(end for end in ends if end > far)]
        finer = [*spans, Span(low=-math.inf, high=far, cell=cell)]
        above = _through(beyond, finer, wishes.stairs[2], wishes.growth, 1e-3 * cell)
        if above[1] - above[0] > cell / wishes.growth:
            behind = round(lead / cell) + count + _BEHIND + _CLEAR
            return np.concatenate([far - cell * np.arange(behind, 0, -1), above])
    raise ConfigError(
        f"port.source = {port.source:g} m and port.planes = ({near:g}, {far:g}) m are on no even cells of at most "
        f"{largest:g} m; make the distances a ratio of small whole numbers, and keep other ends away from the planes"
    )


def _faces(scene: Scene) -> set[float]:
    """Ends along z of what is wide: sheets and blocks, not pins."""
    wide = [block for block in scene.blocks if block.x[0] < block.x[1] or block.y[0] < block.y[1]]
    return {sheet.z for sheet in scene.sheets} | {end for block in wide for end in block.z}


def _flat(scene: Scene, axis: int, wishes: _Wishes, upright: np.ndarray) -> np.ndarray:
    """Planes along x or y: around the edges of sheets, on the faces of blocks, through the port.

    Where a sheet acts as if it ended depends on the cells' height: `upright` are the planes along z.
    """
    low, high = _bounds(scene, axis, wishes)
    name = "xyz"[axis]
    spans = wishes.spans(scene, axis)
    faces = [end for block in scene.blocks if block.material is None for end in getattr(block, name)]
    same = 1e-3 * wishes.cell
    fed, in_gap = gap_of_port(scene, axis, same)
    faces += [end for end in fed if all(abs(end - edge[0]) > same for edge in in_gap)]
    if isinstance(scene.port, GuidePort):
        faces += getattr(scene.port, name)
    faces = [one for one in faces if low < one < high]
    hard = distinct([low, high, *faces], same)
    edges = edges_of(scene.sheets, axis, same)
    edges = [one for one in edges if all(abs(one[0] - edge[0]) > same for edge in in_gap)] + in_gap
    edges = [one for one in edges if low < one[0] < high and min(abs(one[0] - place) for place in hard) > same]
    pairs = [pair for pair in wishes.stairs[axis] if low <= pair[0] and pair[1] <= high]
    anchors = distinct([*hard, *(end for pair in pairs for end in pair)], 1e-6 * wishes.cell)
    places = _with_images([*hard, *(place for place, *_ in edges)], scene, axis, (low, high))
    media = list(spans)
    for edge in edges:
        place, side, z = edge
        near = min((other for other in places if other != place), key=lambda other: abs(other - place))
        gap = abs(near - place)
        ending = [one for one in scene.sheets if one.z == z and ends_at(one, axis, place, 2 * same)]
        height = mean_height(scene, upright, z, ending)
        cell = min(wishes.cell, gap / wishes.between)
        if edge in in_gap:
            cell, least = min(wishes.cell, largest_at(media, place)), math.ceil(_GAP * wishes.across)
            cell = cell_in_gap(fed[1] - fed[0], cell, least, len(in_gap), height, wishes.growth)
            beyond = (abs(place - one) for one in places if all(abs(one - end) > same for end in fed))
            cell = min(cell, min(beyond, default=math.inf) / wishes.between)
        if cell < _SMALLEST * wishes.cell * (1 - _SLACK):
            raise TooClose(
                f"edges {gap:g} m apart near {name} = {place:g} m are too close for cell = {wishes.cell:g} m; "
                f"lower cell to {gap / wishes.between / _SMALLEST:g} m or move them",
                axis=axis,
                places=(place, near),
                cells=_SMALLEST * wishes.between,
            )
        cell = min(cell, largest_at(media, place))
        if side == 0:
            anchors.append(place)
            spans.append(Span(low=place - cell, high=place + cell, cell=cell))
            continue
        inside = last_line(cell, height, wishes.growth)
        last = place + side * inside  # the sheet's last line
        pair = (last, last + cell) if side < 0 else (last - cell, last)
        pairs.append(pair)
        anchors += pair
        spans.append(Span(low=pair[0] - cell, high=pair[1] + cell, cell=cell))
    drawn = [block for block in scene.blocks if block.material is not None and block.lines]
    soft = [end for block in drawn for end in getattr(block, name)]
    rims: list[float] = []
    for tube in scene.tubes:
        insides = (tube.x, tube.y)[axis]
        soft += [side * half for half in insides for side in (-1, 1)]
        rims += [side * (insides[-1] + tube.wall) for side in (-1, 1)]
    if isinstance(scene.port, LumpedPort):
        span = scene.port.span(name)
        soft = [*(span if span[0] == span[1] else ()), *soft]
        gap = (span[1] - span[0]) / (_GAP * wishes.across)
        cell = min(wishes.cell, gap) if fed and not in_gap else wishes.cell
        spans.append(Span(low=span[0], high=span[1], cell=cell))
    for place in (*soft, *rims):  # where there is room; media are averaged, and ports take the nearest line
        near = min((abs(place - one) for one in anchors), default=math.inf)
        cell = wishes.cell if scene.tubes else min(wishes.cell, largest_at(media, place))
        if low < place < high and near > (_RIM if place in rims else _ROOM) * cell:
            anchors.append(place)
    return _through(anchors, spans, pairs, wishes.growth, 1e-9 * wishes.cell)


def _with_images(places: list[float], scene: Scene, axis: int, ends: tuple[float, float]) -> list[float]:
    """Return places with their images in walls that are symmetry planes; there is nothing in such a plane itself."""
    found = list(places)
    for end, side in zip(ends, "-+", strict=True):
        if f"{'xyz'[axis]}{side}" in (*scene.magnetic_faces, *scene.mirror_faces):
            found = [one for one in found if one != end]
            found += [2 * end - one for one in found]
    return found
