"""The choice behind `algorithm = "auto"`: by the kind of the genes, and by the objectives.

`benchmarks/search_rule` has the problems on which the rule was made; decision record 0043 what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Gene

AUTO = "auto"


def is_automatic(data: Any) -> bool:
    """Return whether a file asks for the choice."""
    evolution = data.get("evolution") if isinstance(data, Mapping) else None
    return isinstance(evolution, Mapping) and evolution.get("algorithm") == AUTO


def with_algorithm(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a file's table with another algorithm."""
    return {**data, "evolution": {**data["evolution"], "algorithm": name}}


def by_objectives(data: Mapping[str, Any]) -> str:
    """Return the algorithm that the objectives of a file's table ask for: `nsga2` with an aim, else `ga`."""
    tables = data.get("objective", data.get("objectives", ()))
    aims = [one for one in tables if isinstance(one, Mapping) and one.get("aim") is not None] if tables else []
    return "nsga2" if aims else "ga"


def by_genes(genes: Sequence[Gene]) -> str:
    """Return the algorithm for a weighted sum of goals: `cmaes` where all genes are real numbers, else `de`."""
    return "cmaes" if all(gene.kind == "real" for gene in genes) else "de"


def reason(genes: Sequence[Gene], algorithm: str) -> str:
    """Return why an algorithm was chosen, for people."""
    if algorithm == "nsga2":
        return "objectives with an aim"
    stepped = sum(gene.kind != "real" for gene in genes)
    return f"{len(genes)} genes, " + (f"{stepped} of them whole numbers or choices" if stepped else "all real numbers")
