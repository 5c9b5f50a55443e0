"""Objectives: outcomes in, shortfalls in dB and one fitness out. They read outcomes only."""

from antennaopt.objectives._fitness import fitness, penalty, score, shortfalls
from antennaopt.objectives._goal import MetricGoal
from antennaopt.objectives._objective import WORST_SHORTFALL_DB, Objective
from antennaopt.objectives._registry import METRICS, build
from antennaopt.objectives._standing import Standing, standings

__all__ = [
    "METRICS",
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
