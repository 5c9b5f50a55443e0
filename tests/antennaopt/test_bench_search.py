"""The search benchmark on a cheap problem."""

import json

import pytest

from antennaopt.bench.search import bench_search
from antennaopt.config import Experiment
from antennaopt.errors import TooManyFailuresError
from antennaopt.evaluation.serial import SerialFarm

EXPERIMENT = Experiment.parse(
    {
        "antenna": {
            "family": "shaped_lens",
            "feed": {"inner_radius": "3.6 mm", "outer_radius": "4.0 mm", "length": "20 mm"},
            "lens": {"permittivity": 2.53, "radii": {"count": 8, "min": "8 mm", "max": "20 mm"}},
        },
        "solver": {"frequencies": ["30 GHz"]},
        "evolution": {"population": 24, "generations": 12, "stop": {"evaluations": 5}},
        "objective": [{"metric": "directivity_dbi", "at_least": 30.0}],
    }
)


def bowl(family, designs, plan, *, backend, fields=False):
    misses = [
        sum((1e3 * design[f"lens.radii.{place}"] - 12.0 - place) ** 2 for place in range(8)) for design in designs
    ]
    return [
        {"status": "ok", "error": None, "seconds": 0.0, "frequency_hz": [30e9], "directivity_dbi": [30.0 - miss / 20.0]}
        for miss in misses
    ]


def test_ga_wins_and_both_have_the_same_budget():
    with SerialFarm(bowl, family="shaped_lens", plan={}) as farm:
        rows = bench_search(EXPERIMENT, seeds=range(1, 11), farm=farm)
    assert [row["seed"] for row in rows] == list(range(1, 11))
    assert rows[-1]["wins"] >= 9
    for row in rows:
        assert row["ga_evaluations"] <= row["random_evaluations"] == 24 + 11 * 22
        assert row["ga_wins"] == (row["ga_best_fitness"] < row["random_best_fitness"])
    json.dumps(rows)


def test_a_problem_without_solutions_is_told():
    def broken(family, designs, plan, *, backend, fields=False):
        return [{"status": "infeasible", "error": "no"} for _ in designs]

    with SerialFarm(broken, family="shaped_lens", plan={}) as farm, pytest.raises(TooManyFailuresError, match="no"):
        bench_search(EXPERIMENT, seeds=[1], farm=farm)
