"""The protocol, for each algorithm of the registry: ask and tell in any portions, exact states, one driver."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest
from cheap_study import OBJECTIVES, REAL
from test_study_steady import Flying, Store

from antennaopt.run.driver import Driver
from antennaopt.run.interfaces import Interfaces
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import Progress
from antennaopt.search import ALGORITHMS, Candidate, EvolutionSettings, Result, Stop, new_search
from antennaopt.search.objectives import Ranking

GENES = [SimpleNamespace(name=f"x.{place}", low=0.0, high=1.0, kind="real", choices=()) for place in range(5)]


HINT = "drawn from outside the seed: within `seeded`, after `import random`, use `random.gauss(...)`"


def search(algorithm, seed=7, **changes):
    settings = EvolutionSettings(
        **{"algorithm": algorithm, "population": 10, "generations": 6, "stop": Stop(goals=False), **changes}
    )
    return new_search(settings, GENES, seed)


RESTARTED = [name for name, one in ALGORITHMS.items() if one.restarts]

POLISHED = [name for name, one in ALGORITHMS.items() if not one.front and name != "steady_state"]

KINDS = [
    *(pytest.param(name, {}, id=name) for name in ALGORITHMS),
    *(pytest.param(name, {"polish": True}, id=f"{name}-polished") for name in POLISHED),
    *(pytest.param(name, {"restart_after": 1}, id=f"{name}-restarted") for name in RESTARTED),
    pytest.param("ga", {"restart_after": 1, "polish": True}, id="ga-restarted-polished"),
    pytest.param("ga", {"overlap": True}, id="ga-overlapping"),
]
"""Each algorithm, plain and with what can be added to it."""


def shortfall(candidate):
    return sum((gene - 0.4) ** 2 for gene in candidate.genome)


UNTIL = (3, 10, 17, 33, 44, 52)
"""Numbers of results after which a search is stopped."""


def carry_on(one, order, states=None):
    """Ask in portions and tell one by one, in a random order; keep the states after `UNTIL` results in `states`."""
    under_way, told = list(one.under_way.values()), 0
    while one.stopped() is None:
        under_way += one.ask(order.randrange(1, 5))
        if not under_way:
            break
        candidate = under_way.pop(order.randrange(len(under_way)))
        (scored,) = one.tell([Result(individual=candidate.individual, shortfalls=(shortfall(candidate),))])
        assert scored.candidate.genome == candidate.genome
        told += 1
        if states is not None and told in UNTIL:
            states[told] = json.dumps(one.state())
    return one


@cache
def carried(algorithm, changes):
    """Return a search that was carried through, for reading, and its states on the way."""
    states = {}
    return carry_on(search(algorithm, **dict(changes)), random.Random(1), states), states


def test_a_search_of_one_generation_says_so_in_words():
    one = carry_on(search("ga", generations=1), random.Random(1))
    one.close()
    assert one.stopped() == "its one generation is done"


@pytest.mark.parametrize(("algorithm", "changes"), KINDS)
def test_it_keeps_its_budget_and_ranks(algorithm, changes):
    one = carry_on(search(algorithm, **changes), random.Random(1))
    one.close()
    assert one.stopped().endswith("all 6 generations done")
    assert one.evaluations == one.completed == one.births == one.settings.most_evaluations
    assert one.best() == one.hall_of_fame[0]
    assert one.ranking() == sorted(one.population, key=lambda each: (each.fitness, each.candidate.individual))
    assert one.best().fitness <= one.ranking()[0].fitness


@pytest.mark.parametrize(("algorithm", "changes"), KINDS)
def test_its_operators_are_known(algorithm, changes):
    """A checkpoint with an unknown one is refused."""
    for each in carried(algorithm, (*changes.items(),))[0].population:
        made = each.candidate.to_dict()
        try:
            Candidate.from_dict(made)
        except ValueError as refused:
            pytest.fail(
                f"{refused}; add it to `operators` of the line of {algorithm!r} in antennaopt/settings/search.py"
            )


def test_an_algorithm_may_have_operators_of_its_own(monkeypatch):
    (one,) = search("random").ask(1)
    made = {**one.to_dict(), "operator": "gaussian+made_up"}
    with pytest.raises(ValueError, match=r"'gaussian\+made_up' is no operator; known are .*gaussian"):
        Candidate.from_dict(made)
    monkeypatch.setitem(ALGORITHMS, "random", replace(ALGORITHMS["random"], operators=("made_up",)))
    assert Candidate.from_dict(made).operator == "gaussian+made_up"


@pytest.mark.parametrize(("algorithm", "changes"), KINDS)
def test_the_order_of_results_matters_only_where_it_is_said(algorithm, changes):
    one, _ = carried(algorithm, (*changes.items(),))
    same, other = (carry_on(search(algorithm, **changes), random.Random(order)) for order in (1, 2))
    assert one.state() == same.state(), HINT
    assert (one.state() != other.state()) == one.by_order


@pytest.mark.parametrize(("algorithm", "changes"), KINDS)
@pytest.mark.parametrize("until", UNTIL)
def test_from_any_state_it_goes_on_as_if_never_stopped(algorithm, until, changes):
    """Where what comes next does not depend on the order; where it does, `test_study_steady` follows the record."""
    whole, states = carried(algorithm, (*changes.items(),))
    state = json.loads(states.get(until) or json.dumps(whole.state()))  # some end before
    again = search(algorithm, **changes)
    again.restore(state)
    assert json.loads(json.dumps(again.state())) == state
    carry_on(again, random.Random(9))
    assert again.completed + (0 if again.by_order else state["evaluations"]) == whole.completed
    if not again.by_order:
        assert again.state() == whole.state()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_driver_carries_it_through(algorithm):
    store, farm = Store(), Flying(order=3)
    settings = EvolutionSettings(algorithm=algorithm, population=8, generations=4, tournament_size=2)
    one = new_search(settings, REAL, 7, order=Ranking.of(OBJECTIVES))
    interfaces = Interfaces(
        objectives=OBJECTIVES,
        design=lambda values: {"feed.inner_radius": 12e-3, **values},
        farm=farm,
        store=store,
        progress=Progress(),
        signals=StopSignals(),
    )
    assert Driver(one, interfaces).run() == "all 4 generations done"
    rows = store.rows()
    assert len(rows) == len(farm.solved) == settings.most_evaluations
    assert min(row["fitness"] for row in rows) == one.best().fitness
    assert all(row["fitness"] == pytest.approx(sum(row["shortfalls"])) for row in rows)
