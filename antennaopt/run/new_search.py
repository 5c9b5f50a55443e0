"""An experiment's search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from antennaopt.search import Evolution, EvolutionSettings, SteadyState


def search_of(experiment: Any, genomes: Sequence[Sequence[float | None]] = ()) -> Evolution | SteadyState:
    """Return an experiment's search, before its first generation.

    Args:
        experiment: From `load_experiment`.
        genomes: What the first generation begins with; a gene that is None is drawn.
    """
    settings = EvolutionSettings.from_dict(experiment.resolved()["evolution"])
    search = SteadyState if settings.algorithm == "steady_state" else Evolution
    return search(settings, experiment.genes, experiment.seed, experiment.evolution.start, genomes)
