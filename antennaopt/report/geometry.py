"""Geometry for other programs: the section as CSV, solids of revolution as STL and STEP. Files are in millimetres."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.errors import ConfigurationError
from antennaopt.families.sections import SectionError, cleaned
from antennaopt.families.shapes import Outline
from antennaopt.families.spatial import Board, Sheet, Tube
from antennaopt.report.data_files import csv_text
from antennaopt.store.files import write_atomically, write_text

if TYPE_CHECKING:
    from shapely import MultiPolygon, Polygon
    from trimesh import Trimesh

MM = 1e3
STL_CHORD_MM = 0.01
"""Largest distance from a round surface to the facets of an STL file, mm."""
_GRID_MM = 1e-4  # corners of solids are moved to multiples of it; float32 holds them up to a metre
_PICOMETRE = 9  # decimals of a millimetre


def bodies(outline: Outline) -> dict[str, np.ndarray]:
    """Return the section's polygons (corners, 2), m, by name: `feed`, `metal_1`, ..., `dielectric_1`, ..."""
    feed, *metal = outline.conductors
    found = {"feed": feed} | {f"metal_{number}": one for number, one in enumerate(metal, start=1)}
    return found | {f"dielectric_{number}": one.corners for number, one in enumerate(outline.dielectrics, start=1)}


def drawn(name: str, corners: np.ndarray, named: str) -> np.ndarray:
    """Return a polygon in mm, rounded to a picometre, as the family `outline` reads it.

    Args:
        name: Of the body.
        corners: (corners, 2), m.
        named: How a message names the file: `--dxf horn.dxf`.

    Raises:
        ConfigurationError: The family `outline` would refuse it.
    """
    try:
        return np.round(cleaned(corners.tolist()) * MM, _PICOMETRE)
    except SectionError as error:
        point = "" if error.point is None else f"point {error.point} "
        raise ConfigurationError(f"{named}: the section of {name} cannot be drawn: {point}{error}") from None


def profiles(path: Path, outline: Outline) -> dict[Path, np.ndarray]:
    """Return the polygon, mm, of each file that `--profile` writes: the file itself for a single body.

    Of several bodies each has a file of its own, with the body's name before the ending: `lens_dielectric_1.csv`.

    Raises:
        ConfigurationError: There is no body but the feed, or one cannot be drawn, or the ending is not .csv.
    """
    named = f"--profile {path}"
    if path.suffix.lower() != ".csv":
        raise ConfigurationError(f"{named} has no known ending; use .csv, which the family outline reads")
    found = {name: drawn(name, corners, named) for name, corners in bodies(outline).items() if name != "feed"}
    if not found:
        raise ConfigurationError(
            f"{named}: the antenna is its feed alone, without a body to draw; use --dxf for a feed"
        )
    if len(found) == 1:
        return dict(zip([path], found.values(), strict=True))
    return {suffixed(path, name): corners for name, corners in found.items()}


def write_profiles(path: Path, outline: Outline) -> list[Path]:
    """Write a CSV file `r,z` in mm for each body but the feed, and return the files; see `profiles`."""
    found = profiles(path, outline)
    for file, corners in found.items():
        write_text(file, csv_text([("r", "z"), *corners.tolist()]))
    return list(found)


def regions(outline: Outline, named: str) -> dict[str, MultiPolygon]:
    """Return what each material fills, mm: `metal` united, `dielectric_1`, ... without what covers them.

    Metal replaces dielectric, and a later dielectric replaces an earlier one, as in the solver. A dielectric that is
    covered entirely is left out.

    Args:
        outline: The section.
        named: How a message names the file.

    Raises:
        ConfigurationError: A section cannot be drawn.
    """
    from shapely import Polygon, union_all

    parts = {name: Polygon(drawn(name, corners, named)) for name, corners in bodies(outline).items()}
    taken = union_all([one for name, one in parts.items() if not name.startswith("dielectric")], grid_size=_GRID_MM)
    found = {"metal": _solid_parts(taken)}
    for name, part in reversed([item for item in parts.items() if item[0].startswith("dielectric")]):
        found[name] = _solid_parts(part.difference(taken, grid_size=_GRID_MM))
        taken = union_all([taken, part], grid_size=_GRID_MM)
    order = ["metal", *(name for name in parts if name.startswith("dielectric"))]
    return {name: found[name] for name in order if not found[name].is_empty}


def _solid_parts(shape: Any) -> MultiPolygon:
    """Return the polygons of a shape, their outsides counterclockwise; slivers of rounding are left out."""
    from shapely import MultiPolygon, get_parts, orient_polygons

    polygons = [one for one in get_parts(shape) if one.geom_type == "Polygon" and one.area > _GRID_MM * one.length]
    return MultiPolygon([orient_polygons(one) for one in polygons])


def solid_files(path: Path, names: Iterator[str] | list[str]) -> dict[str, Path]:
    """Return the STL file of each region: the metal is in the file itself, `horn_dielectric_1.stl` is next to it."""
    return {name: path if name == "metal" else suffixed(path, name) for name in names}


def suffixed(path: Path, name: str) -> Path:
    """Return a file next to another: `horn.stl` and `metal` give `horn_metal.stl`."""
    return path.with_name(f"{path.stem}_{name}{path.suffix}")


def segments(radius_mm: float) -> int:
    """Return into how many parts a circle is divided: a multiple of 4, so that both planes cut through corners."""
    turn = 2.0 * math.acos(max(1.0 - STL_CHORD_MM / radius_mm, 0.0))
    return max(4 * math.ceil(2.0 * math.pi / turn / 4), 32)


def meshes(path: Path, outline: Outline) -> dict[Path, Trimesh]:
    """Return a watertight mesh, mm, for each file that `--stl` writes.

    Corners lie on the surfaces; facets are inside by `STL_CHORD_MM` at most.

    Raises:
        ConfigurationError: The ending is not .stl, a section cannot be drawn, or bodies of one material meet in a line.
    """
    named = f"--stl {path}"
    if path.suffix.lower() != ".stl":
        raise ConfigurationError(f"{named} has no known ending; use .stl")
    found = regions(outline, named)
    files = solid_files(path, list(found))
    return {files[name]: _revolved(name, shape, named) for name, shape in found.items()}


def _revolved(name: str, shape: MultiPolygon, named: str) -> Trimesh:
    from trimesh import Trimesh
    from trimesh.creation import revolve
    from trimesh.util import concatenate

    around = segments(shape.bounds[2])
    shells: Any = concatenate([revolve(ring, sections=around) for one in shape.geoms for ring in rings_of(one)])
    mesh = Trimesh(vertices=shells.vertices.astype(np.float32), faces=shells.faces)  # as the file holds them
    if not mesh.is_volume:
        raise ConfigurationError(
            f"{named}: parts of {name} meet in a line, which is no solid; let them overlap, or move them apart by 1 um"
        )
    return mesh


def rings_of(polygon: Polygon) -> Iterator[np.ndarray]:
    """Yield the corners (count, 2) of a polygon's edge, then those of its holes; the first corner is the last too."""
    for ring in (polygon.exterior, *polygon.interiors):
        yield np.array(ring.coords)


def write_stl(path: Path, outline: Outline) -> list[Path]:
    """Write binary STL files, mm, and return them; see `meshes`."""
    return _write_meshes(meshes(path, outline))


def _write_meshes(found: Mapping[Path, Trimesh]) -> list[Path]:
    for file, mesh in found.items():
        data: Any = mesh.export(file_type="stl")
        write_atomically(file, lambda target, data=data: target.write(data))
    return list(found)


SHEET_MM = 0.035
"""Thickness that a sheet of metal has in STL and STEP files, away from the substrate: that of usual copper."""


def metal_of_sheet(sheet: Sheet) -> MultiPolygon:
    """Return the metal of a sheet from above, mm: its rectangles united, a polygon for each connected part."""
    from shapely import box, union_all

    corners = (np.array([one.x[0], one.y[0], one.x[1], one.y[1]]) * MM for one in sheet.rectangles)
    return _solid_parts(union_all([box(*np.round(one, _PICOMETRE).tolist()) for one in corners], grid_size=_GRID_MM))


def bottom_of_sheet(sheet: Sheet, board: Board) -> float:
    """Return the height, mm, of the lower face of a sheet that has the thickness `SHEET_MM`: see `board_meshes`."""
    return sheet.z * MM - (SHEET_MM if sheet.name == "ground" or sheet in board.below else 0.0)


def outlines_of_sheet(sheet: Sheet) -> list[tuple[np.ndarray, bool]]:
    """Return the outlines of a sheet, mm, (corners, 2) each, and whether each is that of a hole; the largest first.

    The rectangles are united. An outline lies inside a larger one or apart from it.
    """
    from shapely import Polygon

    rings = [(ring, place > 0) for one in metal_of_sheet(sheet).geoms for place, ring in enumerate(rings_of(one))]
    rings.sort(key=lambda item: -Polygon(item[0]).area)
    return [(ring[:-1], hole) for ring, hole in rings]


def board_meshes(path: Path, board: Board) -> dict[Path, Trimesh]:
    """Return a watertight mesh, mm, for each file that `--stl` writes of a board: all metal, and each slab.

    Sheets are `SHEET_MM` thick: the ground and a line below it are below their planes, the others above theirs. So a
    ground with a line below it reaches into the substrate. Tubes have their own walls. The port is left out.

    Raises:
        ConfigurationError: The ending is not .stl.
    """
    from trimesh.creation import box, cylinder
    from trimesh.util import concatenate

    if path.suffix.lower() != ".stl":
        raise ConfigurationError(f"--stl {path} has no known ending; use .stl")
    metal: list[Any] = []
    for sheet in board.sheets:
        bottom = bottom_of_sheet(sheet, board)
        metal.append(_plate(sheet, bottom, bottom + SHEET_MM))
    metal += [_tube(tube) for tube in board.tubes]
    found: dict[str, Any] = {"metal": concatenate(metal)}
    for number, slab in enumerate(board.slabs, start=1):
        spans = (slab.face.x, slab.face.y, slab.z)
        bounds = [[low * MM for low, _ in spans], [high * MM for _, high in spans]]
        found[f"dielectric_{number}"] = box(bounds=bounds)
    for number, rod in enumerate(board.rods, start=len(board.slabs) + 1):
        solid = cylinder(rod.radius * MM, (rod.z[1] - rod.z[0]) * MM, sections=segments(rod.radius * MM))
        found[f"dielectric_{number}"] = solid.apply_translation([0.0, 0.0, sum(rod.z) / 2 * MM])
    files = solid_files(path, list(found))
    return {files[name]: mesh for name, mesh in found.items()}


def _tube(tube: Tube) -> Trimesh:
    """Return a tube's walls, mm: rings of four corners, outside from the first section to the last, and back inside."""
    from trimesh import Trimesh

    halves = np.array([tube.x, tube.y]).T * MM
    heights = np.array(tube.z) * MM
    rings = np.concatenate([halves + tube.wall * MM, halves[::-1]])
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    count = len(rings)
    points = np.empty((count, 4, 3))
    points[..., :2] = rings[:, None] * corners
    points[..., 2] = np.concatenate([heights, heights[::-1]])[:, None]
    here = np.arange(4 * count).reshape(count, 4)
    up, beside = np.roll(here, -1, axis=0), np.roll(here, -1, axis=1)
    across = np.roll(up, -1, axis=1)
    faces = np.concatenate(
        [np.stack(one, axis=-1).reshape(-1, 3) for one in ((here, beside, across), (here, across, up))]
    )
    return Trimesh(points.reshape(-1, 3), faces, process=False)


def _plate(sheet: Sheet, bottom: float, top: float) -> Trimesh:
    """Return a sheet with thickness, mm: closed, with every edge of its rectangles on edges of facets."""
    from trimesh import Trimesh

    ends = [[np.round(np.array(getattr(one, axis)) * MM, _PICOMETRE) for one in sheet.rectangles] for axis in "xy"]
    x, y = (np.unique(np.concatenate(one)) for one in ends)
    middle = (x[:-1] + x[1:])[:, None] / 2, (y[:-1] + y[1:])[None] / 2
    inside = np.zeros((len(x) + 1, len(y) + 1), dtype=bool)  # with a border of cells outside
    for across, along in zip(*ends, strict=True):
        within = (across[0] < middle[0]) & (middle[0] < across[1]) & (along[0] < middle[1]) & (middle[1] < along[1])
        inside[1:-1, 1:-1] |= within
    corners = np.array([(one, other, z) for z in (bottom, top) for one in x for other in y])

    def corner(i: int, j: int, up: int) -> int:
        return (up * len(x) + i) * len(y) + j

    quads = []
    for i, j in np.argwhere(inside[1:-1, 1:-1]).tolist():
        around = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
        quads.append([corner(*one, 1) for one in around])
        quads.append([corner(*one, 0) for one in reversed(around)])
        neighbours = [(i + 1, j), (i + 2, j + 1), (i + 1, j + 2), (i, j + 1)]  # below, right, above, left
        for place, beyond in enumerate(neighbours):
            if not inside[beyond]:
                start, stop = around[place], around[(place + 1) % 4]
                quads.append([corner(*start, 0), corner(*stop, 0), corner(*stop, 1), corner(*start, 1)])
    faces = [[quad[0], *two] for quad in quads for two in (quad[1:3], quad[2:4])]
    return Trimesh(vertices=corners, faces=faces)


def write_board_stl(path: Path, board: Board) -> list[Path]:
    """Write binary STL files of a board, mm, and return them; see `board_meshes`."""
    return _write_meshes(board_meshes(path, board))


STEP_PACKAGE = "pip install 'antennaopt[step]'"


def check_step(path: Path) -> None:
    """Refuse a STEP file that cannot be written.

    Raises:
        ConfigurationError: build123d is not installed, or the ending is not .step or .stp.
    """
    from importlib.util import find_spec

    if path.suffix.lower() not in (".step", ".stp"):
        raise ConfigurationError(f"--step {path} has no known ending; use one of .step, .stp")
    if find_spec("build123d") is None:
        raise ConfigurationError(f"--step {path} needs build123d, which is not installed; {STEP_PACKAGE}")


def write_step(path: Path, outline: Outline, *, title: str = "") -> Path:
    """Write an assembly of exact solids of revolution as STEP AP214, mm: `metal`, `dielectric_1`, ...

    Args:
        path: Target.
        outline: The section; each of its edges becomes a plane, cylinder or cone.
        title: Name of the assembly.

    Raises:
        ConfigurationError: See `check_step`; or a section cannot be drawn.
    """
    check_step(path)
    import build123d as cad  # pyright: ignore[reportMissingImports]

    def wire(ring: np.ndarray) -> Any:
        return cad.Wire.make_polygon([cad.Vector(r, 0.0, z) for r, z in ring[:-1].tolist()], close=True)

    solids = []
    for name, shape in regions(outline, f"--step {path}").items():
        for number, one in enumerate(shape.geoms, start=1):
            outside, *holes = map(wire, rings_of(one))
            solid = cad.Solid.revolve(cad.Face(outside, holes), 360.0, cad.Axis.Z)
            solid.label = name if len(shape.geoms) == 1 else f"{name}_part_{number}"
            solids.append(solid)
    buffer = io.BytesIO()
    cad.export_step(cad.Compound(label=title or path.stem, children=solids), buffer)
    write_atomically(path, lambda target: target.write(buffer.getvalue()))
    return path
