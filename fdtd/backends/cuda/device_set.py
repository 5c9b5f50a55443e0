"""Several devices of one host: streams, events between them, copies from one to another, and graphs of all of these."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from fdtd.backends.cuda.device import CudaDevice, Device
from fdtd.backends.cuda.text import flatten
from fdtd.errors import DeviceError

MAIN, EDGE, COPY = range(3)
"""Streams of a device: for most of the work; for what neighbours wait for, which goes first; for what comes by way of
the host."""
UNIT = 16
"""Bytes; whole ones are copied between devices."""
_SEND_THREADS, _SEND_BLOCKS = 256, 64  # of a row
_TO_HOST, _TO_DEVICE = 2, 1  # cudaMemcpyKind
_ENABLED_ALREADY = 704  # cudaErrorPeerAccessAlreadyEnabled
_PRIORITIES = {MAIN: 0, EDGE: -2, COPY: -2}


@dataclass(frozen=True, kw_only=True)
class Part:
    """Rows of numbers in a buffer of one device.

    Attributes:
        device: Its place in the set.
        buffer: As the device's `upload` or `zeros` made it, one axis.
        first: Number where the first row begins.
        count: Numbers of a row; whole units of 16 bytes.
        rows: Their number.
        apart: Numbers from one row to the next.
    """

    device: int
    buffer: Any
    first: int
    count: int
    rows: int = 1
    apart: int = 0

    def in_units(self, number: int) -> int:
        """Return the units that a count of numbers makes."""
        return number * self.buffer.dtype.itemsize // UNIT


class DeviceSet(Protocol):
    """Devices that work on one problem; the host emulation of the tests has the same shape."""

    @property
    def devices(self) -> Sequence[Device]:
        """The devices; the first has what is of the whole problem."""
        ...

    def here(self, device: int) -> AbstractContextManager[None]:
        """Make a device the current one, for what its `Device` does outside streams."""
        ...

    def on(self, device: int, stream: int) -> AbstractContextManager[None]:
        """Start what follows on a stream of a device."""
        ...

    def mark(self, device: int, stream: int) -> Any:
        """Return a mark after everything started on a stream so far."""
        ...

    def wait(self, device: int, stream: int, mark: Any) -> None:
        """Let what is started on a stream from now on wait for a mark."""
        ...

    def send(self, source: Part, to: Part, stream: int) -> Any:
        """Copy a part to another, on a stream of the device that it comes from; return a mark after it is there."""
        ...

    def replay(self, known: dict[Hashable, Any], key: Hashable, start: Callable[[], None]) -> None:
        """Start what a function starts, which is the same for the same key; from the second time on in one go.

        It begins on the first device's main stream, where it ends as well, and all other streams wait for that.

        Args:
            known: Keeps what was captured, by key, as long as the buffers that it is of.
            key: Names it.
            start: Starts it.
        """
        ...

    def begin(self) -> None:
        """Let all streams wait for what was started outside them."""
        ...

    def end(self) -> None:
        """Let what is started outside streams from now on wait for all that was started on them."""
        ...


class CudaSet:
    """The first CUDA devices of this process through CuPy.

    Args:
        count: Devices.
        first: That of this process; one of its own if None.
        peers: Whether devices may copy into each other's memory, where they can; if not, copies go by way of the host.

    Raises:
        DeviceError: There are fewer devices.

    Warns:
        UserWarning: A device cannot reach the memory of another; copies go by way of the host.
    """

    def __init__(self, count: int, first: CudaDevice | None = None, *, peers: bool = True) -> None:
        one = CudaDevice() if first is None else first
        import cupy  # pyright: ignore[reportMissingImports]

        self._cupy: Any = cupy
        there = cupy.cuda.runtime.getDeviceCount()
        if count > there:
            many = "1 CUDA device" if there == 1 else f"{there} CUDA devices"
            raise DeviceError(f"devices = {count}, but this machine has {many}; use at most {there}")
        self._numbers = [(cupy.cuda.Device().id + place) % there for place in range(count)]
        made = [one]
        for number in self._numbers[1:]:
            with cupy.cuda.Device(number):
                made.append(CudaDevice())
        self.devices: Sequence[CudaDevice] = made
        self.name = one.name
        self.peers = peers and self._joined()
        self._streams: list[list[Any]] = []
        for number in self._numbers:
            with cupy.cuda.Device(number):
                self._streams.append(
                    [cupy.cuda.Stream(non_blocking=True, priority=_PRIORITIES[which]) for which in (MAIN, EDGE, COPY)]
                )
        self._text = flatten("kernels/yee/copy_rows.cu", {})
        self._pinned: dict[tuple[int, int, int, int], Any] = {}

    def _joined(self) -> bool:
        """Let each device write into the memory of all others; warn where one cannot."""
        runtime = self._cupy.cuda.runtime
        for own in self._numbers:
            for other in self._numbers:
                if own == other:
                    continue
                if not runtime.deviceCanAccessPeer(own, other):
                    warnings.warn(
                        f"device {own} cannot reach the memory of device {other}; planes are copied by way of the "
                        "host, which is slower",
                        UserWarning,
                        stacklevel=3,
                    )
                    return False
                with self._cupy.cuda.Device(own):
                    try:
                        runtime.deviceEnablePeerAccess(other)
                    except runtime.CUDARuntimeError as error:
                        if error.status != _ENABLED_ALREADY:
                            raise
        return True

    def here(self, device: int) -> AbstractContextManager[None]:
        """Make a device the current one."""
        return self._cupy.cuda.Device(self._numbers[device])

    @contextmanager
    def on(self, device: int, stream: int) -> Iterator[None]:
        """Start what follows on a stream of a device."""
        with self.here(device), self._streams[device][stream]:
            yield

    def mark(self, device: int, stream: int) -> Any:
        """Return an event after everything started on a stream so far."""
        with self.here(device):
            event = self._cupy.cuda.Event(disable_timing=True)
            event.record(self._streams[device][stream])
            return event

    def wait(self, device: int, stream: int, mark: Any) -> None:
        """Let what is started on a stream from now on wait for an event."""
        self._streams[device][stream].wait_event(mark)

    def send(self, source: Part, to: Part, stream: int) -> Any:
        """Copy by a kernel of the source's device, or by way of the host."""
        if self.peers or source.device == to.device:
            send(self, source, to, stream, self._text)
            return self.mark(source.device, stream)
        runtime, size = self._cupy.cuda.runtime, source.buffer.dtype.itemsize
        # Copies of one size that start on one stream follow each other.
        key = source.device, to.device, stream, source.count * source.rows * size
        if key not in self._pinned:
            self._pinned[key] = self._cupy.cuda.alloc_pinned_memory(key[-1])
        pinned, row = self._pinned[key].ptr, source.count * size
        for at in range(source.rows):
            begin = int(source.buffer.data.ptr) + (source.first + at * source.apart) * size
            with self.here(source.device):
                queue = self._streams[source.device][stream].ptr
                runtime.memcpyAsync(pinned + at * row, begin, row, _TO_HOST, queue)
        self.wait(to.device, COPY, self.mark(source.device, stream))
        for at in range(to.rows):
            begin = int(to.buffer.data.ptr) + (to.first + at * to.apart) * size
            with self.here(to.device):
                queue = self._streams[to.device][COPY].ptr
                runtime.memcpyAsync(begin, pinned + at * row, row, _TO_DEVICE, queue)
        return self.mark(to.device, COPY)

    def replay(self, known: dict[Hashable, Any], key: Hashable, start: Callable[[], None]) -> None:
        """Start it as it is once, so that all is compiled and loaded; then capture it as a graph, which is launched."""
        if key not in known:
            known[key] = None
            start()
            return
        origin = self._streams[0][MAIN]
        if known[key] is None:
            with self.here(0):
                origin.begin_capture()
                try:
                    start()
                finally:
                    known[key] = origin.end_capture()
        with self.here(0):
            known[key].launch(origin)

    def begin(self) -> None:
        """Let all streams wait for what was started on the current stream of their device."""
        for device, streams in enumerate(self._streams):
            with self.here(device):
                event = self._cupy.cuda.Event(disable_timing=True)
                event.record(self._cupy.cuda.get_current_stream())
            for stream in streams:
                stream.wait_event(event)

    def end(self) -> None:
        """Let the current stream of each device wait for all streams."""
        for device, streams in enumerate(self._streams):
            marks = [self.mark(other, which) for other in range(len(self._streams)) for which in range(len(streams))]
            with self.here(device):
                current = self._cupy.cuda.get_current_stream()
                for mark in marks:
                    current.wait_event(mark)

    def synchronize(self) -> None:
        """Wait for everything started."""
        for device in range(len(self._streams)):
            with self.here(device):
                self._cupy.cuda.Device().synchronize()

    def release(self) -> None:
        """Give back what is kept for the next arrays."""
        for device, one in enumerate(self.devices):
            with self.here(device):
                one.release()


def send(devices: DeviceSet, source: Part, to: Part, stream: int, text: str) -> None:
    """Start the kernel that copies a part to another, on a stream of the source's device."""
    units = source.in_units(source.count)
    blocks = min(-(-units // _SEND_THREADS), _SEND_BLOCKS)
    ends = source.buffer[source.first :], to.buffer[to.first :]
    apart = source.in_units(source.apart), to.in_units(to.apart)
    with devices.on(source.device, stream):
        devices.devices[source.device].start(
            text, "copy_rows", (blocks, source.rows), _SEND_THREADS, *ends, units, *apart
        )
