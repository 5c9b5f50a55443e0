"""One number to minimise: the weighted sum of the shortfalls, or a penalty beyond every such sum."""

from __future__ import annotations

from collections.abc import Sequence

from antennaopt.search.objectives.objective import WORST_SHORTFALL_DB, Objective, Outcome, bounded

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
    return [bounded(objective.shortfall(outcome)) for objective in objectives]


def fitness(outcome: Outcome, objectives: Sequence[Objective]) -> float:
    """Return the weighted sum of the shortfalls, or the penalty of an outcome that is not `ok`. Finite, minimised.

    Args:
        outcome: As `evaluate` returns it.
        objectives: From `build`.
    """
    return score(outcome, objectives)[1]


def score(outcome: Outcome, objectives: Sequence[Objective]) -> tuple[list[float], float]:
    """Return what `shortfalls` and `fitness` do.

    Args:
        outcome: As `evaluate` returns it.
        objectives: From `build`.
    """
    if outcome["status"] != "ok":
        return [], penalty(str(outcome["status"]), objectives)
    missing = shortfalls(outcome, objectives)
    return missing, sum(objective.weight * short for objective, short in zip(objectives, missing, strict=True))


def penalty(status: str, objectives: Sequence[Objective]) -> float:
    """Return the fitness of a status other than `ok`: worse than any `ok` can be with these objectives."""
    worst = WORST_SHORTFALL_DB * max(sum(objective.weight for objective in objectives), 1.0)
    return worst * PENALTY_FACTORS.get(status, PENALTY_FACTORS["diverged"])
