"""A run stops when its best antenna meets all goals, unless `stop = { goals = false }`; resume knows both."""

import json

import pytest
import test_study_steady as steady
from cheap_study import OBJECTIVES, CheapFarm, MemoryStore, antenna
from cheap_study import driver as generational
from test_study_run import TOML, serial, start

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_experiment
from antennaopt.run.start import resume
from antennaopt.search import ALL_GOALS_MET, Candidate, EvolutionSettings, Result, Stop, individual_id, new_search
from antennaopt.search.objectives import Ranking, build, shortfalls

GOES_ON = Stop(goals=False)


def reachable(dbi=18.6):
    return build([{"metric": "directivity_dbi", "at_least": dbi}, {"metric": "s11_db", "at_most": -14.0}])


REACHABLE = reachable()


@pytest.mark.parametrize("order", [0, 5])
def test_it_stops_after_the_generation_that_meets_all_goals(order):
    """Whatever order outcomes come back in: the same generations, each to the bit as in the search that goes on."""
    stopped, whole = MemoryStore(), MemoryStore()
    study = generational(stopped, CheapFarm(order=order), generations=9, objectives=REACHABLE)
    assert study.run() == ALL_GOALS_MET
    last = generational(whole, CheapFarm(), generations=9, stop=GOES_ON, objectives=REACHABLE)
    assert last.run() == "all 9 generations done"
    done = len(stopped.files)
    assert 1 < done < 9
    assert [whole.files[number] for number in range(done)] == list(stopped.files.values())
    met = [min(row["fitness"] for row in json.loads(file)) == 0.0 for file in stopped.files.values()]
    assert met == [False] * (done - 1) + [True]


def test_resumed_it_solves_nothing_and_goes_on_where_goals_are_no_stop():
    store, whole, farm = MemoryStore(), MemoryStore(), CheapFarm()
    generational(store, CheapFarm(), generations=9, objectives=REACHABLE).run()
    rows = store.rows()
    again = generational(store, farm, generations=12, objectives=REACHABLE)
    again.restore(json.loads(store.checkpoints[-1]))
    assert (again.run(), farm.solved, store.rows()) == (ALL_GOALS_MET, [], rows)
    on = generational(store, farm, generations=9, stop=GOES_ON, objectives=REACHABLE)
    on.restore(json.loads(store.checkpoints[-1]))
    assert on.run() == "all 9 generations done"
    generational(whole, CheapFarm(), generations=9, stop=GOES_ON, objectives=REACHABLE).run()
    assert store.rows() == whole.rows()


def test_without_generations_it_stops_at_the_antenna_and_fills_its_block_up_later():
    store = steady.Store()
    study = steady.driver(store, steady.Flying(order=3), objectives=reachable(17.5))
    assert study.run() == ALL_GOALS_MET
    rows = store.rows()
    assert 8 <= len(rows) < 40
    first = next(place for place, row in enumerate(rows) if row["fitness"] == 0.0)
    assert len(rows) <= max(first + 1, 8) + steady.Flying.places  # those under way still come back
    idle = steady.Flying()
    again = steady.driver(store, idle, objectives=reachable(17.5))
    again.restore(json.loads(store.checkpoints[-1]))
    assert (again.run(), idle.solved, store.rows()) == (ALL_GOALS_MET, [], rows)
    on = steady.driver(store, steady.Flying(order=9), stop=GOES_ON, objectives=reachable(17.5))
    on.restore(json.loads(store.checkpoints[-1]))
    assert on.run() == "all 5 generations done"
    assert (store.rows()[: len(rows)], len(store.rows())) == (rows, 40)


def test_only_an_antenna_that_is_ok_meets_goals():
    """An outcome that is not `ok` has a penalty; were its fitness 0 it would be no best all the same."""
    order, missed = Ranking.of(OBJECTIVES), shortfalls(antenna({"lens.radii.0": 0.02}), OBJECTIVES)
    assert order.fitness("infeasible", ()) > order.fitness("ok", missed) > 0.0
    search = new_search(EvolutionSettings(population=3), generational(MemoryStore()).search.genes, 5)
    asked = search.ask()
    assert [one.individual for one in asked] == [individual_id(0, slot) for slot in range(3)]
    search.tell([Result(individual=one.individual, shortfalls=(0.0,), status="lost") for one in asked])
    assert search.stopped() is None


def test_a_planted_antenna_that_meets_all_goals_ends_the_first_generation():
    search = new_search(EvolutionSettings(population=3, generations=1), generational(MemoryStore()).search.genes, 5)
    search.tell([Result(individual=one.individual, shortfalls=(0.0,)) for one in search.ask()])
    assert isinstance(search.best().candidate, Candidate)
    assert search.stopped() == ALL_GOALS_MET  # and not that all generations are done
    other = new_search(EvolutionSettings(population=3, stop=GOES_ON), search.genes, 5)
    other.tell([Result(individual=one.individual, shortfalls=(0.0,)) for one in other.ask()])
    assert other.stopped() is None


class Told:
    """Keeps the lines that a run says."""

    def __init__(self):
        self.lines = []

    def note(self, text):
        self.lines.append(text)

    def __getattr__(self, name):
        return lambda *arguments, **more: None


def test_resume_of_a_run_that_met_its_goals_says_so_and_how_to_go_on(tmp_path):
    file = tmp_path / "reached.toml"
    file.write_text(TOML.replace("at_least = 20.0", "at_least = 12.0").replace("at_most = -20.0", "at_most = -18.0"))
    done = start(file, tmp_path / "runs")
    assert (done.reason, done.best.fitness) == (ALL_GOALS_MET, 0.0)
    assert done.generations < 4

    def refusing(family, designs, plan, *, backend, fields=False):
        raise AssertionError("nothing is left to solve")

    told = Told()
    again = resume(done.folder, farm=serial, evaluate=refusing, report=False, progress=told)
    assert (again.reason, again.evaluations, again.best) == (done.reason, done.evaluations, done.best)
    assert again.wall_seconds == done.wall_seconds  # a session that solves nothing is no time of the run
    said = "; ".join(told.lines)
    assert "nothing is left to solve: all goals are met" in said
    assert "--set evolution.stop.goals=false" in said
    more = resume(done.folder, farm=serial, report=False, overrides=("evolution.stop.goals=false",))
    assert (more.reason, more.generations) == ("all 4 generations done", 4)


def test_the_experiment_says_it_with_a_truth_value(tmp_path):
    file = tmp_path / "stop.toml"
    file.write_text(TOML.replace("generations = 4", "generations = 4\nstop = { goals = false }"))
    assert load_experiment(file).evolution.stop.goals is False
    assert load_experiment(file).resolved()["evolution"]["stop"]["goals"] is False
    file.write_text(TOML)
    assert load_experiment(file).evolution.stop.goals is True
    with pytest.raises(ConfigurationError, match=r"evolution\.stop\.goals"):
        load_experiment(file, ['evolution.stop.goals="no"'])
