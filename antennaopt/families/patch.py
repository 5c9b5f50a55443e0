"""A rectangular microstrip patch on a grounded substrate, fed by a probe, by an inset line or at its edge.

The patch is centred on the axis, resonates along x (its length), and radiates towards +z with E along x. The ground is
z = 0. A line leaves the edge at x = -length/2 and ends in the port.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.constants import c, epsilon_0

from antennaopt.families.family import Designs, Family
from antennaopt.families.microstrip import edge_resistance, effective_permittivity, fringe, line_width
from antennaopt.families.narrow import GAP, STRIP, narrow
from antennaopt.families.parameters import Parameter, choice, length, length_left_out
from antennaopt.families.spatial import Board, Measure, Port, Rectangle, Sheet, Spatial
from antennaopt.families.substrates import (
    LINE,
    NARROW_ON_SUBSTRATES,
    OFFSET,
    RADIUS,
    RESISTANCE,
    SUBSTRATE,
    centred,
    cylinders,
    each,
    face_of,
    grounded,
    line_fault,
    measures_of,
    measures_of_line,
    probe_fault,
    size_faults,
)
from antennaopt.quantities import format_length

PROBE, INSET, EDGE = 0, 1, 2
_SETTLED = 20
"""Steps after which the side of a square patch, which its fringe depends on, changes no more."""
_LEAST_SQUARE = 0.1
"""Half of the largest difference of the sides of a nearly square patch, over their mean: of quality factors above 5."""
_ALL_FEEDS = ("probe", "inset", "edge")

PATCH = (
    length("patch.length", "Length along x, which resonates.", example='"16.2 mm"'),
    length("patch.width", "Width along y.", example='"20.4 mm"'),
)
KIND = replace(choice("feed.kind", "How it is fed.", *_ALL_FEEDS), example='"probe"')
LINE_OFFSET = length_left_out(
    "feed.line_offset", "Distance of an edge feed's line from the patch's middle, towards +y.", example='"3 mm"'
)
ACROSS = length_left_out(
    "feed.across",
    "Distance of the probe from the patch's centre, towards +y, for circular polarisation.",
    example='"3 mm"',
)
INSETS = (
    length("feed.inset_depth", "How far the line reaches into the patch.", example='"5 mm"'),
    length("feed.inset_gap", "Gap between the line and the patch on both sides of the inset.", example='"1 mm"'),
)
_NARROW = (
    *narrow(GAP, "feed.inset_gap"),
    *narrow(STRIP, "patch.length", "patch.width", "feed.inset_depth"),
)


def _board(design: Mapping[str, float]) -> Board:
    """Return sheets, slab and port of one design."""
    long, wide, height = design["patch.length"], design["patch.width"], design["substrate.thickness"]
    word = round(design.get("feed.kind", PROBE))
    reach = 0.0 if word == PROBE else design["feed.line_length"]
    face = face_of(design, Rectangle(x=(-long / 2 - reach, long / 2), y=(-wide / 2, wide / 2)))
    ground, slab = grounded(design, face)
    top = Sheet(name="patch", z=height, rectangles=_top(design, word))
    x = design["feed.offset"] if word == PROBE else -long / 2 - reach
    port = Port(
        x=x,
        y=design.get("feed.across" if word == PROBE else "feed.line_offset", 0.0),
        z=(0.0, height),
        resistance=design["feed.resistance"],
        width=0.0 if word == PROBE else design["feed.line_width"],
        what="probe" if word == PROBE else "line",
        radius=design.get("feed.radius", 0.0),
    )
    return Board(
        sheets=(ground, top),
        slabs=(slab,),
        port=port,
        measures=_measures(design, word, face),
        symmetric=not {LINE_OFFSET.name, ACROSS.name} & set(design),
    )


def _top(design: Mapping[str, float], word: int) -> tuple[Rectangle, ...]:
    """Return the metal on the substrate: the patch, and the line that leaves it."""
    long, wide = design["patch.length"], design["patch.width"]
    if word == PROBE:
        return (centred(long, wide),)
    half, start = design["feed.line_width"] / 2, -long / 2 - design["feed.line_length"]
    depth = design["feed.inset_depth"] if word == INSET else 0.0
    body = Rectangle(x=(-long / 2 + depth, long / 2), y=(-wide / 2, wide / 2))
    aside = design.get("feed.line_offset", 0.0)
    line = Rectangle(x=(start, -long / 2 + depth), y=(aside - half, aside + half))
    if word == EDGE:
        return body, line
    edge = half + design["feed.inset_gap"]
    arms = (Rectangle(x=(-long / 2, -long / 2 + depth), y=span) for span in ((-wide / 2, -edge), (edge, wide / 2)))
    return (body, line, *arms)


def _measures(design: Mapping[str, float], word: int, face: Rectangle) -> tuple[Measure, ...]:
    long, wide = design["patch.length"], design["patch.width"]
    low = -wide / 2
    found = [
        Measure(name="patch.length", start=(-long / 2, low), stop=(long / 2, low)),
        Measure(name="patch.width", start=(long / 2, -wide / 2), stop=(long / 2, wide / 2)),
        *measures_of(design, face),
    ]
    if word == PROBE:
        x, y = design["feed.offset"], design.get("feed.across", 0.0)
        found.append(Measure(name="feed.offset", start=(0.0, 0.0), stop=(x, 0.0)))
        found += [Measure(name="feed.across", start=(x, 0.0), stop=(x, y))] if y else []
        return tuple(found)
    found += measures_of_line(design, -long / 2)
    if design.get("feed.line_offset"):
        place = (-long / 2 - design["feed.line_length"], design["feed.line_offset"])
        found.append(Measure(name="feed.line_offset", start=(place[0], 0.0), stop=place))
    if word == INSET:
        half = design["feed.line_width"] / 2
        depth, edge = design["feed.inset_depth"], half + design["feed.inset_gap"]
        found += [
            Measure(name="feed.inset_depth", start=(-long / 2, edge), stop=(-long / 2 + depth, edge)),
            Measure(name="feed.inset_gap", start=(-long / 2, half), stop=(-long / 2, edge)),
        ]
    return tuple(found)


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return radius and height of the cylinder about the axis that holds each board."""
    return cylinders([_board(design) for design in each(designs)])


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    long, wide = design["patch.length"], design["patch.width"]
    word = round(design.get("feed.kind", PROBE))
    yield from size_faults(design, (long, wide), 0.0 if word == PROBE else design["feed.line_length"])
    off = probe_fault(design, "patch", "patch") if word == PROBE else line_fault(design, "patch", "patch.width")
    if off is not None:
        yield off
    across, pin = design.get("feed.across", 0.0), design.get("feed.radius", 0.0)
    if across and across + pin >= wide / 2:
        yield (
            f"feed.across = {format_length(across)} puts the probe outside the patch (with its radius it must be < "
            f"patch.width / 2 = {format_length(wide / 2)}); lower it or widen the patch"
        )
    if word == INSET:
        slot = design["feed.line_width"] + 2 * design["feed.inset_gap"]
        if slot >= wide:
            yield (
                f"feed.inset_gap = {format_length(design['feed.inset_gap'])} leaves no patch next to the inset: line "
                f"and gaps take {format_length(slot)} (must be < patch.width = {format_length(wide)}); narrow them"
            )
        if design["feed.inset_depth"] >= long:
            yield (
                f"feed.inset_depth = {format_length(design['feed.inset_depth'])} cuts the patch in two "
                f"(must be < patch.length = {format_length(long)}); lower it"
            )


def closed_form(design: Mapping[str, float], frequency: float) -> dict[str, float]:
    """Return a patch by the transmission-line model, from substrate, kind of feed and its resistance.

    One with a probe off both centre lines is nearly square, for circular polarisation; which side of the given design
    is longer decides the sense.

    References:
        Balanis, Antenna Theory, 4th ed., section 14.2: eqs. 14-6 (width), 14-1, 14-2, 14-7 (length), 14-20a (inset).
    """
    if ACROSS.name in design:
        return _nearly_square(design, frequency)
    permittivity, thickness = design["substrate.permittivity"], design["substrate.thickness"]
    resistance = design.get("feed.resistance", 50.0)
    width = c / (2 * frequency) * math.sqrt(2 / (permittivity + 1))
    effective = effective_permittivity(permittivity, thickness, width)
    long = c / (2 * frequency * math.sqrt(effective)) - 2 * fringe(effective, thickness, width)
    edge = edge_resistance(long, width, frequency)
    depth = long / math.pi * math.acos(math.sqrt(min(resistance / edge, 1.0)))
    line = line_width(permittivity, thickness, resistance)
    return {
        "patch.length": long,
        "patch.width": width,
        "feed.offset": max(long / 2 - depth, long / 100),
        "feed.inset_depth": max(depth, long / 100),
        "feed.inset_gap": line / 4,
        "feed.line_width": line,
        "feed.line_length": c / (4 * frequency * math.sqrt(effective)),
    }


def _nearly_square(design: Mapping[str, float], frequency: float) -> dict[str, float]:
    """Return a patch whose two modes, along x and y, are 45 degrees ahead and behind, with its probe on the diagonal.

    Each mode has half of its resistance there, and both together the resistance of one. The sides differ by 1 / Q. The
    mode of the longer side is behind: E turns from the shorter to the longer side's direction. So a patch with a probe
    at x, y > 0 is right-handed where its width is larger, else left-handed.

    Q = pi f eps L^2 R / thickness is that of the cavity, E = V / thickness cos(pi x / L), with the power V^2 / (2 R) of
    the resistance R at the edge.

    References:
        Balanis, Antenna Theory, 4th ed., section 14.7: eqs. 14-79, 14-80 (sides and Q).
    """
    permittivity, thickness = design["substrate.permittivity"], design["substrate.thickness"]
    side = c / (2 * frequency * math.sqrt(permittivity))
    for _ in range(_SETTLED):
        effective = effective_permittivity(permittivity, thickness, side)
        side = c / (2 * frequency * math.sqrt(effective)) - 2 * fringe(effective, thickness, side)
    edge = edge_resistance(side, side, frequency)
    quality = math.pi * frequency * epsilon_0 * permittivity * side**2 * edge / thickness
    apart = min(0.5 / quality, _LEAST_SQUARE)
    longer, shorter = side * (1 + apart), side * (1 - apart)
    depth = side / math.pi * math.acos(math.sqrt(min(design.get("feed.resistance", 50.0) / edge, 1.0)))
    offset = max(side / 2 - depth, side / 100)
    made = {"patch.length": longer, "patch.width": shorter, "feed.offset": offset, "feed.across": offset}
    right = design.get("patch.width", 1.0) > design.get("patch.length", 0.0)
    return _turned(made, "rhcp" if right else "lhcp")


def _turned(made: Mapping[str, float], polarisation: str) -> dict[str, float]:
    """Return a nearly square patch with the sides that give a sense."""
    if ACROSS.name not in made:
        return dict(made)
    shorter, longer = sorted((made["patch.length"], made["patch.width"]))
    length, width = (shorter, longer) if polarisation == "rhcp" else (longer, shorter)
    return {**made, "patch.length": length, "patch.width": width}


def _variant(feed: Sequence[Parameter]) -> Family:
    return Family(
        name="patch",
        title="A rectangular microstrip patch on a grounded substrate, fed by a probe, an inset line or at its edge.",
        parameters=(*SUBSTRATE, *PATCH, KIND, *feed, RESISTANCE),
        size=_size,
        faults=_faults,
        spatial=Spatial(
            board=_board,
            start=closed_form,
            author="balanis",
            narrow=(*NARROW_ON_SUBSTRATES, *_NARROW),
            turned=_turned,
        ),
        varies_by="feed.kind",
    )


_VARIANTS = tuple(_variant(feed) for feed in ((OFFSET, ACROSS, RADIUS), (*INSETS, *LINE), (*LINE, LINE_OFFSET)))

FAMILY = replace(_VARIANTS[PROBE], variants=_VARIANTS)
