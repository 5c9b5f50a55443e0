"""Process-wide state of a run: a guarded call, signals, the garbage collector, warnings.

Ctrl-C, SIGTERM and SIGHUP: the first asks the driver to drain and save, a second Ctrl-C stops at once.
"""

from __future__ import annotations

import ast
import gc
import logging
import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from antennaopt.errors import ConfigurationError, Interrupted

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}

RARELY = (500_000, 20, 20)
"""Thresholds of the garbage collector during a search: a generation of 8,448 keeps some 400,000 objects."""

TURN_S = 5e-4
"""Longest time for which a thread of the driver keeps the interpreter while others wait for it, s."""

MOST_NOISE = 200
"""Records of a run that are kept; something that warns at each step must not fill the log."""


class StopSignals:
    """Context that turns SIGINT, SIGTERM and SIGHUP into a flag that the driver reads between results.

    SIGHUP stays ignored where it was at the start (`nohup`). The handlers of before come back on the way out. Outside
    the main thread, where Python allows no handlers, the flag can still be set with `request`.

    Attributes:
        exit_code: 129, 130 or 143 after a signal, else None.
        on_request: Called once when the first signal comes; must be safe in a signal handler.
        opening: There is nothing to save yet, only workers to wait for: the first signal ends that at once.
        closing: Everything is saved and what remains ends within seconds by itself: a second Ctrl-C changes nothing.
    """

    def __init__(self, *, opening: bool = False) -> None:
        self.exit_code: int | None = None
        self.on_request: Callable[[], None] | None = None
        self.opening = opening
        self.closing = False
        self._before: dict[signal.Signals, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether the driver must stop."""
        return self.exit_code is not None

    def request(self, exit_code: int = 130) -> None:
        """Ask the driver to stop, as a signal would."""
        first, self.exit_code = self.exit_code is None, self.exit_code or exit_code
        if first and self.on_request is not None:
            self.on_request()

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in EXIT_CODES:
                if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.opening and not self.requested:
            self.exit_code = EXIT_CODES[signal.Signals(number)]
            raise Interrupted("interrupted before anything was solved; nothing is lost", exit_code=self.exit_code)
        if self.opening:
            return  # it closes what it had opened
        if number == signal.SIGINT and self.exit_code == EXIT_CODES[signal.SIGINT] and not self.closing:
            raise KeyboardInterrupt
        self.request(EXIT_CODES[signal.Signals(number)])


class _WhileUsed:
    """A change of the process that holds while the body of any of its users runs: runs may overlap in threads."""

    def __init__(self, change: Callable[[], Callable[[], None]]) -> None:
        """Take what makes the change and returns what undoes it."""
        self._change, self._lock, self._users = change, threading.Lock(), 0
        self._undo: Callable[[], None] | None = None

    @contextmanager
    def use(self) -> Iterator[None]:
        """The first of all users makes the change, and the last one undoes it."""
        with self._lock:
            if not self._users:
                self._undo = self._change()
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users and self._undo is not None:
                    self._undo()


def _collect_rarely() -> Callable[[], None]:
    before, kept = gc.get_threshold(), gc.get_freeze_count() > 0
    if kept:
        gc.collect()  # of little, what came since; garbage would stay for good
    gc.freeze()  # else without a collection, which takes a tenth of a second of the start; garbage waits for the end
    gc.set_threshold(*RARELY)

    def undo() -> None:
        gc.set_threshold(*before)
        if not kept:
            gc.unfreeze()

    return undo


def _take_short_turns() -> Callable[[], None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_S)
    return lambda: sys.setswitchinterval(before)


_RARE, _SHORT = _WhileUsed(_collect_rarely), _WhileUsed(_take_short_turns)


def rare_collections() -> AbstractContextManager[None]:
    """Collect garbage hundreds of times more rarely, and never look at what was there before, while the body runs.

    A generation makes hundreds of thousands of numbers, lists and dictionaries that no cycle holds; looking for cycles
    among them took a third of the driver's time in a run that solves nothing. What a caller has frozen stays frozen,
    and with it all that is there when the body begins.
    """
    return _RARE.use()


def short_turns() -> AbstractContextManager[None]:
    """Let threads take turns every half millisecond in place of every five while the body runs.

    A worker's reply is encrypted in pieces of 16 KiB, and the thread that receives it waits for its turn after each: a
    reply of 2 MB has 140. While the driver breeds or scores, each turn comes only when the interval is over.
    """
    return _SHORT.use()


class Noise(logging.Handler):
    """Keeps warnings and errors of libraries in the run's log, as the event `noise`."""

    def __init__(self, log: Callable[..., None]) -> None:
        """Write with `RunFolder.log`."""
        super().__init__(logging.WARNING)
        self._log, self._left = log, MOST_NOISE

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; one that cannot be written is dropped: the driver will notice the disk by itself."""
        self._left -= 1
        if self._left >= 0:
            with suppress(Exception):
                self._log("noise", logger=record.name, level=record.levelname, text=self.format(record))


def require_guard(call: str = "optimise") -> None:
    """Refuse a call from a script's top level: each worker process would import the script and repeat it.

    Args:
        call: Name of the function.

    Raises:
        ConfigurationError: The call is outside `if __name__ == "__main__":`, or in a worker's import of the script.
    """
    remedy = 'put it inside `if __name__ == "__main__":`, because worker processes import the script'
    if multiprocessing.parent_process() is not None:
        raise ConfigurationError(f"{call} was called while a worker process imported the script; {remedy}")
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    frame, line = sys._getframe(), None
    while frame is not None:
        top = frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"
        if top and frame.f_code.co_filename == script:
            line = frame.f_lineno
        frame = frame.f_back
    if script is None or line is None:
        return  # a notebook, an interactive session, a module that was imported
    try:
        tree = ast.parse(Path(script).read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        return
    guards = (node for node in tree.body if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test))
    if not any(node.lineno <= line <= (node.end_lineno or line) for node in guards):
        raise ConfigurationError(f"{call} is called in line {line} of {Path(script).name}; {remedy}")
