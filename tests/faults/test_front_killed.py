"""A search for a front, and one with constraints: the driver killed in a generation, rows lost and repaired.

What is resumed or repaired equals the run that nothing happened to: rows, patterns, checkpoints.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import bits
import cheap_lens
import pytest
from waiting import SAFETY_S, wait_until

HERE = Path(__file__).parent
AIMS = [{"metric": "directivity_dbi", "aim": "largest"}, {"metric": "diameter_mm", "aim": "least"}]
HELD = [{"metric": "directivity_dbi", "at_least": 27.0}]
GOAL = [{"metric": "diameter_mm", "at_most": 20.0}]
POPULATION = 12
RUNS = {
    "nsga2": {"objective": AIMS, "constraint": HELD},
    "de": {"objective": GOAL, "constraint": HELD},
    "cmaes": {"objective": GOAL, "constraint": HELD},
}

pytestmark = pytest.mark.slow


def command(*arguments):
    return [sys.executable, str(HERE / "cheap_lens.py"), *map(str, arguments)]


def begun(algorithm):
    """Options of a run, without a workshop's farm: `elites` would pass without a new evaluation in none of them."""
    evolution = {"algorithm": algorithm, "population": POPULATION, "generations": 5}
    return "--evolution", json.dumps(evolution), "--goals", json.dumps(RUNS[algorithm])


def finished(*arguments):
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=SAFETY_S)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module", params=RUNS)
def quiet(request, tmp_path_factory):
    """An algorithm, and its run that nothing happened to."""
    root = tmp_path_factory.mktemp(request.param)
    return request.param, finished("run", root, json.dumps({"sleep_s": 0.0}), *begun(request.param), "--serial")


@pytest.mark.parametrize("generation", [1, 3])
def test_killed_in_a_generation_it_is_resumed_to_the_same_bits(quiet, tmp_path, generation):
    algorithm, whole = quiet
    after = POPULATION * generation + 5
    plan, gate = cheap_lens.gated(tmp_path, after)
    process = subprocess.Popen(
        command("run", tmp_path, json.dumps(plan), *begun(algorithm)),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        written = f"cheap_lens/*/checkpoint/checkpoint-{generation - 1:06d}.json"

        def at_the_gate():
            assert process.poll() is None
            return cheap_lens.reached(gate, after) and list(tmp_path.glob(written))

        wait_until(at_the_gate)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=SAFETY_S)
    finally:
        (gate / "open").touch()
        process.kill()
        process.wait()
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    assert len(bits.rows(folder)) == POPULATION * generation
    finished("resume", folder)
    bits.assert_equal(folder, whole)


def test_lost_rows_are_repaired_to_the_same_bits(quiet, tmp_path):
    _, whole = quiet
    folder = Path(shutil.copytree(whole, tmp_path / whole.name))
    (folder / "evals" / "gen-000002.parquet").unlink()
    cheap_lens.go_on(folder, farm=cheap_lens.serial, repair=True)
    bits.assert_equal(folder, whole)
