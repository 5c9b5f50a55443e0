"""Length, diameters and volumes of an antenna, exact for the polygons of its section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from antennaopt.families.family import Family
from antennaopt.families.shapes import Outline

_SAME_PLACE = 1e-9  # m
_AT_A_TIME = 1 << 21  # pairs of edges


@dataclass(frozen=True, kw_only=True)
class Measures:
    """Sizes of one antenna as it is exported, feed tube and its back wall included.

    Attributes:
        length: Extent along the axis, m.
        diameter: Largest diameter, m.
        aperture: Diameter of the aperture, m: of a dish; else of the largest dielectric on the feed; without one the
            inner diameter of the metal at its upper end.
        metal: Volume of the metal, m^3.
        dielectric: Volume of the dielectrics where there is no metal, m^3.
    """

    length: float
    diameter: float
    aperture: float
    metal: float
    dielectric: float

    @property
    def volume(self) -> float:
        """Volume of all bodies, m^3."""
        return self.metal + self.dielectric

    def mass(self, metal: float, dielectric: float) -> float:
        """Return the mass, kg, of materials of these densities, kg/m^3."""
        return metal * self.metal + dielectric * self.dielectric


def measures(family: Family, design: Mapping[str, float]) -> Measures:
    """Return the sizes of a design.

    Args:
        family: Antenna family, with its bodies where the file draws them.
        design: Every parameter, SI, by dotted name.
    """
    return measures_of(family.outline(design))


def measures_of(outline: Outline) -> Measures:
    """Return the sizes of a section."""
    metal = list(outline.conductors)
    solids = [one.corners for one in outline.dielectrics]
    lenses = [one.corners for one in outline.dielectrics if not one.fills_feed]
    length, diameter = extents_of(outline)
    of_metal = revolved(metal)
    return Measures(
        length=length,
        diameter=diameter,
        aperture=outline.aperture or 2 * _aperture_radius(metal, lenses),
        metal=of_metal,
        dielectric=revolved([*metal, *solids]) - of_metal if solids else 0.0,
    )


def extents_of(outline: Outline) -> tuple[float, float]:
    """Return the length along the axis and the largest diameter of a section, m."""
    points = np.concatenate([*outline.conductors, *(one.corners for one in outline.dielectrics)])
    low, high = points.min(axis=0), points.max(axis=0)
    return float(high[1] - low[1]), 2 * float(high[0])


def _aperture_radius(metal: Sequence[np.ndarray], solids: Sequence[np.ndarray]) -> float:
    if solids:
        return max(float(one[:, 0].max()) for one in solids)
    points = np.concatenate(metal)
    mouth = float(points[points[:, 1] >= points[:, 1].max() - _SAME_PLACE, 0].min())
    return mouth if mouth > _SAME_PLACE else float(points[:, 0].max())


def revolved(polygons: Sequence[np.ndarray]) -> float:
    """Return the volume, m^3, that a union of polygons fills when it turns about the axis.

    Between two neighbouring heights of corners and crossings the boundary is a fixed set of straight edges, and
    pi int r^2 dz of each is exact.

    Args:
        polygons: Corners (r, z), m, each (corners, 2); they may overlap, touch and cross.
    """
    start = np.concatenate(polygons)
    step = np.concatenate([np.roll(one, -1, axis=0) - one for one in polygons])
    body = np.repeat(np.arange(len(polygons)), [len(one) for one in polygons])
    crossings = [_crossing_heights(one, other) for one, other in combinations(polygons, 2)]
    heights = np.unique(np.concatenate([start[:, 1], *crossings]))
    low = np.minimum(start[:, 1], start[:, 1] + step[:, 1])
    high = np.maximum(start[:, 1], start[:, 1] + step[:, 1])
    total = 0.0
    for bottom, top in pairwise(heights.tolist()):
        middle = (bottom + top) / 2
        at = np.nonzero((low < middle) & (high > middle))[0]
        slope = step[at, 0] / step[at, 1]
        r = start[at, 0] + np.outer((bottom, middle, top), slope) - slope * start[at, 1]
        order = np.argsort(r[1], kind="stable")
        signs = np.array(list(_outer(body[at][order].tolist())))
        first, last = r[0][order], r[2][order]
        total += (top - bottom) * float((signs * (first * first + first * last + last * last)).sum()) / 3
    return float(np.pi * total)


def _outer(bodies: Sequence[int]) -> Iterator[float]:
    """Yield for each edge, from the axis outwards, whether a union begins (-1), ends (+1) or goes on (0) there."""
    inside: set[int] = set()
    for one in bodies:
        before = bool(inside)
        inside ^= {one}
        yield float(before) - float(bool(inside))


def _crossing_heights(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the heights at which edges of two polygons cross, m."""
    a, b = one, other
    da, db = np.roll(a, -1, axis=0) - a, np.roll(b, -1, axis=0) - b
    found = []
    rows = max(_AT_A_TIME // len(b), 1)
    for first in range(0, len(a), rows):
        p, u = a[first : first + rows, None], da[first : first + rows, None]
        to = b[None] - p
        across = u[..., 0] * db[None, :, 1] - u[..., 1] * db[None, :, 0]
        safe = np.where(across == 0, 1.0, across)
        s = (to[..., 0] * db[None, :, 1] - to[..., 1] * db[None, :, 0]) / safe
        t = (to[..., 0] * u[..., 1] - to[..., 1] * u[..., 0]) / safe
        hit = (across != 0) & (s > 0) & (s < 1) & (t > 0) & (t < 1)
        found.append((p[..., 1] + s * u[..., 1])[hit])
    return np.concatenate(found)
