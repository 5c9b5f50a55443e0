"""A paraboloid with a feed in its focus: an open waveguide, or one of the other families of feeds.

The feed looks along +z at the dish in front of it, so the main beam leaves towards -z, past the tube. Its patterns
count theta from there: see `Family.looks_back`. With the focal length F = `focal_ratio` times the diameter, the height
h of the feed's mouth and its distance s from the focus, the reflecting surface is

    z = h + F + s - r^2 / (4 F),     r <= diameter / 2

References:
    Balanis, Antenna Theory, 4th ed., section 15.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from antennaopt.families import dishes
from antennaopt.families.family import Designs, Family, stack, unfilled
from antennaopt.families.parameters import Parameter, Part
from antennaopt.families.profiles import joined, with_metal
from antennaopt.families.shapes import Outline
from fdtd.axisymmetric.scene import Scene

_PARAMETERS = (
    dishes.FEED_WORD,
    dishes.DIAMETER,
    replace(dishes.FOCAL_RATIO, example="0.4", shrinks=False),
    dishes.THICKNESS,
    dishes.defocus("From the focus to the feed's mouth, away from the dish."),
    Parameter(
        name="reflector.shroud", about="Length of a cylinder on the rim, towards the main beam; 0: none.",
        example='"10 mm"', unit="m", default=0.0, highest=1000.0,
    ),
)  # fmt: skip


def _vertex(feed: Family, designs: Designs) -> np.ndarray:
    """Return the height of the reflecting surface on the axis, m."""
    return dishes.mouth(feed, designs) + dishes.focal_length(designs) + designs["reflector.defocus"]


def _size(feed: Family, designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    thickness = designs["reflector.thickness"]
    radius, height = unfilled(feed.size)(designs)
    dish = designs["reflector.diameter"] / 2 + thickness
    return np.maximum(dish, radius), np.maximum(_vertex(feed, designs) + thickness, height)


def _dish(feed: Family, designs: Designs) -> np.ndarray:
    """Return the section of the dish and its shroud, (batch, corners, 2), from the vertex to the rim and back."""
    focal, thickness = (one[:, None] for one in (dishes.focal_length(designs), designs["reflector.thickness"]))
    edge = designs["reflector.diameter"] / 2
    r = edge[:, None] * np.linspace(0.0, 1.0, dishes.PIECES + 1)
    z = _vertex(feed, designs)[:, None] - r**2 / (4 * focal)
    slope = np.hypot(1.0, r / (2 * focal))
    back_r, back_z = r + thickness * r / (2 * focal) / slope, z + thickness / slope
    shroud = designs["reflector.shroud"]
    end, there = z[:, -1] - shroud, shroud > 0
    outer = np.where(there, edge + thickness[:, 0], back_r[:, -1])
    return joined(
        (r, z),
        (edge, end),
        (outer, np.where(there, end, back_z[:, -1])),
        (outer, back_z[:, -1]),
        (back_r[:, ::-1], back_z[:, ::-1]),
    )


def _scene(feed: Family, designs: Designs) -> Scene:
    return with_metal(unfilled(feed.scene)(designs), _dish(feed, designs))


def _outline(feed: Family, design: Mapping[str, float]) -> Outline:
    return dishes.outline_with(feed, design, (_dish(feed, stack([design])),))


def _parts(feed: Family, design: Mapping[str, float]) -> Iterator[Part]:
    yield from feed.parts(design)
    yield Part(what="reflector.thickness", thickness=design["reflector.thickness"])


def _faults(feed: Family, design: Mapping[str, float]) -> Iterator[str]:
    yield from feed.faults(design)
    designs = stack([design])
    radius, top = (float(one[0]) for one in feed.size(designs))
    diameter, focal, vertex = (
        design["reflector.diameter"], float(dishes.focal_length(designs)[0]), float(_vertex(feed, designs)[0])
    )  # fmt: skip
    if diameter < 2 * radius:
        yield (
            f"reflector.diameter = {diameter * 1e3:.4g} mm is smaller than the feed (must be >= {radius * 2e3:.4g} "
            "mm); enlarge it"
        )
    over = vertex - min(radius, diameter / 2) ** 2 / (4 * focal) - top
    if over <= 0:
        defocus = design["reflector.defocus"]
        yield (
            f"reflector.defocus = {defocus * 1e3:.4g} mm puts the dish into the feed (must be > "
            f"{(defocus - over) * 1e3:.4g} mm here); raise it or reflector.focal_ratio"
        )
    end = vertex - diameter**2 / (16 * focal) - design["reflector.shroud"]
    if end < -design["feed.length"]:
        yield (
            f"reflector.shroud = {design['reflector.shroud'] * 1e3:.4g} mm puts the dish's edge at z = "
            f"{end * 1e3:.4g} mm, behind the feed (must be >= {-design['feed.length'] * 1e3:.4g} mm); shorten it, "
            "raise reflector.focal_ratio or lengthen the feed"
        )


FAMILY = dishes.fed_by_each(
    "reflector",
    "A paraboloid with a feed in its focus.",
    _PARAMETERS,
    scene=_scene,
    size=_size,
    outline=_outline,
    faults=_faults,
    parts=_parts,
    looks_back=lambda *_: True,
)
