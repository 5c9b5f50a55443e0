"""Turn results into outcomes or into retries. The driver counts the attempts.

Every individual gets one outcome, the first that comes. One that comes late, from a batch that was given up and tried
again elsewhere, is compared with it: they must be equal.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator, Mapping
from typing import Any

from antennaopt.errors import ClusterError
from antennaopt.farm.batches import SOLO_ATTEMPTS, Batch, Queue
from antennaopt.farm.interface import Failure, OnEvent, Outcome, Result
from antennaopt.farm.replies import unpack_outcomes

MOST_KILLS = 20
"""How often in a row a batch's workers may be killed from outside before the run stops, resumable."""

SHOWN = 8
"""Individuals that are named in an event."""

ACCIDENTAL = ("seconds", "stepping_seconds", "worker", "device", "attempt", "batch_seconds")
"""What differs between two solutions of one antenna."""

log = logging.getLogger(__name__)


class ResultHandler:
    """Turns results into outcomes, and puts back what is tried again.

    Attributes:
        draining: Nothing is tried again.
    """

    def __init__(self, waiting: Queue, time_limit_s: float, on_event: OnEvent) -> None:
        """Begin without any experience of how long batches take.

        Args:
            waiting: Takes batches that are tried again.
            time_limit_s: How long one antenna may take.
            on_event: Callback for failures, kills and late results.
        """
        self.draining = False
        self._on_event = on_event
        self._contested: dict[str, str | None] = {}
        self._waiting = waiting
        self._time_limit_s = time_limit_s
        self._slowest_s = math.inf

    def limit_s(self, batch: Batch) -> float:
        """Return how long a batch may take: the time limit, and for each other antenna up to as much again."""
        return self._time_limit_s + sum(min(self._time_limit_s, 10.0 * self._slowest_s) for _ in batch.jobs[1:])

    def handle(self, result: Result) -> Iterator[tuple[str, Outcome]]:
        """Turn a result into outcomes, or into what is tried next."""
        batch, reply, failure = result.batch, result.reply, result.failure
        if reply is not None and "outcomes" in reply:
            yield from self._outcomes(batch, reply)
        elif result.late:
            return
        elif failure is None:
            error = str((reply or {}).get("error", ""))
            yield from self._failed(batch, Failure(kind="error", reason=error))
        elif failure.kind == "returned":
            self._waiting.put_back([batch])
        elif failure.kind == "killed":
            self._killed(batch, failure)
        else:
            if failure.unfinished:  # two results of these may come
                for key in batch.keys:
                    self._contested.setdefault(key, None)
            yield from self._failed(batch, failure)

    def begin(self) -> None:
        """Forget which individuals may have two results: others follow."""
        self._contested.clear()

    def _failed(self, batch: Batch, failure: Failure) -> Iterator[tuple[str, Outcome]]:
        """Put a failed batch back in parts, or yield its end when its attempts are used up."""
        kind = failure.kind
        again = batch.after_failure(kind, alone=failure.alone)
        log.info("batch of %d: %s; %d to try again", len(batch.jobs), kind, len(again))
        event = "attempt_failed" if again else "given_up" if kind == "error" else "quarantined"
        last_line = "".join(failure.reason.strip().splitlines()[-1:])
        self._on_event(event, kind=kind, reason=last_line, worker=failure.worker, **_named(batch))
        if self.draining and again:
            return
        self._waiting.put_back(again)
        outcome = batch.failed_outcome(kind, failure.reason)
        if not again and self._is_first(batch.keys[0], outcome):
            yield batch.keys[0], outcome

    def _killed(self, batch: Batch, failure: Failure) -> None:
        """Put a batch back whose worker was killed from outside; stop where that never ends."""
        batch = batch.after_kill()
        self._on_event(
            "worker_killed", reason=failure.reason, worker=failure.worker, kills=batch.kills, **_named(batch)
        )
        if batch.kills >= MOST_KILLS:
            raise ClusterError(
                f"the worker of {batch.keys[0]} {failure.reason} {batch.kills} times in a row, each time from outside "
                "(is the machine short of memory, or does another program kill workers?); what was solved is saved: "
                "resume"
            )
        if not self.draining:
            self._waiting.put_back([batch])

    def _outcomes(self, batch: Batch, reply: Mapping[str, Any]) -> Iterator[tuple[str, Outcome]]:
        mean_s = reply["seconds"] / len(batch.jobs)
        self._slowest_s = mean_s if math.isinf(self._slowest_s) else max(self._slowest_s, mean_s)
        about = {"worker": reply["worker"], "attempt": batch.attempt, "batch_seconds": reply["seconds"]}
        for key, outcome in zip(batch.keys, unpack_outcomes(reply, **about), strict=True):
            if self._is_first(key, outcome):
                yield key, outcome

    def _is_first(self, key: str, outcome: Outcome) -> bool:
        """Whether this is an individual's first outcome; a second one is compared with it."""
        if key not in self._contested:
            return True
        content, first = _content(outcome), self._contested[key]
        if first is None:
            self._contested[key] = content
            return True
        equal = first == content if first and content else None
        self._on_event("late_duplicate", individuals=[key], count=1, equal=equal)
        return False


def _content(outcome: Outcome) -> str:
    """Return what must be equal in two outcomes of one antenna, as text; empty when it was never solved."""
    if outcome["status"] in SOLO_ATTEMPTS:
        return ""
    lasting = {name: value for name, value in outcome.items() if name not in ACCIDENTAL}
    return json.dumps(lasting, sort_keys=True, default=lambda array: array.tolist())


def _named(batch: Batch) -> dict[str, Any]:
    return {"individuals": list(batch.keys[:SHOWN]), "count": len(batch.jobs), "attempt": batch.attempt}
