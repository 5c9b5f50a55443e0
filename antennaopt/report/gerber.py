"""Metal of boards as Gerber files, one per layer, for a board manufacturer; lengths in mm.

A file holds the outlines of a layer as regions, seen from above, in the antenna's coordinates. They go from the largest
to the smallest: a hole is erased after the metal around it is drawn, and before metal inside the hole is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt import __version__
from antennaopt.errors import ConfigurationError
from antennaopt.families.spatial import Board, Sheet
from antennaopt.report.geometry import MM, outlines_of_sheet, suffixed
from antennaopt.store.files import write_text

if TYPE_CHECKING:
    from gerber_writer import DataLayer

_EDGE_MM = 0.1
"""Width of the line that marks the edge of the laminate; its middle is the edge."""
_ROUNDING_MM = 1e-7
"""The library cuts coordinates off at a nanometre; a tenth of one more makes that rounding."""


def gerber_layers(path: Path, board: Board) -> dict[Path, DataLayer]:
    """Return each file that `--gerber` writes of a board, with its layer.

    The file itself has the uppermost metal. Next to it are the other sheets, `patch_ground.gbr`, and the edge of the
    laminate, `patch_outline.gbr`, where there is one. The port is no metal of a layer and is left out, but the ground
    has the opening of a pin whose radius is known.

    Raises:
        ConfigurationError: The ending is not .gbr, or nothing of the board is flat.
    """
    from gerber_writer import Circle, DataLayer, set_generation_software

    if path.suffix.lower() != ".gbr":
        raise ConfigurationError(f"--gerber {path} has no known ending; use .gbr")
    if not board.sheets:
        raise ConfigurationError(f"--gerber {path} holds flat metal, and the antenna has none; use --dxf or --stl")
    set_generation_software("antennaopt", "antennaopt", __version__)
    found = {}
    sheets = sorted(board.sheets, key=lambda sheet: sheet.z, reverse=True)
    for number, sheet in enumerate(sheets, start=1):
        side = "Top" if number == 1 else "Bot" if number == len(sheets) else "Inr"
        layer = DataLayer(f"Copper,L{number},{side}")
        for outline, hole in outlines_of_sheet(sheet):
            layer.add_region(_closed(outline), "Conductor", hole)
        if sheet.name == "ground" and board.opening is not None:
            *place, radius = (one * MM for one in board.opening)
            layer.add_pad(Circle(2 * radius, "AntiPad", negative=True), tuple(_rounded(np.array(place)).tolist()))
        found[path if number == 1 else suffixed(path, sheet.name)] = layer
    if board.slabs:
        edge = DataLayer("Profile,NP")
        laminate = Sheet(name="outline", z=0.0, rectangles=tuple(slab.face for slab in board.slabs))
        for outline, _ in outlines_of_sheet(laminate):
            edge.add_traces_path(_closed(outline), _EDGE_MM, "Profile")
        found[suffixed(path, "outline")] = edge
    return found


def write_gerber(path: Path, board: Board) -> list[Path]:
    """Write the layers of a board as Gerber files and return them; see `gerber_layers`.

    Raises:
        ConfigurationError: See `gerber_layers`.
        StorageError: One cannot be written.

    References:
        Ucamco, The Gerber Layer Format Specification, revision 2023.08.
    """
    layers = gerber_layers(path, board)
    for file, layer in layers.items():
        write_text(file, layer.dumps_gerber())
    return list(layers)


def _closed(corners: np.ndarray) -> Any:
    """Return a closed path of the library, from corners (corners, 2), mm."""
    from gerber_writer import Path as Outline

    first, *others = (tuple(point) for point in _rounded(corners).tolist())
    path = Outline()
    path.moveto(first)
    for point in (*others, first):
        path.lineto(point)
    return path


def _rounded(places: np.ndarray) -> np.ndarray:
    """Return places, mm, that the library rounds to the nearest nanometre."""
    return places + np.copysign(_ROUNDING_MM, places)
