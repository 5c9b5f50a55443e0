"""From an experiment to the one solver plan that all its antennas share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from antennaopt.errors import ConfigurationError


class Evaluate(Protocol):
    """Solves a batch: the only crossing from the optimiser to the solver."""

    def __call__(
        self, family: str, designs: list[dict[str, float]], plan: dict[str, Any], *, backend: str, fields: bool = False
    ) -> list[dict[str, Any]]:
        """Return one outcome a design."""
        ...


def standard_evaluate() -> Evaluate:
    """Return the evaluation by FDTD; imported late, since it loads the solver."""
    from antennaopt.solve.evaluate import evaluate

    return evaluate


def halved_plan(experiment: Any, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Plan the same antennas with exactly half the cell of a plan and full tensors at surfaces.

    Steps that were asked for are doubled.

    Args:
        experiment: Whose plan it is.
        plan: From `plan_for`.
    """
    finer: dict[str, Any] = {"cell": plan["cell"] / 2, "cells_per_wavelength": None, "grid": None}
    finer["surfaces"] = "full"
    solver = experiment.resolved()["solver"]
    finer |= {name: 2 * solver[name] for name in ("steps", "max_steps") if solver.get(name)}
    return plan_for(experiment, finer)


def plan_for(experiment: Any, solver: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Plan the grid that holds every antenna within the genes' ranges.

    Args:
        experiment: From `load_experiment`.
        solver: Entries in place of its solver table's, SI.

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
    resolved = experiment.resolved()
    lower = experiment.design({gene.name: gene.low for gene in genes})
    upper = experiment.design({gene.name: gene.high for gene in genes})
    settings = resolved["solver"] | dict(solver or {})
    settings["surfaces"] = settings["surfaces"] or "diagonal"
    return plan(resolved["antenna"]["family"], lower, upper, settings).to_dict()
