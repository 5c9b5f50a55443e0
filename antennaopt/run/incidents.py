"""Events of a farm as lines for the log of the run and for the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from antennaopt.run.progress import Progress
from antennaopt.store.run_folder import RunFolder


def incidents(folder: RunFolder, progress: Progress) -> Callable[..., None]:
    """Return a handler for a farm's `on_event`.

    Args:
        folder: Open for writing; its `logs/run.jsonl` gets a line an event.
        progress: Shows what changes the result, or cost much.
    """

    def happened(event: str, **details: Any) -> None:
        folder.log(event, **details)
        line = notable(event, details)
        if line:
            progress.note(line)

    return happened


def notable(event: str, details: dict[str, Any]) -> str | None:
    """Return a line of text, None for an event that needs no attention."""
    names = ", ".join(details.get("individuals", ()))
    if event == "late_duplicate" and details.get("equal") is False:
        return (
            f"WARNING: {names} was solved twice with different results, the first is kept: this run's workers do not "
            "compute alike, and it will not be the same to the bit when it is repeated"
        )
    if event == "quarantined":
        return f"{names} is given up after {details['attempt']} attempts ({details['kind']}): {details['reason']}"
    if event == "scheduler_rebuilt":
        return "the scheduler had ended; a new one has taken its place and nothing is lost"
    if event == "queue_awaited":
        return f"all workers of {details['where']} are gone; the run goes on when its queue brings others"
    return None
