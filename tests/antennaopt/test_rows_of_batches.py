"""Rows and patterns of outcomes that came in messages: the same bits as of outcomes that did not."""

import numpy as np
import pyarrow as pa
import pytest

from antennaopt.farm.replies import pack_outcomes, unpack_outcomes
from antennaopt.metrics import METRICS
from antennaopt.solve.outcome import Outcome
from antennaopt.store.made import batches_of, metric_values
from antennaopt.store.rows import pattern_table
from antennaopt.store.schema import RunColumns, patterns_schema

FREQUENCIES = [31e9, 28e9, 30e9]  # not in order
ABOUT = {"worker": "w", "attempt": 1, "batch_seconds": 1.0}


def outcome(seed, **changes):
    draw = np.random.default_rng(seed)
    planes = (draw.normal(size=(2, 3, 19)) + 1j * draw.normal(size=(2, 3, 19))).astype(np.complex64)
    values = {
        "status": "ok",
        "frequency_hz": FREQUENCIES,
        "s11": draw.normal(size=(3, 2)).tolist(),
        "metrics": {key: draw.normal(size=3).tolist() for key in METRICS},
        "theta_deg": np.linspace(0.0, 180.0, 19),
        "e_plane": planes[0],
        "h_plane": planes[1],
        "seconds": 1.0,
    }
    return Outcome(**(values | changes))


def undefined(seed):
    """One beam has no width, and one metric is not a number."""
    metrics = dict(outcome(seed).metrics)
    return outcome(seed, metrics=metrics | {"hpbw_e_deg": [None, 1.0, 2.0], "sidelobe_db": [float("nan"), -20.0, 1.0]})


def other_angles(seed):
    theta = np.linspace(0.0, 90.0, 19)
    return outcome(seed, theta_deg=theta)


def sent(*batches):
    """Send batches; return what arrives by individual, in an order other than that of the slots."""
    arrived = [one for batch in batches for one in unpack_outcomes(pack_outcomes(batch), **ABOUT)]
    return {f"g0001-s{(7 * place) % 11:03d}": one for place, one in enumerate(arrived)}


def written(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()


def unmeasured(seed):
    """A metric that is defined at no frequency, as the balance of power in a search."""
    return outcome(seed, metrics=outcome(seed).metrics | {"power_balance": [None] * 3})


CASES = {
    "one batch": [[outcome(1), outcome(2), outcome(3)]],
    "several": [[outcome(1), outcome(2)], [outcome(3)], [outcome(4), outcome(5)]],
    "undefined metrics": [[outcome(1), undefined(2)], [outcome(3)]],
    "a metric of none": [[unmeasured(1), unmeasured(2)], [unmeasured(3)]],
    "a metric of some": [[unmeasured(1), outcome(2)], [unmeasured(3)], [outcome(4)]],
    "one without reflection": [[outcome(1), outcome(2, s11=None)], [outcome(3)]],
    "other angles": [[outcome(1)], [other_angles(2)]],
    "other angles in a batch": [[outcome(1), other_angles(2)]],
    "one that failed": [[outcome(1), Outcome(status="diverged", frequency_hz=FREQUENCIES)], [outcome(2)]],
}


@pytest.mark.parametrize("batches", CASES.values(), ids=CASES)
def test_files_do_not_depend_on_how_outcomes_came(batches):
    """Arrays of whole batches are what is written, or values antenna by antenna: the bytes are equal."""
    arrived = sent(*batches)
    alone = {name: Outcome(**vars(one)) for name, one in arrived.items()}
    assert not batches_of(list(alone.values()))
    found = [written(pattern_table("run", ones, patterns_schema())) for ones in (arrived, alone)]
    assert found[0] == found[1]
    columns = RunColumns.of((), FREQUENCIES, (), feed_radius=None)
    tables = [metric_values(columns, list(ones.values())) for ones in (arrived, alone)]
    assert list(tables[0]) == list(tables[1])
    for name in tables[0]:
        first, second = (pa.array(table[name], pa.float64()) for table in tables)
        assert first.to_pylist().__repr__() == second.to_pylist().__repr__()  # NaN is no None


def test_a_batch_is_known_to_its_outcomes_until_they_change():
    """A changed metric or pattern must not be overwritten by that of the message."""
    first, second = unpack_outcomes(pack_outcomes([outcome(1), outcome(2)]), **ABOUT)
    assert len(batches_of([first, second])) == 1
    assert batches_of([first, second.changed(figures={"a": [1.0, 2.0, 3.0]})])
    changed = second.changed(metrics=dict(second.metrics, directivity_dbi=[1.0, 2.0, 3.0]))
    assert not batches_of([first, changed])
    assert not batches_of([first, second.without("e_plane")])
    columns = RunColumns.of((), FREQUENCIES, (), feed_radius=None)
    table = metric_values(columns, [first, changed])
    assert [table[name][1] for name in columns.metric_columns["directivity_dbi"]] == [1.0, 2.0, 3.0]
