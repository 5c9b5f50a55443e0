"""The suite of frozen problems: all searches at one farm, rows that can be made in pieces, and what they say."""

import hashlib
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from antennaopt.bench import suite
from antennaopt.bench.running_time import (
    ENDS,
    FIRST,
    best_at,
    ends_of,
    expected_running_time,
    holm,
    panels,
    rank_sum,
    shares,
    summary,
    targets,
)
from antennaopt.bench.suite import COMPARED, PROBLEMS, Task, bench_suite, frozen, key_of, settings_of, stored
from antennaopt.cli import main
from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_experiment
from antennaopt.farm.farm import SerialFarm
from antennaopt.run.driver import Driver
from antennaopt.run.interfaces import Interfaces
from antennaopt.run.planning import figuring
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import Progress
from antennaopt.search import EvolutionSettings, Stop, new_search
from antennaopt.search.objectives import Ranking

CALLS = []
RULE = Path(__file__).parents[2] / "benchmarks" / "search_rule"
STORED = Path(__file__).parents[2] / "results" / "benchmarks" / "h200" / "search_suite.jsonl"


def bowl(family, designs, plan, *, backend="cpu", **how):
    """A bowl over the radii with a broken antenna here and there, so that failures count too."""
    CALLS.append(len(designs))
    return [_outcome(design) for design in designs]


def _outcome(design):
    radii = [1e3 * value for name, value in design.items() if name.startswith("lens.radii")]
    if radii and sum(radii) % 0.5 < 0.05:
        return {"status": "infeasible", "error": "no", "seconds": 0.0, "steps": 0}
    miss = sum((radius - 9.0 - place) ** 2 for place, radius in enumerate(radii)) + 1.0
    metrics = {"s11_db": [-10.0], "sidelobe_db": [-15.0], "crosspol_db": [-30.0]}
    return {"status": "ok", "error": None, "seconds": 0.0, "frequency_hz": [30e9], "steps": 1000,
            "directivity_dbi": [18.0 - miss / 5.0], **metrics}  # fmt: skip


def task(problem="quickstart", *, seeds=(1, 2), algorithms=COMPARED, evaluations=150):
    return Task(
        problem=problem,
        experiment=load_experiment(frozen(problem)),
        algorithms=algorithms,
        seeds=seeds,
        evaluations=evaluations,
    )


def searched(*tasks, **how):
    with SerialFarm(bowl, family="shaped_lens", plan={}) as farm:
        return list(bench_suite(tasks, opened=farm, **how))


def without_seconds(rows):
    return {key_of(row): {name: value for name, value in row.items() if name != "seconds"} for row in rows}


@pytest.fixture(scope="module")
def rows():
    CALLS.clear()
    return searched(task())


def test_each_search_is_the_one_that_a_run_makes(rows):
    """The driver of `run` carries the same searches through, one after the other, with a farm of their own."""
    assert len(rows) == 2 * len(COMPARED)
    experiment = load_experiment(frozen("quickstart"))
    for row in rows:
        settings = EvolutionSettings(
            algorithm=row["algorithm"], population=32, generations=20, stop=Stop(evaluations=150, goals=False)
        )
        search = new_search(settings, experiment.genes, row["seed"], order=Ranking.of(experiment.goals))
        with SerialFarm(bowl, family="shaped_lens", plan={}) as farm:
            Driver(search, Interfaces(
                objectives=experiment.goals, design=experiment.design, figured=figuring(experiment), farm=farm,
                store=suite_store(), progress=Progress(), signals=StopSignals(),
            )).run()  # fmt: skip
        assert row["solved"] == search.evaluations == 150
        assert row["best_fitness"] == pytest.approx(search.best().fitness, abs=1e-6)
        assert row["history"][-1][1] == row["best_fitness"]
        counts, bests = zip(*row["history"], strict=True)
        assert list(counts) == sorted(set(counts)) and list(bests) == sorted(set(bests), reverse=True)


def suite_store():
    from antennaopt.bench.search import Discard

    return Discard()


def test_searches_of_a_seed_share_their_first_generation_and_batches_are_large():
    CALLS.clear()
    found = searched(task())
    solved = sum(row["solved"] for row in found)
    assert sum(CALLS) <= solved - 2 * 3 * 32
    assert sum(CALLS) > 0.8 * (solved - 2 * 3 * 32)
    assert max(CALLS) > 30


def test_rows_made_in_pieces_are_those_made_at_once(rows):
    first = searched(task(seeds=(2,)))
    rest = searched(task(), known=first)
    assert len(first) == len(rest) == len(COMPARED)
    assert without_seconds(first + rest) == without_seconds(rows)
    assert searched(task(), known=rows) == []


def test_a_time_limit_leaves_searches_for_another_call():
    notes = []
    assert searched(task(), task("ka_band_lens"), limit_s=0.0, note=notes.append) == []
    assert [re.sub(r", [0-9]+ antennas.*/s\)", "", note) for note in notes] == [
        "quickstart: 10 searches left for another call", "ka_band_lens: 10 searches left for another call"
    ]  # fmt: skip


def test_variants_of_the_genetic_algorithm():
    own = load_experiment(frozen("ka_band_lens")).evolution.settings
    assert settings_of("cmaes", own, 10) == replace(own, algorithm="cmaes")
    assert settings_of("ga_1/n", own, 10).mutation.probability == 0.1
    wide = settings_of("ga_wide", own, 10)
    assert (wide.algorithm, wide.crossover.eta, wide.mutation.eta) == ("ga", 5.0, 8.0)
    assert settings_of("de+polish", own, 10) == replace(own, algorithm="de", polish=True)
    found = searched(task(seeds=(1,), algorithms=("ga", "ga_1/n", "ga_wide", "ga_1/n+polish")))
    assert len({row["best_fitness"] for row in found}) == 4
    assert {row["solved"] for row in found} == {150}


FROZEN = {
    "dual_mode_horn": (5, "69fbcad0925ca4f3"),
    "quickstart": (6, "b0e21a523bc4f1c7"),
    "ka_band_lens": (10, "daeb3af86199cf3c"),
    "spline_horn": (12, "461bfc47d1af51d2"),
    "corrugated_horn": (20, "16ffea43390abd49"),
    "shaped_lens": (24, "5843962c6084f7df"),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_problems_are_frozen(problem):
    """Stored rows are of these files. A change asks for another name and for new rows."""
    genes, digest = FROZEN[problem]
    assert len(load_experiment(frozen(problem)).genes) == genes
    assert hashlib.sha256(frozen(problem).read_bytes()).hexdigest()[:16] == digest


@pytest.mark.parametrize("problem", PROBLEMS)
def test_targets_lie_between_ends_of_stored_searches(problem):
    rows = [json.loads(line) for line in STORED.read_text("utf-8").splitlines()]
    mine = [row for row in rows if row["problem"] == problem]
    first, best = ENDS[problem]
    assert first == pytest.approx(np.median([best_at(row, FIRST) for row in mine]), rel=5e-3)
    assert best == pytest.approx(min(row["best_fitness"] for row in mine), rel=5e-3)


def test_rules_are_made_on_other_problems():
    files = sorted(RULE.glob("*.toml"))
    assert len(files) == 10
    assert not {file.stem for file in files} & set(PROBLEMS)
    assert all(len(load_experiment(file).genes) == int(file.stem.split("_")[-1]) for file in files)


def made(seed, *history, solved=100, algorithm="ga", problem="quickstart"):
    about = {"problem": problem, "algorithm": algorithm, "seed": seed, "evaluations": 100, "overrides": [], "genes": 6}
    return {**about, "solved": solved, "best_fitness": history[-1][1], "history": [list(pair) for pair in history]}


def test_expected_running_time_counts_searches_that_failed():
    some = [made(1, (10, 5.0), (30, 2.0)), made(2, (20, 4.0))]
    assert expected_running_time(some, 4.5) == (30 + 20) / 2
    assert expected_running_time(some, 2.5) == (30 + 100) / 1
    assert math.isinf(expected_running_time(some, 1.0))
    assert [best_at(some[0], count) for count in (9, 10, 29, 30)] == [math.inf, 5.0, 5.0, 2.0]


def test_the_share_of_targets():
    first, best = ENDS["quickstart"]
    assert targets(ENDS["quickstart"])[[0, -1]] == pytest.approx([first, best + 0.01 * (first - best)])
    times, reached = shares([made(1, (10, first), (50, best)), made(2, (40, first))], ENDS)
    assert (times[0], times[1], times[-1]) == (10, 40, 50)
    assert reached[[0, -1]] == pytest.approx([1 / 82, 42 / 82])


def test_the_ends_of_a_file_are_those_of_its_rows():
    some = [made(1, (3, 9.0), (60, 4.0), problem="mine"), made(2, (40, 7.0), (50, 3.0), problem="mine")]
    assert ends_of("mine", some) == (8.0, 3.0)
    assert ends_of("quickstart", some) == ENDS["quickstart"]
    (row,) = summary(some)
    assert row["expected_running_time"][0] == (60 + 50) / 2


def test_differences_that_are_no_chance():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.02]) == pytest.approx([0.9, 0.04])
    # All of three below all of three: 2 of the 20 orders are as far apart.
    assert rank_sum([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) == pytest.approx(0.1)
    assert rank_sum([1.0, 1.0], [1.0, 1.0]) == 1.0


def test_the_summary_compares_with_the_genetic_algorithm():
    some = [made(seed, (1, 9.0), (50, 4.0 + seed / 10)) for seed in (1, 2, 3)]
    some += [made(seed, (1, 9.0), (25, 3.0 + seed / 10), algorithm="de") for seed in (1, 2, 3)]
    ga, de = summary(some)
    assert (ga["algorithm"], ga["p"], ga["wins"]) == ("ga", None, None)
    assert (de["median"], de["wins"], de["p"]) == (3.2, 3, pytest.approx(0.1))
    assert [one["title"] for one in panels(some)] == ["quickstart, 6 genes"]
    other = [{**row, "problem": "ka_band_lens", "genes": 10} for row in some]
    assert [row["p"] for row in summary(some + other)][1] == pytest.approx(0.2)
    assert [one["title"] for one in panels(some + other)][-1] == "all problems"


def test_the_command_goes_on_where_it_ended(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(suite, "open_farm", lambda *_, **__: SerialFarm(bowl, family="shaped_lens", plan={}))
    options = ["--problem", "quickstart", "--evaluations", "64", "--backend", "cpu", "--store", "s.jsonl"]
    assert main(["bench", "search", *options, "--seeds", "1", "--quiet"]) == 0
    before = (tmp_path / "s.jsonl").read_text()
    assert main(["bench", "search", *options, "--seeds", "2", "--json", "s.json", "--plot", "s.svg"]) == 0
    out, err = capsys.readouterr()
    assert [line.split()[:4] for line in out.splitlines()[2:]] == [
        ["quickstart", "6", name, "2"] for name in ("ga", "de", "cmaes", "surrogate", "random")
    ]
    assert "quickstart: 5 searches" in err
    text = (tmp_path / "s.jsonl").read_text()
    assert text.startswith(before) and len(stored(tmp_path / "s.jsonl")) == 10
    assert len(json.loads((tmp_path / "s.json").read_text())["searches"]) == 10
    assert (tmp_path / "s.svg").read_text().startswith("<?xml")
    (tmp_path / "s.jsonl").write_text(text + '{"problem": 1}\n')
    assert main(["bench", "search", *options]) == 2
    assert "line 11 is not a row of bench search" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (
            ["--problem", "cube"],
            "--problem cube is unknown; it is all, a file.toml or one of dual_mode_horn",
        ),
        (["--problem", "all", "--workers", "2"], "--problem and --workers exclude each other"),
        (["--problem", "all", "lens.toml"], "--problem and lens.toml exclude each other"),
        (["--algorithm", "ga"], "--algorithm goes with --problem; add --problem NAME or leave it out"),
        (
            ["--problem", "all", "--algorithm", "gaa"],
            "--algorithm gaa is not one of ga, de, cmaes, surrogate, random, ga_1/n",
        ),
        (["--time-limit", "9"], "--time-limit goes with --problem"),
        (["--problem", "all", "--store", "s.json", "--json", "s.json"], "give each output a file of its own"),
    ],
)
def test_what_does_not_go_together(options, error, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "search", "--backend", "cpu", *options]) == 2
    assert error in capsys.readouterr().err.splitlines()[-1]


def test_the_help_names_the_algorithms_that_are_compared(capsys):
    assert main(["bench", "search", "--help"]) == 0
    assert f"[default: {', '.join(COMPARED)}]" in " ".join(capsys.readouterr().out.split())


def test_a_problem_that_is_not_there():
    with pytest.raises(ConfigurationError, match="--problem cube is unknown"):
        frozen("cube")
