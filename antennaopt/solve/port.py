"""Figures of a port with a resistance: its impedance, and the band in which it is matched."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

MATCHED_DB = -10.0


def port_of(outcome: Mapping[str, Any], resistance: float) -> dict[str, Any]:
    """Return what `simulate --json` has as `port`, of a solved antenna.

    Args:
        outcome: With `frequency_hz` and `s11`; the band is read from its `sweep` where there is one.
        resistance: Reference of S11, ohm.

    Returns:
        `resistance`; `impedance`, real and imaginary part a frequency, ohm; `bandwidth`, see `bandwidth_of`.
    """
    found = []
    for pair in outcome["s11"]:
        s11 = complex(*pair)
        impedance = resistance * (1 + s11) / (1 - s11) if s11 != 1 else complex("inf")
        found.append([impedance.real, impedance.imag])
    swept = outcome.get("sweep") or outcome
    levels = [20 * math.log10(max(math.hypot(*pair), 1e-6)) for pair in swept["s11"]]
    band = bandwidth_of(swept["frequency_hz"], levels)
    return {"resistance": resistance, "impedance": found, "bandwidth": band}


def bandwidth_of(frequencies: Sequence[float], s11_db: Sequence[float], level: float = MATCHED_DB) -> dict | None:
    """Return the widest band in which S11 is at most a level.

    Its ends are read between two frequencies by a straight line in dB. An end that is the first or last frequency may
    be further out: `open` says so.

    Args:
        frequencies: Hz, in any order.
        s11_db: dB, one a frequency.
        level: dB.

    Returns:
        `level_db`, `from_hz`, `to_hz`, `fraction` of the middle, and `open`; None where S11 is above the level
        everywhere.
    """
    points = sorted(zip(frequencies, s11_db, strict=True))
    best: tuple[float, float, bool] | None = None
    place = 0
    while place < len(points):
        if points[place][1] > level:
            place += 1
            continue
        first = place
        while place + 1 < len(points) and points[place + 1][1] <= level:
            place += 1
        low = _crossing(points[first - 1], points[first], level) if first else points[0][0]
        last = place == len(points) - 1
        high = points[place][0] if last else _crossing(points[place], points[place + 1], level)
        if best is None or high - low > best[1] - best[0]:
            best = low, high, last or not first
        place += 1
    if best is None:
        return None
    low, high, is_open = best
    fraction = 2 * (high - low) / (high + low)
    return {"level_db": level, "from_hz": low, "to_hz": high, "fraction": fraction, "open": is_open}


def _crossing(one: tuple[float, float], other: tuple[float, float], level: float) -> float:
    (start, first), (stop, last) = one, other
    return start + (level - first) / (last - first) * (stop - start)


def port_line(port: Mapping[str, Any], frequencies: Sequence[float]) -> str:
    """Write `port_of` in one line, the impedance at the middle frequency."""
    middle = sorted(frequencies)[len(frequencies) // 2]
    real, imaginary = port["impedance"][list(frequencies).index(middle)]
    text = f"port {real:.1f} {'-' if imaginary < 0 else '+'} {abs(imaginary):.1f}j ohm at {middle / 1e9:.6g} GHz"
    band = port["bandwidth"]
    if band is None:
        return f"{text}; S11 is above {MATCHED_DB:g} dB at all frequencies"
    more = ", or beyond" if band["open"] else ""
    return (
        f"{text}; S11 at most {band['level_db']:g} dB from {band['from_hz'] / 1e9:.5g} to "
        f"{band['to_hz'] / 1e9:.5g} GHz ({100 * band['fraction']:.2g} %{more})"
    )
