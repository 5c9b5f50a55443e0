"""The driver's process gets real signals while real workers solve: what is resumed equals what was left alone.

The strike falls after the checkpoint of one generation and in the middle of the next: there the workers wait at a gate
until it has come, so that neither a slow machine nor a fast one moves it. Strikes at any other moment, before the first
checkpoint too, are those of `test_every_write`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cheap_lens
import pandas as pd
import pytest
from waiting import SAFETY_S, wait_until

HERE = Path(__file__).parent
ACCIDENTAL = ["seconds", "stepping_seconds", "worker", "attempt"]

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
