"""Files that a run appends to: its events, and the order of completion of a steady state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from antennaopt.store.atomic import storing


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


Completion = tuple[str, int]
"""The name of a birth, and how many had been bred when it was complete."""


class OrderLog:
    """`logs/order.jsonl` of one run: the order of completion of a steady state. The file is made with its first line.

    What a killed run had not stored yet is solved again; this file gives the order in which it is to be taken, and how
    many had been bred by each moment, so that everything comes out as it had. A line is `[17,"b000021",24]`: the
    eighteenth to be complete is the twenty-second that was bred, and twenty-four had been bred by then.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def append(self, place: int, name: str, births: int) -> None:
        """Add an individual that is complete; the line survives the process, though not a power cut.

        Args:
            place: In the order of completion, from 0.
            name: Of the birth.
            births: How many had been bred.

        Raises:
            StorageError: Disk full, no permission.
        """
        with storing(self.path):
            if self._file is None:
                self._file = self.path.open("ab", buffering=0)
                if self._file.tell():
                    self._file.write(b"\n")  # ends a line that a killed process left torn; an empty one is no harm
            self._file.write(f'[{place},"{name}",{births}]\n'.encode())

    def after(self, place: int) -> list[Completion]:
        """Return the individuals complete from a place on, without a gap; empty where none is recorded.

        A place that was written twice is that of a run that went on in another way: what stood after it counts no more.
        """
        found: list[Completion] = []
        for at, name, births in self._lines():
            if place <= at <= place + len(found):
                del found[at - place :]
                found.append((name, births))
        return found

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _lines(self) -> Iterator[tuple[int, str, int]]:
        if not self.path.exists():
            return
        with storing(self.path), self.path.open("rb") as file:
            for line in file:
                try:
                    at, name, births = json.loads(line)
                except (ValueError, TypeError, RecursionError):
                    continue  # torn by a kill, or damaged: the order ends there
                if type(at) is int and type(name) is str and type(births) is int:
                    yield at, name, births
