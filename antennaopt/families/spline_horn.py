"""A horn with a cubic spline through a list of radii as inner surface, and a wall of constant thickness.

The monotone cubic (PCHIP) never overshoots its radii. The free one (natural spline: no curvature at both ends) has a
continuous curvature, and may.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from antennaopt.families.family import Designs, Family, numbered, stack
from antennaopt.families.parameters import FEED, FITTED_TO_OUTLINES, AtLeast, Carries, Orders, Part, choice, length
from antennaopt.families.profiles import outline_of, places, scene_of, shell, wall_part
from fdtd.axisymmetric.scene import Rim

MOST_OVER = 1.1
"""Largest radius of a free cubic over the largest of those that it goes through."""
LEAST_OF_FEED = 0.5
"""Smallest radius of a free cubic over the feed's."""

_SPLINE = replace(choice("horn.spline", "Which cubic joins the radii.", "monotone", "free"), left_out=True)


def _is_free(designs: Designs) -> np.ndarray:
    return np.rint(designs.get(_SPLINE.name, np.zeros_like(designs["horn.length"]))) == 1


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    widest = numbered(designs, "horn.radii").max(axis=0) * np.where(_is_free(designs), MOST_OVER, 1.0)
    return np.maximum(widest + designs["horn.wall"], designs["feed.outer_radius"]), designs["horn.length"]


def _inside(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return shares of the length (places,) and the inner radius there, m, (batch, places)."""
    from scipy.interpolate import CubicSpline, PchipInterpolator

    radii = np.concatenate([designs["feed.inner_radius"][None], numbered(designs, "horn.radii")])
    share, free = places(), _is_free(designs)
    knots = np.linspace(0.0, 1.0, len(radii))
    inner = PchipInterpolator(knots, radii)(share)
    if free.any():
        inner[:, free] = CubicSpline(knots, radii[:, free], bc_type="natural")(share)
        inner[-1] = radii[-1]
    return share, np.ascontiguousarray(inner.T)


def _section(designs: Designs) -> tuple[np.ndarray, tuple[Rim, ...]]:
    share, inner = _inside(designs)
    return shell(designs, designs["horn.length"][:, None] * share, inner)


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    designs = stack([design])
    if not _is_free(designs)[0]:
        return
    share, (inner,) = _inside(designs)
    most = MOST_OVER * max(numbered(designs, "horn.radii")[:, 0])
    least = LEAST_OF_FEED * design["feed.inner_radius"]
    for at, wrong, limit in (
        (int(inner.argmin()), inner.min() < least, f">= {least * 1e3:.4g} mm, half of the feed's"),
        (int(inner.argmax()), inner.max() > most, f"<= {most * 1e3:.4g} mm, a tenth over the largest of horn.radii"),
    ):
        if wrong:
            yield (
                f'horn.spline = "free" swings to a radius of {inner[at] * 1e3:.4g} mm at z = '
                f"{share[at] * design['horn.length'] * 1e3:.4g} mm (must be {limit}); bring radii nearer to each other "
                'or use "monotone"'
            )


def _parts(design: Mapping[str, float]) -> tuple[Part]:
    return (wall_part(design),)


FAMILY = Family(
    name="spline_horn",
    title="A horn whose radius is a cubic through a list of radii.",
    parameters=(
        *FEED,
        length("horn.length", "From z = 0 to the aperture.", example='"30 mm"'),
        length(
            "horn.radii",
            "Inner radii at equal steps of z, the last one at the aperture; the feed's stands before them.",
            example='["5 mm", "8 mm", "12 mm"]',
            kind="list",
        ),
        _SPLINE,
        length("horn.wall", "Thickness of the wall.", example='"1 mm"'),
    ),
    scene=partial(scene_of, _section),
    size=_size,
    outline=partial(outline_of, _section),
    limits=(AtLeast(name="horn.radii", least="feed.inner_radius", problem="makes the aperture smaller than the feed"),),
    carries=(Carries(name="horn.radii", mode="TE11", without="it reflects the wave"),),
    faults=_faults,
    parts=_parts,
    orders=Orders(s11=3.49, pattern=6.0, efficiency=6.0, source=FITTED_TO_OUTLINES),
)
