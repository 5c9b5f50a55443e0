"""The one class of outcomes: read as attributes and by key, made of dictionaries at the borders, never changed."""

import dataclasses
import json
import pickle

import numpy as np
import pytest
from run_examples import FREQUENCIES, solved

from antennaopt.metrics import METRICS
from antennaopt.solve.cuts import amplitudes
from antennaopt.solve.outcome import Outcome, fault_of


def test_attributes_and_keys_are_the_same_values():
    plain = solved()
    outcome = Outcome.of(plain)
    assert outcome == plain and dict(outcome) == plain == outcome.to_dict()
    assert (outcome.status, outcome.ok, outcome.steps, outcome.worker) == ("ok", True, 6000, "0")
    assert outcome["gain_dbi"] == outcome.metrics["gain_dbi"] == plain["gain_dbi"]
    assert Outcome.of(outcome) is outcome
    assert json.loads(json.dumps(outcome.to_dict())) == plain


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_cuts_of_a_compact_file_keep_their_bits(kind):
    """A checkpoint inside a generation of 2,112 antennas held their cuts as numbers: 96 MB, written in 7 s."""
    given = Outcome.of(solved()).changed(
        **{key: amplitudes(solved()[key]).astype(kind) for key in ("e_plane", "h_plane")}
    )
    back = Outcome.of(json.loads(json.dumps(given.to_dict(compact=True))))
    for key in ("e_plane", "h_plane"):
        found = amplitudes(getattr(back, key))
        assert found.dtype == kind and np.array_equal(found, getattr(given, key))
    assert back == given
    assert fault_of(back) is None


def test_what_is_not_there_is_none_and_no_key():
    """`error` alone is always a key, as it was in messages."""
    outcome = Outcome(status="lost")
    assert dict(outcome) == {"status": "lost", "error": None} and len(outcome) == 2
    assert outcome.s11 is None and "s11" not in outcome and outcome.get("gain_dbi") is None
    for key in ("s11", "gain_dbi", "metrics", "nonsense"):
        with pytest.raises(KeyError):
            outcome[key]
    assert not outcome.results


def test_a_result_a_frequency_has_its_metrics_as_attributes():
    first, second = Outcome.of(solved()).results
    assert (first.frequency_hz, second.frequency_hz) == FREQUENCIES
    assert (first.sidelobe_db, second.sidelobe_db) == (None, -21.0)
    assert second.gain_dbi == solved()["gain_dbi"][1] and second.s11 == [0.3, 0.4]
    assert second.e_plane_dbi == pytest.approx([18.5, -5.5, -20.5], abs=1e-12)
    assert second.e_plane == solved()["e_plane"][1]
    levels = {"e_plane_dbi": [18.5, -5.5, -20.5], "h_plane_dbi": [18.5, -6.5, -20.5]}
    assert second.to_dict() == {
        "frequency_hz": FREQUENCIES[1], "s11": [0.3, 0.4], **{name: solved()[name][1] for name in METRICS},
        "theta_deg": [0.0, 90.0, 180.0], **{name: solved()[name][1] for name in ("e_plane", "h_plane")},
        **{name: pytest.approx(values, abs=1e-12) for name, values in levels.items()},
    }  # fmt: skip
    with pytest.raises(AttributeError, match="beam_waist_mm"):
        _ = first.beam_waist_mm


def test_it_is_frozen_and_copies_are_made():
    outcome = Outcome.of(solved())
    with pytest.raises(dataclasses.FrozenInstanceError):
        outcome.status = "lost"  # type: ignore[misc]
    other = outcome.changed(status="undecayed", error="rings")
    assert (outcome.status, other.status, other.steps) == ("ok", "undecayed", 6000)
    joined = outcome | {"gain_dbi": [1.0, 2.0], "seconds": 3.0}
    assert (joined["gain_dbi"], joined.seconds, joined["s11_db"]) == ([1.0, 2.0], 3.0, outcome["s11_db"])
    bare = outcome.without("theta_deg", "e_plane", "h_plane")
    assert "e_plane_dbi" not in bare and bare.results[0].to_dict()["theta_deg"] is None
    assert pickle.loads(pickle.dumps(outcome)) == outcome


@pytest.mark.parametrize("plain", [solved() | {"colour": 1}, {"error": None}, {"status": 3}])
def test_a_dictionary_that_is_no_outcome_is_refused(plain):
    with pytest.raises(ValueError, match=r"no outcome has|no status"):
        Outcome.of(plain)


def test_an_outcome_is_found_sound_as_the_dictionary_is():
    assert fault_of(Outcome.of(solved())) is None
    assert fault_of(Outcome.of(solved()).without("s11"), solved=False) is None
    assert fault_of(Outcome.of(solved(gain_dbi=[1.0]))) == "its gain_dbi has not one value a frequency"
