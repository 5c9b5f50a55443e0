"""A search with a local search at its end: killed before, in and between both, rows lost and repaired.

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
RUNS = {
    "ga": {"generations": 5},
    "cmaes": {"generations": 5},
    "surrogate": {"generations": 5},
    "random": {"generations": 5},
    "de": {"generations": 12, "stop": {"evaluations": 50}},
}
FINE = {"fidelity": {"cells": ["0.6 mm", "0.3 mm"], "promote": 0.5, "finish": 0.2}}

KINDS = (*RUNS, "ga+fine")
KILLS = (3, 4), (2, 0), (2, 5), (1, 2)
"""Generations before the end, and antennas of it that are solved."""

pytestmark = pytest.mark.slow


def begun(name):
    """Options of a run whose last two generations, or last seven evaluations, are polished."""
    algorithm, *fine = name.split("+")
    evolution = {"algorithm": algorithm, "population": POPULATION, "polish": True, **RUNS[algorithm]}
    goals = {"solver": {"frequencies": ["30 GHz"], "cell": "0.3 mm"}, **(FINE if fine else {})}
    if fine:
        evolution["generations"] = 6
    return "--evolution", json.dumps(evolution), "--goals", json.dumps(goals)


@pytest.fixture(scope="module", params=KINDS)
def quiet(request, tmp_path_factory):
    """A kind of run, and its run that nothing happened to."""
    root = tmp_path_factory.mktemp(request.param)
    return request.param, undisturbed(root, *begun(request.param))


def test_the_end_is_polished(quiet):
    rows = bits.rows(quiet[1])
    polished = rows.groupby("generation")["operator"].agg(lambda one: (one == "polished").all())
    assert (
        polished.tolist()
        == {
            "ga": [False] * 3 + [True] * 2,
            "cmaes": [False] * 3 + [True] * 2,
            "surrogate": [False] * 3 + [True] * 2,
            "random": [False] * 3 + [True] * 2,
            "de": [False] * 5 + [True],
            "ga+fine": [False] * 4 + [True] * 2,
        }[quiet[0]]
    )


def test_killed_anywhere_it_is_resumed_to_the_same_bits(quiet, tmp_path):
    """Another place for each kind of run; `test_every_write_of_each` strikes all of them at all writes."""
    name, whole = quiet
    before_the_end, solved = one_of(KILLS, KINDS, name)
    rows = bits.rows(whole)
    generation = int(rows["generation"].max()) + 1 - before_the_end
    before = rows[(rows["generation"] < generation) & ~rows["cached"]]
    after = len(before) + solved
    plan, gate = cheap_lens.gated(tmp_path, after)
    written = f"cheap_lens/*/checkpoint/checkpoint-{generation - 1:06d}.json"

    def at_the_gate():
        return cheap_lens.reached(gate, after) and list(tmp_path.glob(written))

    kill_once(at_the_gate, gate, "run", tmp_path, json.dumps(plan), *begun(name))
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    resumed(folder, workers=True)
    bits.assert_equal(folder, whole)


def test_lost_rows_are_repaired_to_the_same_bits(quiet, tmp_path):
    name, whole = quiet
    before_the_end = one_of((1, 2, 3), KINDS, name)
    generation = int(bits.rows(whole)["generation"].max()) + 1 - before_the_end
    folder = Path(shutil.copytree(whole, tmp_path / whole.name))
    (folder / "evals" / f"gen-{generation:06d}.parquet").unlink()
    (folder / "patterns" / f"gen-{generation:06d}.parquet").unlink()
    cheap_lens.go_on(folder, farm=cheap_lens.serial, repair=True)
    bits.assert_equal(folder, whole)
