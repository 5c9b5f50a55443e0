"""Turns of processes that share a device: one of them steps at a time.

A device runs kernels of several processes by turns of its own, some milliseconds each, and saves and loads all
registers in between. Longer turns leave it more time to step.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from fdtd.cache_folder import temporary_folder

_TURN_S: Final = 0.1
_PATIENCE_S: Final = 20.0
_AGAIN_S: Final = 0.0003  # between two tries


class Turns:
    """Turns of this process: its batches that are stepped at the same time share one.

    The system gives a turn back when its process dies. A process that has waited for `patience` seconds, because
    another does not end its turn, goes on without turns, as one that shares with no other does.

    Args:
        length: Of a turn, s; a batch ends it when its steps of the moment are done.
        patience: How long to wait for one, s.
    """

    def __init__(self, length: float = _TURN_S, patience: float = _PATIENCE_S) -> None:
        self._length, self._patience = length, patience
        self._changed = threading.Condition()
        self._file: int | None = None
        self._next, self._turn = 0, 1  # bytes of the file that are locked
        self._inside = 0  # batches
        self._ending = False
        self._since = 0.0

    def share(self, device: str, group: int) -> None:
        """Take turns from now on with other processes of this user that name the same device and group.

        Without effect if this was called before, and on systems without locks of files.

        Args:
            device: Its UUID, or any name that the processes have in common.
            group: A number that they have in common, from 0.
        """
        with self._changed:
            if self._file is None and not self._inside:
                with suppress(ImportError, OSError):
                    import fcntl  # noqa: F401

                    name = "".join(one if one.isalnum() else "-" for one in device)
                    file = temporary_folder() / f"turns-{name}"
                    self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                    self._next, self._turn = 2 * group, 2 * group + 1

    @property
    def is_shared(self) -> bool:
        """Whether other processes are waited for."""
        return self._file is not None

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn, and end it where no other batch of this process has it too."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def is_over(self) -> bool:
        """Return whether batches should wait for what they started, and call `pass_on`."""
        if self._file is not None and time.monotonic() - self._since > self._length:
            self._ending = True
        return self._ending

    def pass_on(self) -> None:
        """End the turn of a batch, and wait for its next one."""
        self._leave()
        self._enter()

    def _enter(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._ending)
            if not self._inside and self._file is not None:
                self._wait(self._file)
                self._since = time.monotonic()
            self._inside += 1

    def _wait(self, file: int) -> None:
        """Wait to be next, then for the turn: a process that has just ended its own is behind one that waits."""
        import fcntl

        def locked(place: int) -> bool:
            with suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                return True
            return False

        until = time.monotonic() + self._patience
        for place in (self._next, self._turn):
            while not locked(place):
                if time.monotonic() > until:
                    os.close(file)  # and with it all locks of this process
                    self._file = None
                    return
                time.sleep(_AGAIN_S)
        fcntl.lockf(file, fcntl.LOCK_UN, 1, self._next)

    def _leave(self) -> None:
        with self._changed:
            self._inside -= 1
            if self._inside:
                return
            self._ending = False
            if self._file is not None:
                import fcntl

                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._turn)
            self._changed.notify_all()
