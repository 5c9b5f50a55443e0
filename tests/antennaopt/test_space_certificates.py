"""The second mesh of the certificate of an antenna in space: half of all cells, not of those at edges alone."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from test_narrow import FILES, loaded

from antennaopt.run.certification import _still_holds
from antennaopt.solve.yee_plan import grid_of, plan, scene_of

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import space_certificates

ROOT = Path(__file__).parents[2]


def inner_cells(grid, axis):
    """Return cells along an axis in front of the absorbing layers, m."""
    below, above = grid.layers[2 * axis : 2 * axis + 2]
    return np.diff(grid.planes[axis])[below : grid.counts[axis] - above]


@pytest.mark.parametrize("case", FILES)
def test_all_cells_are_about_halved(case):
    """Twice as many cells in air, in dielectrics and across layers, along each axis, and the largest ones halved.

    Lattices adapt to edges, so the numbers are not exactly two: 1.5 to 2.4 of ten antennas. With cells at edges halved
    alone they were 1.0 to 1.4, and the certificate trusted a resonator whose dielectric had the same cells twice.
    """
    experiment = loaded(FILES[case])
    design, settings = experiment.design(), experiment.solver.settings
    own = plan(experiment.kind, design, design, settings)
    half = plan(experiment.kind, design, design, settings.with_cell(own.cell / 2), halving=own)
    board = experiment.kind.board(design)
    grids = [grid_of(one, scene_of(board, one.design_frequency, one.frequencies)) for one in (own, half)]
    for axis in range(3):
        coarse, fine = (inner_cells(grid, axis) for grid in grids)
        assert len(fine) >= 1.5 * len(coarse), "xyz"[axis]
        assert fine.max() <= 0.7 * coarse.max(), "xyz"[axis]


def test_the_page_has_the_stored_figures():
    rows = json.loads((ROOT / "results/benchmarks/cpu/space_certificates.json").read_text("utf-8"))
    assert space_certificates.table(rows) in (ROOT / "docs/guide/accuracy.md").read_text("utf-8")
    assert all(space_certificates.drawn(row["family"], row["number"]) == row["design"] for row in rows)
    for row in rows:
        assert row["outcome"]["status"] == "ok" and row["commit"] and row["machine"]


def test_a_certificate_of_the_former_second_mesh_is_made_again():
    """A run that is resumed kept "trusted" of a mesh on which only cells at edges were halved."""
    about = {"cell": 1e-3, "backend": "cpu", "between": 6.0}
    kept = {"halved": {**about, "status": "ok"}, "balance": {"figure": 0.001}}
    former = {**kept, "halved": {"cell": 1e-3, "backend": "cpu", "status": "ok"}}
    assert _still_holds(kept, about)
    assert not _still_holds(former, about)
