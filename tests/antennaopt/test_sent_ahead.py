"""A generation's first batches are sent before the others are bred; nothing that is stored differs for it."""

from __future__ import annotations

import json
import random
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest
from cheap_study import WHOLE, CheapFarm, MemoryStore, antenna, driver
from test_every_algorithm import KINDS, search

from antennaopt.farm.batches import cut_into_waves
from antennaopt.farm.farm import SerialFarm
from antennaopt.run.memory import StepCounts
from antennaopt.search import ALGORITHMS, Mutation, Result, generational, operators
from antennaopt.search.operators import seeded


class AheadFarm(CheapFarm):
    """Takes the first four antennas before the others are bred; `seen` is called as each batch comes."""

    def __init__(self, seen=lambda: None, **about):
        super().__init__(**about)
        self._seen = seen

    def ahead(self, population, batch_size="auto"):
        return 4

    def cut(self, jobs, batch_size="auto", sent=0, left=0):
        self.cuts = [*getattr(self, "cuts", []), (len(jobs), sent, left)]
        return super().cut(jobs, batch_size, sent, left)

    def run(self, batches):
        self.given = [(list(batch), self._seen()) for batch in batches]
        return super().run([batch for batch, _ in self.given])


@pytest.mark.parametrize(("algorithm", "changes"), KINDS)
def test_bred_in_portions_a_generation_is_the_same_to_the_bit(algorithm, changes):
    whole, parts, order = search(algorithm, **changes), search(algorithm, **changes), random.Random(5)
    for _ in range(3 if not whole.by_order else 1):
        at_once = whole.ask(None if not whole.by_order else 10)
        found = []
        while len(found) < len(at_once):
            found += parts.ask(order.randrange(1, 4) if not whole.by_order else 10)
            random.random()  # another thread draws meanwhile
        assert found == at_once
        if not whole.by_order:
            assert parts.ask() == []
            told = [search_result(one) for one in at_once]
            whole.tell(told)
            parts.tell(told)
            assert whole.state() == parts.state()


def search_result(candidate):
    return Result(individual=candidate.individual, shortfalls=(sum(candidate.genome),))


def test_a_generator_goes_on_where_it_was_left():
    """Of Python and of NumPy; what others draw meanwhile changes nothing, and is not changed."""
    with seeded(7, 3):
        whole = [(operators.random.random(), np.random.random()) for _ in range(4)]
    np.random.seed(1)
    outside = np.random.random(4).tolist()
    np.random.seed(1)
    draws, found, others = seeded(7, 3), [], []
    for _ in range(4):
        with draws:
            found.append((operators.random.random(), np.random.random()))
        others.append(np.random.random())
    assert found == whole
    assert others == outside


def test_a_generation_is_not_closed_before_all_of_it_was_asked_for():
    one = search("ga")
    for each in one.ask(3):
        one.tell([search_result(each)])
    assert one.generation == 0
    one.tell([search_result(each) for each in one.ask()])
    assert one.generation == 1


def test_no_more_are_bred_than_are_asked_for(monkeypatch):
    bred = []
    vary = generational.vary

    def counted(*given):
        bred.append(1)
        return vary(*given)

    monkeypatch.setattr(generational, "vary", counted)
    one = search("ga", population=40)
    one.tell([search_result(each) for each in one.ask()])
    assert not bred
    assert len(one.ask(6)) == 6
    assert len(bred) == 3


@pytest.mark.parametrize("algorithm", [name for name, one in ALGORITHMS.items() if name != "steady_state"])
def test_what_is_stored_is_the_same(algorithm):
    plain, ahead = MemoryStore(), MemoryStore()
    driver(plain, algorithm=algorithm).run()
    driver(ahead, AheadFarm(), algorithm=algorithm).run()
    assert ahead.files == plain.files
    assert ahead.checkpoints == plain.checkpoints


def test_the_first_batches_are_there_before_the_others_are_bred():
    store = MemoryStore()
    farm = AheadFarm(lambda: study.search.births)
    study = driver(store, farm)
    study.generation()
    study.generation()
    births = [seen for _, seen in farm.given]
    assert births == [12, 12, 14] and [len(batch) for batch, _ in farm.given] == [2, 2, 2]
    (first, sent, left), (others, before, none) = farm.cuts[-2:]
    assert (first, sent, left) == (4, 0, study.search.settings.population - 4), "both are cut as one generation"
    assert (others, before, none) == (2, 4, 0)


def test_duplicates_of_a_generation_are_found_across_its_parts():
    plain, ahead = MemoryStore(), MemoryStore()
    changes = {"genes": WHOLE, "mutation": Mutation(probability=0.9, eta=1.0)}
    driver(plain, **changes).run()
    farm = AheadFarm()
    driver(ahead, farm, **changes).run()
    assert ahead.files == plain.files
    assert len(farm.solved) == 3


def test_killed_while_the_rest_is_bred_it_resumes_to_the_same_bits():
    whole, store = MemoryStore(), MemoryStore()
    driver(whole).run()

    def dies():
        if study.search.births == 24:  # 8, 6 and 6 in the generations before
            raise SystemExit

    study = driver(store, AheadFarm(dies))
    with pytest.raises(SystemExit):
        study.run()
    assert study.search.generation == 3
    # `run` keeps what it has when it is left by an exception; a kill leaves the state before.
    left = MemoryStore()
    left.files, left.checkpoints = dict(list(store.files.items())[:2]), store.checkpoints[:2]
    for one in (store, left):
        again = driver(one, AheadFarm())
        again.restore(json.loads(one.checkpoints[-1]))
        again.run()
        assert one.files == whole.files
        assert one.checkpoints == whole.checkpoints


@pytest.mark.parametrize(("devices", "population"), [(1, 1056), (1, 1053), (2, 2112), (4, 2112), (4, 8448), (1, 300)])
def test_first_batches_and_the_others_are_those_of_the_whole_generation(devices, population):
    about = {"wave": 132, "most": 2000, "at_once": 132}
    jobs = [(str(place), {}) for place in range(population)]
    whole = cut_into_waves(jobs, devices, **about)
    sent = sum(map(len, whole[:devices]))
    first = cut_into_waves(jobs[:sent], devices, **about, around=(0, population - sent))
    rest = cut_into_waves(jobs[sent:], devices, **about, around=(sent, 0))
    assert first + rest == whole
    odd = cut_into_waves(jobs[100:], devices, **about, around=(100, 0))
    assert list(chain(*odd)) == jobs[100:]
    assert len(odd[0]) >= min(132, population - 100), "a batch of what the first ones lacked would keep no device busy"


class Device(SerialFarm):
    """A farm whose one worker says that it has a device."""

    def __init__(self, solve):
        super().__init__(solve, family="shaped_lens", plan={})
        self.device = {"wave": 132, "antennas": 4000, "at_once": 132}


def test_a_farm_with_devices_sends_batches_of_an_iterator_as_they_come():
    order = []

    def solve(family, designs, plan, *, backend):
        return [antenna(one) for one in designs]

    farm = Device(solve)
    submit = farm.pool.submit
    farm.pool.submit = lambda assignments, plan: (order.extend("sent" for _ in assignments), submit(assignments, plan))

    def bred():
        for place in range(3):
            order.append(f"bred {place}")
            yield [(f"g0-s{place}", {"feed.inner_radius": 0.01})]

    found = dict(farm.run(bred()))
    assert order[:3] == ["bred 0", "sent", "bred 1"]
    assert len(found) == 3
    assert [farm.ahead(one) for one in (1056, 2112, 132, 20)] == [264, 264, 0, 0]
    assert SerialFarm(solve, family="shaped_lens", plan={}).ahead(1056) == 0


def test_those_that_will_take_the_most_steps_are_sent_first():
    """From the second generation on; what is stored is the same in any order."""

    class Stepped(AheadFarm):
        def run(self, batches):
            for name, outcome in super().run(batches):
                design = dict(chain(*(batch for batch, _ in self.given)))[name]
                yield name, {**outcome, "steps": steps_of(design)}

    def steps_of(design):
        return round(1e6 * sum(design.values()))

    store, farm = MemoryStore(), Stepped()
    study = driver(store, farm, population=60, generations=3)
    study.generation()
    study.generation()
    rest = [steps_of(design) for batch, _ in farm.given[2:] for _, design in batch]
    assert len(rest) > 40 and rest != sorted(rest, reverse=True), "a guess is not the truth"
    assert np.corrcoef(rest, np.arange(len(rest)))[0, 1] < -0.9
    bred = [design for batch, _ in farm.given[:2] for _, design in batch]
    assert len(bred) == 4, "the first batches are not ordered: the others are not bred yet"


def test_the_guess_of_steps_follows_the_nearest_known_antennas():
    counts = StepCounts()
    assert counts.most_first(["a", "b"], [[0.1], [0.9]]) == ["a", "b"], "nothing is known"
    known = [
        SimpleNamespace(candidate=SimpleNamespace(genome=(one,), slot=slot), outcome=SimpleNamespace(steps=steps))
        for slot, (one, steps) in enumerate(((0.0, 100), (0.5, 300), (1.0, 200), (0.5, None)))
    ]
    counts.learn(known)
    asked = {"near the first": (0.05,), "the second itself": (0.5,), "near the last": (0.97,)}
    assert counts.most_first([*asked], [*asked.values()]) == ["the second itself", "near the last", "near the first"]
    counts.learn([SimpleNamespace(candidate=None, outcome=SimpleNamespace(steps=None))])
    assert counts.most_first([*asked], [*asked.values()])[0] == "the second itself", "a generation of failures"
    assert counts.most_first([], []) == []
