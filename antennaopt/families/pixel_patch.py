"""A grid of metal pixels on a grounded substrate, fed by a probe or by a line at its edge.

The grid is centred on the axis, its columns run along x and its rows along y; E of the feed is along x. Row 0 is the
one of the largest y, so that the list in a file reads as the board seen from above. The ground is z = 0.

Two pixels never meet in a corner alone: current through a point has no meaning on a lattice, and no board is made so.
Where it would happen, the air pixel of the two next to the corner that is nearer to the centre, in pixels along x and y
together, becomes metal, all such places at once, until none is left. So a mirrored grid stays mirrored, and the order
of the places does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from antennaopt.families.family import Designs, Family
from antennaopt.families.narrow import GAP, Narrow
from antennaopt.families.parameters import Parameter, choice, entries, length
from antennaopt.families.patch import closed_form
from antennaopt.families.spatial import Board, Measure, Port, Rectangle, Sheet, Spatial
from antennaopt.families.substrates import (
    LINE,
    NARROW_ON_SUBSTRATES,
    OFFSET,
    RADIUS,
    RESISTANCE,
    SUBSTRATE,
    cylinders,
    each,
    face_of,
    grounded,
    line_fault,
    measures_of,
    measures_of_line,
    probe_fault,
    size_faults,
)

PROBE, EDGE = 0, 1
NONE, ACROSS, BOTH = 0, 1, 2
_MOST = 40
"""Rows or columns."""


def _whole(name: str, about: str) -> Parameter:
    return Parameter(name=name, about=about, example="6", kind="integer", lowest=2, highest=_MOST)


METAL = Parameter(
    name="pixels.metal",
    about="1 for metal, 0 for air, a list row by row, the row of the largest y first; one number for all pixels.",
    example="1",
    kind="integer",
    lowest=0,
    highest=1,
    many=True,
)
MIRROR = choice(
    "pixels.mirror",
    "Symmetry of the metal: about the plane y = 0, of `both` about x = 0 too; the list then has the upper half of the "
    "rows, and of `both` the left half of each.",
    "none",
    "y",
    "both",
)
PIXELS = (
    length("pixels.length", "Length of the grid along x.", example='"18 mm"'),
    length("pixels.width", "Width of the grid along y.", example='"18 mm"'),
    _whole("pixels.columns", "Pixels along x."),
    _whole("pixels.rows", "Pixels along y."),
    replace(MIRROR, example='"y"'),
    METAL,
)
KIND = replace(choice("feed.kind", "How it is fed.", "probe", "edge"), example='"probe"')


def counts_of(design: Mapping[str, float]) -> tuple[int, int]:
    """Return rows and columns that the list of a design has."""
    rows, columns = round(design["pixels.rows"]), round(design["pixels.columns"])
    mirror = round(design.get("pixels.mirror", NONE))
    return (rows if mirror == NONE else -(-rows // 2)), (columns if mirror != BOTH else -(-columns // 2))


def metal_of(design: Mapping[str, float]) -> np.ndarray:
    """Return where a design has metal, (rows, columns), row 0 at the largest y: mirrored, fed, and without corners."""
    rows, columns = round(design["pixels.rows"]), round(design["pixels.columns"])
    listed, across = counts_of(design)
    names = list(entries(design, "pixels.metal"))
    given = [design[name] for name in names] if names else [design["pixels.metal"]] * (listed * across)
    metal = np.round(np.array(given)).astype(bool).reshape(listed, across)
    mirror = round(design.get("pixels.mirror", NONE))
    if mirror != NONE:
        metal = np.concatenate([metal, metal[: rows // 2][::-1]])
    fed = _fed(design)
    if mirror == BOTH:
        metal = np.concatenate([metal, metal[:, : columns // 2][:, ::-1]], axis=1)
        fed = fed | fed[:, ::-1]
    return without_corners(metal | fed)


def _fed(design: Mapping[str, float]) -> np.ndarray:
    """Return the pixels that the feed touches, (rows, columns), which are metal whatever the list says."""
    x, y = _planes(design)
    slack = 1e-9 * design["pixels.length"]
    if round(design.get("feed.kind", PROBE)) == PROBE:
        at, half = design["feed.offset"], slack
        columns = (x[:-1] - slack <= at) & (at <= x[1:] + slack)
    else:
        half = design["feed.line_width"] / 2 - slack
        columns = np.arange(len(x) - 1) == 0
    rows = (y[1:] < half) & (-half < y[:-1])
    return rows[:, None] & columns[None]


def _planes(design: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of pixels: x from low to high, y from high to low."""
    long, wide = design["pixels.length"], design["pixels.width"]
    x = long * (np.arange(round(design["pixels.columns"]) + 1) / round(design["pixels.columns"]) - 0.5)
    y = wide * (0.5 - np.arange(round(design["pixels.rows"]) + 1) / round(design["pixels.rows"]))
    return x, y


def without_corners(metal: np.ndarray) -> np.ndarray:
    """Return a grid in which no two pixels of metal meet in a corner alone; see the module.

    Args:
        metal: Where there is metal, (rows, columns).
    """
    metal = metal.copy()
    rows, columns = metal.shape
    place = np.indices(metal.shape)
    down, along = (np.abs(2 * one - (count - 1)) for one, count in zip(place, (rows, columns), strict=True))
    far = (down + along) * (rows + columns) + down  # nearer to the centre first, then to the plane y = 0
    while True:
        first, second = metal[:-1, :-1], metal[:-1, 1:]
        third, fourth = metal[1:, :-1], metal[1:, 1:]
        falling = first & fourth & ~second & ~third
        rising = second & third & ~first & ~fourth
        if not (falling | rising).any():
            return metal
        added = np.zeros_like(metal)
        for touching, one, other in ((falling, (0, 1), (1, 0)), (rising, (0, 0), (1, 1))):
            for row, column in np.argwhere(touching):
                near, beyond = ((row + a, column + b) for a, b in (one, other))
                added[near if far[near] <= far[beyond] else beyond] = True
        metal |= added


def _rectangles(design: Mapping[str, float]) -> tuple[Rectangle, ...]:
    """Return the metal as few rectangles: runs along x, joined over rows where they are equal."""
    x, y = _planes(design)
    metal = metal_of(design)
    open_runs: dict[tuple[int, int], int] = {}
    found: list[tuple[int, int, int, int]] = []
    for row in range(len(y)):
        runs = _runs(metal[row]) if row < len(metal) else []
        for run in [one for one in open_runs if one not in runs]:
            found.append((*run, open_runs.pop(run), row))
        for run in runs:
            open_runs.setdefault(run, row)
    return tuple(
        Rectangle(x=(float(x[low]), float(x[high])), y=(float(y[bottom]), float(y[top])))
        for low, high, top, bottom in sorted(found, key=lambda one: (one[2], one[0]))
    )


def _runs(row: np.ndarray) -> list[tuple[int, int]]:
    """Return first and last edge of each run of metal."""
    changes = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(int), [0]])))
    return [(int(low), int(high)) for low, high in changes.reshape(-1, 2)]


def _board(design: Mapping[str, float]) -> Board:
    """Return sheets, slab and port of one design."""
    long, wide, height = design["pixels.length"], design["pixels.width"], design["substrate.thickness"]
    probe = round(design.get("feed.kind", PROBE)) == PROBE
    reach = 0.0 if probe else design["feed.line_length"]
    face = face_of(design, Rectangle(x=(-long / 2 - reach, long / 2), y=(-wide / 2, wide / 2)))
    ground, slab = grounded(design, face)
    width = 0.0 if probe else design["feed.line_width"]
    line = () if probe else (Rectangle(x=(-long / 2 - reach, -long / 2), y=(-width / 2, width / 2)),)
    return Board(
        sheets=(ground, Sheet(name="pixels", z=height, rectangles=(*_rectangles(design), *line))),
        slabs=(slab,),
        port=Port(
            x=design["feed.offset"] if probe else -long / 2 - reach,
            y=0.0,
            z=(0.0, height),
            resistance=design["feed.resistance"],
            width=width,
            what="probe" if probe else "line",
            radius=design.get("feed.radius", 0.0),
        ),
        measures=_measures(design, face),
        symmetric=round(design.get("pixels.mirror", NONE)) != NONE,
    )


def _measures(design: Mapping[str, float], face: Rectangle) -> tuple[Measure, ...]:
    long, wide = design["pixels.length"], design["pixels.width"]
    across, along = long / design["pixels.columns"], wide / design["pixels.rows"]
    left, low, right = -long / 2, -wide / 2, long / 2
    feed = (
        (Measure(name="feed.offset", start=(0.0, 0.0), stop=(design["feed.offset"], 0.0)),)
        if round(design.get("feed.kind", PROBE)) == PROBE
        else measures_of_line(design, left)
    )
    return (
        Measure(name="a pixel's length", start=(left, low), stop=(left + across, low)),
        Measure(name="a pixel's width", start=(right, low), stop=(right, low + along)),
        Measure(name="pixels.length", start=(left, low), stop=(right, low)),
        Measure(name="pixels.width", start=(right, low), stop=(right, wide / 2)),
        *measures_of(design, face),
        *feed,
    )


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return radius and height of the cylinder about the axis that holds each board."""
    radii = []
    for design in each(designs):
        plain = {name: value for name, value in design.items() if not name.startswith("pixels.metal")}
        radii.append(_board({**plain, "pixels.metal": 1.0}))
    return cylinders(radii)


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    given, (rows, columns) = sum(1 for _ in entries(design, "pixels.metal")), counts_of(design)
    if given and given != rows * columns:
        half = "" if round(design.get("pixels.mirror", NONE)) == NONE else " (of the part that is not mirrored)"
        yield (
            f"pixels.metal has {given} entries, but {rows} rows of {columns} pixels{half} are {rows * columns}; "
            f"write {rows * columns}, or change rows, columns or mirror"
        )
        return
    probe = round(design.get("feed.kind", PROBE)) == PROBE
    long, wide = design["pixels.length"], design["pixels.width"]
    yield from size_faults(design, (long, wide), 0.0 if probe else design["feed.line_length"])
    off = probe_fault(design, "grid", "pixels") if probe else line_fault(design, "grid", "pixels.width")
    if off is not None:
        yield off


def _start(design: Mapping[str, float], frequency: float) -> dict[str, float]:
    """Return the pixels that a patch by the transmission-line model covers with their middle, and its feed."""
    made = closed_form(design, frequency)
    long, wide = made["patch.length"], made["patch.width"]
    sized = {"pixels.length": long, "pixels.width": wide, **design}
    x, y = _planes(sized)
    rows, columns = counts_of(sized)
    inside = (np.abs(y[1:] + y[:-1])[:rows, None] < wide) & (np.abs(x[1:] + x[:-1])[None, :columns] < long)
    found = {f"pixels.metal.{place}": float(one) for place, one in enumerate(inside.ravel())}
    feeds = {name: value for name, value in made.items() if name.startswith("feed.")}
    return {**found, **feeds, "pixels.length": long, "pixels.width": wide}


def _variant(feed: Sequence[Parameter]) -> Family:
    return Family(
        name="pixel_patch",
        title="A grid of metal pixels on a grounded substrate, fed by a probe or by a line at its edge.",
        parameters=(*SUBSTRATE, *PIXELS, KIND, *feed, RESISTANCE),
        size=_size,
        faults=_faults,
        spatial=Spatial(
            board=_board,
            start=_start,
            author="balanis",
            fixed=("pixels.columns", "pixels.rows", "pixels.mirror"),
            narrow=(
                Narrow(entry="pixels.length", cells=GAP, parts="pixels.columns"),
                Narrow(entry="pixels.width", cells=GAP, parts="pixels.rows"),
                *NARROW_ON_SUBSTRATES,
            ),
        ),
        varies_by="feed.kind",
    )


_VARIANTS = (_variant((OFFSET, RADIUS)), _variant(LINE))

FAMILY = replace(_VARIANTS[PROBE], variants=_VARIANTS)
