"""What `antennaopt run` and `antennaopt resume` do, from an experiment to its best antenna.

Everything is imported when it is first asked for: `antennaopt simulate` needs neither the search nor the farm.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.run.continuation import Ancestry, Fork, differences, fork_of, plan_to_resume
    from antennaopt.run.driver import Driver
    from antennaopt.run.interfaces import NOT_KEPT, Evaluation, Farm, Interfaces, Recalled, Store
    from antennaopt.run.planning import DryRun, estimate, halved_plan, plan_for
    from antennaopt.run.process import StopSignals
    from antennaopt.run.progress import Bar, GenerationReport, Lines, Progress, Quiet, duration, for_terminal
    from antennaopt.run.start import open_farm, resume, run
    from antennaopt.run.stores import FolderStore, outcome_of_row
    from antennaopt.run.summary import Finalist, RunSummary, antenna_toml

_HOMES = {
    "antenna_toml": "summary",
    "Ancestry": "continuation",
    "Fork": "continuation",
    "differences": "continuation",
    "fork_of": "continuation",
    "plan_to_resume": "continuation",
    "Driver": "driver",
    "Evaluation": "interfaces",
    "Farm": "interfaces",
    "Interfaces": "interfaces",
    "NOT_KEPT": "interfaces",
    "Recalled": "interfaces",
    "Store": "interfaces",
    "DryRun": "planning",
    "estimate": "planning",
    "halved_plan": "planning",
    "plan_for": "planning",
    "StopSignals": "process",
    "Bar": "progress",
    "GenerationReport": "progress",
    "Lines": "progress",
    "Progress": "progress",
    "Quiet": "progress",
    "duration": "progress",
    "for_terminal": "progress",
    "open_farm": "start",
    "resume": "start",
    "run": "start",
    "FolderStore": "stores",
    "outcome_of_row": "stores",
    "Finalist": "summary",
    "RunSummary": "summary",
}

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
    "Interfaces",
    "Lines",
    "Progress",
    "Quiet",
    "Recalled",
    "RunSummary",
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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
