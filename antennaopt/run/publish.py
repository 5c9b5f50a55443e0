"""What others may watch of a study while it runs: the log, and through the farm its dashboard and metrics."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from antennaopt.run.progress import GenerationReport, Progress

LOG_EVERY_S = 5.0
SHOW_EVERY_S = 1.0


class EventPublisher:
    """Passes on what the driver tells of its progress, and makes events of it now and then."""

    def __init__(
        self,
        progress: Progress,
        *,
        log: Callable[..., None],
        show: Callable[[Mapping[str, Any]], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Stand between a driver and whoever tells people.

        Args:
            progress: Tells people.
            log: Adds an event to the run's log.
            show: Shows an event to those who watch the farm.
            clock: Seconds.
        """
        self._inner, self._log, self._show, self._clock = progress, log, show, clock
        self._generation, self._to_solve, self._solved = 0, 0, 0
        self._began = self._logged = self._shown = clock()
        self._counts: Counter[str] = Counter()
        self._busy: dict[str, float] = {}
        self._devices: dict[str, str] = {}
        self._certified, self._to_certify = 0, 0
        self._publish({"event": "begins"})

    def note(self, text: str) -> None:
        """Pass it on."""
        self._inner.note(text)

    def generation_started(self, generation: int, to_solve: int) -> None:
        """Count from nothing."""
        self._inner.generation_started(generation, to_solve)
        self._generation, self._to_solve, self._solved = generation, to_solve, 0
        self._counts, self._busy = Counter(), {}
        self._began = self._logged = self._shown = self._clock()
        self._tell(log=False)

    def evaluated(self, outcome: Mapping[str, Any] | None = None) -> None:
        """Count an antenna by its status, and its time to the worker that solved it."""
        self._inner.evaluated(outcome)
        self._solved += 1
        if outcome is not None:
            self._counts[str(outcome.get("status"))] += 1
            worker = str(outcome.get("worker", ""))
            spent = float(outcome.get("stepping_seconds") or outcome.get("seconds") or 0.0)
            self._busy[worker] = self._busy.get(worker, 0.0) + spent
            self._devices[worker] = str(outcome.get("device", ""))
        now = self._clock()
        if now - self._shown >= SHOW_EVERY_S:
            self._tell(log=now - self._logged >= LOG_EVERY_S)

    def generation_done(self, report: GenerationReport) -> None:
        """Close the generation for all who watch."""
        self._inner.generation_done(report)
        self._tell(log=True)
        self._publish({"event": "generation", **asdict(report)})

    def certification_started(self, to_solve: int) -> None:
        """Count from nothing."""
        self._inner.certification_started(to_solve)
        self._certified, self._to_certify = 0, to_solve
        self._tell_certified()

    def certified(self, individual: str, *, trusted: bool) -> None:
        """Count an antenna."""
        self._inner.certified(individual, trusted=trusted)
        self._certified += 1
        self._tell_certified()

    def close(self) -> None:
        """Pass it on."""
        self._inner.close()

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
