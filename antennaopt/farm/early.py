"""Local worker processes that start while the driver is still importing its modules.

They import what solves, and start their devices, while the driver imports Dask, reads the experiment and plans it. The
nannies of Dask then take them in place of new ones (`METHOD`, one more of the ways in which `multiprocessing` starts a
process). What `multiprocessing` writes to a new process they are sent over a socket, with file descriptors and the
environment. A process that is not taken ends with the context that started it, and by itself when the driver ends.
"""

from __future__ import annotations

import gc
import io
import json
import multiprocessing.context as contexts
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import popen_fork, reduction, resource_tracker, spawn, util
from threading import Thread
from typing import Any

from antennaopt.errors import ClusterError
from antennaopt.solve.device import (
    SHARED_BY,
    begin_driver,
    check_processes,
    enough_devices,
    processes_a_device,
    usable_cores,
)
from fdtd.errors import DeviceError

METHOD = "antennaopt-early"
"""Way to start a process, for Dask's setting `distributed.worker.multiprocessing-method`."""

VISIBLE = "CUDA_VISIBLE_DEVICES"

NO_DEVICE = ""
"""In place of a device's UUID: the worker solves on a core."""

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""With it Python does not look for modules in the current folder, which may hold files of another user."""

WORKER_ENVIRONMENT = {
    **SAFE_PATH,
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "DASK_LOGGING__DISTRIBUTED": "critical",
}
"""One process a core and one thread a process: libraries must not start threads of their own."""

COLLECT_RARELY = (100_000, 20, 20)
"""Thresholds of the garbage collector. Imports make a hundred thousand objects that stay: looking among them for what
can go takes a tenth of the time. In a worker an outcome is hundreds of numbers and lists that no cycle holds."""

_SET_LATER = {"MALLOC_TRIM_THRESHOLD_": "65536", "ANTENNAOPT_DEVICES": "", "ANTENNAOPT_WORKER": "", SHARED_BY: "1"}
"""What else a worker's environment gets, by Dask and by `antennaopt.farm.servers`: new names must not come later, since
the C library may move its table while the device's driver reads it in another thread."""

NUMBER: ContextVar[Any] = ContextVar("NUMBER", default=None)
"""Number of the worker that a nanny is starting: its device is that of the process with the number."""

SOLVING = ("numpy", "antennaopt.solve.evaluate", "antennaopt.farm.servers", "antennaopt.farm.task", "scipy.linalg")
"""Modules that a worker needs until its first batch is solved."""

SEND_S = 2.0
"""Time limit in seconds of what the driver sends to a process. One that is stopped does not read."""

_PATH = "ANTENNAOPT_EARLY_PATH"
"""Environment variable of a new process: its `sys.path`. Every user of the machine can read a command line."""

_HEADER = struct.Struct("<I")
_NOTHING = _HEADER.pack(0)
_MOST_DESCRIPTORS = 64


@dataclass(frozen=True, kw_only=True)
class _Waiting:
    """A process that waits for what it is to do.

    Attributes:
        process: The process.
        channel: The driver's end of its socket.
    """

    process: subprocess.Popen[bytes]
    channel: socket.socket

    def end(self) -> None:
        """Kill the process and wait for its end."""
        self.channel.close()
        self.process.kill()
        self.process.wait()


_processes: dict[int, _Waiting] = {}
_lock = threading.Lock()


@contextmanager
def early_workers(backend: str, *, here: bool = True) -> Iterator[None]:
    """Start one worker process now, and end those that no nanny has taken at the end.

    Where the system refuses a process, the farm starts ordinary ones later.

    Args:
        backend: As given; of `auto` and `cuda` the driver of the devices begins in this process too.
        here: Whether workers will be processes of this machine, as far as is known; else this does nothing.
    """
    before = gc.get_threshold()
    try:
        gc.set_threshold(*COLLECT_RARELY)
        if here:
            begin_driver(backend)
            start(1)
        yield
    finally:
        end_waiting()
        gc.set_threshold(*before)


def start(count: int) -> None:
    """Start processes for the workers 0 to `count` - 1, but those that are there; end others.

    Where the system refuses a process there are fewer.
    """
    with _lock:
        beyond = [_processes.pop(number) for number in list(_processes) if number >= count]
        with suppress(OSError):
            for number in range(count):
                if number not in _processes:
                    _processes[number] = _started()
    for one in beyond:
        one.end()


def prepare(workers: int | str | Mapping[str, int | str], *, backend: str, in_space: bool) -> None:
    """Start a process for each worker of a local cluster, and its device.

    On mixed hardware there stays the one that there is.

    Args:
        workers: As `[cluster]` has them.
        backend: What solves.
        in_space: Whether the antennas are.

    Raises:
        ClusterError: They would be too many.
    """
    if not _processes or isinstance(workers, Mapping):
        return
    asked = None if workers == "auto" else int(workers)
    if backend != "cuda":
        check_processes(asked)
        start(asked or usable_cores())
        start_devices([NO_DEVICE] * len(_processes))
        return
    with suppress(ClusterError, DeviceError):  # the farm raises the same error when it opens
        devices = enough_devices(asked)
        if asked is None:
            devices *= processes_a_device({"solver": "yee"} if in_space else {}, len(devices))
        start(len(devices))
        start_devices(devices)


def end_waiting() -> None:
    """End the processes that no nanny has taken."""
    with _lock:
        waiting = list(_processes.values())
        _processes.clear()
    for one in waiting:
        one.end()


def start_devices(uuids: Sequence[str]) -> None:
    """Let processes start their devices, or import what solves on cores.

    Args:
        uuids: One a worker, by number, or `NO_DEVICE`.
    """
    with _lock:
        for number, uuid in enumerate(uuids):
            if number in _processes:
                with suppress(OSError):  # it has ended
                    _processes[number].channel.sendall(_framed(uuid.encode()))


def is_any_waiting() -> bool:
    """Whether there is a process that a nanny may take."""
    return bool(_processes)


def _started() -> _Waiting:
    """Start a process.

    Raises:
        OSError: The system refuses it.
    """
    ours, its = socket.socketpair()
    with its:
        command = spawn.get_command_line()
        command[command.index("-c") + 1] = (
            f"import json, os, sys; sys.path[:] = json.loads(os.environ.pop({_PATH!r})); "
            f"from {__name__} import spawn_main; spawn_main({its.fileno()})"
        )
        folders = {_PATH: json.dumps([str(one) for one in sys.path])}
        try:
            ours.settimeout(SEND_S)
            process = subprocess.Popen(  # noqa: S603
                command,
                pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **_SET_LATER, **WORKER_ENVIRONMENT, **folders},
            )
        except BaseException:
            ours.close()
            raise
    return _Waiting(process=process, channel=ours)


def _framed(data: bytes) -> bytes:
    return _HEADER.pack(len(data)) + data


class _Index:
    """Stands for a file descriptor in what is pickled for a process."""

    def __init__(self, index: int) -> None:
        self._index = index

    def detach(self) -> int:
        """Return the descriptor, in that process."""
        return _received[self._index]


class _Popen(popen_fork.Popen):
    """Hands a process of `multiprocessing` over to one that waits.

    Raises:
        OSError: That process has ended, or does not read.
    """

    method = "spawn"
    DupFd = _Index

    def __init__(self, process: contexts.SpawnProcess, early: _Waiting) -> None:
        self._early = early
        self._descriptors: list[int] = []
        super().__init__(process)

    def duplicate_for_child(self, fd: int) -> int:
        """Send a descriptor along; return what stands for it."""
        self._descriptors.append(fd)
        return len(self._descriptors) - 1

    def _launch(self, process_obj: Any) -> None:
        data, channel = io.BytesIO(), self._early.channel
        contexts.set_spawning_popen(self)  # pyright: ignore[reportArgumentType] - as of any other method
        try:
            reduction.dump(spawn.get_preparation_data(process_obj.name), data)
            reduction.dump(process_obj, data)
        finally:
            contexts.set_spawning_popen(None)
        environment = json.dumps(dict(os.environ)).encode()
        descriptors = [*self._descriptors, resource_tracker.getfd()]
        socket.send_fds(channel, [_HEADER.pack(len(environment))], descriptors)
        channel.sendall(environment)
        channel.sendall(data.getbuffer())
        self.pid = self._early.process.pid
        self._early.process.returncode = 0  # `multiprocessing` waits for its end from now on
        channel.settimeout(None)
        self.sentinel = channel.detach()
        self.finalizer = util.Finalize(self, util.close_fds, [self.sentinel])  # pyright: ignore[reportAttributeAccessIssue]


class _Process(contexts.SpawnProcess):
    """A process that begins in one that waits, where there is one with its worker's number."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.number = NUMBER.get()

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 - of multiprocessing
        with _lock:
            early = _processes.pop(process_obj.number, None)
        if early is not None:
            try:
                return _Popen(process_obj, early)
            except OSError:
                early.end()
        return contexts.SpawnProcess._Popen(process_obj)


class _Context(contexts.SpawnContext):
    Process = _Process


contexts._concrete_contexts[METHOD] = _Context()  # pyright: ignore[reportAttributeAccessIssue]

_received: list[int] = []  # file descriptors, in a process that a nanny took
_devices: list[Thread] = []  # what starts this process's device


def spawn_main(descriptor: int) -> None:
    """Import what solves, wait for what this process is to do, and do it; the entry of such a process.

    Args:
        descriptor: Of its end of the socket.
    """
    gc.set_threshold(*COLLECT_RARELY)
    channel = socket.socket(fileno=descriptor)
    imports = [_begun(_import, *SOLVING)]
    own: dict[str, str] = {}
    environment: dict[str, str] = {}
    while not _received:
        header, descriptors, *_ = socket.recv_fds(channel, _HEADER.size, _MOST_DESCRIPTORS, socket.MSG_WAITALL)
        if len(header) < _HEADER.size:
            os._exit(0)  # the driver has ended, or does not need this process
        text = channel.recv(_HEADER.unpack(header)[0], socket.MSG_WAITALL).decode() if header != _NOTHING else ""
        if descriptors:
            environment = json.loads(text)
            _received[:] = descriptors
        elif text == NO_DEVICE:
            imports.append(_begun(_import, "fdtd.backends.cpu", after=imports[0]))
        else:
            os.environ[VISIBLE] = own[VISIBLE] = text
            _devices.append(_begun(start_device))
    for one in imports:  # two threads that import may see each other's modules half made
        one.join()
    os.environ.update({name: text for name, text in {**environment, **own}.items() if os.environ.get(name) != text})
    resource_tracker._resource_tracker._fd = _received[-1]  # pyright: ignore[reportAttributeAccessIssue]
    parent = os.dup(channel.fileno())
    sys.exit(spawn._main(channel.detach(), parent))


def is_device_starting() -> bool:
    """Whether this process has begun to start its device."""
    return bool(_devices)


def start_device() -> None:
    """Import what solves and start the device, before anything asks for both."""
    with suppress(Exception):  # whatever needs the device starts it again, and raises the error
        import_module("antennaopt.solve.evaluate")
        import_module("fdtd.backends.cuda").device().free_bytes()


def _import(*names: str, after: Thread | None = None) -> None:
    if after is not None:
        after.join()
    with suppress(Exception):  # whatever needs the module imports it again, and raises the error
        for name in names:
            import_module(name)


def _begun(task: Callable[..., None], *arguments: Any, **options: Any) -> Thread:
    thread = Thread(target=task, args=arguments, kwargs=options, daemon=True)
    thread.start()
    return thread
