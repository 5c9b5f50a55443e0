"""The driver of each algorithm killed at the writes of a generation, with each option that the algorithm takes.

The strikes are before, within (half of it written) and after each kind of file: rows, patterns, samples, state; and
before a line of the log and files that come after the search. `test_every_write` and `test_steady_killed` strike one
algorithm at every write.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import bits
import cheap_lens
import pytest
from test_every_write import HERE, assert_resumed_is_equal

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import Experiment
from antennaopt.search import ALGORITHMS

INTERRUPTED = 130
BEFORE_WITHIN_AFTER = {("open", False), ("fsync", False), ("fsync", True)}
ONCE = {"logs": {("open", False)}, "best": {("os.rename", False)}, "tolerance": {("os.rename", False)}}
"""What a run is struck at in folders: event, and whether it is one on the folder itself."""

STRUCK = {
    "plain": ["patterns", "evals", "checkpoint", "logs", "best"],
    "samples": ["samples", "tolerance"],
}
"""Folders of the files that are struck, by the option; of others the state alone."""

PLAIN = {"population": 8, "generations": 4, "elites": 1, "stop": {"goals": False}}
AIMS = [{"metric": "directivity_dbi", "aim": "largest"}, {"metric": "diameter_mm", "aim": "least"}]
SMALL = {"objective": [{"metric": "diameter_mm", "at_most": 20.0}]}
MADE = {
    "objective": [{"metric": "directivity_dbi", "at_least": 29.5}],
    "tolerance": {"samples": 4, "aim": "mean", "final_samples": 4, "of": {"lens.radii": {"sigma": "0.3 mm"}}},
}
FINE = {
    "solver": {"frequencies": ["30 GHz"], "cell": "0.3 mm"},
    "fidelity": {"cells": ["0.6 mm", "0.3 mm"], "promote": 0.5, "finish": 0.4},
}
OPTIONS = {
    "plain": ({}, {}, 2, None),
    "restart": ({"restart_after": 1, "generations": 5}, SMALL, 2, "restart"),
    "samples": ({"generations": 3, "population": 4}, MADE, 1, None),
    "polish": ({"polish": True, "generations": 5}, {}, 3, "polished"),
    "fidelity": ({"generations": 5}, FINE, 3, "promoted"),
    "overlap": ({"overlap": True}, {}, 2, None),
}
"""By name: settings, goals, the generation at whose writes a run is struck, and the operator of all its individuals."""

REFUSED = {
    ("restart", "nsga2"): r'restart_after does not go with evolution.algorithm = "nsga2" \(only',
    ("restart", "random"): r'restart_after does not go with evolution.algorithm = "random" \(only',
    ("restart", "steady_state"): r'restart_after does not go with evolution.algorithm = "steady_state" \(only',
    ("samples", "surrogate"): r'samples = 4 and evolution.algorithm = "surrogate", which predicts figures',
    ("samples", "nsga2"): r'samples = 4 and evolution.algorithm = "nsga2", which ranks by several numbers',
    ("samples", "steady_state"): r'samples = 4 and evolution.algorithm = "steady_state", which has no generations',
    ("polish", "nsga2"): r'polish does not go with evolution.algorithm = "nsga2", which searches for a front',
    ("polish", "steady_state"): r'polish does not go with evolution.algorithm = "steady_state", which has no',
    ("fidelity", "nsga2"): r'fidelity and evolution.algorithm = "nsga2", which ranks by several numbers, exclude',
    ("fidelity", "steady_state"): r'fidelity and evolution.algorithm = "steady_state", which has no generations',
    **{
        ("overlap", name): f'overlap goes with "ga" alone, and this search is by "{name}"'
        for name in ALGORITHMS
        if name != "ga"
    },
}
ELSEWHERE = {("plain", "ga"), ("plain", "steady_state"), ("overlap", "ga")} | {
    ("fidelity", name) for name in ("ga", "cmaes", "surrogate")
}
"""At every write in `test_every_write` and `test_steady_killed`; `test_overlap_killed`, `test_fidelity_killed`."""

CASES = [(option, name) for option in OPTIONS for name in ALGORITHMS]


def settings(option, algorithm):
    """Return evolution and goals."""
    more, goals, *_ = OPTIONS[option]
    if ALGORITHMS[algorithm].front:
        goals = {**goals, "objective": AIMS}
    return {**PLAIN, **more, "algorithm": algorithm}, goals


@pytest.mark.parametrize(("option", "algorithm"), REFUSED)
def test_what_an_algorithm_does_not_take_is_refused_in_one_line(option, algorithm):
    evolution, goals = settings(option, algorithm)
    with pytest.raises(ConfigurationError, match=REFUSED[option, algorithm]) as refused:
        Experiment.parse({**cheap_lens.EXPERIMENT, "evolution": evolution, **goals})
    assert "\n" not in str(refused.value)


@pytest.fixture(scope="module")
def strike(tmp_path_factory):
    """Return what carries a search out and strikes it: one process for all searches, which has everything imported."""
    command = [sys.executable, str(HERE / "every_write.py"), "kinds", str(tmp_path_factory.mktemp("kinds"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def lines(option, algorithm):
            evolution, goals = settings(option, algorithm)
            search = {"name": f"{option}-{algorithm}", "evolution": evolution, "goals": goals}
            search |= {"generation": OPTIONS[option][2], "folders": folders(option)}
            print(json.dumps(search), file=process.stdin, flush=True)
            return [json.loads(line) for line in iter(process.stdout.readline, "\n") if line or ended(process)]

        yield lines
        process.stdin.close()


def ended(process):
    pytest.fail(f"every_write.py ended with {process.wait()}")


def of_kinds(lines):
    """Return by folder the operations before which a run was struck: event, and whether it was one on the folder."""
    found = {}
    for event, path in (line["at"] for line in lines if line["at"]):
        folder, _, file = re.sub(r"^/cheap_lens/[^/]+/", "", path).partition("/")
        found.setdefault(folder, set()).add((event, not file))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("option", "algorithm"), [one for one in CASES if one not in REFUSED and one not in ELSEWHERE])
def test_killed_at_any_write_of_a_generation_it_resumes_to_the_same_bits(strike, option, algorithm):
    """Or interrupted, with five antennas of the generation to be solved, or one: designs, or made copies of these."""
    whole, *struck = strike(option, algorithm)
    assert whole["code"] == 0, whole["said"]
    interrupted, killed = struck[:2], struck[2:]
    *_, generation, operator = OPTIONS[option]
    rows = bits.rows(Path(whole["folder"]))
    assert operator is None or set(rows["operator"][rows["generation"] == generation]) == {operator}
    assert_resumed_is_equal([*killed, whole], fewest=3)
    assert_resumed_is_equal([*interrupted, whole], fewest=2, code=INTERRUPTED)
    assert of_kinds(killed) == {folder: ONCE.get(folder, BEFORE_WITHIN_AFTER) for folder in folders(option)}
    for line in struck:
        assert yields(line) == yields(whole)


def folders(option):
    return STRUCK.get(option, ["checkpoint"])


def yields(line):
    return {path.name: json.loads(path.read_text()) for path in Path(line["folder"]).glob("tolerance/*.json")}
