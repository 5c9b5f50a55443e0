"""Searches on coarse cells that finish on fine ones: what is promoted, kept, compared, crowned and shown.

On the coarse cells every antenna is 5 dB better than on the fine ones, so that a comparison across levels would crown
a coarse one.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import cheap_evaluation
import pandas as pd
import pytest
from cheap_lens_here import EXPERIMENT

from antennaopt.cli.status import read_state
from antennaopt.errors import ConfigurationError, Interrupted
from antennaopt.experiment import Experiment, load_experiment
from antennaopt.experiment.fidelity import coarser_settings
from antennaopt.farm.farm import SerialFarm
from antennaopt.report.page import write_report
from antennaopt.report.record import read_run
from antennaopt.run.levels import rank_correlation
from antennaopt.run.opened import Run
from antennaopt.run.planning import plan_for, standard_evaluate
from antennaopt.run.progress import Progress
from antennaopt.run.start import resume, run
from antennaopt.search import Result, Stop, new_search
from antennaopt.settings import EvolutionSettings, Ladder
from antennaopt.store.levels import level_lines
from antennaopt.store.run_folder import RunFolder

FINE, COARSE = 3e-4, 6e-4
QUICKSTART = Path(__file__).parents[2] / "experiments" / "quickstart.toml"
GOAL = [{"metric": "directivity_dbi", "at_least": 30.0}]
LADDER = {"cells": ["0.6 mm", "0.3 mm"], "promote": 0.3, "finish": 0.15}


def solved(family, designs, plan, **options):
    """Evaluate: the directivity is largest for radii of 12, 13, 14, 15 mm; coarse cells move that and add 5 dB."""
    found = []
    for design in designs:
        one = cheap_evaluation.outcome(design, plan)
        radii = [1e3 * design[f"lens.radii.{place}"] for place in range(4)]
        coarse = plan["cell"] / FINE - 1.0
        miss = sum((radius - 12.0 - place - 0.2 * coarse) ** 2 for place, radius in enumerate(radii))
        found.append(one | {"directivity_dbi": [19.0 - miss / 20.0 + 5.0 * coarse], "seconds": 1.0 / (1.0 + coarse)})
    return found


def random_on_coarse(family, designs, plan, **options):
    """Evaluate: coarse cells rank antennas by something else."""
    found = solved(family, designs, plan)
    if plan["cell"] > FINE:
        for design, one in zip(designs, found, strict=True):
            one["directivity_dbi"] = [1e6 * design["lens.radii.3"] % 7.0]
    return found


class Heard(Progress):
    def __init__(self):
        self.lines, self.reports = [], []

    def note(self, text):
        self.lines.append(text)

    def generation_done(self, report):
        self.reports.append(report)


def serial(experiment, *, plan, backend, scheduler=None, evaluate):
    evaluate = evaluate or standard_evaluate(experiment.family)
    return SerialFarm(evaluate, family=experiment.family, plan=plan, backend=backend)


def table(evolution=None, **changes):
    evolution = {"population": 10, "generations": 10, **(evolution or {})}
    solver = {"frequencies": ["30 GHz"], "cell": "0.3 mm"}
    about = {"objective": GOAL, "solver": solver, "fidelity": LADDER, **changes}
    return {name: one for name, one in {**EXPERIMENT, "evolution": evolution, **about}.items() if one is not None}


def toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{name}" = {toml(one)}' for name, one in value.items()) + "}"
    return "[" + ", ".join(map(toml, value)) + "]" if isinstance(value, list) else json.dumps(value)


def experiment(**changes):
    return Experiment.parse(table(**changes))


PLAN = {"nr": 100, "nz": 200, "cell": FINE, "frequencies": [30e9]}


def carried_out(root, *, plan=PLAN, evaluate=solved, report=False, progress=None, **changes):
    return run(
        experiment(**changes),
        root=root,
        source="\n".join(f"{name} = {toml(value)}" for name, value in table(**changes).items()),
        plan=plan,
        now=datetime(2026, 11, 21, 12, 0, tzinfo=UTC),
        evaluate=evaluate,
        progress=progress or Heard(),
        farm=serial,
        report=report,
    )


def rows_of(summary):
    return pd.read_parquet(summary.folder / "evals").sort_values(["generation", "slot"], ignore_index=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return carried_out(tmp_path_factory.mktemp("whole"))


def test_the_finest_level_begins_with_the_best_of_the_coarse_one(whole):
    rows = rows_of(whole)
    by_level = rows.groupby("level")["generation"].agg(["min", "max"])
    assert by_level.values.tolist() == [[0, 7], [8, 9]]
    coarse = rows[(rows["level"] == 0) & ~rows["cached"]].sort_values(["fitness", "individual"])
    promoted = rows[rows["operator"] == "promoted"]
    assert promoted["generation"].tolist() == [8] * 10
    assert [list(one) for one in promoted["parents"]] == [[name] for name in coarse["individual"][:10]]
    genomes = coarse.set_index("individual")["genome"]
    for one in promoted.to_dict("records"):
        assert one["genome"].tolist() == genomes[one["parents"][0]].tolist()
        assert one["directivity_dbi_30000mhz"] < 19.01  # solved again: not the value of the coarse cells
    bred = rows[rows["generation"] == 9]
    assert {name for parents in bred["parents"] for name in parents} <= set(promoted["individual"])


def test_nothing_is_compared_across_levels(whole):
    rows = rows_of(whole)
    fine = rows[rows["level"] == 1]
    best = fine.loc[fine["fitness"].idxmin()]
    assert rows["fitness"].min() < best["fitness"]  # a coarse one has a better number
    assert whole.best.individual == best["individual"]
    assert Run(whole.folder).best.individual == best["individual"]
    assert read_state(whole.folder)[0]["best"] == best["individual"]
    record = read_run(whole.folder)
    assert record.best["individual"] == best["individual"]
    assert set(record.ok["level"]) == {1}
    assert record.first_best is None and whole.first_best is None


def test_an_individual_is_recalled_with_the_cells_that_it_was_solved_on(whole):
    rows = rows_of(whole)
    for level, cell in ((0, COARSE), (1, FINE)):
        name = rows.loc[rows["level"] == level, "individual"].iloc[0]
        assert Run(whole.folder).individual(name).plan["cell"] == pytest.approx(cell)


def test_what_each_level_took_is_in_the_summary(whole):
    rows = rows_of(whole)
    assert [one["antennas"] for one in whole.levels] == [
        int((~rows.loc[rows["level"] == level, "cached"]).sum()) for level in (0, 1)
    ]
    assert [one["cell"] for one in whole.levels] == pytest.approx([COARSE, FINE])
    assert whole.levels[0]["seconds"] == pytest.approx(whole.levels[0]["antennas"] / 2.0)


def test_progress_names_level_and_cells(tmp_path):
    heard = Heard()
    carried_out(tmp_path, progress=heard, evolution={"generations": 4})
    heads = [one.line().split("  ")[0] for one in heard.reports]
    assert heads[0] == "generation 1/4 (level 1/2, 0.6 mm)"
    assert heads[-1] == "generation 4/4 (level 2/2, 0.3 mm)"


@pytest.mark.parametrize(
    "algorithm",
    ["ga", pytest.param("de", marks=pytest.mark.slow), "cmaes", pytest.param("random", marks=pytest.mark.slow)],
)
def test_every_algorithm_finishes_on_the_finest_cells(tmp_path, algorithm):
    """The last generations improve on the promoted: the search goes on there, and does not start from nothing."""
    done = carried_out(tmp_path, evolution={"algorithm": algorithm, "generations": 30, "population": 12})
    rows = rows_of(done)
    fine = rows[rows["level"] == 1]
    assert done.best.individual in set(fine["individual"])
    if algorithm != "random":
        assert done.best.fitness < fine.loc[fine["operator"] == "promoted", "fitness"].min() + 1e-12


def test_three_levels_follow_each_other(tmp_path):
    cells = {"cells": ["0.9 mm", "0.6 mm", "0.3 mm"], "finish": 0.2}
    with pytest.raises(ConfigurationError, match=r"fidelity.cells.0 = 0.9 mm is too coarse: .* cells"):
        experiment(fidelity=cells)
    cells["cells"][0] = "0.7 mm"
    levels = rows_of(carried_out(tmp_path, fidelity=cells)).groupby("generation")["level"].first()
    assert levels.tolist() == [0] * 6 + [1] * 2 + [2] * 2


def test_the_budget_of_evaluations_is_kept_and_leaves_the_finish_its_share(tmp_path):
    done = carried_out(tmp_path, evolution={"stop": {"evaluations": 50, "goals": False}})
    rows = rows_of(done)
    assert [int((rows.loc[~rows["cached"], "level"] == level).sum()) for level in (0, 1)] == [42, 8]
    assert done.reason == "50 evaluations done"
    assert done.best.individual in set(rows.loc[rows["level"] == 1, "individual"])


@pytest.mark.parametrize("algorithm", ["ga", "cmaes", "de", "random"])
@pytest.mark.parametrize("changes", [{}, {"elites": 3}, {"polish": True}, {"stop": Stop(evaluations=71, goals=False)}])
def test_the_announced_antennas_of_each_level_are_those_that_are_solved(algorithm, changes):
    """Real genes, so that no genome comes twice; a promoted population has no elites, so all of it is solved.

    `de` has a child for each of its population, and keeps as many as were promoted.
    """
    genes = [SimpleNamespace(name=f"x.{place}", low=0.0, high=1.0, kind="real", choices=()) for place in range(4)]
    about = {"algorithm": algorithm, "population": 8, "generations": 16, "stop": Stop(goals=False), **changes}
    settings, ladder = EvolutionSettings(**about), Ladder(cells=(3 * FINE, COARSE, FINE), promote=0.2, finish=0.2)
    one, solved_at = new_search(settings, genes, 3, ladder=ladder), [0, 0, 0]
    while one.stopped() is None:
        asked = one.ask()
        found = one.tell([Result(individual=each.individual, shortfalls=(sum(each.genome),)) for each in asked])
        solved_at[one.level_of(asked[0].generation)] += sum(not each.cached for each in found)
    budget = ladder.budget(settings)
    assert solved_at == budget or (algorithm == "de" and solved_at[:2] == budget[:2] and solved_at[2] < budget[2])


def test_goals_met_on_coarse_cells_end_that_level_and_not_the_run(tmp_path):
    done = carried_out(tmp_path, objective=[{"metric": "directivity_dbi", "at_least": 18.9}], seed=5)
    rows = rows_of(done)
    first = rows[(rows["level"] == 0) & (rows["fitness"] == 0.0)]["generation"].min()
    assert rows.loc[rows["level"] == 1, "generation"].min() == first + 1
    assert rows["level"].max() == 1


def test_without_fidelity_nothing_is_added(tmp_path):
    done = carried_out(tmp_path, fidelity=None)
    assert "level" not in rows_of(done)
    assert "fidelity" not in json.loads((done.folder / "manifest.json").read_text())
    assert "fidelity" not in json.loads((done.folder / "resolved.json").read_text())
    assert done.levels == [] and done.first_best is not None


def longer(done, generations, evaluate=solved):
    """Go on with a run after its end."""
    changed = [f"evolution.generations={generations}"]
    return resume(done.folder, overrides=changed, evaluate=evaluate, farm=serial, report=False, progress=Progress())


def test_a_longer_budget_goes_on_with_the_finest_cells(tmp_path):
    done = carried_out(tmp_path, evolution={"generations": 6})
    more = longer(done, 20)
    rows = rows_of(more)
    assert rows.groupby("generation")["level"].first().tolist() == [0] * 4 + [1] * 16
    assert more.best.fitness <= done.best.fitness


class Stopping(Progress):
    """Asks a run to stop once a number of antennas has been solved, as Ctrl-C does."""

    def __init__(self, after):
        self.left = after

    def evaluated(self, outcome=None):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("generations", [9, 10, 12])
@pytest.mark.parametrize("generation", [7, 8, 9])
def test_what_an_interrupted_generation_saved_is_of_its_own_level(tmp_path, whole, generation, generations):
    """In the last generation of the coarse level, the promoted one and the next; also with another budget."""
    rows = rows_of(whole)
    before = rows[(rows["generation"] < generation) & ~rows["cached"]]
    with pytest.raises(Interrupted):
        carried_out(tmp_path, progress=Stopping(len(before) + 3))
    (folder,) = (tmp_path / "cheap_front").iterdir()
    more = longer(SimpleNamespace(folder=folder), generations)
    again = rows_of(more)
    if generations == 10:
        pd.testing.assert_frame_equal(again, rows)
    for level, cell in ((0, COARSE), (1, FINE)):
        mine = again[again["level"] == level]
        radii = mine[[f"lens_radii_{place}_mm" for place in range(4)]].to_numpy()
        designs = [dict(zip([f"lens.radii.{place}" for place in range(4)], one / 1e3, strict=True)) for one in radii]
        found = solved("", designs, {"cell": cell, "nr": 1, "nz": 1, "frequencies": [30e9]})
        assert mine["directivity_dbi_30000mhz"].tolist() == pytest.approx([one["directivity_dbi"][0] for one in found])


class TestAuto:
    def test_the_coarsest_that_ranks_alike_is_taken(self, tmp_path):
        heard = Heard()
        done = carried_out(tmp_path, fidelity="auto", progress=heard)
        entry = json.loads((done.folder / "manifest.json").read_text())["fidelity"]
        assert [one["cell"] for one in entry["plans"]] == pytest.approx([7.5e-4])
        assert entry["measured"]["correlations"][0]["correlation"] > 0.95
        assert entry["measured"]["antennas"] == 32
        assert any(line.startswith("fidelity: rank correlation") and "are taken" in line for line in heard.lines)
        assert set(rows_of(done)["level"]) == {0, 1}

    def test_none_is_taken_where_coarse_cells_rank_otherwise(self, tmp_path):
        heard = Heard()
        done = carried_out(tmp_path, fidelity="auto", evaluate=random_on_coarse, progress=heard)
        assert "level" not in rows_of(done)
        assert any("no coarser cells are taken" in line for line in heard.lines)
        assert done.best is not None

    def test_without_coarser_cells_to_compare_nothing_is_solved_for_the_choice(self, tmp_path):
        """It solved 32 antennas on the solver's cells and compared them with nothing."""
        heard, coarse = Heard(), {"frequencies": ["30 GHz"], "cell": "0.6 mm"}
        done = carried_out(tmp_path, fidelity="auto", solver=coarse, evolution={"generations": 4}, progress=heard)
        entry = json.loads((done.folder / "manifest.json").read_text())["fidelity"]
        assert (entry["plans"], entry["measured"]["antennas"]) == ([], 0)
        assert [one for one in heard.lines if one.startswith("fidelity")] == [
            "fidelity: no coarser cells are fine enough; no coarser cells are taken"
        ]
        (line,) = [one for one in experiment(fidelity="auto", solver=coarse).warnings if one.startswith("fidelity")]
        assert re.search(r"0\.9 mm is too coarse, .*finer or remove fidelity$", line)
        assert longer(done, 5).generations == 5

    def test_the_choice_is_that_of_the_first_session(self, tmp_path):
        """A resume measures nothing again: the manifest has the levels."""
        done = carried_out(tmp_path, fidelity="auto", evolution={"generations": 6})
        more = longer(done, 12, random_on_coarse)
        assert more.generations > done.generations

    def test_equal_and_few_values_correlate_with_nothing(self):
        assert rank_correlation([0.0] * 20, [float(one) for one in range(20)]) is None
        assert rank_correlation([1.0] * 5, [1.0] * 5) is None
        values = [float(one) ** 2 for one in range(20)]
        assert rank_correlation(values, [3.0 * one for one in values]) == pytest.approx(1.0)
        assert rank_correlation([*values, None], [*(-one for one in values), 1.0]) == pytest.approx(-1.0)


def test_levels_may_stop_earlier_on_the_same_cells_and_on_coarser_ones():
    """The last level is as [solver] says, whatever those before it do; files without the key have hashes of before."""
    for fidelity, cells in (({"decay_db": 30}, [FINE]), ({**LADDER, "decay_db": 40}, [COARSE])):
        one = experiment(fidelity={**fidelity, "finish": 0.15})
        settings = coarser_settings(one)
        assert [each.cell for each in settings] == pytest.approx(cells)
        assert [each.decay_db for each in settings] == [fidelity["decay_db"]]
        assert one.solver.settings.decay_db == 60.0
        assert Experiment.from_resolved(one.resolved()).fidelity == one.fidelity
    assert "decay_db" not in experiment().resolved()["fidelity"]
    lines = level_lines([{"nr": 1, "nz": 2, "cell": FINE, "layout": {"decay": x}} for x in (1e-2, 1e-5)], [90, 10])
    assert lines == [
        "level 1/2    1 x 2 cells of 0.3 mm, stopped at -20 dB: at most 90 antennas",
        "level 2/2    1 x 2 cells of 0.3 mm, stopped at -50 dB: at most 10 antennas",
    ]


SEARCH = "stops a search at -{} dB, and certificates need -50 dB: antennas will be doubtful; raise it to 60"


@pytest.mark.parametrize(
    ("solver", "changes", "line"),
    [
        ({}, {}, None),
        ({"decay_db": 50, "pulse": "full"}, {}, None),
        ({"steps": 100}, {"fidelity": None}, None),
        ({"decay_db": 50}, {}, SEARCH.format(40)),
        ({"decay_db": 30}, {"fidelity": None}, SEARCH.format(20) + ", and breed with the early stop by fidelity = "),
        ({"decay_db": 30}, {"fidelity": None, "evolution": {"algorithm": "nsga2"}}, SEARCH.format(20)),
        ({"decay_db": 30, "pulse": "full"}, {}, "at -30 dB, and certificates need -50 dB: antennas will be doubtful; "),
    ],
)
def test_a_stop_that_makes_every_antenna_doubtful_gives_a_warning(solver, changes, line):
    given = table(**changes)
    if changes.get("evolution"):
        given["evolution"], given["objective"] = {"algorithm": "nsga2"}, [{"metric": "s11_db", "aim": "least"}] * 2
    given["solver"] |= solver
    found = [one for one in Experiment.parse(given).warnings if one.startswith("solver.decay_db")]
    assert len(found) == (line is not None) and (line is None or line in found[0])


REFUSED = [
    ({"cells": ["0.6 mm", "0.1 mm"]}, "fidelity.cells.1 = 0.1 mm is finer than the solver's cells of 0.3 mm"),
    ({"cells": ["0.4 mm", "0.6 mm"]}, "fidelity.cells.1 = 0.6 mm is not finer than the one before it"),
    ({"cells": ["0.3 mm"]}, "fidelity has no level that is coarser than the solver's cells of 0.3 mm"),
    ({"cells": []}, "fidelity has no level that is coarser"),
    ({"cells": ["0.6 mm"], "promote": 0.0}, r"fidelity.promote = 0 must be > 0"),
    ({"cells": ["0.6 mm"], "promote": 1.5}, r"fidelity.promote = 1.5 must be <= 1"),
    ({"cells": ["0.6 mm"], "cells_per_wavelength": [10]}, "cells and cells_per_wavelength, which exclude each other"),
    ({"cells_per_wavelength": [5.0]}, r"fidelity.cells_per_wavelength.0 = 5 is too coarse: 5 cells per wavelength"),
    ("automatic", 'fidelity = "automatic" is not "auto" or a table'),
    ({"cells": ["0.6 mm"], "finish": 0.95}, "fidelity.finish = 0.95 leaves the coarsest of 2 levels nothing"),
    ({"decay_db": 60}, "fidelity.decay_db = 60 is no earlier stop than solver.decay_db = 60; lower it or leave it out"),
    ({"decay_db": 10}, "fidelity.decay_db = 10 must be >= 20"),
]


@pytest.mark.parametrize(("fidelity", "message"), REFUSED)
def test_bad_tables_are_refused_in_one_line(fidelity, message):
    with pytest.raises(ConfigurationError, match=message) as refused:
        experiment(fidelity=fidelity)
    assert "\n" not in str(refused.value)


def test_too_few_generations_are_refused_with_those_that_do():
    few = {"algorithm": "cmaes", "population": 6, "polish": True, "generations": 4}
    message = r"2 for the local search, 2 for each of 1 finer level\); raise evolution.generations to 5"
    with pytest.raises(ConfigurationError, match=message):
        experiment(fidelity={"cells": ["0.6 mm"], "finish": 0.5}, evolution=few)
    experiment(fidelity={"cells": ["0.6 mm"], "finish": 0.5}, evolution={**few, "generations": 5})
    many = {"algorithm": "cmaes", "population": 6, "generations": 16}
    message = r"\(16 for each of 1 finer level\); lower fidelity.finish or raise evolution.generations to 51"
    with pytest.raises(ConfigurationError, match=message):
        experiment(fidelity={"cells": ["0.6 mm"], "finish": 0.99}, evolution=many)


SAME = [
    ([11, 12.2], 20, "11 has the cells of 12.2"),
    ([12.3], 13.6, "12.3 has the cells of [solver]"),
    ([10, 13], 20, ""),
]


@pytest.mark.parametrize(("levels", "own", "said"), SAME)
def test_levels_that_fit_the_feed_with_the_same_cells_are_named(levels, own, said):
    solver = {"frequencies": ["30 GHz"], "cells_per_wavelength": own}
    warnings = experiment(fidelity={"cells_per_wavelength": levels}, solver=solver).warnings
    assert [said in one for one in warnings if one.startswith("fidelity")] == ([True] if said else [])


def test_searches_that_cannot_are_refused():
    with pytest.raises(ConfigurationError, match='"steady_state", which has no generations'):
        experiment(evolution={"algorithm": "steady_state"})
    with pytest.raises(ConfigurationError, match=r'fidelity.refit does not go with evolution.algorithm = "ga"'):
        experiment(fidelity={**LADDER, "refit": True})
    aims = [{"metric": "directivity_dbi", "aim": "largest"}, {"metric": "diameter_mm", "aim": "least"}]
    with pytest.raises(ConfigurationError, match='"nsga2", which ranks by several numbers'):
        experiment(evolution={"algorithm": "nsga2", "population": 12}, objective=aims)
    tolerance = {"samples": 10, "of": {"lens.radii": {"sigma": "0.02 mm"}}}
    with pytest.raises(ConfigurationError, match=r"tolerance.samples = 10 exclude each other"):
        experiment(tolerance=tolerance)


def test_a_state_that_no_search_had_is_refused():
    def search():
        genes = experiment().genes
        settings = EvolutionSettings(population=6, generations=6, stop=Stop(goals=False))
        return new_search(settings, genes, 3, ladder=Ladder(cells=(COARSE, FINE)))

    one = search()
    for _ in range(5):
        asked = one.ask()
        one.tell([Result(individual=each.individual, shortfalls=(sum(each.genome),)) for each in asked])
    state = json.loads(json.dumps(one.state()))
    again = search()
    again.restore(state)
    assert again.state() == one.state()
    assert [each.genome for each in again.ask()] == [each.genome for each in one.ask()]
    for begins in ([3, 4], [9], [0], [-1]):
        with pytest.raises(ValueError, match=r"levels that begin|no whole number"):
            search().restore({**state, "climb": {**state["climb"], "begins": begins}})


def test_the_report_draws_each_level_by_itself(tmp_path, blank_figures):
    done = carried_out(tmp_path, report=True)
    page = write_report(done.folder).read_text()
    assert "0.6 mm" in page and "level" in page


def test_a_plan_that_is_handed_in_is_that_of_the_finest_level(tmp_path):
    """As the command hands in its own. It was taken for all levels, which had equal bits then."""
    sizes = ("evolution.population=4", "evolution.generations=3", "evolution.elites=1", "certificate.mode=off")
    given = load_experiment(QUICKSTART, [*sizes, "cluster.workers=1", 'fidelity={ cells = ["0.6 mm"] }'])
    fine = plan_for(given)
    summary = run(given, root=tmp_path, plan=fine, farm=serial, report=False, cache="off")
    folder = RunFolder.open(summary.folder)
    (coarse,) = folder.manifest["fidelity"]["plans"]
    assert coarse["cell"] == pytest.approx(6e-4) and coarse["nr"] < fine["nr"] and coarse["nz"] < fine["nz"]
    rows = pd.DataFrame(folder.all_rows(["individual", "parents", "level", "directivity_dbi_30000mhz"]).to_pylist())
    values = rows.set_index("individual")["directivity_dbi_30000mhz"]
    promoted = rows[rows["level"] == 1]
    assert (rows["level"] == 0).any() and len(promoted) > 0
    for one in promoted.to_dict("records"):
        (before,) = one["parents"]
        assert 1e-3 < abs(values[one["individual"]] - values[before]) < 1.0, "solved again, on other cells"
