"""Checkpoints: the driver's state after a generation, as JSON with a SHA-256. Nothing is ever unpickled.

The last two are kept. One that is torn or has a flipped bit is found by its digest, and the one before it is used.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antennaopt.errors import ResumeRefusedError
from antennaopt.store.atomic import storing, write_text

CHECKPOINT_VERSION = 2
"""2 since the digest is that of the text as it stands; in version 1 it was that of the text with sorted keys."""
KEPT = 2
NAME = re.compile(r"checkpoint-(\d{6,})\.json")


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A state that was read back.

    Attributes:
        generation: After which generation it was written.
        state: What the driver gave, floats bit for bit.
        notes: One line for each newer checkpoint that could not be used; to be shown to the user.
    """

    generation: int
    state: dict[str, Any]
    notes: tuple[str, ...] = field(default=())


def save_checkpoint(folder: Path, generation: int, state: Mapping[str, Any]) -> Path:
    """Write the state after a generation and drop all but the last two.

    Args:
        folder: The run's `checkpoint/`.
        generation: From 0; a checkpoint of the same generation is replaced.
        state: JSON-able values; floats and the order of keys survive exactly.

    Raises:
        StorageError: It could not be written; the earlier ones are untouched.
    """
    payload = compact({"generation": generation, "state": state})  # once: it is most of the work
    path = folder / f"checkpoint-{generation:06d}.json"
    write_text(path, f'{{"version":{CHECKPOINT_VERSION},"sha256":"{digest(payload)}","payload":{payload}}}\n')
    older = [found for number, found in listed(folder) if number <= generation]
    with storing(folder):
        for outdated in [found for _, found in listed(folder) if found not in older[:KEPT]]:
            outdated.unlink(missing_ok=True)
    return path


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """Return the newest checkpoint that is whole, or None when none was written yet.

    Args:
        folder: The run's `checkpoint/`.

    Raises:
        ResumeRefusedError: There are checkpoints but none is whole, or one is of a newer version.
    """
    notes: list[str] = []
    for _, path in listed(folder):
        try:
            payload = read(path)
        except Damaged as problem:
            notes.append(f"{path.name} is damaged ({problem}); the one before it is used")
            continue
        return Checkpoint(generation=payload["generation"], state=payload["state"], notes=tuple(notes))
    if notes:
        raise ResumeRefusedError(
            f"every checkpoint in {folder} is damaged; the rows in evals/ are still readable, start a new run from them"
        )
    return None


class Damaged(Exception):  # noqa: N818 - what is wrong with the file
    """The file is not what was written."""


def read(path: Path) -> dict[str, Any]:
    """Return a checkpoint's payload after checking its version and digest.

    Raises:
        Damaged: Truncated, changed, or not a checkpoint.
        ResumeRefusedError: Written by a newer version of this program.
    """
    try:
        document = json.loads(path.read_bytes())
        version, promised, payload = document["version"], document["sha256"], document["payload"]
        generation, state = payload["generation"], payload["state"]
    except OSError as problem:
        raise Damaged(problem.strerror or "cannot be read") from problem
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        raise Damaged("not a complete checkpoint") from problem
    if digest(canonical(payload) if version == 1 else compact(payload)) != promised:
        raise Damaged("its SHA-256 does not match")
    if not isinstance(version, int) or not isinstance(generation, int) or not isinstance(state, dict):
        raise Damaged("not a checkpoint")
    if version > CHECKPOINT_VERSION:
        raise ResumeRefusedError(
            f"{path.name} has checkpoint version {version}, this program reads up to {CHECKPOINT_VERSION}; "
            "resume with the newer antennaopt that wrote it"
        )
    return payload


def listed(folder: Path) -> list[tuple[int, Path]]:
    """Return (generation, path) of every checkpoint, newest first."""
    found = []
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            match = NAME.fullmatch(path.name)
            if match:
                found.append((int(match[1]), path))
    return sorted(found, reverse=True)


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, shortest exact floats."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def compact(value: Any) -> str:
    """Return a value as JSON without spaces, its keys in their order; read and written again it is the same text."""
    return json.dumps(value, separators=(",", ":"))


def digest(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
