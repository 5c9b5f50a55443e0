"""The feed alone: an open circular waveguide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from antennaopt.families.family import Designs, Family, feed, feed_rims, same_feed
from antennaopt.families.outline import Outline, feed_outline
from fdtd.axisymmetric.scene import Scene


def _scene(designs: Designs) -> Scene:
    return Scene(
        batch=len(designs["feed.length"]),
        conductors=feed(designs),
        rims=feed_rims(designs),
        same_metal=same_feed(designs),
    )


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    return designs["feed.outer_radius"], np.zeros_like(designs["feed.length"])


def _refusal(designs: Designs) -> list[str | None]:
    return [None] * len(designs["feed.length"])


def _outline(design: Mapping[str, float]) -> Outline:
    return Outline(conductors=(feed_outline(design),))


FAMILY = Family(name="open_waveguide", scene=_scene, size=_size, refusal=_refusal, outline=_outline)
