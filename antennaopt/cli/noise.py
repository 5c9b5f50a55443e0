"""Lines of Python, of libraries and of worker processes, kept off the user's stderr, which is for our own.

They go to Python's logging; a run keeps its warnings in `logs/run.jsonl` (event `noise`). Development mode
(`PYTHONDEVMODE=1`) shows everything where it comes up.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_log = logging.getLogger("antennaopt.noise")

FREE = 10
"""Lowest file descriptor that the user's stderr may get: 0 to 2 keep their meaning, also where one was closed."""


def divert() -> Callable[[], None]:
    """Let only what is printed to `sys.stderr` reach the user; return what lets nothing more reach them.

    Whatever writes to the process's own stderr goes nowhere: libraries in C, and the processes started from now on, as
    workers and the helper of `multiprocessing`. Warnings, and exceptions that nothing can catch, are logged.
    """
    if sys.flags.dev_mode or sys.stderr is None:
        return lambda: None
    try:
        user = fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, FREE)
        nowhere = os.open(os.devnull, os.O_WRONLY)
    except OSError:  # it is closed
        return lambda: None
    stream = open(user, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)  # noqa: SIM115
    sys.stderr.flush()
    sys.stderr = stream
    os.dup2(nowhere, 2)  # inheritable
    os.close(nowhere)
    logging.getLogger().addHandler(logging.NullHandler())  # else Python prints what has no handler
    logging.captureWarnings(True)
    threading.excepthook = _of_thread
    sys.unraisablehook = _unraisable

    def end() -> None:
        with suppress(OSError, ValueError):
            stream.flush()
        os.dup2(2, user)

    return end


def _of_thread(about: Any) -> None:
    if about.exc_type is not SystemExit:
        name = about.thread.name if about.thread else "a thread"
        _log.warning("in %s", name, exc_info=(about.exc_type, about.exc_value, about.exc_traceback))


def _unraisable(about: Any) -> None:
    text = about.err_msg or "exception ignored in"
    _log.warning("%s %r", text, about.object, exc_info=(about.exc_type, about.exc_value, about.exc_traceback))
