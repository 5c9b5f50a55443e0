"""From an experiment to the one solver plan that all its antennas share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from antennaopt.errors import ConfigurationError
from antennaopt.solver_settings import SolverSettings

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment


class Evaluate(Protocol):
    """Solves a batch: the only crossing from the optimiser to the solver."""

    def __call__(
        self, family: str, designs: list[dict[str, float]], plan: dict[str, Any], *, backend: str, fields: bool = False
    ) -> Sequence[Mapping[str, Any]]:
        """Return one outcome a design."""
        ...


def standard_evaluate() -> Evaluate:
    """Return the evaluation by FDTD; imported late, since it loads the solver."""
    from antennaopt.solve.evaluate import evaluate

    return evaluate


def halved_plan(experiment: Experiment, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Plan the same antennas with exactly half the cell of a plan and full tensors at surfaces.

    Steps that were asked for are doubled.

    Args:
        experiment: Whose plan it is.
        plan: From `plan_for`.
    """
    given = experiment.solver.settings
    steps = {name: 2 * count for name, count in given.step_counts().items()}
    return plan_for(experiment, replace(given.with_cell(plan["cell"] / 2), surfaces="full", **steps))


def plan_for(experiment: Experiment, solver: SolverSettings | None = None) -> dict[str, Any]:
    """Plan the grid that holds every antenna within the genes' ranges.

    Args:
        experiment: From `load_experiment`.
        solver: In place of its own settings.

    Returns:
        The plan as JSON-able data.

    Raises:
        ConfigurationError: There is no gene, or the ranges allow no grid.
    """
    from antennaopt.solve.plan import plan

    genes = experiment.genes
    if not genes:
        raise ConfigurationError(
            "the experiment has no gene: every parameter is a number; give at least one a range, "
            'as in radius = { min = "8 mm", max = "20 mm" }, or use `antennaopt simulate`'
        )
    lower = experiment.design({gene.name: gene.low for gene in genes})
    upper = experiment.design({gene.name: gene.high for gene in genes})
    settings = solver or experiment.solver.settings
    return plan(experiment.family, lower, upper, settings.in_a_search()).to_dict()
