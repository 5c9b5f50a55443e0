"""A dielectric cylinder with a hemisphere of the same radius on top."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from antennaopt.families.family import LENS_BASE, Designs, Family, dielectric, on_feed
from antennaopt.families.parameters import FEED, AtLeast, Orders, length, material
from antennaopt.families.shapes import Outline, curve
from fdtd.axisymmetric.scene import Scene, capped_cylinder


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    radius, extension = designs["lens.radius"], designs["lens.extension"]
    return np.maximum(radius, designs["feed.outer_radius"]), radius + extension


def _scene(designs: Designs) -> Scene:
    radius, extension = designs["lens.radius"], designs["lens.extension"]
    shape = capped_cylinder(radius, extension)
    return on_feed(designs, dielectric(designs, "lens", shape, r_max=radius, z_max=radius + extension))


def _outline(design: Mapping[str, float]) -> Outline:
    radius, extension = design["lens.radius"], design["lens.extension"]

    def arc(angle: np.ndarray) -> np.ndarray:
        return np.stack([radius * np.cos(angle), extension + radius * np.sin(angle)], axis=1)

    base = np.array([[0.0, 0.0], [radius, 0.0]])
    lens = np.concatenate([base, curve(arc, 0.0, np.pi / 2)])
    return Outline.on_feed(design, "lens", lens)


FAMILY = Family(
    name="hemispherical_lens",
    title="A hemispherical lens on the feed: a cylinder from z = 0 to z = extension, then a hemisphere.",
    parameters=(
        *FEED,
        *material("lens"),
        length("lens.radius", "Radius of the cylinder and the hemisphere.", example='"15 mm"'),
        length("lens.extension", "Height of the cylinder.", example='"5 mm"'),
    ),
    scene=_scene,
    size=_size,
    outline=_outline,
    long_step=True,
    limits=(AtLeast(name="lens.radius", **LENS_BASE),),
    orders=Orders(s11=2.04, pattern=2.1, efficiency=2.1),
)
