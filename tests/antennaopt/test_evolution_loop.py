"""The generation loop: same seed, same search; elitism; stops; hall of fame; state."""

import json
import math
import random
from itertools import pairwise
from types import SimpleNamespace

import pytest

from antennaopt.errors import ConfigurationError, ResumeRefusedError
from antennaopt.search import Crossover, EvolutionSettings, Mutation, Result, Stop, decode, new_search

GENES = [SimpleNamespace(name=f"x.{i}", low=-1.0, high=1.0, kind="real", choices=()) for i in range(8)]


def valley(genome):
    """A tilted bowl with coupled neighbours, its floor away from the centre of the cube."""
    v = [value - 0.3 for value in decode(GENES, genome).values()]
    return sum(x * x for x in v) + 0.5 * sum((b - a) ** 2 for a, b in pairwise(v))


def search(seed=7, *, planted=(), shuffle=None, **settings):
    settings = EvolutionSettings(**{"population": 12, "generations": 6, **settings})
    evolution = new_search(settings, GENES, seed, planted=planted)
    while not evolution.stopped():
        step(evolution, shuffle)
    return evolution


def result(candidate, shortfall=1.0, **more):
    return Result(individual=candidate.individual, shortfalls=(shortfall,), **more)


def step(evolution, shuffle=None):
    told = [result(one, valley(one.genome)) for one in evolution.ask()]
    if shuffle is not None:
        shuffle.shuffle(told)
    evolution.tell(told)


def test_same_seed_same_search_whatever_the_order_of_results_and_other_draws():
    plain = search()
    evolution = new_search(EvolutionSettings(population=12, generations=6), GENES, 7)
    disturber = random.Random(3)
    while not evolution.stopped():
        random.seed(disturber.random())
        step(evolution, disturber)
    assert evolution.state() == plain.state()
    assert search(seed=8).state() != plain.state()


@pytest.mark.parametrize("crossover", ["simulated_binary", "blend", "uniform", "two_point"])
@pytest.mark.parametrize("mutation", ["polynomial", "gaussian"])
def test_the_best_never_gets_worse_and_elites_keep_their_id(crossover, mutation):
    settings = EvolutionSettings(
        population=9, generations=8, elites=2, crossover=Crossover(kind=crossover), mutation=Mutation(kind=mutation)
    )
    evolution = new_search(settings, GENES, 3)
    best = math.inf
    while not evolution.stopped():
        elites = evolution.ranking()[:2]
        step(evolution)
        assert evolution.population[: len(elites)] == elites
        assert len(evolution.population) == 9
        assert evolution.best().fitness <= best
        best = evolution.best().fitness
    assert evolution.evaluations == settings.most_evaluations == 9 + 7 * 7


def test_ga_beats_random_with_the_same_budget():
    wins = 0
    for seed in range(10):
        ga = search(seed, population=24, generations=12)
        baseline = search(seed, population=24, generations=12, algorithm="random")
        assert ga.evaluations == baseline.evaluations
        wins += ga.best().fitness < baseline.best().fitness
    assert wins >= 9


def test_both_algorithms_start_from_the_same_first_generation():
    ga = new_search(EvolutionSettings(), GENES, 5)
    baseline = new_search(EvolutionSettings(algorithm="random"), GENES, 5)
    assert ga.ask() == baseline.ask()


def test_planted_designs_take_the_first_slots():
    design = {f"x.{i}": 0.3 for i in range(8)}
    plain = new_search(EvolutionSettings(), GENES, 5).ask()
    asked = new_search(EvolutionSettings(), GENES, 5, planted=[design, {"x.0": -1.0}]).ask()
    assert [one.operator for one in asked[:3]] == ["planted", "planted", "random"]
    assert decode(GENES, asked[0].genome) == pytest.approx(design)
    assert asked[1].genome == (0.0, *plain[1].genome[1:])
    assert asked[2:] == plain[2:]


def test_a_planted_optimum_is_found_at_once():
    evolution = search(planted=[{f"x.{i}": 0.3 for i in range(8)}], stop=Stop(fitness=1e-12))
    assert evolution.generation == 1
    assert evolution.best().candidate.individual == "g0000-s000"


def test_any_part_of_a_generation_may_be_asked_and_told_in_any_order():
    whole, parts = (new_search(EvolutionSettings(population=12, generations=4), GENES, 5) for _ in range(2))
    order = random.Random(2)
    while not whole.stopped():
        step(whole)
    while not parts.stopped():
        while asked := parts.ask(order.randrange(1, 6)):
            order.shuffle(asked)
            for one in asked[1:]:
                parts.tell([result(one, valley(one.genome))])
        left = list(parts.under_way.values())
        assert parts.ask() == []
        parts.tell([result(one, valley(one.genome)) for one in left])
    assert parts.state() == whole.state()


def test_the_state_of_a_generation_under_way_is_that_before_it():
    evolution = search(generations=3)
    before = evolution.state()
    asked = evolution.ask()
    evolution.tell([result(one) for one in asked[:3]])
    assert evolution.state() == before
    again = new_search(evolution.settings, GENES, 7)
    again.restore(before)
    assert again.ask() == asked


def test_each_candidate_is_told_once():
    evolution = new_search(EvolutionSettings(), GENES, 5)
    with pytest.raises(ValueError, match="not under way"):
        evolution.tell([Result(individual="g0000-s000", shortfalls=(1.0,))])
    asked = evolution.ask()
    with pytest.raises(ValueError, match="tell each once"):
        evolution.tell([result(asked[0]) for _ in asked])
    evolution.tell([result(asked[0])])
    with pytest.raises(ValueError, match="tell each once"):
        evolution.tell([result(asked[0])])


@pytest.mark.parametrize("fitness", [math.nan, math.inf, -math.inf])
def test_fitness_that_is_not_finite_is_refused(fitness):
    evolution = new_search(EvolutionSettings(), GENES, 5)
    asked = evolution.ask()
    with pytest.raises(ValueError, match="finite"):
        evolution.tell([result(one, fitness) for one in asked])


def test_stop_by_generations():
    evolution = search(generations=3)
    assert evolution.generation == 3
    assert "all 3 generations" in evolution.stopped()


def test_stop_by_evaluations_is_never_exceeded():
    evolution = search(generations=50, stop=Stop(evaluations=40))
    assert evolution.evaluations == 40 == evolution.settings.most_evaluations
    assert "40 evaluations" in evolution.stopped()


def test_copies_of_duplicates_do_not_count_as_evaluations():
    evolution = new_search(EvolutionSettings(population=4, generations=2, elites=0), GENES, 5)
    evolution.tell([result(one, 1.0, cached=one.slot > 1) for one in evolution.ask()])
    assert evolution.evaluations == 2


def test_stop_by_fitness():
    evolution = search(generations=50, stop=Stop(fitness=1.2))
    assert evolution.best().fitness <= 1.2
    assert "target" in evolution.stopped()


def test_stop_by_stagnation():
    evolution = new_search(EvolutionSettings(population=4, generations=50, stop=Stop(stagnation=3)), GENES, 5)
    while not evolution.stopped():
        evolution.tell([result(one, 1.0) for one in evolution.ask()])
    assert evolution.generation == 4
    assert "no improvement for 3" in evolution.stopped()


def test_stop_by_wall_time():
    evolution = new_search(EvolutionSettings(population=4, stop=Stop(wall_time=60.0)), GENES, 5)
    step(evolution)
    assert evolution.stopped(59.9) is None
    assert "wall time" in evolution.stopped(60.0)


def test_a_wall_time_that_is_used_up_reads_as_in_the_file():
    search = new_search(EvolutionSettings(population=4, stop=Stop(wall_time=28800.0)), GENES, 5)
    step(search)
    assert search.stopped(28800.0) == "wall time of 8 h 00 min used up", "not 28800 s"


def test_ties_are_broken_by_id():
    evolution = new_search(EvolutionSettings(population=6, elites=2), GENES, 5)
    told = [result(one, 1.0) for one in evolution.ask()]
    evolution.tell(told[::-1])
    assert evolution.best().candidate.individual == "g0000-s000"
    evolution.tell([result(one, 2.0) for one in evolution.ask()])
    assert [one.candidate.individual for one in evolution.population[:2]] == ["g0000-s000", "g0000-s001"]


def test_hall_of_fame_holds_ten_distinct_ok_individuals():
    evolution = new_search(EvolutionSettings(population=20), GENES, 5)
    asked = evolution.ask()
    evolution.tell([result(one, float(one.slot), status="ok" if one.slot else "lost") for one in asked])
    assert [one.fitness for one in evolution.hall_of_fame] == [float(n) for n in range(1, 11)]
    clones = [result(one, 50.0) for one in evolution.ask()]
    evolution.tell(clones)
    assert len({one.candidate.genome for one in evolution.hall_of_fame}) == 10


def test_no_best_while_nothing_is_ok():
    evolution = new_search(EvolutionSettings(population=3, stop=Stop(fitness=1e9)), GENES, 5)
    evolution.tell([result(one, 400.0, status="lost") for one in evolution.ask()])
    assert evolution.best() is None
    assert evolution.stopped() is None


def test_restored_from_json_after_any_generation_it_goes_on_as_if_never_stopped():
    settings = EvolutionSettings(population=10, generations=6)
    whole, states = new_search(settings, GENES, 11), []
    while not whole.stopped():
        step(whole)
        states.append(json.dumps(whole.state()))
    for text in states:
        resumed = new_search(settings, GENES, 11)
        resumed.restore(json.loads(text))
        while not resumed.stopped():
            step(resumed)
        assert json.dumps(resumed.state()) == states[-1]


def test_a_foreign_state_is_refused():
    state = search(seed=1).state()
    with pytest.raises(ResumeRefusedError, match="seed 1"):
        new_search(EvolutionSettings(), GENES, 2).restore(state)
    with pytest.raises(ResumeRefusedError, match="3 genes"):
        new_search(EvolutionSettings(), GENES[:3], 1).restore(state)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"population": 4, "elites": 4}, "elites = 4"),
        ({"population": 0}, "population = 0"),
        ({"algorithm": "tabu"}, "algorithm"),
        ({"tournament_size": 0}, "tournament_size"),
    ],
)
def test_impossible_settings_are_named(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        EvolutionSettings(**settings)


def test_settings_are_read_from_a_resolved_table():
    table = {
        "algorithm": "ga",
        "population": 8,
        "start": [],
        "crossover": {"kind": "blend", "probability": 0.5, "alpha": None},
        "stop": {"evaluations": 100, "fitness": None},
    }
    settings = EvolutionSettings.from_dict(table)
    assert settings.population == 8
    assert settings.crossover == Crossover(kind="blend", probability=0.5)
    assert settings.stop == Stop(evaluations=100)
