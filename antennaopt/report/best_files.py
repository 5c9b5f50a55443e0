"""Files of the best antenna of a run in its report: a dimensioned drawing, and files for other programs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from antennaopt.errors import ConfigurationError
from antennaopt.families.family import Outline
from antennaopt.report.boards import draw_dimension, write_board_dxf
from antennaopt.report.canvas import INK, METAL, METAL_EDGE, SECOND, new_figure
from antennaopt.report.data_files import reference_of, write_touchstone
from antennaopt.report.drawing import TEXT_SIZE, check_dxf, measures, placed, write_dxf
from antennaopt.report.far_field import FarField
from antennaopt.report.far_field_files import write_far_field
from antennaopt.report.geometry import write_profiles
from antennaopt.report.record import Row, RunRecord
from antennaopt.store.files import storing
from antennaopt.store.rows import modes_of_row, pattern_part

FOLDER = "files"
"""Next to the report."""

FAR_FIELDS = ("cut", "ffs")
ABOUT = {
    ".dxf": "drawing, dimensioned, mm",
    ".csv": "section r,z of a body, mm",
    ".s1p": "S11, Touchstone",
    ".cut": "far field, GRASP cuts",
    ".ffs": "far field, CST source",
}
"""What a file holds, by its ending."""

_TINTS = ("#cfe3f1", "#f7e0cc", "#cdeadf", "#ecd6e6")


@dataclass(frozen=True, kw_only=True)
class BestFile:
    """A file of the best antenna.

    Attributes:
        path: Relative to the report.
        about: What it holds.
        size: Bytes.
    """

    path: str
    about: str
    size: int


def section_figure(outline: Outline, *, width: float = 9.0) -> Figure:
    """Draw the section of an antenna with its dimensions in mm, z to the right.

    Args:
        outline: The section.
        width: Of the figure, inches.

    Raises:
        ConfigurationError: A section cannot be drawn.
    """
    sections = check_dxf(Path("section.dxf"), outline)
    corners = np.concatenate(list(sections.values()))
    (_, low), (reach, high) = corners.min(axis=0), corners.max(axis=0)
    size = TEXT_SIZE * max(high - low, 2.0 * reach)
    dimensions = placed(measures(sections), corners, size)
    left = min([low, *(at for one, at in dimensions if one.kind == "diameter")]) - 2.0 * size
    right = max([high, *(at for one, at in dimensions if one.kind == "diameter")]) + 3.0 * size
    bottom = min([-reach, *(at for one, at in dimensions if one.kind == "length")]) - 2.0 * size
    top = reach + 4.0 * size
    figure = new_figure(width, min(width * (top - bottom) / (right - left), 1.2 * width))
    axes = figure.add_subplot()
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.axis("off")
    tints = iter(_TINTS * len(sections))
    for name, one in sorted(sections.items(), key=lambda item: not item[0].startswith("dielectric")):
        fill = next(tints) if name.startswith("dielectric") else METAL
        for side in (1.0, -1.0):
            axes.fill(one[:, 1], side * one[:, 0], facecolor=fill, edgecolor=METAL_EDGE, linewidth=0.7)
    axes.plot((low - size, high + size), (0.0, 0.0), color=SECOND, linewidth=0.7, linestyle=(0, (12, 3, 2, 3)))
    for one, at in dimensions:
        ends = (one.start, one.stop)
        if one.kind == "wall":
            axes.annotate(
                f"{one.value:.4g} mm",
                xy=(np.mean([end[0] for end in ends]), np.mean([end[1] for end in ends])),
                xytext=(
                    one.start[0] + (size if one.start[0] < (low + high) / 2 else -3.0 * size),
                    one.start[1] + 2.2 * size,
                ),
                fontsize=8,
                color=INK,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                arrowprops={"arrowstyle": "->", "color": INK, "lw": 0.7},
            )
        elif one.kind == "length":
            draw_dimension(axes, ends, at, f"{one.value:.4g} mm", along=0)
        else:
            draw_dimension(axes, ends, at, f"⌀ {one.value:.4g} mm", along=1)
    return figure


def write_best_files(record: RunRecord) -> list[BestFile]:
    """Write the best antenna's files that take less than a second into `files/`, and return them.

    A file is left out where its format cannot hold the antenna; `antennaopt export` names the reason.

    Args:
        record: A run with a best antenna.

    Raises:
        StorageError: One cannot be written.
    """
    antenna, best = record.best_antenna, record.best
    if antenna is None or best is None:
        return []
    family, design = antenna
    folder, board = record.folder.path / FOLDER, family.board(design)
    title = f"{record.resolved.get('title') or family.title} {best['individual']}"
    written: list[Path] = []
    with storing(folder):
        folder.mkdir(exist_ok=True)
        for outdated in folder.glob("best*"):  # of an earlier best antenna, which may have had more bodies
            outdated.unlink()
    if board is not None:
        written.append(write_board_dxf(folder / "best.dxf", board, title=title))
    else:
        outline = family.outline(design)
        with suppress(ConfigurationError):
            written.append(write_dxf(folder / "best.dxf", outline, title=title))
        with suppress(ConfigurationError):
            written += write_profiles(folder / "best.csv", outline)
    outcome = _outcome(record, best)
    if outcome is not None:
        written.append(write_touchstone(folder / "best.s1p", outcome, title=title, **reference_of(design)))
        with suppress(ConfigurationError):
            field = FarField.of(outcome, title=title, polarisation=record.polarisation)
            written += [write_far_field(kind, folder / f"best.{kind}", field) for kind in FAR_FIELDS]
    return [BestFile(path=f"{FOLDER}/{one.name}", about=ABOUT[one.suffix], size=one.stat().st_size) for one in written]


def _outcome(record: RunRecord, best: Row) -> dict[str, Any] | None:
    """Return what files hold of the best antenna's results; None where its row has no S11."""
    parts = [record.metric(best, name) for name in ("s11_re", "s11_im")]
    if None in (*parts[0], *parts[1]):
        return None
    return {
        "status": "ok",
        "frequency_hz": list(record.frequencies),
        "s11": [list(pair) for pair in zip(*parts, strict=True)],
        "radiation_efficiency": record.metric(best, "radiation_efficiency"),
        "modes": modes_of_row(best.get("modes"), record.frequencies),
        **pattern_part(record.folder.pattern_of(str(best["individual"])), record.frequencies),
    }
