"""Events of a run's progress: for its log, the dashboard and the dashboard's metrics."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from antennaopt.run.progress import LOG_EVERY_S, GenerationReport, Progress
from antennaopt.solve.outcome import Outcome

SHOW_EVERY_S = 1.0


class EventPublisher(Progress):
    """Passes progress on to a display, and makes events for log and dashboard at intervals."""

    def __init__(
        self,
        progress: Progress,
        *,
        log: Callable[..., None],
        show: Callable[[Mapping[str, Any]], None] | None = None,
        about: Callable[[str, Mapping[str, float], Outcome], Mapping[str, Any]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Pass a driver's events on to the progress display and the run's log.

        Args:
            progress: Shows events to the user.
            log: Adds an event to the run's log.
            show: Shows an event on the dashboard.
            about: Makes the event of a new best antenna.
            clock: Seconds.
        """
        self._inner, self._log, self._show, self._about, self._clock = progress, log, show, about, clock
        self._generation, self._to_solve, self._solved = 0, 0, 0
        self._began = self._logged = self._shown = clock()
        self._counts: Counter[str] = Counter()
        self._busy: dict[str, float] = {}
        self._devices: dict[str, str] = {}
        self._certified, self._to_certify = 0, 0
        self._best: tuple[str, Mapping[str, float], Outcome] | None = None
        self._best_shown = -math.inf
        self._publish({"event": "begins"})

    def note(self, text: str) -> None:
        """Pass the line on."""
        self._inner.note(text)

    def generation_started(self, generation: int, to_solve: int) -> None:
        """Count from nothing."""
        self._inner.generation_started(generation, to_solve)
        self._generation, self._to_solve, self._solved = generation, to_solve, 0
        self._counts, self._busy = Counter(), {}
        self._began = self._logged = self._shown = self._clock()
        self._tell(log=False)

    def samples_started(self, to_solve: int) -> None:
        """Add copies to the generation under way."""
        self._inner.samples_started(to_solve)
        self._to_solve += to_solve
        self._tell(log=False)

    def evaluated(self, outcome: Outcome | None = None) -> None:
        """Count an antenna by its status, and its time to the worker that solved it."""
        self._inner.evaluated(outcome)
        self._count([] if outcome is None else [outcome], 1)

    def evaluated_together(self, outcomes: Sequence[Outcome]) -> None:
        """Count the outcomes of one reply by status, and their times to its worker."""
        self._inner.evaluated_together(outcomes)
        self._count(outcomes, len(outcomes))

    def _count(self, outcomes: Sequence[Outcome], solved: int) -> None:
        self._solved += solved
        self._counts.update([one.status for one in outcomes])
        busy = self._busy
        for one in outcomes:
            worker = one.worker or ""
            busy[worker] = busy.get(worker, 0.0) + (one.stepping_seconds or one.seconds or 0.0)
        self._devices |= {one.worker or "": one.device or "" for one in outcomes}
        now = self._clock()
        if now - self._shown >= SHOW_EVERY_S:
            self._tell(log=now - self._logged >= LOG_EVERY_S)

    def generation_done(self, report: GenerationReport) -> None:
        """Close the generation on display and dashboard."""
        self._inner.generation_done(report)
        self._tell(log=True)
        self._publish({"event": "generation", **asdict(report)})

    def best_found(self, individual: str, values: Mapping[str, float], outcome: Outcome) -> None:
        """Show it on the dashboard; of several within `SHOW_EVERY_S` the first and the last."""
        self._inner.best_found(individual, values, outcome)
        if self._show is not None and self._about is not None and outcome.ok:
            self._best = individual, values, outcome
            self._show_best(SHOW_EVERY_S)

    def certification_started(self, to_solve: int) -> None:
        """Count from nothing."""
        self._show_best()
        self._inner.certification_started(to_solve)
        self._certified, self._to_certify = 0, to_solve
        self._tell_certified()

    def certified(self, individual: str, *, trusted: bool) -> None:
        """Count an antenna."""
        self._inner.certified(individual, trusted=trusted)
        self._certified += 1
        self._tell_certified()

    def sampling_started(self, to_solve: int) -> None:  # noqa: D102
        self._inner.sampling_started(to_solve)

    def sampled(self, outcome: Outcome, *, done: int, met: int) -> None:  # noqa: D102
        self._inner.sampled(outcome, done=done, met=met)

    def close(self) -> None:
        """Show the last best antenna, and pass it on."""
        self._show_best()
        self._inner.close()

    def _show_best(self, after_s: float = 0.0) -> None:
        """Show a new best antenna that was not shown yet, some time after the last one."""
        now = self._clock()
        if self._best is not None and self._about is not None and now - self._best_shown >= after_s:
            best, self._best, self._best_shown = self._best, None, now
            self._publish(self._about(*best))

    def _tell(self, *, log: bool) -> None:
        now = self._clock()
        event = {
            "generation": self._generation,
            "to_solve": self._to_solve,
            "solved": self._solved,
            "seconds": round(now - self._began, 3),
            "counts": dict(self._counts),
            "busy": {worker: round(seconds, 3) for worker, seconds in self._busy.items()},
            "devices": dict(self._devices),
        }
        self._shown = now
        self._publish({"event": "progress", **event})
        self._show_best(SHOW_EVERY_S)
        if log:
            self._logged = now
            self._log("progress", **event)

    def _tell_certified(self) -> None:
        event = {"certified": self._certified, "to_certify": self._to_certify}
        self._log("certifying", **event)
        self._publish({"event": "certifying", **event})

    def _publish(self, event: Mapping[str, Any]) -> None:
        if self._show is not None:
            self._show(event)
