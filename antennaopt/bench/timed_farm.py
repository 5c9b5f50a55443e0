"""A farm of any number of workers on a clock of its own: every antenna is solved here, and takes as long as its steps.

What a search finds with so many workers, and how long they wait for each other, comes out the same on every machine.
Sending, breeding and storing cost nothing on this clock.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from antennaopt.farm.batches import Queue, cut
from antennaopt.run.interfaces import Job, Outcome

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

Solve = Callable[[Mapping[str, float]], Outcome]


class Solved:
    """Solves designs, each once, and remembers what came of them."""

    def __init__(self, experiment: Experiment, plan: Mapping[str, Any], backend: str, evaluate: Any) -> None:
        self._about = (evaluate, experiment.family, dict(plan), backend)
        self._known: dict[bytes, Outcome] = {}

    def __call__(self, design: Mapping[str, float]) -> Outcome:
        """Return a design's outcome."""
        key = struct.pack(f"<{len(design)}d", *design.values())
        if key not in self._known:
            evaluate, family, plan, backend = self._about
            outcome = evaluate(family, [dict(design)], plan, backend=backend)[0]
            self._known[key] = {name: value for name, value in outcome.items() if name not in NOT_NEEDED}
        return dict(self._known[key])


NOT_NEEDED = ("theta_deg", "e_plane_dbi", "h_plane_dbi")


class TimedFarm:
    """Workers that solve a batch each at a time, on a clock that stands still in between.

    Attributes:
        now: Time on that clock, in steps of one antenna.
        solving: Summed over the workers, time that they solved.
    """

    device = None
    on_event: Callable[..., None] | None = None

    def __init__(self, solve: Solve, workers: int) -> None:
        """Start at time 0 with all workers free.

        Args:
            solve: Returns a design's outcome, with its `steps`.
            workers: How many there are.
        """
        self.now = 0.0
        self.solving = 0.0
        self.worker_count = self.places = workers
        self._solve = solve
        self._waiting = Queue()
        self._under_way: list[tuple[float, int, tuple[Job, ...], list[Outcome]]] = []
        self._started = 0
        self._draining = False

    @property
    def utilisation(self) -> float:
        """Share of the workers' time that they solved."""
        return self.solving / (self.now * self.worker_count) if self.now else 0.0

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Ask the one process that there is."""
        return [question(*arguments)]

    def cut(self, jobs: Sequence[Job], batch_size: int | str = "auto") -> list[list[Job]]:
        """Cut a generation into batches, as for workers without devices."""
        return cut(jobs, self.worker_count, batch_size)

    def run(
        self, batches: Iterable[Sequence[Job]], *, plan: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[str, Outcome]]:
        """Set to work, then yield each outcome when its batch is done."""
        self._draining = False
        self.submit(batches)
        return self._completed()

    def submit(self, batches: Iterable[Sequence[Job]]) -> None:
        """Add batches while outcomes are being read."""
        self._waiting.add(batches)

    def solve_alone(self, design: Mapping[str, float], plan: Mapping[str, Any], **options: Any) -> Outcome:
        """Return one antenna's outcome."""
        return self._solve(design)

    def drain(self) -> None:
        """Begin no more batches."""
        self._draining = True

    def _completed(self) -> Iterator[tuple[str, Outcome]]:
        while True:
            while self._waiting and not self._draining and len(self._under_way) < self.worker_count:
                self._begin(self._waiting.next().jobs)
            if not self._under_way:
                self._waiting.clear()
                return
            self.now, _, jobs, outcomes = heapq.heappop(self._under_way)
            yield from zip((name for name, _ in jobs), outcomes, strict=True)

    def _begin(self, jobs: tuple[Job, ...]) -> None:
        outcomes = [self._solve(design) for _, design in jobs]
        duration = float(sum(outcome.get("steps") or 1 for outcome in outcomes))
        self.solving += duration
        self._started += 1
        heapq.heappush(self._under_way, (self.now + duration, self._started, jobs, outcomes))
