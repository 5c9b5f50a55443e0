"""Objectives: outcomes in, shortfalls in dB out, and how candidates rank by them. They read outcomes only."""

from antennaopt.search.objectives.goal import WORST_SHORTFALL_DB, Objective, Standing, standings
from antennaopt.search.objectives.ranking import Ranking, shortfalls
from antennaopt.search.objectives.registry import build

__all__ = [
    "WORST_SHORTFALL_DB",
    "Objective",
    "Ranking",
    "Standing",
    "build",
    "shortfalls",
    "standings",
]
