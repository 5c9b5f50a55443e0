"""A search that starts again: the driver killed before, in and after a new start, rows lost and repaired.

What is resumed or repaired equals the run that nothing happened to: rows, patterns, checkpoints.
"""

import json
import shutil
from pathlib import Path

import bits
import cheap_lens
import pytest
from driver_processes import kill_once, one_of, resumed, undisturbed

POPULATION = 10
RUNS = ("ga", "de", "cmaes", "surrogate")
KILLS = (0, 0), (0, 5), (1, 2)
"""Generations after the first that starts again, and antennas of it that are solved."""
GOALS = {"objective": [{"metric": "diameter_mm", "at_most": 20.0}]}

pytestmark = pytest.mark.slow


def begun(algorithm):
    """Options of a run that starts again after each generation without a better best."""
    evolution = {"algorithm": algorithm, "population": POPULATION, "generations": 8, "restart_after": 1}
    return "--evolution", json.dumps({**evolution, "stop": {"goals": False}}), "--goals", json.dumps(GOALS)


@pytest.fixture(scope="module", params=RUNS)
def quiet(request, tmp_path_factory):
    """An algorithm, its run that nothing happened to, and its first generation after the first that starts again."""
    root = tmp_path_factory.mktemp(request.param)
    folder = undisturbed(root, *begun(request.param))
    again = bits.rows(folder).query("operator == 'restart'")
    return request.param, folder, int(again["generation"].min())


def test_whole_generations_are_new(quiet):
    name, folder, first = quiet
    rows = bits.rows(folder)
    fresh = rows[rows["generation"] == first]
    assert (fresh["operator"] == "restart").all()
    assert len(fresh) == POPULATION - (2 if name == "ga" else 0)
    assert 1 < first < 7


def test_killed_anywhere_it_is_resumed_to_the_same_bits(quiet, tmp_path):
    """Another place for each algorithm; `test_every_write_of_each` strikes all of them at all writes."""
    name, whole, first = quiet
    later, solved = one_of(KILLS, RUNS, name)
    rows, generation = bits.rows(whole), first + later
    after = len(rows[(rows["generation"] < generation) & ~rows["cached"]]) + solved
    plan, gate = cheap_lens.gated(tmp_path, after)
    written = f"cheap_lens/*/checkpoint/checkpoint-{generation - 1:06d}.json"

    def at_the_gate():
        return cheap_lens.reached(gate, after) and list(tmp_path.glob(written))

    kill_once(at_the_gate, gate, "run", tmp_path, json.dumps(plan), *begun(name))
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    resumed(folder, workers=True)
    bits.assert_equal(folder, whole)


def test_lost_rows_are_repaired_to_the_same_bits(quiet, tmp_path):
    name, whole, first = quiet
    later = one_of((-1, 0, 1), RUNS, name)
    folder = Path(shutil.copytree(whole, tmp_path / whole.name))
    for part in ("evals", "patterns"):
        (folder / part / f"gen-{first + later:06d}.parquet").unlink()
    cheap_lens.go_on(folder, farm=cheap_lens.serial, repair=True)
    bits.assert_equal(folder, whole)
