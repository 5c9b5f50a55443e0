"""An open waveguide with choke rings round its mouth: a feed for deep reflectors.

The slots are rings about the tube that open along +z; the first one lies on the tube. A quarter of a wavelength deep,
they take the current from the outside of the tube: E and H plane become alike and little is radiated backwards.

References:
    Wohlleben, Mattes and Lochner, "Simple small primary feed for large opening angles and high aperture efficiency",
    Electron. Lett. 8 (1972) 474.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from antennaopt.families.family import Designs, Family
from antennaopt.families.parameters import FEED, FITTED_TO_OUTLINES, Orders, Parameter, Part, length
from antennaopt.families.profiles import feed_behind, joined, outline_of, rims_of, ring_slots, scene_of
from fdtd.axisymmetric.scene import Rim

MOST_RINGS = 20


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    rings = np.rint(designs["rings.count"]) * (designs["rings.width"] + designs["rings.tooth"])
    return designs["feed.outer_radius"] + rings, np.zeros_like(rings)


def _section(designs: Designs) -> tuple[np.ndarray, tuple[Rim, ...]]:
    mouth, count = -designs["rings.set_back"], np.rint(designs["rings.count"])
    *tube, (edge, end) = feed_behind(designs)
    sizes = designs["rings.width"], designs["rings.depth"], designs["rings.tooth"]
    r, z = ring_slots(edge, mouth, count, sizes)
    back = mouth - designs["rings.depth"] - designs["rings.wall"]
    # From the plate's back round the last tooth and through the slots to the first one's bottom, on the tube.
    body = (edge, back), (r[:, -1], back), (r[:, :0:-1], z[:, :0:-1])
    return joined(*body), rims_of(joined(*tube, *body, (edge, end)))


def _parts(design: Mapping[str, float]) -> Iterator[Part]:
    for name, metal in (("tooth", True), ("wall", True), ("width", False)):
        yield Part(what=f"rings.{name}", thickness=design[f"rings.{name}"], metal=metal)


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    back, depth, wall = (design[f"rings.{name}"] for name in ("set_back", "depth", "wall"))
    behind = back + depth + wall
    if behind > design["feed.length"] + 1e-12:
        yield (
            f"rings.depth = {depth * 1e3:.4g} mm with rings.set_back = {back * 1e3:.4g} mm and rings.wall = "
            f"{wall * 1e3:.4g} mm reaches {behind * 1e3:.4g} mm behind the mouth (must be <= antenna.feed.length = "
            f"{design['feed.length'] * 1e3:.4g} mm); lower one of them or lengthen the feed"
        )


FAMILY = Family(
    name="choke_ring_feed",
    title="An open waveguide with choke rings round its mouth.",
    parameters=(
        *FEED,
        Parameter(
            name="rings.count", about="Number of rings.", example="3", kind="integer", lowest=1.0, highest=MOST_RINGS
        ),
        length("rings.depth", "Depth of the rings.", example='"2.8 mm"'),
        length("rings.width", "Width of a ring, from tooth to tooth.", example='"1.6 mm"'),
        length("rings.tooth", "Thickness of the tooth after each ring.", example='"0.6 mm"'),
        length("rings.wall", "Thickness of the plate behind the rings.", example='"0.6 mm"'),
        Parameter(
            name="rings.set_back", about="From the rings' openings to the waveguide's mouth in front of them.",
            example='"1 mm"', unit="m", default=0.0, highest=1000.0,
        ),
    ),
    scene=partial(scene_of, _section),
    size=_size,
    outline=partial(outline_of, _section),
    faults=_faults,
    parts=_parts,
    orders=Orders(s11=6.0, pattern=6.0, efficiency=6.0, source=FITTED_TO_OUTLINES),
)  # fmt: skip
