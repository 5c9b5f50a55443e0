"""Calls at the same time: each meets the others, the last is made in the thread of the caller, errors are raised."""

from __future__ import annotations

import threading

import pytest

from fdtd.side_by_side import side_by_side


def test_calls_are_made_at_the_same_time() -> None:
    met, seen = threading.Barrier(3, timeout=60), []

    def call() -> None:
        met.wait()
        seen.append(threading.get_ident())

    side_by_side(call, call, call)
    assert len(set(seen)) == 3 and threading.get_ident() in seen


def test_an_error_is_raised_once_all_have_ended() -> None:
    done = []

    def wrong() -> None:
        raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"):
        side_by_side(wrong, lambda: done.append(1))
    assert done == [1]
