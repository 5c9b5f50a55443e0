"""The study: what `antennaopt run` and `antennaopt resume` do, from an experiment to its best antenna."""

from antennaopt.run.best import antenna_toml
from antennaopt.run.continuation import differences, plan_to_resume
from antennaopt.run.driver import Driver
from antennaopt.run.dry_run import DryRun, estimate
from antennaopt.run.folder_store import FolderStore, outcome_of_row
from antennaopt.run.fork import Ancestry, Fork, fork_of
from antennaopt.run.interfaces import NOT_KEPT, Evaluation, Farm, Recalled, Store
from antennaopt.run.interrupt import StopSignals
from antennaopt.run.planning import halved_plan, plan_for
from antennaopt.run.progress import Bar, GenerationReport, Lines, Progress, Quiet, duration, for_terminal
from antennaopt.run.start import open_farm, resume, run
from antennaopt.run.steady import SteadyDriver
from antennaopt.run.summary import Finalist, RunSummary

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
    "for_terminal",
    "fork_of",
    "halved_plan",
    "open_farm",
    "outcome_of_row",
    "plan_for",
    "plan_to_resume",
    "resume",
    "run",
]
