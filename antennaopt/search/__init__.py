"""The genetic algorithm: genomes in [0, 1], bounded operators, a generation loop as ask and tell.

DEAP's operators are used in here and nowhere else. What crosses the border is plain numbers and ids. Everything is
imported when it is first asked for: an experiment file, and a worker, need the objectives but not DEAP.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.search.base import ALL_GOALS_MET, HALL_OF_FAME_SIZE, Search
    from antennaopt.search.candidate import Candidate, Scored, individual_id
    from antennaopt.search.generational import Evolution
    from antennaopt.search.genome import Gene, decode, design_key, encode
    from antennaopt.search.settings import Crossover, EvolutionSettings, Mutation, Stop
    from antennaopt.search.steady import Birth, SteadyState, replay

_HOMES = {
    "ALL_GOALS_MET": "base",
    "HALL_OF_FAME_SIZE": "base",
    "Search": "base",
    "Candidate": "candidate",
    "Scored": "candidate",
    "individual_id": "candidate",
    "Evolution": "generational",
    "Gene": "genome",
    "decode": "genome",
    "design_key": "genome",
    "encode": "genome",
    "Crossover": "settings",
    "EvolutionSettings": "settings",
    "Mutation": "settings",
    "Stop": "settings",
    "Birth": "steady",
    "SteadyState": "steady",
    "replay": "steady",
}

__all__ = [
    "ALL_GOALS_MET",
    "HALL_OF_FAME_SIZE",
    "Birth",
    "Candidate",
    "Crossover",
    "Evolution",
    "EvolutionSettings",
    "Gene",
    "Mutation",
    "Scored",
    "Search",
    "SteadyState",
    "Stop",
    "decode",
    "design_key",
    "encode",
    "individual_id",
    "replay",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
