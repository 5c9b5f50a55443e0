"""Parallel calls in threads, for work that releases the interpreter, such as compiling."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any


def side_by_side(*calls: Callable[[], Any]) -> None:
    """Make calls at the same time and wait for all of them: the last in this thread, whose stream of a device it keeps.

    The other threads keep no process alive.

    Raises:
        Exception: What one of them raised, after all have ended.
    """
    problems: list[Exception] = []

    def called(call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception as problem:
            problems.append(problem)

    *others, last = calls
    threads = [Thread(target=called, args=(call,), daemon=True) for call in others]
    for thread in threads:
        thread.start()
    called(last)
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
