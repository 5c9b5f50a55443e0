"""A conical horn on the feed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from antennaopt.families.family import Designs, Family, back_rim, feed
from antennaopt.families.parameters import FEED, AtLeast, Orders, Part, length
from antennaopt.families.sections import SMALLEST_RIM_DEG
from antennaopt.families.shapes import Outline, feed_outline, polygon
from fdtd.axisymmetric.scene import Rim, Scene, cone_shell


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    rim = designs["horn.aperture_radius"] + designs["horn.wall"]
    return np.maximum(rim, designs["feed.outer_radius"]), designs["horn.length"]


def _scene(designs: Designs) -> Scene:
    aperture, wall = designs["horn.aperture_radius"], designs["horn.wall"]
    shell = cone_shell(
        designs["feed.inner_radius"], aperture, designs["feed.outer_radius"], aperture + wall, designs["horn.length"]
    )
    return Scene(batch=len(aperture), conductors=(*feed(designs), shell), rims=(*_rims(designs), back_rim(designs)))


def _rims(designs: Designs) -> tuple[Rim, Rim, Rim]:
    """Inner and outer edge of the aperture, between the flare's walls and the flat rim; and the throat's edge."""
    aperture, height = designs["horn.aperture_radius"], designs["horn.length"]
    outer = aperture + designs["horn.wall"]
    inner_slope = np.arctan2(aperture - designs["feed.inner_radius"], height)
    outer_slope = np.arctan2(outer - designs["feed.outer_radius"], height)
    level = np.zeros_like(aperture)
    turns = np.where(inner_slope > np.radians(SMALLEST_RIM_DEG), 1.0, np.nan)  # NaN: no rim
    throat = Rim(
        r=designs["feed.inner_radius"] * turns,
        z=level * turns,
        wall=(0.5 * np.pi - inner_slope) * turns,
        opening=(np.pi + inner_slope) * turns,
    )
    return (
        Rim(r=aperture, z=height, wall=level, opening=1.5 * np.pi - inner_slope),
        Rim(r=outer, z=height, wall=-0.5 * np.pi - outer_slope, opening=1.5 * np.pi + outer_slope),
        throat,
    )


def _parts(design: Mapping[str, float]) -> tuple[Part]:
    """The flare is thinnest at its thinner end, and thinner across than along that end's plane."""
    height, rise = design["horn.length"], design["horn.aperture_radius"] - design["feed.inner_radius"]
    feed = design["feed.outer_radius"] - design["feed.inner_radius"]
    at_feed = "the flare's wall at the feed (feed.outer_radius less feed.inner_radius)"
    slope = height / (height**2 + rise**2) ** 0.5
    what, thickness = ("horn.wall", design["horn.wall"]) if design["horn.wall"] <= feed else (at_feed, feed)
    return (Part(what=what, thickness=thickness, slope=slope),)


def _outline(design: Mapping[str, float]) -> Outline:
    height, aperture = design["horn.length"], design["horn.aperture_radius"]
    rim = aperture + design["horn.wall"]
    shell = polygon(
        (design["feed.inner_radius"], 0.0), (design["feed.outer_radius"], 0.0), (rim, height), (aperture, height)
    )
    return Outline(conductors=(feed_outline(design), shell))


FAMILY = Family(
    name="conical_horn",
    title="A conical horn on the feed.",
    parameters=(
        *FEED,
        length("horn.length", "From z = 0 to the aperture.", example='"30 mm"'),
        length("horn.aperture_radius", "Inner radius at z = length.", example='"12 mm"'),
        length("horn.wall", "Thickness of the wall at the aperture.", example='"1 mm"'),
    ),
    scene=_scene,
    size=_size,
    outline=_outline,
    limits=(AtLeast(name="horn.aperture_radius", least="feed.inner_radius", problem="is smaller than the feed"),),
    parts=_parts,
    orders=Orders(s11=1.97, pattern=2.64, efficiency=2.64),
)
