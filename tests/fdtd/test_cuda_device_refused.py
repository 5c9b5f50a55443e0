"""A CUDA device by a made-up CuPy: what it may refuse, with errors that help; which launches follow each other."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fdtd.backends.cuda.device import CudaDevice, CudaProgram
from fdtd.errors import DeviceError, KernelBuildError, OutOfMemory
from fdtd.schemes.machine import HOPPER

PROPERTIES = {
    "name": b"NVIDIA H200", "major": 9, "minor": 0, "multiProcessorCount": 132, "sharedMemPerBlockOptin": 232448,
    "regsPerMultiprocessor": 65536, "totalGlobalMem": 150 * 10**9,
}  # fmt: skip
LOG = "/tmp/kernel.cu(7): error: SHARED_BYTES must be set\n\n1 error detected in the compilation.\n" + "text\n" * 900


class RuntimeRefused(Exception):  # noqa: N818 - stands for cupy's
    pass


class CompileRefused(Exception):  # noqa: N818
    pass


class MemoryRefused(Exception):  # noqa: N818
    pass


class Module:
    def __init__(self, **settings: Any) -> None:
        pass

    def compile(self) -> None:
        raise CompileRefused(LOG)


def no_room(array: Any) -> Any:
    raise MemoryRefused


def cupy(count: int = 1, refused: str = "") -> Any:
    def devices() -> int:
        if refused:
            raise RuntimeRefused(refused)
        return count

    runtime = SimpleNamespace(
        CUDARuntimeError=RuntimeRefused, getDeviceCount=devices, getDeviceProperties=lambda place: PROPERTIES,
        free=lambda address: None,
    )  # fmt: skip
    cuda = SimpleNamespace(
        runtime=runtime, compiler=SimpleNamespace(CompileException=CompileRefused),
        memory=SimpleNamespace(OutOfMemoryError=MemoryRefused),
        Device=lambda: SimpleNamespace(id=0, mem_info=(2 * 10**9, 150 * 10**9)),
    )  # fmt: skip
    return SimpleNamespace(cuda=cuda, RawModule=Module, asarray=no_room, ascontiguousarray=no_room)


def refusal(monkeypatch: pytest.MonkeyPatch, module: Any, kind: type[Exception]) -> str:
    monkeypatch.setitem(sys.modules, "cupy", module)
    with pytest.raises(kind) as caught:
        CudaDevice()
    return str(caught.value)


def test_no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    said = refusal(monkeypatch, None, DeviceError)
    assert said.startswith("backend cuda needs CuPy, which cannot be imported here")
    assert said.endswith("install antennaopt[cuda12] or antennaopt[cuda13], or use another backend")


def test_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(monkeypatch, cupy(0), DeviceError) == "backend cuda finds no CUDA device; use another backend"


def test_a_driver_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of the CUDA runtime; `present.devices`, which runs first, names the versions (test_doctor.py)."""
    old = "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"
    assert refusal(monkeypatch, cupy(refused=old), DeviceError) == (
        f"backend cuda cannot use a device here ({old}); use another backend"
    )


def test_a_kernel_that_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line of the compiler's, not its whole log with the kernel's text."""
    monkeypatch.setitem(sys.modules, "cupy", cupy())
    with pytest.raises(KernelBuildError) as caught:
        CudaDevice().program("text")
    assert str(caught.value) == (
        "a kernel does not compile for sm_90 (/tmp/kernel.cu(7): error: SHARED_BYTES must be set); a newer CuPy may "
        "know this card (`antennaopt doctor` shows what is there), or use --backend cpu"
    )


def test_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy())
    with pytest.raises(OutOfMemory) as caught:
        CudaDevice().upload(np.zeros(500_000_000, np.int8), copies=6)
    assert str(caught.value) == ("the device has 2.0 GB free, too little for another 3.0 GB; use a smaller batch")


class Stream:
    """Notes what it waits for and what is marked on it."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name, self._seen = name, seen

    def wait_event(self, event: Any) -> None:
        self._seen.append(f"{self.name} waits for {event.of}")


class Event:
    def __init__(self, **_: Any) -> None:
        self.of = ""

    def record(self, stream: Stream) -> None:
        self.of = stream.name


def test_launches_whose_blocks_wait_for_each_other_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads have streams of their own; else each launch could hold multiprocessors that the other needs."""
    monkeypatch.setattr(sys.modules[CudaProgram.__module__], "_LAST_TOGETHER", {})
    seen: list[str] = []
    streams = [Stream(name, seen) for name in ("first", "second", "first")]
    function = SimpleNamespace(kernel=lambda *_, **__: seen.append(f"launch on {streams[0].name}"))
    cuda = SimpleNamespace(
        get_current_stream=lambda: streams[0], Event=Event, runtime=SimpleNamespace(getDevice=lambda: 0)
    )
    program = object.__new__(CudaProgram)
    program.__dict__.update(_cupy=SimpleNamespace(cuda=cuda), _limits=HOPPER, _kernels={"resident": function})
    while streams:
        program.launch("resident", (20, 6), 320, shared=1000, together=True)
        del streams[0]
    assert seen == [
        "launch on first", "second waits for first", "launch on second", "first waits for second", "launch on first",
    ]  # fmt: skip
