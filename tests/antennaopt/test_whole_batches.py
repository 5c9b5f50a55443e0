"""What is computed of a whole batch is what is computed of each of its antennas alone, to the bit."""

import math

import pytest
from test_rows_of_batches import FREQUENCIES, outcome, sent

from antennaopt.metrics import METRICS
from antennaopt.search.objectives import Objective, build, shortfalls
from antennaopt.solve.certificate import BALANCE_TOLERANCE, CONTOUR_TOLERANCE, DECAY_DB, MOST_REFLECTED, certify, passes
from antennaopt.solve.outcome import Outcome

NAN, INF = float("nan"), float("inf")


def alone(one):
    """Return the same outcome as if it had come in no message."""
    return Outcome(**vars(one))


def with_metrics(seed, **changes):
    return outcome(seed, metrics={**outcome(seed).metrics, **changes})


BATCH = [
    *(outcome(seed) for seed in range(5)),
    with_metrics(5, directivity_dbi=[NAN, 25.0, 25.0], s11_db=[-0.0, -30.0, -30.0]),
    with_metrics(6, directivity_dbi=[INF, -INF, 19.0], s11_db=[INF, INF, INF]),
    with_metrics(7, directivity_dbi=[20.0, 20.0, 20.0], s11_db=[0.0, -20.0, -INF]),
    with_metrics(8, directivity_dbi=[1e308, -1e308, 0.0]),
    outcome(9, status="undecayed"),
]
GOALS = {
    "at least": Objective(metric="directivity_dbi", at_least=20.0),
    "at most": Objective(metric="s11_db", at_most=0.0),
    "both": Objective(metric="directivity_dbi", at_least=-1e308, at_most=20.5),
    "neither": Objective(metric="directivity_dbi"),
    "at some frequencies": Objective(metric="directivity_dbi", at_least=20.0, frequencies=(30e9, 31e9)),
    "a ratio": build([{"metric": "hpbw_e_deg", "at_most": 12.0}])[0],
    "an aim": Objective(metric="s11_db", aim="least"),
}


@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
def test_shortfalls_are_those_of_each_antenna(goal):
    """NaN, infinities, -0.0 and statuses other than `ok` included; two goals at once, in both orders."""
    other = Objective(metric="gain_dbi", at_least=0.5)
    for goals in ((goal,), (goal, other), (other, goal)):
        for one in sent(BATCH).values():
            assert repr(shortfalls(one, goals)) == repr(shortfalls(alone(one), goals))


def test_a_metric_that_one_of_the_batch_lacks_is_looked_at_antenna_by_antenna():
    goals = build([{"metric": "sidelobe_db", "at_most": -20.0}])
    batch = [outcome(1), with_metrics(2, sidelobe_db=[None, -10.0, -25.0])]
    for one in sent(batch).values():
        assert shortfalls(one, goals) == shortfalls(alone(one), goals)


def test_a_changed_antenna_is_not_taken_for_that_of_the_batch():
    goals = (GOALS["at least"],)
    first, second = sent([outcome(1), outcome(2)]).values()
    assert shortfalls(first, goals)
    changed = second.changed(metrics={**second.metrics, "directivity_dbi": [21.0, 22.0, 23.0]})
    assert shortfalls(changed, goals) == [0.0]
    (sound,) = sent([sound_antenna(1)]).values()
    assert passes(sound) and not passes(sound.changed(s11=[[2.0, 0.0]] * 3))


def sound_antenna(seed, **changes):
    """Passes all checks unless something is changed; values of metrics go to the metrics."""
    ones = {"contour_balance": [1.0, 0.999, 1.001], "power_balance": [1.0, 1.01, 0.99]}
    metrics = {**outcome(seed).metrics, **ones, **{key: changes.pop(key) for key in list(changes) if key in METRICS}}
    return outcome(seed, decay_db=-60.0, s11=[[0.1, -0.2]] * 3, metrics=metrics).changed(**changes)


UNMEASURED = {"power_balance": [None] * 3}
LIMIT = [MOST_REFLECTED, 0.0]
ANTENNAS = {
    "sound": {},
    "at the limit of reflection": {"s11": [LIMIT, [0.0, MOST_REFLECTED], [0.0, 0.0]]},
    "beyond it": {"s11": [[0.0, 0.0], [math.nextafter(MOST_REFLECTED, 2.0), 0.0], [0.0, 0.0]]},
    "reflection is not a number": {"s11": [[NAN, 0.0], [0.0, 0.0], [0.0, 0.0]]},
    "contour at its limit": {"contour_balance": [1.0 - CONTOUR_TOLERANCE, 1.0, 1.0 + CONTOUR_TOLERANCE]},
    "contour off": {"contour_balance": [1.0, 1.0, 1.02]},
    "contour is not a number": {"contour_balance": [1.0, NAN, 1.0]},
    "balance at its limit": {"power_balance": [1.0 - BALANCE_TOLERANCE, 1.0, 1.0 + BALANCE_TOLERANCE]},
    "balance off": {"power_balance": [1.0, 0.97, 1.0]},
    "decay at its limit": {"decay_db": DECAY_DB},
    "not decayed": {"decay_db": math.nextafter(DECAY_DB, 0.0)},
}


@pytest.mark.parametrize("measured", [True, False], ids=["balance measured", "balance not measured"])
@pytest.mark.parametrize("radius", [None, 3.6e-3, 9e-3])
def test_certificates_are_those_of_each_antenna(measured, radius):
    batch = [sound_antenna(1, **{**changes, **({} if measured else UNMEASURED)}) for changes in ANTENNAS.values()]
    mixed = [batch, [*batch[:2], sound_antenna(2, power_balance=[None, 1.0, 1.0])]]
    seen = set()
    for one in (one for each in mixed for one in sent(each).values()):
        trusted = certify(one, feed_radius=radius)["verdict"] == "trusted"
        assert passes(one, radius) == passes(alone(one), radius) == trusted
        seen.add(trusted)
    assert seen == ({False} if radius == 9e-3 else {True, False})
    assert list(one.frequency_hz) == FREQUENCIES
