"""Shortfalls in dB and the fitness made of them."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antennaopt.errors import ConfigurationError
from antennaopt.search.objectives import WORST_SHORTFALL_DB, Ranking, build, shortfalls

OUTCOME = {
    "status": "ok",
    "frequency_hz": [28.5e9, 30e9, 31.5e9],
    "directivity_dbi": [17.0, 18.5, 19.0],
    "s11_db": [-16.0, -9.0, -20.0],
    "sidelobe_db": [-25.0, None, -18.0],
    "front_to_back_db": [20.0, 22.0, 25.0],
    "radiation_efficiency": [0.5, 0.9, 0.9],
    "hpbw_e_deg": [20.0, None, 20.0],
}


def one(**table):
    return shortfalls(OUTCOME, build([table]))[0]


def test_worst_frequency_counts():
    assert one(metric="directivity_dbi", at_least=18.0) == pytest.approx(1.0)
    assert one(metric="s11_db", at_most=-15.0) == pytest.approx(6.0)


def test_only_the_frequencies_asked_for_count():
    assert one(metric="s11_db", at_most=-15.0, frequencies=[28.5e9, 31.5e9]) == 0.0


def test_a_frequency_that_was_not_solved_is_named():
    with pytest.raises(ValueError, match="29 GHz"):
        one(metric="s11_db", at_most=-15.0, frequencies=[29e9])


def test_no_side_lobe_is_the_best_value_of_an_aim():
    """Documented: -200 dB. A worse one at another frequency counts."""
    assert one(metric="sidelobe_db", aim="least", frequencies=[30e9]) == -WORST_SHORTFALL_DB
    assert one(metric="sidelobe_db", aim="least") == -18.0


def test_no_side_lobe_meets_the_goal_but_an_undefined_beamwidth_does_not():
    assert one(metric="sidelobe_db", at_most=-20.0, frequencies=[30e9]) == 0.0
    assert one(metric="sidelobe_db", at_most=-20.0) == pytest.approx(2.0)
    assert one(metric="hpbw_e_deg", at_most=25.0) == WORST_SHORTFALL_DB


@pytest.mark.parametrize("goal", ["at_least", "at_most"])
def test_a_metric_that_is_not_a_number_is_the_worst_there_is(goal):
    objectives = build([{"metric": "s11_db", goal: -10.0}])
    assert shortfalls({"status": "ok", "frequency_hz": [30e9], "s11_db": [math.nan]}, objectives) == [
        WORST_SHORTFALL_DB
    ]


def test_ratios_fall_short_in_db():
    assert one(metric="radiation_efficiency", at_least=1.0) == pytest.approx(10 * math.log10(2))


def test_both_sides_of_a_range():
    assert one(metric="directivity_dbi", at_least=17.5, at_most=18.0) == pytest.approx(1.0)


def test_fitness_is_the_weighted_sum():
    objectives = build(
        [
            {"metric": "directivity_dbi", "at_least": 18.0, "weight": 2.0},
            {"metric": "s11_db", "at_most": -15.0, "weight": 0.5},
        ]
    )
    assert Ranking.of(objectives).fitness("ok", shortfalls(OUTCOME, objectives)) == pytest.approx(2.0 * 1.0 + 0.5 * 6.0)


def test_an_unknown_metric_names_the_nearest():
    with pytest.raises(ConfigurationError, match="directivity_dbi"):
        build([{"metric": "directivity", "at_least": 18.0}])


numbers = st.none() | st.floats(allow_nan=True, allow_infinity=True)


@settings(max_examples=500)
@given(
    values=st.lists(numbers, min_size=1, max_size=3),
    metric=st.sampled_from(["directivity_dbi", "sidelobe_db", "radiation_efficiency", "hpbw_e_deg"]),
    goal=st.floats(-40, 40),
    weight=st.floats(1e-3, 1e3),
    status=st.sampled_from(["undecayed", "infeasible", "diverged", "timeout", "lost", "error"]),
)
def test_every_ok_is_better_than_every_penalty_and_nothing_is_nan(values, metric, goal, weight, status):
    outcome = {"status": "ok", "frequency_hz": [28.5e9, 30e9, 31.5e9][: len(values)], metric: values}
    objectives = build([{"metric": metric, "at_least": goal, "weight": weight}])
    order, failed = Ranking.of(objectives), {"status": status}
    score = order.fitness("ok", shortfalls(outcome, objectives))
    assert math.isfinite(score)
    assert 0.0 <= score < order.fitness(status, shortfalls(failed, objectives)) < math.inf


def test_retried_statuses_rank_as_diverged_does():
    objectives = build([{"metric": "s11_db", "at_most": -10.0}])
    order = Ranking.of(objectives)
    for status in ("timeout", "lost", "error"):
        assert order.fitness(status, ()) == order.fitness("diverged", ())
    assert shortfalls({"status": "diverged"}, objectives) == []
