"""Figures, axes, colours, fonts and files that every plot shares.

No pyplot, no global state. What the usual font lacks is drawn with another one that has it.
"""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.text import Text

from antennaopt.errors import ConfigurationError
from antennaopt.store.files import write_atomically

LAST_RESORT = "Last Resort"
"""Fonts of this name have a box for each character, as the usual one has for what it lacks."""


@contextmanager
def legible(figure: Figure) -> Iterator[None]:
    """Give a figure's texts fonts that have their characters, and keep Matplotlib's warnings of others to ourselves.

    A character that no font of this machine has is drawn as a box.
    """
    for text in figure.findobj(Text):
        others = families_for(str(text.get_text())) if isinstance(text, Text) else ()
        if others:
            text.set_fontfamily([usual_family(), *others])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from")
        yield


def usual_family() -> str:
    """Return the family that texts are drawn with."""
    return str(get_font(findfont(FontProperties())).family_name)


def families_for(text: str) -> tuple[str, ...]:
    """Return families of this machine with the characters that the usual one lacks, in order of need."""
    found = (_family_with(character) for character in text if not character.isascii())
    return tuple(dict.fromkeys(family for family in found if family is not None))


@lru_cache(maxsize=4096)
def _family_with(character: str) -> str | None:
    """Return a family with a character; None where the usual one has it, or none has."""
    if not character.isprintable() or _has(findfont(FontProperties()), character):
        return None
    for entry in fontManager.ttflist:
        if not entry.name.startswith(LAST_RESORT) and entry.style == "normal" and _has(entry.fname, character):
            return entry.name
    return None


def _has(file: str, character: str) -> bool:
    try:
        return get_font(file).get_char_index(ord(character)) != 0
    except (OSError, RuntimeError):  # gone, or of bitmaps, as fonts of coloured emoji are
        return False


mpl.rcdefaults()  # a file `matplotlibrc` in the current folder would decide how figures look, and run LaTeX

INK = "#22262b"
GREY = "#858b93"
FAINT = "#d9dce0"
METAL = "#9aa1a9"
METAL_EDGE = "#33383e"
BEST = "#0072b2"
SECOND = "#d55e00"
GOAL = "#00734f"
FREQUENCY_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa4499")
"""Okabe and Ito's colours, which colour-blind readers can distinguish, also in print; dashes are a second mark."""

DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))

RUN_COLOURS = (*FREQUENCY_COLOURS, "#56b4e9", "#a67c00")
"""With `DASHES` 24 styles; two neighbouring runs differ in both."""

MOST_CURVES = 5

SVG_SETTINGS: dict[Any, str] = {"svg.hashsalt": "antennaopt", "svg.fonttype": "path"}
"""The same figure gives the same file; letters are drawn as outlines, so that they look the same on every machine."""


@dataclass(frozen=True, kw_only=True)
class CurveStyle:
    """How the curve of one frequency is drawn.

    Attributes:
        colour: Hexadecimal.
        dash: Matplotlib line style.
    """

    colour: str
    dash: str | tuple[int, tuple[float, ...]]


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of that many inches whose parts make room for each other."""
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def dress(axes: Axes, *, x_label: str = "", y_label: str = "", title: str = "") -> Axes:
    """Give axes the house look: light grid, no box, small sober text."""
    axes.set_xlabel(x_label, fontsize=9, color=INK)
    axes.set_ylabel(y_label, fontsize=9, color=INK)
    if title:
        axes.set_title(title, fontsize=10, color=INK, loc="left")
    axes.tick_params(labelsize=8.5, color=GREY, labelcolor=INK, length=3)
    axes.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)
    return axes


def draw_steps(axes: Axes, generations: Sequence[int], values: Sequence[float], **style: Any) -> None:
    """Draw what held from each generation on, the last value half a generation further so that it can be seen."""
    lone = len(generations) == 1
    x, y = list(generations), list(values)
    if not lone:
        x, y = [*x, x[-1] + 0.5], [*y, y[-1]]
    axes.step(x, y, where="post", marker="o" if lone else "", **style)


def add_legend(
    axes: Axes, *, columns: int = 1, above: bool = False, place: Literal["best", "upper right", "lower left"] = "best"
) -> None:
    """Add a legend without a frame; above the axes, where it hides nothing, or at a place inside."""
    if above:
        legend = axes.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, fontsize=8, frameon=False, borderaxespad=0.2
        )
    else:
        legend = axes.legend(loc=place, ncols=columns, fontsize=8, framealpha=0.85, edgecolor="none")
    for text in legend.get_texts():
        text.set_parse_math(False)  # names may hold a dollar sign


def colour_bar(axes: Axes, picture: Any, label: str, **options: Any) -> Any:
    """Add a colour bar as tall as the axes, which may have equal scales, and return it."""
    figure: Any = axes.figure
    bar = figure.colorbar(picture, cax=axes.inset_axes((1.025, 0.0, 0.035, 1.0)), **options)
    bar.set_label(label, fontsize=9, color=INK, labelpad=5)
    bar.ax.tick_params(labelsize=8.5, color=GREY, labelcolor=INK, length=3)
    bar.outline.set_visible(False)
    return bar


def frequency_styles(count: int) -> list[CurveStyle]:
    """Return a style for each of `count` frequencies, in order."""
    if count <= len(FREQUENCY_COLOURS):
        pairs = zip(FREQUENCY_COLOURS[:count], DASHES[:count], strict=True)
        return [CurveStyle(colour=colour, dash=dash) for colour, dash in pairs]
    scale = colormaps["viridis"]
    return [
        CurveStyle(colour=to_hex(scale(0.9 * place / (count - 1))), dash=DASHES[place % len(DASHES)])
        for place in range(count)
    ]


def run_style(place: int) -> CurveStyle:
    """Return the style of one of many runs, or goals; the first 24 differ in colour or dash."""
    turn = place // len(RUN_COLOURS)
    return CurveStyle(colour=RUN_COLOURS[place % len(RUN_COLOURS)], dash=DASHES[(place + turn) % len(DASHES)])


def chosen_places(count: int) -> list[int]:
    """Return at most `MOST_CURVES` places of `count`, first, last and middle among them."""
    if count <= MOST_CURVES:
        return list(range(count))
    return sorted({round(step * (count - 1) / (MOST_CURVES - 1)) for step in range(MOST_CURVES)})


def render(figure: Figure, kind: str, *, dpi: int = 200) -> bytes:
    """Return a figure as the bytes of a file.

    Args:
        figure: Anything from `new_figure`.
        kind: `svg`, `png` or `pdf`.
        dpi: Of pixels: all of a PNG, the rasterised parts of the others.
    """
    buffer = io.BytesIO()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with mpl.rc_context(SVG_SETTINGS), legible(figure):
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=metadata)
    return buffer.getvalue()


def data_address(figure: Figure) -> str:
    """Return a figure as a `data:` address, to stand in an HTML file that needs no other file."""
    return "data:image/svg+xml;base64," + base64.b64encode(render(figure, "svg")).decode("ascii")


KINDS = ("png", "svg", "pdf")


def check_kind(path: Path | str, named: str = "") -> str:
    """Return a figure's format by its file's ending.

    Args:
        path: The file.
        named: How a message names it; as the option `--plot` does when empty.

    Raises:
        ConfigurationError: The ending is not known.
    """
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in KINDS:
        known = ", ".join(f".{one}" for one in KINDS)
        raise ConfigurationError(f"{named or f'--plot {path}'} has no known ending; use one of {known}")
    return kind


def write_figure(path: Path | str, figure: Figure) -> Path:
    """Write a figure in one step and return its path.

    Args:
        path: Target; its ending chooses the format.
        figure: What to write.

    Raises:
        ConfigurationError: The ending is not known.
        StorageError: It cannot be written.
    """
    data = render(figure, check_kind(path), dpi=160)
    write_atomically(Path(path), lambda file: file.write(data))
    return Path(path)
