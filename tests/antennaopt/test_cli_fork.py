"""`resume` and `resume --fork` through the command line, with real fields on a coarse lattice in this process.

Five antennas of 0.6 mm cells a generation, 0.05 s each.
"""

import functools
import hashlib
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from test_study_reuse import EXPERIMENT, TOML, serial, stepped  # noqa: F401 - a fixture

from antennaopt.experiment import load_experiment
from antennaopt.run import start as study
from antennaopt.store.checkpoint import canonical, digest
from antennaopt.store.run_folder import RunFolder

POPULATION = EXPERIMENT["evolution"]["population"]


@pytest.fixture
def call(call, tmp_path, monkeypatch):
    monkeypatch.setenv("ANTENNAOPT_CACHE", str(tmp_path / "cache"))
    here = {"farm": serial, "report": False}
    monkeypatch.setattr(study, "run", functools.partial(study.run, **here))
    monkeypatch.setattr(study, "resume", functools.partial(study.resume, **here))
    return call


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run and its cache, to be copied."""
    root = tmp_path_factory.mktemp("made")
    (root / "lens.toml").write_text(TOML)
    summary = study.run(
        load_experiment(root / "lens.toml"),
        root=root / "results", source=TOML, farm=serial, report=False, cache=root / "cache",
    )  # fmt: skip
    return root, summary.folder.relative_to(root)


@pytest.fixture
def old(call, made, tmp_path):
    root, folder = made
    shutil.copytree(root / "results", tmp_path / "results")
    shutil.copytree(root / "cache", tmp_path / "cache")
    return folder


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows(folder):
    return pd.read_parquet(folder / "evals").sort_values(["generation", "slot"], ignore_index=True)


def forked(call, old, *arguments):
    before = contents(old)
    code, out, err = call("resume", old, "--fork", *arguments)
    assert code == 0, err
    assert contents(old) == before
    folder = Path(out.splitlines()[-1]).resolve()
    assert folder != old.resolve()
    return folder, err


def population(folder):
    state = RunFolder.open(folder).load_checkpoint().state["evolution"]
    return sorted(state["population"], key=lambda one: (one["fitness"], one["candidate"]["individual"]))


def test_a_fork_with_nothing_changed_solves_nothing_of_the_old_population_again(call, old, stepped):  # noqa: F811
    folder, err = forked(call, old, "--set", "evolution.generations=1")
    assert folder.parent == old.resolve().parent
    assert f"forked from {old.name} after 2 generations: the best 5 of its 5" in err
    assert "it differs in evolution.generations: 2 -> 1" in err
    assert "  best of the first  " in err
    first = rows(folder)
    assert first["genome"].map(tuple).tolist() == [tuple(one["candidate"]["genome"]) for one in population(old)]
    assert first["fitness"].tolist() == [one["fitness"] for one in population(old)]
    assert set(first["operator"]) == {"planted"}
    assert set(first["origin"]) == {"cache"}
    assert stepped == []
    assert json.loads((folder / "manifest.json").read_text())["forked_from"]["run"] == old.name


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ('solver.frequencies=["29 GHz"]', "solver.frequencies.0: 30000000000.0 -> 29000000000.0"),
        ("antenna.lens.permittivity=2.6", "antenna.lens.permittivity: 2.53 -> 2.6"),
        ("solver.decay_db=45", "solver.decay_db: 40.0 -> 45.0"),
    ],
)
def test_changed_physics_is_said_and_solved_anew(call, old, stepped, change, says):  # noqa: F811
    solved = len(stepped)
    folder, err = forked(call, old, "--set", change, "--set", "evolution.generations=1", "--out", "elsewhere")
    assert folder.parts[-3:-1] == ("elsewhere", "coarse_lens")
    assert says in err
    assert len(stepped) - solved == POPULATION
    assert set(rows(folder)["origin"]) == {"solved"}
    assert rows(folder)["genome"].map(tuple).tolist() == [tuple(one["candidate"]["genome"]) for one in population(old)]


def test_genes_with_other_ranges_keep_their_values_where_these_fit(call, old):
    """A value outside the new range is drawn again; an unchanged gene keeps every bit."""
    highest = rows(old)["lens_radius_mm"].iloc[-POPULATION:].max()
    narrow = ["--set", f'antenna.lens.radius.max="{highest - 1e-6} mm"', "--set", "evolution.generations=1"]
    folder, err = forked(call, old, *narrow)
    assert "1 of their genes are drawn anew" in err
    best = {one["candidate"]["individual"]: one["candidate"]["genome"] for one in population(old)}
    before = rows(old).set_index("individual").loc[list(best)]
    after = rows(folder)
    assert after["genome"].map(lambda one: one[1]).tolist() == [genome[1] for genome in best.values()]
    kept = [
        abs(one - other) < 1e-9 for one, other in zip(before["lens_radius_mm"], after["lens_radius_mm"], strict=True)
    ]
    assert kept.count(False) == 1


def test_a_smaller_population_takes_the_best_and_a_larger_one_draws_the_rest(call, old):
    small, _ = forked(call, old, "--set", "evolution.population=3", "--set", "evolution.generations=1")
    assert rows(small)["fitness"].tolist() == [one["fitness"] for one in population(old)[:3]]
    large, _ = forked(call, old, "--set", "evolution.population=6", "--set", "evolution.generations=1")
    assert rows(large)["operator"].tolist() == ["planted"] * POPULATION + ["random"]


def test_from_generations_to_none_and_back(call, old):
    without, err = forked(call, old, "--set", "evolution.generational=false", "--set", "evolution.generations=2")
    assert 'evolution.algorithm: "ga" -> "steady_state"' in err
    first = rows(without)[:POPULATION]
    assert first["genome"].map(tuple).tolist() == [tuple(one["candidate"]["genome"]) for one in population(old)]
    assert sorted(rows(without)["birth"]) == list(range(2 * POPULATION))
    back, _ = forked(call, without, "--set", "evolution.generational=true", "--set", "evolution.generations=1")
    assert rows(back)["fitness"].tolist() == [one["fitness"] for one in population(without)]


def test_a_fork_is_resumed_as_any_run(call, old):
    """Also when it was stopped before its first generation was there: the parents stand in its own folder."""
    whole, _ = forked(call, old, "--set", "seed=5")
    begun, _ = forked(call, old, "--set", "seed=5")
    for path in [*(begun / "checkpoint").iterdir(), *(begun / "evals").iterdir(), *(begun / "patterns").iterdir()]:
        path.unlink()
    code, _, err = call("resume", begun)
    assert code == 0, err
    pd.testing.assert_series_equal(rows(begun)["genome"], rows(whole)["genome"])
    assert (rows(begun)["fitness"] == rows(whole)["fitness"]).all()
    (begun / "parents.json").write_text((begun / "parents.json").read_text().replace("0.", "0.1", 1))
    code, _, err = call("resume", begun)
    assert (code, err.count("\n")) == (4, 1)
    assert "parents.json is damaged" in err


@pytest.mark.parametrize(
    "text", ['{"genomes": [[7.0, 0.5]]}', '{"genomes": [[NaN]]}', '{"genomes": 3}', "[]", "[" * 9999]
)
def test_parents_that_no_fork_can_have_written_are_refused(call, old, text):
    """Also with the digest that the manifest promises."""
    manifest = json.loads((old / "manifest.json").read_text())
    about = {"run": "x", "generation": 1, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    (old / "manifest.json").write_text(json.dumps({**manifest, "forked_from": about}))
    (old / "parents.json").write_text(text)
    code, _, err = call("resume", old)
    assert (code, err.count("\n")) == (4, 1)
    assert "parents.json is damaged" in err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--out", "elsewhere"], 2, "add --fork"),
        (["--fork", "--set", "antenna.lens.radius=5"], 2, "antenna.lens.radius"),
        (["--fork", "--set", "evolution.population=1"], 2, "evolution.population"),
        (["--set", "evolution.population=1"], 2, "evolution.population"),
        (["--set", 'solver.frequencies=["29 GHz"]'], 4, "with --fork"),
    ],
)
def test_what_is_refused(call, old, arguments, code, says):
    before = contents(old)
    returned, out, err = call("resume", old, *arguments)
    assert (returned, out, err.count("\n")) == (code, "", 1)
    assert says in err
    assert contents(old) == before


def test_a_file_that_cannot_be_read_any_more_is_not_the_fault_of_a_change(call, old):
    """Bad usage is exit code 2; a damaged folder is refused with 4, with any options."""
    file = old / "experiment.toml"
    file.write_text(file.read_text() + "\nnonsense = 1\n")
    for more in ([], ["--set", "evolution.generations=3"]):
        code, out, err = call("resume", old, "--fork", *more)
        assert (code, out, err.count("\n")) == (4, "", 1)
        assert "cannot be read any more" in err


def test_changes_of_earlier_sessions_stay_until_the_file_is_edited(call, old):
    """A second change read the file as the run began with it: a budget that was raised fell back, and all was done."""

    def planned(*arguments, folder=old):
        code, _, err = call("resume", folder, *arguments)
        assert code == 0, err
        return json.loads((old / "resolved.json").read_text())["evolution"]["generations"]

    assert planned("--set", "evolution.generations=3") == 3
    assert planned("--set", "evolution.stop.stagnation=50") == 3
    assert len(RunFolder.open(old).generations()) == 3
    child, err = forked(call, old, "--set", "seed=5")
    assert "it differs in seed: 3 -> 5\n" in err
    assert "evolution.generations=3" in json.loads((child / "manifest.json").read_text())["overrides"]
    file = old / "experiment.toml"
    file.write_text(file.read_text().replace("generations = 2", "generations = 4"))
    assert planned() == 4
    assert planned("--set", "evolution.stop.stagnation=60") == 4


def test_a_run_of_an_earlier_version_with_a_setting_without_effect_goes_on(call, old):
    """Its file, not edited, would be refused today. A wrong change is bad usage, and not a damaged folder."""
    text = (old / "experiment.toml").read_text() + "[evolution.stop]\nfitness = -0.5\n"
    manifest = json.loads((old / "manifest.json").read_text())
    (old / "experiment.toml").write_text(text)
    (old / "manifest.json").write_text(
        json.dumps({**manifest, "source_sha256": hashlib.sha256(text.encode()).hexdigest()})
    )
    code, _, err = call("resume", old, "--set", "evolution.population=1")
    assert (code, err.count("\n")) == (2, 1) and "evolution.population" in err
    for change, says in (
        ("evolution.stop.fitness=-0.7", "evolution.stop.fitness = -0.7 is never reached"),
        ("evolution.crossover.alpha=0.4", 'crossover.alpha = 0.4 does not go with kind = "simulated_binary"'),
    ):
        for fork in ((), ("--fork",)):
            code, _, err = call("resume", old, *fork, "--set", change)
            assert (code, err.count("\n")) == (2, 1) and says in err
    code, _, err = call("resume", old, "--set", "evolution.generations=3")
    assert code == 0, err
    forked(call, old, "--set", "evolution.generations=3")


def test_before_its_first_generation_there_is_nothing_to_fork(call, old):
    for path in (old / "checkpoint").iterdir():
        path.unlink()
    code, _, err = call("resume", old, "--fork")
    assert (code, err.count("\n")) == (4, 1)
    assert "has no population yet" in err


def test_a_population_that_no_search_can_have_had_is_not_forked(call, old):
    """By the same rules as `resume`: see `test_evolution_states`."""
    for path in (old / "checkpoint").iterdir():
        payload = json.loads(path.read_text())["payload"]
        payload["state"]["evolution"]["population"].pop(0)
        path.write_text(json.dumps({"version": 1, "sha256": digest(canonical(payload)), "payload": payload}))
    code, _, err = call("resume", old, "--fork", "--set", "seed=5")
    assert (code, err.count("\n")) == (4, 1)
    assert "is not of this run" in err
