"""Turns on a device: one process of a group has one at a time, and none waits for ever."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import tempfile
import threading

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
    """Another process of the same user, which does as it is told and answers whether it still takes turns."""

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


def is_next(one: Other, turns: Turns) -> bool:
    """Say whether a process is the one that waits for this one's turn."""
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
