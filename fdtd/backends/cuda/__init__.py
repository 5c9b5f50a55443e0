"""The CUDA backend: whole batches on one device. CuPy is imported when a device is first asked for."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from fdtd.axisymmetric.problem import Problem, Records, Watch
from fdtd.backends.cuda.choice import choose
from fdtd.backends.cuda.device import CudaDevice, Device
from fdtd.backends.cuda.stepping import Batch
from fdtd.errors import ConfigError
from fdtd.schemes.antennas import SCHEMES

_PRECISIONS = ("float32", "float64")

_STEPPING = threading.Lock()
"""One batch steps at a time: kernels of equal text share their constant memory. Another thread may prepare the next
batch meanwhile, or look at what the last one left."""


@lru_cache(maxsize=1)
def device() -> CudaDevice:
    """The device of this process, looked up once.

    cuBLAS is given a workspace of one size before it is loaded: by default it picks its kernels, and with them the
    order of a sum, by what other streams leave it, and an antenna's last bits would depend on the batch beside its own.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return CudaDevice()


def run(
    problem: Problem,
    *,
    precision: str = "float32",
    scheme: str | None = None,
    watch: Watch | None = None,
    on: Device | None = None,
    **choice: Any,
) -> Records:
    """Step a batch to its end.

    Args:
        problem: What to step.
        precision: "float32" or "float64".
        scheme: The order in which cells are visited, one of `SCHEMES`; the fastest that can if None (see
            `fdtd.backends.cuda.choice.choose`).
        watch: Told of every look at the first antenna's energy.
        on: Where to run; the CUDA device if None.
        choice: What the scheme's plan is told.

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
    if scheme is not None and scheme not in SCHEMES:
        raise ConfigError(f"scheme = {scheme!r} is unknown (allowed: {', '.join(SCHEMES)})")
    where = device() if on is None else on
    name = choose(problem, precision, where.limits)[0] if scheme is None else scheme
    batch = Batch(where, problem, SCHEMES[name](problem, precision, where.limits, **choice), precision)
    batch.running()  # waits until everything is in place
    with _STEPPING:
        start = time.perf_counter()
        _march(batch, problem, watch)
        records = batch.records()  # waits for the end
        return replace(records, seconds=time.perf_counter() - start)


def _march(batch: Batch, problem: Problem, watch: Watch | None) -> None:
    """Start launch after launch until no antenna runs.

    One launch waits behind the one that runs, so that the device need not wait for the host's look at who runs; an
    antenna that has stopped does nothing in it.
    """
    sampling = problem.sampling
    looks: deque[tuple[int, Callable[[], tuple[np.ndarray, np.ndarray]]]] = deque()

    def seen() -> bool:
        step, look = looks.popleft()
        running, ratios = look()
        if watch is not None:
            watch(step, float(ratios[0]))
        return bool(running.any())

    while batch.steps < sampling.steps:
        batch.advance(min(batch.steps + sampling.check_every, sampling.steps))
        if batch.steps % sampling.check_every == 0:
            looks.append((batch.steps, batch.start_look()))
        if len(looks) > 1 and not seen():
            break
    else:
        while looks and seen():
            pass
    for _, look in looks:  # copies must have arrived before their memory is anybody else's
        look()
