"""CSV tables of one antenna: its figures of merit, and its patterns. Every column's name carries its unit."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from antennaopt.metrics import METRICS
from antennaopt.store.atomic import storing, write_text

PATTERN_COLUMNS = ("frequency_hz", "theta_deg", "e_plane_dbi", "h_plane_dbi")


def write_csv(path: Path | str, outcome: Mapping[str, Any]) -> list[Path]:
    """Write an antenna's figures of merit to `path` and its patterns beside it, `<stem>_patterns.csv`.

    Args:
        path: The first file, `lens.csv`; replaced when it exists.
        outcome: An `ok` outcome as `evaluate` returns it.

    Returns:
        The files written: one row a frequency, and one row a frequency and angle. An empty cell is a value that is not
        defined (no side lobe, a pattern that never falls by 3 dB).

    Raises:
        StorageError: They cannot be written.
        ValueError: The outcome has no frequencies: it was not solved.
    """
    if not outcome.get("frequency_hz"):
        raise ValueError(f"there is nothing to export: the antenna's status is {outcome.get('status')!r}")
    path = Path(path)
    written = [(path, result_rows(outcome))]
    if "e_plane_dbi" in outcome:
        written.append((patterns_file(path), pattern_rows(outcome)))
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    for target, rows in written:
        write_text(target, csv_text(rows))
    return [target for target, _ in written]


def patterns_file(path: Path) -> Path:
    """Return where the patterns go whose figures of merit go to `path`."""
    return path.with_name(f"{path.stem}_patterns{path.suffix or '.csv'}")


def result_rows(outcome: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Return the header and one row a frequency; S11 is linear in `s11_re` and `s11_im`, exp(+jwt)."""
    present = [name for name in METRICS if outcome.get(name) is not None]
    columns = [outcome[name] for name in present]
    header = ["frequency_hz", "s11_re", "s11_im", *present]
    rows = zip(outcome["frequency_hz"], outcome["s11"], *columns, strict=True)
    return [header, *([hz, *s11, *values] for hz, s11, *values in rows)]


def pattern_rows(outcome: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Return the header and one row a frequency and angle, co-polar directivity in dBi of both principal planes."""
    rows: list[Sequence[Any]] = [PATTERN_COLUMNS]
    cuts = zip(outcome["frequency_hz"], outcome["e_plane_dbi"], outcome["h_plane_dbi"], strict=True)
    for hz, e_plane, h_plane in cuts:
        angles = zip(outcome["theta_deg"], e_plane, h_plane, strict=True)
        rows += [(hz, theta, e_level, h_level) for theta, e_level, h_level in angles]
    return rows


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV (RFC 4180 quoting, line feeds), numbers to their last bit, None as an empty cell."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(
        [repr(float(value)) if isinstance(value, float) else value for value in row] for row in rows
    )
    return buffer.getvalue()
