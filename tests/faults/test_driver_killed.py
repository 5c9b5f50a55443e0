"""The driver's process gets real signals while real workers solve: what is resumed equals what was left alone.

The strike falls after the checkpoint of one generation and in the middle of the next: there the workers wait at a gate
until it has come, so that neither a slow machine nor a fast one moves it. Strikes at any other moment, before the first
checkpoint too, are those of `test_every_write`, and for each algorithm those of `test_every_write_of_each`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import bits
import cheap_lens
import pandas as pd
import pytest
from driver_processes import kill_once, resumed, undisturbed
from waiting import SAFETY_S, wait_until

from antennaopt.search import ALGORITHMS

HERE = Path(__file__).parent
ACCIDENTAL = ["seconds", "stepping_seconds", "worker", "attempt"]
AIMS = [{"metric": "directivity_dbi", "aim": "largest"}, {"metric": "diameter_mm", "aim": "least"}]
POPULATION = 12
OTHERS = [*(name for name in ALGORITHMS if name not in ("ga", "steady_state")), "auto"]
"""Algorithms with generations but the default; `test_steady_killed` has the one without."""

pytestmark = pytest.mark.slow


def command(*arguments):
    return [sys.executable, str(HERE / "cheap_lens.py"), *map(str, arguments)]


def table(folder):
    rows = pd.read_parquet(folder / "evals").sort_values(["generation", "slot"], ignore_index=True)
    return rows.drop(columns=ACCIDENTAL)


def checkpoints(folder):
    return {path.name: path.read_bytes() for path in (folder / "checkpoint").iterdir()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    root = tmp_path_factory.mktemp("whole")
    done = subprocess.run(command("run", root), capture_output=True, text=True, timeout=SAFETY_S, check=True)
    return Path(done.stdout.strip().splitlines()[-1])


def ended(process):
    assert process.poll() is None
    return False


def struck(root, numbers, generation):
    """Start a run, send signals to its driver in the middle of a generation, and return exit code and folder.

    Ten antennas are solved in the first generation, eight in each other one; of the one to be struck, three.
    """
    after = 10 + 8 * (generation - 1) + 3
    plan, gate = cheap_lens.gated(root, after)
    process = subprocess.Popen(
        command("run", root, json.dumps(plan)), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        written = f"cheap_lens/*/checkpoint/checkpoint-{generation - 1:06d}.json"
        wait_until(lambda: ended(process) or (cheap_lens.reached(gate, after) and list(root.glob(written))))
        for number in numbers:
            os.kill(process.pid, number)
            time.sleep(0.05)
        (gate / "open").touch()
        code = process.wait(timeout=SAFETY_S)
    finally:
        (gate / "open").touch()
        process.kill()
        process.wait()
    (folder,) = (root / "cheap_lens").iterdir()
    return code, folder


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ([signal.SIGKILL], -signal.SIGKILL),
        ([signal.SIGTERM], 143),
        ([signal.SIGINT], 130),
        ([signal.SIGINT, signal.SIGINT], 130),
    ],
    ids=["SIGKILL", "SIGTERM", "SIGINT", "SIGINT twice"],
)
@pytest.mark.parametrize("generation", [1, 2])
def test_resumed_it_is_equal(whole, tmp_path, numbers, code, generation):
    returned, folder = struck(tmp_path, numbers, generation)
    assert returned == code
    assert max(checkpoints(folder)) >= f"checkpoint-{generation - 1:06d}.json"
    assert len(checkpoints(whole)) == 2 and max(checkpoints(folder)) < max(checkpoints(whole))
    subprocess.run(command("resume", folder), capture_output=True, timeout=SAFETY_S, check=True)
    pd.testing.assert_frame_equal(table(folder), table(whole), check_exact=True)
    assert checkpoints(folder) == checkpoints(whole)


def begun(algorithm):
    """Options of a run in which every individual is solved."""
    evolution = {"algorithm": algorithm, "population": POPULATION, "generations": 4, "elites": 0}
    goals = {"objective": AIMS} if algorithm != "auto" and ALGORITHMS[algorithm].front else {}
    return "--evolution", json.dumps({**evolution, "stop": {"goals": False}}), "--goals", json.dumps(goals)


@pytest.mark.parametrize("algorithm", OTHERS)
def test_a_search_of_each_algorithm_is_equal_after_a_signal_and_a_kill(tmp_path, algorithm):
    """SIGTERM in the second generation, with three of it solved; SIGKILL in the third, in the session that goes on.

    The gate is a new one for that session. It stands after the rest of the second generation.
    """
    options, after = begun(algorithm), POPULATION + 3
    whole = undisturbed(tmp_path / "whole", *options)
    plan, gate = cheap_lens.gated(tmp_path, after)

    def at_the_gate():
        return cheap_lens.reached(gate, after)

    arguments = ("run", tmp_path / "struck", json.dumps(plan), *options)
    assert kill_once(at_the_gate, gate, *arguments, number=signal.SIGTERM) == 143
    (folder,) = (tmp_path / "struck" / "cheap_lens").iterdir()
    newest = json.loads(max((folder / "checkpoint").iterdir()).read_text())
    assert newest["payload"]["generation"] == 1
    assert 3 <= len(newest["payload"]["state"]["partial"]) < POPULATION
    shutil.rmtree(gate)
    gate.mkdir()
    assert kill_once(at_the_gate, gate, "resume", folder) == -signal.SIGKILL
    assert POPULATION < len(bits.rows(folder)) < len(bits.rows(whole))
    resumed(folder, workers=False)
    bits.assert_equal(folder, whole)
    assert (folder / "resolved.json").read_bytes() == (whole / "resolved.json").read_bytes()
