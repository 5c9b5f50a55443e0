"""What figures of merit and kernels are called in print; a figure's unit and its worst value over a band."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Label:
    """How one metric is written.

    Attributes:
        title: `Directivity`.
        unit: `dBi`; empty for plain numbers.
        more_is_better: Which end of a band is the worst.
        decimals: Digits after the point.
        absent: What stands where the metric is not defined.
    """

    title: str
    unit: str
    more_is_better: bool
    decimals: int = 2
    absent: str = "not defined"

    def text(self, value: float | None) -> str:
        """Write a value with its unit."""
        if value is None:
            return self.absent
        return f"{number(value, self.decimals)} {self.unit}".rstrip()

    @property
    def inline(self) -> str:
        """The title inside a sentence."""
        return (
            self.title
            if self.title[:2].isupper() or self.title[1:2].isdigit()
            else self.title[:1].lower() + self.title[1:]
        )

    def difference(self, value: float) -> str:
        """Write a difference of two values with its sign and unit: dBi differ by dB."""
        return f"{signed(value, self.decimals)} {self.unit.replace('dBi', 'dB')}".rstrip()

    def amount(self, size: float) -> str:
        """Write the size of a difference with its unit; one that rounds to nothing keeps two digits."""
        text = number(size, self.decimals)
        text = general(size, 2) if size and not float(text) else text
        return f"{text} {self.unit.replace('dBi', 'dB')}".rstrip()

    def worst(self, values: Iterable[float | None]) -> float | None:
        """Return the worst of those that are defined, None when none is."""
        there = [value for value in values if value is not None]
        if not there:
            return None
        return min(there) if self.more_is_better else max(there)


LABELS = {
    "directivity_dbi": Label(title="Directivity", unit="dBi", more_is_better=True),
    "max_directivity_dbi": Label(title="Largest directivity", unit="dBi", more_is_better=True),
    "gain_dbi": Label(title="Gain", unit="dBi", more_is_better=True),
    "s11_db": Label(title="S11", unit="dB", more_is_better=False),
    "sidelobe_db": Label(title="Side lobes", unit="dB", more_is_better=False, absent="none"),
    "front_to_back_db": Label(title="Front to back", unit="dB", more_is_better=True),
    "crosspol_db": Label(title="Cross-polarisation", unit="dB", more_is_better=False, absent="none"),
    "radiation_efficiency": Label(title="Radiation efficiency", unit="", more_is_better=True, decimals=4),
    "power_balance": Label(title="Power balance", unit="", more_is_better=True, decimals=4),
    "contour_balance": Label(title="Contour balance", unit="", more_is_better=True, decimals=4),
    "hpbw_e_deg": Label(title="Beamwidth, E plane", unit="°", more_is_better=False, decimals=1),
    "hpbw_h_deg": Label(title="Beamwidth, H plane", unit="°", more_is_better=False, decimals=1),
}

ALWAYS_SHOWN = ("directivity_dbi", "s11_db", "sidelobe_db")


def label_of(metric: str) -> Label:
    """Return a metric's label; one that is not known here is called by its own name."""
    return LABELS.get(metric) or Label(title=metric, unit="", more_is_better=True, decimals=4)


def kernel_name(row: Mapping[str, Any]) -> str:
    """Name the kernel of a benchmark's row: its scheme, and what its plan was told (`one_step, launches 1`)."""
    return ", ".join([str(row["scheme"]), *(f"{key} {value}" for key, value in (row.get("choice") or {}).items())])


def gigahertz(frequency_hz: float) -> str:
    """Write a frequency for people: `28.5 GHz`."""
    return f"{frequency_hz / 1e9:.6g} GHz"


def frequency_span(frequencies_hz: Sequence[float]) -> str:
    """Write a list of frequencies for people: `30 GHz`, or `28.5 to 31.5 GHz`."""
    low, high = min(frequencies_hz), max(frequencies_hz)
    return gigahertz(low) if low == high else f"{low / 1e9:.6g} to {gigahertz(high)}"


def number(value: float, decimals: int = 2) -> str:
    """Write a number with so many digits after the point and a real minus sign, never `-0.00`."""
    if math.isnan(value):
        return "not a number"
    rounded = round(value, decimals) + 0.0
    return f"{rounded:.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def signed(value: float, decimals: int) -> str:
    """Write a difference with its sign; no sign on zero."""
    text = number(value, decimals)
    return f"+{text}" if value > 0.0 and float(f"{value:.{decimals}f}") != 0.0 else text


def general(value: float, digits: int = 4) -> str:
    """Write a number with so many significant digits."""
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")
