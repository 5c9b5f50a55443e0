"""Searches: genomes in [0, 1], bounded operators, algorithms behind one protocol of ask and tell.

DEAP's operators are used in here and nowhere else. What crosses the border is plain numbers and ids. Everything is
imported when it is first asked for: an experiment file, and a worker, need the objectives but not DEAP.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.search.base import ALL_GOALS_MET, HALL_OF_FAME_SIZE, Search, new_search
    from antennaopt.search.candidate import Candidate, Result, Scored, individual_id
    from antennaopt.search.genome import Gene, decode, design_key, encode
    from antennaopt.search.settings import ALGORITHMS, Crossover, EvolutionSettings, Mutation, Stop

_HOMES = {
    "ALL_GOALS_MET": "base",
    "HALL_OF_FAME_SIZE": "base",
    "Search": "base",
    "new_search": "base",
    "Candidate": "candidate",
    "Result": "candidate",
    "Scored": "candidate",
    "individual_id": "candidate",
    "Gene": "genome",
    "decode": "genome",
    "design_key": "genome",
    "encode": "genome",
    "ALGORITHMS": "settings",
    "Crossover": "settings",
    "EvolutionSettings": "settings",
    "Mutation": "settings",
    "Stop": "settings",
}

__all__ = [
    "ALGORITHMS",
    "ALL_GOALS_MET",
    "HALL_OF_FAME_SIZE",
    "Candidate",
    "Crossover",
    "EvolutionSettings",
    "Gene",
    "Mutation",
    "Result",
    "Scored",
    "Search",
    "Stop",
    "decode",
    "design_key",
    "encode",
    "individual_id",
    "new_search",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
