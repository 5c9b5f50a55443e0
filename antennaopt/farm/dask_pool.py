"""The worker pool on Dask: sends batches through the scheduler of any kind of cluster.

The pool watches scheduler and workers, ends batches that take too long, and starts our own scheduler again when it has
ended. Every batch comes back, with a reply or with a failure.
"""

from __future__ import annotations

import math
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from antennaopt.errors import ClusterError
from antennaopt.farm.batches import Batch
from antennaopt.farm.clusters import ClusterSettings, opener
from antennaopt.farm.dashboard import TOPIC
from antennaopt.farm.dask_client import SchedulerWatch, publish, threads_of
from antennaopt.farm.dask_tasks import InFlight
from antennaopt.farm.dispatch import Policy
from antennaopt.farm.farm import TICK_S, PoolFarm, summary_of
from antennaopt.farm.interface import Assignment, Failure, Pool, Result, Worker, WorkerLost
from antennaopt.farm.task import Evaluate, Task
from antennaopt.solve.capacity import BATCHES_AT_A_TIME
from antennaopt.solve.device import AS_THE_WORKER, capacity, kind_of_worker
from fdtd.errors import DeviceError

GRACE_S = 10.0
WORKERS_CHECK_S = 5.0
MOST_REBUILDS = 3

HEAD_START_S = 0.005
"""For the client's own thread, which sends the first batches, one a worker: what the driver does next would take the
interpreter from it, and workers would begin 15 ms later."""

NO_ANSWER = (KilledWorker, TimeoutError, CommClosedError, CancelledError, FutureCancelledError)
"""A worker died of a question, or does not answer, or the scheduler went meanwhile."""


class DaskPool(Pool):
    """Workers of a Dask cluster; see `antennaopt.farm.interface.Pool`.

    Attributes:
        cluster: Dask's scheduler and workers, opened again where they had to be.
        in_flight: What was submitted to them.
    """

    def __init__(
        self,
        task: Task,
        plan: Mapping[str, Any],
        open_cluster: Callable[[], Any],
        *,
        mixed: bool = False,
        patience_s: float = 60.0,
    ) -> None:
        """Start the workers, or connect to them, and learn what they are.

        Args:
            task: What all batches share.
            plan: Of the study, for which devices are asked for their capacity.
            open_cluster: Of `antennaopt.farm.clusters.opener`.
            mixed: Whether workers of several backends may come: each is then asked what it is.
            patience_s: How long all workers, or the scheduler, may be gone, and how long a worker may take to answer.

        Raises:
            ClusterError: No scheduler, no worker, or one that does not answer.
            DeviceError: No device, or too little memory on it for one antenna.
            Unsuitable: The device cannot step these antennas.
        """
        self._task, self._plan, self._open = task, dict(plan), open_cluster
        self._mixed, self._on_devices = mixed, task[2] == "cuda"
        self._patience_s = patience_s
        self._looked = self._workers_checked = time.monotonic()
        self._rebuilt = 0
        self._alone = False  # all workers are gone, and a queue is to bring others
        self._beginning = False  # nothing was in flight, and not all workers have a batch since
        self._connect()

    def _connect(self) -> None:
        self.cluster: Any = self._open()
        self._client: Any = self.cluster.client
        self.dashboard_link = self.cluster.dashboard_link
        cluster = self.cluster
        self.in_flight = InFlight(
            self._client, self._task, here=cluster.here, scheduler=cluster.scheduler, folder=cluster.folder
        )
        self.watch = SchedulerWatch(
            self._client,
            where=cluster.where,
            patience_s=self._patience_s,
            queue_s=cluster.queue_s,
            ended=lambda: cluster.scheduler_is_gone,
        )
        self._returned: list[Result] = []
        self._workers: dict[str, Worker] = {}
        self._kinds: dict[str, Worker] = {}
        self._asked: dict[str, Any] = {}
        self._device: Mapping[str, Any] | None = None
        try:
            self._learn_workers()
        except BaseException:
            self.cluster.close()
            raise

    def _learn_workers(self) -> None:
        """Ask every worker that is there what it takes."""
        threads = threads_of(self._client)
        if self._mixed or self._on_devices:
            threads = self.cluster.workers()
            question, what = (
                (kind_of_worker, "say what it solves with") if self._mixed else (capacity, "start its device")
            )
            try:
                answers = self._answers(threads, self._patience_s + GRACE_S, question, self._plan)
            except WorkerLost as problem:
                raise ClusterError(
                    f"a worker could not {what} ({problem}); `antennaopt doctor` may say why"
                ) from problem
            if self._mixed:
                self._kinds = {one: _kind(answer) for one, answer in zip(threads, answers, strict=True)}
            else:
                self._device = summary_of(answers)
        self._note_workers(threads)

    def workers(self) -> Mapping[str, Worker]:  # noqa: D102
        return self._workers

    @property
    def expected(self) -> int | None:
        """Number of batches stepped at a time once all workers of this machine are there; None for other machines."""
        return self.cluster.worker_count if self.cluster.here else None

    def submit(self, assignments: Sequence[Assignment], plan: Mapping[str, Any]) -> None:  # noqa: D102
        if not assignments:
            return
        if self._require_scheduler():
            self._returned += [_returned(one) for one in assignments]
            return
        self._beginning = self._beginning or not self.in_flight
        for one in assignments:
            self.in_flight.send(one, plan)
        if self._beginning and (len(assignments) > 1 or len(self.in_flight) >= self._stepping()):
            self._beginning = False  # all have a batch; or a whole generation was sent
            time.sleep(HEAD_START_S)

    def results(self, timeout_s: float) -> list[Result]:  # noqa: D102
        found, self._returned = self._returned, []
        if found:
            return found
        result = self.in_flight.landed(timeout_s)
        if result is not None:
            found.append(result)
            self._note_result(result)
        now = time.monotonic()
        if now - self._looked >= TICK_S:
            self.in_flight.excuse(max(now - self._looked - 2.0 * TICK_S, 0.0))
            self._looked = now
            self.in_flight.read_starts()
            found += self._overdue()
            found += self.in_flight.stranded(self._workers)
            if self._asked or self._stepping() < self.cluster.worker_count:
                self.refresh_workers()
        if now - self._workers_checked >= WORKERS_CHECK_S:
            self._workers_checked = now
            self._require_scheduler()
            self.refresh_workers()
            for done, worker in self.cluster.mend():
                self._emit(done, worker=worker)
        return found

    def cancel(self, batches: Iterable[Batch]) -> None:  # noqa: D102
        self.in_flight.cancel(batches)

    def ask(self, question: Callable[..., Any], *arguments: Any, limit_s: float | None = None) -> list[Any]:  # noqa: D102
        if limit_s is None:
            return self._answers(self.cluster.workers(), self._patience_s, question, *arguments)
        with _lost():
            timeout = None if math.isinf(limit_s) else limit_s + GRACE_S
            try:
                return [self._client.submit(question, *arguments, pure=False, retries=0).result(timeout=timeout)]
            except TimeoutError as problem:
                raise ClusterError(f"an antenna could not be solved again within {limit_s:g} s") from problem
            except NO_ANSWER:
                self._require_scheduler()
                raise

    def scale(self, batches: int) -> None:  # noqa: D102
        self.cluster.scale(batches)

    def show(self, event: Mapping[str, Any]) -> None:  # noqa: D102
        publish(self._client, TOPIC, event)

    def close(self) -> None:  # noqa: D102
        self.in_flight.cancel()
        self.cluster.close()

    def _answers(
        self, workers: Iterable[str], timeout_s: float, question: Callable[..., Any], *arguments: Any
    ) -> list[Any]:
        """Ask workers the same, each for as long as the timeout.

        Raises:
            WorkerLost: One does not answer.
            DeviceError: A worker has no device that it can use, or too little memory; the message names the worker.
            Exception: What else the question raised in a worker.
        """
        asked = {one: self._question(one, question, *arguments) for one in workers}
        answers = []
        for one, future in asked.items():
            with _lost():
                try:
                    answers.append(future.result(timeout=timeout_s))
                except DeviceError as problem:
                    raise type(problem)(f"worker {one}: {problem}") from problem
        return answers

    def _question(self, worker: str, question: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(
            question, *arguments, workers=[worker], allow_other_workers=False, pure=False, retries=0
        )

    def refresh_workers(self) -> None:
        """Query the workers; where our own scheduler ends meanwhile, those of the one that takes its place."""
        try:
            threads = self.watch.workers()
        except ClusterError:
            if not self.cluster.scheduler_is_gone:
                raise
            self._require_scheduler()
            threads = self.watch.workers()
        alone = not threads and self.cluster.queue_s > 0.0
        if alone and not self._alone:
            self._emit("queue_awaited", where=self.cluster.where)
        self._alone = alone
        self._note_workers(threads)

    def _note_workers(self, threads: Mapping[str, int]) -> None:
        """Take note of the workers that are there; newcomers on mixed hardware are asked what they are first."""
        threads = self.cluster.accepted(threads)
        if self._mixed:
            for address in threads.keys() - self._kinds.keys() - self._asked.keys():
                self._asked[address] = self._question(address, kind_of_worker, self._plan)
            for address, future in list(self._asked.items()):
                if future.done() or address not in threads:
                    del self._asked[address]
                    if future.status == "finished":
                        try:
                            self._kinds[address] = _kind(future.result(timeout=1.0))
                        except NO_ANSWER:
                            continue  # it is asked again
        backend = "cuda" if self._on_devices else "cpu"
        self._workers = {}
        for address, count in threads.items():
            if not self._mixed:
                self._workers[address] = Worker(backend=backend, threads=count, device=self._device)
            elif (kind := self._kinds.get(address)) is not None:
                self._workers[address] = Worker(backend=kind.backend, threads=count, device=kind.device)

    def _stepping(self) -> int:
        """Return how many batches the workers that are there step at a time."""
        return sum(1 if one.backend == "cuda" or self._mixed else one.threads for one in self._workers.values())

    def _note_result(self, result: Result) -> None:
        """Learn from a result which workers and whether the scheduler are gone."""
        if result.failure is None:
            self.watch.solved()
            self._rebuilt = 0
        kind = result.failure.kind if result.failure else None
        if kind == "returned":
            self._require_scheduler()
        elif kind in ("killed", "lost", "timeout") or (result.reply or {}).get("broken"):
            self._workers.pop(result.address, None)  # until it is seen again

    def _overdue(self) -> list[Result]:
        """Kill the worker of a batch that its own watchdog should have ended: a stopped process has no watchdog."""
        found = []
        for token, one in self.in_flight.overdue(GRACE_S):
            worker = one.worker or self.in_flight.worker_of(token)
            one.expired, one.started, one.submitted, one.excused = True, None, time.monotonic(), 0.0
            if worker is None or not self.cluster.kill_worker(worker):
                found.append(one.unfinished())
                self.in_flight.give_up(token)
        return found

    def _require_scheduler(self) -> bool:
        """Wait for a lost scheduler; in place of our own one that has ended, start another and return what it had.

        Returns:
            Whether another was started.
        """
        try:
            self.watch.require_scheduler()
            return False
        except ClusterError:
            if not self.cluster.scheduler_is_gone:
                raise
        self._rebuilt += 1
        if self._rebuilt > MOST_REBUILDS:
            raise ClusterError(
                f"the scheduler on this machine ended {self._rebuilt} times before a batch was solved; "
                "what was solved is saved: resume"
            )
        results = [one.returned() for one in self.in_flight.cancel()]
        self.cluster.close()
        self._connect()
        self._returned += results
        self._emit("scheduler_rebuilt", batches=len(results), times=self._rebuilt)
        return True

    def _emit(self, event: str, **details: Any) -> None:
        if self.on_event is not None:
            self.on_event(event, **details)


class DaskFarm(PoolFarm):
    """A farm on a pool of Dask workers, here or on other machines. A context manager; `close` never hangs."""

    def __init__(
        self,
        evaluate: Evaluate,
        *,
        family: str,
        plan: Mapping[str, Any],
        backend: str = "cpu",
        cluster: ClusterSettings | None = None,
        time_limit_s: float = 1800.0,
        connect_timeout_s: float = 10.0,
        worker_timeout_s: float = 60.0,
    ) -> None:
        """Start workers, or connect to a scheduler.

        Args:
            evaluate: Module-level function, called in the workers as `evaluate(family, designs, plan, backend=...)`;
                returns one outcome a design.
            family: Antenna family.
            plan: What all antennas of this run share, JSON-able.
            backend: Passed on to `evaluate`. With "cuda" a worker is a process with a device of its own, which takes
                three batches at a time.
            cluster: Kind and number of workers; a process a core, or a device, of this machine when None.
            time_limit_s: How long one antenna may take, first compilation included. Each other antenna of its batch
                adds as much, or, once some are solved, ten times what the slowest took. `math.inf` for no limit.
            connect_timeout_s: How long a scheduler may take to answer.
            worker_timeout_s: How long to wait for a worker, at the start and whenever all are gone.

        Raises:
            ConfigurationError: Others could come in, or listen, and nothing prevents it.
            ClusterError: No scheduler, no worker, or fewer devices than workers.
            DeviceError: No device, or too little memory on it for one antenna.
            Unsuitable: The device cannot step these antennas.
        """
        where = cluster or ClusterSettings()
        open_cluster = opener(
            where, backend=backend, plan=plan, connect_timeout_s=connect_timeout_s, worker_timeout_s=worker_timeout_s
        )
        task = (evaluate, family, AS_THE_WORKER if where.mixed else backend)
        super().__init__(
            DaskPool(task, plan, open_cluster, mixed=where.mixed, patience_s=worker_timeout_s),
            task,
            plan,
            policy=Policy(name=where.dispatch, target_s=where.target_time),
            mixed=where.mixed,
            streams=where.threads or BATCHES_AT_A_TIME,
            time_limit_s=time_limit_s,
        )


def _kind(answer: Mapping[str, Any]) -> Worker:
    return Worker(backend=answer["backend"], device=answer if answer["backend"] == "cuda" else None)


def _returned(one: Assignment) -> Result:
    return Result(batch=one.batch, address=one.address, failure=Failure(kind="returned"))


@contextmanager
def _lost() -> Iterator[None]:
    """Turn no answer into `WorkerLost`."""
    try:
        yield
    except NO_ANSWER as problem:
        raise WorkerLost(type(problem).__name__) from problem
