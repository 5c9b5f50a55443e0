"""A farm without workers: batches are solved here and now, in order. For tests and tiny jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from antennaopt.farm.batches import Batch, Job, Queue, cut
from antennaopt.farm.message import unpack_outcomes
from antennaopt.farm.task import Evaluate, solve_batch


class SerialFarm:
    """Offers what `Farm` does, in this process. No time limit; a crash of the solver is a crash of the driver.

    Attributes:
        dashboard_link: None.
        on_event: Never told anything: there are no workers.
        device: None.
        worker_count: 1.
        places: 1: one batch at a time.
    """

    dashboard_link: str | None = None
    on_event: Callable[..., None] | None = None
    device: Mapping[str, Any] | None = None
    worker_count = 1
    places = 1

    def __init__(self, evaluate: Evaluate, *, family: str, plan: Mapping[str, Any], backend: str = "cpu") -> None:
        self._task = (evaluate, family, dict(plan), backend)
        self._plan: Mapping[str, Any] = self._task[2]
        self._waiting = Queue()
        self._draining = False

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Ask the one worker; see `Farm.ask`."""
        return [question(*arguments)]

    def cut(self, jobs: Sequence[Job], batch_size: int | str = "auto") -> list[list[Job]]:
        """Cut a generation into batches."""
        return cut(jobs, self.worker_count, batch_size)

    def run(
        self, batches: Iterable[Sequence[Job]], *, plan: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Solve batches and yield each individual's outcome once; see `Farm.run`."""
        self._draining = False
        self._plan = self._task[2] if plan is None else dict(plan)
        self.submit(batches)
        yield from self.completed()

    def submit(self, batches: Iterable[Sequence[Job]]) -> None:
        """Add batches, also while `completed` is being read."""
        self._waiting.add(batches)

    def completed(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield outcomes until nothing is left, or until `drain`."""
        try:
            while self._waiting and not self._draining:
                yield from self._solve(self._waiting.next())
        finally:
            self._waiting.clear()

    def solve_alone(self, design: Mapping[str, float], plan: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        """Solve one antenna with further options of `evaluate`; see `Farm.solve_alone`."""
        evaluate, family, _, backend = self._task
        return dict(evaluate(family, [dict(design)], dict(plan), backend=backend, **options)[0])

    def drain(self) -> None:
        """Begin no more batches."""
        self._draining = True

    def close(self) -> None:
        """Do nothing: there is nothing to stop."""

    def __enter__(self) -> SerialFarm:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _solve(self, batch: Batch) -> Iterator[tuple[str, dict[str, Any]]]:
        evaluate, family, _, backend = self._task
        reply = solve_batch(evaluate, family, batch.designs, self._plan, backend)
        if "outcomes" in reply:
            for key, outcome in zip(batch.keys, unpack_outcomes(reply), strict=True):
                added = {"worker": "driver", "attempt": batch.attempt, "batch_seconds": reply["seconds"]}
                yield key, {**outcome, **added}
            return
        again = batch.after_failure("error")
        self._waiting.put_back(again)
        if not again:
            yield batch.keys[0], batch.failed_outcome("error", reply["error"])
