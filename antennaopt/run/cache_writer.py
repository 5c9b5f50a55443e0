"""A process that writes the entries of the evaluation cache, to relieve a busy driver.

SQLite gives the interpreter away for each row. A thread that takes it back waits for its turn where another computes,
and makes that one give way as often.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from antennaopt.run.handover import Message, Unfit, outcomes_of_parts, packed, parts_of, read_message
from antennaopt.run.other_process import OtherProcess, WriterLost, answer_all, is_fast, is_fast_at_start, wait_for
from antennaopt.store.cache import DIGEST_BYTES, MOST_BYTES, Entry, EvaluationCache
from antennaopt.store.late_cache import LateCache


class RunCache(LateCache):
    """The evaluation cache of a run: its thread has a process write where many antennas come fast.

    Where that process is lost, the thread writes again.
    """

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        """Open the cache of a folder, as `EvaluationCache` does."""
        self._process: OtherProcess | None = None
        self._may_start = True
        self._handed = time.monotonic()
        super().__init__(folder, most_bytes=most_bytes)

    def expect(self, entries: int) -> None:
        """Start the process before a device's first generation, of `entries` antennas: that will be fast."""
        if is_fast_at_start(entries):
            self.start_process()

    def start_process(self) -> None:
        """Start the process that writes, unless it was started before, or cannot be."""
        if not self._may_start:
            return
        self._may_start = False
        with suppress(OSError):
            self._process = OtherProcess(__name__, str(self._folder.absolute()), str(self._most_bytes))

    def add(  # noqa: D102
        self, entries: Iterable[Entry], designs: Iterable[tuple[bytes, bytes]] = (), used: Iterable[bytes] = ()
    ) -> None:
        some = list(entries)
        since, self._handed = self._handed, time.monotonic()
        if self._connection is not None and is_fast(len(some), self._handed - since):
            self.start_process()
        super().add(some, designs, used)

    def close(self) -> None:
        """Write what waits, and end the process."""
        try:
            super().close()
        finally:
            self._may_start = False
            process, self._process = self._process, None
            if process is not None:
                process.close()

    def _write(self, entries: dict[bytes, Entry], names: dict[bytes, bytes], used: list[bytes]) -> None:
        process = self._process
        if process is None or not self._is_written_by(process, entries, names, used):
            super()._write(entries, names, used)

    def _is_written_by(
        self, process: OtherProcess, entries: dict[bytes, Entry], names: dict[bytes, bytes], used: list[bytes]
    ) -> bool:
        """Have the process write; return False where it does not, and end it where it cannot."""
        try:
            if not process.ready:
                return False
            answer = process.write(message_of([*entries.values()], names, used, replaced=self.replaced))
            warnings, replaced = answer["warnings"], answer["replaced"]
        except Unfit:
            return False
        except Exception as problem:  # whatever it is, the cache ends no run
            self._process = None
            process.close()
            if not isinstance(problem, WriterLost):
                reason = (str(problem).splitlines() or [repr(problem)])[-1]
                self.warnings.append(f"the process that writes {self.path} failed ({reason}); a thread writes it now")
            return False
        self._close_written()
        self.warnings += warnings
        self._replaced_behind += replaced
        return True

    def _wait(self, write: Future[None]) -> None:
        wait_for(write, lambda: self._process)

    def _hurry(self) -> None:
        if (process := self._process) is not None:  # the thread may lose it meanwhile
            process.wake()


def message_of(
    entries: Sequence[Entry], names: Mapping[bytes, bytes], used: Sequence[bytes], *, replaced: int = 0
) -> Message:
    """Return what one call of `EvaluationCache.add` is given as a message.

    Args:
        entries: New ones.
        names: Digests by the key of a design.
        used: Digests that were found.
        replaced: Files that the reader has replaced.

    Raises:
        Unfit: It holds what a message has no form for.
    """
    digests = [one.digest for one in entries]
    if any(len(one) != DIGEST_BYTES for one in (*digests, *names, *names.values(), *used)):
        raise Unfit("a key of another length")
    about = [[one.context, one.solver] for one in entries]
    shared = about[:1] if about[:1] * len(about) == about else about
    buffers: list[Any] = []
    try:
        parts = parts_of([one.outcome for one in entries], buffers)
    except (TypeError, ValueError, LookupError, AttributeError) as problem:  # no outcome
        raise Unfit(str(problem)) from problem
    content = {
        "digests": b"".join(digests),
        "about": shared,
        "parts": parts,
        "names": [b"".join(names), b"".join(names.values())],
        "used": b"".join(used),
        "replaced": replaced,
    }
    return packed(content), buffers


def _digests(joined: bytes) -> list[bytes]:
    return [joined[at : at + DIGEST_BYTES] for at in range(0, len(joined), DIGEST_BYTES)]


class _Writing:
    """The process's side: opens the file again where the driver has replaced it."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder, self._most_bytes = folder, most_bytes
        self._cache: EvaluationCache | None = None
        self._seen = 0

    def write(self, text: bytearray, buffers: Sequence[Any]) -> dict[str, Any]:
        """Write what a message holds; return what the driver has to know."""
        content = read_message(text)
        before = 0
        if self._cache is None or self._seen != content["replaced"]:
            self.close()
            self._cache, self._seen = EvaluationCache(self._folder, most_bytes=self._most_bytes), content["replaced"]
        else:
            before = self._cache.replaced
        cache, digests = self._cache, _digests(content["digests"])
        outcomes = outcomes_of_parts(content["parts"], buffers)
        about = content["about"] * len(outcomes) if len(content["about"]) == 1 else content["about"]
        entries = [
            Entry(digest=digest, context=context, solver=solver, outcome=outcome)
            for digest, (context, solver), outcome in zip(digests, about, outcomes, strict=True)
        ]
        keys, named = map(_digests, content["names"])
        cache.add(entries, zip(keys, named, strict=True), _digests(content["used"]))
        warnings, cache.warnings = cache.warnings, []
        return {"warnings": warnings, "replaced": cache.replaced - before}

    def close(self) -> None:
        """Close the file, if it was opened."""
        if self._cache is not None:
            self._cache.close()


def serve(folder: Path, most_bytes: int, end: socket.socket) -> None:
    """Write what comes, until nothing more does.

    Args:
        folder: Of the cache.
        most_bytes: Its size at most.
        end: Of the pair of sockets.
    """
    writing = _Writing(folder, most_bytes)
    try:
        answer_all(end, writing.write)
    finally:
        writing.close()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), socket.socket(fileno=int(sys.argv[3])))
