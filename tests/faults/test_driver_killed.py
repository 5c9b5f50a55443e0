"""The driver's process gets real signals while real workers solve: what is resumed equals what was left alone."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

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
    done = subprocess.run(command("run", root), capture_output=True, text=True, timeout=120, check=True)
    return Path(done.stdout.strip().splitlines()[-1])


def struck(root, numbers, generation, wait_s=0.25):
    """Start a run and send signals to its driver some time into a generation; return exit code and folder."""
    process = subprocess.Popen(command("run", root), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        for line in process.stderr:
            if line.startswith(f"generation {generation}/"):
                break
        time.sleep(wait_s)
        for number in numbers:
            os.kill(process.pid, number)
            time.sleep(0.05)
        process.stderr.read()
        code = process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
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
    assert len(checkpoints(folder)) >= 1
    subprocess.run(command("resume", folder), capture_output=True, timeout=120, check=True)
    pd.testing.assert_frame_equal(table(folder), table(whole), check_exact=True)
    assert checkpoints(folder) == checkpoints(whole)
