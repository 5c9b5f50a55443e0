"""A strip dipole along x, fed in a gap in its middle, alone or over a reflector of metal.

Without a reflector the strip is in the plane z = 0 and radiates to both sides. The reflector is in the plane z = 0, the
strip over it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from scipy.constants import c

from antennaopt.families.family import Designs, Family
from antennaopt.families.narrow import LAYER, PORT, STRIP, narrow
from antennaopt.families.parameters import length, length_left_out
from antennaopt.families.spatial import Board, Measure, Port, Rectangle, Sheet, Spatial
from antennaopt.families.substrates import RESISTANCE, centred, cylinders, each
from antennaopt.quantities import format_length

DIPOLE = (
    length("dipole.length", "Length along x, the gap included.", example='"24 mm"'),
    length("dipole.width", "Width of the strip along y.", example='"1 mm"'),
    length("dipole.gap", "Gap in the middle, in which the port stands.", example='"1 mm"'),
)
REFLECTOR = (
    length_left_out("reflector.height", "Height of the strip over the reflector.", example='"12.5 mm"'),
    length_left_out("reflector.length", "Length of the reflector along x.", example='"40 mm"'),
    length_left_out("reflector.width", "Width of it along y.", example='"40 mm"'),
)
_RESONANT = 0.475
"""Length of a dipole without reactance, wavelengths: 0.47 to 0.48 for thin ones."""


def _board(design: Mapping[str, float]) -> Board:
    """Return sheets and port of one design."""
    half, gap, side = design["dipole.length"] / 2, design["dipole.gap"] / 2, design["dipole.width"] / 2
    height = design.get("reflector.height", 0.0)
    arms = tuple(Rectangle(x=span, y=(-side, side)) for span in ((-half, -gap), (gap, half)))
    sheets = [Sheet(name="dipole", z=height, rectangles=arms)]
    measures = [
        Measure(name="dipole.length", start=(-half, -side), stop=(half, -side)),
        Measure(name="dipole.width", start=(half, -side), stop=(half, side)),
        Measure(name="dipole.gap", start=(-gap, side), stop=(gap, side)),
    ]
    if height:
        face = centred(design["reflector.length"], design["reflector.width"])
        sheets.insert(0, Sheet(name="ground", z=0.0, rectangles=(face,)))
        measures += [
            Measure(name="reflector.length", start=(face.x[0], face.y[0]), stop=(face.x[1], face.y[0])),
            Measure(name="reflector.width", start=(face.x[1], face.y[0]), stop=(face.x[1], face.y[1])),
            Measure(name="reflector.height", start=(face.x[1], 0.0), stop=(face.x[1], height), section=True),
        ]
    port = Port(
        x=0.0,
        y=0.0,
        z=(height, height),
        resistance=design["feed.resistance"],
        width=2 * side,
        gap=2 * gap,
        what="gap",
    )
    return Board(sheets=tuple(sheets), slabs=(), port=port, measures=tuple(measures), symmetric=True)


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return radius and height of the cylinder about the axis that holds each antenna."""
    return cylinders([_board(design) for design in each(designs)])


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    if design["dipole.gap"] >= design["dipole.length"]:
        yield (
            f"dipole.gap = {format_length(design['dipole.gap'])} leaves no strip "
            f"(must be < dipole.length = {format_length(design['dipole.length'])}); narrow it"
        )
    given = [name for name in ("height", "length", "width") if design.get(f"reflector.{name}")]
    if given and len(given) < len(REFLECTOR):
        missing = next(name for name in ("height", "length", "width") if name not in given)
        yield f"reflector has no {missing}; give height, length and width, or remove the table"


def _start(design: Mapping[str, float], frequency: float) -> dict[str, float]:
    """Return a dipole of half a wavelength, less what a resonance is shorter, a quarter over its reflector.

    References:
        Balanis, Antenna Theory, 4th ed., sec. 4.6: 0.47 to 0.48 wavelengths have no reactance.
    """
    return {"dipole.length": _RESONANT * c / frequency, "reflector.height": c / frequency / 4}


FAMILY = Family(
    name="strip_dipole",
    title="A strip dipole fed in a gap in its middle, alone or over a reflector.",
    parameters=(*DIPOLE, *REFLECTOR, RESISTANCE),
    size=_size,
    faults=_faults,
    spatial=Spatial(
        board=_board,
        start=_start,
        author="balanis",
        narrow=(
            *narrow(PORT, "dipole.gap"),
            *narrow(LAYER, "reflector.height"),
            *narrow(STRIP, "dipole.width", "reflector.length", "reflector.width"),
        ),
    ),
)
