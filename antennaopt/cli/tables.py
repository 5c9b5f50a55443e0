"""Plain tables for stdout: aligned columns, a line under the header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

METRIC_LABELS = {
    "directivity_dbi": ("directivity on axis", "dBi", 2),
    "max_directivity_dbi": ("largest directivity", "dBi", 2),
    "gain_dbi": ("gain on axis", "dBi", 2),
    "radiation_efficiency": ("radiation efficiency", "", 4),
    "s11_db": ("S11", "dB", 2),
    "hpbw_e_deg": ("beamwidth, E plane", "deg", 2),
    "hpbw_h_deg": ("beamwidth, H plane", "deg", 2),
    "sidelobe_db": ("side lobe", "dB", 2),
    "front_to_back_db": ("front to back", "dB", 2),
    "crosspol_db": ("cross-polarisation", "dB", 2),
    "power_balance": ("power balance", "", 4),
    "contour_balance": ("contour balance", "", 4),
}
"""Label, unit and decimals by metric, in the order of the table."""


def aligned(rows: Sequence[Sequence[str]], *, header: bool = True) -> str:
    """Return rows as text: the first column to the left, the others to the right.

    Args:
        rows: Cells; all rows equally long.
        header: Whether a line goes under the first row.
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first = row[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([first, *rest]).rstrip())
    if header:
        lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)


def results_table(outcome: Mapping[str, Any]) -> str:
    """Return an outcome's figures of merit, one column a frequency.

    Args:
        outcome: As `evaluate` returns it.
    """
    rows = [["", *(f"{hz / 1e9:g} GHz" for hz in outcome["frequency_hz"])]]
    for metric, (label, unit, decimals) in METRIC_LABELS.items():
        if metric in outcome:
            name = f"{label} ({unit})" if unit else label
            rows.append([name, *(cell(value, decimals) for value in outcome[metric])])
    return aligned(rows)


def cell(value: float | None, decimals: int) -> str:
    """Write a number, `none` where it is not defined."""
    return "none" if value is None else f"{value:.{decimals}f}"
