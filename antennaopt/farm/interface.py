"""The two interfaces of the farm: between run and farm, and between farm and worker pool.

A farm turns batches into one outcome an individual: it retries, cuts and dispatches. A pool moves batches to workers
and back, and reports how each attempt ended. `antennaopt.farm.farm` is the farm on any pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from antennaopt.farm.batches import Batch, Job
from antennaopt.solve.outcome import Outcome

OnEvent = Callable[..., None]
"""Callback for failures and what was done about them: `on_event(event, **details)`, details JSON-able."""

Known = Callable[[], bytes]
"""Returns the cells that are known now, see `antennaopt.solve.recognition.beginnings`."""

More = Callable[[int], Sequence[Sequence[Job]]]
"""Returns batches that can be solved from now on, if possible a multiple of a number of antennas; none where there are
no more for the moment. A farm calls it whenever it has a free place and nothing waits."""

FailureKind = Literal["error", "timeout", "lost", "killed", "returned"]


class Solving(Protocol):
    """Solves batches: what a search needs of a farm."""

    @property
    def device(self) -> Mapping[str, Any] | None:
        """Capacity of the workers' devices, see `antennaopt.solve.device.capacity`; None without devices."""
        ...

    @property
    def places(self) -> int:
        """Number of batches that may be in flight."""
        ...

    def ahead(self, population: int, batch_size: int | str = "auto") -> int:
        """Return how many antennas of a generation to send before the others are bred; 0 to send all at once."""
        ...

    def cut(self, jobs: Sequence[Job], batch_size: int | str = "auto", sent: int = 0, left: int = 0) -> list[list[Job]]:
        """Cut a generation into batches for this farm; see `antennaopt.farm.batches`.

        Args:
            jobs: All of it, or a part.
            batch_size: Antennas a batch, or `auto`.
            sent: Antennas of the generation that were cut before.
            left: Those that will be cut later.
        """
        ...

    def run(
        self,
        batches: Iterable[Sequence[Job]],
        *,
        plan: Mapping[str, Any] | None = None,
        known: Known | None = None,
        more: More | None = None,
    ) -> Iterator[tuple[str, Outcome]]:
        """Submit batches, then yield each individual's outcome once, in order of completion.

        Args:
            batches: Lists of (key, design); keys are unique. The first are on their way when this returns. All are
                taken before; those of an iterator are sent as they come, where there is a free place.
            plan: Grid and times, JSON-able; the farm's own when None.
            known: Called for every batch that is sent, see `antennaopt.solve.options.SolveOptions.known`; None to
                solve all.
            more: Asked for more batches when there is a free place and nothing waits, until it has none and nothing is
                in flight. A farm may leave it unasked.

        Returns:
            Iterator of key and outcome: `evaluate`'s with `worker`, `device`, `attempt` and `batch_seconds`
            added; or status `error` (with the traceback as `error`), `timeout` or `lost` when the attempts are used
            up. After `drain` fewer come than were submitted.

        Raises:
            ClusterError: The workers are gone, or their scheduler.
        """
        ...

    def submit(self, batches: Iterable[Sequence[Job]]) -> None:
        """Add batches while outcomes are being read."""
        ...

    def drain(self) -> None:
        """Submit no more batches; those in flight still come back. Only sets a flag: safe in a signal handler."""
        ...


class Farm(Solving, Protocol):
    """Workers somewhere that solve batches.

    Attributes:
        on_event: Callback, called in the driver's thread; or None.
    """

    on_event: OnEvent | None

    @property
    def dashboard_link(self) -> str | None:
        """Address of the dashboard for a browser, or None."""
        ...

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends of the workers; more than one on mixed hardware."""
        ...

    @property
    def worker_count(self) -> int:
        """Number of batches that are stepped at a time: one a core, or one a device."""
        ...

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a module-level function in every worker and return the answers; empty if one gives none."""
        ...

    def solve_alone(self, design: Mapping[str, float], plan: Mapping[str, Any], **options: Any) -> Outcome:
        """Solve one antenna in a worker with further options of `evaluate`; arrays come back as they are.

        Raises:
            ClusterError: The worker died, or took too long.
            Exception: What `evaluate` raised.
        """
        ...

    def show(self, event: Mapping[str, Any]) -> None:
        """Publish an event of the study on the dashboard; does not wait."""
        ...


class ForwardingFarm:
    """Something that solves batches in front of a farm, for subclasses that answer part of the work themselves."""

    def __init__(self, farm: Solving) -> None:
        self._farm = farm
        self._batch_size: int | str = "auto"

    @property
    def device(self) -> Mapping[str, Any] | None:  # noqa: D102
        return self._farm.device

    @property
    def places(self) -> int:  # noqa: D102
        return self._farm.places

    def ahead(self, population: int, batch_size: int | str = "auto") -> int:  # noqa: D102
        return self._farm.ahead(population, batch_size)

    def cut(  # noqa: D102
        self, jobs: Sequence[Job], batch_size: int | str = "auto", sent: int = 0, left: int = 0
    ) -> list[list[Job]]:
        self._batch_size = batch_size
        return self._farm.cut(jobs, batch_size, sent, left)

    def drain(self) -> None:  # noqa: D102
        self._farm.drain()


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A worker as its pool describes it.

    Attributes:
        backend: `cpu` or `cuda`.
        threads: Batches that it takes at a time, at most.
        device: Capacity of its device, see `antennaopt.solve.device.capacity`; None for a core.
    """

    backend: str = "cpu"
    threads: int = 1
    device: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """How an attempt failed.

    Attributes:
        kind: `error` (exception), `timeout`, `lost` (the process died of it), `killed` (the process was killed from
            outside) or `returned` (never solved, and not because of the batch: submit it again).
        reason: In words.
        worker: Address of the worker, where it is known.
        alone: False where another batch shared the worker and may be to blame.
        unfinished: A worker may still be solving it: a late result may follow.
    """

    kind: FailureKind
    reason: str = ""
    worker: str | None = None
    alone: bool = True
    unfinished: bool = False


@dataclass(frozen=True, kw_only=True)
class Result:
    """A batch that came back: with a reply or with a failure.

    Attributes:
        batch: As it was submitted.
        address: Worker that it was submitted to.
        reply: What `antennaopt.farm.task.solve_batch` returned, and `worker`, its name.
        failure: In place of a reply.
        late: The batch came back before, as a failure with `unfinished`.
    """

    batch: Batch
    address: str
    reply: Mapping[str, Any] | None = None
    failure: Failure | None = None
    late: bool = False


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """A batch for a worker.

    Attributes:
        batch: To solve.
        address: Of the worker. When that has just gone another one may take it.
        limit_s: How long it may take once started, s.
        known: Cells that need not be solved, see `antennaopt.solve.options.SolveOptions.known`.
    """

    batch: Batch
    address: str
    limit_s: float
    known: bytes | None = None


class WorkerLost(Exception):  # noqa: N818 - not a failure of ours
    """A worker died while it answered, or did not answer in time."""


class Pool(Protocol):
    """Workers behind one interface: takes batches, and gives each back as a reply or a failure.

    Subclasses need no dashboard, no scaling and nothing to close.

    Attributes:
        dashboard_link: Address of the dashboard for a browser, or None.
        on_event: Callback for what happens to workers; or None.
    """

    dashboard_link: str | None = None
    on_event: OnEvent | None = None

    @property
    def expected(self) -> int | None:
        """Number of batches stepped at a time once all workers are there; None where that is not known."""
        return None

    def workers(self) -> Mapping[str, Worker]:
        """Return the workers that may get work, by address, as last heard of; does not wait."""
        ...

    def submit(self, assignments: Sequence[Assignment], plan: Mapping[str, Any]) -> None:
        """Submit batches to workers.

        Raises:
            ClusterError: The workers are gone, or their scheduler.
        """
        ...

    def results(self, timeout_s: float) -> list[Result]:
        """Wait until something comes back, no longer than the timeout; return all that is to be dealt with.

        Raises:
            ClusterError: As for `submit`.
        """
        ...

    def cancel(self, batches: Iterable[Batch]) -> None:
        """Forget batches in flight: no result of them follows."""
        ...

    def ask(self, question: Callable[..., Any], *arguments: Any, limit_s: float | None = None) -> list[Any]:
        """Call a module-level function in every worker; with a time limit in any one of them.

        Raises:
            WorkerLost: A worker died of it or did not answer in time.
            Exception: What the function raised.
        """
        ...

    def scale(self, batches: int) -> None:
        """Announce how many batches wait; pools that start workers as needed do so."""

    def show(self, event: Mapping[str, Any]) -> None:
        """Publish an event on the dashboard, where there is one; does not wait."""

    def close(self) -> None:
        """Stop within seconds, whatever the workers are doing; a second call does nothing."""
