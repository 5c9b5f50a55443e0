"""The made antennas of a design as a table and a figure: the spread of each goal, and the yield."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from antennaopt.quantities import number
from antennaopt.report.canvas import BEST, GOAL, GREY, SECOND, add_legend, dress, new_figure, write_figure
from antennaopt.store.files import refuse_strangers
from antennaopt.store.samples import FOLDER

MOST_PANELS = 6
COLUMNS = 3
MOST_BINS = 40
MOST_INFLUENCES = 8
LARGEST_PICTURE = 2_000_000
"""Bytes of a drawing that the page shows."""

SPREAD = ("design", "mean", "deviation", "q05", "q50", "q95", "worst")
HEADER = ["", "goal", "design", "mean", "deviation", "5 %", "50 %", "95 %", "worst", "met by"]


Data = Mapping[str, Any]
"""What `antennaopt tolerance --json` writes."""


def spread_rows(data: Data) -> list[list[str]]:
    """Return the spreads of goals as a table, with its header."""
    judged = data["yield"]["judged"]
    rows = [HEADER]
    for one in data["goals"]:
        figures = (one[name] for name in SPREAD)
        rows.append([
            one["heading"],
            one["goal"].removeprefix(one["title"]).strip(),
            *("none" if value is None else number(value, one["decimals"]) for value in figures),
            f"{100 * one['met'] / judged:.1f} %" if judged else "none",
        ])  # fmt: skip
    return rows


def influence_rows(data: Data) -> list[list[str]]:
    """Return the rank correlations of the strongest deviations with the margins of goals, with a header."""
    rows = [["rank correlation with the margin", *(one["title"] for one in data["goals"])]]
    for one in data["influences"][:MOST_INFLUENCES]:
        numbers = ("none" if each is None else number(each, 2) for each in one["correlations"])
        rows.append([one["deviation"], *numbers])
    return rows


def draw_spreads(path: Path, data: Data, values: Sequence[np.ndarray], *, title: str) -> Path:
    """Draw a histogram a goal, with its limit and the design's own value.

    Args:
        path: Target; its ending chooses the format.
        data: Of the antennas.
        values: Of each goal a value an antenna, NaN where there is none.
        title: Of the antenna.

    Raises:
        StorageError: It cannot be written.
    """
    pairs = list(zip(data["goals"], values, strict=True))[:MOST_PANELS]
    columns = min(len(pairs), COLUMNS)
    rows = math.ceil(len(pairs) / columns)
    figure = new_figure(max(3.6 * columns, 6.0), 2.9 * rows + 0.4)
    figure.suptitle(f"{title}\nyield {data['yield']['text']}", fontsize=9, parse_math=False)
    for place, (one, each) in enumerate(pairs):
        _histogram(figure.add_subplot(rows, columns, place + 1), one, each[np.isfinite(each)])
    return write_figure(path, figure)


def _histogram(axes: Axes, one: Data, values: np.ndarray) -> None:
    dress(axes, x_label=one["heading"], y_label="antennas")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    if values.size:
        bins = min(max(round(math.sqrt(values.size)), 5), MOST_BINS)
        axes.hist(values, bins=bins, range=_shown(values, 10.0 ** -one["decimals"]), color=BEST, alpha=0.75)
    for level in (one["at_least"], one["at_most"]):
        if level is not None:
            axes.axvline(level, color=GOAL, lw=1.6, label=f"goal: {level:g}")
    if one["design"] is not None:
        axes.axvline(one["design"], color=SECOND, lw=1.3, ls="--", label="design")
    if one["q05"] is not None:
        axes.axvspan(one["q05"], one["q95"], color=GREY, alpha=0.15, lw=0, label="5 to 95 %")
    add_legend(axes, above=True, columns=3)


def _shown(values: np.ndarray, least: float) -> tuple[float, float]:
    """Return the range of a histogram: that of the values, but no less than a unit of the last digit printed."""
    low, high = float(values.min()), float(values.max())
    more = max(least - (high - low), 0.0) / 2
    return low - more, high + more


def yields_of(run: Path) -> list[dict[str, Any]]:
    """Return what `antennaopt tolerance` wrote into a run folder, for the page: a title, a table and a picture each.

    What is damaged is left out.

    Raises:
        ResumeRefusedError: A link leads out of the run folder.
    """
    refuse_strangers(run)
    found = []
    for path in sorted((run / FOLDER).glob("g*.json")):
        with suppress(OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError, ArithmeticError):
            found.append(_for_the_page(path, json.loads(path.read_bytes())))
    return found


def _for_the_page(path: Path, one: Data) -> dict[str, Any]:
    share, inside = one["yield"], one.get("in_the_search")
    search = f"; in the search {100 * inside['share']:.0f} % of {inside['samples']:d}" if inside else ""
    header, *rows = spread_rows(one)
    drawing = path.with_suffix(".svg")
    small = drawing.is_file() and drawing.stat().st_size <= LARGEST_PICTURE
    picture = base64.b64encode(drawing.read_bytes()).decode("ascii") if small else None
    return {
        "title": f"{path.stem}: {share['text']}, {share['met']:d} of {share['judged']:d}, seed {one['seed']:d}{search}",
        "table": {"header": header, "rows": [[str(text) for text in row] for row in rows]},
        "picture": f"data:image/svg+xml;base64,{picture}" if picture else None,
    }
