"""A conical horn on the feed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from antennaopt.families.family import Designs, Family, back_rim, feed
from antennaopt.families.outline import Outline, feed_outline, polygon
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


def _rims(designs: Designs) -> tuple[Rim, Rim]:
    """Inner and outer edge of the aperture, between the flare's walls and the flat rim."""
    aperture, length = designs["horn.aperture_radius"], designs["horn.length"]
    outer = aperture + designs["horn.wall"]
    inner_slope = np.arctan2(aperture - designs["feed.inner_radius"], length)
    outer_slope = np.arctan2(outer - designs["feed.outer_radius"], length)
    level = np.zeros_like(aperture)
    return (
        Rim(r=aperture, z=length, wall=level, opening=1.5 * np.pi - inner_slope),
        Rim(r=outer, z=length, wall=-0.5 * np.pi - outer_slope, opening=1.5 * np.pi + outer_slope),
    )


def _refusal(designs: Designs) -> list[str | None]:
    throat = designs["feed.inner_radius"]
    return [
        None
        if radius >= inner - 1e-12
        else f"horn.aperture_radius = {radius * 1e3:.4g} mm is smaller than feed.inner_radius = {inner * 1e3:.4g} mm"
        for radius, inner in zip(designs["horn.aperture_radius"], throat, strict=True)
    ]


def _outline(design: Mapping[str, float]) -> Outline:
    length, aperture = design["horn.length"], design["horn.aperture_radius"]
    rim = aperture + design["horn.wall"]
    shell = polygon(
        (design["feed.inner_radius"], 0.0), (design["feed.outer_radius"], 0.0), (rim, length), (aperture, length)
    )
    return Outline(conductors=(feed_outline(design), shell))


FAMILY = Family(name="conical_horn", scene=_scene, size=_size, refusal=_refusal, outline=_outline)
