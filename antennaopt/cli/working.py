"""How far the solution of one antenna is: a bar with the time left on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from antennaopt.terminal import drawn

LINE_EVERY_S = 10.0
"""Seconds between two lines where there is no terminal."""

Watch = Callable[[int, float], None]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Where a solution is.

    Attributes:
        steps: Taken so far.
        total: Expected at its end.
        seconds_left: Until then at this pace; None before a pace is known.
        at_most: Whether `total` is the step limit: the energy has not begun to fall.
    """

    steps: int
    total: int
    seconds_left: float | None
    at_most: bool

    @property
    def share(self) -> float:
        """Part that is done, 0 to 1."""
        return min(self.steps / max(self.total, 1), 1.0)

    def left(self) -> str:
        """Write the time left: `about 12 s left`; empty before a pace is known."""
        from antennaopt.run import duration

        if self.seconds_left is None:
            return ""
        if self.seconds_left < 1.0:
            return "less than 1 s left"
        return f"{'at most' if self.at_most else 'about'} {duration(self.seconds_left)} left"


class Pace:
    """Expects when a solution ends: the energy falls evenly in dB from its peak, and the step limit stands."""

    def __init__(self, plan: Mapping[str, Any], clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with a solution.

        Args:
            plan: As `SolverPlan.to_dict` wrote it.
            clock: Seconds.
        """
        layout = plan["layout"]
        self._most, self._decay, self._settled = int(plan["max_steps"]), layout["decay"], int(layout["settled"])
        self._clock = clock
        self._peak = 0
        self._first: tuple[int, float] | None = None

    def at(self, steps: int, energy: float) -> Estimate:
        """Return where the solution is.

        Args:
            steps: Taken so far.
            energy: Over its largest value so far.
        """
        now = self._clock()
        self._first = self._first or (steps, now)
        falling = bool(self._decay) and 0.0 < energy < 1.0
        total = self._most
        if falling:
            ends = self._peak + (steps - self._peak) * math.log(self._decay) / math.log(energy)
            total = min(max(math.ceil(ends), self._settled, steps), self._most)
        else:
            self._peak = steps
        began, then = self._first
        left = (total - steps) * (now - then) / (steps - began) if steps > began else None
        return Estimate(steps=steps, total=total, seconds_left=left, at_most=bool(self._decay) and not falling)


@contextlib.contextmanager
def working(text: str, plan: Mapping[str, Any], *, quiet: bool) -> Iterator[Watch | None]:
    """Show how far a solution is, on stderr; yield what the solver calls at each look at the energy.

    Args:
        text: What is solved.
        plan: On which grid.
        quiet: Whether to show nothing.
    """
    if quiet:
        yield None
    elif not sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
        yield lines(Pace(plan))
    else:
        with _bar(text, plan) as watch:
            yield watch


def lines(pace: Pace, clock: Callable[[], float] = time.monotonic) -> Watch:
    """Return what prints a line on stderr every `LINE_EVERY_S` seconds."""
    printed = clock()

    def watch(steps: int, energy: float) -> None:
        nonlocal printed
        estimate, now = pace.at(steps, energy), clock()
        if now - printed < LINE_EVERY_S:
            return
        printed = now
        word = "at most" if estimate.at_most else "about"
        parts = [f"{estimate.share:.0%}", f"{steps} of {word} {estimate.total} steps", estimate.left()]
        print("  ".join(part for part in parts if part), file=sys.stderr, flush=True)

    return watch


@contextlib.contextmanager
def _bar(text: str, plan: Mapping[str, Any]) -> Iterator[Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    pace = Pace(plan)
    columns = (BarColumn(20), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    console = Console(file=drawn(sys.stderr), highlight=False)
    console.print(text, markup=False)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def watch(steps: int, energy: float) -> None:
            estimate = pace.at(steps, energy)
            bar.update(task, completed=max(estimate.share, bar.tasks[0].completed), description=estimate.left())

        yield watch
