"""Constraints and aims: files, Deb's rules in every algorithm, rows, goals tables, the front of a run, refusals."""

# ruff: noqa: E501 - a case reads best on one line

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from cheap_lens_here import carried_out
from cheap_study import MemoryStore, driver
from config_files import LENS, replaced

import antennaopt as ao
from antennaopt.cli.tables import report_lines
from antennaopt.cli.validate import describe
from antennaopt.errors import ConfigurationError
from antennaopt.experiment import Experiment, load_experiment
from antennaopt.report.goals import goals_line, goals_table
from antennaopt.run.progress import Lines
from antennaopt.search import ALGORITHMS, EvolutionSettings, Result, Stop, new_search
from antennaopt.search.fronts import hypervolume
from antennaopt.search.objectives import WORST_SHORTFALL_DB, Ranking, build, shortfalls, standings
from antennaopt.store.run_folder import RunFolder

MATCHED = {"metric": "s11_db", "at_most": -20.0}
GAIN = {"metric": "directivity_dbi", "at_least": 20.0}
LARGEST = {"metric": "directivity_dbi", "aim": "largest"}
CONSTRAINT = '[[constraint]]\nmetric = "crosspol_db"\nat_most = -25.0\n'
NSGA2 = 'algorithm = "nsga2"\npopulation = 16'


def outcome(directivity, s11):
    return {"status": "ok", "frequency_hz": [30e9, 31e9], "directivity_dbi": directivity, "s11_db": s11}


def read(tmp_path, *changes, more=""):
    text = LENS + more
    for old, new in changes:
        text = replaced(text, old, new)
    file = tmp_path / "lens.toml"
    file.write_text(text)
    return load_experiment(file)


def test_an_antenna_that_meets_all_constraints_comes_before_every_one_that_does_not():
    order = Ranking.of(build([GAIN], constraints=[MATCHED, {"metric": "crosspol_db", "at_most": -30.0}]))
    met = [order.fitness("ok", (short, 0.0, 0.0)) for short in (0.0, 3.0, WORST_SHORTFALL_DB)]
    missed = [
        order.fitness("ok", shorts)
        for shorts in ((200.0, 0.01, 0.0), (0.0, 3.0, 0.0), (0.0, 1.0, 3.0), (0.0, 200.0, 200.0))
    ]
    failed = [order.fitness(status, ()) for status in ("undecayed", "diverged", "infeasible")]
    assert met == [0.0, 3.0, 200.0]
    assert [*met, *missed, *failed] == sorted({*met, *missed, *failed})


def test_a_violation_of_3_db_is_a_half_and_none_counts_for_more_than_one():
    order = Ranking((1.0,), 2)
    assert order.violation((9.0, 0.0, 0.0)) == 0.0
    assert order.violation((0.0, 3.0, 0.0)) == 0.5
    assert order.violation((0.0, 3.0, 1.0)) == 0.75
    assert 1.9 < order.violation((0.0, 200.0, 200.0)) < 2.0


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "random"])
def test_every_algorithm_finds_an_antenna_that_meets_a_constraint(algorithm):
    """The objective pulls to genes of 0, where the constraint, a mean of at least 0.6, is missed by far."""
    from types import SimpleNamespace

    genes = [SimpleNamespace(name=f"x.{at}", low=0.0, high=1.0, kind="real", choices=()) for at in range(4)]
    settings = EvolutionSettings(algorithm=algorithm, population=20, generations=60, stop=Stop(goals=False))
    search = new_search(settings, genes, 3, order=Ranking((1.0,), 1))
    while search.stopped() is None:
        search.tell([
            Result(
                individual=one.individual,
                shortfalls=(10.0 * sum(one.genome), 100.0 * max(0.6 - sum(one.genome) / 4, 0.0)),
            )
            for one in search.ask(20)
        ])  # fmt: skip
    assert 24.0 <= search.best().fitness < 26.0


def test_aims_are_the_worst_value_in_the_metrics_unit():
    goals = build([LARGEST, {"metric": "s11_db", "aim": "least"}], constraints=[GAIN])
    assert shortfalls(outcome([18.0, 19.0], [-12.0, -15.0]), goals) == [-18.0, -12.0, 2.0]
    assert shortfalls(outcome([18.0, None], [-12.0, -15.0]), goals)[0] == 1e9
    lone, best, held = standings(outcome([18.0, 19.0], [-12.0, -15.0]), goals)
    assert (lone.value, lone.margin, lone.frequency_hz, lone.aim) == (18.0, None, 30e9, "largest")
    assert (best.value, best.aim, held.constraint, held.margin) == (-12.0, "least", True, -2.0)
    assert "aim" not in held.to_dict() and held.to_dict()["constraint"] is True
    order = Ranking.of(goals)
    assert order.aims == ("largest", "least") and order.constraints == 1
    better, worse = (order.fitness("ok", (short, -12.0, 0.0)) for short in (-19.0, -18.0))
    assert 0.0 < better < worse < order.worst


def test_the_goals_table_names_constraints_and_aims():
    goals = standings(outcome([18.0, 19.0], [-12.0, -15.0]), build([LARGEST], constraints=[MATCHED, GAIN]))
    rows = {row[0]: row[1:] for row in goals_table(goals)}
    assert rows["Constraint: S11"] == ["at most −20 dB", "−12.00 dB", "30 GHz", "missed by 8.00 dB"]
    assert rows["Directivity on axis"] == ["largest", "18.00 dBi", "30 GHz", ""]
    assert goals_line(goals) == (
        "No goal is met; missed: constraint: S11 by 8.00 dB, constraint: directivity on axis by 2.00 dB."
    )


def test_a_file_with_constraints_reads_back_and_is_another_experiment(tmp_path):
    plain, held = read(tmp_path), read(tmp_path, more=CONSTRAINT)
    assert "constraints" not in plain.resolved()
    assert [one.metric for one in held.goals] == ["directivity_dbi", "s11_db", "crosspol_db"]
    assert [one.constraint for one in held.goals] == [False, False, True]
    assert held.config_hash != plain.config_hash
    assert held.physics_hash == plain.physics_hash
    again = Experiment.from_resolved(json.loads(json.dumps(held.resolved())))
    assert again == held and again.config_hash == held.config_hash


def test_a_front_mutates_one_gene_of_all_by_default(tmp_path):
    assert read(tmp_path, ("population = 16", NSGA2)).evolution.mutation.probability == 1 / 6
    assert read(tmp_path).evolution.mutation.probability == 0.2
    given = read(tmp_path, ("population = 16", NSGA2 + "\nmutation = { probability = 0.3 }"))
    assert given.evolution.mutation.probability == 0.3


WEIGHTED = 'metric = "s11_db"\nat_most = -15.0'
AIM = 'metric = "s11_db"\naim = "least"'
CASES = {
    "a weight of a constraint": ((), CONSTRAINT + "weight = 2", "constraint.0.weight = 2 does not go with a constraint"),
    "an aim of a constraint": ((), CONSTRAINT + 'aim = "least"', "constraint.0.aim = \"least\" does not go with"),
    "a constraint without a level": ((), '[[constraint]]\nmetric = "s11_db"', "constraint.0 has neither at_least nor"),
    "a frequency that is not solved": ((), CONSTRAINT + 'frequencies = ["29 GHz"]', "constraint.0.frequencies: 29 GHz"),
    "a contradiction": ((), '[[constraint]]\nmetric = "s11_db"\nat_least = -5', "objective.1 and constraint.0: s11_db"),
    "an aim in a weighted sum": (((WEIGHTED, AIM),), "", 'objective.1.aim = "least" does not go with evolution.algorithm = "ga"'),
    "an aim and a level": (((WEIGHTED, AIM + "\nat_most = -15"),), "", "objective.1 has both aim and at_most"),
    "no aim": (((WEIGHTED, AIM.replace("least", "most")),), "", "objective.1.aim = \"most\" is not one of 'largest' or"),
    "one objective": ((("population = 16", NSGA2), ("[[objective]]\n" + WEIGHTED, "")), "", "searches for a front and has one objective"),
    "one aim": ((("population = 16", NSGA2), ("[[objective]]\n" + WEIGHTED, ""), ("at_least = 18.0", 'aim = "largest"')), "", "give it a level, at_least or at_most, and use algorithm = \"ga\""),
    "a weight": ((("population = 16", NSGA2), (WEIGHTED, WEIGHTED + "\nweight = 2")), "", "objective.1.weight = 2 does not go with evolution.algorithm = \"nsga2\""),
    "not a multiple of four": ((("population = 16", NSGA2.replace("16", "18")),), "", "evolution.population = 18 does not go with evolution.algorithm = \"nsga2\", whose tournaments take four at a time (must be a multiple of 4); use 20"),
    "a short reference": ((("population = 16", NSGA2 + "\nreference = [1]"),), "", "evolution.reference has 1 numbers for 2 objectives"),
    "a reference of a sum": ((("population = 16", "population = 16\nreference = [1, 2]"),), "", "evolution.reference does not go with"),
    "a fitness of a front": ((("population = 16", NSGA2 + "\nstop = { fitness = 1 }"),), "", "evolution.stop.fitness does not go with"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_makes_no_sense_is_refused_in_one_line(tmp_path, case):
    changes, more, says = CASES[case]
    with pytest.raises(ConfigurationError) as refused:
        read(tmp_path, *changes, more=more)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def warned(store=None, **changes):
    said = io.StringIO()
    goals = build(
        [GAIN],
        constraints=[{"metric": "s11_db", "at_most": changes.pop("at_most")}, {"metric": "s11_db", "at_most": 0.0}],
    )
    study = driver(store or MemoryStore(), objectives=goals, progress=Lines(said), **changes)
    return study, said


@pytest.mark.parametrize("algorithm", ["ga", "de"])
def test_a_constraint_that_no_antenna_meets_is_warned_of_once(algorithm):
    """S11 is near -15 dB; the least violation is that of three generations."""
    study, said = warned(at_most=-30.0, algorithm=algorithm)
    study.run()
    (line,) = [line for line in said.getvalue().splitlines() if line.startswith("WARNING")]
    assert line.startswith(
        "WARNING: constraint.0, S11 at most -30 dB, is met by no antenna of the first 3 generations; "
    )
    short, value = re.search(r"least violation (\d+\.\d+) dB, at (-\d+\.\d+) dB \(g000\d-s\d+\): lower", line).groups()
    assert float(short) == pytest.approx(30.0 + float(value), abs=0.011)
    study, said = warned(at_most=-10.0, algorithm=algorithm)
    study.run()
    assert "WARNING" not in said.getvalue()


@pytest.mark.parametrize("elites", [1, 2, 3, 4])
def test_a_resumed_run_warns_as_one_that_was_never_stopped(elites):
    """The nearest antenna may be in any slot; newcomers of later generations have the last ones, behind the elites."""
    study, said = warned(at_most=-30.0, elites=elites)
    study.run()
    (line,) = [line for line in said.getvalue().splitlines() if line.startswith("WARNING")]
    store = MemoryStore()
    first, _ = warned(store, at_most=-30.0, elites=elites)
    first.generation()
    first.generation()
    again, said = warned(store, at_most=-30.0, elites=elites)
    again.restore(json.loads(store.checkpoints[-1]))
    again.run()
    assert line in said.getvalue().splitlines()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """NSGA-II with a bowl in place of fields: directivity against radius, S11 as a constraint."""
    goals = [LARGEST, {"metric": "diameter_mm", "aim": "least"}]
    return carried_out(
        tmp_path_factory.mktemp("front"), objective=goals, constraint=[{"metric": "s11_db", "at_most": -2.0}]
    )


def test_rows_have_aims_shortfalls_and_violation(run):
    rows = ao.open_run(run.folder).rows
    assert (rows["aim_0_directivity_dbi"] == rows["directivity_dbi_30000mhz"]).all()
    assert (rows["aim_1_diameter_mm"] == rows["diameter_mm_30000mhz"]).all()
    short = rows["shortfall_2_s11_db"]
    assert ((rows["violation"] == 0.0) == (short == 0.0)).all()
    assert rows["violation"].to_numpy() == pytest.approx((short / (short + 3.0)).to_numpy())
    assert (rows["violation"] > 0).any() and (rows["violation"] == 0).any()
    manifest = json.loads((run.folder / "manifest.json").read_text())["columns"]
    assert manifest["constraints"] == 1 and manifest["aims"] == ["largest", "least"]


def test_the_front_is_all_rows_that_no_other_is_better_than(run):
    one = ao.open_run(run.folder)
    rows, front = one.rows, one.front
    held = rows[rows["violation"] == 0.0]
    due = [
        row.individual
        for row in held.itertuples()
        if not (
            (held["aim_0_directivity_dbi"] >= row.aim_0_directivity_dbi)
            & (held["aim_1_diameter_mm"] <= row.aim_1_diameter_mm)
            & (
                (held["aim_0_directivity_dbi"] > row.aim_0_directivity_dbi)
                | (held["aim_1_diameter_mm"] < row.aim_1_diameter_mm)
            )
        ).any()
    ]
    assert len(due) > 3
    assert set(front["individual"]) == set(due)
    assert front["aim_0_directivity_dbi"].is_monotonic_increasing
    assert run.best.individual == min(zip(rows["fitness"], rows["individual"], strict=True))[1]
    assert one.individual(front["individual"][1]).design


def test_the_log_has_the_hypervolume_of_each_generation(run):
    lines = (run.folder / "logs/run.jsonl").read_text().splitlines()
    volumes = [one["hypervolume"] for one in map(json.loads, lines) if one["event"] == "generation"]
    assert len(volumes) == 6
    assert volumes[-1] > volumes[0] > 0.0


def test_the_hypervolume_at_the_end_is_that_of_the_rows_of_the_front(tmp_path):
    """A population of four cannot hold the front: the last generation's volume is smaller."""
    goals = [LARGEST, {"metric": "diameter_mm", "aim": "least"}]
    evolution = {"algorithm": "nsga2", "population": 4, "generations": 16}
    done = carried_out(tmp_path, objective=goals, evolution=evolution)
    front = ao.open_run(done.folder).front
    values = np.stack([-front["aim_0_directivity_dbi"], front["aim_1_diameter_mm"]], axis=1)
    assert len(front) == done.front.antennas == len(done.front.values) > 4
    assert done.front.hypervolume == pytest.approx(hypervolume(values, done.front.reference), rel=1e-12)
    lines = map(json.loads, (done.folder / "logs/run.jsonl").read_text().splitlines())
    assert done.front.hypervolume > 1.001 * [one["hypervolume"] for one in lines if one["event"] == "generation"][-1]


def test_a_run_says_how_its_best_antenna_stands_to_the_constraints(run):
    text = "\n".join(report_lines(run))
    assert "Constraint: S11" in text
    assert run.front.antennas == len(ao.open_run(run.folder).front) and run.front.hypervolume > 0.0
    front = run.front
    assert f"front: {front.antennas} antennas, hypervolume {front.hypervolume:.5g}; the table has one of them." in text
    assert "weighted sum" not in text and "fitness" not in text
    with RunFolder.open(run.folder) as folder:
        assert folder.columns.shortfall_columns[2] == "shortfall_2_s11_db"


def test_a_run_with_one_objective_has_no_front(tmp_path):
    done = carried_out(tmp_path, objective=[GAIN], evolution={"algorithm": "ga", "population": 4, "generations": 1})
    with pytest.raises(ConfigurationError, match=r"has 1 objective, and a front needs two; see `best`"):
        _ = ao.open_run(done.folder).front


def test_a_goal_that_no_antenna_comes_near_is_named_after_the_first_generations():
    """S11 is near -15 dB: -30 dB is far, -16 dB is not; the run goes on, and says so once."""
    for level, far in ((-30.0, True), (-16.0, False)):
        said = io.StringIO()
        goals = build([{"metric": "s11_db", "at_most": level}, GAIN | {"at_least": 1.0}])
        study = driver(MemoryStore(), objectives=goals, progress=Lines(said))
        study.run()
        lines = [line for line in said.getvalue().splitlines() if line.startswith("after 3 generations")]
        assert len(lines) == far
        if far:
            assert "came within 1 dB of: S11 at most -30 dB (nearest: -1" in lines[0] and "Directivity" not in lines[0]


def test_validate_lists_aims_and_constraints(tmp_path):
    held = read(tmp_path, ("population = 16", NSGA2 + "\ngenerations = 10"), (WEIGHTED, AIM), more=CONSTRAINT)
    lines = describe(held)
    assert "objective    s11_db least" in lines
    assert "constraint   crosspol_db at most -25" in lines
    assert "search       nsga2, population 16, 10 generations, at most 160 antennas" in lines
