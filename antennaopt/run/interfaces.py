"""Interfaces of the driver; tests replace them by cheap ones."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.farm.interface import Solving
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import Progress
from antennaopt.search import Candidate, Result, Scored, Search
from antennaopt.search.objectives import Objective, all_shortfalls, shortfalls
from antennaopt.solve.cuts import CUTS, PATTERN, amplitudes
from antennaopt.solve.outcome import Outcome
from antennaopt.store.made import MadeCopy
from antennaopt.store.rows import Row
from antennaopt.unchecked import owned

if TYPE_CHECKING:
    from antennaopt.run.sampling import Sampling

Recalled = dict[str, tuple[tuple[float, ...], Outcome]]
"""Genome and outcome (without patterns) by individual."""

NOT_KEPT = (*PATTERN, "rings", "cells", "batch_seconds")
"""Entries that the driver drops from an outcome: its row lacks them too, so that a resumed run has the same."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A candidate with its outcome and fitness: one row.

    Attributes:
        candidate: Which.
        values: Its genes decoded, SI, by name.
        outcome: As `evaluate` returns it, with what the farm adds (`worker`, `device`, `attempt`).
        shortfalls: One an objective, then one a constraint, dB; empty unless `ok`.
        fitness: What is minimised; see `Ranking.fitness`.
        cached: The outcome is copied from an equal design.
        violation: Of all constraints; None without any, and unless `ok`.
        copy_of: Id of the equal design of an earlier generation, where the pattern of both is stored; else None.
        level: Of the cells that it was solved on, 0 the coarsest.
        nominal_fitness: In a search with samples that of the design itself; else None.
        samples: Made copies that `fitness` is of; empty where that is the design's own.
        misses: As `Result` has them; they are not stored.
    """

    candidate: Candidate
    values: dict[str, float]
    outcome: Outcome
    shortfalls: list[float]
    fitness: float
    cached: bool
    copy_of: str | None = None
    violation: float | None = None
    level: int = 0
    nominal_fitness: float | None = None
    samples: tuple[MadeCopy, ...] = ()
    misses: Sequence[Sequence[float]] = ()

    @classmethod
    def of(
        cls,
        search: Search,
        objectives: Sequence[Objective],
        *,
        candidate: Candidate,
        values: dict[str, float],
        outcome: Outcome,
        cached: bool = False,
        copy_of: str | None = None,
    ) -> Evaluation:
        """Return an outcome as a search ranks it.

        Args:
            search: Whose.
            objectives: With the constraints.
            candidate: Whose outcome it is.
            values: Its genes decoded, SI, by name.
            outcome: With the figures of the objectives.
            cached: The outcome is copied from an equal design.
            copy_of: Id of that design, where it is of an earlier generation.
        """
        missed = shortfalls(outcome, objectives)
        found = {
            "candidate": candidate,
            "values": values,
            "outcome": outcome,
            "shortfalls": missed,
            "fitness": search.fitness_of(outcome.status, missed),
            "cached": cached,
            "copy_of": copy_of,
            "violation": search.violation_of(missed),
            "level": search.level_of(candidate.generation),
        }
        if search.wants_misses and missed:
            found["misses"] = [one.misses(outcome) for one in objectives]
        return owned(cls, found)

    @classmethod
    def of_all(
        cls,
        search: Search,
        objectives: Sequence[Objective],
        candidates: Sequence[Candidate],
        values: Sequence[dict[str, float]],
        outcomes: Sequence[Outcome],
    ) -> list[Evaluation]:
        """Return `of` for several candidates of one generation, none of them a copy."""
        missed = all_shortfalls(outcomes, objectives)
        fitness = search.all_fitness_of([one.status for one in outcomes], missed)
        violation = list(map(search.violation_of, missed)) if search.has_constraints else [None] * len(missed)
        level = search.level_of(candidates[0].generation)
        found = [
            {
                "candidate": candidate,
                "values": of_genes,
                "outcome": outcome,
                "shortfalls": short,
                "fitness": number,
                "cached": False,
                "copy_of": None,
                "violation": violated,
                "level": level,
            }
            for candidate, of_genes, outcome, short, number, violated in zip(
                candidates, values, outcomes, missed, fitness, violation, strict=True
            )
        ]
        if search.wants_misses:
            for one, outcome, short in zip(found, outcomes, missed, strict=True):
                if short:
                    one["misses"] = [goal.misses(outcome) for goal in objectives]
        return [owned(cls, one) for one in found]

    @property
    def row(self) -> Row:
        """What is stored of it."""
        return owned(Row, vars(self.candidate) | vars(self))

    @property
    def result(self) -> Result:
        """The result that the search gets."""
        found = {
            "individual": self.candidate.individual,
            "shortfalls": self.shortfalls,
            "status": self.outcome.status,
            "cached": self.cached,
            "fitness": self.fitness,
            "misses": self.misses,
        }
        return owned(Result, found)

    @property
    def scored(self) -> Scored:
        """What a search makes of that."""
        return Scored(candidate=self.candidate, fitness=self.fitness, ok=self.outcome.ok, cached=self.cached)


def for_checkpoint(outcome: Outcome) -> dict[str, Any] | None:
    """Return an outcome for a checkpoint; None of one with numbers that are not finite: it is solved again instead."""
    cuts = [getattr(outcome, key) for key in CUTS[1:]]
    try:
        plain = outcome.to_dict(compact=True)
        finite = all(np.isfinite(amplitudes(one)).all() for one in cuts if one is not None)
        json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return plain if finite else None


class Store:
    """Keeps rows, patterns, checkpoints and a log; this one keeps nothing."""

    def write_generation(self, generation: int, evaluations: Sequence[Evaluation]) -> None:
        """Store a generation's rows and patterns; done again, it replaces them."""

    def history(self, generations: int) -> Iterable[tuple[str, tuple[float, ...], str]]:
        """Return id, genome and status of all individuals of the first `generations` generations, in order."""
        return ()

    def recall(self, individuals: Iterable[str]) -> Recalled:
        """Return genome and outcome of individuals; those that are not there are left out."""
        return {}

    def checkpoint(self, generation: int, state: Mapping[str, Any]) -> None:
        """Store the state after a generation, or in the middle of it; the one before stays too."""

    def completed(self, place: int, name: str, births: int) -> None:
        """Note at once which individual is complete in a steady state, its place, and how many were bred by then."""

    def order(self, place: int) -> Sequence[tuple[str, int]]:
        """Return the individuals that `completed` noted from a place on, with how many were bred by then."""
        return ()

    def log(self, event: str, **fields: Any) -> None:
        """Add a line to the run's log."""

    def flush(self) -> None:
        """Wait until all submitted data are stored."""


def _as_it_is(outcome: Outcome, _: Mapping[str, float]) -> Outcome:
    return outcome


@dataclass(frozen=True, kw_only=True)
class Interfaces:
    """What a driver works with.

    Attributes:
        objectives: What fitness is made of.
        design: Turns gene values into a full design, SI.
        figured: Adds the figures that objectives ask for to the outcome of gene values.
        farm: Solves antennas.
        store: Stores rows and checkpoints.
        progress: Shows progress.
        signals: Says when to stop.
        batch_size: Antennas a batch, or `auto` to choose by the number of workers.
        clock: Seconds, for progress and `stop.wall_time`.
        seconds_before: Wall time of the sessions before this one.
        sampling: Takes samples of each generation; None for a search that takes none.
    """

    objectives: Sequence[Objective]
    design: Callable[[Mapping[str, float]], dict[str, float]]
    farm: Solving
    store: Store
    progress: Progress
    signals: StopSignals
    batch_size: int | str = "auto"
    figured: Callable[[Outcome, Mapping[str, float]], Outcome] = _as_it_is
    clock: Callable[[], float] = time.monotonic
    seconds_before: float = 0.0
    sampling: Sampling | None = None
