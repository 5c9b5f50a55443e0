"""Searches: genomes in [0, 1], bounded operators, and algorithms with a common ask-and-tell protocol.

DEAP's operators are used in here and nowhere else. What crosses the border is plain numbers and ids. Everything is
imported when it is first used: an experiment file, and a worker, need the objectives but not DEAP.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.search.base import ALL_GOALS_MET, HALL_OF_FAME_SIZE, Search, new_search
    from antennaopt.search.candidate import Candidate, Result, Scored, decode, design_key, encode, individual_id
    from antennaopt.settings import ALGORITHMS, Crossover, EvolutionSettings, Mutation, Stop

_HOMES = {
    "base": ("ALL_GOALS_MET", "HALL_OF_FAME_SIZE", "Search", "new_search"),
    "candidate": ("Candidate", "Result", "Scored", "decode", "design_key", "encode", "individual_id"),
}
"""Exported names by their module; all others are in `antennaopt.settings`."""

__all__ = [
    "ALGORITHMS", "ALL_GOALS_MET", "HALL_OF_FAME_SIZE", "Candidate", "Crossover", "EvolutionSettings", "Mutation",
    "Result", "Scored", "Search", "Stop", "decode", "design_key", "encode", "individual_id", "new_search",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((f"{__name__}.{home}" for home, names in _HOMES.items() if name in names), "antennaopt.settings")
    return getattr(import_module(home), name)
