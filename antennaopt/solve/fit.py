"""Whether a lattice can hold an antenna: what reaches too far, and what is too thin for its cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from antennaopt.families import FAMILIES, stack
from fdtd.axisymmetric.layout import Layout

CELLS_ACROSS_A_WALL = 1 / 8
"""Thinnest wall, in cells. A wall is found by searching the lattice's edges in 32 pieces; measured on steep horns
(53 degrees), S11 jumps by 0.02 from 1/8 to 1/15 of a cell, where the search begins to miss it."""
CELLS_ACROSS_A_LENS = 1
"""Thinnest lens, in cells: below it no node may lie in it, and its surface is not smooth any more."""
_SLACK = 1e-6  # cells


def misfit(layout: Layout, family: str, design: Mapping[str, float]) -> str | None:
    """Say why an antenna cannot be solved on a lattice, and what would be accepted; None when it can.

    Args:
        layout: The lattice, perhaps made for other antennas.
        family: Antenna family.
        design: Every parameter, SI, by dotted name.
    """
    return next(_misfits(layout, family, design), None)


def _misfits(layout: Layout, family: str, design: Mapping[str, float]) -> Iterator[str]:
    yield from _too_large(layout, family, design)
    yield from _too_thin(layout, family, design)


def _too_large(layout: Layout, family: str, design: Mapping[str, float]) -> Iterator[str]:
    """What passes the contour, on which the far field rests, or even reaches the absorbing layers."""
    cell, n = layout.cell, layout.layer_cells
    radius, height = (float(size[0]) for size in FAMILIES[family].size(stack([design])))
    depth = design["feed.length"] + design["feed.outer_radius"] - design["feed.inner_radius"]
    reaches = (
        ("radius", radius, layout.contour_column, layout.nr - n),
        ("height over z = 0", height, layout.contour_top - layout.origin, layout.nz - n - layout.origin),
        ("depth below z = 0", depth, layout.origin - layout.contour_bottom, layout.origin - n),
    )
    for what, size, contour, layer in reaches:
        if size / cell > contour - 1 + _SLACK:
            past = "reaches into the absorbing layers" if size / cell > layer - _SLACK else "cuts the contour"
            yield (
                f"the antenna's {what} of {_mm(size)} {past} of this lattice (must be <= {_mm((contour - 1) * cell)}); "
                "plan a lattice for it"
            )


def _too_thin(layout: Layout, family: str, design: Mapping[str, float]) -> Iterator[str]:
    for part in FAMILIES[family].thin_parts(design):
        thickness = part.thickness * part.slope
        fewest = CELLS_ACROSS_A_WALL if part.metal else CELLS_ACROSS_A_LENS
        if thickness < fewest * layout.cell * (1 - _SLACK):
            yield (
                f"{part.what} is {_mm(thickness)} thick, too thin for cells of {_mm(layout.cell)} "
                f"(needs cells <= {_mm(thickness / fewest)}); use smaller cells or make it thicker"
            )


def _mm(length: float) -> str:
    return f"{length * 1e3:.4g} mm"
