"""Levels of a search from coarse to fine cells: when a level ends, and the first generation of the next.

A level ends after its share of the budget, or when a stop is due. The first generation of the next level solves the
best individuals again, with its cells. From then on the search knows values of that level alone: fitness of one level
is never compared with that of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from antennaopt.quantities import format_level
from antennaopt.search.candidate import Made, Scored, counted
from antennaopt.settings import EvolutionSettings, Ladder, Stop

PROMOTED = "promoted"
"""Operator of an individual that is solved again on finer cells; its parent is the one on coarser cells."""


class Climb:
    """The level that a search is on, and the best individuals of that level.

    Attributes:
        begins: First generation of each level but the first.
        distinct: Distinct `ok` individuals of this level so far.
        recorded: In place of decisions: the first generations of levels, as a run that is replayed took them.
    """

    def __init__(self, ladder: Ladder, settings: EvolutionSettings) -> None:
        self._ladder, self._settings = ladder, settings
        self.begins: list[int] = []
        self.distinct = 0
        self.recorded: Sequence[int] | None = None
        self._best: list[Scored] = []
        self._spared = 0

    @property
    def at_top(self) -> bool:
        """Whether the search is on the finest level."""
        return len(self.begins) == self._ladder.levels - 1

    def level_of(self, generation: int) -> int:
        """Return the level of a generation, 0 the coarsest."""
        return sum(first <= generation for first in self.begins)

    @property
    def refit(self) -> bool:
        """Whether a distribution is fitted to the better half of the promoted."""
        return self._ladder.refit

    @property
    def cells(self) -> tuple[float, ...]:
        """Cell of each level, m, the coarsest first."""
        return self._ladder.cells

    def name_of(self, generation: int) -> str:
        """Return the level of a generation for people."""
        level = self.level_of(generation)
        stop = self._ladder.stops[level] if self._ladder.stops else None
        return f"level {level + 1}/{self._ladder.levels}, {format_level(self.cells[level], stop)}"

    def promotes_in(self, generation: int) -> bool:
        """Return whether a generation is the first one of a level above the coarsest."""
        return generation in self.begins

    @property
    def stop(self) -> Stop:
        """When the level ends that generations are bred on now."""
        return self._ladder.stop(self._settings.stop, len(self.begins))

    @property
    def generations(self) -> int:
        """Number of generations of the run by the end of this level.

        A level that begins early, because the one before it was over, ends early; a budget that is raised later is
        the finest level's.
        """
        return self._planned - self._spared

    @property
    def _planned(self) -> int:
        return self._ladder.generations(self._settings.generations, len(self.begins))

    def step(self, generation: int, reason: str | None) -> str | None:
        """Go up where a level has come to its end.

        Args:
            generation: That is made next.
            reason: Why this level is over, or None.

        Returns:
            Why the search is over, or None.
        """
        if generation in self.begins:
            return None
        if self.recorded is not None:
            reason = reason if self.at_top or generation in self.recorded else None
        if reason is None or self.at_top:
            return reason
        self.begins.append(generation)
        self._spared = max(self._planned - generation - self._ladder.reserved(self._settings.generations), 0)
        return None

    def take(self, told: Iterable[Scored], generation: int) -> None:
        """Note what came of a generation.

        Args:
            told: All of it.
            generation: Which.
        """
        if generation in self.begins:
            self._best, self.distinct = [], 0
        newcomers = [one for one in told if one.ok]
        self.distinct += sum(not one.cached for one in newcomers)
        found: dict[tuple[float, ...], Scored] = {}
        for one in sorted([*self._best, *newcomers], key=lambda one: one.rank):
            found.setdefault(one.candidate.genome, one)
        self._best = list(found.values())[: self._settings.population]

    def promoted(self) -> list[Made]:
        """Return the best share of this level's individuals, the best first, at most a population."""
        chosen = self._best[: self._ladder.promoted(self.distinct, self._settings)]
        return [(one.candidate.genome, (one.candidate.individual,), PROMOTED) for one in chosen]

    def state(self) -> dict[str, Any]:
        """Return JSON-able data with exact floats."""
        return {
            "begins": list(self.begins),
            "distinct": self.distinct,
            "spared": self._spared,
            "best": [one.to_dict() for one in self._best],
        }

    def restore(self, state: Mapping[str, Any], generation: int) -> None:
        """Go back to what `state` returned.

        Args:
            state: From a checkpoint.
            generation: That is made next.

        Raises:
            ValueError: No search with these settings can have had it.
        """
        begins = [counted(one) for one in state["begins"]]
        ordered = all(one < other for one, other in zip([0, *begins], [*begins, generation + 1], strict=True))
        if not ordered or len(begins) >= self._ladder.levels:
            raise ValueError(f"levels that begin in generations {begins}, of {self._ladder.levels} levels")
        best = [Scored.from_dict(one) for one in state["best"]]
        if sorted(best, key=lambda one: one.rank) != best or len(best) > self._settings.population:
            raise ValueError("the best of a level are not in order")
        self.begins, self._best = begins, best
        self.distinct, self._spared = counted(state["distinct"]), counted(state["spared"])
