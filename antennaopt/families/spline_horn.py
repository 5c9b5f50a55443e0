"""A horn whose inside is a monotone cubic (PCHIP) through a list of radii, with a wall of even thickness."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from antennaopt.families.family import Designs, Family, numbered
from antennaopt.families.parameters import FEED, FITTED_TO_OUTLINES, AtLeast, Carries, Orders, Part, length
from antennaopt.families.profiles import outline_of, places, scene_of, shell, wall_part
from fdtd.axisymmetric.scene import Rim


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    rim = numbered(designs, "horn.radii").max(axis=0) + designs["horn.wall"]
    return np.maximum(rim, designs["feed.outer_radius"]), designs["horn.length"]


def _section(designs: Designs) -> tuple[np.ndarray, tuple[Rim, ...]]:
    from scipy.interpolate import PchipInterpolator

    radii = np.concatenate([designs["feed.inner_radius"][None], numbered(designs, "horn.radii")])
    share = places()
    inner = PchipInterpolator(np.linspace(0.0, 1.0, len(radii)), radii)(share)
    return shell(designs, designs["horn.length"][:, None] * share, np.ascontiguousarray(inner.T))


def _parts(design: Mapping[str, float]) -> tuple[Part]:
    return (wall_part(design),)


FAMILY = Family(
    name="spline_horn",
    title="A horn whose radius is a monotone cubic through a list of radii.",
    parameters=(
        *FEED,
        length("horn.length", "From z = 0 to the aperture.", example='"30 mm"'),
        length(
            "horn.radii",
            "Inner radii at equal steps of z, the last one at the aperture; the feed's stands before them.",
            example='["5 mm", "8 mm", "12 mm"]',
            kind="list",
        ),
        length("horn.wall", "Thickness of the wall.", example='"1 mm"'),
    ),
    scene=partial(scene_of, _section),
    size=_size,
    outline=partial(outline_of, _section),
    limits=(AtLeast(name="horn.radii", least="feed.inner_radius", problem="makes the aperture smaller than the feed"),),
    carries=(Carries(name="horn.radii", mode="TE11", without="it reflects the wave"),),
    parts=_parts,
    orders=Orders(s11=3.49, pattern=6.0, efficiency=6.0, source=FITTED_TO_OUTLINES),
)
