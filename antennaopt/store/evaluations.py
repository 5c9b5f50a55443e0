"""A generation's files in the order in which they must come: patterns, made copies, rows, failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from antennaopt.store.made import write_made
from antennaopt.store.rows import Row
from antennaopt.store.run_folder import RunFolder

COPIED = ("status", "error", "seconds", "steps", "worker", "device", "attempt", "decay_db", "stepping_seconds")
"""Attributes of an outcome that a row, and a line of `failures.jsonl`, hold as they are."""


def write_evaluations(
    folder: RunFolder,
    generation: int,
    rows: Sequence[Row],
    copies: Mapping[str, str],
    *,
    helper: Executor | None = None,
) -> None:
    """Write patterns, then rows: a row on disk always has its pattern.

    Args:
        folder: Open for writing.
        generation: Which; written again it is replaced.
        rows: Of it.
        copies: Individuals whose pattern is that of one of an earlier generation, by its id.
        helper: Writes the patterns while this thread makes the file of rows, which gets its name after theirs. Most of
            the time goes into compressing patterns, for which no interpreter is needed.

    Raises:
        StorageError: Disk full, no permission; no file is half-written.
        ResumeRefusedError: The file that the generation is added to is damaged.
    """
    patterns = {one.individual: one.outcome for one in rows if one.individual not in copies}
    if helper is None:
        folder.write_patterns(generation, patterns, copies)
        write_made(folder, generation, {one.individual: one.samples for one in rows})
        folder.write_rows(generation, rows)
    else:
        written = helper.submit(folder.write_patterns, generation, patterns, copies)
        try:
            write_made(folder, generation, {one.individual: one.samples for one in rows})
            folder.write_rows(generation, rows, after=written.result)
        finally:
            written.exception()  # it has ended before anything else is written
    folder.record_failures(_failure(one) for one in rows if not one.outcome.ok)


def _failure(one: Row) -> dict[str, Any]:
    return {
        "individual": one.individual,
        "generation": one.generation,
        "values": one.values,
        **{name: getattr(one.outcome, name) for name in COPIED},
    }
