"""A search for a front, and one with constraints: the driver killed in a generation, rows lost and repaired.

What is resumed or repaired equals the run that nothing happened to: rows, patterns, checkpoints.
"""

import json
import shutil
from pathlib import Path

import bits
import cheap_lens
import pytest
from driver_processes import kill_once, one_of, resumed, undisturbed

HERE = Path(__file__).parent
AIMS = [{"metric": "directivity_dbi", "aim": "largest"}, {"metric": "diameter_mm", "aim": "least"}]
HELD = [{"metric": "directivity_dbi", "at_least": 27.0}]
GOAL = [{"metric": "diameter_mm", "at_most": 20.0}]
POPULATION = 12
RUNS = {
    "nsga2": {"objective": AIMS, "constraint": HELD},
    "de": {"objective": GOAL, "constraint": HELD},
    "cmaes": {"objective": GOAL, "constraint": HELD},
    "surrogate": {"objective": GOAL, "constraint": HELD},
    "random": {"objective": GOAL, "constraint": HELD},
}

pytestmark = pytest.mark.slow


def begun(algorithm):
    """Options of a run, without a workshop's farm; no individual passes without a new evaluation."""
    evolution = {"algorithm": algorithm, "population": POPULATION, "generations": 5, "elites": 0}
    evolution["stop"] = {"goals": False}
    return "--evolution", json.dumps(evolution), "--goals", json.dumps(RUNS[algorithm])


@pytest.fixture(scope="module", params=RUNS)
def quiet(request, tmp_path_factory):
    """An algorithm, and its run that nothing happened to."""
    root = tmp_path_factory.mktemp(request.param)
    return request.param, undisturbed(root, *begun(request.param))


def test_killed_in_a_generation_it_is_resumed_to_the_same_bits(quiet, tmp_path):
    algorithm, whole = quiet
    generation = one_of((1, 3), RUNS, algorithm)
    after = POPULATION * generation + 5
    plan, gate = cheap_lens.gated(tmp_path, after)
    written = f"cheap_lens/*/checkpoint/checkpoint-{generation - 1:06d}.json"

    def at_the_gate():
        return cheap_lens.reached(gate, after) and list(tmp_path.glob(written))

    kill_once(at_the_gate, gate, "run", tmp_path, json.dumps(plan), *begun(algorithm))
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    assert len(bits.rows(folder)) == POPULATION * generation
    resumed(folder, workers=True)
    bits.assert_equal(folder, whole)


def test_lost_rows_are_repaired_to_the_same_bits(quiet, tmp_path):
    _, whole = quiet
    folder = Path(shutil.copytree(whole, tmp_path / whole.name))
    (folder / "evals" / "gen-000002.parquet").unlink()
    cheap_lens.go_on(folder, farm=cheap_lens.serial, repair=True)
    bits.assert_equal(folder, whole)
