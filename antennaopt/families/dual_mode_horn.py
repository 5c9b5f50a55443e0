"""A dual-mode horn: a step that excites TM11, a section that sets its phase, and a cone (Potter).

References:
    Potter, "A new horn antenna with suppressed sidelobes and equal beamwidths", Microwave J. 6 (1963) 71.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from antennaopt.families.family import Designs, Family
from antennaopt.families.parameters import FEED, FITTED_TO_OUTLINES, AtLeast, Carries, Orders, Part, length
from antennaopt.families.profiles import feed_behind, joined, outline_of, rims_of, scene_of, wall_part
from fdtd.axisymmetric.scene import Rim


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    widest = np.maximum(designs["horn.aperture_radius"], designs["horn.step_radius"]) + designs["horn.wall"]
    return np.maximum(widest, designs["feed.outer_radius"]), designs["horn.phasing"] + designs["horn.flare"]


def _section(designs: Designs) -> tuple[np.ndarray, tuple[Rim, ...]]:
    step, aperture, wall = (designs[f"horn.{name}"] for name in ("step_radius", "aperture_radius", "wall"))
    phasing = designs["horn.phasing"]
    end, nothing = phasing + designs["horn.flare"], np.zeros_like(wall)
    outer = np.maximum(step + wall, designs["feed.outer_radius"])
    rim = np.maximum(aperture + wall, outer)
    low = np.where(outer > designs["feed.outer_radius"], -wall, 0.0)
    body = (outer, low), (outer, phasing), (rim, end), (aperture, end), (step, phasing), (step, nothing)
    # The plate of the step stands round the tube, which ends in its face.
    *tube, (edge, _) = feed_behind(designs)
    return joined((edge, nothing), (edge, low), *body), rims_of(joined(*tube, (edge, low), *body))


def _parts(design: Mapping[str, float]) -> tuple[Part]:
    rise = design["horn.aperture_radius"] - design["horn.step_radius"]
    slope = design["horn.flare"] / (design["horn.flare"] ** 2 + rise**2) ** 0.5
    return (wall_part(design, slope),)


FAMILY = Family(
    name="dual_mode_horn",
    title="A dual-mode horn: a step, a phasing section and a cone.",
    parameters=(
        *FEED,
        length("horn.step_radius", "Inner radius of the phasing section.", example='"6.5 mm"'),
        length("horn.phasing", "Length of the phasing section, from the step at z = 0.", example='"6 mm"'),
        length("horn.flare", "Length of the cone.", example='"30 mm"'),
        length("horn.aperture_radius", "Inner radius at the end of the cone.", example='"12 mm"'),
        length("horn.wall", "Thickness of the wall along r, and of the step's plate.", example='"1 mm"'),
    ),
    scene=partial(scene_of, _section),
    size=_size,
    outline=partial(outline_of, _section),
    limits=(
        AtLeast(name="horn.step_radius", least="feed.inner_radius", problem="makes the step narrower than the feed"),
        AtLeast(name="horn.aperture_radius", least="horn.step_radius", problem="is smaller than the phasing section"),
        AtLeast(name="feed.length", least="horn.wall", problem="is shorter than the step's plate is thick"),
    ),
    carries=(Carries(name="horn.step_radius", mode="TM11", without="the step makes no second mode"),),
    parts=_parts,
    orders=Orders(s11=2.49, pattern=4.82, efficiency=4.82, source=FITTED_TO_OUTLINES),
)
