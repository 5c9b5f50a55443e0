"""A process that writes a run's generations and checkpoints, for drivers whose own interpreter is busy.

The driver sends one message at a time over a pair of connected sockets. The answer says that its content is on the
disk, or why it is not. The process holds the run folder's lock together with the driver, by the same open file. Where
the driver ends first the process reads the end of the messages, ends after the write under way, and with it the lock:
nothing else writes to the folder meanwhile.
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
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgpack

from antennaopt import errors
from antennaopt.farm.early import COLLECT_RARELY, WORKER_ENVIRONMENT
from antennaopt.run.handover import Message, read_message, rows_of
from antennaopt.store.evaluations import write_evaluations
from antennaopt.store.files import FolderLock
from antennaopt.store.run_folder import RunFolder

END_S = 30.0
"""That a process may take for its end before it is killed; it has nothing left to write."""

_COUNT = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")


class WriterLost(Exception):  # noqa: N818 - what happened
    """The process has ended, or what it says makes no sense."""


class Writer:
    """The driver's side of the process."""

    def __init__(self, folder: RunFolder) -> None:
        """Start it; `ready` says when it has imported what writes.

        Args:
            folder: Open for writing.

        Raises:
            OSError: No process can be started.
        """
        lock = folder.lock
        if lock is None:
            raise RuntimeError(f"{folder.path} was opened for reading; open it with write=True")
        folders = os.environ.get("PYTHONPATH", ""), *sys.path  # of a source that is not installed, too
        self._socket, other = socket.socketpair()
        self._ready = False
        self._exit_code: int | None = None
        with other:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", __name__, str(folder.path.absolute()), str(lock.handle), str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(lock.handle, other.fileno()),
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

    def write(self, message: Message) -> None:
        """Have a message of `antennaopt.run.handover` written; return when it is on the disk.

        Raises:
            WriterLost: It has ended. The files are as before, or already as they are to be, and may be written again.
            StorageError, ...: What writing raised there.
        """
        text, arrays = message
        try:
            lengths = [len(text), *(one.nbytes for one in arrays)]
            self._socket.sendall(_COUNT.pack(len(lengths)) + b"".join(map(_LENGTH.pack, lengths)))
            for one in (memoryview(text), *(array.data for array in arrays)):
                self._socket.sendall(one)
            (length,) = _LENGTH.unpack(_received(self._socket, _LENGTH.size))
            answer = msgpack.unpackb(_received(self._socket, length)) if length else None
        except (OSError, EOFError) as problem:
            raise WriterLost(str(problem)) from problem
        if answer is not None:
            raise _error_of(*answer)

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
    return RuntimeError(f"the process that writes the run folder failed:\n{details}")


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


def _write(folder: RunFolder, message: Sequence[Any], helper: Executor) -> list[str] | None:
    """Write what a message holds; return what went wrong, as `_error_of` takes it."""
    text, *buffers = message
    try:
        told = read_message(text)
        if "state" in told:
            folder.save_checkpoint(told["generation"], told["state"])
        else:
            write_evaluations(folder, told["generation"], rows_of(told, buffers), told["copies"], helper=helper)
    except Exception as error:
        return [type(error).__name__, str(error), traceback.format_exc()]
    return None


def serve(path: Path, lock: int, end: socket.socket) -> None:
    """Write what comes, until nothing more does.

    Args:
        path: The run folder.
        lock: File descriptor of its lock, which this process holds from now on.
        end: Of the pair of sockets.
    """
    folder = RunFolder.open(path, lock=FolderLock.inherited(path, lock))
    folder.refuse_unwritable([])  # imports what the first table is made with
    gc.freeze()
    gc.set_threshold(*COLLECT_RARELY)
    with suppress(EOFError, OSError), ThreadPoolExecutor(1) as helper:
        end.sendall(b"r")
        while True:
            problem = _write(folder, _message(end), helper)
            answer = b"" if problem is None else cast(bytes, msgpack.packb(problem))
            end.sendall(_LENGTH.pack(len(answer)) + answer)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), socket.socket(fileno=int(sys.argv[3])))
