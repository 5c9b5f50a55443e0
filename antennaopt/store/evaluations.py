"""The files of a generation in the order of writing: patterns, made copies, rows, failures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from antennaopt.store.checkpoint import canonical
from antennaopt.store.files import storing
from antennaopt.store.made import write_made
from antennaopt.store.rows import Row
from antennaopt.store.run_folder import RunFolder

COPIED = ("status", "error", "seconds", "steps", "worker", "device", "attempt", "decay_db", "stepping_seconds")
"""Attributes of an outcome that a row, and a line of `failures.jsonl`, hold as they are."""
_TIME = 100
"""Bytes of a line's time and its end, and some more."""


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
    folder.record_failures(_unrecorded(folder, [_failure(one) for one in rows if not one.outcome.ok]))


def _unrecorded(folder: RunFolder, failures: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the failures that the end of `failures.jsonl` does not hold yet: a writer that was lost may have begun."""
    path, texts = folder.path / "failures.jsonl", [canonical(one) for one in failures]
    if not failures or not path.exists():
        return list(failures)
    with storing(path), path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - sum(len(one) + _TIME for one in texts)))
        lines = file.read().decode(errors="replace").splitlines()
    known = set()
    for line in lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue  # the rest of a line, or torn by a kill
        if isinstance(entry, dict):
            known.add(canonical({name: value for name, value in entry.items() if name != "time"}))
    return [one for one, text in zip(failures, texts, strict=True) if text not in known]


def _failure(one: Row) -> dict[str, Any]:
    return {
        "individual": one.individual,
        "generation": one.generation,
        "values": one.values,
        **{name: getattr(one.outcome, name) for name in COPIED},
    }
