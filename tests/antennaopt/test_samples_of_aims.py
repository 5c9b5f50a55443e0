"""Fitness over samples, its bounds, and the schedule: by hand, and for random samples."""

import random

import pytest

from antennaopt.search.robust import Aim, kept, moved, next_count, settled

KINDS = [("yield", None), ("mean", None), ("worst", None), ("quantile", 0.9), ("quantile", 0.5)]
SAMPLES = [(0.0, True), (4.0, False), (1.0, False), (0.0, True)]


@pytest.mark.parametrize(
    ("kind", "quantile", "expected"),
    [
        ("yield", None, 50.0 + 100.0 * 1.25 / 201.25 / 4),
        ("mean", None, 1.25),
        ("worst", None, 4.0),
        ("quantile", 0.75, 1.0),
        ("quantile", 0.76, 4.0),
        ("quantile", 0.1, 0.0),
        ("quantile", 1.0, 4.0),
    ],
)
def test_fitness_of_each_aim(kind, quantile, expected):
    assert Aim(kind, 4, quantile).value(SAMPLES) == pytest.approx(expected, rel=1e-12)


def test_a_quantile_counts_exactly():
    """0.9 of 20 samples are 18, whatever 0.9 is in binary."""
    each = [(float(place), False) for place in range(20)]
    assert Aim("quantile", 20, 0.9).value(each) == 17.0
    assert Aim("quantile", 20, 0.7).value(each) == 13.0


def test_yield_ranks_by_misses_and_then_by_how_much_is_missed():
    aim = Aim("yield", 4)
    far, near = [(150.0, False)] * 4, [(0.1, False)] * 4
    one_far = [(0.0, True)] * 3 + [(600.0, False)]
    two_near = [(0.0, True)] * 2 + [(1e-6, False)] * 2
    ordered = [[(0.0, True)] * 4, one_far, two_near, near, far]
    values = [aim.value(one) for one in ordered]
    assert values == sorted(values)
    assert len({*values}) == 5
    assert values[0] == 0.0


@pytest.mark.parametrize(("kind", "quantile"), KINDS)
def test_bounds_hold_whatever_the_rest_comes_to(kind, quantile):
    drawn, aim = random.Random(1), Aim(kind, 12, quantile)
    for _ in range(200):
        samples = [(0.0, True) if drawn.random() < 0.4 else (drawn.choice([0.3, 7.0, 800.0]), False) for _ in range(12)]
        final = aim.value(samples)
        for count in range(1, 13):
            least, most = aim.least(samples[:count]), aim.most(samples[:count])
            assert least - 1e-12 <= final <= most + 1e-12
        assert least == most == final
        lost = aim.least(samples[:10], 2), aim.most(samples[:10], 2)
        assert lost == (aim.value(samples[:10]),) * 2


def test_yield_begins_with_designs_that_meet_all_goals_and_others_with_the_better_half():
    designs = [(0.0, True), (3.0, False), (0.0, True), (1.0, False), (9.0, False)]
    assert [Aim(kind, 20, quantile).beginners(designs) for kind, quantile in KINDS] == [2, 3, 3, 3, 3]


def test_rounds_double_and_small_ones_are_joined():
    counts = [0]
    while counts[-1] < 20:
        counts.append(next_count(counts[-1], 20, 100, 100))
    assert counts == [0, 2, 4, 8, 16, 20]
    assert next_count(0, 20, 2, 100) == 20
    assert next_count(0, 20, 30, 100) == 4
    assert next_count(4, 20, 20, 100) == 16
    assert [next_count(0, total, 100, 1) for total in (1, 2, 3)] == [1, 2, 2]


def test_the_best_go_on_and_those_with_a_settled_place_do_not():
    values = {"a": 1.0, "b": 2.0, "c": 2.0, "d": 9.0}
    open_bounds = dict.fromkeys(values, (0.0, 100.0))
    assert kept(values, open_bounds, 2, 1, ties=False) == ["a", "b"]
    assert kept(values, open_bounds, 2, 1, ties=True) == ["a", "b", "c"]
    assert kept(values, open_bounds, 1, 3, ties=False) == ["a", "b", "c"]
    bounds = {"a": (0.0, 1.5), "b": (1.0, 9.0), "c": (1.6, 9.0), "d": (3.0, 9.0)}
    assert kept(values, bounds, 4, 1, ties=False) == ["a", "b"]
    assert kept(values, bounds, 4, 2, ties=False) == ["a", "b", "c", "d"]
    assert kept({}, {}, 0, 2, ties=True) == []


def test_who_stopped_stays_behind_the_better_half_and_in_order():
    went_on = [(1.0, 30.0), (2.0, 40.0), (2.0, 99.0), (1.5, 95.0)]
    found = [settled(value, 0.0, moved(went_on, 100.0), 100.0) for value in (2.0, 3.0, 50.0, 99.9)]
    assert found[0] == 40.0
    assert found == sorted(found)
    assert len({*found}) == 4
    assert found[-1] < 100.0
    assert settled(3.0, 0.0, moved([(2.0, 1.0)], 100.0), 100.0) == 3.0
    assert settled(3.0, 7.0, moved([(2.0, 1.0)], 100.0), 100.0) == 7.0
    assert settled(100.0, 0.0, moved(went_on, 100.0), 100.0) == 100.0
