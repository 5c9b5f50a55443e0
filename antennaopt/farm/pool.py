"""The farm: batches of antennas in, one outcome an individual out, whatever happens to the workers.

The driver owns the truth and Dask is transport. As many batches are under way as there are workers; the driver counts
attempts, cuts batches that failed, and gives every individual exactly one outcome. Workers are sent plain numbers and
the name of a function.
"""

from __future__ import annotations

import math
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from antennaopt.errors import ClusterError
from antennaopt.farm.batches import SOLO_ATTEMPTS, Job, Queue, cut, cut_into_waves
from antennaopt.farm.connection import show, threads_of
from antennaopt.farm.dashboard import TOPIC
from antennaopt.farm.devices import NO_ANSWER, ask_devices, ask_each, ask_kinds, one_for_all
from antennaopt.farm.dispatch import Policy
from antennaopt.farm.exit_causes import Coroner
from antennaopt.farm.in_flight import Flight, Flights, Task
from antennaopt.farm.kinds import opener
from antennaopt.farm.presence import Presence
from antennaopt.farm.retries import Outcome, Reception, Tell, failure, is_forgotten
from antennaopt.farm.settings import ClusterSettings
from antennaopt.farm.task import Evaluate, solve_alone_on_worker
from antennaopt.farm.workers import Crew
from antennaopt.solve.device import AS_THE_WORKER
from antennaopt.solve.room import BATCHES_AT_A_TIME, batch_room

TICK_S = 0.5
GRACE_S = 10.0
WORKERS_CHECK_S = 5.0
MOST_REBUILDS = 3

HEAD_START_S = 0.005
"""For the client's own thread, which sends the first batches: what the driver does next would take the interpreter from
it, and workers would begin 15 ms later."""


class Farm:
    """Solves batches in worker processes. A context manager; `close` never hangs.

    Attributes:
        dashboard_link: Address of Dask's dashboard for a browser, or None.
        device: What the workers' devices take, see `antennaopt.solve.device.room`; None without devices.
        on_event: Is told, in the driver's thread, of failures and what was done: `on_event(event, **details)`.
    """

    device: Mapping[str, Any] | None = None
    on_event: Tell | None = None

    def __init__(
        self,
        evaluate: Evaluate,
        *,
        family: str,
        plan: Mapping[str, Any],
        backend: str = "cpu",
        workers: int | str = "auto",
        address: str | None = None,
        cluster: ClusterSettings | None = None,
        time_limit_s: float = 1800.0,
        dashboard: bool = True,
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
                two batches at a time.
            workers: Local processes, or `auto`: one a core, or one a device.
            address: `tls://host:port` of a running scheduler; local workers when None.
            cluster: Where, in place of `workers` and `address`.
            time_limit_s: How long one antenna may take, first compilation included. Each other antenna of its batch
                adds as much, or, once some are solved, ten times what the slowest took. `math.inf` for no limit.
            dashboard: Whether local workers come with Dask's dashboard (on loopback).
            connect_timeout_s: How long a scheduler may take to answer.
            worker_timeout_s: How long to wait for a worker, at the start and whenever all are gone.

        Raises:
            ConfigurationError: Others could come in, or listen, and nothing prevents it.
            ClusterError: No scheduler, no worker, or fewer devices than workers.
            DeviceError: No device, or too little memory on it for one antenna.
            Unsuitable: The device cannot step these antennas.
        """
        where = cluster or ClusterSettings(
            kind="local" if address is None else "address", workers=workers, address=address
        )
        self._mixed, self._backend = where.mixed, backend
        self._task: Task = (evaluate, family, dict(plan), AS_THE_WORKER if where.mixed else backend)
        self._plan: Mapping[str, Any] = self._task[2]
        self._time_limit_s = time_limit_s
        self._waiting = Queue()
        self._reception = Reception(self._waiting, time_limit_s, self._tell)
        self._looked = self._workers_checked = time.monotonic()
        self._patience_s = worker_timeout_s
        self._rebuilt = 0
        self._streams = where.threads or BATCHES_AT_A_TIME
        self._policy = Policy(name=where.dispatch, target_s=where.target_time)
        self._open = opener(
            where,
            backend=backend,
            dashboard=dashboard,
            connect_timeout_s=connect_timeout_s,
            worker_timeout_s=worker_timeout_s,
        )
        self._connect()

    def _connect(self) -> None:
        """Start the workers, or connect to them, and begin to watch them."""
        self._cluster: Any = self._open()
        self._client: Any = self._cluster.client
        self.dashboard_link: str | None = self._cluster.dashboard_link
        self._flights = Flights(self._client, Coroner(self._client, here=self._cluster.here))
        cluster = self._cluster
        self._presence = Presence(
            self._client, where=cluster.where, patience_s=self._patience_s, ended=lambda: cluster.scheduler_is_gone
        )
        try:
            self._crew = self._muster()
        except BaseException:
            self._cluster.close()
            raise

    def _muster(self) -> Crew:
        """Learn who is there and what each takes."""
        plan, backend = self._task[2], self._backend
        kinds = None
        threads = threads_of(self._client)
        if backend == "cuda" or self._mixed:
            threads = self._cluster.workers()
            patience = self._patience_s + GRACE_S
            if self._mixed:
                kinds = ask_kinds(self._client, threads, plan, patience)
                self.device = one_for_all([kind for kind in kinds.values() if kind["backend"] == "cuda"])
            else:
                self.device = ask_devices(self._client, threads, plan, patience)
        return Crew(
            self._client,
            self._cluster.accepted(threads),
            policy=self._policy,
            backend=backend,
            device=self.device,
            kinds=kinds,
            plan=plan,
            streams=self._streams,
        )

    @property
    def worker_count(self) -> int:
        """How many batches are stepped at a time: one a core, or one a device."""
        return self._cluster.worker_count if self._cluster.here else max(self._crew.worker_count, 1)

    @property
    def backends(self) -> tuple[str, ...]:
        """What the workers solve with; more than one on mixed hardware."""
        return self._crew.backends

    @property
    def places(self) -> int:
        """How many batches may be under way."""
        return self._crew.places

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Ask every worker the same, a module-level function, and return the answers of those that could.

        Answers are empty where one of them did not, within the time that a worker may take to start.
        """
        with suppress(*NO_ANSWER):
            return ask_each(self._client, self._cluster.workers(), self._patience_s, question, *arguments)
        return []

    def cut(self, jobs: Sequence[Job], batch_size: int | str = "auto") -> list[list[Job]]:
        """Cut a generation into batches for this farm; see `antennaopt.farm.batches`."""
        self._crew.prepare(len(jobs), batch_size)
        if not self._crew.alike:
            return [list(jobs)]
        if self.device is None:
            return cut(jobs, self.worker_count, batch_size)
        wave, most = self.device["wave"], batch_room(self.device["antennas"], self._streams)
        at_once = self.device.get("at_once")
        return cut_into_waves(jobs, self.worker_count, batch_size, wave=wave, most=most, at_once=at_once)

    def solve_alone(self, design: Mapping[str, float], plan: Mapping[str, Any], **options: Any) -> Outcome:
        """Solve one antenna in a worker with further options of `evaluate`; arrays come back as they are.

        Raises:
            ClusterError: The worker died, or took too long.
            Exception: What `evaluate` raised.
        """
        evaluate, family, _, backend = self._task
        limit = None if math.isinf(self._time_limit_s) else self._time_limit_s + GRACE_S
        left = SOLO_ATTEMPTS["lost"]
        while True:
            future = self._client.submit(
                solve_alone_on_worker, self._time_limit_s, evaluate, family, dict(design), dict(plan),
                {"backend": backend, **options}, pure=False, retries=0,
            )  # fmt: skip
            try:
                return dict(future.result(timeout=limit))
            except (KilledWorker, TimeoutError, CancelledError, FutureCancelledError) as problem:
                left -= 1
                if not left or isinstance(problem, TimeoutError):
                    raise ClusterError(f"an antenna could not be solved again: {type(problem).__name__}") from problem
            self._require_scheduler()

    def run(
        self, batches: Iterable[Sequence[Job]], *, plan: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[str, Outcome]]:
        """Send batches off, then yield each individual's outcome once, in order of completion.

        Args:
            batches: Lists of (key, design); keys are unique. The first are on their way when this returns.
            plan: On which grid, JSON-able; the farm's own when None.

        Returns:
            Iterator of key and outcome: `evaluate`'s dictionary with `worker`, `device`, `attempt` and `batch_seconds`
            added; or status `error` (with the traceback as `error`), `timeout` or `lost` when the attempts are used
            up. After `drain` fewer come than were asked for.

        Raises:
            ClusterError: The scheduler is gone, or no worker has been there for too long.
        """
        self._reception.draining = False
        self._reception.begin()
        self._plan = self._task[2] if plan is None else dict(plan)
        self.submit(batches)
        self._cluster.want(len(self._waiting))
        self._launch()
        if self._flights:
            time.sleep(HEAD_START_S)
        return self.completed()

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
                if not self._flights and not self._waiting:
                    return
                yield from self._next()
        finally:
            self._abandon()

    def drain(self) -> None:
        """Hand out no more batches; those under way still come back. Only sets a flag: safe in a signal handler."""
        self._reception.draining = True

    def show(self, event: Mapping[str, Any]) -> None:
        """Tell an event of the study to those who watch the scheduler's dashboard; waits for nothing."""
        show(self._client, TOPIC, event)

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
        """Give every worker as many batches as it takes at a time: one, or two of a device.

        Not one more: it would queue behind another, and be blamed for the death of a worker that had not even begun
        it. While any is suspect a worker has one, so that none is blamed for another.
        """
        if self._reception.draining:
            self._waiting.clear()
        if self._waiting:
            self._require_scheduler()
        while self._waiting:
            suspect = self._waiting.is_suspect or self._flights.any_suspect
            found = self._crew.next(self._waiting.antennas, one_each=suspect, nothing_under_way=not self._flights)
            if found is None:
                return
            hand, share = found
            batch = self._waiting.next(share)
            self._crew.sent(hand.address, len(batch.jobs))
            self._flights.send(batch, self._task, self._plan, self._reception.limit_s(batch), to=hand.address)

    def _next(self) -> Iterator[tuple[str, Outcome]]:
        """Wait for one batch, a tick at most, and now and then look after the others."""
        landed = self._flights.landed(TICK_S)
        if landed is not None:
            self._note_landed(*landed)
            yield from self._reception.landed(*landed)
            if is_forgotten(landed[2]):
                self._require_scheduler()
            elif landed[1] is not None:
                self._presence.solved()
                self._rebuilt = 0
        now = time.monotonic()
        if now - self._looked >= TICK_S:
            self._flights.excuse(max(now - self._looked - 2.0 * TICK_S, 0.0))
            self._looked = now
            self._flights.read_starts()
            yield from self._give_up_overdue()
            self._waiting.put_back(self._flights.stranded(self._crew.hands))
            if self._crew.worker_count < self._cluster.worker_count or self._crew.is_asking:
                self._refresh_workers()
        if now - self._workers_checked >= WORKERS_CHECK_S:
            self._workers_checked = now
            self._require_scheduler()
            self._refresh_workers()
            for done, worker in self._cluster.mend():
                self._tell(done, worker=worker)

    def _note_landed(self, flight: Flight, reply: Mapping[str, Any] | None, problem: BaseException | None) -> None:
        """Tell the crew who is free, how fast it was, and who is gone."""
        solved = sum(1 for outcome in (reply or {}).get("outcomes", ()) if outcome.get("steps"))
        self._crew.landed(flight.to, len(flight.batch.jobs), solved, float((reply or {}).get("seconds", 0.0)))
        if isinstance(problem, KilledWorker) or (reply or {}).get("broken"):
            self._crew.lost(flight.to)

    def _give_up_overdue(self) -> Iterator[tuple[str, Outcome]]:
        """Kill the worker of a batch that its own watchdog should have ended: a stopped process has no watchdog."""
        for token, flight in self._flights.overdue(GRACE_S):
            worker = flight.worker or self._flights.worker_of(token)
            flight.expired, flight.started, flight.submitted = True, None, time.monotonic()
            if worker is None or not self._cluster.kill_worker(worker):
                self._flights.give_up(token)
                self._reception.contest(flight.batch)
                yield from self._reception.failed(flight.batch, *failure(None, flight))

    def _refresh_workers(self) -> None:
        """Query the workers; where our own scheduler ends meanwhile, those of the one that takes its place."""
        try:
            threads = self._presence.workers()
        except ClusterError:
            if not self._cluster.scheduler_is_gone:
                raise
            self._require_scheduler()
            threads = self._presence.workers()
        self._crew.refresh(self._cluster.accepted(threads))

    def _require_scheduler(self) -> None:
        """Wait for a lost scheduler; in place of our own one that has ended, start another and send all again."""
        try:
            self._presence.require_scheduler()
            return
        except ClusterError:
            if not self._cluster.scheduler_is_gone:
                raise
        self._rebuilt += 1
        if self._rebuilt > MOST_REBUILDS:
            raise ClusterError(
                f"the scheduler on this machine ended {self._rebuilt} times before a batch was solved; "
                "what was solved is saved: resume"
            )
        batches = self._flights.give_all_up()
        self._cluster.close()
        self._connect()
        self._waiting.put_back(batches)
        self._tell("scheduler_rebuilt", batches=len(batches), times=self._rebuilt)

    def _tell(self, event: str, **details: Any) -> None:
        if self.on_event is not None:
            self.on_event(event, **details)

    def _abandon(self) -> None:
        self._waiting.clear()
        self._flights.give_all_up()
        self._crew.all_landed()
