"""The evaluation cache of a run: a thread writes its entries while the search continues."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from antennaopt.solve.outcome import Outcome
from antennaopt.store.cache import MOST_BYTES, Entry, EvaluationCache, T

MOST_WAITING = 8
"""Calls of `add` that wait to be written, at most; the next one waits for the first of them."""


class _Write(NamedTuple):
    """What the thread writes, or has written.

    Attributes:
        done: When it is on the disk.
        entries: By digest.
        names: Digests by the key of a design.
    """

    done: Future[None]
    entries: dict[bytes, Entry]
    names: dict[bytes, bytes]


class LateCache(EvaluationCache):
    """An evaluation cache that does not wait for the disk; what waits to be written is found like all else.

    The thread has a connection of its own: a reader is not kept by a transaction under way.
    """

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        """Open the cache of a folder, as `EvaluationCache` does."""
        self._written: EvaluationCache | None = None
        self._replaced_behind = 0  # files that the thread has replaced
        self._seen = (0, 0)  # files that the other had replaced when thread and reader last opened their own
        super().__init__(folder, most_bytes=most_bytes)
        self._folder = folder
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="evaluation-cache")
        self._writing: deque[_Write] = deque()

    def find(self, digests: Sequence[bytes], frequencies: Sequence[float] = ()) -> dict[bytes, Outcome]:  # noqa: D102
        waiting = {one: write.entries[one] for write in self._writing for one in digests if one in write.entries}
        left = [one for one in digests if one not in waiting]
        return super().find(left, frequencies) | {digest: one.outcome for digest, one in waiting.items()}

    def digests_of(self, designs: Sequence[bytes]) -> dict[bytes, bytes]:  # noqa: D102
        waiting = {one: write.names[one] for write in self._writing for one in designs if one in write.names}
        return super().digests_of([one for one in designs if one not in waiting]) | waiting

    def known(self, context: str, most: int) -> list[bytes]:  # noqa: D102
        waiting = [one.digest for write in self._writing for one in write.entries.values() if one.context == context]
        return [*waiting[::-1], *super().known(context, most)][:most]

    def add(
        self, entries: Iterable[Entry], designs: Iterable[tuple[bytes, bytes]] = (), used: Iterable[bytes] = ()
    ) -> None:
        """Have entries written, see `EvaluationCache.add`; waits only where much else still waits."""
        if self._connection is None:
            return
        while self._writing and (self._writing[0].done.done() or len(self._writing) >= MOST_WAITING):
            self._wait(self._writing.popleft().done)
        made, names, again = {one.digest: one for one in entries}, dict(designs), list(used)
        self._writing.append(_Write(self._thread.submit(self._write, made, names, again), made, names))

    def close(self) -> None:
        """Write what waits and close the file; a second call does nothing."""
        waiting, self._writing = self._writing, deque()
        try:
            for one in waiting:
                self._wait(one.done)
        finally:
            self._hurry()
            self._thread.shutdown()
            self._close_written()
            super().close()

    def _write(self, entries: dict[bytes, Entry], names: dict[bytes, bytes], used: list[bytes]) -> None:
        """In the thread: write what one call of `add` was given."""
        if self._written is None or self._seen[0] != self.replaced:
            self._close_written()
            self._seen = self.replaced, self._seen[1]
            self._written = EvaluationCache(self._folder, most_bytes=self._most_bytes)
            self.warnings += self._written.warnings
            self._written.warnings = self.warnings  # one list for both
            self._replaced_behind += self._written.replaced
        before = self._written.replaced
        self._written.add(entries.values(), names.items(), used)
        self._replaced_behind += self._written.replaced - before

    def _wait(self, write: Future[None]) -> None:
        """Wait until something is written, and raise what it raised."""
        write.result()

    def _hurry(self) -> None:
        """Let go on what the thread waits for; here it waits for the disk alone."""

    def _close_written(self) -> None:
        """Close the thread's file, if it has opened one."""
        written, self._written = self._written, None
        if written is not None:
            written.close()

    def _try(self, action: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Read the file that is there, also where the thread has replaced the one before."""
        if self._connection is not None and self._seen[1] != self._replaced_behind:
            self._seen = self._seen[0], self._replaced_behind
            self._disconnect()
            self._connection = self._open()
        return super()._try(action, otherwise)
