"""A dielectric resonator, a cylinder or a block, on a ground of metal, fed by a pin through it or a slot in it.

The resonator is centred on the axis and stands on the ground, z = 0. The pin is at x = `feed.offset`, inside the
dielectric or next to it. The slot runs along y, and a microstrip line below the ground crosses it. Both excite the mode
of a magnetic dipole along y, which radiates towards +z with E along x.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.constants import c

from antennaopt.families.family import Designs, Family
from antennaopt.families.narrow import LAYER, narrow
from antennaopt.families.parameters import Parameter, choice, length, material
from antennaopt.families.slot_feed import (
    NARROW_IN_SLOTS,
    SLOT,
    SUBSTRATE,
    line_below,
    measures_of_slot,
    slot_faults,
    slot_start,
    slotted,
)
from antennaopt.families.spatial import Board, Cylinder, Measure, Port, Rectangle, Sheet, Slab, Spatial
from antennaopt.families.substrates import RESISTANCE, centred, cylinders, each
from antennaopt.quantities import format_length

CYLINDER, BLOCK = 0, 1
PIN_FEED, SLOT_FEED = 0, 1
NARROW = (*NARROW_IN_SLOTS, *narrow(LAYER, "resonator.height", "feed.height"))
_SOURCE = 8
"""The port takes this part of the pin, from the ground up."""

SHAPE = replace(choice("resonator.shape", "Its shape.", "cylinder", "block"), example='"cylinder"')
HEIGHT = length("resonator.height", "Height over the ground.", example='"7 mm"')
ROUND = (length("resonator.radius", "Radius.", example='"8 mm"'),)
SQUARE = (
    length("resonator.length", "Length along x.", example='"15 mm"'),
    length("resonator.width", "Width along y.", example='"15 mm"'),
)
GROUND = (
    length("ground.length", "Length of the ground along x.", example='"40 mm"'),
    length("ground.width", "Width of it along y.", example='"40 mm"'),
)
KIND = replace(choice("feed.kind", "How it is fed.", "probe", "slot"), example='"probe"')
PIN = (
    length("feed.offset", "Distance of the pin from the axis, towards +x.", example='"6 mm"'),
    length("feed.height", "Height of the pin over the ground; its lowest eighth is the port.", example='"5 mm"'),
)


def _is_round(design: Mapping[str, float]) -> bool:
    return round(design.get("resonator.shape", CYLINDER)) == CYLINDER


def _has_slot(design: Mapping[str, float]) -> bool:
    return round(design.get("feed.kind", PIN_FEED)) == SLOT_FEED


def _board(design: Mapping[str, float]) -> Board:
    """Return ground, resonator and feed of one design."""
    height = design["resonator.height"]
    about = {
        "name": "resonator",
        "z": (0.0, height),
        "permittivity": design["resonator.permittivity"],
        "loss_tangent": design.get("resonator.loss_tangent", 0.0),
    }
    face = centred(design["ground.length"], design["ground.width"])
    if _is_round(design):
        radius = design["resonator.radius"]
        across = [Measure(name="resonator.radius", start=(-radius, 0.0), stop=(0.0, 0.0))]
        slabs, rods = (), (Cylinder(radius=radius, **about),)
    else:
        body = centred(design["resonator.length"], design["resonator.width"])
        across = [
            Measure(name="resonator.length", start=(body.x[0], body.y[0]), stop=(body.x[1], body.y[0])),
            Measure(name="resonator.width", start=(body.x[1], body.y[0]), stop=(body.x[1], body.y[1])),
        ]
        slabs, rods = (Slab(face=body, **about),), ()
    measures = (
        *across,
        Measure(name="ground.length", start=(face.x[0], face.y[0]), stop=(face.x[1], face.y[0])),
        Measure(name="ground.width", start=(face.x[1], face.y[0]), stop=(face.x[1], face.y[1])),
        Measure(name="resonator.height", start=(face.x[1], 0.0), stop=(face.x[1], height), section=True),
    )
    if _has_slot(design):
        substrate, line, port = line_below(design, face)
        return Board(
            sheets=(slotted(design, face), line),
            slabs=(substrate, *slabs),
            rods=rods,
            port=port,
            measures=(*measures, *measures_of_slot(design, face)),
            symmetric=True,
        )
    ground = Sheet(name="ground", z=0.0, rectangles=(face,))
    port, own = _pin(design, face)
    return Board(sheets=(ground,), slabs=slabs, rods=rods, port=port, measures=(*measures, *own), symmetric=True)


def _pin(design: Mapping[str, float], face: Rectangle) -> tuple[Port, tuple[Measure, ...]]:
    """Return a pin and its lengths for drawings."""
    at, pin = design["feed.offset"], design["feed.height"]
    measures = (
        Measure(name="feed.offset", start=(0.0, 0.0), stop=(at, 0.0)),
        Measure(name="feed.height", start=(face.x[0], 0.0), stop=(face.x[0], pin), section=True),
    )
    return Port(x=at, y=0.0, z=(0.0, pin / _SOURCE), resistance=design["feed.resistance"], pin=pin), measures


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return radius and height of the cylinder about the axis that holds each antenna."""
    return cylinders([_board(design) for design in each(designs)])


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    is_round = _is_round(design)
    for side in ("length", "width"):
        name = "resonator.radius" if is_round else f"resonator.{side}"
        least = design[name] * (2 if is_round else 1)
        if design[f"ground.{side}"] < least * (1 - 1e-9):
            yield (
                f"ground.{side} = {format_length(design[f'ground.{side}'])} is smaller than the resonator "
                f"(must be >= {format_length(least)}); enlarge it"
            )
    if _has_slot(design):
        yield from slot_faults(design)
        half = design["resonator.radius"] if is_round else design["resonator.length"] / 2
        offset, reach = design.get("feed.slot_offset", 0.0), half + design["feed.slot_width"] / 2
        if offset >= reach:
            yield (
                f"feed.slot_offset = {format_length(offset)} puts the slot outside the resonator, which it then hardly "
                f"couples to (must be < {format_length(reach)}); lower it"
            )
    elif design["feed.offset"] >= design["ground.length"] / 2:
        yield (
            f"feed.offset = {format_length(design['feed.offset'])} puts the pin beyond the ground "
            f"(must be < ground.length / 2 = {format_length(design['ground.length'] / 2)}); lower it"
        )


def resonance(design: Mapping[str, float]) -> float:
    """Return the resonance of the mode of a magnetic dipole along y, Hz, by closed forms: HEM11 or TE of a block.

    References:
        Cylinder: Mongia & Bhartia, Int. J. Microw. Millim. Wave Comput. Aided Eng. 4 (1994) 230; Balanis, Antenna
        Theory, 4th ed., sec. 14.10. Block: Mongia & Ittipiboon, IEEE Trans. Antennas Propag. 45 (1997) 1348.
    """
    permittivity, height = design["resonator.permittivity"], design["resonator.height"]
    if _is_round(design):
        radius = design["resonator.radius"]
        flat = radius / (2 * height)
        wavenumber = 6.324 / (radius * math.sqrt(permittivity + 2)) * (0.27 + 0.36 * flat + 0.02 * flat**2)
        return c * wavenumber / (2 * math.pi)
    from scipy.optimize import brentq

    across = (math.pi / design["resonator.length"]) ** 2 + (math.pi / (2 * height)) ** 2
    width = design["resonator.width"]

    def mismatch(k_y: float) -> float:
        outside = (permittivity - 1) / permittivity * (across + k_y**2) - k_y**2
        return k_y * math.tan(k_y * width / 2) - math.sqrt(max(outside, 0.0))

    k_y = float(brentq(mismatch, 1e-6 / width, (1 - 1e-9) * math.pi / width))  # type: ignore[arg-type]
    return c * math.sqrt((across + k_y**2) / permittivity) / (2 * math.pi)


def _start(design: Mapping[str, float], frequency: float) -> dict[str, float]:
    """Return the resonator of the same proportions that resonates at a frequency, and a pin at its wall or a slot."""
    scale = resonance(design) / frequency
    names = ("radius",) if _is_round(design) else ("length", "width")
    found = {f"resonator.{name}": scale * design[f"resonator.{name}"] for name in (*names, "height")}
    if _has_slot(design):
        return {**found, **slot_start(design, frequency)}
    half = found["resonator.radius"] if "resonator.radius" in found else found["resonator.length"] / 2
    return {**found, "feed.offset": half, "feed.height": 0.7 * found["resonator.height"]}


def _variant(body: Sequence[Parameter], feed: Sequence[Parameter]) -> Family:
    return Family(
        name="dielectric_resonator",
        title="A dielectric resonator, a cylinder or a block, on a ground, fed by a pin or a slot.",
        parameters=(SHAPE, *body, HEIGHT, *material("resonator"), *GROUND, *feed, RESISTANCE),
        size=_size,
        faults=_faults,
        spatial=Spatial(board=_board, start=_start, author="balanis", narrow=NARROW),
        varies_by="feed.kind",
    )


def _shaped(body: Sequence[Parameter]) -> Family:
    """Return the family of one shape, with a variant for each feed."""
    fed = _variant(body, (KIND, *PIN)), _variant(body, (*SUBSTRATE, KIND, *SLOT))
    return replace(fed[PIN_FEED], variants=fed)


_SHAPES = (_shaped(ROUND), _shaped(SQUARE))

FAMILY = replace(_SHAPES[CYLINDER], varies_by="resonator.shape", variants=_SHAPES)
