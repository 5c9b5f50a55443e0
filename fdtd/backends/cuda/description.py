"""The numbers of the CUDA device here, for predictions."""

from __future__ import annotations

from fdtd.backends.cuda.device import CudaDevice
from fdtd.schemes.machine import Machine

# cudaDeviceAttr: clock (kHz), memory clock (kHz), bus width (bits), second-level cache (bytes).
_CLOCK, _MEMORY_CLOCK, _BUS, _CACHE = 13, 36, 37, 38
_COPY = 0.9  # of the memory's peak that a long copy reaches
_CACHE_BYTES_A_CYCLE = 27  # a multiprocessor


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
        name=found.name,
        capability=found.limits.capability,
        multiprocessors=found.limits.multiprocessors,
        clock_hz=clock,
        registers=found.limits.registers,
        shared_bytes=found.limits.shared_bytes,
        l2_bytes=found.attribute(_CACHE),
        memory_bytes_per_s=_COPY * 2 * 1e3 * found.attribute(_MEMORY_CLOCK) * found.attribute(_BUS) / 8,
        l2_bytes_per_s=_CACHE_BYTES_A_CYCLE * found.limits.multiprocessors * clock,
        memory_bytes=found.limits.memory_bytes,
    )
