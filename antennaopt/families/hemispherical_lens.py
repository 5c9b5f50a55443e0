"""A dielectric cylinder with a hemisphere of the same radius on top."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from antennaopt.families.family import Designs, Family, feed, feed_rims, lens_losses, same_feed, too_small_a_base
from antennaopt.families.outline import Outline, curve, feed_outline
from fdtd.axisymmetric.scene import Dielectric, Scene, capped_cylinder


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
    return Scene(
        batch=len(radius),
        dielectrics=(lens,),
        conductors=feed(designs),
        rims=feed_rims(designs),
        same_metal=same_feed(designs),
    )


def _refusal(designs: Designs) -> list[str | None]:
    return too_small_a_base(designs["lens.radius"], designs, "lens.radius")


def _outline(design: Mapping[str, float]) -> Outline:
    radius, extension = design["lens.radius"], design["lens.extension"]

    def arc(angle: np.ndarray) -> np.ndarray:
        return np.stack([radius * np.cos(angle), extension + radius * np.sin(angle)], axis=1)

    base = np.array([[0.0, 0.0], [radius, 0.0]])
    lens = np.concatenate([base, curve(arc, 0.0, np.pi / 2)])
    return Outline(conductors=(feed_outline(design),), dielectric=lens)


FAMILY = Family(name="hemispherical_lens", scene=_scene, size=_size, refusal=_refusal, outline=_outline)
