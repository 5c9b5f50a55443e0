"""A horn whose inside follows one of the curves of Granet and James, with a wall of even thickness."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from antennaopt.families.family import Designs, Family
from antennaopt.families.parameters import FEED, AtLeast, Part, length
from antennaopt.families.profiles import curve_parameters, outline_of, places, radius_of, scene_of, shell, wall_part
from fdtd.axisymmetric.scene import Rim


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    rim = designs["horn.aperture_radius"] + designs["horn.wall"]
    return np.maximum(rim, designs["feed.outer_radius"]), designs["horn.length"]


def _section(designs: Designs) -> tuple[np.ndarray, tuple[Rim, ...]]:
    share = places()
    return shell(designs, designs["horn.length"][:, None] * share, radius_of(designs, "horn", share))


def _parts(design: Mapping[str, float]) -> tuple[Part]:
    return (wall_part(design),)


FAMILY = Family(
    name="profile_horn",
    title="A horn whose radius follows a curve.",
    parameters=(
        *FEED,
        length("horn.length", "From z = 0 to the aperture.", example='"30 mm"'),
        length("horn.aperture_radius", "Inner radius at z = length.", example='"12 mm"'),
        length("horn.wall", "Thickness of the wall.", example='"1 mm"'),
        *curve_parameters("horn"),
    ),
    scene=partial(scene_of, _section),
    size=_size,
    outline=partial(outline_of, _section),
    limits=(AtLeast(name="horn.aperture_radius", least="feed.inner_radius", problem="is smaller than the feed"),),
    parts=_parts,
)
