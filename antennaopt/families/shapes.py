"""Sections r >= 0 of antennas as polygons: bodies of a file, solids, outlines, the feed's tube, smooth curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

CHORD_ERROR = 1e-7
"""Largest distance from a curved surface to the polygon's chords, m."""

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Body:
    """A body of revolution whose section stands in the antenna file.

    Attributes:
        points: Corners (r, z), m, not closed by a repeated one.
        metal: Perfect metal; else a dielectric, whose permittivity and loss tangent are the design's.
    """

    points: tuple[Point, ...]
    metal: bool

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Body:
        """Return what `to_dict` wrote."""
        return cls(points=tuple((float(r), float(z)) for r, z in data["points"]), metal=bool(data["metal"]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"metal": self.metal, "points": [list(point) for point in self.points]}


@dataclass(frozen=True, kw_only=True)
class Solid:
    """A dielectric's section.

    Attributes:
        corners: (r, z), m, not closed by a repeated corner, (corners, 2).
        permittivity: Relative.
        loss_tangent: At the design frequency.
        fills_feed: Whether it is what fills the feed, which its parameters say.
    """

    corners: np.ndarray
    permittivity: float
    loss_tangent: float = 0.0
    fills_feed: bool = False

    @classmethod
    def of(cls, design: Mapping[str, float], table: str, corners: np.ndarray) -> Solid:
        """Return a section of the material that a table of a design gives."""
        return cls(
            corners=corners,
            permittivity=design[f"{table}.permittivity"],
            loss_tangent=design.get(f"{table}.loss_tangent", 0.0),
        )


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The section r >= 0 of one antenna.

    Attributes:
        conductors: Polygons (r, z), m, not closed by a repeated corner, each (corners, 2), the feed first; their union.
        dielectrics: Dielectric bodies; where two overlap the later one counts, and metal counts before both.
        aperture: Diameter of a dish, m; None of antennas whose bodies tell it.
    """

    conductors: tuple[np.ndarray, ...]
    dielectrics: tuple[Solid, ...] = ()
    aperture: float | None = None

    @classmethod
    def on_feed(cls, design: Mapping[str, float], table: str, dielectric: np.ndarray) -> Outline:
        """Return the feed with a dielectric whose material a table of the design gives."""
        return cls(conductors=(feed_outline(design),), dielectrics=(Solid.of(design, table, dielectric),))


def polygon(*corners: Point) -> np.ndarray:
    """Corners (r, z) as an array (corners, 2)."""
    return np.array(corners, dtype=float)


def feed_outline(design: Mapping[str, float]) -> np.ndarray:
    """The feed's tube and its back wall in one piece, open at z = 0."""
    inner, outer, length = (design[f"feed.{name}"] for name in ("inner_radius", "outer_radius", "length"))
    back = -length - (outer - inner)
    return polygon((0.0, back), (outer, back), (outer, 0.0), (inner, 0.0), (inner, -length), (0.0, -length))


def curve(at: Callable[[np.ndarray], np.ndarray], start: float, stop: float) -> np.ndarray:
    """Points of a smooth curve, dense enough that no chord is further from it than `CHORD_ERROR`.

    Args:
        at: Points (n, 2) of parameters (n,).
        start: First parameter; its point is in the result.
        stop: Last one; its point too.
    """
    pieces = 8
    while True:
        points = at(np.linspace(start, stop, 2 * pieces + 1))
        chord = (points[2::2] + points[:-2:2]) / 2
        if pieces >= 4096 or np.hypot(*(points[1::2] - chord).T).max() <= CHORD_ERROR:
            return points[::2]
        pieces *= 2
