"""What a person sees while a run goes on: a bar on a terminal, else one line a generation on stderr."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from antennaopt.terminal import drawn, visible


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
        seconds_left: Until the last generation at this pace, or None.
        seconds: Wall time of this generation.
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

    def line(self) -> str:
        """Return the report as one line of text."""
        parts = [
            f"generation {self.generation + 1}/{self.generations}",
            f"best {number(self.best)}" + (f" ({self.individual})" if self.individual else ""),
            f"median {number(self.median)}",
            f"{self.evaluations} evaluations",
            f"{self.evaluations_per_s:.3g}/s",
        ]
        if self.cached:
            parts.append(f"{self.cached} copied")
        if self.reused:
            parts.append(f"{self.reused} from the cache")
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.seconds_left is not None:
            parts.append(f"{duration(self.seconds_left)} left")
        return "  ".join(parts)


class Progress(Protocol):
    """What the driver tells while it works."""

    def note(self, text: str) -> None:
        """Say one line: the dashboard's link, the reason of a stop."""
        ...

    def generation_started(self, generation: int, to_solve: int) -> None:
        """Begin a generation with so many antennas to solve."""
        ...

    def evaluated(self, outcome: Mapping[str, Any] | None = None) -> None:
        """Count one antenna as solved, with its outcome."""
        ...

    def generation_done(self, report: GenerationReport) -> None:
        """Close a generation."""
        ...

    def certification_started(self, to_solve: int) -> None:
        """Begin to certify so many antennas."""
        ...

    def certified(self, individual: str, *, trusted: bool) -> None:
        """Count one antenna as certified."""
        ...

    def close(self) -> None:
        """Put the terminal back in order."""
        ...


class Quiet:
    """Says nothing."""

    def note(self, text: str) -> None:
        """Keep silent."""

    def generation_started(self, generation: int, to_solve: int) -> None:
        """Keep silent."""

    def evaluated(self, outcome: Mapping[str, Any] | None = None) -> None:
        """Keep silent."""

    def generation_done(self, report: GenerationReport) -> None:
        """Keep silent."""

    def certification_started(self, to_solve: int) -> None:
        """Keep silent."""

    def certified(self, individual: str, *, trusted: bool) -> None:
        """Keep silent."""

    def close(self) -> None:
        """Keep silent."""


class Lines(Quiet):
    """One line a generation; for logs and pipes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._certified, self._to_certify = 0, 0

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


class Bar(Quiet):
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

    def note(self, text: str) -> None:
        """Print the line above the bar."""
        self._bar.console.print(visible(text), markup=False)

    def generation_started(self, generation: int, to_solve: int) -> None:
        """Start the bar anew."""
        self._begin(f"generation {generation + 1}", to_solve)

    def evaluated(self, outcome: Mapping[str, Any] | None = None) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bar.advance(self._task)

    def generation_done(self, report: GenerationReport) -> None:
        """Print the generation's line above the bar."""
        self.note(report.line())

    def certification_started(self, to_solve: int) -> None:
        """Start the bar anew."""
        self._begin("certificates", to_solve)

    def certified(self, individual: str, *, trusted: bool) -> None:
        """Move the bar."""
        self.evaluated()

    def close(self) -> None:
        """Take the bar away."""
        self._bar.stop()

    def _begin(self, text: str, total: int) -> None:
        self._bar.start()
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(text, total=max(total, 1))


def for_terminal(*, quiet: bool = False) -> Progress:
    """Choose by where stderr goes: a bar on a terminal, lines elsewhere, nothing when quiet."""
    if quiet:
        return Quiet()
    return Bar() if sys.stderr.isatty() else Lines()


def device_line(device: Mapping[str, Any]) -> str:
    """Say what solves, from what a farm knows of its devices."""
    return (
        f"device {device['count']} x {device['device']}; scheme {device['scheme']} ({device['reason']}), "
        f"at most {device['antennas']} antennas a batch"
    )


def number(value: float | None) -> str:
    """Write a fitness for people."""
    return "none" if value is None else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Write a span of time for people: `45 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def median(values: Sequence[float]) -> float | None:
    """Return the median, None of nothing."""
    return statistics.median(values) if values else None
