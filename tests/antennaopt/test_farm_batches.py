"""Which batches are tried again, and the farm without workers: no Dask in here."""

import math

import farm_solvers
import numpy as np
import pytest
from farm_solvers import jobs
from hypothesis import given
from hypothesis import strategies as st

from antennaopt.farm.batches import Batch, Queue, cut
from antennaopt.farm.farm import SerialFarm
from antennaopt.farm.replies import pack_outcomes, unpack_outcomes
from antennaopt.solve.outcome import Outcome


def serial(evaluate=farm_solvers.solve, **plan):
    return SerialFarm(evaluate, family="test", plan=plan)


@given(st.integers(0, 500), st.integers(1, 64), st.one_of(st.just("auto"), st.integers(1, 100)))
def test_cut_keeps_everyone_in_order(count, workers, size):
    batches = cut(jobs(count), workers, size)
    assert [job for batch in batches for job in batch] == jobs(count)
    assert all(1 <= len(batch) <= (64 if size == "auto" else size) for batch in batches)


@pytest.mark.parametrize(("count", "workers"), [(22, 2), (2112, 2), (100, 3), (64, 2)])
def test_cut_gives_one_worker_as_many_batches_as_another(count, workers):
    """22 antennas in batches of two are eleven, six for one of two workers: the other was idle for 8 % of the time."""
    sizes = [len(batch) for batch in cut(jobs(count), workers)]
    assert len(sizes) % workers == 0
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) <= 64


def test_cut_leaves_four_rounds_a_worker():
    assert {len(batch) for batch in cut(jobs(64), 2)} == {8}
    assert {len(batch) for batch in cut(jobs(3), 2)} == {1}


@pytest.mark.parametrize(("kind", "attempts"), [("error", 2), ("timeout", 2), ("lost", 3)])
def test_a_single_is_given_up_after_its_attempts(kind, attempts):
    batch = Batch(jobs=tuple(jobs(1)))
    for _ in range(attempts - 1):
        (batch,) = batch.after_failure(kind)
    assert batch.after_failure(kind) == []
    assert batch.failed_outcome(kind, "why") == {"status": kind, "error": "why", "attempt": attempts}


def test_a_failed_batch_is_halved_and_its_solo_attempts_start_afresh():
    halves = Batch(jobs=tuple(jobs(5))).after_failure("lost")
    assert [half.keys for half in halves] == [("i0", "i1"), ("i2", "i3", "i4")]
    assert {(half.attempt, half.solo_failures) for half in halves} == {(2, 0)}


def test_what_failed_goes_first():
    queue = Queue()
    queue.add([jobs(1), [], jobs(2)])
    assert len(queue) == 2
    failed = Batch(jobs=tuple(jobs(4))).after_failure("error")
    queue.put_back(failed)
    assert [queue.next() for _ in range(2)] == failed


def test_serial_gives_plain_annotated_outcomes():
    with serial() as farm:
        outcomes = dict(farm.run(farm.cut(jobs(9))))
    assert {key: outcome.decay_db for key, outcome in outcomes.items()} == {f"i{n}": 2.0 * n for n in range(9)}
    one = outcomes["i4"]
    assert type(one.decay_db) is float
    assert one.theta_deg.tolist() == [0.0, 1.0, 2.0]
    assert (one.worker, one.device, one.attempt) == ("driver", "cpu", 1)
    assert one.batch_seconds >= 0.0


def test_serial_exception_costs_one_individual():
    outcomes = dict(serial(raise_at=3.0).run([jobs(8)]))
    assert [key for key, outcome in outcomes.items() if outcome["status"] != "ok"] == ["i3"]
    assert outcomes["i3"]["status"] == "error"
    assert "no antenna at 3.0" in outcomes["i3"]["error"]


def test_serial_exception_that_passes_costs_nothing(tmp_path):
    outcomes = dict(serial(raise_once_at=0.0, marker=str(tmp_path / "marker")).run([jobs(1)]))
    assert (outcomes["i0"]["status"], outcomes["i0"]["attempt"]) == ("ok", 2)


@pytest.mark.parametrize(
    ("evaluate", "said"), [(farm_solvers.too_few, "0 outcomes for 1"), (farm_solvers.odd_type, "not object")]
)
def test_serial_bad_reply_is_an_error(evaluate, said):
    outcomes = dict(serial(evaluate).run([jobs(2)]))
    assert {outcome["status"] for outcome in outcomes.values()} == {"error"}
    assert all(said in outcome["error"] for outcome in outcomes.values())


def test_serial_drain_begins_nothing_more():
    farm = serial()
    seen = []
    for key, _ in farm.run([[job] for job in jobs(5)]):
        seen.append(key)
        if len(seen) == 2:
            farm.drain()
    assert seen == ["i0", "i1"]
    assert len(dict(farm.run([jobs(3)]))) == 3, "a new run is not drained, and nothing is left of the old one"


def test_serial_takes_more_work_while_it_is_read():
    farm = serial()
    farm.submit([jobs(1)])
    keys = []
    for key, _ in farm.completed():
        keys.append(key)
        if len(keys) < 4:
            farm.submit([[(f"more{len(keys)}", {"x": 1.0})]])
    assert keys == ["i0", "more1", "more2", "more3"]


def mixed_batch():
    """Outcomes as they come together in a batch: two that were solved, one refused, one on other frequencies."""
    cuts = {"theta_deg": [0.0, 1.0], "e_plane": [[1.0, 0.1j], [2.0, -0.0]], "h_plane": np.ones((2, 2, 2))}
    solved = {"status": "ok", "frequency_hz": [1e9, 2e9], "steps": np.int64(7), "s11": [(0.1, -0.0), (0.3, 1e-300)]}
    return [
        {**solved, "directivity_dbi": [1.0, np.float64(2.0)], "hpbw_e_deg": [None, math.nan], **cuts},
        {"status": "infeasible", "error": "too thin", "seconds": 0.0},
        {**solved, "directivity_dbi": [3.0, math.inf], "hpbw_e_deg": [20.0, 30.0], **cuts, "origin": "cells"},
        {"status": "ok", "frequency_hz": [3e9], "directivity_dbi": [4.0], "identity": {"digest": "00"}},
    ]


def test_outcomes_cross_to_the_driver_as_they_were():
    """Numbers to the bit, None and NaN apart, and what one outcome lacks is absent in it alone. Cuts are rounded."""
    sent = mixed_batch()
    received = unpack_outcomes(pack_outcomes(sent), worker="w1", attempt=2)
    for before, after in zip(sent, received, strict=True):
        assert after.to_dict().keys() == {*before, "error", "worker", "attempt"}
        assert (after.worker, after.attempt, after.status) == ("w1", 2, before["status"])
    for at in (0, 2, 3):
        for key, values in sent[at].items():
            if key in ("directivity_dbi", "hpbw_e_deg"):
                assert repr(list(received[at].metrics[key])) == repr([None if v is None else float(v) for v in values])
    assert repr(received[0].s11) == "[[0.1, -0.0], [0.3, 1e-300]]"
    assert (received[0].e_plane.dtype, received[2].theta_deg.dtype) == (np.complex64, np.float32)
    assert received[0].e_plane.tolist() == np.complex64([[1.0, 0.1j], [2.0, -0.0]]).tolist()
    assert received[2].h_plane.tolist() == [[1 + 1j, 1 + 1j], [1 + 1j, 1 + 1j]]
    assert (received[2].origin, received[0].origin, received[3].identity) == ("cells", None, {"digest": "00"})
    assert (type(received[0].steps), received[1].error) == (int, "too thin")


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"status": "ok", "sweep": {"s11": 1j}}, "not complex"),
        ({"status": "ok", "steps": 2**70}, "not a whole number beyond 64 bits"),
        ({"status": "ok", "what": 1.0}, "'what', which no outcome has"),
        ({"seconds": 1.0}, "no status"),
    ],
)
def test_what_is_no_outcome_does_not_leave_the_worker(odd, message):
    with pytest.raises((TypeError, ValueError), match=message):
        pack_outcomes([odd])


def test_the_farm_s_account_counts_and_arrays_become_plain():
    """An evaluation function of one's own may name a worker, and return arrays anywhere and keys that are no text."""
    sent = {"status": "ok", "worker": "mine", "frequency_hz": np.array([1e9, 2e9]), "s11": np.zeros((2, 2))}
    both = unpack_outcomes(pack_outcomes([sent, {"status": "ok", "sweep": {1: 2.0}}]), worker="w1", attempt=1)
    assert [(one.worker, one.attempt) for one in both] == [("w1", 1), ("w1", 1)]
    assert (both[0].s11, both[0].frequency_hz, both[1].sweep) == ([[0.0, 0.0], [0.0, 0.0]], [1e9, 2e9], {1: 2.0})


def test_a_copy_of_an_outcome_has_its_own_results():
    one = Outcome.of(mixed_batch()[0])
    assert [entry.directivity_dbi for entry in one.results] == [1.0, 2.0]
    other = one.changed(metrics={"directivity_dbi": [5.0, 6.0]})
    assert [entry.directivity_dbi for entry in other.results] == [5.0, 6.0]
    with pytest.raises(TypeError, match="no attribute 'colour'"):
        one.changed(colour="red")
