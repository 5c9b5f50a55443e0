"""What becomes of a batch that came back: outcomes, or what is tried next. The driver counts the attempts.

Every individual gets one outcome, the first that comes. One that comes late, from a batch that was given up and tried
again elsewhere, is compared with it: they must be equal.
"""

from __future__ import annotations

import json
import logging
import math
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from antennaopt.errors import ClusterError
from antennaopt.farm.batches import SOLO_ATTEMPTS, Batch, Queue
from antennaopt.farm.in_flight import Flight
from antennaopt.farm.message import unpack_outcomes

Outcome = dict[str, Any]

Tell = Callable[..., None]
"""Is told what happened: `tell(event, **details)`, details JSON-able."""

MOST_KILLS = 20
"""How often in a row a batch's workers may be killed from outside before the run stops, resumable."""

WATCHDOG_STATUS = 1
"""With which the watchdog ends a process."""

SHOWN = 8
"""Individuals that are named in an event."""

ACCIDENTAL = ("seconds", "stepping_seconds", "worker", "device", "attempt", "batch_seconds")
"""What differs between two solutions of one antenna."""

log = logging.getLogger(__name__)


class Reception:
    """Turns replies and failures into outcomes, and puts back what is tried again.

    Attributes:
        draining: Nothing is tried again.
    """

    def __init__(self, waiting: Queue, time_limit_s: float, tell: Tell) -> None:
        """Begin with no experience.

        Args:
            waiting: Where batches go that are tried again.
            time_limit_s: How long one antenna may take.
            tell: Is told of failures, kills and late results.
        """
        self.draining = False
        self._tell = tell
        self._contested: dict[str, str | None] = {}
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
        if reply is not None and "outcomes" in reply:
            yield from self._outcomes(flight.batch, reply)
        elif flight.given_up:
            return
        elif reply is not None:
            yield from self.failed(flight.batch, "error", str(reply["error"]))
        elif is_forgotten(problem):
            self._waiting.put_back([flight.batch])
        elif flight.ending is not None and flight.ending.outside and not flight.expired:
            self._killed(flight)
        else:
            kind, reason = failure(problem, flight)
            yield from self.failed(flight.batch, kind, reason, worker=flight.worker, alone=not flight.in_company)

    def failed(
        self, batch: Batch, kind: str, reason: str, *, worker: str | None = None, alone: bool = True
    ) -> Iterator[tuple[str, Outcome]]:
        """Put a failed batch back in parts, or yield its end when its attempts are used up.

        Args:
            batch: Which.
            kind: `error`, `timeout` or `lost`.
            reason: In words.
            worker: Where.
            alone: Nothing else may be to blame.
        """
        again = batch.after_failure(kind, alone=alone)
        log.info("batch of %d: %s; %d to try again", len(batch.jobs), kind, len(again))
        event = "attempt_failed" if again else "given_up" if kind == "error" else "quarantined"
        last_line = reason.strip().splitlines()[-1:]
        self._tell(event, kind=kind, reason="".join(last_line), worker=worker, **_who(batch))
        if self.draining and again:
            return
        self._waiting.put_back(again)
        outcome = batch.failed_outcome(kind, reason)
        if not again and self._is_first(batch.keys[0], outcome):
            yield batch.keys[0], outcome

    def contest(self, batch: Batch) -> None:
        """Expect two results of these: they are tried again while the first attempt may still come to an end."""
        for key in batch.keys:
            self._contested.setdefault(key, None)

    def begin(self) -> None:
        """Forget what was contested: other individuals follow."""
        self._contested.clear()

    def _killed(self, flight: Flight) -> None:
        """Put a batch back whose worker something else killed; stop where that never ends."""
        batch, how = flight.batch.after_kill(), flight.ending.words if flight.ending else "was killed"
        self._tell("worker_killed", reason=how, worker=flight.worker, kills=batch.kills, **_who(batch))
        if batch.kills >= MOST_KILLS:
            raise ClusterError(
                f"the worker of {batch.keys[0]} {how} {batch.kills} times in a row, each time from outside (is the "
                "machine short of memory, or does somebody kill workers?); what was solved is saved: resume"
            )
        if not self.draining:
            self._waiting.put_back([batch])

    def _outcomes(self, batch: Batch, reply: Mapping[str, Any]) -> Iterator[tuple[str, Outcome]]:
        mean_s = reply["seconds"] / len(batch.jobs)
        self._slowest_s = mean_s if math.isinf(self._slowest_s) else max(self._slowest_s, mean_s)
        for key, outcome in zip(batch.keys, unpack_outcomes(reply), strict=True):
            if self._is_first(key, outcome):
                yield (
                    key,
                    {**outcome, "worker": reply["worker"], "attempt": batch.attempt, "batch_seconds": reply["seconds"]},
                )

    def _is_first(self, key: str, outcome: Outcome) -> bool:
        """Whether this is an individual's first outcome; a second one is compared with it."""
        if key not in self._contested:
            return True
        content, first = _content(outcome), self._contested[key]
        if first is None:
            self._contested[key] = content
            return True
        equal = first == content if first and content else None
        self._tell("late_duplicate", individuals=[key], count=1, equal=equal)
        return False


def is_forgotten(problem: BaseException | None) -> bool:
    """Whether the scheduler forgot a batch: a lost connection, nobody's fault."""
    return isinstance(problem, CancelledError | FutureCancelledError)


def failure(problem: BaseException | None, flight: Flight) -> tuple[str, str]:
    """Return the kind of a failure (`error`, `timeout`, `lost`) and its reason in words."""
    if flight.expired or (isinstance(problem, KilledWorker) and _ended_by_watchdog(flight)):
        return "timeout", f"took longer than the {flight.limit_s:g} s allowed"
    if isinstance(problem, KilledWorker | TimeoutError | OSError):
        how = f"; it {flight.ending.words}" if flight.ending else ""
        return "lost", f"its worker process died while it was solved{how}"
    return "error", f"{type(problem).__name__}: {problem}"


def _ended_by_watchdog(flight: Flight) -> bool:
    """Whether it was for the time it took that a batch's worker ended itself.

    By the exit status, where that is known: the word of the batch's start comes late on a busy machine, and never where
    the batch held the interpreter from its beginning.
    """
    if flight.ending is not None and flight.ending.status == WATCHDOG_STATUS:
        return flight.under_way_s > 0.5 * flight.limit_s
    return flight.overdue(-0.1 * flight.limit_s)


def _content(outcome: Outcome) -> str:
    """Return what must be equal in two outcomes of one antenna, as text; empty when it was never solved."""
    if outcome["status"] in SOLO_ATTEMPTS:
        return ""
    told = {name: value for name, value in outcome.items() if name not in ACCIDENTAL}
    return json.dumps(told, sort_keys=True, default=lambda array: array.tolist())


def _who(batch: Batch) -> dict[str, Any]:
    return {"individuals": list(batch.keys[:SHOWN]), "count": len(batch.jobs), "attempt": batch.attempt}
