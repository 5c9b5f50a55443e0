"""The driver killed at every write while generations share files: readers see every row once, and a resume goes on."""

import json
import subprocess
import sys
from pathlib import Path

import bits
import pandas as pd
import pytest

from antennaopt.store import generations
from antennaopt.store.run_folder import RunFolder

HERE = Path(__file__).parent
SIZES = (6, 5, 5, 5, 5)
"""Rows of each generation: one of six lives on from the one before, which is no row."""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_killed_at_any_write_of_a_shared_file_no_row_is_lost_or_twice(tmp_path, monkeypatch):
    """Five generations in three files of each kind, killed before each of some 110 operations.

    What pandas reads of the folder as the kill left it are whole generations without a gap, each row once, and no fewer
    than the newest checkpoint counts. Resumed, rows, patterns and checkpoints equal those of the run left alone.
    """
    monkeypatch.setattr(generations, "SINGLE", 1)  # as in the script
    command = [sys.executable, str(HERE / "compaction.py"), "kill", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1100)
    assert done.returncode == 0, done.stderr
    *killed, last = [json.loads(line) for line in done.stdout.splitlines()]
    quiet = Path(last["folder"])
    names = ["gen-000000.parquet", "gen-000001.parquet", "gen-000003.parquet"]
    assert sorted(path.name for path in (quiet / "evals").iterdir()) == names
    assert last["code"] == 0
    looked_at, struck = 0, set()
    for line in killed:
        assert line["code"] == -9, line
        struck.add(Path(line["at"][1]).name.split("-", 2)[-1])
        if line["seen"] is None or not (Path(line["seen"]) / "manifest.json").exists():
            continue
        looked_at += look(Path(line["seen"]))
        assert line["resumed"] == 0, line
        bits.assert_equal(Path(line["folder"]), quiet)
    assert looked_at >= 60
    assert set(names) <= struck


def look(folder):
    """Read a killed run as a user does; return whether it had any rows."""
    opened = RunFolder.open(folder)
    checkpoint = opened.load_checkpoint()
    if not any((folder / "evals").glob("gen-*")):
        assert checkpoint is None
        return False
    frame = pd.read_parquet(folder / "evals")
    count = frame["generation"].max() + 1
    assert list(frame["generation"]) == [number for number in range(count) for _ in range(SIZES[number])]
    assert frame["individual"].is_unique
    assert opened.generations() == list(range(count))
    assert checkpoint is None or checkpoint.generation < count
    patterns = pd.read_parquet(folder / "patterns")
    assert set(frame[frame["status"] == "ok"]["individual"]) <= set(patterns["individual"])
    return True
