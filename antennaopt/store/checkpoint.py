"""The state for a resume: the driver's state after a generation, and the order of completion of a steady state.

A checkpoint is JSON with a SHA-256, and nothing is ever unpickled. The last two are kept. One that is torn or has a
flipped bit is found by its digest, and the one before it is used.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from antennaopt.errors import ResumeRefusedError
from antennaopt.store.files import storing, write_text

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
