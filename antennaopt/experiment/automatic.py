"""The choice of `algorithm = "auto"`, from the kinds of genes, the objectives and the size of a generation.

`benchmarks/search_rule` has the problems on which the rule was made; decision record 0043 what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment, Gene

AUTO = "auto"

_FEW = 0.1  # share of genes with steps up to which `surrogate` or `cmaes` is taken
_MOST_PREDICTED = 64  # antennas a generation, twice of what was measured: predictions of more keep a device waiting


def is_automatic(data: Any) -> bool:
    """Return whether a file leaves the choice to the program."""
    evolution = data.get("evolution") if isinstance(data, Mapping) else None
    return isinstance(evolution, Mapping) and evolution.get("algorithm") == AUTO


def with_algorithm(data: Mapping[str, Any], name: str, **others: Any) -> dict[str, Any]:
    """Return a file's table with another algorithm, and with other entries of the search that it does not have."""
    return {**data, "evolution": {**others, **data["evolution"], "algorithm": name}}


def by_objectives(data: Mapping[str, Any]) -> str:
    """Return the algorithm that the objectives of a file's table ask for: `nsga2` with an aim, else `ga`."""
    tables = data.get("objective", data.get("objectives", ()))
    aims = [one for one in tables if isinstance(one, Mapping) and one.get("aim") is not None] if tables else []
    return "nsga2" if aims else "ga"


def by_genes(experiment: Experiment) -> str:
    """Return the algorithm for a weighted sum of goals.

    Args:
        experiment: Read with any other algorithm.

    Returns:
        Where nearly all genes are real numbers `surrogate`, or `cmaes` where the file has what `surrogate` does not
        go with; else `de`.
    """
    if stepped(experiment.genes) > _FEW * len(experiment.genes):
        return "de"
    return "cmaes" if _unpredicted(experiment) else "surrogate"


def _unpredicted(experiment: Experiment) -> str | None:
    """Return the entry of a file for which nothing is predicted, or None."""
    if experiment.tolerance is not None and experiment.tolerance.samples > 0:
        return "tolerance.samples"
    if experiment.fidelity is not None and experiment.fidelity.refit:
        return "fidelity.refit"
    return f"population above {_MOST_PREDICTED}" if experiment.evolution.population > _MOST_PREDICTED else None


def stepped(genes: Sequence[Gene]) -> int:
    """Return the number of genes that are whole numbers or choices."""
    return sum(gene.kind != "real" for gene in genes)


def reason(experiment: Experiment, polish: bool = False) -> str:
    """Return why the algorithm of an experiment was chosen, and whether it was chosen to polish, for people."""
    algorithm, genes = experiment.evolution.algorithm, experiment.genes
    if algorithm == "nsga2":
        return "objectives with an aim"
    count = stepped(genes)
    kinds = f"{count} of them whole numbers or choices" if count else "all real numbers"
    entry = _unpredicted(experiment) if algorithm == "cmaes" else None
    return f"{len(genes)} genes, {kinds}" + (f"; {entry}" if entry else "") + ("; polish = true" if polish else "")
