"""An open circular waveguide: the feed without a further body."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from antennaopt.families.family import Designs, Family, on_feed
from antennaopt.families.parameters import FEED, Orders
from antennaopt.families.shapes import Outline, feed_outline


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    return designs["feed.outer_radius"], np.zeros_like(designs["feed.length"])


def _outline(design: Mapping[str, float]) -> Outline:
    return Outline(conductors=(feed_outline(design),))


FAMILY = Family(
    name="open_waveguide",
    title="The feed alone.",
    parameters=FEED,
    scene=on_feed,
    size=_size,
    outline=_outline,
    orders=Orders(s11=3.97, pattern=6.0, efficiency=6.0),
)
