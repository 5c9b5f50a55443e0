"""Cells at edges of metal, and those in between, are two entries for antennas in space."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patch_files import PROBE, STUDY

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna, load_experiment
from antennaopt.solve.simulate import with_cell
from antennaopt.solve.yee_plan import grid_of, plan, scene_of


def test_cells_between_edges_are_set_next_to_those_at_edges(tmp_path: Path) -> None:
    """A file may give both: `cell` stays, cells in each medium follow the density, and the certificate halves both."""
    plans = []
    for given in ("", "cells_per_wavelength = 40\n"):
        (tmp_path / "p.toml").write_text(PROBE.replace('cell = "2 mm"\n', 'cell = "2 mm"\n' + given))
        antenna = load_antenna(tmp_path / "p.toml")
        plans.append(plan("patch", antenna.design(), antenna.design(), antenna.solver.settings))
    alone, denser = plans
    assert (alone.cells_per_wavelength, denser.cells_per_wavelength) == (20.0, 40.0)
    assert denser.cell == alone.cell == 2e-3
    assert math.prod(denser.shape) > 1.5 * math.prod(alone.shape)
    design, settings = antenna.design(), antenna.solver.settings.with_cell(1e-3)
    half = plan("patch", design, design, settings, halving=denser)
    assert (half.cell, half.cells_per_wavelength) == (1e-3, 80.0)


def test_cells_between_edges_that_are_too_coarse_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PROBE.replace('cell = "2 mm"\n', 'cell = "2 mm"\ncells_per_wavelength = 6\n'))
    with pytest.raises(ConfigurationError, match="cells_per_wavelength = 6 is too coarse"):
        load_antenna(tmp_path / "p.toml")


@pytest.mark.parametrize("given", ["solver.cells_per_wavelength=40", "solver.cell=2 mm"])
def test_an_override_of_one_keeps_the_other(tmp_path: Path, given: str) -> None:
    entry = 'cell = "2 mm"\n' if "wavelength" in given else "cells_per_wavelength = 40\n"
    (tmp_path / "p.toml").write_text(PROBE.replace('cell = "2 mm"\n', entry))
    solver = load_antenna(tmp_path / "p.toml", [given]).solver
    assert (solver.cell, solver.cells_per_wavelength) == (2e-3, 40.0)
    (tmp_path / "p.toml").write_text(PROBE)
    solver = load_antenna(tmp_path / "p.toml", ["solver.cells_per_wavelength=40", "solver.cell=1 mm"]).solver
    assert (solver.cell, solver.cells_per_wavelength) == (1e-3, 40.0)


def test_a_change_of_one_keeps_the_other(tmp_path: Path) -> None:
    """But the density that a file without cells has by default makes place for a cell."""
    (tmp_path / "p.toml").write_text(PROBE)
    antenna = load_antenna(tmp_path / "p.toml")
    denser = antenna.changed(solver={"cells_per_wavelength": 40.0})
    assert (denser.solver.cell, denser.solver.cells_per_wavelength) == (2e-3, 40.0)
    finer = denser.changed(solver={"cell": 1e-3})
    assert (finer.solver.cell, finer.solver.cells_per_wavelength) == (1e-3, 40.0)
    (tmp_path / "p.toml").write_text(PROBE.replace('cell = "2 mm"\n', ""))
    own = load_antenna(tmp_path / "p.toml").changed(solver={"cell": 1e-3}).solver
    assert (own.cell, own.cells_per_wavelength) == (1e-3, None)


@pytest.mark.parametrize("entry", ['cell = "2 mm"\n', 'cell = "2 mm"\ncells_per_wavelength = 40\n', ""])
@pytest.mark.parametrize(("option", "value"), [("cell", "1.5 mm"), ("cells_per_wavelength", 30.0)])
def test_the_command_and_python_solve_the_same_cells(tmp_path: Path, entry: str, option: str, value: Any) -> None:
    """Python dropped the other size of cells, which the command kept."""
    (tmp_path / "p.toml").write_text(PROBE.replace('cell = "2 mm"\n', entry))
    by_command = load_antenna(tmp_path / "p.toml", [f"solver.{option}={value}"]).solver
    sizes: dict[str, Any] = {"cell": None, "cells_per_wavelength": None, option: value}
    by_python = with_cell(load_antenna(tmp_path / "p.toml"), sizes["cells_per_wavelength"], sizes["cell"]).solver
    assert (by_python.cell, by_python.cells_per_wavelength) == (by_command.cell, by_command.cells_per_wavelength)


def test_levels_by_density_are_refused_next_to_a_cell(tmp_path: Path) -> None:
    """The coarser level had smaller cells at edges than the finest."""
    (tmp_path / "p.toml").write_text("fidelity = { cells_per_wavelength = [10] }\n" + STUDY)
    with pytest.raises(ConfigurationError, match=r"cells_per_wavelength does not go with solver\.cell = 2 mm"):
        load_experiment(tmp_path / "p.toml")


def test_cells_across_a_substrate_follow_those_at_edges(tmp_path: Path) -> None:
    """At least three, and none more than 1.3 times as high as those at edges are wide: errors of both fall together."""
    (tmp_path / "p.toml").write_text(PROBE)
    antenna = load_antenna(tmp_path / "p.toml")
    design, thickness = antenna.design(), antenna.design()["substrate.thickness"]
    for size, count in ((2e-3, 3), (thickness / 4, 4), (thickness / 12, 10)):
        made = plan("patch", design, design, antenna.solver.settings.with_cell(size))
        board = antenna.kind.board(design)
        assert board is not None
        planes = grid_of(made, scene_of(board, 5.8e9, (5.6e9, 5.8e9, 6e9))).z
        assert np.count_nonzero((planes > -1e-9) & (planes < thickness - 1e-9)) == count
