"""Antennas of a level below the finest: files have the cells of the row, yields those of the run, and both say so."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from test_fidelity import COARSE, FINE, PLAN, Heard, carried_out, experiment, rows_of, serial, solved

import antennaopt as ao
from antennaopt.cli.entry import main
from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna
from antennaopt.run.stores import recall
from antennaopt.run.tolerance import Request, tolerance
from antennaopt.solve.simulate import with_cell

SOLVED = "solved on level 1/2 (cells of 0.6 mm), not on the finest (cells of 0.3 mm)"
TABLE = {"of": {"lens.radii": {"sigma": "0.02 mm"}}}


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    done = carried_out(tmp_path_factory.mktemp("levels"), tolerance=TABLE)
    rows = rows_of(done)
    coarse, fine = (rows[rows["level"] == place].iloc[0]["individual"] for place in (0, 1))
    return SimpleNamespace(folder=done.folder, coarse=coarse, fine=fine)


def test_a_file_of_a_coarse_antenna_has_its_cells(levels, tmp_path, capsys):
    """It had the finest cells next to the fitness of the coarse ones: solved again, it had other figures."""
    for name, cell, says in ((levels.coarse, COARSE, SOLVED), (levels.fine, FINE, "")):
        for option in ("--toml", "--outline"):
            file = tmp_path / f"{name}{option}.toml"
            assert main(["export", str(levels.folder), "--individual", name, option, str(file)]) == 0
            assert load_antenna(file).solver.cell == cell
            assert (SOLVED in file.read_text()) == bool(says)
            assert capsys.readouterr().err.strip() == (f"{name} was {says}" if says else "")


def test_a_coarse_antenna_is_solved_on_its_cells_again_and_told_so(levels, monkeypatch, capsys):
    solved_on = []

    def stop(subject, **options):
        solved_on.append(subject.plan["cell"])
        raise ConfigurationError("stopped here")

    monkeypatch.setattr("antennaopt.solve.simulate.simulate", stop)
    for name, cell in ((levels.coarse, COARSE), (levels.fine, FINE)):
        assert main(["simulate", str(levels.folder), "--individual", name, "--backend", "cpu"]) == 2
        assert (SOLVED in capsys.readouterr().err) == (cell == COARSE)
    assert solved_on == [COARSE, FINE]


@pytest.mark.parametrize(
    ("fidelity", "solver", "cells", "decay_db"),
    [
        ({"cells_per_wavelength": [10], "finish": 0.15}, {"cells_per_wavelength": 20}, (None, 10), 60),
        ({"decay_db": 30, "finish": 0.15}, {"cell": "0.3 mm"}, (FINE, None), 30),
        ("auto", {"cell": "0.3 mm"}, (2.5 * FINE, None), 60),
    ],
)
def test_settings_of_a_level_are_those_that_it_was_planned_with(tmp_path, fidelity, solver, cells, decay_db):
    changes = {"fidelity": fidelity, "solver": {"frequencies": ["30 GHz"], **solver}}
    done = carried_out(tmp_path, plan={**PLAN, "decay": 1e-5}, **changes)
    rows = rows_of(done).drop_duplicates("level").sort_values("level")
    coarse, fine = (recall(done.folder, name).settings for name in rows["individual"])
    assert (coarse.cell, coarse.cells_per_wavelength, coarse.decay_db) == (pytest.approx(cells[0]), cells[1], decay_db)
    assert fine == experiment(**changes).solver.settings


@pytest.mark.parametrize("of", [None, {"lens.radii": {"sigma": "0.03 mm"}}])
def test_a_yield_is_of_the_finest_cells(levels, of):
    """It was of the coarse ones with the run's tolerances, of the finest with others, and no line said which."""
    heard, cells = Heard(), set()

    def watched(family, designs, plan, **options):
        cells.add(plan["cell"])
        return solved(family, designs, plan, **options)

    for name in (levels.coarse, levels.fine):
        request = Request(individual=name, samples=3, of=of)
        tolerance(levels.folder, request, evaluate=watched, farm=serial, progress=heard, cache="off")
    assert sorted(cells) == pytest.approx([FINE])
    assert [SOLVED in line for line in heard.lines if "solved on level" in line] == [True]


def test_an_antenna_of_a_run_with_levels_is_solved_on_any_cells(levels):
    """Cells as coarse as a level were refused, since the search would have had no coarser level."""
    known = ao.open_run(levels.folder).individual(levels.fine)
    for cell in (COARSE, 2.0 * FINE / 3.0):
        assert with_cell(known.experiment, None, cell).solver.cell == cell


def test_either_size_of_the_cells_of_levels_takes_the_place_of_the_other():
    one = experiment()
    other = one.changed(fidelity={"cells_per_wavelength": [10]})
    assert (other.fidelity.cells, other.fidelity.cells_per_wavelength) == (None, (10.0,))
    assert other.changed(fidelity={"cells": [COARSE]}).fidelity.cells == (COARSE,)
    assert other.fidelity.promote == one.fidelity.promote


def test_levels_whose_cells_fit_the_feed_are_taken():
    """A level of 9 cells a wavelength has 4 cells across the feed as [solver] has; its 3.24 before that were judged."""
    air = {"family": "shaped_lens", "lens": {"permittivity": 1.0, "radii": {"count": 4, "min": "8 mm", "max": "20 mm"}}}
    air["feed"] = {"inner_radius": "3.6 mm", "outer_radius": "4.0 mm", "length": "20 mm"}
    solver = {"frequencies": ["30 GHz"], "cells_per_wavelength": 20}
    assert experiment(antenna=air, solver=solver, fidelity={"cells_per_wavelength": [9], "finish": 0.15}).fidelity
    assert experiment(antenna=air, solver={**solver, "cells_per_wavelength": 9}, fidelity=None).solver
    with pytest.raises(ConfigurationError, match=r"3.24 cells across antenna.feed.inner_radius \(needs >= 4\)"):
        experiment(antenna=air, solver=solver, fidelity={"cells": ["1.11 mm"], "finish": 0.15})
