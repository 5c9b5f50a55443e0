"""First designs of a search: dimensions, ranges and goals for a gain, in wavelengths lam at the frequency."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

ABOVE_CUTOFF = 1.24
"""Frequency over the cutoff of TE11: 5 % above it TM01 is still cut off (1.306)."""

FEED_RADIUS = ABOVE_CUTOFF * 1.8411837813406593 / (2 * math.pi)
WALL = 0.04
FEED_LENGTH = 1.5


@dataclass(frozen=True, kw_only=True)
class Gene:
    """A parameter that the search may choose.

    Attributes:
        name: Dotted name.
        best: Value of the closed form, in wavelengths or plain; of a list one for each entry.
        low: Lower end of the range.
        high: Upper end.
        why: For the comment.
        unit: `lam`, or empty for a plain number; `integer` for a whole one.
    """

    name: str
    best: float | tuple[float, ...]
    low: float
    high: float
    why: str
    unit: str = "lam"


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """A parameter with one value: wavelengths, a plain number or a word."""

    name: str
    value: float | str
    why: str
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Start:
    """Begin of a search.

    Attributes:
        about: What the antenna is, and which closed form gives its size; a few lines.
        entries: Parameters but the feed's.
        goals: (metric, bound, level, weight) in addition to the gain.
        cells: A wavelength in the densest medium.
        feed_length: Of the tube, wavelengths.
        feed_radius: Inner radius of the feed, wavelengths.
        about_feed: For the comment.
    """

    about: tuple[str, ...]
    entries: tuple[Gene | Fixed, ...]
    goals: tuple[tuple[str, str, float, float], ...]
    cells: float = 20.0
    feed_length: float = FEED_LENGTH
    feed_radius: float = FEED_RADIUS
    about_feed: str = f"{ABOVE_CUTOFF:g} times the cutoff of TE11; TM01 stays cut off"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The closed form of a family.

    Attributes:
        lowest: Smallest gain that it holds for, dBi.
        highest: Largest.
        make: Returns the start for a gain as a ratio.
    """

    lowest: float
    highest: float
    make: Callable[[float], Start]


def aperture(gain: float, efficiency: float) -> float:
    """Return the diameter of a round aperture, wavelengths: G = efficiency (pi d)^2."""
    return math.sqrt(gain / efficiency) / math.pi


def around(name: str, best: float, low: float, high: float, why: str, *, least: float = 0.0) -> Gene:
    """Return a length with a range of shares of it, no smaller than a limit."""
    best = max(best, 1.02 * least)
    return Gene(name=name, best=best, low=max(low * best, least), high=high * best, why=why)


MATCHED = ("s11_db", "at_most", -20.0, 0.5)
LOBES = ("sidelobe_db", "at_most", -20.0, 0.5)
PURE = ("crosspol_db", "at_most", -25.0, 0.5)
HORN_WALL = Fixed(name="horn.wall", value=2 * WALL, why="thickness of the wall", unit="lam")
POLYSTYRENE = 2.53
"""Permittivity."""
