"""Choose the solver of a family, in one place.

A solver is a pair: `plan` chooses the lattice and steps that the antennas of a study share, `evaluate` turns designs
and that plan into outcomes. Both are imported when they are asked for: planning needs no kernels, and `--help` no
families.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.families import Family


def _known(family: str | Family) -> Family:
    from antennaopt.families import kind

    return kind(family)


def planner_of(family: str | Family) -> Callable[..., Any]:
    """Return `plan(family, lower, upper, settings)` of the family's solver; see `antennaopt.solve.plan.plan`."""
    if _known(family).solver == "yee":
        from antennaopt.solve.yee_plan import plan as plan_in_space

        return plan_in_space
    from antennaopt.solve.plan import plan

    return plan


def halving_planner_of(family: str | Family, plan: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the same function for settings that halve a plan's cell, for the second mesh of a certificate.

    Args:
        family: Antenna family.
        plan: The plan's table.
    """
    planner = planner_of(family)
    if _known(family).solver == "yee":
        from antennaopt.solve.yee_plan import YeePlan

        return partial(planner, halving=YeePlan.from_dict(plan))
    return planner


def evaluator_of(family: str | Family) -> Callable[..., Any]:
    """Return `evaluate(family, designs, plan, ...)` of the family's solver, a function that workers import by name.

    See `antennaopt.solve.evaluate.evaluate`.
    """
    if _known(family).solver == "yee":
        from antennaopt.solve.yee import evaluate as evaluate_in_space

        return evaluate_in_space
    from antennaopt.solve.evaluate import evaluate

    return evaluate
