"""`compare`: runs side by side, from their folders alone; the solver is replaced by arithmetic."""

import json
from pathlib import Path

import pytest
from test_cli_run import SMALL, call  # noqa: F401 - a fixture

from antennaopt.experiment import load_experiment
from antennaopt.families import worded
from antennaopt.run.continuation import differences
from antennaopt.solve.certificate import ONE_MESH


@pytest.fixture
def three(call):  # noqa: F811
    """Two seeds, and the first one again with another budget."""
    folders = []
    for options in (["--seed", "3"], ["--seed", "4"], ["--seed", "3", "--set", "evolution.generations=2"]):
        code, out, _ = call("run", "lens.toml", *SMALL, *options)
        assert code == 0
        folders.append(out.splitlines()[-1])
    return folders


def contents(folder):
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_it_says_what_they_came_to_and_in_what_they_differ(call, three):  # noqa: F811
    before = [contents(folder) for folder in three]
    code, out, _ = call("compare", *three, three[0])
    assert code == 0
    assert [contents(folder) for folder in three] == before
    rows = {line.split("  ")[0]: line.split()[-4:] for line in out.splitlines() if line}
    assert rows["seed"] == ["3", "4", "3", "3"]
    assert rows["antennas"] == rows["of them solved"] == ["14", "14", "10", "14"]
    assert "run 2 differs from run 1 in seed: 3 -> 4; their rows are not the same" in out
    assert "run 3 differs from run 1 in evolution.generations: 3 -> 2; their rows are not the same" in out
    assert "run 4 differs from run 1 in nothing that decides the numbers; their rows are the same to the bit" in out


def test_a_verdict_from_one_mesh_is_marked(call):  # noqa: F811
    """It showed `trusted` for runs without certificates too, whose mesh nobody had checked."""
    folders = []
    for mode in ("report", "off"):
        code, out, err = call("run", "lens.toml", *SMALL, "--set", f"certificate.mode={mode}")
        assert code == 0, err
        folders.append(out.splitlines()[-1])
    code, out, _ = call("compare", *folders)
    (shown,) = [line for line in out.splitlines() if line.startswith("certificate")]
    assert code == 0 and shown.split()[-3:] == ["trusted,", "one", "mesh"] and shown.count("one mesh") == 1
    assert ONE_MESH in out.splitlines() and ONE_MESH not in call("compare", folders[0], folders[0])[1]


def test_as_data_and_drawn(call, three, tmp_path):  # noqa: F811
    code, out, err = call("compare", *three[:2], "--json", "-", "--plot", "both.svg")
    assert (code, err) == (0, "")
    data = json.loads(out)
    one, other = data["runs"]
    status = json.loads(call("status", three[0], "--json", "-")[1])
    assert (one["best"], one["best_fitness"]) == (status["best"], status["best_fitness"])
    assert one["history"][-1] == [one["evaluations"], one["best_fitness"]]
    assert [len(values) for values in one["metrics"].values()] == [3] * len(one["metrics"])
    assert data["differences"][0]["experiment"] == ["seed: 3 -> 4"]
    assert other["seed"] == 4
    assert (tmp_path / "both.svg").read_text().startswith("<?xml")


def test_what_it_refuses(call, three):  # noqa: F811
    cases = {
        "two run folders or more, not 1": [three[0]],
        "elsewhere does not exist": [three[0], "elsewhere"],
        "has no known ending": [*three[:2], "--plot", "both.xyz"],
        "does not exist": [*three[:2], "--json", "no/such/file.json"],
    }
    for says, arguments in cases.items():
        code, out, err = call("compare", *arguments)
        assert code in (2, 6)
        assert (out, err.count("\n")) == ("", 1)
        assert says in err


def test_other_goals_make_fitness_incomparable(call, three):  # noqa: F811
    code, out, _ = call("run", "lens.toml", *SMALL, "--set", "objective.0.weight=2")
    assert code == 0
    _, out, _ = call("compare", three[0], out.splitlines()[-1])
    assert "run 2 has other goals than run 1: their fitness cannot be compared" in out


@pytest.mark.parametrize("entry", ['fidelity={cells=["0.6 mm"]}', 'limits={wall="0.3 mm"}', "polarisation=rhcp"])
def test_whatever_decides_the_numbers_is_named(entry):
    """Fidelity and limits were left out: `resume` refused a change to them without a word of what it was."""
    quickstart = Path(__file__).parents[2] / "experiments/quickstart.toml"
    one, other = load_experiment(quickstart), load_experiment(quickstart, [entry])
    assert one.config_hash != other.config_hash
    assert [line.partition(":")[0] for line in differences(one.resolved(), other.resolved())] == [entry.split("=")[0]]


def test_words_of_an_antenna_are_compared_as_words():
    """They were numbers, `antenna.horn.spline: null -> 1.0`."""
    bench = Path(__file__).parents[2] / "antennaopt/bench/frozen/spline_horn.toml"
    one, other = load_experiment(bench), load_experiment(bench, ["antenna.horn.spline=free"])
    found = list(differences(worded(one.resolved()), worded(other.resolved())))
    assert found == ['antenna.horn.spline: null -> "free"']
