"""A microstrip line below a ground, coupled through a slot: parameters, metal, drawing, limits, closed forms.

The ground is z = 0 and the substrate is below it. The line runs along x, crosses the slot's middle at a right angle and
ends in an open stub beyond it. The port is at its other end, between line and ground, as those of a patch's lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from scipy.constants import c

from antennaopt.families.microstrip import effective_permittivity, fringe, line_width
from antennaopt.families.narrow import GAP, LAYER, STRIP, narrow
from antennaopt.families.parameters import length, length_left_out, material
from antennaopt.families.spatial import Measure, Port, Rectangle, Sheet, Slab
from antennaopt.quantities import format_length

SUBSTRATE = (
    *material("substrate"),
    length("substrate.thickness", "Thickness between the ground and the line below it.", example='"0.8 mm"'),
)
SLOT = (
    length("feed.slot_length", "Length of the slot along y.", example='"8.7 mm"'),
    length("feed.slot_width", "Width of the slot along x.", example='"1.7 mm"'),
    length_left_out("feed.slot_offset", "Distance of the slot's middle from the axis, towards +x.", example='"1 mm"'),
    length("feed.stub_length", "Length of the line beyond the slot's middle, to its open end.", example='"8 mm"'),
    length("feed.line_width", "Width of the line.", example='"1.9 mm"'),
    length("feed.line_length", "Length of the line from the port to the slot's middle.", example='"12 mm"'),
)
NARROW_IN_SLOTS = (
    *narrow(LAYER, "substrate.thickness"),
    *narrow(GAP, "feed.slot_length", "feed.slot_width"),
    *narrow(STRIP, "feed.line_width"),
)
_WIDE = 0.2
"""Width of a slot over its length."""


def slotted(design: Mapping[str, float], face: Rectangle) -> Sheet:
    """Return the ground of an extent with the slot: what is on its four sides."""
    at, half, end = design.get("feed.slot_offset", 0.0), design["feed.slot_width"] / 2, design["feed.slot_length"] / 2
    low, high = at - half, at + half
    spans = (
        ((face.x[0], low), face.y),
        ((high, face.x[1]), face.y),
        ((low, high), (face.y[0], -end)),
        ((low, high), (end, face.y[1])),
    )
    return Sheet(name="ground", z=0.0, rectangles=tuple(Rectangle(x=x, y=y) for x, y in spans))


def line_below(design: Mapping[str, float], face: Rectangle) -> tuple[Slab, Sheet, Port]:
    """Return the substrate of an extent, the line below it and the line's port."""
    at, under = design.get("feed.slot_offset", 0.0), -design["substrate.thickness"]
    start, half = at - design["feed.line_length"], design["feed.line_width"] / 2
    slab = Slab(
        name="substrate",
        face=face,
        z=(under, 0.0),
        permittivity=design["substrate.permittivity"],
        loss_tangent=design.get("substrate.loss_tangent", 0.0),
    )
    strip = Rectangle(x=(start, at + design["feed.stub_length"]), y=(-half, half))
    port = Port(
        x=start, y=0.0, z=(under, 0.0), resistance=design["feed.resistance"], width=2 * half, what="line"
    )  # fmt: skip
    return slab, Sheet(name="line", z=under, rectangles=(strip,)), port


def measures_of_slot(design: Mapping[str, float], face: Rectangle) -> tuple[Measure, ...]:
    """Return the lengths of slot, line and substrate for drawings."""
    at, half, end = design.get("feed.slot_offset", 0.0), design["feed.slot_width"] / 2, design["feed.slot_length"] / 2
    start, side, stop = at - design["feed.line_length"], design["feed.line_width"] / 2, at + design["feed.stub_length"]
    found = [
        Measure(name="feed.slot_length", start=(at - half, -end), stop=(at - half, end)),
        Measure(name="feed.slot_width", start=(at - half, end), stop=(at + half, end)),
        Measure(name="feed.stub_length", start=(at, side), stop=(stop, side)),
        Measure(name="feed.line_width", start=(start, -side), stop=(start, side)),
        Measure(name="feed.line_length", start=(start, side), stop=(at, side)),
        Measure(
            name="substrate.thickness",
            start=(face.x[0], -design["substrate.thickness"]),
            stop=(face.x[0], 0.0),
            section=True,
        ),
    ]
    if at:
        found.append(Measure(name="feed.slot_offset", start=(0.0, 0.0), stop=(at, 0.0)))
    return tuple(found)


def slot_faults(design: Mapping[str, float]) -> Iterator[str]:
    """Yield what is wrong with slot and line on the ground `ground.length` x `ground.width`."""
    long, wide = design["ground.length"] / 2, design["ground.width"]
    at, width = design.get("feed.slot_offset", 0.0), design["feed.slot_width"]
    line, stub = design["feed.line_length"], design["feed.stub_length"]
    named = {name: f"feed.{name} = {format_length(design[f'feed.{name}'])}" for name in ("slot_length", "slot_width",
             "stub_length", "line_length", "line_width")}  # fmt: skip
    if design["feed.slot_length"] >= wide:
        yield (
            f"{named['slot_length']} cuts the ground in two (must be < ground.width = {format_length(wide)}); "
            "shorten the slot or widen the ground"
        )
    if at + width / 2 >= long:
        yield (
            f"{named['slot_width']} takes the slot over the ground's end along x "
            f"(must be < {format_length(max(2 * (long - at), 0.0))} at this offset); narrow it or lengthen the ground"
        )
    if design["feed.line_width"] > wide:
        yield (
            f"{named['line_width']} is wider than the ground "
            f"(must be <= ground.width = {format_length(wide)}); narrow it"
        )
    for name, value in (("stub_length", stub), ("line_length", line)):
        if value <= width / 2:
            yield (
                f"{named[name]} ends the line inside the slot "
                f"(must be > feed.slot_width / 2 = {format_length(width / 2)}); lengthen it"
            )
    if at + stub > long * (1 + 1e-9):
        yield (
            f"{named['stub_length']} takes the stub over the ground's end "
            f"(must be <= {format_length(max(long - at, 0.0))}); shorten it or lengthen the ground"
        )
    if line - at > long * (1 + 1e-9):
        yield (
            f"{named['line_length']} takes the port over the ground's end "
            f"(must be <= {format_length(long + at)}); shorten it or lengthen the ground"
        )


def slot_start(design: Mapping[str, float], frequency: float) -> dict[str, float]:
    """Return slot and line by the usual first choices, from both permittivities, the thickness and the resistance.

    The slot has 0.4 wavelengths in the mean of both permittivities, a fifth of it as its width. The stub is a quarter
    of the line's wavelength, less what its open end seems longer by, so that the line is short-circuited at the slot.
    The port is as far from the slot.

    References:
        Slot and stub: Petosa, Dielectric Resonator Antenna Handbook, Artech House 2007, on aperture coupling, as it is
        usually quoted (not checked against the book). Line and open end: Balanis, Antenna Theory, 4th ed., eqs. 14-1
        and 14-2. Width of the line: Pozar, Microwave Engineering, 4th ed., eq. 3.197.
    """
    permittivity, thickness = design["substrate.permittivity"], design["substrate.thickness"]
    slot = 0.4 * c / frequency / math.sqrt((design["resonator.permittivity"] + permittivity) / 2)
    width = line_width(permittivity, thickness, design.get("feed.resistance", 50.0))
    effective = effective_permittivity(permittivity, thickness, width)
    quarter = c / (4 * frequency * math.sqrt(effective))
    return {
        "feed.slot_length": slot,
        "feed.slot_width": _WIDE * slot,
        "feed.slot_offset": 0.0,
        "feed.stub_length": quarter - fringe(effective, thickness, width),
        "feed.line_width": width,
        "feed.line_length": quarter,
    }
