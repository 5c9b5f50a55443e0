"""Turns of processes that share a device: one of them steps at a time.

A device runs kernels of several processes by turns of its own, some milliseconds each, and saves and loads all
registers in between. Longer turns leave it more time to step.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fdtd.cache_folder import temporary_folder

_TURN_S: Final = 0.1
_PATIENCE_S: Final = 20.0
_AGAIN_S: Final = 0.0003  # between two tries


class Turns:
    """Turns of this process. Batches of one process that are stepped at the same time have the same turn.

    The system ends the turn of a process that dies. A process that has waited for `patience` seconds, because another
    does not end its turn, goes on without turns for good.

    Args:
        length: Of a turn, s; a batch ends it when its steps of the moment are done.
        patience: How long to wait for one, s.
    """

    def __init__(self, length: float = _TURN_S, patience: float = _PATIENCE_S) -> None:
        self._length, self._patience = length, patience
        self._changed = threading.Condition()
        self._asked = False
        self._file: int | None = None
        self._next, self._turn = 0, 1  # bytes of the file that are locked
        self._inside = 0  # batches
        self._ending = False
        self._since = 0.0

    def share(self, device: str, group: int) -> None:
        """Take turns from now on with other processes of this user that name the same device and group.

        Without effect if this was called before, and where files have no locks. It never waits for a turn.

        Args:
            device: Its UUID, or any name that the processes have in common.
            group: A number that they have in common, from 0.
        """
        if self._asked:  # before the lock, which a batch holds that waits for its turn
            return
        with self._changed:
            if self._asked or self._inside:
                return
            self._asked = True
            name = "".join(one if one.isalnum() else "-" for one in device)
            self._next, self._turn = 2 * group, 2 * group + 1
            try:
                import fcntl

                file = os.open(temporary_folder() / f"turns-{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except (ImportError, OSError):
                return
            try:
                if _locked(file, self._next):
                    fcntl.lockf(file, fcntl.LOCK_UN, 1, self._next)
            except OSError:
                os.close(file)
                return
            self._file = file

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
        try:
            self._enter()
        except BaseException:
            with self._changed:
                self._inside += 1  # `taken` leaves
            raise

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

        until, taken = time.monotonic() + self._patience, False
        try:
            for place in (self._next, self._turn):
                while not _locked(file, place):
                    if time.monotonic() > until:
                        return
                    time.sleep(_AGAIN_S)
            fcntl.lockf(file, fcntl.LOCK_UN, 1, self._next)
            taken = True
        except OSError:  # the files have no locks any more
            return
        finally:
            if not taken:
                self._give_up(file)

    def _give_up(self, file: int) -> None:
        self._file = None
        os.close(file)  # and with it all locks of this process

    def _leave(self) -> None:
        with self._changed:
            self._inside -= 1
            if self._inside:
                return
            self._ending = False
            self._changed.notify_all()
            if self._file is not None:
                import fcntl

                try:
                    fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._turn)
                except OSError:
                    self._give_up(self._file)


def _locked(file: int, place: int) -> bool:
    """Lock a byte of a file, and return whether it is locked now: False if another process has it.

    Raises:
        OSError: The file has no locks.
    """
    import fcntl

    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except OSError as problem:
        if problem.errno not in (errno.EACCES, errno.EAGAIN):
            raise
        return False
    return True
