"""An experiment's search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from antennaopt.search import Evolution, SteadyState

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment


def search_of(experiment: Experiment, genomes: Sequence[Sequence[float | None]] = ()) -> Evolution | SteadyState:
    """Return an experiment's search, before its first generation.

    Args:
        experiment: From `load_experiment`.
        genomes: What the first generation begins with; a gene that is None is drawn.
    """
    settings = experiment.evolution.settings
    search = SteadyState if settings.algorithm == "steady_state" else Evolution
    return search(settings, experiment.genes, experiment.seed, experiment.evolution.start, genomes)
