"""A dielectric cylinder with a hemisphere of the same radius on top."""

from __future__ import annotations

import numpy as np

from antennaopt.geometry.family import Designs, Family, feed, lens_losses, too_small_a_base
from fdtd.scene import Dielectric, Scene, capped_cylinder


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    radius, extension = designs["lens.radius"], designs["lens.extension"]
    return np.maximum(radius, designs["feed.outer_radius"]), radius + extension


def _scene(designs: Designs) -> Scene:
    radius, extension = designs["lens.radius"], designs["lens.extension"]
    lens = Dielectric(
        distance=capped_cylinder(radius, extension),
        permittivity=designs["lens.permittivity"],
        loss_tangent=lens_losses(designs),
        r_max=float(radius.max()),
        z_min=0.0,
        z_max=float((radius + extension).max()),
    )
    return Scene(batch=len(radius), dielectrics=(lens,), conductors=feed(designs))


def _refusal(designs: Designs) -> list[str | None]:
    return too_small_a_base(designs["lens.radius"], designs, "lens.radius")


FAMILY = Family(name="hemispherical_lens", scene=_scene, size=_size, refusal=_refusal)
