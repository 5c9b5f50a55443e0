"""Outcomes that came in one reply are taken in together; nothing that is stored differs for it."""

import json

import pytest
from cheap_study import OBJECTIVES, REAL, WHOLE, MemoryStore, antenna, driver

from antennaopt.farm.arriving import Arriving, together
from antennaopt.farm.farm import SerialFarm
from antennaopt.run.process import StopSignals
from antennaopt.run.under_way import UnderWay
from antennaopt.search import ALGORITHMS, Mutation, Result, new_search
from antennaopt.search.objectives import Ranking, build
from antennaopt.settings import EvolutionSettings

CONSTRAINED = build(
    [{"metric": "directivity_dbi", "at_least": 20.0}], constraints=[{"metric": "s11_db", "at_most": -14.0}]
)
WITH_AIM = build([{"metric": "directivity_dbi", "aim": "largest"}, {"metric": "s11_db", "at_most": -14.5}])


def solve(family, designs, plan, *, backend):
    """Some come to nothing, each in a way of its own, and one has no reflection."""
    found = []
    for one in designs:
        kind = round(1e7 * sum(one.values())) % 12
        outcome = antenna(one) | {"theta_deg": [0.0, 1.0], "s11": [[0.1, 0.2]]}
        status = {3: "diverged", 5: "infeasible", 7: "undecayed"}.get(kind)
        found.append({"status": status, "error": "why"} if status else outcome)
    return found


class Together(SerialFarm):
    """Four antennas a reply; replies come in an order of their own."""

    def __init__(self, solving=solve):
        super().__init__(solving, family="shaped_lens", plan={})

    def cut(self, jobs, batch_size="auto", sent=0, left=0):
        return [list(jobs[first : first + 4]) for first in range(0, len(jobs), 4)][::-1]


class OneByOne(Together):
    """The same, without telling which outcomes came together."""

    def run(self, batches, **about):
        yield from super().run(batches, **about)


STUDIES = {
    **{name: {"algorithm": name} for name in ALGORITHMS if name != "steady_state"},
    "polished": {"polish": True},
    "overlapping": {"overlap": True},
    "copies": {"genes": WHOLE, "mutation": Mutation(probability=0.9, eta=1.0)},
    "constraints": {"objectives": CONSTRAINED},
    "an aim": {"objectives": WITH_AIM},
    "no failures": {"solving": lambda family, designs, plan, *, backend: [antenna(one) for one in designs]},
}


@pytest.mark.parametrize("about", STUDIES.values(), ids=STUDIES)
def test_what_is_stored_is_the_same(about):
    settings = {"population": 18, "generations": 5, **about}
    solving = settings.pop("solving", solve)
    stores, reports = [], []
    for farm in (OneByOne, Together):
        stores.append(MemoryStore())
        study = driver(stores[-1], farm(solving), **settings)
        study.run()
        reports.append([(event, text) for event, text in stores[-1].events])
        assert study.memory.counts.total() == study.search.completed
    one_by_one, at_once = ([json.loads(text) for text in store.files.values()] for store in stores)
    for rows in (*one_by_one, *at_once):
        for row in rows:
            row["outcome"].pop("batch_seconds", None)
    assert at_once == one_by_one
    assert stores[1].checkpoints == stores[0].checkpoints
    assert reports[1] == reports[0]


def test_a_reply_is_taken_in_at_once(monkeypatch):
    """Else the test before compares a thing with itself."""
    taken = []
    whole = UnderWay.take_together
    monkeypatch.setattr(UnderWay, "take_together", lambda one, names: taken.append(len(names)) or whole(one, names))
    driver(MemoryStore(), Together(), population=18, generations=2).run()
    assert taken == [2, 4, 4, 4, 4, 4, 4, 4, 4]


def test_interrupted_between_two_replies_it_resumes_to_the_same_bits():
    whole, store, signals = MemoryStore(), MemoryStore(), StopSignals()
    driver(whole, Together(), population=18).run()

    class Stops(Together):
        def __init__(self):
            super().__init__(self._solve)
            self._solved = 0

        def _solve(self, family, designs, plan, *, backend):
            self._solved += len(designs)
            if self._solved > 40:
                signals.request()
            return solve(family, designs, plan, backend=backend)

    with pytest.raises(Exception, match="interrupted in generation 3"):
        driver(store, Stops(), signals=signals, population=18).run()
    state = json.loads(store.checkpoints[-1])
    assert 0 < len(state["partial"]) < 16
    again = driver(store, Together(), population=18)
    again.restore(state)
    again.run()
    found, wanted = ([json.loads(text) for text in one.files.values()] for one in (store, whole))
    for rows in (*found, *wanted):
        for row in rows:
            row["outcome"].pop("batch_seconds", None)
    assert found == wanted
    assert store.checkpoints[-1] == whole.checkpoints[-1]


def test_outcomes_come_one_by_one_or_together():
    closed = []

    def replies():
        try:
            yield [("a", 1), ("b", 2), ("c", 3)]
            yield [("d", 4)]
            yield [("e", 5), ("f", 6)]
        finally:
            closed.append(True)

    coming = Arriving(replies())
    assert next(coming) == ("a", 1)
    both = together(coming)
    assert next(both) == [("b", 2), ("c", 3)], "what is left of the reply"
    assert next(both) == [("d", 4)]
    assert not closed
    coming.close()
    assert closed and list(coming) == [] and list(both) == []
    assert list(together(iter([("a", 1), ("b", 2)]))) == [[("a", 1)], [("b", 2)]]
    assert [name for name, _ in Arriving(replies())] == list("abcdef")


def test_a_search_takes_ranks_in_place_of_results():
    settings = {"population": 12, "generations": 4}
    for algorithm in (name for name in ALGORITHMS if name not in ("steady_state", "surrogate")):
        about = EvolutionSettings(algorithm=algorithm, **settings)
        told, ranked = (new_search(about, REAL, 7, order=Ranking.of(OBJECTIVES)) for _ in range(2))
        for _ in range(3):
            asked = told.ask()
            assert ranked.ask() == asked
            missed = [[one.genome[0], one.genome[1]] for one in asked]
            statuses = ["ok" if one.slot % 5 else "diverged" for one in asked]
            missed = [each if status == "ok" else [] for each, status in zip(missed, statuses, strict=True)]
            fitness = ranked.all_fitness_of(statuses, missed)
            assert fitness == list(map(told.fitness_of, statuses, missed))
            mine = list(ranked.under_way.values())
            early = ranked.rank(mine, statuses, missed, fitness)
            with pytest.raises(ValueError, match="told twice"):
                ranked.tell([*early, early[0]])
            with pytest.raises(ValueError, match="not under way"):
                told.tell(early)
            ranked.tell(early)
            told.tell([
                Result(individual=one.individual, status=status, shortfalls=each)
                for one, status, each in zip(asked, statuses, missed, strict=True)
            ])  # fmt: skip
            assert ranked.state() == told.state()


def test_patterns_of_the_population_are_left_out_of_what_is_recalled():
    """A resumed run knows just as much: it reads rows. Of those that stay they are forgotten a generation later."""
    store = MemoryStore()
    study = driver(store, Together(STUDIES["no failures"]["solving"]), population=18, generations=6)
    for _ in range(4):
        study.generation()
        best = [one.candidate.individual for one in study.search.population]
        known = study.memory.recall(best)
        assert list(known) == best
        from_rows = store.recall(best)
        for name, (genome, outcome) in known.items():
            assert genome == from_rows[name][0]
            assert outcome.e_plane is outcome.h_plane is outcome.theta_deg is None
            assert outcome.metrics == from_rows[name][1].metrics
    elites = [one for one in best if not one.startswith("g0003")]
    assert elites
    assert all(study.memory._kept[one][1].e_plane is None for one in elites)
