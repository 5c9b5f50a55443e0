"""A `fdtd.backends.cuda.device_set.DeviceSet` on the CPU: streams are queues that run when a result is looked at.

Queues are put in a random order, again and again, and the first that waits for no mark goes on: others may fall far
behind. So an order that no mark asks for is not kept, as on devices, and numbers differ where one is missing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
from host_device import HostDevice, HostProgram

from fdtd.backends.cuda.device_set import COPY, EDGE, MAIN, Part, send
from fdtd.backends.cuda.text import flatten

_OTHER_ORDER = 0.05  # chance of another order before a piece of work
_OF_A_STREAM = 2  # numbers of its name; a replay's queues have one more


class Mark:
    """Whether a stream has come to it."""

    done = False


class HostSet:
    """Emulated devices.

    Args:
        count: Devices.
        seed: Of the order.
        peers: Whether copies go straight; if not, by way of the host.
    """

    def __init__(self, count: int, seed: int = 1, *, peers: bool = True) -> None:
        self.devices = [QueuedDevice(self) for _ in range(count)]
        self.peers, self._lots = peers, np.random.default_rng(seed)
        self._queues: dict[tuple[int, ...], deque[Any]] = {
            (device, stream): deque() for device in range(count) for stream in (MAIN, EDGE, COPY)
        }
        self._order = list(self._queues)  # the first that can goes on
        self._current: tuple[int, int] | None = None
        self._captured: list[Any] | None = None
        self._text = flatten("kernels/yee/copy_rows.cu", {})
        self.copies, self._replays = 0, 0

    def here(self, device: int) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def on(self, device: int, stream: int) -> Iterator[None]:
        before, self._current = self._current, (device, stream)
        yield
        self._current = before

    def start(self, work: Callable[[], Any]) -> None:
        """Put work into the current queue; at once outside streams."""
        if self._current is None:
            work()
        else:
            self._put(self._current, work)

    def _put(self, queue: tuple[int, ...], work: Any) -> None:
        self._queues[queue].append(work)
        if self._captured is not None:
            self._captured.append((queue, work))

    def mark(self, device: int, stream: int) -> Mark:
        mark = Mark()
        self._put((device, stream), ("mark", mark))
        return mark

    def wait(self, device: int, stream: int, mark: Mark) -> None:
        if self._captured is not None:
            assert any(work == ("mark", mark) for _, work in self._captured), "a graph waits for a mark outside it"
        self._put((device, stream), ("wait", mark))

    def send(self, source: Part, to: Part, stream: int) -> Mark:
        self.copies += 1
        if self.peers or source.device == to.device:
            send(self, source, to, stream, self._text)  # type: ignore[arg-type]
            return self.mark(source.device, stream)
        staged: list[np.ndarray] = []

        def rows(part: Part) -> list[slice]:
            starts = (part.first + at * part.apart for at in range(part.rows))
            return [slice(start, start + part.count) for start in starts]

        def fetch() -> None:
            staged[:] = [source.buffer[row].copy() for row in rows(source)]

        def store() -> None:
            for row, values in zip(rows(to), staged, strict=True):
                to.buffer[row] = values

        self._put((source.device, stream), fetch)
        self.wait(to.device, COPY, self.mark(source.device, stream))
        self._put((to.device, COPY), store)
        return self.mark(to.device, COPY)

    def replay(self, known: dict[Hashable, Any], key: Hashable, start: Callable[[], None]) -> None:
        if key in known:
            self._replays += 1
            fresh: dict[Mark, Mark] = {}
            apart = {queue: (*queue, self._replays) for queue, _ in known[key]}  # a graph waits for its origin alone
            begun = self.mark(0, MAIN)
            for own in apart.values():
                self._queues[own] = deque([("wait", begun)])
                self._order.insert(int(self._lots.integers(len(self._order) + 1)), own)
            for queue, work in known[key]:
                if isinstance(work, tuple):
                    work = work[0], fresh.setdefault(work[1], Mark())
                self._put(apart[queue], work)
            for own in apart.values():
                ended = Mark()
                self._put(own, ("mark", ended))
                self.wait(0, MAIN, ended)
            return
        self._captured = []
        start()
        known[key], self._captured = self._captured, None

    def begin(self) -> None:
        self.run()

    def end(self) -> None:
        pass

    def run(self) -> None:
        """Run all queues to their ends."""
        while any(self._queues.values()):
            if self._lots.random() < _OTHER_ORDER:
                self._lots.shuffle(self._order)
            able = [name for name in self._order if self._queues[name] and not _blocked(self._queues[name][0])]
            assert able, "all streams wait"
            work = self._queues[able[0]].popleft()
            if _is(work, "mark"):
                work[1].done = True
            elif not isinstance(work, tuple):
                work()
        self._order = [name for name in self._order if len(name) == _OF_A_STREAM]
        self._queues = {name: self._queues[name] for name in self._order}


def _is(work: Any, kind: str) -> bool:
    return isinstance(work, tuple) and work[0] == kind


def _blocked(work: Any) -> bool:
    return _is(work, "wait") and not work[1].done


class QueuedDevice(HostDevice):
    """Puts launches into the current queue of its set; results wait until all queues are empty."""

    def __init__(self, devices: HostSet) -> None:
        super().__init__()
        self._set = devices

    def download(self, buffer: np.ndarray) -> np.ndarray:
        self._set.run()
        return super().download(buffer)

    def start_download(self, buffer: np.ndarray) -> Callable[[], np.ndarray]:
        return lambda: self.download(buffer)

    def program(self, text: str, place: int = 0) -> QueuedProgram:  # type: ignore[override]
        return QueuedProgram(self._set, super().program(text, place))

    def start(self, text: str, kernel: str, grid: tuple[int, int], threads: int, *arguments: Any) -> None:
        self._set.start(lambda: super(QueuedDevice, self).start(text, kernel, grid, threads, *arguments))

    @contextmanager
    def ahead(self) -> Iterator[None]:  # type: ignore[override]
        self._set.run()
        yield


class QueuedProgram:
    """A program of one device: equal texts share a library here, so each launch brings its parameters."""

    def __init__(self, devices: HostSet, program: HostProgram) -> None:
        self._set, self._program = devices, program
        self._parameters = b""

    def set_parameters(self, data: bytes) -> None:
        self._parameters = data

    def launch(
        self, kernel: str, grid: tuple[int, ...], threads: int, *arguments: int, shared: int = 0, cluster: int = 1
    ) -> None:
        data = self._parameters

        def work() -> None:
            self._program.set_parameters(data)
            self._program.launch(kernel, grid, threads, *arguments, shared=shared, cluster=cluster)

        self._set.start(work)
