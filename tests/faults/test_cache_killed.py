"""Runs with an evaluation cache, killed at each operation of SQLite on its file: before it, or with half of it done.

What is resumed with the cache has the rows, patterns and checkpoints of a run without one. The file is sound at once
after a strike, and has the outcomes that were written: nothing is damaged, and nothing begun anew.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import bits
import pytest

from antennaopt.store.cache import FILE, OF_ITS_RUN, EvaluationCache
from antennaopt.store.packing import packed

HERE = Path(__file__).parent
INTERRUPTED = 130
OF_A_SOLUTION = {*OF_ITS_RUN, "seconds", "stepping_seconds", "worker", "attempt"}
"""Entries of an outcome that differ between two solutions of one antenna."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def struck_disk(tmp_path_factory):
    """A library that strikes what SQLite does; loaded before all others."""
    compiler, library = shutil.which("g++"), tmp_path_factory.mktemp("struck") / "struck_disk.so"
    assert compiler, "g++ is needed (see CONTRIBUTING)"
    source = HERE / "struck_disk.cpp"
    options = ["-O1", "-U_FORTIFY_SOURCE", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([compiler, *options, str(source), "-ldl"], check=True)
    return library


def strikes(how, first, root, library):
    """Return what `cache_strikes.py` printed: the run without a cache, what a cache of it holds, and the strikes.

    The last of these is a run that nothing happened to.
    """
    command = [sys.executable, str(HERE / "cache_strikes.py"), how, str(first), str(root)]
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment)
    assert done.returncode == 0, done.stderr
    none, cached, *struck = [json.loads(line) for line in done.stdout.splitlines()]
    assert (none["code"], cached["code"], struck[-1]["code"], struck[-1]["at"]) == (0, 0, 0, "")
    return Path(none["folder"]), outcomes(cached["cache"]), struck


def outcomes(folder):
    """Return by digest what a cache holds, of a file that must be sound."""
    with EvaluationCache(Path(folder)) as cache:
        with sqlite3.connect(cache.path) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            digests = [digest for (digest,) in file.execute("SELECT digest FROM entries")]
        file.close()
        found = cache.find(digests)
        assert (cache.fault, cache.damaged, cache.replaced, cache.warnings) == ("", 0, 0, [])
    assert len(found) == len(digests)
    return {digest: packed(one, without=OF_A_SOLUTION) for digest, one in found.items()}


def origins(folder):
    rows = bits.rows(Path(folder))
    return rows[~rows["cached"]]["origin"].tolist()


def assert_resumed_is_equal(none, whole, struck, *, codes=(-9,)):
    """Compare each run that was struck, and those after it, with the one without a cache; what is left with a cache.

    Returns:
        Resumed runs to which the cache gave an antenna, and the most antennas that were left by a strike.
    """
    known, most = 0, 0
    for line in struck:
        assert line["resumed"] == 0, line
        assert line is struck[-1] or line["code"] in codes, line
        bits.assert_equal(Path(line["folder"]), none, without=["origin"])
        known += "cache" in origins(line["folder"])
        left = outcomes(line["left"]) if line["left"] else {}
        assert left.items() <= whole.items()
        most = max(most, len(left))
        if line["second"] is not None:
            assert line["second"] == 0, line
            bits.assert_equal(Path(line["other"]), none, without=["origin"])
    return known, most


@pytest.mark.parametrize(("how", "first"), [("kill", 1), ("kill", 2), ("tear", 1), ("interrupt", 1)])
def test_struck_anywhere_in_the_cache_it_resumes_to_the_rows_of_a_run_without_one(struck_disk, tmp_path, how, first):
    """Kill before every second operation, from the first and from the second; of other strikes there are fewer."""
    none, whole, struck = strikes(how, first, tmp_path, struck_disk)
    codes = (INTERRUPTED, 0) if how == "interrupt" else (-9,)
    known, most = assert_resumed_is_equal(none, whole, struck, codes=codes)
    assert (known >= 3 or how == "interrupt") and most == len(whole)  # interrupted, a run keeps what was solved
    assert "cache" not in origins(struck[-1]["folder"])
    for line in struck:
        assert outcomes(line["cache"]) == whole
        assert line["second"] is None or set(origins(line["other"])) == {"cache"}
    assert {f"write {FILE}", f"write {FILE}-wal"} <= {line["at"] for line in struck} or how == "interrupt"


def test_struck_while_a_full_cache_removes_antennas_it_resumes_to_the_rows_of_a_run_without_one(struck_disk, tmp_path):
    none, whole, struck = strikes("full", 1, tmp_path, struck_disk)
    assert_resumed_is_equal(none, whole, struck)
    assert all(outcomes(line["cache"]).items() < whole.items() for line in struck), "there is room for all"
