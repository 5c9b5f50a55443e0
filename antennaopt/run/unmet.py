"""Notes after the first generations: constraints that no antenna has met, and goals that are out of reach."""

from __future__ import annotations

import math
from collections.abc import Sequence

from antennaopt.report.goals import OUT_OF_REACH_DB, Nearest, goal_text, reach_line, value_text
from antennaopt.run.interfaces import Evaluation, Interfaces
from antennaopt.run.memory import Memory
from antennaopt.search import individual_id
from antennaopt.search.objectives import shortfalls
from antennaopt.solve.outcome import Outcome
from antennaopt.terminal import plain

GENERATIONS = 3
"""Number of generations before the warning."""


class Unmet:
    """Keeps, for each goal and constraint, the antenna of the first generations that misses it least."""

    def __init__(self, memory: Memory, interfaces: Interfaces, population: int) -> None:
        """Start before the first generation.

        Args:
            memory: Of the individuals so far; also of generations of earlier sessions.
            interfaces: Of the driver.
            population: Number of slots of a generation; newcomers may be fewer, and have the last ones.
        """
        self._memory, self._with, self._population = memory, interfaces, population
        self._first = sum(not one.constraint for one in interfaces.objectives)
        self._nearest: dict[int, tuple[float, str, Outcome]] = {}
        self._seen: set[int] = set()

    def take(self, generation: int, evaluations: Sequence[Evaluation]) -> None:
        """Take a generation; after the third one say which constraints and goals are far.

        Args:
            generation: Which, from 0.
            evaluations: Its newcomers.
        """
        if generation >= GENERATIONS:
            return
        for one in evaluations:
            self._compare(one.candidate.individual, one.outcome, one.shortfalls)
        self._seen.add(generation)
        if generation == GENERATIONS - 1:
            self._read_earlier()
            self._warn()
            self._say_what_is_far()

    def _compare(self, individual: str, outcome: Outcome, missed: Sequence[float]) -> None:
        for place, short in enumerate(missed):
            if short < self._nearest.get(place, (math.inf,))[0]:
                self._nearest[place] = short, individual, outcome

    def _read_earlier(self) -> None:
        for generation in set(range(GENERATIONS)) - self._seen:
            names = [individual_id(generation, slot) for slot in range(self._population)]
            for name, (_, outcome) in self._memory.recall(names).items():
                self._compare(name, outcome, shortfalls(outcome, self._with.objectives))

    def _warn(self) -> None:
        for place, (short, individual, outcome) in sorted(self._nearest.items()):
            if short <= 0.0 or place < self._first:
                continue
            nearest = self._with.objectives[place].standing(outcome)
            line = (
                f"WARNING: constraint.{place - self._first}, {goal_text(nearest)}, is met by no antenna of the "
                f"first {GENERATIONS} generations; least violation {short:.2f} dB, at {value_text(nearest)} "
                f"({individual}): lower it, or widen the ranges of the genes"
            )
            self._with.progress.note(plain(line))
            self._with.store.log("constraint_unmet", constraint=place - self._first, shortfall_db=short)

    def _say_what_is_far(self) -> None:
        far = []
        for place, (short, individual, outcome) in sorted(self._nearest.items()):
            goal = self._with.objectives[place]
            if place < self._first and not goal.aim and short > OUT_OF_REACH_DB:
                far.append(Nearest(individual=individual, standing=goal.standing(outcome)))
        if far:
            self._with.progress.note(plain(f"after {GENERATIONS} generations: {reach_line(far)}"))
