"""The search without generations: everything follows from the seed and the order of completion."""

import json
import random
from types import SimpleNamespace

import pytest
from steady_replay import replay

from antennaopt.errors import ResumeRefusedError
from antennaopt.search import Candidate, EvolutionSettings, Result, Stop, new_search

GENES = [SimpleNamespace(name=f"lens.radii.{i}", low=8e-3, high=20e-3, kind="real", choices=()) for i in range(4)]
SETTINGS = EvolutionSettings(algorithm="steady_state", population=8, generations=6, elites=2)


def search(seed=7, **changes):
    settings = {"algorithm": "steady_state", "population": 8, "generations": 6, **changes}
    return new_search(EvolutionSettings(**settings), GENES, seed)


def tell(one, name, shortfall, **more):
    (scored,) = one.tell([Result(individual=name, shortfalls=(shortfall,), **more)])
    return scored


def told_of(done):
    """Return the results that a resume passes again."""
    return [
        (
            who.candidate,
            Result(
                individual=who.candidate.individual,
                shortfalls=(who.fitness,),
                status="ok" if who.ok else "infeasible",
                cached=who.cached,
            ),
        )
        for who in done
    ]


def bowl(genome):
    return sum((x - 0.3 - 0.1 * place) ** 2 for place, x in enumerate(genome))


def carry_on(one, order, *, places=3, batch=1, until=None, cached=0.0):
    """Keep a number of batches in flight and complete them in a random order; return all in order of completion."""
    done, flying = [], [list(one.under_way.values())] if one.under_way else []
    while until is None or len(done) < until:
        while len(flying) < places and (born := one.ask(batch)):
            flying.append(born)
        if not flying:
            break
        for birth in flying.pop(order.randrange(len(flying))):
            status = "infeasible" if birth.birth % 11 == 5 else "ok"
            done.append(tell(one, birth.individual, bowl(birth.genome), status=status, cached=order.random() < cached))
    return done


def content(one):
    return json.dumps(one.state(), sort_keys=True)


def test_the_first_births_are_the_first_generation_of_every_algorithm():
    first = [one.genome for one in new_search(EvolutionSettings(population=8), GENES, 7).ask()]
    assert [one.genome for one in search().ask(8)] == first
    planted = new_search(SETTINGS, GENES, 7, planted=[{"lens.radii.1": 8e-3}], genomes=[(0.1, 0.2, 0.3, 0.1 + 0.2)])
    born = planted.ask(3)
    assert born[0].genome == (0.1, 0.2, 0.3, 0.1 + 0.2)
    assert born[1].genome == (first[1][0], 0.0, *first[1][2:])
    assert [one.operator for one in born] == ["planted", "planted", "random"]


def test_individuals_are_named_in_order_of_completion_and_say_when_they_were_bred():
    one = search()
    born = one.ask(3)
    named = [tell(one, birth.individual, bowl(birth.genome)).candidate for birth in reversed(born)]
    assert [who.individual for who in named] == ["g0000-s000", "g0000-s001", "g0000-s002"]
    assert [who.birth for who in named] == [2, 1, 0]
    later = one.ask(6)[-1]
    assert (later.birth, later.bred_after, later.individual) == (8, 3, "b000008")
    assert {*later.parents} <= {who.individual for who in named}


@pytest.mark.parametrize("batch", [1, 3])
def test_replay_of_a_recorded_order_gives_the_same_population_to_the_bit(batch):
    one = search()
    done = carry_on(one, random.Random(3), batch=batch, cached=0.2)
    assert len(done) == 6 * 8
    orders = [who.candidate.birth for who in done]
    assert orders != sorted(orders)
    recorded = [(Candidate.from_dict(json.loads(json.dumps(who.to_dict()))), result) for who, result in told_of(done)]
    again = search()
    assert list(replay(again, recorded)) == done
    assert content(again) == content(one)


def test_another_order_is_another_search():
    one, other = search(), search()
    assert [who.candidate.genome for who in carry_on(one, random.Random(1))] != [
        who.candidate.genome for who in carry_on(other, random.Random(2))
    ]


@pytest.mark.parametrize("after", [0, 3, 8, 13, 40])
def test_from_any_state_it_goes_on_and_what_is_recorded_can_be_replayed(after):
    """Individuals in flight at that moment are in flight again, however the process ended."""
    one = search()
    done = carry_on(one, random.Random(5), until=after)
    state = json.loads(json.dumps(one.state()))
    carry_on(one, random.Random(6), until=4)
    resumed = search()
    resumed.restore(state)
    done += carry_on(resumed, random.Random(8))
    assert len(done) == 6 * 8
    assert sorted(who.candidate.birth for who in done) == list(range(6 * 8))
    again = search()
    assert list(replay(again, told_of(done))) == done
    assert content(again) == content(resumed)


def test_the_population_is_the_best_so_far():
    one = search(population=4, generations=3, tournament_size=2)
    for fitness in [5.0, 3.0, 4.0, 6.0, 5.0, 7.0, 2.0]:
        tell(one, one.ask(1)[0].individual, fitness)
    kept = [(who.fitness, who.candidate.individual) for who in one.population]
    assert kept == [(2.0, "g0001-s002"), (3.0, "g0000-s001"), (4.0, "g0000-s002"), (5.0, "g0000-s000")]


def test_budgets_count_who_is_under_way():
    assert len(search().ask(1000)) == 48
    one = search(stop=Stop(evaluations=10))
    assert len(one.ask(6)) == 6
    assert len(one.ask(6)) == 4
    assert one.ask(1) == []
    tell(one, "b000000", 1.0, cached=True)
    assert len(one.ask(5)) == 1
    assert len(carry_on(one, random.Random(1))) == 10
    assert one.evaluations == 10
    assert one.stopped() == "10 evaluations done"


def test_stagnation_counts_blocks():
    one = search(stop=Stop(stagnation=2))
    for fitness in [3.0] * 8 + [2.0] * 8 + [2.0] * 8:
        tell(one, one.ask(1)[0].individual, fitness)
    assert (one.generation, one.stagnation, one.stopped()) == (3, 1, None)
    for _ in range(7):
        tell(one, one.ask(1)[0].individual, 2.0)
    assert one.generation == 3
    one.close()
    assert one.stopped() == "no improvement for 2 generations"


def test_wrong_calls_are_told():
    one = search()
    (born,) = one.ask(1)
    with pytest.raises(ValueError, match="finite"):
        tell(one, born.individual, float("nan"))
    tell(one, born.individual, 1.0)
    with pytest.raises(ValueError, match="b000000 is not under way"):
        tell(one, born.individual, 1.0)
    with pytest.raises(ResumeRefusedError, match="seed 7"):
        search(seed=8).restore(one.state())
