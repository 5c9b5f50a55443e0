"""Circular waveguides of an antenna: ranges along the axis with a constant inner radius, found on its section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from antennaopt.families.sections import inside
from antennaopt.families.shapes import Outline, Solid

_SAME = 1e-9  # m
_AXIS = 1e-9  # m; what crosses the axis closes the guide


@dataclass(frozen=True, kw_only=True)
class Guide:
    """A length of circular guide.

    Attributes:
        radius: Inner radius, m.
        bottom, top: Ends, m, bottom < top.
        permittivity: Of what fills it evenly; None where a dielectric fills a part of it.
    """

    radius: float
    bottom: float
    top: float
    permittivity: float | None = 1.0


def guides_of(outline: Outline) -> list[Guide]:
    """Return the guides of an antenna from its feed's back wall upwards; each filling is a guide of its own."""
    bodies = [*outline.conductors, *(body.corners for body in outline.dielectrics)]
    heights = np.unique(np.round(np.concatenate([body[:, 1] for body in bodies]), 12))
    guides: list[Guide] = []
    for low, high in pairwise(heights.tolist()):
        step = high - low
        if step <= _SAME:
            continue
        radii = [_wall(outline.conductors, low + part * step) for part in (0.01, 0.5, 0.99)]
        if any(one is None for one in radii) or max(radii) - min(radii) > _SAME:  # type: ignore[type-var, operator]
            continue
        radius = float(radii[1] or 0.0)
        permittivity = _filled(outline.dielectrics, radius, low + 0.5 * step)
        last = guides[-1] if guides else None
        joins = last is not None and abs(last.radius - radius) <= _SAME and abs(last.top - low) <= _SAME
        if last is not None and joins and last.permittivity == permittivity:
            guides[-1] = Guide(radius=radius, bottom=last.bottom, top=high, permittivity=permittivity)
        else:
            guides.append(Guide(radius=radius, bottom=low, top=high, permittivity=permittivity))
    return guides


def _filled(solids: Sequence[Solid], radius: float, z: float) -> float | None:
    """Return the permittivity of all of a guide at a height; None where there are several. Later bodies count."""
    found: float | None = 1.0
    for body in solids:
        crossings = _crossings(body.corners, z)
        if ((crossings > _AXIS) & (crossings < radius - _SAME)).any():
            found = None
        elif inside(body.corners, np.array([2 * _AXIS, z])):
            found = body.permittivity
    return found


def guide_at(guides: Sequence[Guide], z: float) -> Guide | None:
    """Return the guide that holds a plane, or None; a plane between two belongs to the lower one."""
    return next((one for one in guides if one.bottom - _SAME <= z <= one.top + _SAME), None)


def _wall(conductors: Sequence[np.ndarray], z: float) -> float | None:
    """Return the radius of the innermost wall at a height, m; None where metal is on the axis, or nowhere."""
    if any(inside(one, np.array([_AXIS, z])) for one in conductors):
        return None
    radii = np.concatenate([_crossings(one, z) for one in conductors])
    return float(radii.min()) if radii.size else None


def _crossings(corners: np.ndarray, z: float) -> np.ndarray:
    """Return the radii at which a polygon's edges cross a height."""
    r, height = corners.T
    r1, height1 = np.roll(r, -1), np.roll(height, -1)
    crosses = (height > z) != (height1 > z)
    return r[crosses] + (r1 - r)[crosses] * (z - height[crosses]) / (height1 - height)[crosses]
