"""`antennaopt cache`: what is there, pruning, and what it refuses."""

import json

import pytest
from test_results_cache import digest, entry

from antennaopt.cli import main
from antennaopt.solve.arithmetic import solver_version
from antennaopt.store.cache import FILE, EvaluationCache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache with entries of this solver and of an older one, 40 days old."""
    monkeypatch.setenv("ANTENNAOPT_CACHE", str(tmp_path))
    with EvaluationCache(tmp_path) as cache:
        cache.add([entry(number, solver=solver_version()) for number in range(3)])
        cache.add([entry(number, context="d", solver="0.0+old") for number in range(3, 5)])
        cache._connection.execute("UPDATE entries SET used = used - 40 * 86400 WHERE digest >= ?", (digest(3),))
    return tmp_path


def test_it_says_what_is_there_by_solver_version(folder, capsys):
    assert main(["cache"]) == 0
    text = capsys.readouterr().out
    assert f"{folder / FILE}: 5 antennas" in text
    assert next(line.split() for line in text.splitlines() if "0.0+old" in line)[1] == "2"
    assert f"{solver_version()} (this one)" in text
    assert main(["cache", "--json", "-"]) == 0
    state = json.loads(capsys.readouterr().out)
    assert (state["entries"], state["removed"], [one["current"] for one in state["solvers"]]) == (5, 0, [True, False])


def test_it_prunes_by_age_and_size_and_clears(folder, capsys):
    assert main(["cache", "--prune", "--older-than", "30d", "--max-size", "1 GB"]) == 0
    assert capsys.readouterr().out.startswith("removed 2 antennas")
    assert main(["cache", "--clear", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    with EvaluationCache(folder) as cache:
        assert cache.totals() == []


def test_no_cache_yet_is_an_empty_one_and_none_is_made(tmp_path, capsys):
    assert main(["cache", "--cache", str(tmp_path / "none")]) == 0
    assert "0 antennas" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--prune"], "needs --older-than TIME, --max-size SIZE"),
        (["--older-than", "1d"], "add --prune"),
        (["--prune", "--older-than", "30 x"], "use one of s, ms"),
        (["--prune", "--max-size", "-1 GB"], "is negative"),
        (["--prune", "--clear", "--max-size", "1 GB"], "exclude each other"),
        (["--cache", "off"], "is off"),
    ],
)
def test_what_it_refuses(folder, capsys, options, text):
    assert main(["cache", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert text in line
    with EvaluationCache(folder) as cache:
        assert sum(one["entries"] for one in cache.totals()) == 5
