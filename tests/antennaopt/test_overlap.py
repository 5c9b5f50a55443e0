"""Generations that overlap: what is solved ahead is what is asked for later, and no stored bit depends on it."""

import json
import random
import sys
from collections import Counter
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "faults"))
import bits
import cheap_lens
from cheap_study import WHOLE, CheapFarm, MemoryStore, antenna, driver
from test_every_algorithm import GENES, search, shortfall
from test_races import Shuffling

from antennaopt.errors import ConfigurationError, Interrupted
from antennaopt.experiment import Experiment
from antennaopt.farm.farm import PoolFarm
from antennaopt.farm.interface import Worker
from antennaopt.run.process import StopSignals
from antennaopt.run.start import run
from antennaopt.search import EvolutionSettings, Mutation, Result, Stop, new_search
from antennaopt.store.generations import generation_of

POPULATION, GENERATIONS = 40, 5
SOME = [SimpleNamespace(name=name, low=0.0, high=12.0, kind="integer", choices=()) for name in ("rings", "turns")]
"""Genes with 169 designs: of two individuals with one of them the later one by slot may be solved ahead."""


def told(candidate):
    return Result(individual=candidate.individual, shortfalls=(shortfall(candidate),))


def overlapping(seed=7, **changes):
    return search("ga", seed, overlap=True, population=POPULATION, generations=GENERATIONS, **changes)


@pytest.mark.parametrize("changes", [{}, {"elites": 0}, {"elites": 3, "tournament_size": 1}, {"population": 41}])
def test_what_is_asked_ahead_is_asked_again(changes):
    one = search("ga", **{"overlap": True, "population": POPULATION, "generations": GENERATIONS} | changes)
    order, whole, early = random.Random(3), one.settings.population, []
    while one.stopped() is None:
        ahead = {each.slot: each for each in early}
        asked = {each.slot: each for each in one.ask()}
        assert ahead.items() <= asked.items(), "the same candidates, to the bit"
        coming = [told(each) for each in asked.values()]
        order.shuffle(coming)
        early, parts = [], []
        for at in range(0, len(coming), 5):
            parts.append(len(found := one.ask_ahead(coming[at : at + 5])))
            early += found
        assert len({each.slot for each in early}) == len(early)
        if one.generation + 1 < GENERATIONS:
            assert len(early) >= whole - one.settings.elites, "with all results all of it follows"
            assert sum(parts[:4]) < sum(parts[-4:]), "the more is known, the more follows"
        else:
            assert not early, "the last generation has none after it"
        one.tell(coming)


def test_what_follows_early_depends_on_who_meets_alone():
    """Not on results that are open, nor on whether they are asked for."""
    asked, silent = overlapping(), overlapping()
    for _ in range(3):
        known = [told(each) for each in asked.ask()]
        silent.ask()
        some = asked.ask_ahead(known[2:])
        assert 0 < len(some) < POPULATION
        asked.tell(known)
        silent.tell(known)
        assert asked.state() == silent.state()


def test_children_differ_from_those_without_overlap_and_are_as_good():
    """Other random numbers, the same search: medians over 20 seeds."""
    ends = {}
    for overlap in (False, True):
        best = []
        for seed in range(20):
            one = search("ga", seed, overlap=overlap, population=POPULATION, generations=8)
            while one.stopped() is None:
                one.tell([told(each) for each in one.ask()])
            best.append(one.best().fitness)
        ends[overlap] = sorted(best)
    assert ends[True] != ends[False]
    middle = {overlap: found[10] for overlap, found in ends.items()}
    assert ends[False][3] < middle[True] < ends[False][16] and ends[True][3] < middle[False] < ends[True][16], ends


def test_pairs_draw_different_numbers():
    one = overlapping()
    for _ in range(3):
        one.tell([told(each) for each in one.ask()])
    children = one.ask()
    assert len({each.genome for each in children}) == len(children)
    assert max(Counter(each.parents for each in children).values()) < POPULATION // 4


def test_a_budget_that_may_end_the_next_generation_early_limits_what_is_asked_ahead():
    one = overlapping(stop=Stop(evaluations=POPULATION + 10, goals=False))
    early = one.ask_ahead([told(each) for each in one.ask()])
    assert [each.slot for each in early] == sorted(each.slot for each in early)
    assert len(early) == 10
    one.tell([told(each) for each in one.under_way.values()])
    assert one.ask() == early


def test_others_are_never_asked_ahead():
    for settings in (EvolutionSettings(population=8), EvolutionSettings(population=8, algorithm="cmaes")):
        one = new_search(settings, GENES, 7)
        assert one.ask_ahead([told(each) for each in one.ask()]) == []


class Places(CheapFarm):
    """Has some batches in flight; whichever is next comes back, and a free place asks for more."""

    device = None

    def __init__(self, order=0, fault=None, places=2, asks=True):
        super().__init__(order, fault)
        self._places, self._asks, self._waiting = places, asks, []
        self.early = 0

    def submit(self, batches):
        self._waiting += batches

    def run(self, batches, more=None):
        self._drained, self._waiting = False, list(batches)
        return self._completed(more if self._asks else None)

    def _completed(self, more):
        flying = []
        while True:
            while len(flying) < self._places and not self._drained:
                if not self._waiting and more is not None:
                    found = more(1)
                    self.early += sum(map(len, found))
                    self._waiting += found
                if not self._waiting:
                    break
                flying.append(self._waiting.pop(0))
            if not flying:
                return
            for name, design in flying.pop(self._order.randrange(len(flying))):
                self.solved.append(name)
                yield name, (self._fault and self._fault(name, design)) or antenna(design)


def carried(store, farm, **changes):
    study = driver(store, farm, **{"overlap": True, "population": 24, "stop": Stop(goals=False), **changes})
    return study, study.run()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"genes": WHOLE, "mutation": Mutation(probability=0.9, eta=1.0), "generations": 9},
        {"genes": SOME, "mutation": Mutation(probability=0.5, eta=1.0), "generations": 9},
        {"stop": Stop(evaluations=60, goals=False)},
        {"stop": Stop(fitness=2.0)},
    ],
    ids=["real", "few designs", "some duplicates", "evaluations", "fitness"],
)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_no_order_of_arrival_changes_what_is_stored(changes, order):
    plain, ahead = MemoryStore(), MemoryStore()
    _, reason = carried(plain, Places(asks=False), **changes)
    farm = Places(order, places=3)
    assert carried(ahead, farm, **changes)[1] == reason
    assert ahead.files == plain.files
    assert ahead.checkpoints == plain.checkpoints
    solved = sum(not row["cached"] for row in plain.rows())
    assert len(farm.solved) == len({*farm.solved})
    if "genes" not in changes:
        assert farm.early > 10
        extra = len(farm.solved) - solved
        assert extra >= 0 if "stop" in changes else extra == 0, "only a search that is over drops what it sent ahead"
    elif changes["genes"] == WHOLE:
        assert len(farm.solved) == solved == 3


def test_what_is_solved_ahead_may_fail_like_any_other():
    def fault(name, design):
        broken = sum(design.values()) * 1e6 % 7 < 1
        return {"status": "error", "error": "made up", "attempt": 2} if broken else None

    plain, ahead = MemoryStore(), MemoryStore()
    carried(plain, Places(asks=False, fault=fault))
    farm = Places(1, fault=fault)
    carried(ahead, farm)
    assert ahead.files == plain.files
    failed = sum(row["outcome"]["status"] == "error" for row in plain.rows())
    assert farm.early > 10 and failed > 5


@pytest.mark.parametrize("after", [30, 47, 60, 85])
def test_interrupted_it_resumes_to_the_same_bits(after):
    whole, store, signals = MemoryStore(), MemoryStore(), StopSignals()
    carried(whole, Places(asks=False))

    def stops(name, design):
        if len(farm.solved) == after:
            signals.request()

    farm = Places(2, stops, places=3)
    with pytest.raises(Interrupted):
        carried(store, farm, signals=signals)
    again = driver(store, Places(3), overlap=True, population=24, stop=Stop(goals=False))
    again.restore(json.loads(store.checkpoints[-1]))
    again.run()
    assert store.files == whole.files
    assert store.checkpoints[-1] == whole.checkpoints[-1]


def experiment_of(**evolution):
    about = {"algorithm": "ga", "population": 24, "generations": 5, "overlap": True, **evolution}
    return Experiment.parse({**cheap_lens.EXPERIMENT, "evolution": about, "cluster": {"workers": 2}})


class Cores(Shuffling):
    """Three workers without devices."""

    def workers(self):
        return {name: Worker() for name in ("a", "b", "c")}


@pytest.mark.parametrize("kind", [Cores, Shuffling])
def test_a_farm_sends_ahead_where_a_core_is_free_and_stores_the_same_bits(tmp_path, kind):
    """With a device nothing is sent ahead, as that is no faster."""
    plan, pools = {**cheap_lens.PLAN, "sleep_s": 0.0}, []

    def opened(experiment, *, plan, backend, scheduler=None, evaluate):
        pools.append(kind((evaluate, experiment.family, "cuda"), len(pools)))
        return PoolFarm(pools[-1], (evaluate, experiment.family, "cuda"), plan)

    about = {"evaluate": cheap_lens.bowl, "report": False, "now": cheap_lens.NOW, "plan": plan}
    folders = [
        run(experiment_of(), root=tmp_path / str(place), farm=farm, **about).folder
        for place, farm in enumerate((cheap_lens.serial, opened, opened))
    ]
    for folder in folders[1:]:
        bits.assert_equal(folder, folders[0])
    for pool in pools:
        together = [{generation_of(key) for key in here} for _, here in pool.sent]
        assert any(len(one) > 1 for one in together) == (kind is Cores), "of two generations at the same time"
        keys = [*chain(*(batch for batch, _ in pool.sent))]
        assert len(keys) == len({*keys})


class Announced(Shuffling):
    """Two workers of a queue's; `announced` has what `scale` was told."""

    def workers(self):
        return {name: Worker() for name in "ab"}

    def scale(self, batches):
        self.announced = [*getattr(self, "announced", []), batches]


def test_no_worker_is_taken_away_while_batches_are_in_flight():
    """A queue's cluster takes away the last workers, whatever they do."""
    task = (cheap_lens.bowl, "shaped_lens", "cpu")
    pool = Announced(task, 1)
    farm = PoolFarm(pool, task, {**cheap_lens.PLAN, "sleep_s": 0.0})
    design = {f"lens.radii.{place}": 0.012 for place in range(4)}
    outcomes = farm.run([[(f"a{place}", design)] for place in range(4)])
    for count in (1, 5, 2):
        next(outcomes)
        farm.submit([[(f"b{count}-{place}", design)] for place in range(count)])
    assert len([*outcomes]) == 4 + 8 - 3
    assert pool.announced == [4, 8, 9], "of batches that wait or are in flight, the most so far"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evolution": {"algorithm": "de"}}, 'this search is by "de"'),
        ({"evolution": {"polish": True}}, "evolution.polish exclude each other"),
        ({"evolution": {"restart_after": 3}}, "evolution.restart_after = 3 exclude each other"),
        ({"fidelity": {"cells": ["2 mm"]}}, "fidelity exclude each other"),
        ({"tolerance": {"samples": 4, "of": {"lens.radii": {"sigma": "0.1 mm"}}}}, "tolerance.samples exclude"),
    ],
)
def test_it_is_refused_where_the_next_generation_is_not_certain(changes, message):
    evolution = {"population": 24, "generations": 12, "overlap": True, **changes.get("evolution", {})}
    with pytest.raises(ConfigurationError, match=message) as refused:
        Experiment.parse({**cheap_lens.EXPERIMENT, **changes, "evolution": evolution})
    assert "\n" not in str(refused.value)
