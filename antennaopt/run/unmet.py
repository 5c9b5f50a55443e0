"""A warning after the first generations: constraints that no antenna has met."""

from __future__ import annotations

import math
from collections.abc import Sequence

from antennaopt.report.goals import goal_text, value_text
from antennaopt.run.interfaces import Evaluation, Interfaces
from antennaopt.run.memory import Memory
from antennaopt.search import individual_id
from antennaopt.search.objectives import shortfalls
from antennaopt.solve.outcome import Outcome

GENERATIONS = 3
"""Number of generations before the warning."""


class UnmetConstraints:
    """Keeps, for each constraint, the antenna of the first generations that misses it least."""

    def __init__(self, memory: Memory, interfaces: Interfaces) -> None:
        """Start before the first generation.

        Args:
            memory: Of the individuals so far; asked for generations of earlier sessions.
            interfaces: Of the driver.
        """
        self._memory, self._with = memory, interfaces
        self._first = next((at for at, one in enumerate(interfaces.objectives) if one.constraint), None)
        self._nearest: dict[int, tuple[float, str, Outcome]] = {}
        self._seen: set[int] = set()

    def take(self, generation: int, evaluations: Sequence[Evaluation]) -> None:
        """Take a generation; after the third one warn of the constraints that no antenna has met.

        Args:
            generation: Which, from 0.
            evaluations: Its newcomers.
        """
        if self._first is None or generation >= GENERATIONS:
            return
        for one in evaluations:
            self._compare(one.candidate.individual, one.outcome)
        self._seen.add(generation)
        if generation == GENERATIONS - 1:
            self._read_earlier(len(evaluations))
            self._warn()

    def _compare(self, individual: str, outcome: Outcome) -> None:
        missed = shortfalls(outcome, self._with.objectives)
        for place, short in enumerate(missed[self._first :], start=self._first or 0):
            if short < self._nearest.get(place, (math.inf,))[0]:
                self._nearest[place] = short, individual, outcome

    def _read_earlier(self, population: int) -> None:
        for generation in set(range(GENERATIONS)) - self._seen:
            names = [individual_id(generation, slot) for slot in range(population)]
            for name, (_, outcome) in self._memory.recall(names).items():
                self._compare(name, outcome)

    def _warn(self) -> None:
        for place, (short, individual, outcome) in sorted(self._nearest.items()):
            if short <= 0.0:
                continue
            nearest = self._with.objectives[place].standing(outcome)
            self._with.progress.note(
                f"WARNING: constraint.{place - (self._first or 0)}, {goal_text(nearest)}, is met by no antenna of the "
                f"first {GENERATIONS} generations; least violation {value_text(nearest)} ({individual}): lower it, or "
                "widen the ranges of the genes"
            )
            self._with.store.log("constraint_unmet", constraint=place - (self._first or 0), shortfall_db=short)
