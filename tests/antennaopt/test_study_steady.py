"""The steady state's driver with a cheap farm: places are never idle, whatever happens can be replayed to the bit."""

import copy
import json
import os
import random
import signal

import pytest
from cheap_study import OBJECTIVES, REAL, WHOLE, MemoryStore, antenna
from steady_replay import replay

from antennaopt.errors import Interrupted, TooManyFailuresError
from antennaopt.run.driver import Driver
from antennaopt.run.interfaces import Interfaces
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import Progress
from antennaopt.search import Candidate, EvolutionSettings, Mutation, Result, decode, new_search
from antennaopt.search.objectives import Ranking


class Flying:
    """Farm that solves in any order; keeps a number of batches in flight and records it at each completion."""

    worker_count = places = 3
    device = None

    def __init__(self, order=0, fault=None, dies_after=None):
        self.solved, self.busy = [], []
        self._order, self._fault, self._dies_after = random.Random(order), fault, dies_after

    def ahead(self, population, batch_size="auto"):
        return 0

    def cut(self, jobs, batch_size="auto", sent=0, left=0):
        return [list(jobs[first : first + 4]) for first in range(0, len(jobs), 4)]

    def run(self, batches):
        self._drained, self._waiting, self._flying = False, [], []
        self.submit(batches)
        return self._completed()

    def submit(self, batches):
        self._waiting += [list(batch) for batch in batches if batch]

    def _completed(self):
        while True:
            while self._waiting and len(self._flying) < self.places and not self._drained:
                self._flying.append(self._waiting.pop(0))
            if not self._flying:
                return
            self.busy.append(len(self._flying))
            for name, design in self._flying.pop(self._order.randrange(len(self._flying))):
                if len(self.solved) == self._dies_after:
                    raise SystemExit
                self.solved.append(name)
                yield name, (self._fault and self._fault(name, design)) or antenna(design)

    def drain(self):
        self._drained = True


class Store(MemoryStore):
    """As the driver's tests keep it, with a block's order of birth."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def completed(self, place, name, births):
        del self.lines[place:]
        self.lines.append((name, births))

    def order(self, place):
        return self.lines[place:]

    def recorded(self):
        return [
            (
                Candidate.from_dict(row),
                Result(
                    individual=row["individual"],
                    shortfalls=row["shortfalls"],
                    status=row["outcome"]["status"],
                    cached=row["cached"],
                ),
            )
            for row in self.rows()
        ]


def settings(**changes):
    return EvolutionSettings(
        **{"algorithm": "steady_state", "population": 8, "generations": 5, "tournament_size": 2, **changes}
    )


def driver(store, farm, *, genes=REAL, signals=None, batch_size="auto", objectives=OBJECTIVES, **changes):
    search = new_search(settings(**changes), genes, 7, order=Ranking.of(objectives))
    interfaces = Interfaces(
        objectives=objectives,
        design=lambda values: {"feed.inner_radius": 12e-3, **values},
        farm=farm,
        store=store,
        progress=Progress(),
        signals=signals or StopSignals(),
        batch_size=batch_size,
        clock=lambda: 0.0,
    )
    return Driver(search, interfaces)


def check_replay(store, last, genes=REAL, **changes):
    """What is stored, gone through once more: the same genomes, the same population, the same best."""
    again = new_search(settings(**changes), genes, 7, order=Ranking.of(OBJECTIVES))
    rows = store.rows()
    for row, one in zip(rows, replay(again, store.recorded()), strict=True):
        assert (one.candidate, one.fitness) == (Candidate.from_dict(row), row["fitness"])
    assert [one.to_dict() for one in again.population] == [one.to_dict() for one in last.population]
    assert again.hall_of_fame == last.hall_of_fame


def test_every_place_is_busy_from_the_first_to_the_last():
    """Generational, each generation would end with places that wait: 5 generations, 3 places."""
    store, farm = Store(), Flying()
    study = driver(store, farm)
    assert study.run() == "all 5 generations done"
    assert farm.busy[:-2] == [3] * (5 * 8 - 2)
    assert sorted(farm.solved) == [f"b{number:06d}" for number in range(40)]
    assert [len(json.loads(text)) for text in store.files.values()] == [8] * 5
    assert [event for event, _ in store.events] == ["generation"] * 5
    check_replay(store, study.search)


def test_devices_are_given_whole_batches():
    class Devices(Flying):
        worker_count, places, device = 1, 2, {"wave": 2}

        def submit(self, batches):
            super().submit(batches)
            self.sizes = [*getattr(self, "sizes", []), *map(len, self._waiting)]

    farm, store = Devices(), Store()
    study = driver(store, farm, population=16)
    study.run()
    assert set(farm.sizes) == {4}
    assert farm.busy[:-1] == [2] * (5 * 4 - 1)
    check_replay(store, study.search, population=16)


@pytest.mark.parametrize("dies_after", [0, 3, 8, 9, 15, 16, 21, 39])
def test_killed_anywhere_it_goes_on_from_the_recorded_order(dies_after):
    """All complete antennas have the same results, though the farm completes in another order; none is lost."""
    whole, store, farm = Store(), Store(), Flying(order=1, dies_after=dies_after)
    driver(whole, Flying(order=1)).run()
    with pytest.raises(SystemExit):
        driver(store, farm).run()
    assert len(store.checkpoints) == dies_after // 8
    complete = len(store.lines)
    assert complete == dies_after
    again = driver(store, Flying(order=2))
    if store.checkpoints:
        again.restore(json.loads(store.checkpoints[-1]))
    again.run()
    rows = store.rows()
    assert rows[:complete] == whole.rows()[:complete]
    assert (rows == whole.rows()) == (complete == 39)
    assert sorted(row["birth"] for row in rows) == list(range(40))
    check_replay(store, again.search)


@pytest.mark.parametrize("checkpoints", [0, 1, 2, 4])
@pytest.mark.parametrize("genes", [REAL, WHOLE], ids=["real", "duplicates"])
def test_the_whole_record_gives_the_same_bits_from_any_checkpoint(checkpoints, genes):
    """Another farm, with other places and another order of completion, and nothing left of the rows but the order."""

    class Wide(Flying):
        places = 7

    changes = {"genes": genes, "mutation": Mutation(probability=0.9, eta=1.0)}
    whole = Store()
    driver(whole, Flying(order=1), **changes).run()
    store = copy.deepcopy(whole)
    del store.checkpoints[checkpoints:]
    store.files = {number: text for number, text in store.files.items() if number < checkpoints}
    again = driver(store, Wide(order=5), **changes)
    if checkpoints:
        again.restore(json.loads(store.checkpoints[-1]))
    again.run()
    assert store.files == whole.files
    assert store.checkpoints == whole.checkpoints
    assert store.lines == whole.lines


def test_a_record_of_another_search_is_left_and_said():
    whole = Store()
    driver(whole, Flying(order=1)).run()
    store = Store()
    store.lines = [*whole.lines[:11], ("b000099", 14)]
    study = driver(store, Flying(order=2))
    study.run()
    assert store.rows()[:11] == whole.rows()[:11]
    assert [event for event, _ in store.events].count("order_left") == 1
    check_replay(store, study.search)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_drains_and_the_block_is_filled_up_later(number, code):
    def struck(name, design):
        if len(farm.solved) == 13:
            os.kill(os.getpid(), number)

    store, farm = Store(), Flying(fault=struck)
    with StopSignals() as signals, pytest.raises(Interrupted) as caught:
        driver(store, farm, signals=signals).run()
    assert caught.value.exit_code == code
    assert 13 <= len(store.rows()) <= 15
    before, rest = store.rows(), Flying(order=4)
    again = driver(store, rest)
    again.restore(json.loads(store.checkpoints[-1]))
    again.run()
    assert store.rows()[: len(before)] == before
    assert not set(rest.solved) & set(farm.solved)
    assert len(store.rows()) == 40
    check_replay(store, again.search)


def test_a_stop_ends_it_with_a_short_block_and_more_budget_fills_it_up():
    store = Store()
    study = driver(store, Flying())
    study.search.settings = settings(stop=EvolutionSettings().stop.__class__(fitness=8.0))
    assert "reached the target" in study.run()
    count = len(store.rows())
    assert 8 < count < 40
    again = driver(store, Flying(order=9))
    again.restore(json.loads(store.checkpoints[-1]))
    assert again.run() == "all 5 generations done"
    assert len(store.rows()) == 40
    check_replay(store, again.search)


def test_duplicates_are_solved_once_also_while_the_first_is_under_way():
    store, farm = Store(), Flying()
    study = driver(store, farm, genes=WHOLE, mutation=Mutation(probability=0.9, eta=1.0))
    study.run()
    rows = store.rows()
    assert len(rows) == 40
    assert len(farm.solved) == study.search.evaluations == 3
    by_value = {}
    for row in rows:
        rings = decode(WHOLE, row["genome"])["rings"]
        assert row["outcome"]["directivity_dbi"] == by_value.setdefault(rings, row["outcome"]["directivity_dbi"])
    check_replay(store, study.search, WHOLE, mutation=Mutation(probability=0.9, eta=1.0))


def test_who_follows_one_that_was_lost_is_solved_for_himself():
    lost = []

    def fault(name, design):
        if not lost:
            lost.append(name)
            return {"status": "lost", "error": "worker died"}
        return None

    store, farm = Store(), Flying(fault=fault)
    driver(store, farm, genes=WHOLE, mutation=Mutation(probability=0.9, eta=1.0)).run()
    assert [row["outcome"]["status"] for row in store.rows()].count("lost") == 1
    assert len(farm.solved) == 4


def test_a_first_block_without_any_ok_gives_up():
    farm = Flying(fault=lambda name, design: {"status": "infeasible", "error": "walls cross"})
    with pytest.raises(TooManyFailuresError, match=r"8 of 8 .* infeasible: walls cross"):
        driver(Store(), farm).run()
