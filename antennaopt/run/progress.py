"""Progress of a run: a bar or lines on the terminal, the log, the dashboard and its metrics."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from antennaopt.quantities import duration
from antennaopt.solve.outcome import Outcome
from antennaopt.terminal import drawn, visible

LOG_EVERY_S = 5.0
SHOW_EVERY_S = 1.0


@dataclass(frozen=True, kw_only=True)
class GenerationReport:
    """One generation in numbers.

    Attributes:
        generation: Which, from 0.
        generations: How many at most.
        best: Best fitness so far; None while nothing was `ok`.
        individual: Who has it.
        median: Median fitness of this generation's newcomers that were `ok`.
        solved: Antennas solved in this generation.
        cached: Antennas copied from duplicates in this generation.
        reused: Antennas in this generation that the evaluation cache, or equal cells, spared the solver.
        failed: Newcomers that were not `ok`.
        evaluations: Antennas solved so far, in all.
        evaluations_per_s: Solved in this generation over its wall time.
        seconds_left: Until the last generation at the mean pace of the last five, or None.
        seconds: Wall time of this generation.
        hypervolume: Of the front, where the search is for one.
        level: Of the cells, for people, where there are several.
        samples: Made copies solved in this generation, in a search with samples.
    """

    generation: int
    generations: int
    best: float | None
    individual: str | None
    median: float | None
    solved: int
    cached: int
    failed: int
    evaluations: int
    evaluations_per_s: float
    seconds_left: float | None
    seconds: float
    reused: int = 0
    hypervolume: float | None = None
    level: str | None = None
    samples: int = 0

    def line(self) -> str:
        """Return the report as one line of text."""
        came_to = [
            f"best {number(self.best)}" + (f" ({self.individual})" if self.individual else ""),
            f"median {number(self.median)}",
        ]
        parts = [
            f"generation {self.generation + 1}/{self.generations}" + (f" ({self.level})" if self.level else ""),
            *(came_to if self.hypervolume is None else [f"hypervolume {self.hypervolume:.5g}"]),
            f"{self.evaluations} evaluations",
            f"{self.evaluations_per_s:.3g}/s",
        ]
        if self.samples:
            parts.append(f"{self.samples} samples")
        if self.cached:
            parts.append(f"{self.cached} copied")
        if self.reused:
            parts.append(f"{self.reused} from the cache")
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.seconds_left is not None:
            parts.append(f"{duration(self.seconds_left)} left")
        return "  ".join(parts)


class Progress:
    """What the driver tells while it works; this one keeps silent.

    Attributes:
        folder: The run's, once there is one, which `resume` goes on with.
    """

    folder: Path | None = None

    def note(self, text: str) -> None:
        """Say one line: the dashboard's link, the reason of a stop."""

    def generation_started(self, generation: int, to_solve: int) -> None:
        """Begin a generation with `to_solve` antennas."""

    def evaluated(self, outcome: Outcome | None = None) -> None:
        """Count one antenna as solved, with its outcome."""

    def evaluated_together(self, outcomes: Sequence[Outcome]) -> None:
        """Count the outcomes of one reply."""
        for one in outcomes:
            self.evaluated(one)

    def samples_started(self, to_solve: int) -> None:
        """Send `to_solve` made copies more of the generation's candidates."""

    def generation_done(self, report: GenerationReport) -> None:
        """Close a generation."""

    def best_found(self, individual: str, values: Mapping[str, float], outcome: Outcome) -> None:
        """Take note of an antenna that is better than all before."""

    def certification_started(self, to_solve: int) -> None:
        """Begin to certify `to_solve` antennas."""

    def certified(self, individual: str, *, trusted: bool) -> None:
        """Count one antenna as certified."""

    def sampling_started(self, to_solve: int) -> None:
        """Begin to solve `to_solve` made antennas of a design."""

    def sampled(self, outcome: Outcome, *, done: int, met: int) -> None:
        """Count a made antenna; `met` of the `done` so far meet all goals."""

    def close(self) -> None:
        """Put the terminal back in order."""


class Lines(Progress):
    """One line a generation; for logs and pipes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._certified, self._to_certify = 0, 0
        self._to_sample, self._sampled = 0, time.monotonic()

    def note(self, text: str) -> None:
        """Print the line."""
        print(text, file=self._stream, flush=True)

    def generation_done(self, report: GenerationReport) -> None:
        """Print the generation's line."""
        self.note(report.line())

    def certification_started(self, to_solve: int) -> None:
        """Count from nothing."""
        self._certified, self._to_certify = 0, to_solve

    def certified(self, individual: str, *, trusted: bool) -> None:
        """Print the antenna's line."""
        self._certified += 1
        verdict = "trusted" if trusted else "doubtful"
        self.note(f"certificate {self._certified}/{self._to_certify}  {individual} {verdict}")

    def sampling_started(self, to_solve: int) -> None:
        """Count from nothing."""
        self._to_sample, self._sampled = to_solve, time.monotonic()

    def sampled(self, outcome: Outcome, *, done: int, met: int) -> None:
        """Print a line now and then, and at the end."""
        now = time.monotonic()
        if done == self._to_sample or now - self._sampled >= LOG_EVERY_S:
            self._sampled = now
            self.note(f"antennas {done}/{self._to_sample}  {met} meet all goals")


class Bar(Progress):
    """A bar for the generation or the certificates under way, and the line of each generation done above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(file=drawn(sys.stderr), highlight=False),
            transient=True,
        )
        self._task: Any = None
        self._total = 0

    def note(self, text: str) -> None:
        """Print the line above the bar."""
        self._bar.console.print(visible(text), markup=False)

    def generation_started(self, generation: int, to_solve: int) -> None:
        """Start the bar anew."""
        self._begin(f"generation {generation + 1}", to_solve)

    def samples_started(self, to_solve: int) -> None:
        """Make the bar longer: copies are solved along with candidates."""
        self._total += to_solve
        if self._task is not None:
            self._bar.update(self._task, total=self._total)

    def evaluated(self, outcome: Outcome | None = None) -> None:
        """Move the bar."""
        self._advance(1)

    def evaluated_together(self, outcomes: Sequence[Outcome]) -> None:
        """Move the bar once: a move takes as long as all else that is done for an antenna when it has come."""
        self._advance(len(outcomes))

    def _advance(self, antennas: int) -> None:
        if self._task is not None:
            self._bar.advance(self._task, antennas)

    def generation_done(self, report: GenerationReport) -> None:
        """Print the generation's line above the bar."""
        self.note(report.line())

    def certification_started(self, to_solve: int) -> None:
        """Start the bar anew."""
        self._begin("certificates", to_solve)

    def certified(self, individual: str, *, trusted: bool) -> None:
        """Move the bar."""
        self.evaluated()

    def sampling_started(self, to_solve: int) -> None:
        """Start the bar again."""
        self._begin("made antennas", to_solve)

    def sampled(self, outcome: Outcome, *, done: int, met: int) -> None:
        """Move the bar."""
        self.evaluated()

    def close(self) -> None:
        """Take the bar away."""
        self._bar.stop()

    def _begin(self, text: str, total: int) -> None:
        self._bar.start()
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task, self._total = self._bar.add_task(text, total=max(total, 1)), total


def for_terminal(*, quiet: bool = False) -> Progress:
    """Choose by where stderr goes: a bar on a terminal, lines elsewhere, nothing when quiet."""
    if quiet:
        return Progress()
    return Bar() if sys.stderr.isatty() else Lines()


def device_line(device: Mapping[str, Any]) -> str:
    """Say what solves, from what a farm knows of its devices."""
    shared = device.get("shared_by", 1)
    return (
        f"device {device['count']} x {device['device']}{f', {shared} processes each' if shared > 1 else ''}; scheme "
        f"{device['scheme']} ({device['reason']}), at most {device['antennas']} antennas a batch"
    )


def number(value: float | None) -> str:
    """Write a fitness for people."""
    return "none" if value is None else f"{value:.4g}"


class EventPublisher(Progress):
    """Passes on what the driver tells of its progress, and makes events of it now and then."""

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
            show: Shows an event to those who watch the farm.
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
        """Pass it on."""
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
        """Close the generation for all who watch."""
        self._inner.generation_done(report)
        self._tell(log=True)
        self._publish({"event": "generation", **asdict(report)})

    def best_found(self, individual: str, values: Mapping[str, float], outcome: Outcome) -> None:
        """Show it to those who watch; of several within `SHOW_EVERY_S` the first and the last."""
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
