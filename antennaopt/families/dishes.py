"""Common parts of dishes: the feed families, and a dish around the feed's tube with a forward beam.

The reflecting surface of that dish is z = V + r^2 / (4 F) from the tube's outer wall to `diameter` / 2, with F =
`focal_ratio` times the diameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from antennaopt.families import (
    choke_ring_feed,
    conical_horn,
    corrugated_horn,
    dielectric_rod,
    dual_mode_horn,
    open_waveguide,
    profile_horn,
    spline_horn,
)
from antennaopt.families.family import Designs, Family, stack, unfilled
from antennaopt.families.parameters import Parameter, Part, length
from antennaopt.families.profiles import distinct, joined
from antennaopt.families.shapes import Outline

FEEDS = tuple(
    module.FAMILY
    for module in (
        open_waveguide,
        conical_horn,
        profile_horn,
        spline_horn,
        dual_mode_horn,
        corrugated_horn,
        choke_ring_feed,
        dielectric_rod,
    )
)
"""Families that may feed a dish, in the order of their numbers in a design."""
PIECES = 512
"""Chords: of a dish 36 wavelengths wide within 1 / 10,000 of a wavelength."""

FEED_WORD = Parameter(
    name="reflector.feed", about="Family of the feed, whose own tables stand next to this one.",
    example='"open_waveguide"', kind="choice", default=0.0, left_out=True, highest=float(len(FEEDS) - 1),
    choices=tuple(one.name for one in FEEDS),
)  # fmt: skip
DIAMETER = length("reflector.diameter", "Diameter of the reflecting surface.", example='"100 mm"')
THICKNESS = length("reflector.thickness", "Thickness of the metal.", example='"1 mm"')


FOCAL_RATIO = Parameter(
    name="reflector.focal_ratio", about="Focal length over the diameter.", example="0.25", lowest=0.15, highest=5.0,
    shrinks=True,
)  # fmt: skip


def fed_by_each(name: str, title: str, parameters: Sequence[Parameter], **functions: Callable[..., Any]) -> Family:
    """Return a family of dishes with any of `FEEDS`, whose parameters stand next to its own.

    Args:
        name: Its name.
        title: One line on what it is.
        parameters: Its own, `FEED_WORD` among them.
        functions: Of `Family`, by field; each takes the feed's family first.
    """

    def fed_by(feed: Family) -> Family:
        own = {field: partial(one, feed) for field, one in functions.items()}
        every = (*feed.parameters, *parameters)
        return replace(feed, name=name, title=title, parameters=every, orders=None, **own)

    variants = tuple(map(fed_by, FEEDS))
    return replace(variants[0], varies_by=FEED_WORD.name, variants=variants)


def defocus(about: str) -> Parameter:
    """Return the parameter of a distance from a focus, which may be negative."""
    return Parameter(
        name="reflector.defocus", about=about, example='"1 mm"', unit="m", default=0.0, lowest=-1000.0, highest=1000.0
    )


def focal_length(designs: Designs) -> np.ndarray:
    """Return the focal length of the dish, m."""
    return designs["reflector.diameter"] * designs["reflector.focal_ratio"]


def mouth(feed: Family, designs: Designs) -> np.ndarray:
    """Return the height of the feed's mouth over z = 0, m: of its own bodies, what fills it aside."""
    return unfilled(feed.size)(designs)[1]


def radius(designs: Designs) -> np.ndarray:
    """Return the largest radius of a dish round the tube, at the back of its rim, m."""
    slope = np.hypot(1.0, 4 * designs["reflector.focal_ratio"])
    return designs["reflector.diameter"] / 2 + designs["reflector.thickness"] / slope


def rim(designs: Designs, focus: np.ndarray) -> np.ndarray:
    """Return the height of the rim of a dish whose focus is at a height, m."""
    ratio = designs["reflector.focal_ratio"]
    return focus + designs["reflector.diameter"] * (1 / (16 * ratio) - ratio)


def round_the_tube(designs: Designs, vertex: np.ndarray) -> np.ndarray:
    """Return the section of a dish round the feed's tube, (batch, corners, 2), from the tube's outer wall.

    Args:
        designs: The batch.
        vertex: Height at which the reflecting surface would meet the axis, m.
    """
    focal, thickness = (one[:, None] for one in (focal_length(designs), designs["reflector.thickness"]))
    start = designs["feed.outer_radius"][:, None]
    r = start + (designs["reflector.diameter"][:, None] / 2 - start) * np.linspace(0.0, 1.0, PIECES + 1)
    z = vertex[:, None] + r**2 / (4 * focal)
    slope = np.hypot(1.0, r / (2 * focal))
    back_r, back_z = r + thickness * r / (2 * focal) / slope, z - thickness / slope
    back_r[:, 0] = r[:, 0]
    return joined((r, z), (back_r[:, ::-1], back_z[:, ::-1]))


def outline_with(feed: Family, design: Mapping[str, float], bodies: Sequence[np.ndarray]) -> Outline:
    """Return the section of a feed with a dish's bodies of metal.

    Args:
        feed: Family of the feed.
        design: Every parameter, SI.
        bodies: Corners r, z of each, m, of a batch of one: (1, corners, 2).
    """
    own = unfilled(feed.outline)(design)
    conductors = (*own.conductors, *(distinct(one[0]) for one in bodies))
    return replace(own, conductors=conductors, aperture=design["reflector.diameter"])


def parts_with_subreflector(feed: Family, design: Mapping[str, float], gap: float) -> Iterator[Part]:
    """Yield the parts of a feed, a dish and a sub-reflector a gap, m, in front of the feed."""
    yield from feed.parts(design)
    for name in ("reflector.thickness", "subreflector.thickness"):
        yield Part(what=name, thickness=design[name])
    yield Part(what="the gap from the feed to the sub-reflector", thickness=gap, metal=False)


def dish_faults(feed: Family, design: Mapping[str, float], vertex: float, ring: float = 0.0) -> Iterator[str]:
    """Yield what is wrong with a dish round the tube: too small, in the feed, or behind the tube.

    Args:
        feed: Family of the feed.
        design: Every parameter, SI.
        vertex: Height of the lowest place of the reflecting surface, m.
        ring: Radius, m, up to which that surface is flat.
    """
    designs = stack([design])
    diameter, thickness = design["reflector.diameter"], design["reflector.thickness"]
    radius, focal = float(feed.size(designs)[0][0]), float(focal_length(designs)[0])
    if diameter < 2 * radius:
        yield (
            f"reflector.diameter = {diameter * 1e3:.4g} mm is smaller than the feed (must be >= {radius * 2e3:.4g} "
            "mm); enlarge it"
        )
    section = feed.outline(design)
    bodies = [*section.conductors[1:], *(one.corners for one in section.dielectrics if not one.fills_feed)]
    lowest = min([0.0, *(float(one[:, 1].min()) for one in bodies)])
    over = vertex + max(radius - ring, 0.0) ** 2 / (4 * focal) - lowest
    if over > 0:
        yield (
            f"reflector.focal_ratio = {design['reflector.focal_ratio']:.4g} puts the dish {over * 1e3:.4g} mm too far "
            "forward, into the feed; raise it, or lower reflector.defocus or what sets the distance of the focus"
        )
    back = vertex + max(design["feed.outer_radius"] - ring, 0.0) ** 2 / (4 * focal) - thickness
    if back < -design["feed.length"]:
        yield (
            f"feed.length = {design['feed.length'] * 1e3:.4g} mm ends in front of the dish's back (must be >= "
            f"{-back * 1e3:.4g} mm); lengthen it or lower reflector.focal_ratio"
        )
