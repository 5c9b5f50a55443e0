"""`run` and what is done with a run afterwards; the solver is replaced by arithmetic, in this process."""

import functools
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import cheap_evaluation
import numpy as np
import pyarrow as pa
import pytest
from config_files import LENS
from pyarrow import parquet

import antennaopt
from antennaopt.cli import run as commands
from antennaopt.errors import ConfigurationError, Interrupted
from antennaopt.farm import clusters  # noqa: F401 - knows the true plan before the tests replace it
from antennaopt.farm.farm import SerialFarm
from antennaopt.run import start as study
from antennaopt.search.fronts import hypervolume
from antennaopt.store.files import FolderLock

SMALL = ["--set", "evolution.population=6", "--set", "evolution.generations=3"]


def serial(experiment, *, plan, backend, scheduler, evaluate):
    return SerialFarm(cheap_evaluation.evaluate, family=experiment.family, plan=plan, backend=backend)


@pytest.fixture
def call(call, no_early_workers, tmp_path, monkeypatch):
    monkeypatch.setattr("antennaopt.solve.plan.plan", cheap_evaluation.plan)
    fake = SimpleNamespace(evaluate=cheap_evaluation.evaluate)
    monkeypatch.setitem(sys.modules, "antennaopt.solve.evaluate", fake)
    here = {"farm": serial, "report": False}
    monkeypatch.setattr(study, "run", functools.partial(study.run, **here))
    monkeypatch.setattr(study, "resume", functools.partial(study.resume, **here))
    cheap_evaluation.CALLS.clear()
    (tmp_path / "lens.toml").write_text(LENS)
    return call


@pytest.fixture
def run_folder(call):
    code, out, _ = call("run", "lens.toml", *SMALL, "--seed", "3")
    assert code == 0
    return Path(out.splitlines()[-1])


def test_the_last_line_is_the_run_folder(run_folder, tmp_path):
    assert run_folder.is_dir()
    assert run_folder.parent == Path("results") / "lens"
    assert json.loads((run_folder / "resolved.json").read_text())["seed"] == 3
    assert (run_folder / "experiment.toml").read_text() == LENS


def test_quiet_prints_the_folder_only(call):
    code, out, err = call("run", "lens.toml", *SMALL, "--quiet", "--out", "elsewhere")
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert Path(out.strip()).parts[0] == "elsewhere"


def test_several_seeds_share_a_farm_and_are_the_runs_of_each_alone(call, monkeypatch):
    opened = []

    def counting(*given, **how):
        opened.append(serial(*given, **how))
        return opened[-1]

    monkeypatch.setattr(study, "open_farm", counting)
    monkeypatch.setattr(study, "run", functools.partial(study.run.func, report=False))
    code, out, err = call("run", "lens.toml", *SMALL, "--seed", "3", "--seeds", "3")
    folders = out.split()
    assert (code, len(folders), len(opened)) == (0, 3, 1)
    fitness = [antennaopt.open_run(folder).best.fitness for folder in folders]
    middle, least, most = sorted(fitness)[1], min(fitness), max(fitness)
    assert f"fitness of 3 seeds: median {middle:.4g}, {least:.4g} to {most:.4g}; best: seed " in err
    monkeypatch.setattr(study, "run", functools.partial(study.run, farm=serial))
    _, out, _ = call("run", "lens.toml", *SMALL, "--seed", "4")
    alone, shared = (antennaopt.open_run(folder).rows for folder in (out.strip(), folders[1]))
    assert list(alone["fitness"]) == list(shared["fitness"])


def test_seeds_of_a_search_for_a_front_are_ranked_by_hypervolume(call, monkeypatch):
    """Up to one reference point: the worst of all seeds."""
    monkeypatch.setattr(study, "open_farm", serial)
    summaries, real = {}, functools.partial(study.run.func, report=False)

    def carry(experiment, **how):
        summaries[experiment.seed] = real(experiment, **how)
        return summaries[experiment.seed]

    monkeypatch.setattr(study, "run", carry)
    aims = ["--set", 'objective=[{metric="directivity_dbi", aim="largest"}, {metric="diameter_mm", aim="least"}]']
    small = [*SMALL, *aims, "--set", "evolution.algorithm=nsga2", "--set", "evolution.population=8"]
    code, _, err = call("run", "lens.toml", *small, "--seed", "3", "--seeds", "3")
    assert code == 0, err
    table = err[err.index("seed  hypervolume  on the front") :]
    volumes = {int(line.split()[0]): float(line.split()[1]) for line in table.splitlines()[2:5]}
    reference = np.max([one.front.reference for one in summaries.values()], axis=0)
    for seed, one in summaries.items():
        assert volumes[seed] == pytest.approx(hypervolume(np.array(one.front.values), reference), rel=1e-4)
    best = max(volumes, key=volumes.__getitem__)
    assert f"best: seed {best}, {summaries[best].folder}" in " ".join(table.split())
    assert f"{min(volumes.values()):.4g} to {max(volumes.values()):.4g}" in table


def test_seeds_that_were_not_run_are_counted(call, monkeypatch):
    """Another failure than an antenna's own ends all: what was finished is shown, with what is left."""
    monkeypatch.setattr(study, "open_farm", serial)
    carry = functools.partial(study.run.func, report=False)

    def second_fails(experiment, **how):
        if experiment.seed == 4:
            raise ConfigurationError("no more")
        return carry(experiment, **how)

    monkeypatch.setattr(study, "run", second_fails)
    code, out, err = call("run", "lens.toml", *SMALL, "--seed", "3", "--seeds", "3")
    assert (code, out.count("\n")) == (2, 1)
    assert "2 of 3 seeds have not been finished" in err and "error: no more" in err
    assert "fitness of seed 3: " in err and "median" not in err.split("not been finished")[1]


@pytest.mark.parametrize(
    ("last", "line"),
    [
        (3, "seeds 4 to 6 have not been begun; repeat the command with --seed 4 --seeds 3 to run them"),
        (5, "seed 6 has not been begun; repeat the command with --seed 6 --seeds 1 to run it"),
        (6, None),
    ],
)
@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_an_interrupted_run_names_the_seeds_that_it_did_not_begin(call, monkeypatch, last, line, quiet):
    """`resume` goes on with the seed in progress alone, so that the others must be named."""
    real = functools.partial(study.run.func, report=False)

    def carry(experiment, *, progress, **how):
        summary = real(experiment, progress=progress, **how)
        if experiment.seed == last:
            raise Interrupted(f"interrupted; {summary.folder} can be resumed", exit_code=143)
        return summary

    monkeypatch.setattr(study, "open_farm", serial)
    monkeypatch.setattr(study, "run", carry)
    code, _, err = call("run", "lens.toml", *SMALL, *quiet, "--seed", "3", "--seeds", "4")
    assert (code, "can be resumed" in err) == (143, True)
    assert (line in err.splitlines()) if line else ("not been begun" not in err)


@pytest.mark.parametrize(
    ("last", "line"),
    [
        (3, None),  # nothing was begun: the error says it all
        (5, "seeds 5 to 6 have not been begun; repeat the command with --seed 5 --seeds 2 to run them"),
    ],
)
def test_a_seed_without_a_run_folder_has_not_been_begun(call, monkeypatch, last, line):
    """There is nothing to resume where a signal or a lost farm ends a run before its folder is made."""
    real = functools.partial(study.run.func, report=False)

    def carry(experiment, **how):
        if experiment.seed == last:
            raise Interrupted("interrupted before anything was solved; nothing is lost", exit_code=143)
        return real(experiment, **how)

    monkeypatch.setattr(study, "open_farm", serial)
    monkeypatch.setattr(study, "run", carry)
    code, _, err = call("run", "lens.toml", *SMALL, "--seed", "3", "--seeds", "4")
    assert code == 143
    assert (line in err.splitlines()) if line else ("not been begun" not in err)


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_seeds_beyond_the_largest_are_refused(call, tmp_path, more):
    """Their runs could not be resumed."""
    code, out, err = call("run", "lens.toml", *SMALL, "--seed", str(2**63 - 2), "--seeds", "3", *more)
    assert (code, out) == (2, "")
    assert "--seeds 3 from seed 9223372036854775806 on ends at seed 9223372036854775808 (must be <= 92233720" in err
    assert not (tmp_path / "results").exists()


def test_a_dry_run_shows_the_cost_and_makes_nothing(call, tmp_path):
    code, out, _ = call("run", "lens.toml", "--dry-run", *SMALL)
    assert code == 0
    assert "64 x 96 cells" in out
    assert "at most 14" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lens.toml"]


@pytest.mark.parametrize("backend", ["auto", "cpu", "cuda"])
@pytest.mark.parametrize(
    "given",
    [
        ("--scheduler", "tcp://127.0.0.1:8786"),
        ("--set", 'cluster.address="tcp://127.0.0.1:8786"', "--set", 'cluster.kind="address"'),
    ],
)
def test_a_dry_run_of_a_schedulers_workers_solves_nothing_here(call, monkeypatch, backend, given):
    """This machine's cores and devices say nothing of theirs, and none is looked at."""
    monkeypatch.setattr("antennaopt.run.dry_run.estimate", None)
    monkeypatch.setattr("fdtd.backends.cuda.present.devices", None)
    code, out, err = call("run", "lens.toml", "--dry-run", "--backend", backend, *given, *SMALL)
    assert (code, "Error" in err) == (0, False)
    assert "64 x 96 cells" in out
    assert "at most 14" in out
    assert "workers      those of tcp://127.0.0.1:8786; a dry run does not connect" in out


@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_a_run_warns_of_goals_that_hardly_make_sense_and_goes_on(call, dry):
    code, out, err = call("run", "lens.toml", *SMALL, "--set", "objective.1.at_most=5", *dry)
    assert (code, bool(out)) == (0, True)
    assert "warning: objective.1: s11_db at_most = 5 dB is met by every antenna" in err


def test_status_resume_and_more_generations(call, run_folder):
    code, out, _ = call("status", run_folder)
    assert code == 0
    assert "finished" in out
    assert "3 of 3" in out
    code, out, _ = call("resume", run_folder, "--set", "evolution.generations=5")
    assert code == 0
    assert out.splitlines()[-1] == str(run_folder)
    state = json.loads(call("status", run_folder, "--json", "-")[1])
    assert (state["generations"], state["generations_planned"], state["state"]) == (5, 5, "finished")


def test_a_run_in_use_is_told_so(call, run_folder):
    lock = FolderLock(run_folder)
    try:
        assert json.loads(call("status", run_folder, "--json", "-")[1])["state"] == "running"
        code, _, err = call("resume", run_folder)
    finally:
        lock.release()
    assert code == 3
    assert err.startswith("error: ")


def test_a_changed_experiment_is_not_resumed(call, run_folder):
    code, _, err = call("resume", run_folder, "--set", "evolution.elites=1")
    assert code == 4
    assert "evolution.elites" in err
    assert err.count("\n") == 1


def test_an_antenna_of_a_run_is_solved_on_the_runs_own_grid(call, run_folder):
    known = json.loads((run_folder / "manifest.json").read_text())
    cheap_evaluation.CALLS.clear()
    code, out, _ = call("simulate", run_folder, "--individual", "g0000-s002", "--json", "-")
    assert code == 0
    ((what, _, (design,), plan, backend, _),) = cheap_evaluation.CALLS
    assert what == "evaluate"
    assert (plan, backend) == (known["plan"], known["backend"])
    data = json.loads(out)
    assert (data["individual"], data["run"], data["design"]) == ("g0000-s002", run_folder.name, design)


def test_the_best_antenna_is_exported_and_simulated_again(call, run_folder, tmp_path):
    code, out, _ = call("export", run_folder, "--toml", "best.toml", "--csv", "best.csv", "--touchstone", "best.s1p")
    assert code == 0
    assert out.split() == ["best.toml", "best.csv", "best_patterns.csv", "best.s1p"]
    first = json.loads(call("simulate", run_folder, "--individual", "best", "--json", "-")[1])
    again = json.loads(call("simulate", "best.toml", "--json", "-")[1])
    assert again["design"] == first["design"]
    assert again["results"] == first["results"]


@pytest.mark.parametrize(
    ("individual", "says"),
    [("g0099-s000", "is not in"), ("g0000-s099", "is not in"), ("slot 3", "ids look like g0003-s012")],
)
def test_an_unknown_individual(call, run_folder, individual, says):
    code, _, err = call("simulate", run_folder, "--individual", individual)
    assert code == 2
    assert says in err
    assert err.count("\n") == 1


def test_demo_compares_the_best_with_the_first(call, tmp_path, monkeypatch):
    text = LENS.replace("population = 16", "population = 6\ngenerations = 3")
    (tmp_path / "lens.toml").write_text(text)
    monkeypatch.setattr(commands, "quickstart", lambda: tmp_path / "lens.toml")
    code, out, _ = call("demo")
    assert code == 0
    assert "best of the random first" in out
    assert "best of the run" in out
    assert "directivity on axis (dBi)" in out
    assert Path(out.splitlines()[-1]).is_dir()


def test_the_demo_takes_the_packages_quickstart(tmp_path, monkeypatch):
    """Not one that lies in the current directory; in a checkout it is the file of `experiments/`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "quickstart.toml").write_text("")
    project = Path(antennaopt.__file__).parents[1]
    assert commands.quickstart().samefile(project / "experiments" / "quickstart.toml")
    assert commands.example("reference_lens.toml").is_file()
    with pytest.raises(ConfigurationError, match="install antennaopt again"):
        commands.example("none.toml")


def test_status_and_report_can_be_quiet(call, run_folder, blank_figures):
    assert call("status", run_folder, "--quiet") == (0, "", "")
    code, out, err = call("status", run_folder, "-q", "--json", "-")
    assert (code, err) == (0, "")
    assert json.loads(out)["state"] == "finished"
    assert call("report", run_folder, "--quiet") == (0, "", "")
    assert (run_folder / "report.html").exists()


def test_damaged_patterns_cost_the_patterns_only(call, run_folder, tmp_path):
    """The antenna, its figures and solving it again need no pattern."""
    for path in (run_folder / "patterns").iterdir():
        path.write_bytes(path.read_bytes()[:-20])
    code, _, err = call("export", run_folder, "--toml", "best.toml", "--csv", "best.csv")
    assert code == 0
    assert "patterns/gen-000002.parquet is damaged (" in err and "the rest is shown, `antennaopt resume --repair" in err
    assert (tmp_path / "best.csv").exists() and not (tmp_path / "best_patterns.csv").exists()
    assert call("simulate", "best.toml", "-q")[0] == 0
    assert call("simulate", run_folder, "--individual", "best", "-q") == (0, "", "")


def test_patterns_of_other_frequencies_cost_the_patterns_only(call, run_folder, tmp_path):
    """Of a file of another run: they were looked up by the run's own frequencies, and ended in a KeyError."""
    for path in (run_folder / "patterns").iterdir():
        table = parquet.read_table(path)
        at = table.column_names.index("frequency_hz")
        moved = pa.array([1.1 * hz for hz in table["frequency_hz"].to_pylist()], pa.float64())
        parquet.write_table(table.set_column(at, table.schema.field(at), moved), path)
    code, _, err = call("export", run_folder, "--toml", "best.toml", "--csv", "best.csv")
    assert code == 0 and "is damaged (it has other frequencies than the run); the rest is shown" in err
    assert (tmp_path / "best.csv").exists() and not (tmp_path / "best_patterns.csv").exists()


def test_genes_of_another_run_are_refused(call, run_folder, tmp_path):
    """`resolved.json` of a search with fewer genes: rows were decoded by them, which ended in a ValueError."""
    path = run_folder / "resolved.json"
    resolved = json.loads(path.read_text())
    resolved["antenna"]["lens"]["radii"][0] = 0.012
    path.write_text(json.dumps(resolved))
    for arguments in (("export", run_folder, "--toml", "x.toml"), ("simulate", run_folder, "--individual", "best")):
        code, _, err = call(*arguments)
        assert code == 4 and "resolved.json has other genes than the rows" in err and err.count("\n") == 1


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_run_folder_in_place_of_a_file_is_recognised(call, run_folder, command):
    code, _, err = call(command, run_folder)
    assert code == 2 and "is a run folder; continue it with `antennaopt resume`" in err and err.count("\n") == 1
