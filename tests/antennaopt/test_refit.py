"""The distribution of `cmaes` on finer cells: with `fidelity.refit` fitted to the better half of the promoted."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from cheap_lens_here import EXPERIMENT

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import Experiment
from antennaopt.search import EvolutionSettings, Result, Stop, new_search
from antennaopt.search.distribution import Distribution
from antennaopt.settings import Ladder

GENES = [SimpleNamespace(name=f"x.{place}", low=0.0, high=1.0, kind="real", choices=()) for place in range(4)]
COARSE, FINE = 6e-4, 3e-4
GOAL = [{"metric": "directivity_dbi", "at_least": 30.0}]
BEST = np.array([0.3, 0.6, 0.4, 0.7])
SHIFT = np.array([0.1, -0.1, 0.05, 0.1])  # of the best antenna, from coarse cells to fine ones


def bowl(genome, level):
    """Return a fitness that is least in another place on each level, and 5 better on coarse cells."""
    return float((((np.array(genome) - BEST - level * SHIFT) / [1.0, 0.5, 0.2, 1.0]) ** 2).sum()) + 5.0 * level


def search(generations, refit=True, promote=0.1, restart_after=None):
    settings = EvolutionSettings(
        algorithm="cmaes", population=16, generations=generations, stop=Stop(goals=False), restart_after=restart_after
    )
    ladder = Ladder(cells=(COARSE, FINE), promote=promote, finish=0.3, refit=refit)
    return new_search(settings, GENES, 3, ladder=ladder)


def told(one):
    """Carry out a generation; return its candidates with their fitness, the best first."""
    asked = one.ask()
    level = one.level_of(asked[0].generation)
    one.tell([Result(individual=each.individual, shortfalls=(bowl(each.genome, level),)) for each in asked])
    one.stopped()
    return sorted(((bowl(each.genome, level), each) for each in asked), key=lambda pair: pair[0])


def until_promoted(one):
    """Carry a search to the generation that is promoted; return the distribution before, and the promoted."""
    while True:
        before = one.own_state()
        found = told(one)
        if found[0][1].operator == "promoted":
            return before, found


def test_a_fit_is_the_weighted_mean_and_the_covariance_of_the_better_half():
    """The weights are those of Hansen's table 1, of ten genomes 0.4563, 0.2708, 0.1622, 0.0852, 0.0255."""
    random = np.random.default_rng(5)
    genomes = random.uniform(0.2, 0.8, (10, 4))
    near = Distribution(4, 16)
    near.begin(np.full(4, 0.5), 0.1)
    near.fit(genomes)
    weights = np.log(5.5) - np.log([1, 2, 3, 4, 5])
    weights /= weights.sum()
    mean = sum(weight * one for weight, one in zip(weights, genomes, strict=False))
    assert near.mean == pytest.approx(mean, rel=1e-12)
    part = 4 / (4 + 1 / (weights**2).sum())
    spread = sum(weight * np.outer(one - mean, one - mean) for weight, one in zip(weights, genomes, strict=False))
    state = near.state()
    found = state["sigma"] ** 2 * np.array(state["covariance"])
    assert found == pytest.approx((1 - part) * spread + part * 0.01 * np.eye(4), rel=1e-10)
    assert np.linalg.det(state["covariance"]) == pytest.approx(1.0)
    assert not any(state["path"]) and not any(state["path_sigma"])


def test_of_one_genome_nothing_is_learnt_but_its_place():
    near = Distribution(4, 16)
    near.begin(np.full(4, 0.5), 0.1)
    near.fit(np.array([[0.1, 0.2, 0.3, 0.4]]))
    assert near.mean.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert near.deviations() == pytest.approx(np.full(4, 0.1 * np.sqrt(4 / 5)))


def test_a_fit_keeps_the_least_deviation_of_genes_that_move_in_steps():
    near = Distribution(4, 16, np.array([0.0, 0.05, 0.0, 0.0]))
    near.begin(np.full(4, 0.5), 1e-3)
    near.fit(np.full((16, 4), 0.5) + 1e-4 * np.random.default_rng(1).standard_normal((16, 4)))
    assert near.deviations()[1] == pytest.approx(0.05)
    assert near.deviations()[[0, 2, 3]].max() < 2e-3


def test_the_order_on_fine_cells_moves_the_distribution_only_where_it_is_asked_for():
    before, promoted = until_promoted(staying := search(20, refit=False))
    assert {**staying.own_state(), "waiting": 0, "best": 0} == {**before, "waiting": 0, "best": 0}
    before, promoted = until_promoted(one := search(20))
    fitted = Distribution(4, 16)
    fitted.restore(before)
    fitted.fit(np.array([each.genome for _, each in promoted]))
    own = one.own_state()
    assert {name: own[name] for name in fitted.state()} == fitted.state()
    assert own["since"] == 1 and own["best"] == promoted[0][0]


def test_a_search_that_was_about_to_start_again_is_fitted_near_the_best():
    """A patience of one generation: after every one without a better best the next is uniform."""
    for generations in range(20, 60):
        before, promoted = until_promoted(one := search(generations, restart_after=1))
        if not before["since"]:
            break
    assert not before["since"] and before["sigma"] == 0.25
    after = one.own_state()
    assert after["since"] == 1 and after["sigma"] < 0.1
    assert np.abs(np.array(after["mean"]) - promoted[0][1].genome).max() < 0.2


def test_a_restored_search_draws_the_same():
    until_promoted(one := search(20))
    state = json.loads(json.dumps(one.state()))
    again = search(20)
    again.restore(state)
    for _ in range(2):
        assert [each.genome for each in again.ask()] == [each.genome for each in one.ask()]
        for each in (one, again):
            asked = list(each.under_way.values())
            each.tell([Result(individual=one_.individual, shortfalls=(bowl(one_.genome, 1),)) for one_ in asked])
        assert again.state() == one.state()


def test_the_fit_finds_the_shifted_optimum_sooner():
    """Medians of 11 seeds, 3 generations after the promoted one."""

    def end(refit, seed):
        one = search(20, refit=refit, promote=0.2)
        one.seed = seed
        while one.stopped() is None:
            told(one)
        return one.best().fitness - 5.0

    stays, fitted = (np.median([end(refit, seed) for seed in range(11)]) for refit in (False, True))
    assert fitted < stays


def experiment_of(fidelity):
    solver = {"frequencies": ["30 GHz"], "cell": "0.3 mm"}
    evolution = {"algorithm": "cmaes", "population": 8, "generations": 8}
    table = {"objective": GOAL, "solver": solver, "evolution": evolution, "fidelity": fidelity}
    return Experiment.parse({**EXPERIMENT, **table})


@pytest.mark.parametrize(("given", "refit"), [({}, False), ({"refit": True}, True), ({"refit": False}, False)])
def test_the_table_says_whether(given, refit):
    """Files of before do not have the key: without it hash and resolved file stay, and runs go on as they began."""
    found, before = experiment_of({"cells": ["0.6 mm"], **given}), experiment_of({"cells": ["0.6 mm"]})
    assert found.fidelity is not None and found.fidelity.refit is refit
    assert ("refit" in found.resolved()["fidelity"]) is refit
    assert (found.config_hash == before.config_hash) is not refit
    assert Experiment.from_resolved(found.resolved()).config_hash == found.config_hash
    with pytest.raises(ConfigurationError, match=r"fidelity.refit"):
        experiment_of({"cells": ["0.6 mm"], "refit": 1})
