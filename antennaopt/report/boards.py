"""Drawings of boards and horns: top view with dimensions and section, as figures and as DXF; lengths in mm."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from matplotlib.patches import Rectangle as Patch

from antennaopt.errors import ConfigurationError
from antennaopt.families.spatial import Board, Measure, Port, Rectangle, Tube
from antennaopt.report.canvas import GREY, INK, METAL, METAL_EDGE, SECOND, new_figure
from antennaopt.store.files import write_text
from antennaopt.terminal import visible

MM = 1e3
LAMINATE = "#d8ead9"
TEXT = 0.035
"""Height of text over the board's larger side; dimension lines are three heights apart."""


def board_figure(board: Board, *, width: float = 9.0) -> Figure:
    """Draw a board from above, with its dimensions, and its section through the port.

    Args:
        board: One antenna.
        width: Of the figure, inches.
    """
    left, right, bottom, top = _frame(board)
    tall = width * 0.62 * (top - bottom) / (right - left)
    figure = new_figure(width, float(np.clip(tall, 3.0, 1.2 * width)))
    axes = figure.subplots(1, 2, width_ratios=(1.6, 1.0))
    draw_top(axes[0], board)
    draw_section(axes[1], board)
    return figure


def draw_top(axes: Axes, board: Board) -> None:
    """Draw a board from above, x to the right and y upwards, to scale, with the lengths of its measures.

    The line below a ground and the slot in it are dashed.
    """
    slabs = [slab for slab in board.slabs if slab.z[1] > 0.0]
    hidden = list(_hidden(board))
    if hidden:
        x, y, _ = board.extent
        _fill(axes, Rectangle(x=x, y=y), "white")
    for slab in slabs:
        _fill(axes, slab.face, LAMINATE)
    in_air = not hidden and (not slabs or bool(board.rods))
    for one in [face for sheet in board.sheets for face in sheet.rectangles] if in_air else []:
        _fill(axes, one, "white")  # a reflector or ground in air
    for rod in board.rods:
        axes.add_patch(Circle((0.0, 0.0), rod.radius * MM, facecolor=LAMINATE, edgecolor=METAL_EDGE, linewidth=0.7))
    for one in [face for sheet in board.metal if sheet not in board.below for face in sheet.rectangles]:
        _fill(axes, one, METAL, edge=METAL)
    for ring in hidden:
        axes.plot(*np.append(ring, ring[:1], axis=0).T, color=METAL_EDGE, lw=1.0, ls="--")
    for tube in board.tubes:
        for face, colour in zip(frames(tube), (METAL, "white", "white"), strict=True):
            _fill(axes, face, colour)
    if isinstance(board.port, Port):
        axes.plot(board.port.x * MM, board.port.y * MM, marker="o", ms=4.0, color=SECOND)
    for one, at in placed(board):
        along = 0 if one.start[1] == one.stop[1] else 1
        ends = tuple((x * MM, y * MM) for x, y in (one.start, one.stop))
        draw_dimension(axes, ends, at, f"{one.value * MM:.4g} mm", along=along)
    left, right, bottom, top = _frame(board)
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    port = "dot: port" if isinstance(board.port, Port) else f"port: {board.port.what} of the guide, E along x"
    axes.set_title(f"top view; {port}", fontsize=9, color=INK, loc="left")
    axes.axis("off")


def draw_section(axes: Axes, board: Board) -> None:
    """Draw the section through the port, x to the right and z upwards; the title has the factor of heights."""
    (low, high), _, (ground, top) = board.extent
    stretch = max(1.0, round(0.25 * (high - low) / (top - ground))) if top > ground else 1.0
    scale = MM * stretch
    middle = board.port.y if isinstance(board.port, Port) else 0.0
    for slab in board.slabs:
        _fill(axes, Rectangle(x=slab.face.x, y=(slab.z[0] * stretch, slab.z[1] * stretch)), LAMINATE)
    for rod in board.rods:
        span = (rod.z[0] * stretch, rod.z[1] * stretch)
        _fill(axes, Rectangle(x=(-rod.radius, rod.radius), y=span), LAMINATE)
    for tube in board.tubes:
        for wall in tube.walls(0):
            corners = [(x * MM, z * scale) for x, z in wall]
            axes.add_patch(Polygon(corners, facecolor=METAL, edgecolor=METAL_EDGE, linewidth=0.7))
    if isinstance(board.port, Port) and board.port.pin:
        axes.plot([board.port.x * MM] * 2, [0.0, board.port.pin * scale], color=METAL_EDGE, lw=2.0)
    for sheet in board.sheets:
        for one in sheet.rectangles:
            if one.y[0] <= middle <= one.y[1]:
                axes.plot([end * MM for end in one.x], [sheet.z * scale] * 2, color=METAL_EDGE, lw=2.4)
    if isinstance(board.port, Port):
        ends = [(board.port.x + side * board.port.gap / 2) * MM for side in (-1, 1)]
        axes.plot(ends, [end * scale for end in board.port.z], color=SECOND, lw=2.0)
    else:  # the plane to which S11 is referred
        axes.plot([side * board.port.height / 2 * MM for side in (-1, 1)], [0.0, 0.0], color=SECOND, lw=1.2, ls="--")
    wide = (high - low) * MM
    for one in board.measures:
        if one.section:
            at = high * MM + 0.06 * wide if one.start[0] > 0 else low * MM - 0.06 * wide
            ends = tuple((x * MM, z * scale) for x, z in (one.start, one.stop))
            draw_dimension(axes, ends, at, f"{one.value * MM:.4g} mm", along=1)
    axes.set(xlim=(low * MM - 0.14 * wide, high * MM + 0.14 * wide), aspect="equal")
    axes.set_ylim(ground * scale - 0.1 * wide, top * scale + 0.1 * wide)
    drawn = f", heights {stretch:g} times" if stretch > 1 else ""
    axes.set_title(f"section y = {middle * MM:.4g}{' mm' if middle else ''}{drawn}", fontsize=9, color=INK, loc="left")
    axes.axis("off")


def _hidden(board: Board) -> Iterator[np.ndarray]:
    """Yield the outlines, mm, (corners, 2), of what is below a ground and of the slots that it feeds."""
    from antennaopt.report.geometry import outlines_of_sheet

    for sheet in board.below:
        yield from (ring for ring, _ in outlines_of_sheet(sheet))
    for sheet in board.sheets if board.below else ():
        yield from (ring for ring, hole in outlines_of_sheet(sheet) if hole)


def frames(tube: Tube) -> tuple[Rectangle, Rectangle, Rectangle]:
    """Return a tube from above: the outside of its last section, the inside of it, the inside of its first one."""
    sizes = (
        (tube.x[-1] + tube.wall, tube.y[-1] + tube.wall),
        (tube.x[-1], tube.y[-1]),
        (tube.x[0], tube.y[0]),
    )
    return tuple(Rectangle(x=(-x, x), y=(-y, y)) for x, y in sizes)  # type: ignore[return-value]


def _fill(axes: Axes, face: Rectangle, colour: str, edge: str = METAL_EDGE) -> None:
    corner = (face.x[0] * MM, face.y[0] * MM)
    size = ((face.x[1] - face.x[0]) * MM, (face.y[1] - face.y[0]) * MM)
    axes.add_patch(Patch(corner, *size, facecolor=colour, edgecolor=edge, linewidth=0.7))


def placed(board: Board) -> Iterator[tuple[Measure, float]]:
    """Yield the measures of the top view, each with where its line is, mm: y of one along x, x of one along y.

    Those of the feed are above and to the left of the board, the others below and to the right, the shortest nearest.
    """
    x, y, _ = board.extent
    step = 3.0 * text_height(board)
    levels = {"below": y[0] * MM, "above": y[1] * MM, "right": x[1] * MM, "left": x[0] * MM}
    for one in sorted((one for one in board.measures if not one.section), key=lambda measure: measure.value):
        along_x = one.start[1] == one.stop[1]
        feed = one.name.startswith("feed.")
        side = ("above" if feed else "below") if along_x else ("left" if feed else "right")
        levels[side] += step if side in ("above", "right") else -step
        yield one, levels[side]


def text_height(board: Board) -> float:
    """Return the height of a drawing's text, mm."""
    x, y, _ = board.extent
    return TEXT * MM * max(x[1] - x[0], y[1] - y[0])


def _frame(board: Board) -> tuple[float, float, float, float]:
    """Return the ends of the drawing with its dimensions, mm: left, right, bottom, top."""
    x, y, _ = board.extent
    room = 3.0 * text_height(board)
    places = list(placed(board))
    across = [at for one, at in places if one.start[1] == one.stop[1]] + [end * MM for end in y]
    along = [at for one, at in places if one.start[1] != one.stop[1]] + [end * MM for end in x]
    return min(along) - room, max(along) + room, min(across) - room, max(across) + room


def draw_dimension(axes: Axes, ends: tuple[tuple[float, float], ...], at: float, text: str, *, along: int) -> None:
    """Draw a dimension line at a place across it, with its extension lines and text.

    Args:
        axes: Of the drawing.
        ends: Both points, mm.
        at: Where the line is, across it.
        text: On the line.
        along: 0 for a line along the horizontal axis, 1 for one along the vertical axis.
    """
    line = [(end[0], at) if along == 0 else (at, end[1]) for end in ends]
    for end, foot in zip(ends, line, strict=True):
        axes.plot(*zip(end, foot, strict=True), color=GREY, linewidth=0.5)
    arrows = {"arrowstyle": "<->", "color": INK, "lw": 0.7, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=line[0], xytext=line[1], arrowprops=arrows)
    middle = tuple(sum(values) / 2 for values in zip(*line, strict=True))
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    axes.text(
        middle[0], middle[1], text, ha="center", va="center", rotation=90 * along, fontsize=8, color=INK, bbox=box
    )


def check_board_dxf(path: Path) -> None:
    """Refuse a name that is no drawing's.

    Raises:
        ConfigurationError: It does not end in .dxf.
    """
    if path.suffix.lower() != ".dxf":
        raise ConfigurationError(f"--dxf {path} has no known ending; use .dxf")


def write_board_dxf(path: Path, board: Board, *, title: str = "") -> Path:
    """Write a board from above, in mm: a layer for each sheet and slab, with its closed polylines; port, dimensions.

    The rectangles of a sheet are united, so that each outline can be milled. The ground has the opening of a pin whose
    radius is known, as a circle.

    Args:
        path: Target.
        board: One antenna.
        title: Written above the drawing.

    Raises:
        ConfigurationError: See `check_board_dxf`.
        StorageError: It cannot be written.
    """
    import ezdxf
    from ezdxf.enums import InsertUnits

    from antennaopt.report.geometry import outlines_of_sheet

    check_board_dxf(path)
    drawing = ezdxf.new("R2010", setup=True, units=int(InsertUnits.Millimeters))  # type: ignore[attr-defined]
    space = drawing.modelspace()
    for number, slab in enumerate(board.slabs):
        layer = drawing.layers.add(slab.name, color=(3, 4, 5)[number % 3])
        height = (slab.z[1] - slab.z[0]) * MM
        layer.description = (
            f"permittivity {slab.permittivity:.6g}, loss tangent {slab.loss_tangent:.6g}, thickness {height:.6g} mm"
        )
        (x, right), (y, top) = ([end * MM for end in span] for span in (slab.face.x, slab.face.y))
        corners = [(x, y), (right, y), (right, top), (x, top)]
        space.add_lwpolyline(corners, close=True, dxfattribs={"layer": slab.name})
    for rod in board.rods:
        drawing.layers.add(rod.name, color=5).description = (
            f"permittivity {rod.permittivity:.6g}, loss tangent {rod.loss_tangent:.6g}, "
            f"height {(rod.z[1] - rod.z[0]) * MM:.6g} mm"
        )
        space.add_circle((0.0, 0.0), rod.radius * MM, dxfattribs={"layer": rod.name})
    for sheet in board.sheets:
        drawing.layers.add(sheet.name, color=8).description = f"metal at z = {sheet.z * MM:.6g} mm"
        for ring, _ in outlines_of_sheet(sheet):
            space.add_lwpolyline(ring.tolist(), close=True, dxfattribs={"layer": sheet.name})
    if board.opening is not None:
        x, y, radius = (one * MM for one in board.opening)
        space.add_circle((x, y), radius, dxfattribs={"layer": "ground"})
    _, right, *_ = _frame(board)
    for tube in board.tubes:
        right = _add_tube(drawing, board, tube, right)
    if isinstance(board.port, Port):
        drawing.layers.add("port", color=1).description = f"{board.port.what}, {board.port.resistance:g} ohm"
        space.add_point((board.port.x * MM, board.port.y * MM), dxfattribs={"layer": "port"})
    _add_dimensions(drawing, board, title, right)
    buffer = io.StringIO()
    drawing.write(buffer)
    write_text(path, buffer.getvalue())
    return path


def _add_tube(drawing: Any, board: Board, tube: Tube, right: float) -> float:
    """Add a tube from above, and its sections y = 0 and x = 0, z upwards, each on its own layer; return their end, mm.

    Args:
        drawing: That gets it.
        board: One antenna.
        tube: One of its tubes.
        right: Where its sections begin, mm.
    """
    space = drawing.modelspace()
    drawing.layers.add(tube.name, color=8).description = f"metal, walls of {tube.wall * MM:.6g} mm along x and y"
    for face in frames(tube):
        corners = [(x * MM, y * MM) for x, y in zip(np.repeat(face.x, 2), (*face.y, *face.y[::-1]), strict=True)]
        space.add_lwpolyline(corners, close=True, dxfattribs={"layer": tube.name})
    for axis, name in enumerate(("e_plane", "h_plane")):
        layer = f"{tube.name}_{name}"
        drawing.layers.add(layer, color=(3, 4)[axis]).description = f"section {'yx'[axis]} = 0, z upwards"
        reach = (max((tube.x, tube.y)[axis]) + tube.wall) * MM
        right += reach + 3.0 * text_height(board)
        for wall in tube.walls(axis):
            corners = [(right + across * MM, z * MM) for across, z in wall]
            space.add_lwpolyline(corners, close=True, dxfattribs={"layer": layer})
        right += reach
    return right


def _add_dimensions(drawing: Any, board: Board, title: str, right: float) -> None:
    """Add the title and the dimensions: those of the view from above, and to the right of all sections their heights.

    Args:
        drawing: With its outlines.
        board: One antenna.
        title: Written above.
        right: End of the sections, mm; the heights of a board without any are in its layers' descriptions.
    """
    space, size = drawing.modelspace(), text_height(board)
    drawing.layers.add("dimensions", color=7)
    style = {"dimtxt": size, "dimasz": 0.8 * size, "dimexe": 0.5 * size, "dimexo": 0.3 * size, "dimgap": 0.3 * size}
    style |= {"dimlfac": 1.0, "dimscale": 1.0, "dimdec": 3, "dimzin": 8, "dimtad": 1, "dimtih": 0}
    shared: dict[str, Any] = {"dimstyle": "EZDXF", "override": style, "dxfattribs": {"layer": "dimensions"}}
    for one, at in placed(board):
        start, stop = ((x * MM, y * MM) for x, y in (one.start, one.stop))
        if one.start[1] == one.stop[1]:
            space.add_linear_dim((0.0, at), start, stop, **shared).render()
        else:
            space.add_linear_dim((at, 0.0), start, stop, angle=90, **shared).render()
    for one in (one for one in board.measures if one.section and board.tubes):
        ends = ((right, z * MM) for _, z in (one.start, one.stop))
        space.add_linear_dim((right + 3.0 * size, 0.0), *ends, angle=90, **shared).render()
    if title:
        left, _, _, top = _frame(board)
        text = space.add_text(visible(title), height=1.2 * size, dxfattribs={"layer": "dimensions"})
        text.set_placement((left, top + 2.0 * size))
