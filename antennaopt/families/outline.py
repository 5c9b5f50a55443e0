"""An antenna's section as closed polygons in (r, z), for programs that take shapes and not level sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

CHORD_ERROR = 1e-7
"""Largest distance from a curved surface to the polygon's chords, m."""

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The section r >= 0 of one antenna.

    Attributes:
        conductors: Polygons (r, z), m, not closed by a repeated corner, each (corners, 2); their union.
        dielectric: The lens as such a polygon, or None.
        permittivity: Of the lens, relative.
        loss_tangent: Of the lens, at the design frequency.
    """

    conductors: tuple[np.ndarray, ...]
    dielectric: np.ndarray | None = None
    permittivity: float = 1.0
    loss_tangent: float = 0.0

    @classmethod
    def on_feed(cls, design: Mapping[str, float], table: str, dielectric: np.ndarray) -> Outline:
        """Return the feed with a dielectric whose material a table of the design gives."""
        return cls(
            conductors=(feed_outline(design),),
            dielectric=dielectric,
            permittivity=design[f"{table}.permittivity"],
            loss_tangent=design.get(f"{table}.loss_tangent", 0.0),
        )


def polygon(*corners: Point) -> np.ndarray:
    """Corners (r, z) as an array (corners, 2)."""
    return np.array(corners, dtype=float)


def feed_outline(design: Mapping[str, float]) -> np.ndarray:
    """The feed's tube and its back wall in one piece, open at z = 0."""
    inner, outer, length = (design[f"feed.{name}"] for name in ("inner_radius", "outer_radius", "length"))
    back = -length - (outer - inner)
    return polygon((0.0, back), (outer, back), (outer, 0.0), (inner, 0.0), (inner, -length), (0.0, -length))


def curve(at: Callable[[np.ndarray], np.ndarray], start: float, stop: float) -> np.ndarray:
    """Points of a smooth curve, so many that no chord is further from it than `CHORD_ERROR`.

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
