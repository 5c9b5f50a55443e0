"""Antennas in space: a file as experiment, board, plan and outcome; the slot-fed resonators of several tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from antennaopt.experiment import Experiment, load_file
from antennaopt.families.spatial import Board
from antennaopt.solve.solvers import evaluator_of, planner_of

SEARCH = "[evolution]\nstart = 'balanis'\n[[objective]]\nmetric = 's11_db'\nat_most = -15\n"
"""What makes a study of a file with a range; it begins with the closed form."""

SLOT_FED = {
    "resonator.height": 7e-3,
    "resonator.permittivity": 10.0,
    "ground.length": 36e-3,
    "ground.width": 36e-3,
    "substrate.permittivity": 3.38,
    "substrate.thickness": 0.8e-3,
    "feed.kind": 1,
    "feed.slot_length": 8.7e-3,
    "feed.slot_width": 1.7e-3,
    "feed.stub_length": 8e-3,
    "feed.line_width": 1.85e-3,
    "feed.line_length": 9e-3,
    "feed.resistance": 50.0,
}
SLOT_FED_CYLINDER = SLOT_FED | {"resonator.shape": 0, "resonator.radius": 8e-3}
SLOT_FED_BLOCK = SLOT_FED | {"resonator.shape": 1, "resonator.length": 14.2e-3, "resonator.width": 14.2e-3}
"""Matched near 5.1 GHz, with no search."""


def loaded(text: str, folder: Path) -> Experiment:
    """Read a file's text."""
    path = folder / "antenna.toml"
    path.write_text(text)
    return load_file(path)


def board_of(text: str, folder: Path) -> Board:
    """Return the sheets, slabs and port of a file's text."""
    experiment = loaded(text, folder)
    board = experiment.kind.board(experiment.design())
    assert board is not None
    return board


def planned(experiment: Experiment) -> Any:
    """Return the plan of one antenna by itself."""
    design = experiment.design()
    return planner_of(experiment.family)(experiment.kind, design, design, experiment.solver.settings)


def solved_alone(experiment: Experiment, **options: Any) -> Any:
    """Return the outcome of one antenna by itself, with S11 across the band unless said otherwise."""
    plan, options = planned(experiment).to_dict(), {"fields": True, **options}
    (outcome,) = evaluator_of(experiment.family)(experiment.family, [experiment.design()], plan, **options)
    assert outcome.ok, outcome.error
    return outcome
