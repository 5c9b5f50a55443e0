"""The rule for new starts: the number of generations without improvement since the last start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from antennaopt.search.candidate import Scored, counted

RESTARTED = "restart"
"""Operator of an individual with which a search starts again; it has no parents."""


class Restart:
    """When the next start is due, from the results of whole generations."""

    def __init__(self, after: int) -> None:
        """Count from the first generation on.

        Args:
            after: Generations in a row without a better best after which a start is due, at least 1.
        """
        self._after = after
        self._best, self._waiting = math.inf, 0

    @property
    def due(self) -> bool:
        """Whether the next generation is a new start."""
        return self._waiting >= self._after

    def take(self, told: Sequence[Scored]) -> None:
        """Count a generation; after a new start the best is that of the generation itself."""
        if self.due:
            self.begin()
        found = min((one.fitness for one in told), default=math.inf)
        self._waiting = 0 if found < self._best else self._waiting + 1
        self._best = min(found, self._best)

    def begin(self) -> None:
        """Forget what was counted."""
        self._best, self._waiting = math.inf, 0

    def state(self) -> dict[str, Any]:
        """Return JSON-able data with exact floats."""
        return {"best": None if math.isinf(self._best) else self._best, "waiting": self._waiting}

    def restore(self, state: Mapping[str, Any], generation: int) -> None:
        """Go back to what `state` returned.

        Args:
            state: From a checkpoint.
            generation: That is made next.

        Raises:
            ValueError: No search with these settings can have had it.
        """
        waiting, best = counted(state["waiting"]), math.inf if state["best"] is None else float(state["best"])
        if waiting > min(self._after, generation) or math.isnan(best):
            raise ValueError(f"{waiting} generations without a better best than {best}, of {generation}")
        self._best, self._waiting = best, waiting
