"""The farm: takes batches of antennas and returns one outcome per individual, also if workers fail.

The driver owns the truth and the pool is transport. As many batches are in flight as workers take; the driver counts
attempts, cuts batches that failed, and gives every individual exactly one outcome. Workers are sent plain numbers and
the name of a function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from antennaopt.errors import ClusterError
from antennaopt.farm.arriving import Arriving, Landed
from antennaopt.farm.batches import SOLO_ATTEMPTS, Batch, Job, Queue, cut, cut_into_waves
from antennaopt.farm.dispatch import Dispatcher, Policy
from antennaopt.farm.interface import Assignment, Known, More, OnEvent, Outcome, Pool, Result, Worker, WorkerLost
from antennaopt.farm.retries import ResultHandler
from antennaopt.farm.task import Evaluate, solve_alone_on_worker, solve_batch
from antennaopt.solve.capacity import BATCHES_AT_A_TIME, largest_batch

TICK_S = 0.5


class PoolFarm:
    """Solves batches on a worker pool; see `antennaopt.farm.interface.Farm`. A context manager.

    Attributes:
        pool: The workers.
        device: Capacity of the workers' devices, of the smallest; None without devices.
        on_event: Callback for failures and what was done about them.
    """

    on_event: OnEvent | None = None

    def __init__(
        self,
        pool: Pool,
        task: tuple[Evaluate, str, str],
        plan: Mapping[str, Any],
        *,
        policy: Policy = Policy(),  # noqa: B008 - frozen
        mixed: bool = False,
        streams: int = BATCHES_AT_A_TIME,
        time_limit_s: float = 1800.0,
    ) -> None:
        """Begin on a pool whose workers are there.

        Args:
            pool: The workers; closed with the farm.
            task: What all batches share: `evaluate`, the antenna family, the backend.
            plan: Grid and times, unless `run` is given others.
            policy: How much each worker gets.
            mixed: Whether workers of several backends may come.
            streams: Batches that a device takes at a time, at most.
            time_limit_s: How long one antenna may take.
        """
        self.pool: Any = pool
        self._task, self._own_plan = task, dict(plan)
        self._plan: Mapping[str, Any] = self._own_plan
        self._known: Known | None = None
        self._more: More | None = None
        self._announced = 0  # batches that the pool was last told of
        self._time_limit_s = time_limit_s
        self._waiting = Queue()
        self._in_flight: dict[int, Batch] = {}
        self._trials: dict[int, tuple[Batch, str]] = {}
        self._handler = ResultHandler(self._waiting, time_limit_s, self._emit)
        self._streams = streams
        self._dispatcher = Dispatcher(pool.workers(), policy=policy, mixed=mixed, streams=streams)
        self.device = summary_of([one.device for one in pool.workers().values() if one.device is not None])
        pool.on_event = self._emit

    @property
    def dashboard_link(self) -> str | None:
        """Address of Dask's dashboard for a browser, or None."""
        return self.pool.dashboard_link

    @property
    def worker_count(self) -> int:
        """Number of batches that are stepped at a time: one a core, or one a device."""
        return self.pool.expected or max(self._dispatcher.worker_count, 1)

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends of the workers; more than one on mixed hardware."""
        return self._dispatcher.backends

    @property
    def places(self) -> int:
        """Number of batches that may be in flight."""
        return self._dispatcher.places

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:  # noqa: D102
        with suppress(WorkerLost):
            return self.pool.ask(question, *arguments)
        return []

    def ahead(self, population: int, batch_size: int | str = "auto") -> int:
        """Return how many antennas of a generation to send before the others are bred: of devices the first batches."""
        if self.device is None or self._dispatcher.mixed or not self._dispatcher.cut_beforehand:
            return 0
        batches = self.cut([("", {})] * population, batch_size)
        first = sum(map(len, batches[: self.worker_count]))
        return first if first < population else 0

    def cut(  # noqa: D102
        self, jobs: Sequence[Job], batch_size: int | str = "auto", sent: int = 0, left: int = 0
    ) -> list[list[Job]]:
        dispatcher = self._dispatcher
        dispatcher.prepare(sent + len(jobs) + left, batch_size)
        if not dispatcher.cut_beforehand:
            return [list(jobs)]
        if self.device is None:
            return cut(jobs, self.worker_count, batch_size)
        devices = max(dispatcher.device_count, 1) if dispatcher.mixed else self.worker_count
        wave, most = self.device["wave"], largest_batch(self.device["antennas"], self._streams)
        return cut_into_waves(
            jobs, devices, batch_size, wave=wave, most=most, at_once=self.device.get("at_once"), around=(sent, left),
            short_ends=not dispatcher.mixed,
        )  # fmt: skip

    def solve_alone(self, design: Mapping[str, float], plan: Mapping[str, Any], **options: Any) -> Outcome:  # noqa: D102
        evaluate, family, backend = self._task
        options = {"backend": backend, **options}
        limit_s = self._time_limit_s
        for left in reversed(range(SOLO_ATTEMPTS["lost"])):
            try:
                (outcome,) = self.pool.ask(
                    solve_alone_on_worker, limit_s, evaluate, family, dict(design), dict(plan), options, limit_s=limit_s
                )
                return Outcome.of(outcome)
            except WorkerLost as problem:
                if not left:
                    raise ClusterError(f"an antenna could not be solved again: {problem}") from problem
        raise AssertionError

    def run(  # noqa: D102
        self,
        batches: Iterable[Sequence[Job]],
        *,
        plan: Mapping[str, Any] | None = None,
        known: Known | None = None,
        more: More | None = None,
    ) -> Iterator[tuple[str, Outcome]]:
        self._handler.draining = False
        self._handler.begin()
        self._plan, self._known, self._more = self._own_plan if plan is None else dict(plan), known, None
        if isinstance(batches, Iterator):
            for batch in batches:
                self._waiting.add([batch])
                self._launch()
        else:
            self._waiting.add(batches)
        self._more = more  # none before all are bred
        self._announced = self._count
        self.pool.scale(self._announced)
        self._launch()
        return self.completed()

    def submit(self, batches: Iterable[Sequence[Job]]) -> None:
        """Add batches, also while `completed` is being read; no worker is taken away for it."""
        self._waiting.add(batches)
        if self._count > self._announced:
            self._announced = self._count
            self.pool.scale(self._announced)

    @property
    def _count(self) -> int:
        """Number of batches that wait or are in flight."""
        return len(self._waiting) + len(self._in_flight)

    def completed(self) -> Arriving:
        """Yield outcomes until nothing is left, or, after `drain`, until nothing is in flight.

        When the caller stops reading early, what is in flight is abandoned and its results are never seen again.
        """
        return Arriving(self._replies())

    def _replies(self) -> Generator[Landed, None, None]:
        """Yield the outcomes of a reply at a time."""
        try:
            while True:
                self._launch()
                if not self._in_flight and not self._waiting:
                    return
                for result in self.pool.results(TICK_S):
                    is_trial = self._landed(result)
                    if self.device is not None and self._waiting and "outcomes" in (result.reply or {}):
                        self._launch()  # reading a device's batch takes 20 ms; the next one need not wait for that
                    if not is_trial and (landed := list(self._handler.handle(result))):
                        yield landed
                self._dispatcher.refresh(self.pool.workers())
        finally:
            self._abandon()

    def drain(self) -> None:  # noqa: D102
        self._handler.draining = True

    def show(self, event: Mapping[str, Any]) -> None:  # noqa: D102
        self.pool.show(event)

    def close(self) -> None:
        """Stop: within seconds, whatever the workers are doing. A second call does nothing."""
        self._abandon()
        self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _launch(self) -> None:
        """Give every worker as many batches as it takes at a time: one, or three of a device.

        Not one more: it would queue behind another, and be blamed for the death of a worker that had not even begun
        it. While any is suspect a worker has one, so that none is blamed for another.
        """
        if self._handler.draining:
            self._waiting.clear()
        assignments = self._trial_batches() if self._waiting else []
        while self._waiting or self._asked_for_more():
            suspect = self._waiting.is_suspect or any(one.attempt > 1 for one in self._in_flight.values())
            found = self._dispatcher.next(
                self._waiting.antennas, one_each=suspect, nothing_in_flight=not self._in_flight
            )
            if found is None:
                break
            worker, share = found
            aside = self._dispatcher.is_core_by_devices(worker) and not self._waiting.is_suspect
            devices = self._dispatcher.device_count
            batch = self._waiting.take_from_end(share, devices) if aside else self._waiting.next(share)
            self._dispatcher.sent(worker.address, len(batch.jobs))
            self._in_flight[id(batch)] = batch
            assignments.append(self._assignment(batch, worker.address))
        self.pool.submit(assignments, self._plan)

    def _asked_for_more(self) -> bool:
        """Take what else can be solved now, where a place is free for it; return whether there is anything.

        A device that has a batch gets no more than whole halves of a wave: with a few antennas it would be slow.
        """
        if self._more is None or self._handler.draining or not self._dispatcher.has_free_place:
            return False
        grain = 1 if self.device is None or not self._in_flight else half_of_wave(self.device)
        self._waiting.add(self._more(grain))
        return bool(self._waiting)

    def _trial_batches(self) -> list[Assignment]:
        """Return copies of a waiting antenna for cores next to devices, to measure them; nothing waits for these."""
        job = self._waiting.first_fresh()
        if job is None:
            return []
        assignments = []
        for address in self._dispatcher.unmeasured():
            batch = Batch(jobs=(job,))
            self._trials[id(batch)] = batch, address
            self._dispatcher.sent(address, 1, trial=True)
            assignments.append(self._assignment(batch, address))
        return assignments

    def _assignment(self, batch: Batch, address: str) -> Assignment:
        known = None if self._known is None else self._known()
        return Assignment(batch=batch, address=address, limit_s=self._handler.limit_s(batch), known=known)

    def _landed(self, result: Result) -> bool:
        """Note that a batch came back; return whether it was a trial batch, whose outcomes nothing waits for."""
        batch, reply = result.batch, result.reply or {}
        self._in_flight.pop(id(batch), None)
        if not (result.failure and result.failure.unfinished):
            seconds = float(reply.get("seconds", 0.0))
            self._dispatcher.landed(result.address, len(batch.jobs), reply.get("solved", 0), seconds)
        return self._trials.pop(id(batch), None) is not None

    def _emit(self, event: str, **details: Any) -> None:
        if self.on_event is not None:
            self.on_event(event, **details)

    def _abandon(self) -> None:
        """Forget what waits and what is in flight; trial batches go on, so that speeds are known in the end."""
        self._waiting.clear()
        self._more = None
        self.pool.cancel(self._in_flight.values())
        self._in_flight.clear()
        self._dispatcher.all_landed({address for _, address in self._trials.values()})


class SerialPool(Pool):
    """The pool without workers: batches are solved in this process, in order. For tests and tiny jobs.

    No time limit; a crash of the solver is a crash of the driver.
    """

    def __init__(self, task: tuple[Evaluate, str, str]) -> None:
        self._task = task
        self._submitted: list[tuple[Assignment, Mapping[str, Any]]] = []

    def workers(self) -> Mapping[str, Worker]:  # noqa: D102
        return {"driver": Worker()}

    def submit(self, assignments: Sequence[Assignment], plan: Mapping[str, Any]) -> None:  # noqa: D102
        self._submitted += [(one, plan) for one in assignments]

    def results(self, timeout_s: float) -> list[Result]:  # noqa: D102
        if not self._submitted:
            return []
        one, plan = self._submitted.pop(0)
        evaluate, family, backend = self._task
        reply = solve_batch(evaluate, family, one.batch.designs, plan, backend, one.known)
        return [Result(batch=one.batch, address=one.address, reply={**reply, "worker": "driver"})]

    def cancel(self, batches: Iterable[Batch]) -> None:  # noqa: D102
        self._submitted.clear()

    def ask(self, question: Callable[..., Any], *arguments: Any, limit_s: float | None = None) -> list[Any]:  # noqa: D102
        return [question(*arguments)]


class SerialFarm(PoolFarm):
    """A farm without workers, in this process."""

    def __init__(self, evaluate: Evaluate, *, family: str, plan: Mapping[str, Any], backend: str = "cpu") -> None:
        task = (evaluate, family, backend)
        super().__init__(SerialPool(task), task, plan, time_limit_s=math.inf)


def half_of_wave(device: Mapping[str, Any]) -> int:
    """Return half a device's wave in whole multiples of what it steps at a time, where a wave has several of these."""
    half, at_once = max(device["wave"] // 2, 1), device.get("at_once") or device["wave"]
    return half // at_once * at_once if at_once <= half else half


def summary_of(capacities: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return what a process of every device takes: of the smallest one, with the names of all and their count."""
    if not capacities:
        return None
    smallest = min(capacities, key=lambda one: one["antennas"])
    names = dict.fromkeys(name for one in capacities for name in one["device"].split("; "))
    return {
        **smallest,
        "device": "; ".join(names),
        "count": max(1, round(sum(1 / one.get("shared_by", 1) for one in capacities))),
    }
