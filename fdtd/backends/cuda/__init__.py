"""The CUDA backend: whole batches on one device. CuPy is imported when a device is first asked for."""

from __future__ import annotations

from functools import lru_cache

from fdtd.backends.cuda.device import CudaDevice, Device
from fdtd.backends.cuda.schemes import SCHEMES
from fdtd.backends.cuda.stepping import Batch
from fdtd.errors import ConfigError
from fdtd.problem import Problem, Records, Watch

_PRECISIONS = ("float32", "float64")


@lru_cache(maxsize=1)
def device() -> CudaDevice:
    """The device of this process, looked up once."""
    return CudaDevice()


def run(
    problem: Problem,
    *,
    precision: str = "float32",
    scheme: str = "one_step",
    watch: Watch | None = None,
    on: Device | None = None,
) -> Records:
    """Step a batch to its end.

    Args:
        problem: What to step.
        precision: "float32" or "float64".
        scheme: The order in which cells are visited, one of `SCHEMES`.
        watch: Told of every look at the first antenna's energy.
        on: Where to run; the CUDA device if None.

    Returns:
        Records in the given precision; those of one antenna do not depend on its neighbours in the batch.

    Raises:
        ConfigError: The precision or the scheme is unknown.
        DeviceError: No device, or too little memory.
        KernelBuildError: A kernel does not compile for the device.
        Unsuitable: The scheme cannot step this problem on this device.
    """
    if precision not in _PRECISIONS:
        raise ConfigError(f"precision = {precision!r} is unknown (allowed: {', '.join(_PRECISIONS)})")
    if scheme not in SCHEMES:
        raise ConfigError(f"scheme = {scheme!r} is unknown (allowed: {', '.join(SCHEMES)})")
    where = device() if on is None else on
    batch = Batch(where, problem, SCHEMES[scheme](problem, precision, where.limits), precision)
    sampling = problem.sampling
    while batch.steps < sampling.steps:
        batch.advance(min(batch.steps + sampling.check_every, sampling.steps))
        if batch.steps % sampling.check_every:
            break
        if watch is not None:
            watch(batch.steps, float(batch.fetch("energies")[2, 0]))
        if not batch.running().any():
            break
    return batch.records()
