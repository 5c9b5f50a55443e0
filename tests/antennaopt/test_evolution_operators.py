"""Operators keep the bounds and do what their names say."""

import random
import sys
import threading
from importlib import import_module
from pkgutil import walk_packages

import pytest
from deap import tools
from deap.tools import mutation
from hypothesis import given
from hypothesis import strategies as st

from antennaopt import search
from antennaopt.search import Crossover, Mutation
from antennaopt.search import operators as _operators
from antennaopt.search.operators import (
    CROSSOVER_OPERATORS,
    MUTATION_OPERATORS,
    Individual,
    polynomial,
    reflect,
    seeded,
    simulated_binary,
    tournament,
    two_point,
    vary,
    winners,
)
from antennaopt.settings import CROSSOVERS, MUTATIONS

unit = st.floats(0.0, 1.0)
pairs = st.integers(1, 10).flatmap(
    lambda size: st.tuples(st.lists(unit, min_size=size, max_size=size), st.lists(unit, min_size=size, max_size=size))
)


@given(pair=pairs, kind=st.sampled_from(CROSSOVERS), seed=st.integers(0, 10_000), eta=st.floats(0.1, 100))
def test_crossover_keeps_the_bounds(pair, kind, seed, eta):
    one, other = Individual(pair[0]), Individual(pair[1])
    with seeded(seed, 0):
        CROSSOVER_OPERATORS[kind](one, other, Crossover(kind=kind, eta=eta, alpha=2.0))
    for child in (one, other):
        assert len(child) == len(pair[0])
        assert all(isinstance(x, float) and 0.0 <= x <= 1.0 for x in child)


@given(pair=pairs, kind=st.sampled_from(MUTATIONS), seed=st.integers(0, 10_000), width=st.floats(0.01, 100))
def test_mutation_keeps_the_bounds(pair, kind, seed, width):
    child = Individual(pair[0])
    with seeded(seed, 0):
        MUTATION_OPERATORS[kind](child, Mutation(kind=kind, probability=1.0, eta=width, sigma=width))
    assert len(child) == len(pair[0])
    assert all(isinstance(x, float) and 0.0 <= x <= 1.0 for x in child)


@given(x=st.floats(-1e6, 1e6))
def test_reflection_folds_into_the_unit_interval(x):
    assert 0.0 <= reflect(x) <= 1.0


def test_reflection_mirrors_at_the_ends():
    assert reflect(-0.25) == 0.25
    assert reflect(1.25) == 0.75
    assert reflect(0.5) == 0.5


def test_two_point_moves_the_first_gene_sometimes():
    moved = set()
    for seed in range(50):
        one, other = Individual([0.0] * 3), Individual([1.0] * 3)
        with seeded(seed, 0):
            two_point(one, other, Crossover(kind="two_point"))
        moved.add(tuple(one))
    assert {mask[0] for mask in moved} == {0.0, 1.0}
    assert {mask[2] for mask in moved} == {0.0, 1.0}


def test_parents_are_left_as_they_are():
    one, other = Individual([0.1, 0.2], "g0000-s000"), Individual([0.8, 0.9], "g0000-s001")
    with seeded(1, 1):
        made = vary(one, other, Crossover(probability=1.0), Mutation(probability=1.0))
    assert list(one) == [0.1, 0.2]
    assert list(other) == [0.8, 0.9]
    for _, parents, operator in made:
        assert parents == ("g0000-s000", "g0000-s001")
        assert operator == "simulated_binary+polynomial"


def test_a_child_that_nothing_touched_is_a_clone_of_one_parent():
    one, other = Individual([0.1], "g0000-s000"), Individual([0.8], "g0000-s001")
    made = vary(one, other, Crossover(probability=0.0), Mutation(probability=0.0))
    assert [(list(child), parents, operator) for child, parents, operator in made] == [
        ([0.1], ("g0000-s000",), "clone"),
        ([0.8], ("g0000-s001",), "clone"),
    ]


def test_a_copy_of_a_parent_is_mutated_in_one_gene():
    one = Individual([0.1, 0.5, 0.9], "g0000-s000")
    for seed in range(20):
        with seeded(seed, 0):
            made = vary(one, one, Crossover(probability=1.0), Mutation(probability=1e-12))
        for child, parents, operator in made:
            assert sum(a != b for a, b in zip(child, one, strict=True)) == 1
            assert parents == ("g0000-s000",)
            assert operator == "simulated_binary+polynomial"


def test_winners_are_those_of_tournaments():
    """Also where several stand alike: the one that was drawn first wins."""
    draw = random.Random(3)
    for size in (1, 2, 3, 7):
        pool = [Individual([0.0], f"g0000-s{slot:03d}", float(draw.randrange(5))) for slot in range(23)]
        with seeded(size, 1):
            selected = tournament(pool, 40, size)
        with seeded(size, 1):
            places = winners([one.standing for one in pool], 40, size)
        assert [pool[place].individual for place in places] == [one.individual for one in selected]


def test_seeding_gives_the_same_draws_and_leaves_the_global_generators_alone():
    random.seed(5)
    before = random.getstate()
    drawn = []
    for generation in (2, 2, 3):
        with seeded(1, generation):
            drawn.append((_operators.random.random(), mutation.random.random()))
    assert drawn[0] == drawn[1] != drawn[2]
    assert random.getstate() == before
    assert _operators.random is mutation.random is random


def test_every_module_of_the_search_gets_the_generator():
    """Whatever knows `random` by its name, in a folder within the package too."""
    for found in walk_packages(search.__path__, f"{search.__name__}."):
        import_module(found.name)
    known = [module for name, module in sys.modules.items() if name.startswith("antennaopt.search.")]
    drawing = [module for module in known if getattr(module, "random", None) is random]
    assert _operators in drawing
    with seeded(1, 1):
        assert not [module.__name__ for module in drawing if module.random is random]
    assert all(module.random is random for module in drawing)


def test_individuals_refuse_a_fitness_that_is_not_finite():
    from antennaopt.search import Candidate, Scored

    candidate = Candidate(individual="g0000-s000", generation=0, slot=0, genome=(0.5,))
    with pytest.raises(ValueError, match="finite"):
        Individual.from_scored(Scored(candidate=candidate, fitness=float("nan")))


def bred(beside):
    """Genomes after crossovers and mutations, from one seed, with something done in another thread after each."""
    pairs = [(Individual([0.1 * place] * 6), Individual([0.5] * 6)) for place in range(10)]
    with seeded(7, 3):
        for one, other in pairs:
            for act in (
                lambda: CROSSOVER_OPERATORS["simulated_binary"](one, other, Crossover()),  # noqa: B023
                lambda: MUTATION_OPERATORS["polynomial"](one, Mutation(probability=0.5)),  # noqa: B023
                lambda: two_point(one, other, Crossover()),  # noqa: B023
            ):
                act()
                thread = threading.Thread(target=beside)
                thread.start()
                thread.join()
    return pairs


def test_another_thread_that_draws_changes_nothing():
    """Dask's threads in the driver draw from Python's global generator at any moment, also in the midst of breeding."""
    assert bred(random.random) == bred(lambda: None)


def drawn_alike(ours, deaps, genomes, seed):
    """Apply ours and DEAP's operator to copies of genomes; return both results, each with the draw that follows."""
    found = []
    for act in (ours, deaps):
        copies = [list(one) for one in genomes]
        with seeded(seed, 1):
            chosen = act(copies)
            found.append((copies if chosen is None else chosen, _operators.random.random()))
    return found


@given(pair=pairs, seed=st.integers(0, 10_000), eta=st.floats(0.1, 100))
def test_crossover_is_deaps_to_the_bit(pair, seed, eta):
    ours, deaps = drawn_alike(
        lambda both: simulated_binary(*both, Crossover(eta=eta)),
        lambda both: tools.cxSimulatedBinaryBounded(*both, eta=eta, low=0.0, up=1.0) and None,
        pair,
        seed,
    )
    assert repr(ours) == repr(deaps)  # which tells -0.0 from 0.0


@given(pair=pairs, seed=st.integers(0, 10_000), eta=st.floats(0.1, 100), probability=st.floats(0.0, 1.0))
def test_mutation_is_deaps_to_the_bit(pair, seed, eta, probability):
    ours, deaps = drawn_alike(
        lambda one: polynomial(one[0], Mutation(eta=eta, probability=probability)),
        lambda one: tools.mutPolynomialBounded(one[0], eta=eta, low=0.0, up=1.0, indpb=probability) and None,
        pair[:1],
        seed,
    )
    assert repr(ours) == repr(deaps)


@given(
    standings=st.lists(st.sampled_from([-3.0, -1.0, 0.0, 2.0]), min_size=1, max_size=70),
    count=st.integers(0, 9),
    size=st.integers(1, 5),
    seed=st.integers(0, 10_000),
)
def test_tournaments_are_deaps(standings, count, size, seed):
    """Of equals the first that was drawn wins; the draws are those of `random.choice`."""
    population = [Individual([0.5], f"g0000-s{place:03d}", one) for place, one in enumerate(standings)]
    ours, deaps = drawn_alike(
        lambda _: tournament(population, count, size),
        lambda _: tools.selTournament(population, count, size, fit_attr="standing"),
        (),
        seed,
    )
    assert [one.individual for one in ours[0]] == [one.individual for one in deaps[0]]
    assert ours[1] == deaps[1]
