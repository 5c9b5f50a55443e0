"""Limits of making: check an antenna's section against the limits of a workshop or a printer, before solving.

The section is looked at whole, both halves, with metal united and dielectrics cut as the solver fills them. The closed
end of the feed, which stands for a guide that goes on, is left open.

- A gap is narrower than `slot` where the metal grown by half of that, and then shrunk by it with its corners kept,
  fills it (a closing). Metal is thinner than `wall` or `tooth` where the reverse, an opening, removes it. Both leave
  corners alone, however sharp they are.
- A tool of `tool_radius` does not reach what the metal, grown by it and shrunk by it with round corners, fills.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from shapely import MultiPolygon, Polygon

    from antennaopt.families.shapes import Outline

_MM = 1e3
_GRID = 1e-4  # mm; corners of sections are moved to multiples of it
_CHORD = 5e-4  # mm; curves are looked at with chords that are so near to their corners
_SHARPEST = 20.0  # mitre limit: corners of less than 6 degrees are cut off and count as thin
_SLACK = 1e-3  # of a limit: what is narrower by less counts as right
_DEPTH = 0.02  # of a tool's radius: what it leaves uncut by less is the facet of a curve
_BISECTIONS = 14
_BISECTIONS_OF_A_CORNER = 8  # each costs as much as looking at the whole section
_SAME_AREA = 1e-4  # over the square of a width: a tenth of the smallest part that counts


@dataclass(frozen=True, kw_only=True)
class Making:
    """What can be made; None where there is no limit.

    Attributes:
        slot: Narrowest gap between walls of metal, m.
        tooth: Thinnest metal along the axis, m: teeth of corrugations, flanges, rims of plates.
        wall: Thinnest metal across the axis, and thinnest dielectric, m.
        tool_radius: Smallest radius of an inner corner of metal, m.
        overhang: Largest angle of an underside from the axis, degrees, of each part printed with its axis upright.
        monotone: Whether the bore of a horn may not narrow towards the aperture.
    """

    slot: float | None = None
    tooth: float | None = None
    wall: float | None = None
    tool_radius: float | None = None
    overhang: float | None = None
    monotone: bool = False

    @classmethod
    def of(cls, data: Mapping[str, Any] | None) -> Making | None:
        """Return what `to_dict` wrote; None of None."""
        return None if data is None else cls(**{one.name: data[one.name] for one in fields(cls) if one.name in data})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def fault(self, outline: Outline) -> str | None:
        """Return the first limit that a section breaks, with the place and the number; None of a sound one."""
        return next(self._faults(outline), None)

    def _faults(self, outline: Outline) -> Iterator[str]:
        if self.monotone:
            yield from _narrowing(outline)
        if not any((self.slot, self.tooth, self.wall, self.tool_radius, self.overhang is not None)):
            return
        metal, taken = _metal(outline)
        dielectrics = _dielectrics(outline, taken) if self.wall is not None or self.overhang is not None else []
        if self.slot is not None:
            for part in _broken(metal, self.slot * _MM, _filled):
                yield self._line("slot", f"a gap of {_length(part.width)}", part)
        thinnest = max(self.tooth or 0.0, self.wall or 0.0) * _MM
        if thinnest:
            yield from self._thin(metal, thinnest)
        if self.wall is not None:
            for number, body in enumerate(dielectrics, start=1):
                for part in _broken(body, self.wall * _MM, _removed):
                    yield self._line("wall", f"dielectric {number} is {_length(part.width)} thick", part)
        if self.tool_radius is not None:
            for part in _broken(metal, self.tool_radius * _MM, _unreached):
                sharp = part.width < 0.1 * self.tool_radius * _MM
                what = "a sharp inner corner" if sharp else f"an inner corner of radius {_length(part.width)}"
                yield self._line("tool_radius", what, part)
        if self.overhang is not None:
            for name, body in (("metal", metal), *((f"dielectric {n}", one) for n, one in enumerate(dielectrics, 1))):
                place, angle = _steepest(body)
                if angle > self.overhang + 1e-6:
                    text = f"the underside of {name} {_where(place)} has {angle:.3g} deg"
                    yield f"limits.overhang = {self.overhang:g} deg: {text}"

    def _thin(self, metal: MultiPolygon, thinnest: float) -> Iterator[str]:
        """Thin metal; along which direction it is thin decides between tooth and wall."""
        for part in _broken(metal, thinnest, _removed):
            across, along = _spans(metal, part.middle)
            name, what = ("tooth", "a tooth") if along < across else ("wall", "a wall")
            limit = self.tooth if name == "tooth" else self.wall
            if limit is not None and part.width < limit * _MM * (1 - _SLACK):
                yield self._line(name, f"{what} of {_length(part.width)}", part)

    def _line(self, name: str, what: str, part: _Narrow) -> str:
        return f"limits.{name} = {getattr(self, name) * _MM:.4g} mm: {what} {_where(part.place)}"


@dataclass(frozen=True, kw_only=True)
class _Narrow:
    """A part of a section that is too narrow: its smallest width, where that is, and a point in its middle, mm."""

    width: float
    place: tuple[float, float]
    middle: tuple[float, float]


_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def same_fault(error: str) -> str:
    """Return what errors of one reason have in common: of a broken limit which one; else the text without numbers."""
    return error.partition(":")[0] if error.startswith("limits.") else _NUMBER.sub("#", error)


def _length(mm: float) -> str:
    return f"{mm:.3g} mm"


def _where(place: tuple[float, float]) -> str:
    return f"at r = {abs(place[0]):.4g} mm, z = {place[1]:.4g} mm"


def _metal(outline: Outline) -> tuple[MultiPolygon, Any]:
    """Return the metal of a whole section, mm, x = r on both sides of the axis: its parts, and what they cover."""
    from shapely import union_all

    feed, *others = outline.conductors
    taken = union_all([_feed(_open_feed(feed).tobytes()), *map(_whole, others)], grid_size=_GRID)
    return _parts(taken), taken


@lru_cache(maxsize=16)
def _feed(corners: bytes) -> Any:
    """Return the feed's tube, which most designs of a population share."""
    return _whole(np.frombuffer(corners).reshape(-1, 2))


def _dielectrics(outline: Outline, taken: Any) -> list[MultiPolygon]:
    """Return the dielectrics of a whole section as the solver fills them: without metal, later ones first.

    Args:
        outline: The section.
        taken: What the metal covers.
    """
    from shapely import union_all

    dielectrics = []
    for solid in reversed(outline.dielectrics):
        body = _whole(solid.corners)
        dielectrics.append(_parts(body.difference(taken, grid_size=_GRID)))
        taken = union_all([taken, body], grid_size=_GRID)
    return [one for one in reversed(dielectrics) if not one.is_empty]


def _whole(corners: np.ndarray) -> Any:
    """Return a body with its mirror image."""
    from shapely import union_all
    from shapely.affinity import scale

    half = _simple(corners)
    return union_all([half.buffer(0), scale(half, xfact=-1.0, origin=(0.0, 0.0)).buffer(0)], grid_size=_GRID)


def _simple(corners: np.ndarray) -> Any:
    """Return a polygon in mm, without the corners of curves that are hardly any."""
    from shapely import Polygon

    return Polygon(corners * _MM).simplify(_CHORD, preserve_topology=False)


def _open_feed(tube: np.ndarray) -> np.ndarray:
    """Return the feed without its back wall."""
    inner, outer, back = tube[tube[:, 0] > 0, 0].min(), tube[:, 0].max(), tube[:, 1].min()
    return np.array([(inner, back), (outer, back), (outer, 0.0), (inner, 0.0)])


def _parts(shape: Any) -> MultiPolygon:
    from shapely import MultiPolygon, get_parts

    polygons = [one for one in get_parts(shape) if one.geom_type == "Polygon" and one.area > _GRID * one.length]
    return MultiPolygon(polygons)


def _filled(shape: Any, width: float) -> Any:
    """Gaps of a shape narrower than a width."""
    mitred = {"join_style": "mitre", "mitre_limit": _SHARPEST}
    closed = shape.buffer(width / 2, **mitred).buffer(-width / 2, **mitred)
    return _left(closed, shape, width)


def _removed(shape: Any, width: float) -> Any:
    """Parts of a shape thinner than a width."""
    mitred = {"join_style": "mitre", "mitre_limit": _SHARPEST}
    return _left(shape, shape.buffer(-width / 2, **mitred).buffer(width / 2, **mitred), width)


def _unreached(shape: Any, radius: float) -> Any:
    """What a tool of a radius cannot cut out of a shape's surroundings; gaps narrower than it are not counted."""
    mitred = {"join_style": "mitre", "mitre_limit": _SHARPEST}
    reached = shape.buffer(radius, quad_segs=32).buffer(-radius, quad_segs=32)
    left = _left(reached, shape, radius)
    if left.is_empty:
        return left
    corners = shape.buffer(radius, **mitred).buffer(-radius, **mitred)
    return left.difference(corners).buffer(-_DEPTH * radius / 2)


def _left(larger: Any, smaller: Any, width: float) -> Any:
    """Return what a shape has more than another; nothing where their areas are the same, which most are.

    Differences of shapes that all but coincide take longer than all the rest.
    """
    from shapely import Polygon

    return Polygon() if abs(larger.area - smaller.area) < _SAME_AREA * width**2 else larger.difference(smaller)


def _broken(shape: Any, limit: float, residue: Callable[[Any, float], Any]) -> Iterator[_Narrow]:
    """Yield each part of a shape, on the side r >= 0, that is narrower than a limit, mm.

    A step that is less deep than half of the width is no part: growing a short edge between two corners may lose it.

    Args:
        shape: The section.
        limit: Smallest width that is right.
        residue: What is narrower than a width.
    """
    from shapely import maximum_inscribed_circle

    least = limit * (1 - _SLACK)
    for part in _worth(residue(shape, least), least):
        point = part.representative_point()
        if point.x < 0:
            continue  # its mirror image
        nearby = shape.intersection(part.envelope.buffer(3 * least))
        low, high = 0.0, least
        for _ in range(_BISECTIONS_OF_A_CORNER if residue is _unreached else _BISECTIONS):
            middle = (low + high) / 2
            found = any(one.intersects(part) for one in _worth(residue(nearby, middle), middle))
            low, high = (low, middle) if found else (middle, high)
        worst = next((one for one in _worth(residue(nearby, high), high) if one.intersects(part)), part)
        if residue is not _unreached and 2 * maximum_inscribed_circle(part).length < high / 2:
            continue
        place = worst.representative_point()
        yield _Narrow(width=high, place=(abs(place.x), place.y), middle=(point.x, point.y))


def _worth(residue: Any, width: float) -> Iterator[Polygon]:
    """Yield the parts of a residue that are no rounding."""
    from shapely import get_parts

    for part in get_parts(residue):
        if part.geom_type == "Polygon" and part.area > 1e-3 * width**2 + 10 * _GRID * part.length:
            yield part


def _spans(shape: Any, place: tuple[float, float]) -> tuple[float, float]:
    """Return how far a shape reaches through a place across the axis and along it, mm."""
    from shapely import LineString, Point, get_parts

    point, far = Point(place), 1e4
    lines = LineString([(-far, place[1]), (far, place[1])]), LineString([(place[0], -far), (place[0], far)])
    spans = []
    for line in lines:
        hit = [one for one in get_parts(shape.intersection(line)) if one.distance(point) < 10 * _GRID]
        spans.append(max((one.length for one in hit), default=0.0))
    return spans[0], spans[1]


def _steepest(shape: Any) -> tuple[tuple[float, float], float]:
    """Return the place and the angle from the axis, degrees, of the worst underside, the better end down."""
    return min((_underside(shape, way) for way in (1.0, -1.0)), key=lambda found: found[1])


def _underside(shape: Any, way: float) -> tuple[tuple[float, float], float]:
    """Return the worst underside of a shape that is printed towards z (way 1) or against it (-1)."""
    from shapely import get_parts, orient_polygons

    worst, place = 0.0, (0.0, 0.0)
    low, high = shape.bounds[1], shape.bounds[3]
    bed = low if way > 0 else high
    for polygon in get_parts(orient_polygons(shape)):
        for ring in (polygon.exterior, *polygon.interiors):
            corners = np.array(ring.coords)
            step = np.diff(corners, axis=0)
            middle = corners[:-1] + step / 2
            # Material is on the left of each edge, so its outward normal is (dz, -dr).
            angle = np.degrees(np.arctan2(np.abs(step[:, 0]), np.abs(step[:, 1])))
            down = -step[:, 0] * way < -_GRID
            on_bed = (np.abs(corners[:-1, 1] - bed) < 10 * _GRID) & (np.abs(corners[1:, 1] - bed) < 10 * _GRID)
            angle = np.where(down & ~on_bed & (middle[:, 0] >= 0), angle, 0.0)
            at = int(angle.argmax())
            if angle[at] > worst:
                worst, place = float(angle[at]), (float(middle[at, 0]), float(middle[at, 1]))
    return place, worst


def _narrowing(outline: Outline) -> Iterator[str]:
    """Yield the first place in front of the feed where the bore narrows."""
    metal = [np.array(_simple(one).exterior.coords) for one in outline.conductors[1:]]
    if not metal:
        return
    start, stop = (np.concatenate(ends) for ends in ([one[:-1] for one in metal], [one[1:] for one in metal]))
    levels = np.unique(np.concatenate([start[:, 1] - _GRID, start[:, 1] + _GRID]))
    levels = levels[levels > 0.0]
    low, high = np.minimum(start[:, 1], stop[:, 1]), np.maximum(start[:, 1], stop[:, 1])
    hit = (low[None] <= levels[:, None]) & (levels[:, None] < high[None])
    run = np.where(high > low, stop[:, 1] - start[:, 1], 1.0)
    r = start[:, 0] + (levels[:, None] - start[:, 1]) / run * (stop[:, 0] - start[:, 0])
    bore = np.where(hit, r, np.inf).min(axis=1)
    levels, bore = levels[np.isfinite(bore)], bore[np.isfinite(bore)]
    if not len(bore):
        return
    widest = np.maximum.accumulate(bore)
    narrow = np.nonzero(bore < widest - 20 * _GRID)[0]
    if len(narrow):
        at = int(narrow[0])
        text = f"the bore narrows to {_length(bore[at])} from {_length(widest[at])} before it"
        yield f"limits.monotone: {text} {_where((bore[at], levels[at]))}"
