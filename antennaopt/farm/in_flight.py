"""Batches under way: sent through Dask, brought back into the driver's own queue, watched while they fly."""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from distributed import Future
from distributed.scheduler import KilledWorker

from antennaopt.farm.batches import Batch
from antennaopt.farm.connection import ANSWER_S
from antennaopt.farm.exit_causes import Coroner, Ending
from antennaopt.farm.message import Designs
from antennaopt.farm.task import STARTED, Evaluate, solve_on_worker

Task = tuple[Evaluate, str, dict[str, Any], str]
"""What all batches of a farm share: the function, the antenna family, the plan, the backend."""

UNDER_WAY = ("pending", "lost")
"""What Dask says of a batch that is being solved, or is to be solved again because its reply was lost."""

STRANDED_S = 2.0
"""How long nobody may have a batch before it is sent anew: word of its end, or its reply, may be on the way."""

Landed = tuple["Flight", Mapping[str, Any] | None, BaseException | None]
"""A batch that came back: which, the worker's reply, or what Dask raised in its place."""


@dataclass(kw_only=True)
class Flight:
    """A batch under way.

    Attributes:
        batch: Which.
        future: Dask's handle.
        to: Address of the worker that it was sent to.
        limit_s: How long it may take once started.
        submitted: `time.monotonic()` when it was sent.
        started: `time.monotonic()` when a worker began, or None.
        ended: `time.monotonic()` when Dask said that its worker is gone, or None; how that ended is asked afterwards.
        worker: Address of that worker, or None.
        expired: The driver gave it up for taking too long.
        given_up: It was tried again elsewhere; what comes of it now is late.
        ending: How its worker ended, if it did.
        in_company: Its worker had another batch under way when it ended, which may be to blame.
        stranded: `time.monotonic()` when nobody was first found to have it, or None.
    """

    batch: Batch
    future: Future
    to: str
    limit_s: float
    submitted: float
    started: float | None = None
    ended: float | None = None
    worker: str | None = None
    expired: bool = False
    given_up: bool = False
    ending: Ending | None = None
    in_company: bool = False
    stranded: float | None = None

    @property
    def is_unsettled(self) -> bool:
        """Whether nothing has been heard of its end."""
        return self.ended is None and self.future.status in UNDER_WAY

    @property
    def under_way_s(self) -> float:
        """For how long it has been running, or, where the word of its start was lost, since it was sent."""
        until = time.monotonic() if self.ended is None else self.ended
        return until - (self.submitted if self.started is None else self.started)

    def overdue(self, slack_s: float) -> bool:
        """Whether it has been running for longer than its limit and some slack.

        Where the word of its start was lost with the worker, it is taken to have waited for one batch before it.
        """
        limits = 2.0 if self.started is None else 1.0
        return self.under_way_s > limits * self.limit_s + slack_s


class Flights:
    """All batches under way. Replies come in the client's own thread and wait here for the driver."""

    def __init__(self, client: Any, coroner: Coroner) -> None:
        self._client = client
        self._coroner = coroner
        self._flying: dict[str, Flight] = {}
        self._given_up: dict[str, Flight] = {}
        self._done: queue.SimpleQueue[tuple[str, Any, BaseException | None, Ending | None]] = queue.SimpleQueue()
        self._started: queue.SimpleQueue[tuple[float, Mapping[str, Any]]] = queue.SimpleQueue()
        self._serial = 0
        self._name = f"evaluate-{uuid.uuid4().hex[:8]}"
        client.subscribe_topic(STARTED, self._note_start)

    def __len__(self) -> int:
        return len(self._flying)

    @property
    def any_suspect(self) -> bool:
        """Whether one of them failed before, or is of one that did."""
        return any(flight.batch.attempt > 1 for flight in self._flying.values())

    def send(self, batch: Batch, task: Task, plan: Mapping[str, Any], limit_s: float, *, to: str) -> None:
        """Send a batch off.

        Args:
            batch: Which.
            task: What all batches share; its plan gives way to the next argument.
            plan: On which grid.
            limit_s: How long it may take once started.
            to: Address of the worker that is to have it. When that has just gone another one takes it.
        """
        self._serial += 1
        token = f"{self._name}-{self._serial}-attempt-{batch.attempt}"
        evaluate, family, _, backend = task
        future = self._client.submit(
            solve_on_worker,
            token,
            limit_s,
            evaluate,
            family,
            Designs.of(batch.designs),
            plan,
            backend,
            key=token,
            workers=[to],
            allow_other_workers=True,
            pure=False,
            retries=0,
        )
        self._flying[token] = Flight(batch=batch, future=future, limit_s=limit_s, submitted=time.monotonic(), to=to)
        self._client.loop.add_callback(self._fetch, token, future)

    def landed(self, timeout_s: float) -> Landed | None:
        """Wait for one to come back, late ones too; None when none does in time."""
        try:
            token, reply, problem, how = self._done.get(timeout=timeout_s)
        except queue.Empty:
            return None
        self.read_starts()
        flight = self._flying.pop(token, None) or self._given_up.pop(token, None)
        if flight is None:
            return None
        flight.ending = how
        if how is not None or (reply is not None and reply.get("broken")):
            beside = [one for one in self._flying.values() if one.worker is not None and one.worker == flight.worker]
            for one in beside:
                one.in_company = flight.in_company = True
        flight.future.release()
        return flight, reply, problem

    def read_starts(self) -> None:
        """Note which batches workers said that they began."""
        while not self._started.empty():
            moment, message = self._started.get()
            flight = self._flying.get(message["token"])
            if flight is not None:
                flight.started, flight.worker = moment, message["worker"]

    def overdue(self, slack_s: float) -> Iterator[tuple[str, Flight]]:
        """Yield the batches that take too long, with their tokens."""
        for token, flight in list(self._flying.items()):
            if flight.overdue(slack_s):
                yield token, flight

    def excuse(self, seconds: float) -> None:
        """Put off all deadlines: the driver itself was away for so long."""
        for flight in self._flying.values():
            flight.submitted += seconds
            flight.started = None if flight.started is None else flight.started + seconds
            flight.stranded = None if flight.stranded is None else flight.stranded + seconds

    def give_up(self, token: str) -> None:
        """Count on a batch no longer; what may still come of it is late."""
        flight = self._flying.pop(token, None)
        if flight is not None:
            flight.given_up = True
            self._given_up[token] = flight

    def give_all_up(self) -> list[Batch]:
        """Forget them all and return those under way; nothing is asked of a scheduler that is gone."""
        batches = [flight.batch for flight in self._flying.values()]
        for flight in (*self._flying.values(), *self._given_up.values()):
            if self._client.status == "running":
                flight.future.release()
        self._flying.clear()
        self._given_up.clear()
        return batches

    def stranded(self, present: Container[str]) -> list[Batch]:
        """Take back the batches that wait for a worker that is gone; what comes of them is not looked at any more.

        A batch whose worker has just gone, perhaps with its reply, is given to another by the scheduler, if one is
        there at that moment. If there is none, it lies there for ever: of workers that come later Dask's scheduler asks
        only whether the batch was sent to them (`Scheduler.bulk_schedule_unrunnable_after_adding_worker`).

        Args:
            present: Addresses of the workers that are there.
        """
        lost = []
        for token, flight in self._flying.items():
            if flight.to in present or not flight.is_unsettled:
                flight.stranded = None
            else:
                lost.append((token, flight))
        processing = self._processing() if lost else None
        if processing is None:
            return []
        batches, now = [], time.monotonic()
        for token, flight in lost:
            if any(token in keys for keys in processing.values()):
                flight.stranded = None
            elif flight.stranded is None:
                flight.stranded = now
            elif now - flight.stranded > STRANDED_S and flight.is_unsettled:  # asking took a while
                del self._flying[token]
                flight.future.cancel()
                batches.append(flight.batch)
        return batches

    def worker_of(self, token: str) -> str | None:
        """Return the address of the worker that the scheduler gave a batch to; None when it does not say."""
        processing = self._processing() or {}
        return next((worker for worker, keys in processing.items() if token in keys), None)

    def _processing(self) -> Mapping[str, Container[str]] | None:
        """Return which batches the scheduler has given each worker; None when it does not answer."""
        try:
            return self._client.sync(self._client.scheduler.processing, workers=None, callback_timeout=ANSWER_S)
        except (TimeoutError, OSError):
            return None

    async def _fetch(self, token: str, future: Future) -> None:
        """Wait for a batch and bring its reply here, in the client's own thread: a stopped worker may sit on it."""
        try:
            reply = await self._client.gather(future, asynchronous=True)
        except KilledWorker as problem:
            flight = self._flying.get(token)
            if flight is not None:
                flight.ended = time.monotonic()
            self._done.put((token, None, problem, await self._coroner.ending_of(problem.last_worker)))
        except BaseException as problem:
            self._done.put((token, None, problem, None))
        else:
            self._done.put((token, reply, None, None))

    def _note_start(self, event: tuple[Any, Any]) -> None:
        self._started.put((time.monotonic(), event[1]))
