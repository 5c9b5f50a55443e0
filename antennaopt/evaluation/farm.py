"""The farm: batches of antennas in, one outcome an individual out, whatever happens to the workers.

The driver owns the truth and Dask is transport. As many batches are under way as there are workers; the driver counts
attempts, cuts batches that failed, and gives every individual exactly one outcome. Workers are sent plain numbers and
the name of a function.
"""

from __future__ import annotations

import logging
import math
import queue
import time
import uuid
from asyncio import CancelledError
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from distributed import Future
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from antennaopt.errors import ClusterError
from antennaopt.evaluation._batches import Batch, Job, Queue, cut, cut_into_waves
from antennaopt.evaluation._cluster import LocalWorkers, RemoteScheduler
from antennaopt.evaluation._devices import ask_devices, enough_devices
from antennaopt.evaluation._task import STARTED, Evaluate, solve_alone_on_worker, solve_on_worker
from antennaopt.evaluation.room import BATCHES_AT_A_TIME

Outcome = dict[str, Any]

TICK_S = 0.5
GRACE_S = 10.0
WORKERS_CHECK_S = 5.0

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Flight:
    """A batch under way.

    Attributes:
        batch: Which.
        future: Dask's handle.
        limit_s: How long it may take once started.
        submitted: `time.monotonic()` when it was sent.
        started: `time.monotonic()` when a worker began, or None.
        worker: Address of that worker, or None.
        expired: The driver gave it up for taking too long.
    """

    batch: Batch
    future: Future
    limit_s: float
    submitted: float
    started: float | None = None
    worker: str | None = None
    expired: bool = False

    def overdue(self, slack_s: float) -> bool:
        """Whether it has been running for longer than its limit and some slack.

        Where the word of its start was lost with the worker, it is taken to have waited for one batch before it.
        """
        now = time.monotonic()
        if self.started is not None:
            return now - self.started > self.limit_s + slack_s
        return now - self.submitted > 2.0 * self.limit_s + slack_s


class Farm:
    """Solves batches in worker processes. A context manager; `close` never hangs.

    Attributes:
        dashboard_link: Address of Dask's dashboard for a browser, or None.
        device: What the workers' devices take, see `antennaopt.evaluation._device.room`; None without devices.
    """

    device: Mapping[str, Any] | None = None

    def __init__(
        self,
        evaluate: Evaluate,
        *,
        family: str,
        plan: Mapping[str, Any],
        backend: str = "cpu",
        workers: int | str = "auto",
        address: str | None = None,
        time_limit_s: float = 1800.0,
        dashboard: bool = True,
        connect_timeout_s: float = 10.0,
        worker_timeout_s: float = 60.0,
    ) -> None:
        """Start local workers, or connect to a scheduler.

        Args:
            evaluate: Module-level function, called in the workers as `evaluate(family, designs, plan, backend=...)`;
                returns one outcome a design.
            family: Antenna family.
            plan: What all antennas of this run share, JSON-able.
            backend: Passed on to `evaluate`. With "cuda" a worker is a process with a device of its own, which takes
                two batches at a time.
            workers: Local processes, or `auto`: one a core, or one a device.
            address: `tcp://host:port` of a running scheduler; local workers when None.
            time_limit_s: How long one antenna may take, first compilation included. Each other antenna of its batch
                adds as much, or, once some are solved, ten times what the slowest took. `math.inf` for no limit.
            dashboard: Whether local workers come with Dask's dashboard (on loopback).
            connect_timeout_s: How long a scheduler may take to answer.
            worker_timeout_s: How long to wait for a worker, at the start and whenever all are gone.

        Raises:
            ClusterError: No scheduler, no worker, or fewer devices than workers.
            DeviceError: No device, or too little memory on it for one antenna.
            Unsuitable: The device cannot step these antennas.
        """
        self._task = (evaluate, family, dict(plan), backend)
        self._plan: Mapping[str, Any] = self._task[2]
        self._time_limit_s = time_limit_s
        self._worker_timeout_s = worker_timeout_s
        self._waiting = Queue()
        self._flying: dict[str, Flight] = {}
        self._done: queue.SimpleQueue[tuple[str, Any, BaseException | None]] = queue.SimpleQueue()
        self._started: queue.SimpleQueue[tuple[float, Mapping[str, Any]]] = queue.SimpleQueue()
        self._draining = False
        self._alone_since: float | None = None
        self._looked = self._workers_checked = time.monotonic()
        self._serial = 0
        self._slowest_s = math.inf
        self._name = f"evaluate-{uuid.uuid4().hex[:8]}"
        self._address = address
        self._each = 1
        if address is None:
            count = None if workers == "auto" else int(workers)
            devices = enough_devices(count) if backend == "cuda" else ()
            threads = BATCHES_AT_A_TIME if devices else 1
            self._cluster: Any = LocalWorkers(
                count, devices=devices, threads=threads, dashboard=dashboard, timeout_s=worker_timeout_s
            )
        else:
            self._cluster = RemoteScheduler(
                address, connect_timeout_s=connect_timeout_s, worker_timeout_s=worker_timeout_s
            )
        self._client: Any = self._cluster.client
        self.dashboard_link: str | None = self._cluster.dashboard_link
        self._worker_count: int = self._cluster.worker_count
        self._client.subscribe_topic(STARTED, self._note_start)
        if backend == "cuda":
            there: dict[str, int] = self._cluster.workers()
            self._worker_count, self._each = len(there), min(BATCHES_AT_A_TIME, *there.values())
            try:
                self.device = ask_devices(self._client, there, self._plan, worker_timeout_s + GRACE_S)
            except BaseException:
                self._cluster.close()
                raise

    @property
    def worker_count(self) -> int:
        """How many batches are stepped at a time: one a core, or one a device."""
        return self._worker_count

    def cut(self, jobs: Sequence[Job], batch_size: int | str = "auto") -> list[list[Job]]:
        """Cut a generation into batches for this farm; see `antennaopt.evaluation._batches`."""
        if self.device is None:
            return cut(jobs, self._worker_count, batch_size)
        wave, most = self.device["wave"], self.device["antennas"]
        return cut_into_waves(jobs, self._worker_count, batch_size, wave=wave, most=most)

    def solve_alone(self, design: Mapping[str, float], plan: Mapping[str, Any], **options: Any) -> Outcome:
        """Solve one antenna in a worker with further options of `evaluate`; arrays come back as they are.

        Raises:
            ClusterError: The worker died, or took too long.
            Exception: What `evaluate` raised.
        """
        evaluate, family, _, backend = self._task
        future = self._client.submit(
            solve_alone_on_worker, self._time_limit_s, evaluate, family, dict(design), dict(plan),
            {"backend": backend, **options}, pure=False, retries=0,
        )  # fmt: skip
        limit = None if math.isinf(self._time_limit_s) else self._time_limit_s + GRACE_S
        try:
            return dict(future.result(timeout=limit))
        except (KilledWorker, TimeoutError, CancelledError, FutureCancelledError) as problem:
            raise ClusterError(f"an antenna could not be solved again: {type(problem).__name__}") from problem

    def run(
        self, batches: Iterable[Sequence[Job]], *, plan: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[str, Outcome]]:
        """Solve batches and yield each individual's outcome once, in order of completion.

        Args:
            batches: Lists of (key, design); keys are unique. Evaluated to the end before the first outcome.
            plan: On which grid, JSON-able; the farm's own when None.

        Yields:
            Key and outcome. `evaluate`'s dictionary with `worker`, `device`, `attempt` and `batch_seconds` added; or
            status `error` (with the traceback as `error`), `timeout` or `lost` when the attempts are used up. After
            `drain` fewer come than were asked for.

        Raises:
            ClusterError: The scheduler is gone, or no worker has been there for too long.
        """
        self._draining = False
        self._plan = self._task[2] if plan is None else dict(plan)
        self.submit(batches)
        yield from self.completed()

    def submit(self, batches: Iterable[Sequence[Job]]) -> None:
        """Add batches, also while `completed` is being read."""
        self._waiting.add(batches)

    def completed(self) -> Iterator[tuple[str, Outcome]]:
        """Yield outcomes until nothing is left, or, after `drain`, until nothing is under way.

        When the caller stops reading early, what is under way is abandoned and its results are never seen again.
        """
        try:
            while True:
                self._launch()
                if not self._flying:
                    return
                yield from self._next()
        finally:
            self._abandon()

    def drain(self) -> None:
        """Hand out no more batches; those under way still come back. Only sets a flag: safe in a signal handler."""
        self._draining = True

    def close(self) -> None:
        """Stop: within seconds, whatever the workers are doing. A second call does nothing."""
        self._abandon()
        self._cluster.close()

    def __enter__(self) -> Farm:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _launch(self) -> None:
        """Keep as many batches under way as the workers have threads.

        Not one more: it would queue behind a worker of Dask's guess while another falls idle, and be blamed for the
        death of a worker that had not even begun it.
        """
        if self._draining:
            self._waiting.clear()
        while self._waiting and len(self._flying) < self._places():
            self._send(self._waiting.next())

    def _places(self) -> int:
        """How many batches may be under way: one a worker while any is suspect, so that none is blamed for another."""
        suspect = self._waiting.is_suspect or any(flight.batch.attempt > 1 for flight in self._flying.values())
        return self._worker_count * (1 if suspect else self._each)

    def _send(self, batch: Batch) -> None:
        self._serial += 1
        token = f"{self._name}-{self._serial}-attempt-{batch.attempt}"
        others_s = sum(min(self._time_limit_s, 10.0 * self._slowest_s) for _ in batch.jobs[1:])
        limit_s = self._time_limit_s + others_s
        evaluate, family, _, backend = self._task
        future = self._client.submit(
            solve_on_worker,
            token,
            limit_s,
            evaluate,
            family,
            batch.designs,
            self._plan,
            backend,
            key=token,
            pure=False,
            retries=0,
        )
        self._flying[token] = Flight(batch=batch, future=future, limit_s=limit_s, submitted=time.monotonic())
        self._client.loop.add_callback(self._fetch, token, future)

    async def _fetch(self, token: str, future: Future) -> None:
        """Wait for a batch and bring its reply here, in the client's own thread: a stopped worker may sit on it."""
        try:
            reply = await self._client.gather(future, asynchronous=True)
        except BaseException as problem:
            self._done.put((token, None, problem))
        else:
            self._done.put((token, reply, None))

    def _next(self) -> Iterator[tuple[str, Outcome]]:
        """Wait for one batch, a tick at most, and now and then look after the others."""
        with suppress(queue.Empty):
            token, reply, problem = self._done.get(timeout=TICK_S)
            self._read_starts()
            flight = self._flying.pop(token, None)
            if flight is not None:
                flight.future.release()
                yield from self._landed(flight, reply, problem)
        now = time.monotonic()
        if now - self._looked >= TICK_S:
            self._looked = now
            self._read_starts()
            yield from self._give_up_overdue()
        if now - self._workers_checked >= WORKERS_CHECK_S:
            self._workers_checked = now
            self._check_workers(now)

    def _landed(
        self, flight: Flight, reply: Mapping[str, Any] | None, problem: BaseException | None
    ) -> Iterator[tuple[str, Outcome]]:
        """Turn a finished batch into outcomes, or into what is tried next."""
        if reply is None and isinstance(problem, CancelledError | FutureCancelledError):
            # The scheduler forgot it: a lost connection, nobody's fault.
            self._require_scheduler()
            self._waiting.put_back([flight.batch])
        elif reply is None:
            yield from self._failed(flight.batch, *failure(problem, flight))
        elif "outcomes" in reply:
            yield from self._outcomes(flight.batch, reply)
        else:
            yield from self._failed(flight.batch, "error", str(reply["error"]))

    def _outcomes(self, batch: Batch, reply: Mapping[str, Any]) -> Iterator[tuple[str, Outcome]]:
        self._alone_since = None
        mean_s = reply["seconds"] / len(batch.jobs)
        self._slowest_s = mean_s if math.isinf(self._slowest_s) else max(self._slowest_s, mean_s)
        for key, outcome in zip(batch.keys, reply["outcomes"], strict=True):
            yield (
                key,
                {**outcome, "worker": reply["worker"], "attempt": batch.attempt, "batch_seconds": reply["seconds"]},
            )

    def _failed(self, batch: Batch, kind: str, reason: str) -> Iterator[tuple[str, Outcome]]:
        again = batch.after_failure(kind)
        log.info("batch of %d: %s; %d to try again", len(batch.jobs), kind, len(again))
        if self._draining and again:
            return
        self._waiting.put_back(again)
        if not again:
            yield batch.keys[0], batch.failed_outcome(kind, reason)

    def _note_start(self, event: tuple[Any, Any]) -> None:
        self._started.put((time.monotonic(), event[1]))

    def _read_starts(self) -> None:
        while not self._started.empty():
            moment, message = self._started.get()
            flight = self._flying.get(message["token"])
            if flight is not None:
                flight.started, flight.worker = moment, message["worker"]

    def _give_up_overdue(self) -> Iterator[tuple[str, Outcome]]:
        """Kill the worker of a batch that its own watchdog should have ended: a stopped process has no watchdog."""
        for token, flight in list(self._flying.items()):
            if not flight.overdue(GRACE_S):
                continue
            worker = flight.worker or self._worker_of(token)
            flight.expired, flight.started, flight.submitted = True, None, time.monotonic()
            if worker is None or not self._cluster.kill_worker(worker):
                del self._flying[token]
                flight.future.cancel()
                yield from self._failed(flight.batch, *failure(None, flight))

    def _worker_of(self, token: str) -> str | None:
        """Return the address of the worker that the scheduler gave a batch to."""
        holding = (worker for worker, keys in self._client.processing().items() if token in keys)
        return next(holding, None)

    def _check_workers(self, now: float) -> None:
        """Notice a scheduler or workers that are gone for good."""
        self._require_scheduler()
        threads = self._client.nthreads()
        count = len(threads) if self.device is not None else sum(threads.values())
        if count:
            self._alone_since = None
            if self._address is not None:
                self._worker_count = count
            return
        self._alone_since = self._alone_since or now
        if now - self._alone_since > self._worker_timeout_s:
            raise ClusterError(
                f"all workers of {self._address or 'this machine'} have been gone for {self._worker_timeout_s:g} s; "
                "what was solved is saved: start workers and resume"
            )

    def _require_scheduler(self) -> None:
        deadline = time.monotonic() + self._worker_timeout_s
        while self._client.status != "running":
            if self._client.status in ("closed", "closing") or time.monotonic() > deadline:
                raise ClusterError(
                    f"the scheduler at {self._address or 'this machine'} is gone; "
                    "what was solved is saved: start it again and resume"
                )
            time.sleep(TICK_S)

    def _abandon(self) -> None:
        self._waiting.clear()
        for flight in self._flying.values():
            if self._client.status == "running":
                flight.future.release()
        self._flying.clear()


def failure(problem: BaseException | None, flight: Flight) -> tuple[str, str]:
    """Return the kind of a failure (`error`, `timeout`, `lost`) and its reason in words."""
    if flight.expired or (isinstance(problem, KilledWorker) and flight.overdue(-0.1 * flight.limit_s)):
        return "timeout", f"took longer than the {flight.limit_s:g} s allowed"
    if isinstance(problem, KilledWorker | TimeoutError | OSError):
        return "lost", "its worker process died while it was solved"
    return "error", f"{type(problem).__name__}: {problem}"
