"""A farm on a clock of its own: every antenna is solved in this process, and takes as long as its worker needs for it.

What a search finds with a number of workers, how long they wait for each other, and what a dispatch policy makes of
devices and cores, comes out the same on every machine. Sending, breeding and storing cost nothing on this clock.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from antennaopt.farm import PoolFarm
from antennaopt.farm.batches import Batch
from antennaopt.farm.interface import Assignment, Pool, Result, Worker
from antennaopt.farm.task import pack_outcomes
from antennaopt.solve.outcome import CUTS, Outcome

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

Solve = Callable[[Mapping[str, float]], Outcome]

Duration = Callable[[str, Sequence[Outcome]], float]
"""How long a worker, by its address, takes for the outcomes of a batch."""


class Solved:
    """Solves designs, each once, and keeps their outcomes."""

    def __init__(self, experiment: Experiment, plan: Mapping[str, Any], backend: str, evaluate: Any) -> None:
        self._about = (evaluate, experiment.family, dict(plan), backend)
        self._known: dict[bytes, Outcome] = {}

    def __call__(self, design: Mapping[str, float]) -> Outcome:
        """Return a design's outcome."""
        key = struct.pack(f"<{len(design)}d", *design.values())
        if key not in self._known:
            evaluate, family, plan, backend = self._about
            outcome = evaluate(family, [dict(design)], plan, backend=backend)[0]
            self._known[key] = Outcome.of(outcome).without(*CUTS)
        return self._known[key]


class TimedPool(Pool):
    """Workers that solve one batch after the other, on a clock that stands still in between.

    Attributes:
        now: Time on that clock.
        solving: Summed over the workers, time that they solved.
        dealt: Number of antennas in each batch, by worker.
    """

    def __init__(self, solve: Solve, workers: Mapping[str, Worker], duration: Duration, *, timed: bool = True) -> None:
        """Start at time 0 with all workers free.

        Args:
            solve: Returns a design's outcome.
            workers: By address.
            duration: How long a batch takes.
            timed: Whether replies hold the time of a batch, so that speeds are measured.
        """
        self.now = 0.0
        self.solving = 0.0
        self.dealt: dict[str, list[int]] = {address: [] for address in workers}
        self._solve, self._workers, self._duration, self._timed = solve, dict(workers), duration, timed
        self._free_at = dict.fromkeys(workers, 0.0)
        self._in_flight: list[tuple[float, int, Result]] = []
        self._sent = 0

    def workers(self) -> Mapping[str, Worker]:  # noqa: D102
        return self._workers

    def submit(self, assignments: Sequence[Assignment], plan: Mapping[str, Any]) -> None:  # noqa: D102
        for one in assignments:
            outcomes = [self._solve(design) for _, design in one.batch.jobs]
            duration = self._duration(one.address, outcomes)
            begin = max(self._free_at[one.address], self.now)  # a device steps its second batch after the first
            self._free_at[one.address] = begin + duration
            self.solving += duration
            self.dealt[one.address].append(len(outcomes))
            seconds = begin + duration - self.now if self._timed else 0.0
            reply = {**pack_outcomes(outcomes), "seconds": seconds, "worker": one.address}
            self._sent += 1
            result = Result(batch=one.batch, address=one.address, reply=reply)
            heapq.heappush(self._in_flight, (begin + duration, self._sent, result))

    def results(self, timeout_s: float) -> list[Result]:  # noqa: D102
        if not self._in_flight:
            return []
        self.now, _, result = heapq.heappop(self._in_flight)
        return [result]

    def cancel(self, batches: Iterable[Batch]) -> None:  # noqa: D102
        gone = {id(one) for one in batches}
        self._in_flight = [one for one in self._in_flight if id(one[2].batch) not in gone]
        heapq.heapify(self._in_flight)

    def ask(self, question: Callable[..., Any], *arguments: Any, limit_s: float | None = None) -> list[Any]:  # noqa: D102
        return [question(*arguments)]


class TimedFarm(PoolFarm):
    """Workers alike that solve a batch each at a time; the clock counts steps of one antenna."""

    def __init__(self, solve: Solve, workers: int) -> None:
        """Start at time 0 with all workers free.

        Args:
            solve: Returns a design's outcome, with its `steps`.
            workers: How many there are.
        """
        there = {f"{place:06d}": Worker() for place in range(workers)}
        super().__init__(TimedPool(solve, there, _steps, timed=False), (_no_evaluation, "", "cpu"), {})
        self._solve = solve

    @property
    def now(self) -> float:
        """Time on the clock, in steps of one antenna."""
        return self.pool.now

    @property
    def utilisation(self) -> float:
        """Share of the workers' time that they solved."""
        return self.pool.solving / (self.now * self.worker_count) if self.now else 0.0

    def solve_alone(self, design: Mapping[str, float], plan: Mapping[str, Any], **options: Any) -> Outcome:
        """Return one antenna's outcome."""
        return self._solve(design)


def _steps(address: str, outcomes: Sequence[Outcome]) -> float:
    return float(sum(outcome.steps or 1 for outcome in outcomes))


def _no_evaluation(*_: Any, **__: Any) -> Sequence[Outcome]:
    raise AssertionError("outcomes are made in this process")
