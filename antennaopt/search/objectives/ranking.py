"""How candidates compare: shortfalls in dB of an outcome, and one number to minimise made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from antennaopt.search.objectives.goal import WORST_SHORTFALL_DB, Objective, Outcome

PENALTY_FACTORS = {"undecayed": 2.0, "diverged": 3.0, "infeasible": 4.0}
"""Multiples of the worst fitness that an `ok` can have. `timeout`, `lost` and `error` rank as `diverged` does."""


def shortfalls(outcome: Outcome, objectives: Sequence[Objective]) -> list[float]:
    """Return each objective's shortfall in dB, 0 when met; empty unless the outcome is `ok`.

    Args:
        outcome: As `evaluate` returns it.
        objectives: From `build`.
    """
    if outcome["status"] != "ok":
        return []
    return [objective.shortfall(outcome) for objective in objectives]


@dataclass(frozen=True)
class Ranking:
    """Order by the weighted sum of the shortfalls; what is not `ok` comes after all that is.

    Attributes:
        weights: One an objective, positive.
    """

    weights: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, objectives: Iterable[Objective]) -> Ranking:
        """Return the order that objectives make."""
        return cls(tuple(objective.weight for objective in objectives))

    def fitness(self, status: str, shortfalls: Sequence[float]) -> float:
        """Return the number to minimise: the weighted sum, or the penalty of a status other than `ok`.

        Args:
            status: Of the outcome.
            shortfalls: dB, one an objective.
        """
        if status != "ok":
            worst = WORST_SHORTFALL_DB * max(sum(self.weights), 1.0)
            return worst * PENALTY_FACTORS.get(status, PENALTY_FACTORS["diverged"])
        return sum(weight * short for weight, short in zip(self.weights, shortfalls, strict=True))
