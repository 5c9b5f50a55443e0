"""Rows of results/benchmarks, and how their figures are written in tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROWS = Path(__file__).resolve().parents[1] / "results" / "benchmarks"

Row = dict[str, Any]


def read(name: str) -> Any:
    """Return what is stored under a name, None where nothing is."""
    file = ROWS / f"{name}.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else None


def rows(name: str) -> list[Row]:
    """Return stored rows; none where there is no file."""
    found = read(name) or []
    return found["rows"] if isinstance(found, dict) else found


def giga(rate: float) -> str:
    """Return a rate in G cell-steps/s."""
    return f"{rate / 1e9:.3g}"


def percent(share: float) -> str:
    """Return a share as whole percent."""
    return f"{round(100 * share) + 0} %"


def cells(row: Row) -> str:
    """Return a row's lattice."""
    return " x ".join(map(str, row["shape"]))
