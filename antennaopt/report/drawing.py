"""The section of an antenna as a dimensioned DXF drawing, in millimetres: x is z, y is r."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from antennaopt.errors import ConfigurationError
from antennaopt.families.sections import area, thinnest
from antennaopt.families.shapes import Outline
from antennaopt.report.geometry import MM, bodies, drawn
from antennaopt.store.files import write_text
from antennaopt.terminal import visible

if TYPE_CHECKING:
    from ezdxf.document import Drawing

Kind = Literal["diameter", "length", "wall"]
_MOST_DETAILED = 6
"""Bodies that are dimensioned one by one; of more, the drawing has the feed's and the overall dimensions."""
TEXT_SIZE = 0.03
"""Height of a drawing's text over the larger extent of the section."""
_METAL, _DIELECTRICS, _THIN = 8, (5, 4, 6, 3), 9  # AutoCAD colour numbers


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A dimension of the drawing.

    Attributes:
        kind: What it measures.
        start: First point (z, r), mm; r < 0 on the mirrored side.
        stop: Second point.
    """

    kind: Kind
    start: tuple[float, float]
    stop: tuple[float, float]

    @property
    def value(self) -> float:
        """Distance, mm."""
        return float(np.hypot(self.stop[0] - self.start[0], self.stop[1] - self.start[1]))


def measures(sections: Mapping[str, np.ndarray]) -> list[Measure]:
    """Return the dimensions of a section: none twice.

    Of everything, the largest diameter, the length, and how far it reaches to both sides of the feed's aperture z = 0.
    Of metal, the diameters of its front face and its smallest wall; of a dielectric, its largest diameter.

    Args:
        sections: Polygons (corners, 2), mm, by name.
    """
    corners = np.concatenate(list(sections.values()))
    (_, low), (_, high) = corners.min(axis=0), corners.max(axis=0)
    found = [_diameter(corners), _length(corners, low, 0.0), _length(corners, 0.0, high), _length(corners, low, high)]
    detailed = len(sections) <= _MOST_DETAILED
    for name, one in sections.items():
        if name.startswith("dielectric"):
            found += [_diameter(one)] if detailed else []
        elif detailed or name == "feed":
            face = one[one[:, 1] >= one[:, 1].max() - 1e-6]
            found += [_diameter(face[[place]]) for place in (face[:, 0].argmin(), face[:, 0].argmax())]
            found += _wall(one)
    different = {
        (one.kind, round(one.value, 6), None if one.kind == "diameter" else round(one.start[0], 6)): one
        for one in found
        if one.value > 1e-6
    }
    return list(different.values())


def placed(found: Iterable[Measure], corners: np.ndarray, size: float) -> list[tuple[Measure, float]]:
    """Return dimensions, the shortest first, with where each one's line is.

    Lengths are stacked below the section, at an r; diameters at both its ends, at a z; a wall's place is not used.

    Args:
        found: Of `measures`.
        corners: Of the whole section, mm, (corners, 2).
        size: Height of text, mm.
    """
    (_, low), (reach, high) = corners.min(axis=0), corners.max(axis=0)
    levels, done = {"length": -reach, "front": high, "back": low}, []
    for one in sorted(found, key=lambda measure: measure.value):
        end, way = ("front", 1.0) if 2.0 * one.start[0] >= low + high else ("back", -1.0)
        end, way = ("length", -1.0) if one.kind == "length" else (end, way)
        levels[end] += 0.0 if one.kind == "wall" else way * 3.0 * size
        done.append((one, float(levels[end])))
    return done


def _diameter(corners: np.ndarray) -> Measure:
    """Measure at the corner furthest from the axis."""
    r, z = (float(one) for one in corners[corners[:, 0].argmax()])
    return Measure(kind="diameter", start=(z, -r), stop=(z, r))


def _length(corners: np.ndarray, low: float, high: float) -> Measure:
    """Measure from z to z, below everything."""
    below = -float(corners[:, 0].max())
    return Measure(kind="length", start=(float(low), below), stop=(float(max(low, high)), below))


def _wall(polygon: np.ndarray) -> list[Measure]:
    """Measure the thinnest wall across."""
    thickness, (r, z) = thinnest(polygon / MM)
    if not np.isfinite(thickness):
        return []
    place, way = np.array([r, z]) * MM, 1.0 if area(polygon) > 0 else -1.0
    step = np.roll(polygon, -1, axis=0) - polygon
    along = np.clip(((place - polygon) * step).sum(axis=1) / (step**2).sum(axis=1), 0.0, 1.0)
    edge = step[np.hypot(*(place - polygon - along[:, None] * step).T).argmin()]
    inwards = way * np.array([-edge[1], edge[0]]) / np.hypot(*edge)
    end = place + inwards * thickness * MM
    return [Measure(kind="wall", start=(float(place[1]), float(place[0])), stop=(float(end[1]), float(end[0])))]


def check_dxf(path: Path, outline: Outline) -> dict[str, np.ndarray]:
    """Return the polygons of a drawing, mm, by layer.

    Raises:
        ConfigurationError: The ending is not .dxf, or a section cannot be drawn.
    """
    named = f"--dxf {path}"
    if path.suffix.lower() != ".dxf":
        raise ConfigurationError(f"{named} has no known ending; use .dxf")
    return {name: drawn(name, corners, named) for name, corners in bodies(outline).items()}


def write_dxf(path: Path, outline: Outline, *, title: str = "") -> Path:
    """Write the section: a layer a body, the other half in `mirrored`, and `axis`, `dimensions`.

    Each body is a closed polyline of the half r >= 0, which the family `outline` reads with the layer's name.

    Args:
        path: Target.
        outline: The section.
        title: Written above the drawing.

    Returns:
        The file written.

    Raises:
        ConfigurationError: See `check_dxf`.
        StorageError: It cannot be written.
    """
    import ezdxf
    from ezdxf.enums import InsertUnits

    sections = check_dxf(path, outline)
    drawing = ezdxf.new("R2010", setup=True, units=int(InsertUnits.Millimeters))  # type: ignore[attr-defined]
    space = drawing.modelspace()
    colours = iter(_DIELECTRICS * len(sections))
    for name, corners in sections.items():
        metal = not name.startswith("dielectric")
        layer = drawing.layers.add(name, color=_METAL if metal else next(colours))
        layer.description = "metal" if metal else _material(outline, int(name.rpartition("_")[2]))
        space.add_lwpolyline(corners[:, ::-1].tolist(), close=True, dxfattribs={"layer": name})
    _add_mirrored(drawing, sections.values())
    _add_dimensions(drawing, measures(sections), np.concatenate(list(sections.values())), title)
    buffer = io.StringIO()
    drawing.write(buffer)
    write_text(path, buffer.getvalue())
    return path


def _material(outline: Outline, number: int) -> str:
    solid = outline.dielectrics[number - 1]
    return f"permittivity {solid.permittivity:.6g}, loss tangent {solid.loss_tangent:.6g}"


def _add_mirrored(drawing: Drawing, sections: Iterable[np.ndarray]) -> None:
    """Draw the other half as thin open lines, and the axis."""
    space = drawing.modelspace()
    drawing.layers.add("mirrored", color=_THIN)
    drawing.layers.add("axis", color=1, linetype="CENTER")
    low, high = np.inf, -np.inf
    for corners in sections:
        edge = np.concatenate([corners, corners[:1]]) * (-1.0, 1.0)
        for start, stop in pairwise(edge):
            if start[0] or stop[0]:  # not on the axis
                space.add_line(start[::-1].tolist(), stop[::-1].tolist(), dxfattribs={"layer": "mirrored"})
        low, high = min(low, corners[:, 1].min()), max(high, corners[:, 1].max())
    over = 0.05 * (high - low)
    line = space.add_line((low - over, 0.0), (high + over, 0.0), dxfattribs={"layer": "axis"})
    line.dxf.ltscale = (high - low) / 50.0


def _add_dimensions(drawing: Drawing, found: list[Measure], corners: np.ndarray, title: str) -> None:
    """Draw the dimensions and the title."""
    space = drawing.modelspace()
    drawing.layers.add("dimensions", color=7)
    (_, low), (high_r, high) = corners.min(axis=0), corners.max(axis=0)
    size = TEXT_SIZE * max(high - low, 2.0 * high_r)
    style = {
        "dimtxt": size,
        "dimasz": 0.8 * size,
        "dimexe": 0.5 * size,
        "dimexo": 0.3 * size,
        "dimgap": 0.3 * size,
        "dimlfac": 1.0,
        "dimscale": 1.0,
        "dimdec": 3,
        "dimzin": 8,
        "dimtad": 1,
        "dimtih": 0,
    }
    shared: dict[str, Any] = {"dimstyle": "EZDXF", "override": style, "dxfattribs": {"layer": "dimensions"}}
    for one, place in placed(found, corners, size):
        if one.kind == "wall":
            space.add_aligned_dim(one.start, one.stop, distance=2.0 * size, **shared).render()
        elif one.kind == "length":
            space.add_linear_dim((0.0, place), one.start, one.stop, **shared).render()
        else:
            space.add_linear_dim((place, 0.0), one.start, one.stop, angle=90, text="%%c<>", **shared).render()
    if title:
        text = space.add_text(visible(title), height=1.2 * size, dxfattribs={"layer": "dimensions"})
        text.set_placement((low, high_r + 6.0 * size))
