"""Checkpoints: exact floats, two kept, and no damage that goes unnoticed."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antennaopt.errors import ResumeRefusedError
from antennaopt.store.checkpoint import load_checkpoint, save_checkpoint

STATE = {"genomes": [[0.1 + 0.2, 1e-300], [1.0, 0.0]], "best": {"fitness": 2.5, "name": "é"}, "none": None}


@pytest.fixture
def two(tmp_path):
    save_checkpoint(tmp_path, 3, {"at": 3, **STATE})
    save_checkpoint(tmp_path, 4, {"at": 4, **STATE})
    return tmp_path


def test_nothing_written_is_no_checkpoint(tmp_path):
    assert load_checkpoint(tmp_path) is None
    assert load_checkpoint(tmp_path / "missing") is None


@settings(deadline=None)
@given(state=st.dictionaries(st.text(), st.lists(st.floats(allow_nan=False))))
def test_state_comes_back_bit_for_bit(tmp_path_factory, state):
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(folder, 0, state)
    found = load_checkpoint(folder)
    assert found.state == state
    assert repr(found.state) == repr(state), "signs of zero and the order of keys too"


def test_the_last_two_are_kept(two):
    save_checkpoint(two, 5, {"at": 5})
    assert sorted(path.name for path in two.iterdir()) == ["checkpoint-000004.json", "checkpoint-000005.json"]
    assert load_checkpoint(two).state == {"at": 5}


def test_the_same_generation_replaces_itself(two):
    save_checkpoint(two, 4, {"at": "again"})
    assert load_checkpoint(two).state == {"at": "again"}
    assert len(list(two.iterdir())) == 2


def test_going_back_drops_what_was_ahead(two):
    """After a damaged newest one, generation 4 is done again: a stale 5 must not outlive it."""
    save_checkpoint(two, 5, {"at": 5})
    save_checkpoint(two, 4, {"at": "again"})
    assert load_checkpoint(two).state == {"at": "again"}


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_flipped_bit_or_cut_is_noticed(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(folder, 3, {"at": 3, **STATE})
    path = save_checkpoint(folder, 4, {"at": 4, **STATE})
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans(), label="cut"):
        content = content[: data.draw(st.integers(0, len(content) - 2), label="length")]
    else:
        place = data.draw(st.integers(0, len(content) - 1), label="byte")
        content[place] ^= 1 << data.draw(st.integers(0, 7), label="bit")
    path.write_bytes(content)
    try:
        found = load_checkpoint(folder)
    except ResumeRefusedError as refused:
        assert "version" in str(refused)  # the flipped bit made it a newer one
        return
    if found.generation == 4:
        assert found.state == {"at": 4, **STATE}  # white space, or the version's own digit made smaller
    else:
        assert found.state == {"at": 3, **STATE}
        assert "checkpoint-000004.json is damaged" in found.notes[0]


def test_both_damaged_is_refused(two):
    for path in two.iterdir():
        path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ResumeRefusedError, match="every checkpoint") as caught:
        load_checkpoint(two)
    assert caught.value.exit_code == 4


def test_a_newer_version_is_refused_and_not_taken_for_damage(two):
    path = two / "checkpoint-000004.json"
    path.write_text(path.read_text().replace('"version":2', '"version":3'))
    with pytest.raises(ResumeRefusedError, match="version 3"):
        load_checkpoint(two)


@pytest.mark.parametrize("content", ["[]", "null", "[" * 100000, '{"version":1}', "\x80\x04K\x01."])
def test_foreign_files_are_damage_and_never_run(two, content):
    (two / "checkpoint-000004.json").write_text(content, encoding="latin-1")
    assert load_checkpoint(two).generation == 3


def test_other_files_in_the_folder_are_left_alone(two):
    (two / "checkpoint-000009.json.bak").write_text("{}")
    (two / ".tmp-1-checkpoint-000009.json").write_text("{}")
    assert load_checkpoint(two).generation == 4


def test_the_digest_is_over_the_canonical_payload(two):
    """A file with another layout is still valid: the digest is over the values."""
    path = two / "checkpoint-000004.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))
    assert load_checkpoint(two).generation == 4
