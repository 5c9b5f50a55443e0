"""The tables `[[antenna.body]]`: polygons of a section, in the file itself, a CSV or a DXF."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antennaopt.experiment.fields import MISSING, Bounds, EntryError, below, check_keys
from antennaopt.families import Body
from antennaopt.families.sections import MOST_POINTS, SectionError, cleaned
from antennaopt.families.shapes import CHORD_ERROR
from antennaopt.machine import read_regular

MOST_BODIES = 200
_COORDINATE = Bounds(lowest=-1000.0, highest=1000.0)
_SHAPES = ("points", "profile")
_MATERIALS = ("permittivity", "loss_tangent")
_LARGEST_TURN = math.radians(5.0)  # of an arc between two points: no edge of metal


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Bodies of a file.

    Attributes:
        bodies: In the file's order; one entry per polygon of a drawing.
        materials: Material of each body, as the file gives it: `permittivity`, `loss_tangent`.
        profiles: Text of each file that was read, by its name.
    """

    bodies: tuple[Body, ...]
    materials: tuple[Mapping[str, Any], ...]
    profiles: Mapping[str, str]


def read_bodies(data: Any, folder: Path, *, si: bool) -> Drawn:
    """Read `[[antenna.body]]`.

    Args:
        data: The tables.
        folder: Where paths of profiles begin.
        si: Bare numbers are SI already: the file is a resolved one.

    Raises:
        EntryError: The first fault, below `antenna`.
    """
    if not isinstance(data, (list, tuple)) or not 1 <= len(data) <= MOST_BODIES:
        text = f"must be 1 to {MOST_BODIES} tables; write [[antenna.body]] above each"
        raise EntryError(text, path=("body",), value=data)
    bodies: list[Body] = []
    materials: list[Mapping[str, Any]] = []
    profiles: dict[str, str] = {}
    for place, table in enumerate(data):
        with below("body", place):
            metal, polygons = _body(table, folder, profiles, si=si)
            bodies += [Body(points=points, metal=metal) for points in polygons]
            materials += [{key: table[key] for key in _MATERIALS if key in table}] * len(polygons)
    if len(bodies) > MOST_BODIES:
        text = f"holds {len(bodies)} polygons in all (at most {MOST_BODIES}); use fewer"
        raise EntryError(text, path=("body",), value=MISSING)
    return Drawn(bodies=tuple(bodies), materials=tuple(materials), profiles=profiles)


def _body(table: Any, folder: Path, profiles: dict[str, str], *, si: bool) -> tuple[bool, list[tuple]]:
    """Return whether a body is metal, and its polygons."""
    if not isinstance(table, Mapping):
        raise EntryError("is not a table; write its keys below [[antenna.body]]", value=table)
    check_keys(table, ["material", *_MATERIALS, *_SHAPES, "layer"])
    metal = "material" in table
    if metal and table["material"] != "metal":
        text = 'is not "metal"; write a dielectric as permittivity = 2.53 in place of material'
        raise EntryError(text, path=("material",), value=table["material"])
    if metal == ("permittivity" in table):
        raise EntryError('needs one of material = "metal" and permittivity = 2.53', value=MISSING)
    if metal and "loss_tangent" in table:
        raise EntryError("goes with permittivity; metal is perfect", path=("loss_tangent",), value=MISSING)
    if ("points" in table) == ("profile" in table):
        raise EntryError('needs one of points = [["0 mm", "0 mm"], ...] and profile = "FILE.csv"', value=MISSING)
    if "layer" in table and not str(table.get("profile", "")).lower().endswith(".dxf"):
        raise EntryError("goes with a profile that is a DXF file; remove it", path=("layer",), value=table["layer"])
    if "points" in table:
        with below("points"):
            return metal, [_polygon(_points(table["points"], si=si))]
    with below("profile"):
        read = _profile(table["profile"], table.get("layer"), folder, profiles)
        return metal, [_polygon(points, read_from=str(table["profile"])) for points in read]


def _points(data: Any, *, si: bool) -> list[tuple[float, float]]:
    if not isinstance(data, (list, tuple)) or not 3 <= len(data) <= MOST_POINTS + 1:
        raise EntryError(f'must be a list of 3 to {MOST_POINTS} points ["r", "z"]', value=data)
    return [_point(place, point, si=si) for place, point in enumerate(data)]


def _point(place: int, point: Any, *, si: bool) -> tuple[float, float]:
    with below(place):
        if not isinstance(point, (list, tuple)) or len(point) != 2:
            raise EntryError('must be a point ["r", "z"], for example ["4 mm", "-3.3 mm"]', value=point)
        r, z = (_COORDINATE.read(one, si=si) for one in point)
        return r, z


def _polygon(points: Sequence[tuple[float, float]], read_from: str = "") -> tuple[tuple[float, float], ...]:
    """Check a polygon; a fault names its point, counted from 0."""
    try:
        return tuple((float(r), float(z)) for r, z in cleaned(points))
    except SectionError as error:
        if read_from:
            point = "" if error.point is None else f"point {error.point} "
            raise EntryError(f"{point}{error}", value=read_from) from None
        path = () if error.point is None else (error.point,)
        raise EntryError(str(error), path=path, value=MISSING) from None


def _profile(name: Any, layer: Any, folder: Path, profiles: dict[str, str]) -> list[list[tuple[float, float]]]:
    """Read the polygons of a file."""
    if not isinstance(name, str) or Path(name).suffix.lower() not in (".csv", ".dxf"):
        raise EntryError("must name a .csv or .dxf file", value=name)
    try:
        text = read_regular(folder / name).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise EntryError("is not UTF-8 text; save it as text (DXF: not as binary DXF)", value=name) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise EntryError(f"cannot be read from {folder} ({reason}); check the path", value=name) from None
    profiles[Path(name).name] = text
    if name.lower().endswith(".csv"):
        return [list(_rows(text, name))]
    if not isinstance(layer, str):
        raise EntryError('is a DXF file, which needs layer = "..." next to it', value=name)
    return list(_polylines(text, name, layer))


def _rows(text: str, name: str) -> Iterator[tuple[float, float]]:
    """Read a CSV with the header `r,z`, in millimetres."""
    rows = csv.reader(io.StringIO(text))
    header = [cell.strip() for cell in next(rows, [])]
    if header != ["r", "z"]:
        raise EntryError('must begin with the line "r,z" (millimetres follow, a point a line)', value=name)
    for number, row in enumerate(rows, start=2):
        if not row:
            continue
        try:
            r, z = (float(cell) for cell in row)
        except ValueError:
            raise EntryError(
                f"line {number} is not two numbers, r,z in mm: {','.join(row)[:40]!r}", value=name
            ) from None
        if not (math.isfinite(r) and math.isfinite(z)):
            raise EntryError(f"line {number} is not finite: {','.join(row)[:40]!r}", value=name)
        yield round(r * 1e-3, 15), round(z * 1e-3, 15)


def _polylines(text: str, name: str, layer: str) -> Iterator[list[tuple[float, float]]]:
    """Read the closed polylines of a layer of a DXF drawing: x is z, y is r; bulges become arcs of segments."""
    import ezdxf
    from ezdxf import units
    from ezdxf.entities.lwpolyline import LWPolyline
    from ezdxf.entities.polyline import Polyline
    from ezdxf.enums import InsertUnits

    try:
        drawing = ezdxf.read(io.StringIO(text))  # type: ignore[attr-defined]
        unit = drawing.units
    except (ezdxf.DXFError, ValueError, KeyError, IndexError, TypeError) as error:  # type: ignore[attr-defined]
        raise EntryError(f"is not a DXF drawing that can be read ({error})", value=name) from None
    if unit == InsertUnits.Unitless:
        raise EntryError("has no unit ($INSUNITS is 0); save it in millimetres", value=name)
    metre = units.conversion_factor(InsertUnits(unit), InsertUnits.Meters)
    space = drawing.modelspace()
    every = [one for one in space if isinstance(one, LWPolyline | Polyline)]
    layers = sorted({str(one.dxf.layer) for one in every})
    closed = [one for one in every if one.is_closed and one.dxf.layer.lower() == layer.lower()]
    if not closed:
        known = ", ".join(layers) or "none"
        raise EntryError(f"has no closed polyline in layer {layer!r} (layers with polylines: {known})", value=name)
    for entity in closed:
        # A line's end is the next one's start, so that points do not stand twice.
        if isinstance(entity, LWPolyline):
            raw = entity.get_points("xyb")
        else:
            raw = [(*vertex.dxf.location.vec2, vertex.dxf.get("bulge", 0.0)) for vertex in entity.vertices]
        ends = [*raw[1:], raw[0]]
        flat = [
            point for start, end in zip(raw, ends, strict=True) for point in _arc(start[:2], end[:2], start[2], metre)
        ]
        points = [(round(y * metre, 15), round(x * metre, 15)) for x, y in flat]
        yield [one for at, one in enumerate(points) if at == 0 or one != points[at - 1]]


def _arc(start: Sequence[float], end: Sequence[float], bulge: float, metre: float) -> Iterator[tuple[float, float]]:
    """Yield points from the start of a polyline's segment up to its end, which is left out; bulge: tan(angle / 4)."""
    yield start[0], start[1]
    if abs(bulge) < 1e-9 or tuple(start) == tuple(end):
        return
    from ezdxf.math import Vec2, bulge_center, bulge_radius

    centre, radius = bulge_center(Vec2(start), Vec2(end), bulge), bulge_radius(Vec2(start), Vec2(end), bulge)
    first, turn = math.atan2(start[1] - centre.y, start[0] - centre.x), 4.0 * math.atan(bulge)
    most = min(2.0 * math.acos(max(1.0 - CHORD_ERROR / (radius * metre), 0.0)), _LARGEST_TURN)
    pieces = math.ceil(abs(turn) / most)
    for piece in range(1, pieces):
        angle = first + turn * piece / pieces
        yield centre.x + radius * math.cos(angle), centre.y + radius * math.sin(angle)
