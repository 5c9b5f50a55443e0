"""The run folder as a store that returns at once: a thread writes, or another process if that saves time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from antennaopt.run.handover import Message, Unfit, generation_message, state_message
from antennaopt.run.interfaces import Evaluation, Recalled
from antennaopt.run.other_process import WriterLost, is_fast, is_fast_at_start, wait_for
from antennaopt.run.stores import FolderStore
from antennaopt.run.writer import Writer
from antennaopt.store.files import remove_all_leftovers
from antennaopt.store.generations import generation_of
from antennaopt.store.run_folder import RunFolder

MOST_GENERATIONS = 2
"""Largest number of generations that wait in the process, the one under way included, when another is submitted."""


class WriteBehind(FolderStore):
    """A store that returns at once and writes in the background.

    Everything is written in the order in which it was asked for, so a process that is killed leaves what it would have
    left a moment before. At most one generation waits: who hands in the next one waits for the last to be written, or,
    where a process writes, for the one before it. A fault of writing is raised by the next call, and no generation and
    no state is written after it.

    Where generations are large and follow fast, a process of its own turns them into files (`antennaopt.run.writer`);
    the thread sends them, one after the other, and goes on when each is on the disk. Where that process is lost, the
    thread writes again.
    """

    def __init__(self, folder: RunFolder) -> None:
        super().__init__(folder)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._last: list[Future[None]] = []
        self._writing: dict[int, Future[None]] = {}
        self._writer: Writer | None = None
        self._may_start = True
        self._fault: BaseException | None = None
        self._handed = time.monotonic()

    def start_writer(self) -> None:
        """Start the process that writes, unless it was started before, or cannot be."""
        if not self._may_start:
            return
        self._may_start = False
        with suppress(OSError):
            self._writer = Writer(self.folder)

    def expect(self, rows: int) -> None:
        """Start the process before a device's first generation, of `rows` rows: that will be fast."""
        if is_fast_at_start(rows):
            self.start_writer()

    def write_generation(self, generation: int, evaluations: Sequence[Evaluation]) -> None:
        """Store a generation's rows and patterns, in the background."""
        self._make_room()
        since, self._handed = self._handed, time.monotonic()
        if is_fast(len(evaluations), self._handed - since):
            self.start_writer()
        whole = partial(super().write_generation, generation, evaluations)
        message = partial(generation_message, generation, evaluations)
        self._writing = {one: write for one, write in self._writing.items() if not write.done()}
        self._writing[generation] = self._queue(self._write, message, whole)

    def checkpoint(self, generation: int, state: Mapping[str, Any]) -> None:
        """Store a state, in the background; it must not change any more."""
        whole = partial(super().checkpoint, generation, state)
        self._queue(self._write, partial(state_message, generation, state), whole)

    def log(self, event: str, **fields: Any) -> None:
        """Add a line to the run's log, in the background."""
        self._queue(partial(super().log, event, **fields), always=True)

    def history(self, generations: int) -> Iterator[tuple[str, tuple[float, ...], str]]:
        """Yield id, genome and status of the first `generations` generations, in order."""
        self.flush()
        return super().history(generations)

    def recall(self, individuals: Iterable[str]) -> Recalled:
        """Return genome and outcome of individuals, once their generations are written."""
        names = list(individuals)
        for generation in self._writing.keys() & set(map(generation_of, names)):
            self._wait(self._writing[generation])
        self._raise_fault()
        return super().recall(names)

    def flush(self) -> None:
        """Wait until all is written.

        Raises:
            StorageError: It could not be written; later data were not tried.
        """
        waiting, self._last = self._last, []
        for write in waiting:
            self._wait(write)

    def close(self) -> None:
        """Write pending data, then stop thread and process; faults are no longer reported."""
        waiting, self._last = self._last, []
        try:
            for write in waiting:
                with suppress(Exception):
                    self._wait(write)
        finally:  # after a Ctrl-C, too
            if (writer := self._writer) is not None:
                writer.wake()
            self._thread.shutdown(wait=True)
            writer, self._writer, self._may_start = self._writer, None, False
            if writer is not None:
                writer.close()

    def _make_room(self) -> None:
        """Wait until another generation may wait."""
        if self._writer is None:
            self.flush()
        else:
            under_way = [write for write in self._writing.values() if not write.done()]
            for write in under_way[: 1 - MOST_GENERATIONS]:
                self._wait(write)
        self._raise_fault()

    def _raise_fault(self) -> None:
        """Raise what went wrong first: nothing but lines of the log was written after it."""
        if self._fault is not None:
            raise self._fault

    def _queue(self, action: Callable[..., None], *arguments: Any, always: bool = False) -> Future[None]:
        """Have something written in its turn; after a fault only what is written `always`."""

        def act() -> None:
            if self._fault is not None and not always:
                return
            try:
                action(*arguments)
            except BaseException as problem:
                self._fault = self._fault or problem
                raise

        self._last = [one for one in self._last if not one.done() or one.exception() is not None]
        self._last.append(self._thread.submit(act))
        return self._last[-1]

    def _wait(self, write: Future[None]) -> None:
        """Wait until something is written, and raise what it raised."""
        wait_for(write, lambda: self._writer)

    def _write(self, message: Callable[[], Message], whole: Callable[[], None]) -> None:
        """Have a message written by the process, where there is one that is ready, or do the whole of it here."""
        writer = self._writer
        try:
            if writer is not None and writer.ready:
                writer.write(message())
                return
        except WriterLost as problem:
            self._lose(problem)
        except Unfit:
            pass  # it is written here
        whole()

    def _lose(self, problem: Exception) -> None:
        """Write here from now on; first make sure that the process has ended."""
        writer, self._writer = self._writer, None
        code = None if writer is None else writer.close()
        remove_all_leftovers(self.folder.path)
        self.folder.log("writer_lost", exit_code=code, reason=str(problem))
