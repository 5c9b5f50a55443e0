"""A rectangular microstrip patch on a grounded substrate, fed by a probe, by an inset line or at its edge.

The patch is centred on the axis, resonates along x (its length), and radiates towards +z with E along x. The ground is
z = 0. A line leaves the edge at x = -length/2 and ends in the port.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.constants import c, epsilon_0, mu_0

from antennaopt.families.family import Designs, Family
from antennaopt.families.parameters import Parameter, choice, length, length_left_out, material
from antennaopt.families.spatial import Board, Measure, Port, Rectangle, Sheet, Slab, Spatial
from antennaopt.quantities import format_length

PROBE, INSET, EDGE = 0, 1, 2
_ALL_FEEDS = ("probe", "inset", "edge")

SUBSTRATE = (
    *material("substrate"),
    length("substrate.thickness", "Height of the patch over the ground.", example='"1.57 mm"'),
    length_left_out(
        "substrate.margin",
        "Width of substrate and ground beyond the metal of patch and line, on all sides.",
        example='"8 mm"',
    ),
    length_left_out(
        "substrate.length",
        "Length of substrate and ground along x, in place of `margin`; the patch is in their middle.",
        example='"30 mm"',
    ),
    length_left_out(
        "substrate.width",
        "Width of substrate and ground along y, in place of `margin`.",
        example='"30 mm"',
    ),
)
PATCH = (
    length("patch.length", "Length along x, which resonates.", example='"16.2 mm"'),
    length("patch.width", "Width along y.", example='"20.4 mm"'),
)
KIND = replace(choice("feed.kind", "How it is fed.", *_ALL_FEEDS), example='"probe"')
RESISTANCE = Parameter(
    name="feed.resistance",
    about="Resistance of the source and reference of S11, ohm.",
    example="50",
    default=50.0,
    lowest=1.0,
    highest=1000.0,
)
OFFSET = length("feed.offset", "Distance of the probe from the patch's centre, towards +x.", example='"3.6 mm"')
LINE = (
    length("feed.line_width", "Width of the line.", example='"4.8 mm"'),
    length("feed.line_length", "Length of the line from the patch's edge to the port.", example='"8 mm"'),
)
INSETS = (
    length("feed.inset_depth", "How far the line reaches into the patch.", example='"5 mm"'),
    length("feed.inset_gap", "Gap between the line and the patch on both sides of the inset.", example='"1 mm"'),
)


def _board(design: Mapping[str, float]) -> Board:
    """Return sheets, slab and port of one design."""
    long, wide, height = design["patch.length"], design["patch.width"], design["substrate.thickness"]
    word = round(design.get("feed.kind", PROBE))
    reach = 0.0 if word == PROBE else design["feed.line_length"]
    metal = Rectangle(x=(-long / 2 - reach, long / 2), y=(-wide / 2, wide / 2))
    face = _face(design, metal)
    ground = Sheet(name="ground", z=0.0, rectangles=(face,))
    top = Sheet(name="patch", z=height, rectangles=_top(design, word))
    slab = Slab(
        name="substrate",
        face=face,
        z=(0.0, height),
        permittivity=design["substrate.permittivity"],
        loss_tangent=design.get("substrate.loss_tangent", 0.0),
    )
    x = design["feed.offset"] if word == PROBE else -long / 2 - reach
    port = Port(
        x=x,
        y=0.0,
        z=(0.0, height),
        resistance=design["feed.resistance"],
        width=0.0 if word == PROBE else design["feed.line_width"],
        what="probe" if word == PROBE else "line",
    )
    gap = ("feed.inset_gap", design["feed.inset_gap"]) if word == INSET else None
    return Board(sheets=(ground, top), slabs=(slab,), port=port, measures=_measures(design, word, face), gap=gap)


def _face(design: Mapping[str, float], metal: Rectangle) -> Rectangle:
    """Return the extent of substrate and ground."""
    if "substrate.margin" in design:
        margin = design["substrate.margin"]
        return Rectangle(x=(metal.x[0] - margin, metal.x[1] + margin), y=(metal.y[0] - margin, metal.y[1] + margin))
    long, wide = design.get("substrate.length", 0.0), design.get("substrate.width", 0.0)
    return Rectangle(x=(-long / 2, long / 2), y=(-wide / 2, wide / 2))


def _top(design: Mapping[str, float], word: int) -> tuple[Rectangle, ...]:
    """Return the metal on the substrate: the patch, and the line that leaves it."""
    long, wide = design["patch.length"], design["patch.width"]
    if word == PROBE:
        return (Rectangle(x=(-long / 2, long / 2), y=(-wide / 2, wide / 2)),)
    half, start = design["feed.line_width"] / 2, -long / 2 - design["feed.line_length"]
    depth = design["feed.inset_depth"] if word == INSET else 0.0
    body = Rectangle(x=(-long / 2 + depth, long / 2), y=(-wide / 2, wide / 2))
    line = Rectangle(x=(start, -long / 2 + depth), y=(-half, half))
    if word == EDGE:
        return body, line
    edge = half + design["feed.inset_gap"]
    arms = (Rectangle(x=(-long / 2, -long / 2 + depth), y=span) for span in ((-wide / 2, -edge), (edge, wide / 2)))
    return (body, line, *arms)


def _measures(design: Mapping[str, float], word: int, face: Rectangle) -> tuple[Measure, ...]:
    long, wide, height = design["patch.length"], design["patch.width"], design["substrate.thickness"]
    low = -wide / 2
    found = [
        Measure(name="patch.length", start=(-long / 2, low), stop=(long / 2, low)),
        Measure(name="patch.width", start=(long / 2, -wide / 2), stop=(long / 2, wide / 2)),
        Measure(name="substrate.length", start=(face.x[0], face.y[0]), stop=(face.x[1], face.y[0])),
        Measure(name="substrate.width", start=(face.x[1], face.y[0]), stop=(face.x[1], face.y[1])),
        Measure(name="substrate.thickness", start=(face.x[1], 0.0), stop=(face.x[1], height), section=True),
    ]
    if word == PROBE:
        found.append(Measure(name="feed.offset", start=(0.0, 0.0), stop=(design["feed.offset"], 0.0)))
        return tuple(found)
    half, start = design["feed.line_width"] / 2, -long / 2 - design["feed.line_length"]
    found += [
        Measure(name="feed.line_length", start=(start, half), stop=(-long / 2, half)),
        Measure(name="feed.line_width", start=(start, -half), stop=(start, half)),
    ]
    if word == INSET:
        depth, edge = design["feed.inset_depth"], half + design["feed.inset_gap"]
        found += [
            Measure(name="feed.inset_depth", start=(-long / 2, edge), stop=(-long / 2 + depth, edge)),
            Measure(name="feed.inset_gap", start=(-long / 2, half), stop=(-long / 2, edge)),
        ]
    return tuple(found)


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return radius and height of the cylinder about the axis that holds each board."""
    count = len(designs["patch.length"])
    radii = []
    for at in range(count):
        x, y, _ = _board({name: float(values[at]) for name, values in designs.items()}).extent
        radii.append(math.hypot(max(map(abs, x)), max(map(abs, y))))
    return np.array(radii), np.asarray(designs["substrate.thickness"], dtype=float)


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    long, wide = design["patch.length"], design["patch.width"]
    word = round(design.get("feed.kind", PROBE))
    sized = [name for name in ("length", "width") if f"substrate.{name}" in design]
    if "substrate.margin" in design and sized:
        yield f"substrate has both margin and {sized[0]}, which exclude each other; remove one"
    elif "substrate.margin" not in design and len(sized) < 2:
        yield 'substrate has no size; give margin = "8 mm", or length and width'
    else:
        yield from _too_small(design, word)
    if word == PROBE:
        if design["feed.offset"] >= long / 2:
            yield (
                f"feed.offset = {format_length(design['feed.offset'])} puts the probe outside the patch "
                f"(must be < patch.length / 2 = {format_length(long / 2)}); lower it or lengthen the patch"
            )
        return
    if design["feed.line_width"] > wide:
        yield (
            f"feed.line_width = {format_length(design['feed.line_width'])} is wider than the patch "
            f"(must be <= patch.width = {format_length(wide)}); narrow it"
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


def _too_small(design: Mapping[str, float], word: int) -> Iterator[str]:
    """Refuse a ground that the metal over it reaches out of."""
    if "substrate.margin" in design:
        return
    line = 0.0 if word == PROBE else design["feed.line_length"]
    needs = (("length", design["patch.length"] + 2 * line), ("width", design["patch.width"]))
    for name, least in needs:
        if design[f"substrate.{name}"] < least * (1 - 1e-9):
            over = " and the line on both sides of it" if line and name == "length" else ""
            yield (
                f"substrate.{name} = {format_length(design[f'substrate.{name}'])} is smaller than the patch{over} "
                f"(must be >= {format_length(least)}); enlarge it"
            )


def line_width(permittivity: float, thickness: float, resistance: float) -> float:
    """Return the width of a microstrip line of a wave resistance, m.

    Args:
        permittivity: Of the substrate.
        thickness: Of it, m.
        resistance: Wave resistance, ohm.

    References:
        Hammerstad, as in Pozar, Microwave Engineering, 4th ed., eq. 3.197.
    """
    a = resistance / 60 * math.sqrt((permittivity + 1) / 2)
    a += (permittivity - 1) / (permittivity + 1) * (0.23 + 0.11 / permittivity)
    narrow = 8 * math.exp(a) / (math.exp(2 * a) - 2)
    if 0 < narrow <= 2:  # below 0 for the widest lines, where the formula does not hold
        return narrow * thickness
    b = math.pi * math.sqrt(mu_0 / epsilon_0) / (2 * resistance * math.sqrt(permittivity))
    wide = b - 1 - math.log(2 * b - 1)
    wide += (permittivity - 1) / (2 * permittivity) * (math.log(b - 1) + 0.39 - 0.61 / permittivity)
    return 2 / math.pi * wide * thickness


def effective_permittivity(permittivity: float, thickness: float, width: float) -> float:
    """Return the effective permittivity of a microstrip line.

    References:
        Balanis, Antenna Theory, 4th ed., eq. 14-1.
    """
    return (permittivity + 1) / 2 + (permittivity - 1) / 2 / math.sqrt(1 + 12 * thickness / width)


def fringe(permittivity: float, thickness: float, width: float) -> float:
    """Return how much longer than its metal a patch is at each end, m; `permittivity` is the effective one.

    References:
        Hammerstad; Balanis, Antenna Theory, 4th ed., eq. 14-2.
    """
    ratio = width / thickness
    return 0.412 * thickness * (permittivity + 0.3) * (ratio + 0.264) / ((permittivity - 0.258) * (ratio + 0.8))


def edge_resistance(length_m: float, width: float, frequency: float) -> float:
    """Return the resonant resistance at the edge of a patch, ohm, by the conductances of its two slots.

    References:
        Balanis, Antenna Theory, 4th ed., eqs. 14-12, 14-18 and 14-17 (with the mutual conductance).
    """
    from scipy.integrate import quad
    from scipy.special import j0

    k = 2 * math.pi * frequency / c

    def slot(angle: float) -> float:
        half = k * width / 2 * math.cos(angle)
        return (k * width / 2 * float(np.sinc(half / math.pi))) ** 2 * math.sin(angle) ** 3

    own = quad(slot, 0, math.pi)[0] / (120 * math.pi**2)
    mutual = quad(lambda angle: slot(angle) * j0(k * length_m * math.sin(angle)), 0, math.pi)[0] / (120 * math.pi**2)
    return 1 / (2 * (own + mutual))


def _start(design: Mapping[str, float], frequency: float) -> dict[str, float]:
    """Return a patch by the transmission-line model, from substrate, kind of feed and its resistance.

    References:
        Balanis, Antenna Theory, 4th ed., section 14.2: eqs. 14-6 (width), 14-1, 14-2, 14-7 (length), 14-20a (inset).
    """
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


def _variant(feed: Sequence[Parameter]) -> Family:
    return Family(
        name="patch",
        title="A rectangular microstrip patch on a grounded substrate, fed by a probe, an inset line or at its edge.",
        parameters=(*SUBSTRATE, *PATCH, KIND, *feed, RESISTANCE),
        size=_size,
        faults=_faults,
        spatial=Spatial(board=_board, start=_start, author="balanis"),
        varies_by="feed.kind",
    )


_VARIANTS = tuple(_variant(feed) for feed in ((OFFSET,), (*INSETS, *LINE), LINE))

FAMILY = Family(
    name="patch",
    title=_VARIANTS[PROBE].title,
    parameters=_VARIANTS[PROBE].parameters,
    size=_size,
    faults=_faults,
    spatial=_VARIANTS[PROBE].spatial,
    varies_by="feed.kind",
    variants=_VARIANTS,
)
