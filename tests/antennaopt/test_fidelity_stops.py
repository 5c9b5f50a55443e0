"""Levels of a search that differ in their stop: which are refused, what they are called, how they are planned."""

from __future__ import annotations

import pytest
from test_fidelity import COARSE, FINE, PLAN, Heard, carried_out, experiment

from antennaopt.errors import ConfigurationError
from antennaopt.report.convergence import convergence_figure
from antennaopt.report.page import write_report
from antennaopt.report.record import read_run
from antennaopt.run.planning import coarser_plans_for
from antennaopt.store.levels import account_lines

SOLVER = {"frequencies": ["30 GHz"], "cell": "0.3 mm"}


@pytest.mark.parametrize(
    ("solver", "decay_db", "message"),
    [
        (
            {"decay_db": 30},
            25,
            "fidelity.decay_db = 25 stops a search at -20 dB, as solver.decay_db = 30 does; raise solver.decay_db or "
            "leave it out",
        ),
        (
            {"steps": 3000},
            30,
            "fidelity.decay_db = 30 does not go with solver.steps = 3000, which sets the steps of all levels; remove "
            "one of them",
        ),
    ],
)
def test_a_stop_that_makes_no_level_is_refused(solver, decay_db, message):
    """Both levels of such a file would be the same: its second one would solve the promoted again for nothing."""
    with pytest.raises(ConfigurationError) as refused:
        experiment(solver=SOLVER | solver, fidelity={"decay_db": decay_db})
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_a_stop_that_makes_a_level_is_accepted():
    """With the full pulse a search stops at `decay_db` itself."""
    for solver in ({"decay_db": 31}, {"decay_db": 30, "pulse": "full"}):
        assert experiment(solver=SOLVER | solver, fidelity={"decay_db": 25}).fidelity.decay_db == 25


@pytest.mark.parametrize(
    ("solver", "fidelity", "cells"),
    [
        ({"cells_per_wavelength": 20}, {"decay_db": 30}, [FINE]),
        ({"cell": "0.3 mm"}, {"decay_db": 30}, [FINE]),
        ({"cell": "0.3 mm"}, {"cells": ["0.6 mm"], "decay_db": 30}, [COARSE]),
        ({"cell": "0.3 mm"}, {"cells_per_wavelength": [10, 12]}, [6.282e-4, 5.235e-4]),
    ],
)
def test_levels_of_an_own_evaluation_have_the_cells_and_the_stop_of_the_file(solver, fidelity, cells):
    """Without coarser cells theirs are the plan's, whatever [solver] says: they were twice as large."""
    one = experiment(solver={"frequencies": ["30 GHz"], **solver}, fidelity={**fidelity, "finish": 0.15})
    for plan in ({"cell": FINE}, {"cell": FINE, "layout": {"decay": 1e-5, "nr": 3}}):
        found = coarser_plans_for(one, plan, made_up=True)
        assert [each["cell"] for each in found] == pytest.approx(cells, rel=1e-3)
        stops = [each.get("layout", each).get("decay") for each in found]
        assert stops == [1e-2 if "decay_db" in fidelity else plan.get("layout", {}).get("decay")] * len(found)
        assert all(each.get("layout", {"nr": 3})["nr"] == 3 for each in found)


def test_levels_of_the_same_cells_are_called_by_their_stops(tmp_path, blank_figures):
    """Progress and report had "level 1/2, 0.3 mm" and "level 2/2, 0.3 mm"."""
    heard = Heard()
    ladder = {"decay_db": 30, "promote": 0.3, "finish": 0.3}
    done = carried_out(
        tmp_path, plan={**PLAN, "decay": 1e-5}, progress=heard, fidelity=ladder, evolution={"generations": 4}
    )
    heads = [one.line().split("  ")[0] for one in heard.reports]
    assert heads[0] == "generation 1/4 (level 1/2, 0.3 mm, stopped at -20 dB)"
    assert heads[-1] == "generation 4/4 (level 2/2, 0.3 mm, stopped at -50 dB)"
    assert [one.split(":")[0] for one in account_lines(done.levels)] == [
        f"level {place}/2  cells of 0.3 mm, stopped at {stop} dB" for place, stop in ((1, -20), (2, -50))
    ]
    assert ": 1 antenna, " in account_lines([{"cell": 3e-4, "antennas": 1, "seconds": 1.0}])[0]
    page = write_report(done.folder).read_text("utf-8")
    for text in (
        "Level 1, cells of 0.3 mm, stopped at -20 dB",
        "Level 2, cells of 0.3 mm, stopped at -50 dB",
        "antennas solved with cells of 0.3 mm, stopped at -50 dB",
        "of an earlier level",
    ):
        assert text in page
    assert "coarser cells" not in page
    titles = [axes.get_title("left") for axes in convergence_figure(read_run(done.folder)).axes]
    assert titles == ["level 1: 0.3 mm\nstopped at -20 dB", "level 2: 0.3 mm\nstopped at -50 dB"]
