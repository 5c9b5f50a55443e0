"""State of a run from its events, from the log or the farm: convergence, rate, failures, use of devices."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_RATES = 2000
"""Points of the rate that are kept; older ones are dropped."""

LEAST_S = 0.5
"""Shortest time of a rate, s: the last event of a generation follows the one before at once."""

RECENT_S = 60.0
"""Time of the present use of devices and of the present rate, s; one generation where that is longer."""

ENDED = ("stopped", "interrupted", "too_many_failures")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One complete generation.

    Attributes:
        generation: Its number, from 0.
        evaluations: All antennas solved so far.
        best: Best fitness so far, or None.
        median: Median of the newcomers that were `ok`, or None.
        seconds: Wall time.
        rate: Antennas solved in it over its wall time.
    """

    generation: int
    evaluations: int
    best: float | None
    median: float | None
    seconds: float
    rate: float


@dataclass(kw_only=True)
class Spell:
    """Progress within a generation.

    Attributes:
        to_solve: Antennas that it has to solve.
        solved: Of them.
        seconds: Wall time.
        counts: Solved ones by status.
        busy: Seconds that each worker solved.
    """

    to_solve: int = 0
    solved: int = 0
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    busy: dict[str, float] = field(default_factory=dict)


class Timeline:
    """State of a run, updated with `add` by events of any mixture of sources and sessions.

    Attributes:
        steps: Generations done, in order.
        generations: Largest number of generations, or None before the first event with it.
        individual: The best individual, or None.
        spells: Progress within generations, by generation.
        devices: Device of each worker.
        rates: Elapsed seconds of the run and antennas a second since the point before.
        certified: Antennas certified and their final number, or None.
        ended: The event that ended it, or None during the run.
        reason: Reason of the stop, or None.
        shown: The event `best` of the best antenna so far, or None.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.generations: int | None = None
        self.individual: str | None = None
        self.spells: dict[int, Spell] = {}
        self.devices: dict[str, str] = {}
        self.rates: deque[tuple[float, float]] = deque(maxlen=MOST_RATES)
        self._point = (0.0, 0)  # elapsed seconds and antennas solved, where the last rate was taken
        self.certified: tuple[int, int] | None = None
        self.ended: str | None = None
        self.reason: str | None = None
        self.shown: Mapping[str, Any] | None = None

    def add(self, event: Mapping[str, Any]) -> None:
        """Apply an event; unknown and incomplete ones are ignored."""
        name = event.get("event")
        try:
            if name == "generation":
                self._generation(event)
            elif name == "progress":
                self._progress(event)
            elif name == "certifying":
                self.certified = int(event["certified"]), int(event["to_certify"])
            elif name == "best":
                self.shown = event
            elif name in ENDED:
                self.ended, self.reason = str(name), event.get("reason")
            elif name == "resumed":
                self.ended = self.reason = self.certified = None
        except (KeyError, TypeError, ValueError):
            return

    @property
    def evaluations(self) -> int:
        """Antennas solved so far, those of the present generation included."""
        done = self.steps[-1].evaluations if self.steps else 0
        now = self.under_way
        return done + (now.solved if now else 0)

    @property
    def under_way(self) -> Spell | None:
        """The generation that is being solved, None between two."""
        return self.spells.get(self._next)

    @property
    def best(self) -> float | None:
        """Best fitness so far."""
        return self.steps[-1].best if self.steps else None

    @property
    def counts(self) -> dict[str, int]:
        """Antennas solved by status, as far as events show."""
        total: Counter[str] = Counter()
        for spell in self.spells.values():
            total.update(spell.counts)
        return dict(sorted(total.items()))

    @property
    def failures(self) -> dict[str, int]:
        """Antennas that were not `ok`, by status."""
        return {status: count for status, count in self.counts.items() if status != "ok"}

    @property
    def elapsed_s(self) -> float:
        """Wall time of the generations."""
        now = self.under_way
        return sum(step.seconds for step in self.steps) + (now.seconds if now else 0.0)

    @property
    def rate(self) -> float | None:
        """Present rate, antennas a second; None before the first."""
        solved, seconds = 0, 0.0
        for spell in self._recent():
            solved, seconds = solved + spell.solved, seconds + spell.seconds
        if seconds > 0.0 and solved:
            return solved / seconds
        return self.steps[-1].rate if self.steps else None

    @property
    def use(self) -> dict[str, float]:
        """Share of the last minute, or of a longer generation, that each worker solved; at most 1."""
        busy: dict[str, float] = {}
        seconds = 0.0
        for spell in self._recent():
            busy |= {worker: busy.get(worker, 0.0) + spent for worker, spent in spell.busy.items()}
            seconds += spell.seconds
        return {worker: min(busy[worker] / seconds, 1.0) for worker in sorted(busy)} if seconds > 0.0 else {}

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the last generation at the present rate, None before the first rate."""
        if self.generations is None or not self.steps or self.ended:
            return None
        recent = self.steps[-5:]
        each = sum(step.seconds for step in recent) / len(recent)
        now = self.under_way
        return max((self.generations - len(self.steps)) * each - (now.seconds if now else 0.0), 0.0)

    def headline(self) -> str:
        """Return the state of the study in one line."""
        if not self.steps and self.under_way is None and not self.ended:
            return "nothing solved yet"
        parts = [f"generation {len(self.steps)} of {self.generations or '?'}", f"{self.evaluations} antennas"]
        if self.rate is not None:
            parts.append(f"{self.rate:.3g} a second")
        if self.best is not None:
            parts.append(f"best {self.best:.4g} ({self.individual})")
        if self.failures:
            parts.append("not ok: " + ", ".join(f"{count} {status}" for status, count in self.failures.items()))
        if self.certified is not None:
            parts.append("certificates {} of {}".format(*self.certified))
        if self.ended:
            parts.append(f"{self.ended}: {self.reason}" if self.reason else self.ended)
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the study as data for JSON."""
        now = self.under_way
        return {
            "generations": len(self.steps),
            "generations_planned": self.generations,
            "evaluations": self.evaluations,
            "evaluations_per_s": self.rate,
            "best_fitness": self.best,
            "best": self.individual,
            "counts": self.counts,
            "failures": self.failures,
            "workers": self.use,
            "devices": dict(self.devices),
            "solved": now.solved if now else 0,
            "to_solve": now.to_solve if now else 0,
            "seconds": self.elapsed_s,
            "seconds_left": self.seconds_left,
            "certified": list(self.certified) if self.certified else None,
            "ended": self.ended,
            "reason": self.reason,
        }

    @property
    def _next(self) -> int:
        return self.steps[-1].generation + 1 if self.steps else 0

    def _recent(self) -> list[Spell]:
        chosen: list[Spell] = []
        seconds = 0.0
        for generation in sorted(self.spells, reverse=True):
            if seconds >= RECENT_S:
                break
            chosen.append(self.spells[generation])
            seconds += self.spells[generation].seconds
        return chosen

    def _generation(self, event: Mapping[str, Any]) -> None:
        step = Step(
            generation=int(event["generation"]),
            evaluations=int(event["evaluations"]),
            best=event["best"],
            median=event["median"],
            seconds=float(event["seconds"]),
            rate=float(event["evaluations_per_s"]),
        )
        self.steps = [one for one in self.steps if one.generation < step.generation] + [step]
        self.generations = int(event["generations"])
        self.individual = event["individual"]
        self.ended = self.reason = None

    def _progress(self, event: Mapping[str, Any]) -> None:
        generation = int(event["generation"])
        self.spells[generation] = Spell(
            to_solve=int(event["to_solve"]),
            solved=int(event["solved"]),
            seconds=float(event["seconds"]),
            counts={str(status): int(count) for status, count in event["counts"].items()},
            busy={str(worker): float(seconds) for worker, seconds in event["busy"].items()},
        )
        self.devices |= {str(worker): str(device) for worker, device in event.get("devices", {}).items()}
        self.ended = self.reason = None
        self._take_rate(generation)

    def _take_rate(self, generation: int) -> None:
        """Note the rate since the last point, once that is long enough ago; a resumed run begins again."""
        done = {step.generation: step.seconds for step in self.steps if step.generation < generation}
        spans = {number: spell.seconds for number, spell in self.spells.items() if number <= generation} | done
        elapsed = sum(spans.values())
        solved = sum(spell.solved for number, spell in self.spells.items() if number <= generation)
        since, before = self._point
        if elapsed < since or solved < before:
            self._point = elapsed, solved
        elif elapsed - since >= LEAST_S and solved > before:
            self.rates.append((elapsed, (solved - before) / (elapsed - since)))
            self._point = elapsed, solved
