"""A search on coarse cells that finishes on fine ones: killed on either, and between them; rows lost and repaired.

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
ALGORITHMS = ("ga", "cmaes", "cmaes+refit", "surrogate")
FIDELITY = {"fidelity": {"cells": ["0.6 mm", "0.3 mm"], "promote": 0.5, "finish": 0.4}}

pytestmark = pytest.mark.slow


def begun(name):
    """Options of a run of three coarse generations and two fine ones; the fourth is promoted."""
    algorithm, *refit = name.split("+")
    evolution = {"algorithm": algorithm, "population": POPULATION, "generations": 5}
    solver = {"solver": {"frequencies": ["30 GHz"], "cell": "0.3 mm"}}
    fidelity = {"fidelity": {**FIDELITY["fidelity"], "refit": True}} if refit else FIDELITY
    return "--evolution", json.dumps(evolution), "--goals", json.dumps({**fidelity, **solver})


@pytest.fixture(scope="module", params=ALGORITHMS)
def quiet(request, tmp_path_factory):
    """An algorithm, and its run that nothing happened to."""
    root = tmp_path_factory.mktemp(request.param)
    return request.param, undisturbed(root, *begun(request.param))


def test_the_run_has_both_levels(quiet):
    rows = bits.rows(quiet[1])
    assert rows.groupby("generation")["level"].first().tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(("generation", "solved"), [(1, 5), (3, 0), (4, 2)])
def test_killed_on_any_level_it_is_resumed_to_the_same_bits(quiet, tmp_path, generation, solved):
    """In generation 3 the first level is over, and nothing of the next one is solved."""
    algorithm, whole = quiet
    rows = bits.rows(whole)
    before = rows[(rows["generation"] < generation) & ~rows["cached"]]
    after = len(before) + solved
    plan, gate = cheap_lens.gated(tmp_path, after)
    written = f"cheap_lens/*/checkpoint/checkpoint-{generation - 1:06d}.json"

    def at_the_gate():
        return cheap_lens.reached(gate, after) and list(tmp_path.glob(written))

    kill_once(at_the_gate, gate, "run", tmp_path, json.dumps(plan), *begun(algorithm))
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    assert len(bits.rows(folder)) == (rows["generation"] < generation).sum()
    resumed(folder, workers=generation == 4)
    bits.assert_equal(folder, whole)


def test_lost_rows_of_any_level_are_repaired_to_the_same_bits(quiet, tmp_path):
    algorithm, whole = quiet
    generation = one_of((2, 3), ALGORITHMS, algorithm)
    folder = Path(shutil.copytree(whole, tmp_path / whole.name))
    (folder / "evals" / f"gen-{generation:06d}.parquet").unlink()
    (folder / "patterns" / f"gen-{generation:06d}.parquet").unlink()
    cheap_lens.go_on(folder, farm=cheap_lens.serial, repair=True)
    bits.assert_equal(folder, whole)


def test_changed_plans_of_coarse_levels_are_refused(quiet, tmp_path):
    from antennaopt.errors import ResumeRefusedError

    folder = Path(shutil.copytree(quiet[1], tmp_path / "changed"))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["fidelity"]["plans"][0]["cell"] = 5e-4
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ResumeRefusedError, match="the plans of fidelity are not those"):
        cheap_lens.go_on(folder, farm=cheap_lens.serial)
