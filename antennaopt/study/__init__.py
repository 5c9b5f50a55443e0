"""The study: what `antennaopt run` and `antennaopt resume` do, from an experiment to its best antenna."""

from antennaopt.study._best import antenna_toml, finite, result_object
from antennaopt.study._driver import Driver
from antennaopt.study._estimate import DryRun, estimate
from antennaopt.study._fork import Ancestry, Fork, fork_of
from antennaopt.study._interrupt import StopSignals
from antennaopt.study._parties import NOT_KEPT, Evaluation, Farm, Recalled, Store
from antennaopt.study._planning import halved_plan, plan_for
from antennaopt.study._progress import Bar, GenerationReport, Lines, Progress, Quiet, duration, for_terminal
from antennaopt.study._resuming import differences, plan_to_resume
from antennaopt.study._run import open_farm, resume, run
from antennaopt.study._steady import SteadyDriver
from antennaopt.study._store import FolderStore, outcome_of_row
from antennaopt.study._summary import Finalist, RunSummary

__all__ = [
    "NOT_KEPT",
    "Ancestry",
    "Bar",
    "Driver",
    "DryRun",
    "Evaluation",
    "Farm",
    "Finalist",
    "FolderStore",
    "Fork",
    "GenerationReport",
    "Lines",
    "Progress",
    "Quiet",
    "Recalled",
    "RunSummary",
    "SteadyDriver",
    "StopSignals",
    "Store",
    "antenna_toml",
    "differences",
    "duration",
    "estimate",
    "finite",
    "for_terminal",
    "fork_of",
    "halved_plan",
    "open_farm",
    "outcome_of_row",
    "plan_for",
    "plan_to_resume",
    "result_object",
    "resume",
    "run",
]
