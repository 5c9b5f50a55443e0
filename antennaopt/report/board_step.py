"""Boards as STEP: exact solids in mm, each with a name and a colour, of the same shape as in STL files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from antennaopt.families.spatial import Board, Cylinder, Slab, Tube
from antennaopt.report.geometry import MM, SHEET_MM, bottom_of_sheet, check_step, metal_of_sheet, rings_of
from antennaopt.store.files import write_atomically

_METAL = (0.80, 0.50, 0.25)
"""Colour of copper: red, green, blue."""
_DIELECTRICS = ((0.55, 0.75, 0.55), (0.90, 0.88, 0.80), (0.62, 0.72, 0.86))
"""Colours of dielectrics, one after another."""


def write_board_step(path: Path, board: Board, *, title: str = "") -> Path:
    """Write a board as an assembly of exact solids, STEP AP214, mm.

    Solids have the shapes of `board_meshes`. A solid of metal is named `metal_ground`, after its sheet or tube; parts
    that do not touch are `metal_pixels_part_1`, ... Dielectrics are `dielectric_1, permittivity 2.2, loss tangent
    0.0009`, ... in the order of the STL files.

    Args:
        path: Target.
        board: Sheets, tubes, slabs and rods; the port is left out.
        title: Name of the assembly.

    Raises:
        ConfigurationError: See `check_step`.
    """
    check_step(path)
    import build123d as cad  # pyright: ignore[reportMissingImports]

    solids = []
    metal = [*_metal(cad, board)]
    dielectrics = [_dielectric(cad, one) for one in (*board.slabs, *board.rods)]
    for name, solid in metal:
        solid.label, solid.color = name, cad.Color(*_METAL)
        solids.append(solid)
    for number, (material, solid) in enumerate(dielectrics, start=1):
        solid.label = f"dielectric_{number}, {material}"
        solid.color = cad.Color(*_DIELECTRICS[(number - 1) % len(_DIELECTRICS)])
        solids.append(solid)
    buffer = io.BytesIO()
    cad.export_step(cad.Compound(label=title or path.stem, children=solids), buffer)
    write_atomically(path, lambda target: target.write(buffer.getvalue()))
    return path


def _metal(cad: Any, board: Board) -> Iterator[tuple[str, Any]]:
    """Yield name and solid of each connected part of each sheet and of each tube."""
    for sheet in board.sheets:
        bottom = bottom_of_sheet(sheet, board)
        parts = metal_of_sheet(sheet).geoms
        for number, part in enumerate(parts, start=1):
            outside, *holes = (_wire(cad, ring[:-1], bottom) for ring in rings_of(part))
            solid = cad.Solid.extrude(cad.Face(outside, holes), cad.Vector(0.0, 0.0, SHEET_MM))
            yield f"metal_{sheet.name}" + (f"_part_{number}" if len(parts) > 1 else ""), solid
    for tube in board.tubes:
        yield f"metal_{tube.name}", _tube(cad, tube)


def _dielectric(cad: Any, body: Slab | Cylinder) -> tuple[str, Any]:
    """Return a dielectric's material and solid."""
    bottom, top = (end * MM for end in body.z)
    if isinstance(body, Cylinder):
        solid = cad.Solid.make_cylinder(body.radius * MM, top - bottom, cad.Plane((0.0, 0.0, bottom)))
    else:
        (left, right), (low, high) = ((start * MM, stop * MM) for start, stop in (body.face.x, body.face.y))
        solid = cad.Solid.make_box(right - left, high - low, top - bottom, cad.Plane((left, low, bottom)))
    return f"permittivity {body.permittivity:.6g}, loss tangent {body.loss_tangent:.6g}", solid


def _tube(cad: Any, tube: Tube) -> Any:
    """Return a tube's walls: four planes between two sections, outside and inside, and a frame at both ends."""
    halves = np.array([tube.x, tube.y]).T * MM
    turns = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    heights = [z * MM for z in tube.z]
    inner, outer = ([half * turns for half in one] for one in (halves, halves + tube.wall * MM))
    faces = [cad.Face(_wire(cad, outer[end], heights[end]), [_wire(cad, inner[end], heights[end])]) for end in (0, -1)]
    for rings in (inner, outer):
        for place in range(len(heights) - 1):
            for side in range(4):
                here, there = ([rings[level][side], rings[level][side - 1]] for level in (place, place + 1))
                corners = [(*point, heights[place]) for point in here]
                corners += [(*point, heights[place + 1]) for point in reversed(there)]
                faces.append(cad.Face(cad.Wire.make_polygon([cad.Vector(*one) for one in corners], close=True)))
    return cad.Solid(cad.Shell(faces))


def _wire(cad: Any, corners: np.ndarray, height: float) -> Any:
    """Return a closed polygon through corners (count, 2), mm, in a plane of constant z."""
    return cad.Wire.make_polygon([cad.Vector(x, y, height) for x, y in corners.tolist()], close=True)
