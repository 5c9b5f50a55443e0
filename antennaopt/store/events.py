"""A run's log: an event a line, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def log_of(run: Path) -> Path:
    """Return where a run folder's log lies."""
    return run / "logs" / "run.jsonl"


def events_in(lines: Iterable[str | bytes]) -> list[Mapping[str, Any]]:
    """Return the events of some lines; one that a crash cut short, or that holds no event, is passed over."""
    events = []
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def read_events(run: Path) -> list[Mapping[str, Any]]:
    """Return the events of a run folder's log, none where there is no log; see `events_in`."""
    path = log_of(run)
    return events_in(path.read_text(encoding="utf-8", errors="replace").splitlines()) if path.exists() else []
