"""A pyramidal horn on a rectangular guide with TE10: straight walls from the guide to a rectangular aperture.

The guide ends in the plane z = 0, where the flare begins; the aperture is z = `horn.length`. E is along x: widths, the
broad sides, are along y, in the H plane, and heights along x, in the E plane. Where width or height does not grow, the
horn is sectoral.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from scipy.constants import c

from antennaopt.families.family import Designs, Family
from antennaopt.families.narrow import ACROSS_GUIDE, LAYER, narrow
from antennaopt.families.parameters import length, length_left_out
from antennaopt.families.spatial import Board, Guide, Measure, Spatial, Tube
from antennaopt.families.substrates import cylinders, each
from antennaopt.quantities import format_length

GUIDE = (
    length("feed.width", "Inside width of the guide, its broad side, along y.", example='"22.86 mm"'),
    length("feed.height", "Inside height of the guide along x, the direction of E.", example='"10.16 mm"'),
    length_left_out(
        "feed.length",
        "Length of the guide in drawings and solids. The solver's guide has no end.",
        example='"30 mm"',
    ),
)
HORN = (
    length("horn.length", "Length of the flare along z.", example='"60 mm"'),
    length("horn.width", "Inside width of the aperture along y, in the H plane.", example='"55 mm"'),
    length("horn.height", "Inside height of the aperture along x, in the E plane.", example='"42 mm"'),
    length("horn.wall", "Thickness of all walls, along x and y.", example='"1.27 mm"'),
)

NARROW = (*narrow(ACROSS_GUIDE, "feed.height"), *narrow(LAYER, "horn.length"))


def _board(design: Mapping[str, float]) -> Board:
    """Return walls and port of one design."""
    wide, high = design["feed.width"] / 2, design["feed.height"] / 2
    across, up = design["horn.width"] / 2, design["horn.height"] / 2
    guide, flare, wall = design.get("feed.length", 0.0), design["horn.length"], design["horn.wall"]
    behind = (-guide,) if guide else ()
    horn = Tube(
        name="horn",
        z=(*behind, 0.0, flare),
        x=(*[high] * len(behind), high, up),
        y=(*[wide] * len(behind), wide, across),
        wall=wall,
    )
    measures = [
        Measure(name="feed.height", start=(-high, wide), stop=(high, wide)),
        Measure(name="feed.width", start=(-high, -wide), stop=(-high, wide)),
        Measure(name="horn.height", start=(-up, -across), stop=(up, -across)),
        Measure(name="horn.width", start=(up, -across), stop=(up, across)),
        Measure(name="horn.length", start=(up + wall, 0.0), stop=(up + wall, flare), section=True),
    ]
    if guide:
        measures.append(Measure(name="feed.length", start=(-up - wall, -guide), stop=(-up - wall, 0.0), section=True))
    port = Guide(width=design["feed.width"], height=design["feed.height"])
    return Board(sheets=(), slabs=(), tubes=(horn,), port=port, measures=tuple(measures))


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return radius and height of the cylinder about the axis that holds each antenna."""
    return cylinders([_board(design) for design in each(designs)])


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    wide, high = design["feed.width"], design["feed.height"]
    if high >= wide:
        yield (
            f"feed.height = {format_length(high)} is not below feed.width = {format_length(wide)}: TE10 with E along x "
            "would not be the guide's first mode; lower it"
        )
    for side in ("width", "height"):
        if design[f"horn.{side}"] < design[f"feed.{side}"] * (1 - 1e-9):
            yield (
                f"horn.{side} = {format_length(design[f'horn.{side}'])} is smaller than the guide "
                f"(must be >= feed.{side} = {format_length(design[f'feed.{side}'])}); widen it"
            )


def _mouth(design: Mapping[str, float]) -> float:
    """Return the inside area of the aperture."""
    return design["horn.width"] * design["horn.height"]


def _start(design: Mapping[str, float], frequency: float) -> dict[str, float]:
    """Return the aperture of the optimum horn of the design's length at a frequency.

    With the distance R = L B / (B - b) from the apex of a plane's walls to the aperture, the largest gain is at
    B^2 = 2 lam R in the E plane, and at A^2 = 3 lam R in the H plane.

    References:
        Balanis, Antenna Theory, 4th ed., sec. 13.4.3, where R is along the wall.
    """
    found = {}
    for side, factor in (("height", 2.0), ("width", 3.0)):
        start = design[f"feed.{side}"]
        found[f"horn.{side}"] = (start + math.sqrt(start**2 + 4 * factor * c / frequency * design["horn.length"])) / 2
    return found


FAMILY = Family(
    name="pyramidal_horn",
    title="A pyramidal horn on a rectangular guide with TE10.",
    parameters=(*GUIDE, *HORN),
    size=_size,
    faults=_faults,
    spatial=Spatial(board=_board, start=_start, author="balanis", narrow=NARROW, mouth=_mouth),
)
