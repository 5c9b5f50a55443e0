"""In-flight batches: submitted through Dask, watched, and returned to the driver's queue."""

from __future__ import annotations

import asyncio
import queue
import time
import uuid
from asyncio import CancelledError
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgpack
from distributed import Future
from distributed.client import FutureCancelledError
from distributed.protocol.serialize import Serialized
from distributed.scheduler import KilledWorker

from antennaopt.farm.batches import Batch
from antennaopt.farm.dask_client import ANSWER_S
from antennaopt.farm.exit_causes import UNWATCHED, WATCHDOG_STATUS, ExitCause, cause_from_log, memory_kills, reported
from antennaopt.farm.interface import Assignment, Failure, Result
from antennaopt.farm.reply_files import read_arrays
from antennaopt.farm.task import REPLIED, STARTED, Designs, Task, solve_on_worker

IN_FLIGHT = ("pending", "lost")
"""Dask's status of a batch that is being solved, or is to be solved again because its reply was lost."""

STRANDED_S = 2.0
"""How long no worker may have a batch before it is returned: word of its end, or its reply, may be on the way."""

ASKING_S = 10.0
"""How long a nanny may take to report an exit: on a busy machine it learns of it late."""

PAUSE_S = 0.05


@dataclass(kw_only=True)
class InFlightBatch:
    """A batch in flight.

    Attributes:
        batch: As it was submitted.
        future: Dask's.
        address: Worker that it was sent to.
        limit_s: How long it may take once started.
        submitted: `time.monotonic()` when it was sent.
        started: `time.monotonic()` when a worker began, or None.
        ended: `time.monotonic()` when Dask reported that its worker is gone, or None.
        worker: Address of the worker that began it or that ended with it, or None.
        excused: Seconds for which the driver was away since then. They put off its deadline, not the worker's watchdog.
        expired: It took too long, and its worker was killed for that.
        given_up: It was returned as a failure; what comes of it now is late.
        cause: How its worker ended, if it did.
        in_company: Its worker had another batch when it ended, begun or waiting there, which may be to blame.
        stranded: `time.monotonic()` when no worker was first found to have it, or None.
    """

    batch: Batch
    future: Future
    address: str
    limit_s: float
    submitted: float
    started: float | None = None
    ended: float | None = None
    worker: str | None = None
    excused: float = 0.0
    expired: bool = False
    given_up: bool = False
    cause: ExitCause | None = None
    in_company: bool = False
    stranded: float | None = None

    @property
    def is_unsettled(self) -> bool:
        """Whether nothing has been heard of its end."""
        return self.ended is None and self.future.status in IN_FLIGHT

    @property
    def running_s(self) -> float:
        """For how long it has been running, or, where the word of its start was lost, since it was sent."""
        until = time.monotonic() if self.ended is None else self.ended
        return until - (self.submitted if self.started is None else self.started)

    def overdue(self, slack_s: float) -> bool:
        """Whether it has been running for longer than its limit and some slack.

        Where the word of its start was lost with the worker, it is taken to have waited for one batch before it.
        """
        limits = 2.0 if self.started is None else 1.0
        return self.running_s - self.excused > limits * self.limit_s + slack_s

    def returned(self) -> Result:
        """Return the result of a batch that was not solved, and not because of itself."""
        return Result(batch=self.batch, address=self.address, failure=Failure(kind="returned"))

    def unfinished(self) -> Result:
        """Return the result of a batch that is given up while a worker may still solve it."""
        failure = Failure(kind="timeout", reason=self._too_long, unfinished=True)
        return Result(batch=self.batch, address=self.address, failure=failure)

    def result(self, reply: Mapping[str, Any] | None, problem: BaseException | None) -> Result:
        """Return the result of a batch that came back."""
        failure = None if problem is None else self._failure(problem)
        return Result(batch=self.batch, address=self.address, reply=reply, failure=failure, late=self.given_up)

    @property
    def _too_long(self) -> str:
        return f"took longer than the {self.limit_s:g} s allowed"

    def _failure(self, problem: BaseException) -> Failure:
        where = {"worker": self.worker, "alone": not self.in_company}
        if isinstance(problem, CancelledError | FutureCancelledError):  # the scheduler forgot it: a lost connection
            return Failure(kind="returned", **where)
        if self.cause is not None and self.cause.outside and not self.expired:
            return Failure(kind="killed", reason=self.cause.words, **where)
        if self.expired or (isinstance(problem, KilledWorker) and self._ended_by_watchdog()):
            return Failure(kind="timeout", reason=self._too_long, **where)
        if isinstance(problem, KilledWorker | TimeoutError | OSError):
            how = f"; it {self.cause.words}" if self.cause else ""
            return Failure(kind="lost", reason=f"its worker process died while it was solved{how}", **where)
        return Failure(kind="error", reason=f"{type(problem).__name__}: {problem}", **where)

    def _ended_by_watchdog(self) -> bool:
        """Whether it was for the time it took that a batch's worker ended itself.

        By the exit status, where that is known: the word of the batch's start comes late on a busy machine, and never
        where the batch held the interpreter from its beginning.
        """
        if self.cause is not None and self.cause.status == WATCHDOG_STATUS:
            return self.running_s > 0.5 * self.limit_s
        return self.overdue(-0.1 * self.limit_s)


class InFlight:
    """All batches in flight. Replies come in the client's own thread and wait here for the driver."""

    def __init__(
        self, client: Any, task: Task, *, here: bool, scheduler: Any = None, folder: str | None = None
    ) -> None:
        """Begin with none.

        Args:
            client: Dask's.
            task: What all batches share.
            here: The workers run on this machine, whose account of memory is theirs.
            scheduler: Dask's where it is in this process: replies come with the word that a batch is done.
            folder: Where workers of this machine leave the arrays of these replies.
        """
        self._client, self._task = client, task
        self._here, self._folder = here, folder
        self._memory_kills = memory_kills() if here else None
        self.batches: dict[str, InFlightBatch] = {}
        self._given_up: dict[str, InFlightBatch] = {}
        self._straight = scheduler is not None
        self._replied: set[str] = set()
        self._done: queue.SimpleQueue[tuple[str, Any, BaseException | None, ExitCause | None]] = queue.SimpleQueue()
        self._started: queue.SimpleQueue[tuple[float, str, str]] = queue.SimpleQueue()
        self._serial = 0
        self._name = f"evaluate-{uuid.uuid4().hex[:8]}"
        if self._straight:
            scheduler.stream_handlers.update({STARTED: self._begun, REPLIED: self._reply})
        else:
            client.subscribe_topic(STARTED, lambda event: self._begun(**event[1]))

    def __len__(self) -> int:
        return len(self.batches)

    def send(self, assignment: Assignment, plan: Mapping[str, Any]) -> None:
        """Submit a batch to Dask.

        Args:
            assignment: With the batch. When its worker has just gone another one takes it.
            plan: Grid and times.
        """
        self._serial += 1
        batch, address, limit_s = assignment.batch, assignment.address, assignment.limit_s
        token = f"{self._name}-{self._serial}-attempt-{batch.attempt}"
        designs = Designs.of([design for _, design in batch.jobs])
        future = self._client.submit(
            solve_on_worker, token, limit_s, self._task, designs, plan, assignment.known, straight=self._straight,
            folder=self._folder, key=token, workers=[address], allow_other_workers=True, pure=False, retries=0,
        )  # fmt: skip
        self.batches[token] = InFlightBatch(
            batch=batch, future=future, address=address, limit_s=limit_s, submitted=time.monotonic()
        )
        self._client.loop.add_callback(self._fetch, token, future)

    def landed(self, timeout_s: float) -> Result | None:
        """Wait for one to come back, late ones too; None when none does in time."""
        try:
            token, reply, problem, cause = self._done.get(timeout=timeout_s)
        except queue.Empty:
            return None
        self.read_starts()
        one = self.batches.pop(token, None) or self._given_up.pop(token, None)
        if one is None:
            return None
        one.cause = cause
        if cause is not None or (reply is not None and reply.get("broken")):
            for other in self.batches.values():
                if other.worker is not None and other.worker == one.worker:
                    other.in_company = one.in_company = True
        return one.result(reply, problem)

    def read_starts(self) -> None:
        """Note which batches workers reported that they began."""
        while not self._started.empty():
            moment, token, worker = self._started.get()
            one = self.batches.get(token)
            if one is not None:
                one.started, one.worker, one.excused = moment, worker, 0.0

    def overdue(self, slack_s: float) -> Iterator[tuple[str, InFlightBatch]]:
        """Yield the batches that take too long, with their tokens."""
        for token, one in list(self.batches.items()):
            if one.overdue(slack_s):
                yield token, one

    def excuse(self, seconds: float) -> None:
        """Put off all deadlines: the driver itself was away for so long."""
        for one in self.batches.values():
            one.excused += seconds
            one.stranded = None if one.stranded is None else one.stranded + seconds

    def give_up(self, token: str) -> None:
        """Count on a batch no longer; what may still come of it is late."""
        one = self.batches.pop(token, None)
        if one is not None:
            one.given_up = True
            self._given_up[token] = one

    def cancel(self, batches: Iterable[Batch] | None = None) -> list[InFlightBatch]:
        """Forget batches, all when None, and late results; return those that were in flight.

        Nothing is asked of a scheduler that is gone.
        """
        which = None if batches is None else {id(one) for one in batches}
        found = {token: one for token, one in self.batches.items() if which is None or id(one.batch) in which}
        for one in (*found.values(), *self._given_up.values()):
            if self._client.status == "running":
                one.future.release()
        for token in found:
            del self.batches[token]
        self._given_up.clear()
        return list(found.values())

    def stranded(self, present: Container[str]) -> list[Result]:
        """Return the batches that wait for a worker that is gone; what comes of them later is dropped.

        A batch whose worker has just gone, perhaps with its reply, is given to another by the scheduler, if one is
        there at that moment. If there is none, it lies there for ever: of workers that come later Dask's scheduler asks
        only whether the batch was sent to them (`Scheduler.bulk_schedule_unrunnable_after_adding_worker`).

        Args:
            present: Addresses of the workers that are there.
        """
        lost = []
        for token, one in self.batches.items():
            if one.address in present or not one.is_unsettled:
                one.stranded = None
            else:
                lost.append((token, one))
        processing = self._processing() if lost else None
        if processing is None:
            return []
        results, now = [], time.monotonic()
        for token, one in lost:
            if any(token in keys for keys in processing.values()):
                one.stranded = None
            elif one.stranded is None:
                one.stranded = now
            elif now - one.stranded > STRANDED_S and one.is_unsettled:  # asking took a while
                del self.batches[token]
                one.future.cancel()
                results.append(one.returned())
        return results

    def worker_of(self, token: str) -> str | None:
        """Return the address of the worker that the scheduler gave a batch to; None when it does not answer."""
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
            if self._straight and future._state is not None:
                await future._state.wait()  # the reply came before that, unless the batch failed
            if token in self._replied:
                self._replied.discard(token)
                return
            reply = await self._client.gather(future, asynchronous=True)
            problem = CancelledError("its reply was lost") if reply is None else None
            self._done.put((token, reply, problem, None))
        except KilledWorker as problem:
            one = self.batches.get(token)
            if one is not None:
                one.ended = time.monotonic()
                one.worker = one.worker or getattr(problem.last_worker, "address", None)  # before any result is read
            self._done.put((token, None, problem, await self._exit_cause(problem.last_worker)))
        except BaseException as problem:
            self._done.put((token, None, problem, None))
        finally:
            future.release()

    def _begun(self, token: str, worker: str) -> None:
        """Note that a worker began a batch; in the client's own thread, like what follows."""
        self._started.put((time.monotonic(), token, worker))

    def _reply(self, token: str, reply: Serialized, worker: str) -> None:
        """Take the reply of a batch from the worker at an address; its arrays are parts of one message's memory.

        One whose file cannot be read is lost, and asked for as such.
        """
        head, *frames = reply.frames
        unpacked = msgpack.unpackb(head, unicode_errors="surrogatepass")
        written = unpacked.pop("file", None)
        if written is not None and self._folder is None:
            return
        try:
            arrays = list(map(bytes, frames)) if written is None else read_arrays(str(self._folder), *written)
        except (OSError, ValueError, TypeError):
            return
        self._replied.add(token)
        self._done.put((token, {**unpacked, "arrays": arrays}, None, None))

    async def _exit_cause(self, worker: Any) -> ExitCause:
        """Return how a worker ended, from what Dask knows of it (`KilledWorker.last_worker`)."""
        nanny, pid = getattr(worker, "nanny", None), int(getattr(worker, "pid", 0) or 0)
        if not nanny:
            return ExitCause(words=UNWATCHED, outside=False)
        logs: list[list[str]] = []
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._read_log(nanny, pid, logs), ASKING_S)
        if not logs:
            return ExitCause(words="is gone, and its nanny too", outside=True)
        return cause_from_log(logs[-1], pid, self._memory_ran_short)

    async def _read_log(self, nanny: str, pid: int, logs: list[list[str]]) -> None:
        """Read the nanny's log until it reports the process: Dask may notice the end before its parent does."""
        while not logs or reported(logs[-1], pid) is None:
            logs.append([text for _, text in await self._client.rpc(nanny).get_logs(n=200)])
            await asyncio.sleep(PAUSE_S)

    def _memory_ran_short(self) -> bool:
        before, self._memory_kills = self._memory_kills, memory_kills() if self._here else None
        return before is not None and self._memory_kills is not None and self._memory_kills > before
