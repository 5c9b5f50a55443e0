"""Common parts of antennas on a grounded substrate: parameters and size of the substrate, feeds by probe or line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from antennaopt.families.family import Designs
from antennaopt.families.narrow import LAYER, STRIP, narrow
from antennaopt.families.parameters import Parameter, length, length_left_out, material
from antennaopt.families.spatial import Board, Measure, Rectangle, Sheet, Slab
from antennaopt.quantities import format_length

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
RESISTANCE = Parameter(
    name="feed.resistance",
    about="Resistance of the source and reference of S11, ohm.",
    example="50",
    default=50.0,
    lowest=1.0,
    highest=1000.0,
)
OFFSET = length("feed.offset", "Distance of the probe from the patch's centre, towards +x.", example='"3.6 mm"')
RADIUS = replace(
    length_left_out(
        "feed.radius",
        "Radius of the probe's pin. Left out, it is a fifth of a cell, and the reactance depends on the cell.",
        example='"0.65 mm"',
    ),
    above=True,  # a gene that reached 0 would be a fifth of a cell there
)
LINE = (
    length("feed.line_width", "Width of the line.", example='"4.8 mm"'),
    length("feed.line_length", "Length of the line from the patch's edge to the port.", example='"8 mm"'),
)
NARROW_ON_SUBSTRATES = (
    *narrow(LAYER, "substrate.thickness"),
    *narrow(STRIP, "substrate.margin", *(one.name for one in LINE)),
)


def centred(long: float, wide: float) -> Rectangle:
    """Return a rectangle about the axis."""
    return Rectangle(x=(-long / 2, long / 2), y=(-wide / 2, wide / 2))


def face_of(design: Mapping[str, float], metal: Rectangle) -> Rectangle:
    """Return the extent of substrate and ground, by the margin round the metal or by its own size."""
    if "substrate.margin" in design:
        margin = design["substrate.margin"]
        return Rectangle(x=(metal.x[0] - margin, metal.x[1] + margin), y=(metal.y[0] - margin, metal.y[1] + margin))
    return centred(design.get("substrate.length", 0.0), design.get("substrate.width", 0.0))


def grounded(design: Mapping[str, float], face: Rectangle) -> tuple[Sheet, Slab]:
    """Return ground and substrate."""
    slab = Slab(
        name="substrate",
        face=face,
        z=(0.0, design["substrate.thickness"]),
        permittivity=design["substrate.permittivity"],
        loss_tangent=design.get("substrate.loss_tangent", 0.0),
    )
    return Sheet(name="ground", z=0.0, rectangles=(face,)), slab


def measures_of(design: Mapping[str, float], face: Rectangle) -> tuple[Measure, ...]:
    """Return the lengths of a substrate for drawings."""
    height = design["substrate.thickness"]
    return (
        Measure(name="substrate.length", start=(face.x[0], face.y[0]), stop=(face.x[1], face.y[0])),
        Measure(name="substrate.width", start=(face.x[1], face.y[0]), stop=(face.x[1], face.y[1])),
        Measure(name="substrate.thickness", start=(face.x[1], 0.0), stop=(face.x[1], height), section=True),
    )


def measures_of_line(design: Mapping[str, float], edge: float) -> tuple[Measure, ...]:
    """Return the lengths of a line that ends at x = `edge`."""
    half, start, y = (
        design["feed.line_width"] / 2,
        edge - design["feed.line_length"],
        design.get("feed.line_offset", 0.0),
    )
    return (
        Measure(name="feed.line_length", start=(start, y + half), stop=(edge, y + half)),
        Measure(name="feed.line_width", start=(start, y - half), stop=(start, y + half)),
    )


def size_faults(design: Mapping[str, float], metal: tuple[float, float], line: float) -> Iterator[str]:
    """Yield what is wrong with the size of substrate and ground.

    Args:
        design: One design.
        metal: Length and width of the patch, m.
        line: Length of the line that leaves it; 0 without one.
    """
    sized = [name for name in ("length", "width") if f"substrate.{name}" in design]
    if "substrate.margin" in design:
        if sized:
            yield f"substrate has both margin and {sized[0]}, which exclude each other; remove one"
        return
    if len(sized) < 2:
        yield 'substrate has no size; give margin = "8 mm", or length and width'
        return
    for name, least in (("length", metal[0] + 2 * line), ("width", metal[1])):
        if design[f"substrate.{name}"] < least * (1 - 1e-9):
            over = " and the line on both sides of it" if line and name == "length" else ""
            yield (
                f"substrate.{name} = {format_length(design[f'substrate.{name}'])} is smaller than the patch{over} "
                f"(must be >= {format_length(least)}); enlarge it"
            )


def probe_fault(design: Mapping[str, float], what: str, table: str) -> str | None:
    """Return why a probe does not stand on the metal, as the rest of a line after `antenna.`; None where it does.

    Args:
        design: One design.
        what: The metal, for the text.
        table: Of its `length` and `width`.
    """
    length_name, width_name = f"{table}.length", f"{table}.width"
    half, radius = design[length_name] / 2, design.get("feed.radius", 0.0)
    if radius >= design[width_name] / 2:
        return (
            f"feed.radius = {format_length(radius)} takes the pin over the edges of the {what} along y "
            f"(must be < {width_name} / 2 = {format_length(design[width_name] / 2)}); narrow it"
        )
    if radius > 0 and half - radius <= design["feed.offset"] < half:
        return (
            f"feed.radius = {format_length(radius)} takes the pin over the edge of the {what} "
            f"(must be < {format_length(half - design['feed.offset'])} at this offset); narrow it"
        )
    if design["feed.offset"] < half:
        return None
    return (
        f"feed.offset = {format_length(design['feed.offset'])} puts the probe outside the {what} "
        f"(must be < {length_name} / 2 = {format_length(half)}); lower it or lengthen the {what}"
    )


def line_fault(design: Mapping[str, float], what: str, width_name: str) -> str | None:
    """Return why a line does not fit the metal that it leaves; None where it does."""
    line, wide, aside = design["feed.line_width"], design[width_name], design.get("feed.line_offset", 0.0)
    if line > wide:
        return (
            f"feed.line_width = {format_length(line)} is wider than the {what} "
            f"(must be <= {width_name} = {format_length(wide)}); narrow it"
        )
    if aside + line / 2 > wide / 2 * (1 + 1e-9):
        return (
            f"feed.line_offset = {format_length(aside)} puts the line beyond the corner of the {what} "
            f"(must be <= {format_length((wide - line) / 2)}); lower it"
        )
    return None


def cylinders(boards: list[Board]) -> tuple[np.ndarray, np.ndarray]:
    """Return radius and height of the cylinder about the axis that holds each board."""
    extents = [board.extent for board in boards]
    radii = [float(np.hypot(max(map(abs, x)), max(map(abs, y)))) for x, y, _ in extents]
    return np.array(radii), np.array([z[1] for _, _, z in extents])


def each(designs: Designs) -> Iterator[dict[str, float]]:
    """Yield the designs of a batch one by one."""
    for at in range(len(next(iter(designs.values())))):
        yield {name: float(values[at]) for name, values in designs.items()}
