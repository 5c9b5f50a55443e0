"""The study: what `antennaopt run` and `antennaopt resume` do, from an experiment to its best antenna."""

from antennaopt.study._driver import Driver
from antennaopt.study._interrupt import StopSignals
from antennaopt.study._parties import Evaluation, Farm, Store
from antennaopt.study._progress import Bar, GenerationReport, Lines, Progress, Quiet, for_terminal

__all__ = [
    "Bar",
    "Driver",
    "Evaluation",
    "Farm",
    "GenerationReport",
    "Lines",
    "Progress",
    "Quiet",
    "StopSignals",
    "Store",
    "for_terminal",
]
