"""States that no search can have had are refused when they are restored, whatever they were made of.

Each is a state of a real search, changed in one place. An empty population used to end in an `IndexError` of the
tournament; what is found here is found before anything is bred.
"""

import copy
import json
import random

import pytest
from test_evolution_steady import carry_on
from test_evolution_steady import search as steady

from antennaopt.search import EvolutionSettings, Result, new_search

GENES = steady().genes
SETTINGS = EvolutionSettings(population=6, generations=9, elites=2)


def generational():
    return new_search(SETTINGS, GENES, 7)


def generational_state(generations=3):
    chance, one = random.Random(4), generational()
    for _ in range(generations):
        one.tell([Result(individual=who.individual, shortfalls=(chance.random(),)) for who in one.ask()])
    return one.state()


def steady_state(complete=21):
    one = steady()
    carry_on(one, random.Random(5), until=complete)
    assert one.completed == complete
    return one.state()


def put(*path):
    """Return a change: what stands at a path becomes its last entry."""
    *folders, last, value = path

    def change(state):
        at = state
        for key in folders:
            at = at[key]
        at[last] = value

    return change


def remove(*path):
    *folders, last = path

    def change(state):
        at = state
        for key in folders:
            at = at[key]
        del at[last]

    return change


def twice(state):
    state["population"][-1] = state["population"][-2]


def swapped(state):
    state["population"][0], state["population"][-1] = state["population"][-1], state["population"][0]


FIRST = ("population", 0)
OF_ALL = [
    (put("population", []), "a population of 0"),
    (twice, "twice|by slots"),
    (put("population", None), "not iterable"),
    (put(*FIRST, "fitness", float("nan")), "must be finite"),
    (put(*FIRST, "ok", 1), "neither true nor false"),
    (put(*FIRST, "candidate", "individual", "../../x"), "is not the id"),
    (put(*FIRST, "candidate", "generation", 9999), "is not the id"),
    (put(*FIRST, "candidate", "slot", -1), "no whole number from 0"),
    (put(*FIRST, "candidate", "parents", ["\ud800"]), "no parent's id"),
    (put(*FIRST, "candidate", "operator", "exec"), "is no operator"),
    (put("hall_of_fame", []), "hall of fame"),
    (remove("hall_of_fame", 0), "hall of fame"),
    (put("hall_of_fame", 1, "fitness", -1.0), "hall of fame"),
    (put("hall_of_fame", 0, "ok", False), "hall of fame"),
    (put("generation", True), "no whole number from 0"),
    (put("generation", 2**63), "no whole number from 0"),
    (put("evaluations", 10**6), "1000000 evaluations"),
    (put("evaluations", -1), "no whole number from 0"),
    (put("stagnation", 99), "99 generations without"),
    (put("stagnation", 0.5), "no whole number from 0"),
]
OF_GENERATIONS = [
    (put("generation", 0), "a population of 6"),
    (put("generation", 2), "not been solved yet"),
    (put("generation", 4), "by slots"),
    (remove(*FIRST), "by slots"),
    (swapped, "by slots"),
]
OF_A_STEADY_STATE = [
    (put("generation", 4), "4 blocks"),
    (remove("population", -1), "a population of 7, where 8 to 8"),
    (swapped, "not in order of fitness"),
    (put("completed", 4), "a population of 8, where 4 to 4"),
    (put("completed", 22), "under way"),
    (put("births", 1), "under way"),
    (put("under_way", []), "0 are under way"),
    (remove("under_way", 0), "under way"),
    (put("under_way", 0, "number", 10**6), "under way"),
    (put("under_way", 0, "bred_after", 10**6), "after 1000000 of 21"),
    (put("under_way", 0, "genome", [0.5]), "does not have"),
    (put("under_way", 0, "genome", 0, 1.5), r"outside \[0, 1\]"),
    (put("under_way", 0, "parents", ["\ud800"]), "no parent's id"),
    (put(*FIRST, "candidate", "birth", None), "birth None"),
    (put("best_before", -1e9), "the best before"),
    (put("best_before", float("inf")), "the best before"),
]


@pytest.mark.parametrize(
    ("new", "state", "change", "said"),
    [
        *((generational, generational_state, *harm) for harm in (*OF_ALL, *OF_GENERATIONS)),
        *((steady, steady_state, *harm) for harm in (*OF_ALL, *OF_A_STEADY_STATE)),
    ],
)
def test_a_state_that_no_search_can_have_had_is_refused(new, state, change, said):
    whole = json.loads(json.dumps(state()))
    new().restore(copy.deepcopy(whole))
    change(whole)
    with pytest.raises((ValueError, TypeError), match=said):
        new().restore(whole)


def test_a_population_cut_short_by_its_budget_is_none_of_them():
    """Of six places two went to elites and one to the only evaluation that was left; with more budget it goes on."""
    budget = EvolutionSettings.from_dict({"population": 6, "generations": 9, "elites": 2, "stop": {"evaluations": 7}})
    one = new_search(budget, GENES, 7)
    while one.stopped() is None:
        one.tell([Result(individual=who.individual, shortfalls=(who.genome[0],)) for who in one.ask()])
    state = json.loads(json.dumps(one.state()))
    assert len(state["population"]) == 3
    again = generational()
    again.restore(state)
    assert again.state() == state
    assert len(again.ask()) == 4
