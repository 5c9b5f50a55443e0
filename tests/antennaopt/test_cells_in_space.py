"""Cells at edges of metal, and those in between, are two entries for antennas in space."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from patch_files import PROBE

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna
from antennaopt.solve.yee_plan import plan


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
