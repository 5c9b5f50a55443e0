"""What the stepping needs of a device, and the CUDA device itself; CuPy is imported when it is made."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

from fdtd.backends.cuda.present import identity_of
from fdtd.errors import DeviceError, KernelBuildError, OutOfMemory
from fdtd.schemes.machine import Limits, Machine

# cudaDeviceAttr: clock (kHz), memory clock (kHz), bus width (bits), second-level cache (bytes).
_CLOCK, _MEMORY_CLOCK, _BUS, _CACHE = 13, 36, 37, 38
_COPY = 0.9  # of the memory's peak that a long copy reaches
_CACHE_BYTES_A_CYCLE = 27  # a multiprocessor


class Program(Protocol):
    """Compiled kernels of one text."""

    def set_parameters(self, data: bytes) -> None:
        """Copy the structure into the kernels' constant memory."""
        ...

    def launch(
        self,
        kernel: str,
        grid: tuple[int, ...],
        threads: int,
        *arguments: int,
        shared: int = 0,
        cluster: int = 1,
        together: bool = False,
    ) -> None:
        """Start a kernel; it runs after everything started before."""
        ...


class Device(Protocol):
    """Memory and programs; the host emulation of the tests has the same shape."""

    limits: Limits

    def upload(self, array: np.ndarray, copies: int = 1) -> Any:
        """A copy in device memory, or several one after the other."""
        ...

    def zeros(self, count: int, dtype: np.dtype | type) -> Any:
        """A buffer of zeros in device memory."""
        ...

    def free_bytes(self) -> int:
        """Return the memory that is free."""
        ...

    def address(self, buffer: Any) -> int:
        """Where a buffer starts."""
        ...

    def download(self, buffer: Any) -> np.ndarray:
        """A copy in host memory, once everything started has finished."""
        ...

    def start_download(self, buffer: Any) -> Callable[[], np.ndarray]:
        """Start a copy of what the buffer will hold after everything started so far; the result waits for it."""
        ...

    def program(self, text: str, place: int = 0) -> Program:
        """Compile a flattened text; programs of different places have constant memory of their own."""
        ...

    def start(self, text: str, kernel: str, grid: tuple[int, int], threads: int, *arguments: Any) -> None:
        """Start a kernel of a flattened text on buffers, int and float: one without a structure of parameters."""
        ...

    def apart(self, place: int, rank: int) -> AbstractContextManager[None]:
        """Start what follows on a stream of a place: after what was started before, and before what is afterwards.

        Blocks of the lowest rank go first.
        """
        ...

    def ahead(self) -> AbstractContextManager[None]:
        """Start what follows on this thread's own stream, whose kernels go ahead of those of places."""
        ...


class CudaDevice:
    """The current CUDA device through CuPy.

    Raises:
        DeviceError: CuPy is not installed, or there is no device that it can use.
    """

    def __init__(self) -> None:
        try:
            import cupy  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise DeviceError(
                f"backend cuda needs CuPy, which cannot be imported here ({error}); "
                "install antennaopt[cuda12] or antennaopt[cuda13], or use another backend"
            ) from error
        self._cupy: Any = cupy
        self.arrays: Any = cupy
        self._streams: dict[str, Any] = {}
        try:
            if cupy.cuda.runtime.getDeviceCount() < 1:
                raise DeviceError("backend cuda finds no CUDA device; use another backend")
            properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceError(f"backend cuda cannot use a device here ({error}); use another backend") from error
        self.name = properties["name"].decode()
        self.limits = Limits(
            capability=10 * properties["major"] + properties["minor"],
            multiprocessors=properties["multiProcessorCount"],
            shared_bytes=properties["sharedMemPerBlockOptin"],
            registers=properties["regsPerMultiprocessor"],
            memory_bytes=properties["totalGlobalMem"],
        )

    def upload(self, array: np.ndarray, copies: int = 1) -> Any:
        """A copy in device memory, or several one after the other."""
        with self._room(array.nbytes * copies):
            single = self._cupy.ascontiguousarray(self._cupy.asarray(array))
            return single if copies == 1 else self._cupy.concatenate([single] * copies)

    def zeros(self, count: int, dtype: np.dtype | type) -> Any:
        """A buffer of zeros in device memory."""
        with self._room(count * np.dtype(dtype).itemsize):
            return self._cupy.zeros(count, dtype)

    @contextmanager
    def _room(self, size: int) -> Iterator[None]:
        """Say how much was free where there was too little.

        Raises:
            OutOfMemory: There is no room for that many bytes.
        """
        try:
            yield
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            free = self._cupy.cuda.Device().mem_info[0]
            raise OutOfMemory(
                f"the device has {free / 1e9:.1f} GB free, too little for another {size / 1e9:.1f} GB; "
                "use a smaller batch"
            ) from error

    def address(self, buffer: Any) -> int:
        """Where a buffer starts."""
        return int(buffer.data.ptr)

    def download(self, buffer: Any) -> np.ndarray:
        """A copy in host memory."""
        return self._cupy.asnumpy(buffer)

    def start_download(self, buffer: Any) -> Callable[[], np.ndarray]:
        """A copy in pinned host memory, under way while more is started."""
        pinned = self._cupy.cuda.alloc_pinned_memory(buffer.nbytes)
        buffer.data.copy_to_host_async(pinned.ptr, buffer.nbytes)
        there = self._cupy.cuda.Event(disable_timing=True)
        there.record()

        def wait() -> np.ndarray:
            there.synchronize()
            return np.frombuffer(pinned, buffer.dtype, buffer.size).reshape(buffer.shape).copy()

        return wait

    def attribute(self, which: int) -> int:
        """One of the device's `cudaDeviceAttr`, by number."""
        return int(self._cupy.cuda.runtime.deviceGetAttribute(which, self._cupy.cuda.Device().id))

    def free_bytes(self) -> int:
        """Memory that is free, or kept by this process for its next arrays."""
        return int(self._cupy.cuda.Device().mem_info[0]) + int(self._cupy.get_default_memory_pool().free_bytes())

    def release(self) -> None:
        """Give back what is kept for the next arrays."""
        self._cupy.get_default_memory_pool().free_all_blocks()

    @property
    def identity(self) -> str:
        """Device, compute capability and driver: what timings hold for."""
        return identity_of(self.name, self.limits, self._cupy.cuda.runtime.driverGetVersion())

    @property
    def compiler(self) -> str:
        """The run-time compiler of the kernels and its version."""
        major, minor = self._cupy.cuda.nvrtc.getVersion()
        return f"NVRTC {major}.{minor}"

    def synchronize(self) -> None:
        """Wait for everything started."""
        self._cupy.cuda.Device().synchronize()

    def program(self, text: str, place: int = 0) -> CudaProgram:
        """Compile a flattened text, or take it from CuPy's cache; equal texts share a module there.

        Other texts are compiled at the same time where other threads ask for them. Of two threads with the same text
        one compiles and the other finds it done.
        """
        with _LOCKS:
            lock = _COMPILING.setdefault(text, threading.Lock())
        with lock:
            self._cupy.cuda.runtime.free(0)  # makes the device's context that of a thread that has not used it yet
            return CudaProgram(self._cupy, text, self.limits, place)

    def start(self, text: str, kernel: str, grid: tuple[int, int], threads: int, *arguments: Any) -> None:
        """Start a kernel on the current stream."""
        from fdtd.backends.cuda.rasterise import launcher

        launcher()(text, kernel, grid, threads, *arguments)

    @contextmanager
    def apart(self, place: int, rank: int) -> Iterator[None]:
        """Start what follows on a stream of a place: after what was started before, and before what is afterwards."""
        rank = min(rank, _RANKS - 1)
        stream = self._stream(f"place {place}, rank {rank}", rank - _RANKS)
        before = self._cupy.cuda.get_current_stream()
        stream.wait_event(before.record())
        try:
            with stream:
                yield
        finally:
            before.wait_event(stream.record())

    @contextmanager
    def ahead(self) -> Iterator[None]:
        """Start what follows on this thread's own stream, whose kernels go ahead of those of places."""
        stream = self._stream(f"thread {threading.get_ident()}", -_RANKS - 1)
        with stream:
            yield
            stream.synchronize()

    def _stream(self, key: str, priority: int) -> Any:
        if key not in self._streams:
            self._streams[key] = self._cupy.cuda.Stream(non_blocking=True, priority=priority)
        return self._streams[key]


_RANKS = 3  # priorities of batches; with that of all else no more than a device has
_PORTABLE_CLUSTER = 8  # blocks; larger clusters need the kernel's consent
_NON_PORTABLE_CLUSTERS = 14  # CUfunction_attribute

_COMPILING: dict[str, threading.Lock] = {}  # by text
_LOCKS = threading.Lock()  # of that table

# CuPy keeps one module, and so one constant memory, for equal texts: what was last copied there, by its address.
_LAST_PARAMETERS: dict[int, bytes] = {}
_OWNERS: dict[int, str] = {}  # text and place that a constant memory belongs to, by its address

_LAST_TOGETHER: dict[
    int, Any
] = {}  # event after a device's last launch whose blocks wait for each other, by its number
_IN_ORDER = threading.Lock()  # of that table


def _first_error(log: str) -> str:
    """Return the line of a compiler's log that has the error; the kernel's text follows it."""
    lines = [line.strip() for line in log.splitlines() if line.strip()] or ["the compiler does not say why"]
    return next((line for line in lines if "error" in line.lower()), lines[0])[:300]


class CudaProgram:
    """A compiled module of a place, whose constant memory no other place has.

    Places 0 and 1 load the same machine code: an empty list of C++ names is another entry in CuPy's table of modules,
    and the same one in its cache of compiled texts. Where it is not, and for further places, the text gets a comment.

    Raises:
        KernelBuildError: The text does not compile for this device.
    """

    def __init__(self, cupy: Any, text: str, limits: Limits, place: int = 0) -> None:
        self._cupy, self._limits = cupy, limits
        self._kernels: dict[str, Any] = {}
        own = f"{text}// place {place}\n" if place else text
        self._load(own if place > 1 else text, **({"name_expressions": ()} if place == 1 else {}))
        owner = _OWNERS.setdefault(self._address, own)
        if owner != own:
            self._load(own)

    def _load(self, text: str, **apart: Any) -> None:
        """Compile a text, or take it from CuPy's cache, and load it."""
        self._module = self._cupy.RawModule(code=text, options=("-std=c++17", "--extra-device-vectorization"), **apart)
        try:
            self._module.compile()
        except self._cupy.cuda.compiler.CompileException as error:
            raise KernelBuildError(
                f"a kernel does not compile for sm_{self._limits.capability} ({_first_error(str(error))}); a newer "
                "CuPy may know this card (`antennaopt doctor` shows what is there), or use --backend cpu"
            ) from error
        self._parameters = self._module.get_global("P")
        self._address = int(self._parameters.ptr)

    def set_parameters(self, data: bytes) -> None:
        """Copy the structure into the kernels' constant memory."""
        if _LAST_PARAMETERS.get(self._address) != data:
            host = np.frombuffer(data, np.uint8)
            self._parameters.copy_from_host(host.ctypes.data, host.nbytes)
            _LAST_PARAMETERS[self._address] = data

    def launch(
        self,
        kernel: str,
        grid: tuple[int, ...],
        threads: int,
        *arguments: int,
        shared: int = 0,
        cluster: int = 1,
        together: bool = False,
    ) -> None:
        """Start a kernel on the current stream."""
        if kernel not in self._kernels:
            function = self._module.get_function(kernel)
            if shared > 48 * 1024:  # equal texts share the function: leave it the most, in any order of batches
                function.max_dynamic_shared_size_bytes = self._limits.shared_bytes - function.shared_size_bytes
                function.preferred_shared_memory_carveout = 100  # %: several blocks of a multiprocessor need all of it
                if together:
                    function.preferred_shared_memory_carveout = -(
                        -100 * (shared + 1024) // (self._limits.shared_bytes + 1024)
                    )
            if cluster > _PORTABLE_CLUSTER:
                self._cupy.cuda.driver.funcSetAttribute(function.kernel.ptr, _NON_PORTABLE_CLUSTERS, 1)
            self._kernels[kernel] = function
        numbers = tuple(np.int32(argument) for argument in arguments)
        if not together:
            self._kernels[kernel](grid, (threads,), numbers, shared_mem=shared)
            return
        # All blocks are on the device at the same time, or the driver refuses: they may wait for each other. Launches
        # of other threads wait until it is over, so that two never hold multiprocessors that both need.
        stream, device = self._cupy.cuda.get_current_stream(), int(self._cupy.cuda.runtime.getDevice())
        with _IN_ORDER:
            if device in _LAST_TOGETHER:
                stream.wait_event(_LAST_TOGETHER[device])
            self._kernels[kernel].kernel(grid, (threads,), numbers, shared_mem=shared, enable_cooperative_groups=True)
            event = _LAST_TOGETHER[device] = self._cupy.cuda.Event(disable_timing=True)
            event.record(stream)

    def attributes(self, kernel: str) -> Mapping[str, int]:
        """Registers, spilled bytes and static shared memory of a kernel."""
        function = self._module.get_function(kernel)
        return {name: getattr(function, name) for name in ("num_regs", "local_size_bytes", "shared_size_bytes")}


def describe(device: CudaDevice | None = None) -> Machine:
    """Query a device.

    The memory's rate is nine tenths of clock times bus width at two transfers a clock; the cache's, which no query
    tells, what each multiprocessor can take from it.

    Args:
        device: The current one if None.

    Raises:
        DeviceError: There is none.
    """
    found = CudaDevice() if device is None else device
    clock = 1e3 * found.attribute(_CLOCK)
    return Machine(
        **asdict(found.limits),
        name=found.name,
        clock_hz=clock,
        l2_bytes=found.attribute(_CACHE),
        memory_bytes_per_s=_COPY * 2 * 1e3 * found.attribute(_MEMORY_CLOCK) * found.attribute(_BUS) / 8,
        l2_bytes_per_s=_CACHE_BYTES_A_CYCLE * found.limits.multiprocessors * clock,
    )
