"""The driver killed at every write, and a disk that fills at every write: resumed, the run equals the one left alone.

Three generations of six antennas make 75 operations on files (folders made, files opened for writing, flushed, renamed,
removed); the run is killed before each of them, one process a strike, and resumed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import bits
import pytest
from required import skip_without

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


def script(*arguments):
    command = [sys.executable, str(HERE / "every_write.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_resumed_is_equal(lines, fewest=70, code=-9):
    """Compare each run that was struck and resumed with the last one, which was not; return how many had begun."""
    *killed, last = lines
    assert last["code"] == 0
    quiet = Path(last["folder"])
    assert len(killed) >= fewest
    begun = 0
    for line in killed:
        assert line["code"] == code, line
        folder = line["folder"] and Path(line["folder"])
        if line["resumed"] == 4:
            assert not (folder / "manifest.json").exists(), line
            assert not list((folder / "evals").glob("*")) if (folder / "evals").exists() else True
            continue
        if folder is None:
            continue
        assert line["resumed"] == 0, line
        bits.assert_equal(folder, quiet)
        assert (folder / "best/antenna.toml").read_bytes() == (quiet / "best/antenna.toml").read_bytes()
        best = [json.loads((run / "best/result.json").read_text()) for run in (folder, quiet)]
        assert best[0] == best[1], line
        assert not list(folder.rglob(".tmp-*"))
        begun += 1
    return begun


def test_killed_before_any_write_it_resumes_to_the_same_bits(tmp_path):
    """Until the manifest is there nothing was solved, and resuming says that it is no run folder (exit code 4)."""
    lines = script("kill", tmp_path)
    assert assert_resumed_is_equal(lines) >= 50
    struck = {Path(line["at"][1]).name.split("-", 2)[-1] for line in lines if line["at"]}
    assert {"manifest.json", "gen-000002.parquet", "checkpoint-000002.json", "run.jsonl", "failures.jsonl"} <= struck


@pytest.mark.slow
def test_killed_with_half_of_it_written_it_resumes_to_the_same_bits(tmp_path):
    """As a power cut leaves it: what was being written is there by half, log lines too."""
    assert assert_resumed_is_equal(script("tear", tmp_path)) >= 50


@pytest.mark.slow
def test_killed_in_every_session_it_gets_there_all_the_same(tmp_path):
    """Each resumed session is killed too, after 17 to 29 operations, until one gets through."""
    lines = script("again", tmp_path)
    assert len(lines) >= 4
    assert {line["code"] for line in lines[:-1]} == {-9}
    quiet = script("kill", tmp_path_again(tmp_path))[-1]["folder"]
    bits.assert_equal(Path(lines[-1]["folder"]), Path(quiet))


def tmp_path_again(path):
    other = path / "quiet"
    other.mkdir()
    return other


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB in memory."""
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)], capture_output=True, text=True
    )
    if done.returncode != 0:
        skip_without("mount", f"no file system may be mounted here: {done.stderr.strip()}")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


@pytest.mark.slow
def test_a_disk_that_fills_anywhere_leaves_whole_files_and_resumes_once_there_is_space(tmp_path, small_disk):
    """Room for 0, 1, 2, ... pages of 4 KiB until the run fits: exit code 6 and a clear line each time, no file torn.

    With space again the run resumes to the same bits. Full from the start: nothing is left.
    """
    *short, last = script("full", tmp_path, small_disk)
    quiet = Path(last["folder"])
    assert last["code"] == 0
    assert len(short) >= 10
    resumed = 0
    for line in short:
        assert line["code"] == 6, line
        assert "the disk is full; free some space" in line["said"]
        assert "\n" not in line["said"].strip()
        assert line["torn"] == []
        if line["folder"] is None:
            assert line["files"] == []
            continue
        assert line["readable"] == 0, line
        assert line["resumed"] == 0, line
        bits.assert_equal(Path(line["folder"]), quiet)
        resumed += 1
    assert resumed >= 5
    assert short[0]["folder"] is None
    assert os.path.ismount(small_disk)
