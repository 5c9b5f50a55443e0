"""A horn of one or more sections along the curves of Granet and James, with a wall of constant thickness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from antennaopt.families.family import Designs, Family, spread
from antennaopt.families.parameters import FEED, FITTED_TO_OUTLINES, AtLeast, Carries, Orders, Part, entries, length
from antennaopt.families.profiles import (
    PIECES,
    curve_parameters,
    outline_of,
    places,
    radius_of,
    scene_of,
    shell,
    wall_part,
)
from fdtd.axisymmetric.scene import Rim

_FEWEST_PIECES = 64
_OF_A_CURVE = ("horn.curve", "horn.amplitude", "horn.rho", "horn.gamma")


def _sections(design: Mapping[str, object]) -> int:
    """Return the number of sections."""
    return sum(1 for _ in entries(design, "horn.length")) or 1


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    count = _sections(designs)
    rim = spread(designs, "horn.aperture_radius", count).max(axis=0) + designs["horn.wall"]
    return np.maximum(rim, designs["feed.outer_radius"]), spread(designs, "horn.length", count).sum(axis=0)


def _section(designs: Designs) -> tuple[np.ndarray, tuple[Rim, ...]]:
    count = _sections(designs)
    share = places(max(PIECES // count, _FEWEST_PIECES))  # a section of n is about an n-th as long
    lengths, radii = (spread(designs, f"horn.{name}", count) for name in ("length", "aperture_radius"))
    curves = {name: spread(designs, name, count) for name in _OF_A_CURVE}
    z, inner, start = [], [], designs["feed.inner_radius"]
    for place in range(count):
        one = {name: values[place] for name, values in curves.items()}
        one |= {"feed.inner_radius": start, "horn.aperture_radius": radii[place]}
        first = 0 if place == 0 else 1  # the section before has the point
        z.append((lengths[:place].sum(axis=0)[:, None] + lengths[place][:, None] * share)[:, first:])
        inner.append(radius_of(one, "horn", share)[:, first:])
        start = radii[place]
    return shell(designs, np.concatenate(z, axis=1), np.concatenate(inner, axis=1))


def _parts(design: Mapping[str, float]) -> tuple[Part]:
    return (wall_part(design),)


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    count, given = _sections(design), sum(1 for _ in entries(design, "horn.aperture_radius")) or 1
    if given < count:
        yield f"horn.aperture_radius is one radius, but horn.length has {count} sections; write a list of as many"


FAMILY = Family(
    name="profile_horn",
    title="A horn of one or more sections whose radius follows a curve.",
    parameters=(
        *FEED,
        replace(
            length("horn.length", "From z = 0 to the aperture, or a list of sections.", example='"30 mm"'), many=True
        ),
        replace(
            length("horn.aperture_radius", "Inner radius at the end of each section.", example='"12 mm"'),
            many=True,
            like="horn.length",
        ),
        length("horn.wall", "Thickness of the wall.", example='"1 mm"'),
        *curve_parameters("horn", like="horn.length"),
    ),
    scene=partial(scene_of, _section),
    size=_size,
    outline=partial(outline_of, _section),
    limits=(AtLeast(name="horn.aperture_radius", least="feed.inner_radius", problem="is smaller than the feed"),),
    faults=_faults,
    carries=(Carries(name="horn.aperture_radius", mode="TE11", without="it reflects the wave"),),
    parts=_parts,
    orders=Orders(s11=3.49, pattern=6.0, efficiency=6.0, source=FITTED_TO_OUTLINES),
)
