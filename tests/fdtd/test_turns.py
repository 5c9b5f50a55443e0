"""Turns on a device: one process of a group has one at a time, and none waits for ever."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time

import pytest
from waiting import wait_until

from fdtd.backends.cuda.turns import Turns

GROUP = 4711
OTHER = """
import sys
from fdtd.backends.cuda.turns import Turns
turns = Turns(patience=float(sys.argv[3]))
turns.share(sys.argv[1], int(sys.argv[2]))
for line in sys.stdin:
    if line.strip() == "take":
        held = turns.taken()
        held.__enter__()
    else:
        held.__exit__(None, None, None)
    print(turns.is_shared, flush=True)
"""


class Other:
    """Another process of the same user. It answers whether it still takes turns."""

    def __init__(self, device: str, group: int, patience: float) -> None:
        command = [sys.executable, "-c", OTHER, device, str(group), str(patience)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def answer(self) -> bool:
        assert self.process.stdout is not None
        return {"True": True, "False": False}[self.process.stdout.readline().strip()]

    def does(self, word: str) -> bool:
        self.send(word)
        return self.answer()


@pytest.fixture
def other(monkeypatch, tmp_path):
    """Start other processes; they end with the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    started: list[Other] = []

    def start(device: str = "GPU-1", group: int = GROUP, patience: float = 60.0) -> Other:
        started.append(Other(device, group, patience))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


def sharing(patience: float = 60.0, length: float = 60.0) -> Turns:
    turns = Turns(length, patience)
    turns.share("GPU-1", GROUP)
    return turns


def test_a_turn_comes_when_the_process_before_ends_its_own(other):
    """The other waits; with no patience it would go on without turns at once."""
    turns, waits, leaves = sharing(), other(), other(patience=0)
    with turns.taken():
        assert not leaves.does("take")
        waits.send("take")
    assert waits.answer()
    assert not sharing_after(turns, patience=0), "the other has the turn now"
    assert waits.does("end")


def sharing_after(turns: Turns, patience: float) -> bool:
    turns._patience = patience
    with turns.taken():
        return turns.is_shared


def test_a_process_that_ran_out_of_patience_never_waits_again(other):
    """Each batch calls `share` again."""
    stuck, turns = other(), sharing(patience=0.0)
    assert stuck.does("take")
    with turns.taken():
        assert not turns.is_shared
    turns.share("GPU-1", GROUP)
    assert not turns.is_shared


def test_another_batch_is_prepared_while_one_waits_for_its_turn(other):
    """Every batch begins with `share`."""
    first, turns, entered = other(), sharing(), threading.Event()
    assert first.does("take")

    def waits() -> None:
        with turns.taken():
            entered.set()

    batch = threading.Thread(target=waits)
    batch.start()
    wait_until(lambda: is_held(turns))
    turns.share("GPU-1", GROUP)
    assert not entered.is_set()
    assert first.does("end")
    batch.join()


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK])
def test_files_without_locks_are_no_turns(other, monkeypatch, code):
    def fails(*arguments: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "lockf", fails)
    turns = sharing()
    assert not turns.is_shared
    with turns.taken():
        assert not turns.is_over()


def test_a_batch_that_is_interrupted_leaves_its_turn(other, monkeypatch):
    """Ctrl-C while it waits for the next one: later batches take turns of none, and others are not kept waiting."""
    one, turns = other(), sharing()

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), turns.taken():
        one.send("take")
        wait_until(lambda: is_next(one, turns))
        monkeypatch.setattr(time, "sleep", interrupted)
        turns.pass_on()
    monkeypatch.undo()
    assert one.answer()
    assert turns._inside == 0
    with turns.taken():
        assert not turns.is_shared


def is_held(turns: Turns) -> bool:
    """Say whether a batch of this process holds its lock, as one that waits for a turn does."""
    if turns._changed.acquire(blocking=False):
        turns._changed.release()
        return False
    return True


def is_next(one: Other, turns: Turns) -> bool:
    """Say whether a process is the one that waits for this one's turn."""
    assert turns._file is not None
    asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, turns._next, 1, 0)
    *_, process = struct.unpack("hhqqi", fcntl.fcntl(turns._file, fcntl.F_GETLK, asked))
    return process == one.process.pid


@pytest.mark.parametrize("where", [{"device": "GPU-2"}, {"group": GROUP + 1}])
def test_other_devices_and_other_runs_are_not_waited_for(other, where):
    with sharing().taken():
        assert other(**where, patience=0).does("take")


def test_the_turn_of_a_killed_process_comes_back(other):
    one, turns = other(), sharing()
    assert one.does("take")
    one.process.kill()
    one.process.wait()
    with turns.taken():
        assert turns.is_shared
    assert turns.is_shared


def test_batches_of_one_process_share_its_turn_until_it_is_over(other):
    """Then each waits for the other one, and another process is next."""
    turns, entered, passed = sharing(length=0.0), threading.Event(), threading.Event()
    waits = other(patience=60)

    def second() -> None:
        with turns.taken():
            entered.set()
            passed.wait()

    beside = threading.Thread(target=second)
    with turns.taken():
        beside.start()
        assert entered.wait(60)  # no turn of its own: this one would not end
        waits.send("take")
        assert turns.is_over()
        wait_until(lambda: is_next(waits, turns))
        later = threading.Thread(target=turns.pass_on)
        later.start()
        passed.set()
        beside.join()
        assert waits.answer(), "the turn ended with the second batch"
        assert later.is_alive(), "and this process waits now"
        assert waits.does("end")
        later.join()
        assert turns.is_shared


def test_alone_turns_never_end():
    turns = Turns(length=0.0)
    with turns.taken():
        assert not turns.is_shared and not turns.is_over()
