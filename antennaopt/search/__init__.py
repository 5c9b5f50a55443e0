"""The genetic algorithm: genomes in [0, 1], bounded operators, a generation loop as ask and tell.

DEAP's operators are used in here and nowhere else. What crosses the border is plain numbers and ids.
"""

from antennaopt.search.base import ALL_GOALS_MET, HALL_OF_FAME_SIZE, Search
from antennaopt.search.candidate import Candidate, Scored, individual_id
from antennaopt.search.generational import Evolution
from antennaopt.search.genome import Gene, decode, design_key, encode
from antennaopt.search.settings import Crossover, EvolutionSettings, Mutation, Stop
from antennaopt.search.steady import Birth, SteadyState, replay

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
