"""Plain tables for stdout: aligned columns, a line under the header."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from antennaopt.terminal import one_line

WIDTH = 80
"""Columns of a terminal that does not say."""


def aligned(
    rows: Sequence[Sequence[str]], *, header: bool = True, left: Collection[int] = (0,), wrap: bool = False
) -> str:
    """Return rows as text.

    Args:
        rows: Cells; all rows equally long.
        header: Whether a line goes under the first row.
        left: Columns that are aligned to the left; the others are to the right.
        wrap: Whether columns for which the terminal is too narrow go below, in blocks that repeat the first column.
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    blocks = [list(range(len(widths)))]
    if wrap:
        blocks = _blocks(widths, shutil.get_terminal_size((WIDTH, 24)).columns)
    return "\n\n".join(_block(rows, columns, widths, header=header, left=left) for columns in blocks)


def _blocks(widths: Sequence[int], most: int) -> list[list[int]]:
    """Return which columns stand beside each other; each block begins with the first."""
    blocks, used = [[0]], widths[0]
    for column, width in enumerate(widths[1:], start=1):
        if used + 2 + width > most and len(blocks[-1]) > 1:
            blocks.append([0])
            used = widths[0]
        blocks[-1].append(column)
        used += 2 + width
    return blocks


def _block(
    rows: Sequence[Sequence[str]], columns: Sequence[int], widths: Sequence[int], *, header: bool, left: Collection[int]
) -> str:
    lines = []
    for row in rows:
        cells = [row[at].ljust(widths[at]) if at in left else row[at].rjust(widths[at]) for at in columns]
        lines.append("  ".join(cells).rstrip())
    if header:
        lines.insert(1, "-" * (sum(widths[at] for at in columns) + 2 * (len(columns) - 1)))
    return "\n".join(lines)


def results_table(outcome: Mapping[str, Any]) -> str:
    """Return an outcome's figures of merit, one column a frequency.

    Args:
        outcome: As `evaluate` returns it.
    """
    from antennaopt.metrics import Place, reported_in

    rows = [["", *(f"{hz / 1e9:g} GHz" for hz in outcome["frequency_hz"])]]
    for metric in reported_in(Place.EVERYWHERE, outcome):
        rows.append([metric.heading, *(cell(value, metric.decimals) for value in outcome[metric.key])])
    return aligned(rows, wrap=True)


def cell(value: float | None, decimals: int, absent: str = "none") -> str:
    """Write a number for a terminal, or what stands in its place where it is not defined."""
    return absent if value is None else f"{value:.{decimals}f}"
