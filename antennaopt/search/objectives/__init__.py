"""Objectives: outcomes in, shortfalls in dB and one fitness out. They read outcomes only."""

from antennaopt.search.objectives.fitness import fitness, penalty, score, shortfalls
from antennaopt.search.objectives.goal import MetricGoal
from antennaopt.search.objectives.objective import WORST_SHORTFALL_DB, Objective
from antennaopt.search.objectives.registry import build
from antennaopt.search.objectives.standing import Standing, standings

__all__ = [
    "WORST_SHORTFALL_DB",
    "MetricGoal",
    "Objective",
    "Standing",
    "build",
    "fitness",
    "penalty",
    "score",
    "shortfalls",
    "standings",
]
