"""A dielectric rod on the feed: a cylinder that ends in a cone cut off at its tip.

A rod radiates off its end and works by the phase of the wave along it: its length and its thickness set directivity,
and the cone lowers what is reflected at the end (Zucker, "Surface-wave antennas", in Volakis, Antenna Engineering
Handbook, 4th ed., ch. 10). The base stands in the plane z = 0 on the tube's rim, which it must reach.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from antennaopt.families.family import Designs, Family, dielectric, on_feed
from antennaopt.families.parameters import FEED, AtLeast, Orders, Part, length, material
from antennaopt.families.shapes import Outline, polygon
from fdtd.axisymmetric.scene import Scene, rod


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(designs["rod.radius"], designs["feed.outer_radius"]), designs["rod.length"]


def _scene(designs: Designs) -> Scene:
    radius, height = designs["rod.radius"], designs["rod.length"]
    shape = rod(radius, designs["rod.tip_radius"], height, designs["rod.taper"])
    return on_feed(designs, dielectric(designs, "rod", shape, r_max=radius, z_max=height))


def _parts(design: Mapping[str, float]) -> tuple[Part]:
    return (Part(what="the rod at rod.tip_radius", thickness=design["rod.tip_radius"], metal=False),)


def _outline(design: Mapping[str, float]) -> Outline:
    radius, height, tip = design["rod.radius"], design["rod.length"], design["rod.tip_radius"]
    shoulder = height - design["rod.taper"]
    corners = [(0.0, 0.0), (radius, 0.0), (radius, shoulder), (tip, height), (0.0, height)]
    return Outline.on_feed(design, "rod", polygon(*dict.fromkeys(corners)))


FAMILY = Family(
    name="dielectric_rod",
    title="A dielectric rod on the feed: a cylinder, then a taper.",
    parameters=(
        *FEED,
        *material("rod"),
        length("rod.radius", "Radius of the cylinder.", example='"4.5 mm"'),
        length("rod.length", "From z = 0 to the tip, taper included.", example='"50 mm"'),
        length("rod.taper", "Length of the taper, at the tip's end.", example='"40 mm"'),
        length("rod.tip_radius", "Radius at the tip.", example='"1.5 mm"'),
    ),
    scene=_scene,
    size=_size,
    outline=_outline,
    long_step=True,
    limits=(
        AtLeast(
            name="rod.radius",
            least="feed.inner_radius",
            problem="makes the rod thinner than the waveguide's aperture",
            consequence="the rod cannot stand on it",
        ),
        AtLeast(name="rod.radius", least="rod.tip_radius", problem="makes the rod thinner than its tip"),
        AtLeast(name="rod.length", least="rod.taper", problem="is shorter than the taper"),
    ),
    parts=_parts,
    orders=Orders(
        s11=2.27,
        pattern=2.44,
        efficiency=1.95,
        source="fitted to two rods on cells of 0.3 to 0.1 mm, tests/published/test_dielectric_rod.py",
    ),
)
