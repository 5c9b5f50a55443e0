"""Fonts for titles and names in any script: what the usual font lacks is drawn with another one that has it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.text import Text

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
