"""Progress of a run: a bar or lines on the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from antennaopt.quantities import duration
from antennaopt.solve.outcome import Outcome
from antennaopt.terminal import drawn, visible

LOG_EVERY_S = 5.0
"""Least seconds between two lines about one generation."""


@dataclass(frozen=True, kw_only=True)
class GenerationReport:
    """One generation in numbers.

    Attributes:
        generation: Which, from 0.
        generations: How many at most.
        best: Best fitness so far; None while nothing was `ok`.
        individual: Id of the individual with it.
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
        level: Of the cells, as text, where there are several.
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
    """Interface for the progress of a driver; this class shows nothing.

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
        """Start the bar again."""
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
        """Start the bar again."""
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
    """Return a line about the devices of a farm."""
    shared = device.get("shared_by", 1)
    return (
        f"device {device['count']} x {device['device']}{f', {shared} processes each' if shared > 1 else ''}; scheme "
        f"{device['scheme']} ({device['reason']}), at most {device['antennas']} antennas a batch"
    )


def number(value: float | None) -> str:
    """Write a fitness as text."""
    return "none" if value is None else f"{value:.4g}"
