"""The genetic algorithm: genomes in [0, 1], bounded operators, a generation loop as ask and tell.

DEAP's operators are used in here and nowhere else. What crosses the border is plain numbers and ids.
"""

from antennaopt.evolution._candidate import Candidate, Scored, individual_id
from antennaopt.evolution._genome import Gene, decode, design_key, encode
from antennaopt.evolution._loop import Evolution
from antennaopt.evolution._search import ALL_GOALS_MET, HALL_OF_FAME_SIZE, Search
from antennaopt.evolution._settings import Crossover, EvolutionSettings, Mutation, Stop
from antennaopt.evolution._steady import Birth, SteadyState, replay

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
