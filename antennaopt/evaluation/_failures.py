"""What becomes of a batch that came back: outcomes, or what is tried next. The driver counts the attempts."""

from __future__ import annotations

import logging
import math
from asyncio import CancelledError
from collections.abc import Iterator, Mapping
from typing import Any

from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from antennaopt.evaluation._batches import Batch, Queue
from antennaopt.evaluation._flights import Flight

Outcome = dict[str, Any]

log = logging.getLogger(__name__)


class Reception:
    """Turns replies and failures into outcomes, and puts back what is tried again.

    Attributes:
        draining: Nothing is tried again.
    """

    def __init__(self, waiting: Queue, time_limit_s: float) -> None:
        """Begin with no experience.

        Args:
            waiting: Where batches go that are tried again.
            time_limit_s: How long one antenna may take.
        """
        self.draining = False
        self._waiting = waiting
        self._time_limit_s = time_limit_s
        self._slowest_s = math.inf

    def limit_s(self, batch: Batch) -> float:
        """Return how long a batch may take: see `Farm`."""
        others_s = sum(min(self._time_limit_s, 10.0 * self._slowest_s) for _ in batch.jobs[1:])
        return self._time_limit_s + others_s

    def landed(
        self, flight: Flight, reply: Mapping[str, Any] | None, problem: BaseException | None
    ) -> Iterator[tuple[str, Outcome]]:
        """Turn a finished batch into outcomes, or into what is tried next."""
        if reply is None and is_forgotten(problem):
            self._waiting.put_back([flight.batch])
        elif reply is None:
            yield from self.failed(flight.batch, *failure(problem, flight))
        elif "outcomes" in reply:
            yield from self._outcomes(flight.batch, reply)
        else:
            yield from self.failed(flight.batch, "error", str(reply["error"]))

    def failed(self, batch: Batch, kind: str, reason: str) -> Iterator[tuple[str, Outcome]]:
        """Put a failed batch back in parts, or yield its end when its attempts are used up."""
        again = batch.after_failure(kind)
        log.info("batch of %d: %s; %d to try again", len(batch.jobs), kind, len(again))
        if self.draining and again:
            return
        self._waiting.put_back(again)
        if not again:
            yield batch.keys[0], batch.failed_outcome(kind, reason)

    def _outcomes(self, batch: Batch, reply: Mapping[str, Any]) -> Iterator[tuple[str, Outcome]]:
        mean_s = reply["seconds"] / len(batch.jobs)
        self._slowest_s = mean_s if math.isinf(self._slowest_s) else max(self._slowest_s, mean_s)
        for key, outcome in zip(batch.keys, reply["outcomes"], strict=True):
            yield (
                key,
                {**outcome, "worker": reply["worker"], "attempt": batch.attempt, "batch_seconds": reply["seconds"]},
            )


def is_forgotten(problem: BaseException | None) -> bool:
    """Whether the scheduler forgot a batch: a lost connection, nobody's fault."""
    return isinstance(problem, CancelledError | FutureCancelledError)


def failure(problem: BaseException | None, flight: Flight) -> tuple[str, str]:
    """Return the kind of a failure (`error`, `timeout`, `lost`) and its reason in words."""
    if flight.expired or (isinstance(problem, KilledWorker) and flight.overdue(-0.1 * flight.limit_s)):
        return "timeout", f"took longer than the {flight.limit_s:g} s allowed"
    if isinstance(problem, KilledWorker | TimeoutError | OSError):
        return "lost", "its worker process died while it was solved"
    return "error", f"{type(problem).__name__}: {problem}"
