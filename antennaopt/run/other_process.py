"""A separate process that writes the data it receives, to relieve a busy driver.

The driver sends one message at a time over a pair of connected sockets: a text, and arrays. The answer says that its
content is on the disk, or why it is not. Where the driver ends first the process reads the end of the messages, and
ends after the write under way.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, cast

import msgpack

from antennaopt import errors
from antennaopt.farm.early import COLLECT_RARELY, WORKER_ENVIRONMENT
from antennaopt.run.handover import Message
from antennaopt.solve.device import usable_cores

END_S = 30.0
"""That a process may take for its end before it is killed; it has nothing left to write."""

MANY = 256
"""Rows from which on a process may write them."""

PER_SECOND = 300.0
"""Rows a second from which on one is started: a thread takes some 60 us of the interpreter for a row."""

SOLVING = 2
"""Cores that the driver and a device's worker keep busy at the start; with no more nothing is started meanwhile."""

WAKE_AFTER_S = 5.0
"""Wait for a write after which the process that writes is woken, in case a signal has stopped it."""

_COUNT = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")


def is_fast(rows: int, seconds: float) -> bool:
    """Return whether this many rows in so many seconds are enough for a separate process to write them."""
    return rows >= max(MANY, PER_SECOND * seconds)


def is_fast_at_start(rows: int) -> bool:
    """Return whether a process is to write a device's first generation, of this many rows."""
    return usable_cores() > SOLVING and rows >= MANY


def wait_for(write: Future[None], process: Callable[[], OtherProcess | None]) -> None:
    """Wait until something is written, and raise what it raised.

    Args:
        write: By a thread, which may wait for the process.
        process: Returns it; the thread may lose it meanwhile.
    """
    while True:
        try:
            return write.result(WAKE_AFTER_S)
        except TimeoutError:
            if write.done():
                return write.result()  # since then, or it has raised this itself
            if (running := process()) is not None:
                running.wake()


class WriterLost(Exception):  # noqa: N818 - what happened
    """The process has ended, or its answer is malformed."""


class OtherProcess:
    """The driver's side of the process."""

    def __init__(self, module: str, *arguments: str, handles: Sequence[int] = ()) -> None:
        """Start it; `ready` is set once its imports are complete.

        Args:
            module: That it runs.
            arguments: For it; the file descriptor of its end of the sockets is added.
            handles: File descriptors that it has, too.

        Raises:
            OSError: No process can be started.
        """
        folders = os.environ.get("PYTHONPATH", ""), *sys.path  # of a source that is not installed, too
        self._socket, other = socket.socketpair()
        self._ready = False
        with other:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", module, *arguments, str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(*handles, other.fileno()),
                env={**os.environ, **WORKER_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
                start_new_session=True,  # Ctrl-C is for the driver
            )

    @property
    def ready(self) -> bool:
        """Whether it takes messages; False once it has ended. Does not wait."""
        if not self._ready:
            try:
                answer = self._socket.recv(1, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError:
                answer = b""
            if not answer:
                raise WriterLost("it ended before it was ready")
            self._ready = True
        return True

    def write(self, message: Message) -> Any:
        """Have a message of `antennaopt.run.handover` written; return the answer, when it is on the disk.

        Raises:
            WriterLost: It has ended, or its answer is malformed. What was to be written is written, or is not, and may
                be written again.
            StorageError, ...: What writing raised there.
        """
        text, arrays = message
        try:
            lengths = [len(text), *(one.nbytes for one in arrays)]
            self._socket.sendall(_COUNT.pack(len(lengths)) + b"".join(map(_LENGTH.pack, lengths)))
            for one in (memoryview(text), *(array.data for array in arrays)):
                self._socket.sendall(one)
            error, answer = self._answer()
        except (OSError, EOFError) as lost:
            raise WriterLost(str(lost)) from lost
        if error is not None:
            raise error
        return answer

    def _answer(self) -> tuple[Exception | None, Any]:
        """Wait for the answer: the error that writing met, and what it returned."""
        (length,) = _LENGTH.unpack(_received(self._socket, _LENGTH.size))
        try:
            problem, answer = msgpack.unpackb(_received(self._socket, length))
            return None if problem is None else _error_of(*problem), answer
        except (ValueError, TypeError, OverflowError, MemoryError) as malformed:
            raise WriterLost(f"its answer is malformed: {malformed}") from malformed

    def wake(self) -> None:
        """Let it go on where a signal has stopped it."""
        with suppress(OSError):
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> int:
        """End it, wait for its end, and return its exit code; a second call does nothing."""
        self._socket.close()
        self.wake()
        try:
            return self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _error_of(name: str, text: str, details: str) -> Exception:
    """Return the error that the process met: the same, if it is one for users."""
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, errors.AntennaoptError):
        return kind(text)
    return RuntimeError(f"the process that writes failed:\n{details}")


def answer_all(end: socket.socket, write: Callable[[bytearray, Sequence[bytearray]], Any]) -> None:
    """In the process: write what comes, until nothing more does.

    Args:
        end: Of the pair of sockets.
        write: Writes a message's text and arrays; what it returns, plain data, is the answer.
    """
    gc.freeze()
    gc.set_threshold(*COLLECT_RARELY)
    with suppress(EOFError, OSError):
        end.sendall(b"r")
        while True:
            text, *buffers = _message(end)
            try:
                content = None, write(text, buffers)
            except Exception as error:
                content = [type(error).__name__, str(error), traceback.format_exc()], None
            answer = cast(bytes, msgpack.packb(content))
            end.sendall(_LENGTH.pack(len(answer)) + answer)


def _received(end: socket.socket, count: int) -> bytearray:
    """Return that many bytes.

    Raises:
        EOFError: The other side has ended before.
    """
    found = bytearray(count)
    view = memoryview(found)
    while view:
        got = end.recv_into(view, 0, socket.MSG_WAITALL)
        if not got:
            raise EOFError("the other process has ended")
        view = view[got:]
    return found


def _message(end: socket.socket) -> list[bytearray]:
    """Return the next message: its text, then its arrays.

    Raises:
        EOFError: There is no more.
    """
    (count,) = _COUNT.unpack(_received(end, _COUNT.size))
    lengths = [length for (length,) in _LENGTH.iter_unpack(_received(end, count * _LENGTH.size))]
    return [_received(end, length) for length in lengths]
