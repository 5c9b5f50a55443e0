"""CUDA devices of this machine, from the driver alone: no CuPy and no context, so that any process may query them."""

from __future__ import annotations

import ctypes
import uuid
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from fdtd.errors import DeviceError
from fdtd.schemes.machine import Limits

OLDEST = 80
"""Compute capability, times ten, that the kernels need: their copies into shared memory are asynchronous."""

# CUdevice_attribute
_MULTIPROCESSORS, _MAJOR, _MINOR, _REGISTERS, _SHARED = 16, 75, 76, 82, 97
_NEEDS = {"cupy-cuda11x": 11000, "cupy-cuda12x": 12000, "cupy-cuda13x": 13000}  # driver's CUDA version
_LIBRARIES = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")
_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
_WAYS_OUT = "use --backend cpu, or a machine with one"


@dataclass(frozen=True, kw_only=True)
class Found:
    """A device as its driver describes it.

    Attributes:
        uuid: What `CUDA_VISIBLE_DEVICES` takes.
        name: For people.
        limits: For planning.
    """

    uuid: str
    name: str
    limits: Limits

    @property
    def identity(self) -> str:
        """Device, compute capability and driver, as `CudaDevice.identity` has them."""
        return identity_of(self.name, self.limits, driver_version())


def devices() -> tuple[Found, ...]:
    """Every device that the CUDA backend can use here, at least one.

    Raises:
        DeviceError: There is none, or what it needs is missing or too old; the message names a remedy.
    """
    version = driver_version()
    _check_cupy(version)
    found = _all_devices()
    fit = tuple(one for one in found if one.limits.capability >= OLDEST)
    if not fit:
        raise DeviceError(
            f"{found[0].name} has compute capability {found[0].limits.capability / 10:.1f}, and the kernels need "
            f"{OLDEST / 10:.1f} or later; use --backend cpu, or a newer card"
        )
    return fit


def identity_of(name: str, limits: Limits, driver: int) -> str:
    """Return what timings hold for: device, compute capability and driver."""
    return f"{name}, compute capability {limits.capability / 10:.1f}, driver {driver}"


def driver_version() -> int:
    """The newest CUDA that the driver runs: 13000 for 13.0.

    Raises:
        DeviceError: There is no driver.
    """
    version = ctypes.c_int()
    _check(_driver().cuDriverGetVersion(ctypes.byref(version)))
    return version.value


def cupy_package() -> str | None:
    """Name and version of the CuPy that is installed, or None; it is not imported."""
    if find_spec("cupy") is None:
        return None
    for name in (*_NEEDS, "cupy"):
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return "cupy"


def _check_cupy(version: int) -> None:
    package = cupy_package()
    extra = "cuda13" if version >= _NEEDS["cupy-cuda13x"] else "cuda12"
    if package is None:
        raise DeviceError(
            f"CuPy is not installed, and there is a driver for CUDA {_dotted(version)}; "
            f"`pip install 'antennaopt[{extra}]'`, or use --backend cpu"
        )
    needed = _NEEDS.get(package.partition(" ")[0], 0)
    if version < needed:
        raise DeviceError(
            f"the driver runs CUDA {_dotted(version)} and is too old for {package} (needs {_dotted(needed)}); "
            f"update the driver, install antennaopt[{extra}] instead, or use --backend cpu"
        )


@lru_cache(maxsize=1)
def _driver() -> Any:
    """The driver's library, initialised.

    Raises:
        DeviceError: There is none, or it finds no device.
    """
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        code = library.cuInit(0)
        if code == _NO_DEVICE:
            raise DeviceError(f"the CUDA driver finds no device (CUDA_VISIBLE_DEVICES may hide it); {_WAYS_OUT}")
        _check(code)
        return library
    raise DeviceError(f"there is no NVIDIA driver here; {_WAYS_OUT}")


def _all_devices() -> list[Found]:
    library, count = _driver(), ctypes.c_int()
    _check(library.cuDeviceGetCount(ctypes.byref(count)))
    if count.value < 1:
        raise DeviceError(f"the CUDA driver finds no device (CUDA_VISIBLE_DEVICES may hide it); {_WAYS_OUT}")
    return [_describe(library, place) for place in range(count.value)]


def _describe(library: Any, place: int) -> Found:
    device, memory = ctypes.c_int(), ctypes.c_size_t()
    name, raw = ctypes.create_string_buffer(128), (ctypes.c_ubyte * 16)()
    _check(library.cuDeviceGet(ctypes.byref(device), place))
    _check(library.cuDeviceGetName(name, len(name), device))
    _check(library.cuDeviceGetUuid(raw, device))
    _check(library.cuDeviceTotalMem_v2(ctypes.byref(memory), device))

    def attribute(which: int) -> int:
        value = ctypes.c_int()
        _check(library.cuDeviceGetAttribute(ctypes.byref(value), which, device))
        return value.value

    return Found(
        uuid=f"GPU-{uuid.UUID(bytes=bytes(raw))}",
        name=name.value.decode(),
        limits=Limits(
            capability=10 * attribute(_MAJOR) + attribute(_MINOR),
            multiprocessors=attribute(_MULTIPROCESSORS),
            shared_bytes=attribute(_SHARED),
            registers=attribute(_REGISTERS),
            memory_bytes=memory.value,
        ),
    )


def _check(code: int) -> None:
    if code:
        raise DeviceError(f"the CUDA driver does not answer (error {code}); `nvidia-smi` may say why; {_WAYS_OUT}")


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"
