"""Cache entries with a right check sum and wrong content: nothing found, nothing raised, dropped and counted."""

import copy
import json
import math
import sqlite3

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from run_examples import COLUMNS, row, solved
from test_results_cache import digest, entry, outcome, same

from antennaopt.cli import main
from antennaopt.farm.replies import pack_outcomes, unpack_outcomes
from antennaopt.solve.outcome import fault_of
from antennaopt.store import cache as module
from antennaopt.store.cache import EvaluationCache, _check_sum
from antennaopt.store.packing import packed, unpacked
from antennaopt.store.rows import pattern_table
from antennaopt.store.schema import patterns_schema

INFEASIBLE = {"status": "infeasible", "error": "no aperture", "seconds": 0.0, "stepping_seconds": 0.0, "steps": 0}


def changed(**changes):
    return outcome(1) | changes


def lacking(name):
    return {key: value for key, value in outcome(1).items() if key != name}


MALFORMED = {
    "no status": lacking("status"),
    "status of the farm": changed(status="lost"),
    "status of a worker": changed(status="known"),
    "status that is a list": changed(status=["ok"]),
    "status that is none": changed(status=None),
    "no frequencies": lacking("frequency_hz"),
    "frequencies that are one number": changed(frequency_hz=30e9),
    "a frequency that is not a number": changed(frequency_hz=[28.5e9, math.nan]),
    "an infinite frequency": changed(frequency_hz=[28.5e9, math.inf]),
    "one frequency twice": changed(frequency_hz=[30e9, 30e9]),
    "other frequencies": changed(frequency_hz=[28.5e9, 29e9]),
    "more frequencies": changed(frequency_hz=[28.5e9, 30e9, 31.5e9]),
    "no metric": lacking("gain_dbi"),
    "no S11": lacking("s11"),
    "a metric that is null": changed(gain_dbi=None),
    "a metric that is text": changed(gain_dbi=["18.0", "18.5"]),
    "a metric of lists": changed(gain_dbi=[[18.0], [18.5]]),
    "a metric that is a table": changed(gain_dbi={"0": 18.0}),
    "a metric for one frequency": changed(gain_dbi=[18.0]),
    "a metric that is true": changed(gain_dbi=[True, 18.0]),
    "a huge metric": changed(gain_dbi=[10**400, 18.0]),
    "S11 without imaginary parts": changed(s11=[0.1, 0.3]),
    "S11 of three": changed(s11=[[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]),
    "S11 of text": changed(s11=[["0.1", "0.2"], [0.1, 0.2]]),
    "huge steps": changed(steps=10**30),
    "negative steps": changed(steps=-1),
    "steps that are text": changed(steps="6000"),
    "steps with a fraction": changed(steps=6000.5),
    "seconds that are not a number": changed(seconds=math.nan),
    "infinite seconds": changed(seconds=math.inf),
    "an error that is a number": changed(error=7),
    "an error that is no Unicode": changed(error="\ud800"),
    "a decay that is a list": changed(decay_db=[-61.0]),
    "another key": changed(identity={"digest": "00"}),
    "no angles": lacking("theta_deg"),
    "no cut": lacking("h_plane"),
    "cuts for other angles": changed(theta_deg=np.array([0.0, 90.0], dtype=np.float32)),
    "a longer cut": changed(e_plane=np.zeros((2, 4), dtype=np.complex64)),
    "cuts for one frequency": changed(e_plane=np.zeros((1, 3), dtype=np.complex64)),
    "a flat cut": changed(e_plane=np.zeros(6, dtype=np.complex64)),
    "a cut that is not complex": changed(e_plane=np.zeros((2, 3), dtype=np.float32)),
    "levels in place of cuts": lacking("e_plane") | {"e_plane_dbi": [[18.0, -5.0, -20.0], [18.5, -5.5, -20.5]]},
    "an angle that is not a number": changed(theta_deg=np.array([0.0, math.nan, 180.0], dtype=np.float32)),
    "angles that are text": changed(theta_deg=["a", "b", "c"]),
    "infeasible with a metric that is text": INFEASIBLE | {"gain_dbi": "none", "frequency_hz": [28.5e9, 30e9]},
}
BYTES = {
    "no JSON": b"{\n",
    "nothing": b"",
    "null": b"null\n",
    "a number": b"7\n",
    "a table": b'{"status": "ok"}\n',
    "a list of lists": b"[[],[],[],[]]\n",
    "three entries": b'[[],{"status":"infeasible"},[]]\n',
    "no table inside": b"[[],[],[],[]]\n",
    "keys that are tables": b'[[{}],{"status":"infeasible"},[],[]]\n',
    "a key that is not there": b'[["status","steps"],{"status":"infeasible"},[],[]]\n',
    "a key too many": b'[["status"],{"status":"infeasible","steps":0},[],[]]\n',
    "a negative count": b'[["status","gain_dbi"],{"status":"infeasible"},[["gain_dbi",-1]],[]]\n' + bytes(16),
    "a count that is text": b'[["status","gain_dbi"],{"status":"infeasible"},[["gain_dbi","2"]],[]]\n' + bytes(16),
    "a huge count": b'[["status","gain_dbi"],{"status":"infeasible"},[["gain_dbi",1000000000000000]],[]]\n',
    "a shape that is a number": b'[["status","theta_deg"],{"status":"infeasible"},[],[["theta_deg",3,"<f4"]]]\n'
    + bytes(12),
    "numbers of no kind": b'[["status","e_plane"],{"status":"infeasible"},[],[["e_plane",[1],"|O8"]]]\n' + bytes(8),
    "bytes left over": b'[["status"],{"status":"infeasible"},[],[]]\n' + bytes(8),
    "nested too deep": b"[" * 100_000,
    "a number of 5,000 digits": b"[[" + b"9" * 5000 + b"],{},[],[]]\n",
    "no UTF-8": b'[["status"],{"status":"\xff"},[],[]]\n',
}


def put(folder, blob, number=1):
    """Write an entry with a right check sum, whatever it holds."""
    with EvaluationCache(folder) as cache:
        cache.add([entry(number)])
        values = (blob, _check_sum(digest(number), blob), digest(number))
        cache._connection.execute("UPDATE entries SET outcome = ?, check_sum = ? WHERE digest = ?", values)


@pytest.mark.parametrize("blob", [*map(packed, MALFORMED.values()), *BYTES.values()], ids=[*MALFORMED, *BYTES])
def test_an_entry_that_no_solver_wrote_is_dropped_and_counted(tmp_path, blob):
    put(tmp_path, blob)
    frequencies = outcome(1)["frequency_hz"]
    with EvaluationCache(tmp_path) as cache:
        cache.add([entry(2)])
        assert list(cache.find([digest(1), digest(2)], frequencies)) == [digest(2)]
        assert (cache.damaged, cache.dropped, cache.fault) == (1, 1, "")
        assert len(cache.warnings) == 1 and "dropped" in cache.warnings[0]
        assert cache.find([digest(1)], frequencies) == {}
        assert cache.damaged == 1, "it is gone"
    with EvaluationCache(tmp_path) as cache:
        assert (cache.damaged, cache.dropped, sum(one["entries"] for one in cache.totals())) == (0, 1, 1)


def test_an_outcome_of_a_batch_is_packed_as_it_would_be_alone():
    sent = [outcome(number) | {"gain_dbi": [float(number), 2.0], "hpbw_e_deg": [None, 7.0]} for number in range(3)]
    batch = unpack_outcomes(pack_outcomes(sent), worker="0", attempt=1)
    assert all(one.metrics.columns is one.sent[0].metrics and one.metrics.others for one in batch)
    for one in (*batch, batch[1].without("worker"), batch[2].changed(steps=7)):
        assert packed(one) == packed(dict(one.items()))
        same(unpacked(packed(one)), dict(one.items()))


@pytest.mark.parametrize("number", range(3))
def test_what_solvers_return_is_found(tmp_path, number):
    """All statuses, and what is not finite where a row may hold that."""
    kinds = [
        INFEASIBLE | {"cells": 5, "device": "cpu", "worker": "0", "attempt": 1},
        changed(directivity_dbi=[-math.inf, math.nan], decay_db=math.nan, status="undecayed", error="still ringing é"),
        {"status": "diverged", "error": "grew", "seconds": 1.0, "steps": 400, "frequency_hz": [28.5e9, 30e9]},
    ]
    put(tmp_path, packed(kinds[number]))
    with EvaluationCache(tmp_path) as cache:
        (found,) = cache.find([digest(1)], [28.5e9, 30e9]).values()
        assert cache.damaged == 0
    assert found.keys() == kinds[number].keys()


def test_names_of_designs_with_wrong_content_are_dropped_too(tmp_path):
    with EvaluationCache(tmp_path) as cache:
        cache.add([entry(1)], [(digest(9001), digest(1))])
        wrong = [(digest(9002), "text", b""), (digest(9003), b"short", _check_sum(digest(9003), b"short"))]
        cache._connection.executemany("INSERT INTO designs VALUES (?, ?, ?)", wrong)
        assert cache.digests_of([digest(n) for n in range(9000, 9010)]) == {digest(9001): digest(1)}
        assert (cache.damaged, cache.dropped) == (2, 2)


def test_an_entry_that_another_process_has_replaced_stays(tmp_path, monkeypatch):
    put(tmp_path, b"null\n")
    decoded = module._decoded

    def replaced_meanwhile(*given):
        with EvaluationCache(tmp_path) as other:
            other.add([entry(1)])
        return decoded(*given)

    with EvaluationCache(tmp_path) as cache:
        monkeypatch.setattr(module, "_decoded", replaced_meanwhile)
        assert cache.find([digest(1)]) == {}
        monkeypatch.undo()
        assert cache.find([digest(1)])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from([10**400, "ok", 3]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    """Paths of everything in a JSON value."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from places(one, (*path, key))


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutated_entries_are_outcomes_that_rows_and_patterns_can_be_made_of_or_nothing(tmp_path_factory, data):
    """Anything put anywhere into a real entry, its key, its numbers, its arrays' shapes; bytes added or taken away."""
    head, _, rest = packed(outcome(1)).partition(b"\n")
    made = json.loads(head)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(made))[1:]))
        parent = made
        for key in path[:-1]:
            parent = parent[key]
        if data.draw(st.booleans()) and isinstance(parent, dict):
            parent[data.draw(st.text(max_size=4))] = parent.pop(path[-1])
        else:
            parent[path[-1]] = data.draw(JSON)
    rest = data.draw(st.sampled_from([rest, rest[:-4], rest + bytes(8), bytes(len(rest)), b"\xff" * len(rest)]))
    folder = tmp_path_factory.mktemp("cache")
    put(folder, json.dumps(made).encode() + b"\n" + rest)
    with EvaluationCache(folder) as cache:
        found = cache.find([digest(1)], outcome(1)["frequency_hz"])
        assert cache.damaged == 1 - len(found)
        assert cache.fault == ""
    for one in found.values():
        assert fault_of(one, solved=True) is None
        pa.Table.from_pylist([row(outcome=one)], COLUMNS.evals_schema())
        pattern_table("r", {"g0000-s000": one}, patterns_schema())


def test_what_a_checkpoint_holds_is_judged_by_the_same(tmp_path):
    """Lists in place of arrays, the farm's statuses, keys of another evaluation function."""
    assert fault_of(solved()) is None
    assert fault_of({"status": "timeout", "error": "took longer", "attempt": 2, "worker": "0"}) is None
    assert fault_of(solved(other=7)) is None
    assert fault_of(solved(other=7), solved=True) == "it has 'other', which no outcome has"
    assert fault_of(solved(status="known")) == "its status is 'known'"
    assert fault_of([]) == "it is not a table"
    short = copy.deepcopy(solved())
    short["gain_dbi"].pop()
    assert fault_of(short) == "its gain_dbi has not one value a frequency"


def test_a_column_of_another_type_is_no_traceback(tmp_path, capsys):
    """Times that are text or far away, and a solver's name that is a number."""
    put(tmp_path, b"null\n")
    path = tmp_path / module.FILE
    for used in ("soon", 1e300, math.inf, -1e300):
        with sqlite3.connect(path) as raw:
            raw.execute("UPDATE entries SET used = ?", (used,))
            raw.execute("UPDATE contexts SET solver = 7")
        assert main(["cache", "--cache", str(tmp_path)]) == 0
        assert "1 antennas" in capsys.readouterr().out
    with EvaluationCache(tmp_path) as cache:
        cache.find([digest(1)])
    assert main(["cache", "--cache", str(tmp_path)]) == 0
    assert "dropped 1 damaged entries so far" in capsys.readouterr().out
    assert main(["cache", "--cache", str(tmp_path), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["dropped"] == 1
