"""Storing while the next generation is solved: what is to be written is written by one thread, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from antennaopt.run.interfaces import Evaluation, Outcome, Recalled, Store


class WriteBehind:
    """A store that returns at once and writes in the background.

    Everything is written in the order in which it was asked for, so a process that is killed leaves what it would have
    left a moment before. At most one generation waits: who hands in the next one waits for the last to be written. A
    fault of writing is raised by the next call.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._last: list[Future[None]] = []

    def write_generation(self, generation: int, evaluations: Sequence[Evaluation]) -> None:
        """Store a generation's rows and patterns, in the background."""
        self.flush()
        self._queue(self._store.write_generation, generation, evaluations)

    def checkpoint(self, generation: int, state: Mapping[str, Any]) -> None:
        """Store a state, in the background; it must not change any more."""
        self._queue(self._store.checkpoint, generation, state)

    def log(self, event: str, **fields: Any) -> None:
        """Add a line to the run's log, in the background."""
        self._queue(lambda: self._store.log(event, **fields))

    def completed(self, place: int, name: str, births: int) -> None:
        """Note who is complete, at once."""
        self._store.completed(place, name, births)

    def order(self, place: int) -> Sequence[tuple[str, int]]:
        """Return whom `completed` noted from a place on."""
        return self._store.order(place)

    def history(self, generations: int) -> Iterator[tuple[str, tuple[float, ...], str]]:
        """Yield id, genome and status of the first so many generations, in order."""
        self.flush()
        yield from self._store.history(generations)

    def recall(self, individuals: Iterable[str]) -> Recalled:
        """Return genome and outcome of individuals."""
        self.flush()
        return self._store.recall(individuals)

    def patterns(self, individual: str) -> Outcome:
        """Return the pattern part of an individual's outcome."""
        self.flush()
        return self._store.patterns(individual)

    def flush(self) -> None:
        """Wait until all is written.

        Raises:
            StorageError: It could not be; what came after the fault was not tried.
        """
        waiting, self._last = self._last, []
        for write in waiting:
            write.result()

    def close(self) -> None:
        """Write what waits and stop the thread; faults are not told any more."""
        self._thread.shutdown(wait=True)

    def _queue(self, action: Callable[..., None], *arguments: Any) -> None:
        before = self._last[-1] if self._last else None

        def act() -> None:
            if before is None or before.exception() is None:
                action(*arguments)

        self._last = [one for one in self._last if not one.done() or one.exception() is not None]
        self._last.append(self._thread.submit(act))
