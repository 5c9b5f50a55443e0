"""Settings of the solver and the search as plain data with defaults, independent of file formats."""

from __future__ import annotations

from antennaopt.settings.search import (
    ALGORITHMS,
    CROSSOVERS,
    MUTATIONS,
    READ_BY,
    Crossover,
    EvolutionSettings,
    Ladder,
    Mutation,
    Stop,
)
from antennaopt.settings.solver import (
    ADDED_LATER,
    CELLS_PER_WAVELENGTH,
    LEAST_DECAY_DB,
    TRUSTED_DB,
    ReportedModes,
    SolverSettings,
)
from antennaopt.settings.tolerance import TRUNCATED_AT, Spread, Tolerance

__all__ = [
    "ADDED_LATER",
    "ALGORITHMS",
    "CELLS_PER_WAVELENGTH",
    "CROSSOVERS",
    "LEAST_DECAY_DB",
    "MUTATIONS",
    "READ_BY",
    "TRUNCATED_AT",
    "TRUSTED_DB",
    "Crossover",
    "EvolutionSettings",
    "Ladder",
    "Mutation",
    "ReportedModes",
    "SolverSettings",
    "Spread",
    "Stop",
    "Tolerance",
]
