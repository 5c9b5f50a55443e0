"""What the farm tells of faults: all of it in the run's log, and what a person must know at once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from antennaopt.run.progress import Progress
from antennaopt.store import RunFolder

MOST_NOISE = 200
"""Records of a run that are kept; something that warns at each step must not fill the log."""


class Noise(logging.Handler):
    """Keeps warnings and errors of libraries in the run's log, as the event `noise`."""

    def __init__(self, log: Callable[..., None]) -> None:
        """Write with `RunFolder.log`."""
        super().__init__(logging.WARNING)
        self._log, self._left = log, MOST_NOISE

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; one that cannot be written is dropped: the driver will notice the disk by itself."""
        self._left -= 1
        if self._left >= 0:
            with suppress(Exception):
                self._log("noise", logger=record.name, level=record.levelname, text=self.format(record))


def incidents(folder: RunFolder, progress: Progress) -> Callable[..., None]:
    """Return what a farm's `on_event` is set to.

    Args:
        folder: Open for writing; its `logs/run.jsonl` gets a line an event.
        progress: Is told of what changes the result, or cost much.
    """

    def happened(event: str, **details: Any) -> None:
        folder.log(event, **details)
        said = notable(event, details)
        if said:
            progress.note(said)

    return happened


def notable(event: str, details: dict[str, Any]) -> str | None:
    """Return a line for people, None of what the farm deals with in silence."""
    who = ", ".join(details.get("individuals", ()))
    if event == "late_duplicate" and details.get("equal") is False:
        return (
            f"WARNING: {who} was solved twice with different results, the first is kept: this run's workers do not "
            "compute alike, and it will not be the same to the bit when it is repeated"
        )
    if event == "quarantined":
        return f"{who} is given up after {details['attempt']} attempts ({details['kind']}): {details['reason']}"
    if event == "scheduler_rebuilt":
        return "the scheduler had ended; a new one has taken its place and nothing is lost"
    return None
