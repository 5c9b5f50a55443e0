"""Quantities with units: convert "3.6 mm", "30 GHz", "8 h", "20 deg" to SI numbers and back, with checks."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, Overflow
from typing import Any


class QuantityError(ValueError):
    """A text that is no quantity of the required dimension; the message continues `field = value`."""


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """One kind of quantity.

    Attributes:
        name: `length`, with its article in `a_name`.
        a_name: `a length`.
        units: SI value of one unit, as text so that products round once, by the unit's name.
        shown: Units for messages, largest first; the first that the value reaches is taken, else the last.
        example: Example for a message.
        usual: Unit to propose for a bare number.
    """

    name: str
    a_name: str
    units: dict[str, str]
    shown: tuple[tuple[str, float], ...]
    example: str
    usual: str


LENGTH = Dimension(
    name="length",
    a_name="a length",
    units={
        "m": "1",
        "cm": "1e-2",
        "mm": "1e-3",
        "um": "1e-6",
        "µm": "1e-6",
        "μm": "1e-6",
        "nm": "1e-9",
        "km": "1e3",
        "in": "0.0254",
        "inch": "0.0254",
        "mil": "0.0000254",
    },
    shown=(("m", 1.0), ("mm", 0.01e-3), ("um", 1e-6), ("nm", 0.0)),
    example='"3.6 mm"',
    usual="mm",
)
FREQUENCY = Dimension(
    name="frequency",
    a_name="a frequency",
    units={"Hz": "1", "kHz": "1e3", "MHz": "1e6", "GHz": "1e9", "THz": "1e12"},
    shown=(("THz", 1e12), ("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 0.0)),
    example='"30 GHz"',
    usual="GHz",
)
TIME = Dimension(
    name="time",
    a_name="a time",
    units={
        "s": "1",
        "ms": "1e-3",
        "us": "1e-6",
        "µs": "1e-6",
        "μs": "1e-6",
        "ns": "1e-9",
        "ps": "1e-12",
        "min": "60",
        "h": "3600",
        "d": "86400",
    },
    shown=(("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 0.0)),
    example='"8 h"',
    usual="s",
)
SIZE = Dimension(
    name="size",
    a_name="a size",
    units={"B": "1", "kB": "1e3", "MB": "1e6", "GB": "1e9", "TB": "1e12", "MiB": "1048576", "GiB": "1073741824"},
    shown=(("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 0.0)),
    example='"1 GB"',
    usual="MB",
)
ANGLE = Dimension(
    name="angle",
    a_name="an angle",
    units={"deg": "0.0174532925199432957692", "rad": "1", "mrad": "1e-3"},
    shown=(("deg", 0.0),),
    example='"20 deg"',
    usual="deg",
)
DENSITY = Dimension(
    name="density",
    a_name="a density",
    units={"g/cm3": "1000", "kg/m3": "1"},
    shown=(("g/cm3", 0.0),),
    example='"2.7 g/cm3"',
    usual="g/cm3",
)
DIMENSIONS = (LENGTH, FREQUENCY, TIME, SIZE, ANGLE, DENSITY)

_QUANTITY = re.compile(
    r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?)\s*([A-Za-zµμ]*(?:/[A-Za-z]{1,2}3)?)\s*", re.ASCII | re.DOTALL
)
_NOT_FINITE = re.compile(r"\s*[+-]?(nan|inf|infinity)\b.*", re.IGNORECASE | re.DOTALL)


def parse_quantity(value: Any, dimension: Dimension) -> float:
    """Turn text with a unit into SI, rounded once: "0.3 mm" is exactly the float 0.0003.

    Args:
        value: Text such as `3.6 mm`; anything else is refused with the text to write in its place.
        dimension: Required dimension.

    Returns:
        The value in SI, finite; zero and negative values pass.

    Raises:
        QuantityError: Not a number with a unit of this dimension. The message continues `field = value`.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise QuantityError(f"is not {dimension.a_name}; write a number with its unit, for example {dimension.example}")
    if not isinstance(value, str):
        if not abs(value) <= sys.float_info.max:  # of a whole number too: math.isfinite raises OverflowError
            raise QuantityError(f"is not finite; write a number with its unit, for example {dimension.example}")
        proposed = _from_hertz(value, dimension) or f"{value:g} {dimension.usual}"
        raise QuantityError(f'has no unit; write it as text with one, for example "{proposed}"')
    found = _QUANTITY.fullmatch(value)
    if found is None:
        if _NOT_FINITE.fullmatch(value):
            raise QuantityError(f"is not finite; write a number with its unit, for example {dimension.example}")
        raise QuantityError(f"is not {dimension.a_name}; write a number with its unit, for example {dimension.example}")
    number, unit = found.groups()
    if unit not in dimension.units:
        raise QuantityError(_wrong_unit(number, unit, dimension))
    return _product(number, dimension.units[unit], dimension)


def format_quantity(value: float, dimension: Dimension, *, digits: int = 6) -> str:
    """Write an SI value in a unit that suits its size: 0.0036 m is `3.6 mm`.

    Args:
        value: SI, finite.
        dimension: Its dimension.
        digits: Significant digits.
    """
    size = abs(value)
    if size == 0.0:
        return f"0 {dimension.usual}"
    # A value that is a rounding error below a unit's lowest is still written in that unit.
    unit = next(name for name, lowest in dimension.shown if size >= lowest * (1.0 - 1e-9))
    return f"{value / float(dimension.units[unit]):.{digits}g} {unit}"


ROUNDED = 1e-5
"""Relative room of a limit that a message names: it has six digits there, and is accepted as it is written."""


def format_length(value: float) -> str:
    """Write a length in metres with a unit, `3.6 mm`."""
    return format_quantity(value, LENGTH)


def format_level(cells: float | str, stop_db: float | None = None) -> str:
    """Return what a level of a search solves on: `2.5 mm`, or `2.5 mm, stopped at -20 dB`.

    Args:
        cells: Size of its cells, m, or a text for them.
        stop_db: Energy over its peak at the stop, dB; None where all levels stop at the same.
    """
    text = cells if isinstance(cells, str) else f"{cells * 1e3:.4g} mm"
    return text if stop_db is None else f"{text}, stopped at {stop_db:.3g} dB"


def format_angle(value: float) -> str:
    """Write an angle in radians with a unit, `20 deg`."""
    return format_quantity(value, ANGLE)


def format_frequency(value: float) -> str:
    """Write a frequency in Hz with a unit, `30 GHz`."""
    return format_quantity(value, FREQUENCY)


def gigahertz(frequency_hz: float) -> str:
    """Write a frequency in Hz as GHz: `28.5 GHz`."""
    return f"{frequency_hz / 1e9:.6g} GHz"


def frequency_span(frequencies_hz: Sequence[float]) -> str:
    """Write a list of frequencies: `30 GHz`, or `28.5 to 31.5 GHz`."""
    low, high = min(frequencies_hz), max(frequencies_hz)
    return gigahertz(low) if low == high else f"{low / 1e9:.6g} to {gigahertz(high)}"


def duration(seconds: float, *, tenths: bool = False) -> str:
    """Write a span of time: `45 s`, `3 min 20 s`, `2 h 05 min`.

    Args:
        seconds: Its length.
        tenths: Whether to write tenths of a second below 10 s: `4.2 s`.
    """
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if tenths and seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def number(value: float, decimals: int = 2) -> str:
    """Write a number with `decimals` digits after the point and a real minus sign, never `-0.00`."""
    if math.isnan(value):
        return "not a number"
    rounded = round(value, decimals) + 0.0
    return f"{rounded:.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def signed(value: float, decimals: int) -> str:
    """Write a difference with its sign; no sign on zero."""
    text = number(value, decimals)
    return f"+{text}" if value > 0.0 and float(f"{value:.{decimals}f}") != 0.0 else text


def general(value: float, digits: int = 4) -> str:
    """Write a number with `digits` significant digits and a real minus sign."""
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def _product(number: str, unit: str, dimension: Dimension) -> float:
    try:
        product = float(Decimal(number) * Decimal(unit))
    except (InvalidOperation, Overflow, OverflowError):
        product = math.inf
    if not math.isfinite(product):
        raise QuantityError(f"is too large for {dimension.a_name}; write for example {dimension.example}")
    return product


def _from_hertz(value: float, dimension: Dimension) -> str | None:
    """Return a bare number that must be in hertz with a unit: 30e9 is 30 GHz, and no 30,000,000,000 GHz."""
    if dimension is not FREQUENCY or not 1e6 <= abs(value) < math.inf:
        return None
    return f"{value / 1e9:.12g} GHz" if abs(value) >= 1e9 else f"{value / 1e6:.12g} MHz"


def _wrong_unit(number: str, unit: str, dimension: Dimension) -> str:
    if not unit:
        proposed = _from_hertz(float(number), dimension) or f"{number} {dimension.usual}"
        return f'has no unit; write for example "{proposed}"'
    meant = next((name for name in dimension.units if name.lower() == unit.lower()), None)
    if meant is not None:
        return f'has unit {unit!r}, which is not known; did you mean "{number} {meant}"?'
    other = next((one for one in DIMENSIONS if unit in one.units), None)
    known = ", ".join(name for name in dimension.units if name.isascii())
    if other is not None:
        return f'is {other.a_name}, not {dimension.a_name}; write for example "{number} {dimension.usual}" ({known})'
    return f"has unit {unit!r}, which is no unit of {dimension.name}; use one of {known}"
