"""Backends: available ones, the choice of `auto`, the cores and devices of this machine, and a worker's device.

The driver has no CUDA context; workers are queried.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from threading import Thread
from typing import Any

from antennaopt.errors import ClusterError, ConfigurationError
from antennaopt.solve.lattices import cell_count
from fdtd.errors import DeviceError, OutOfMemory

BACKENDS = ("auto", "cpu", "reference", "cuda")

AS_THE_WORKER = "own"
"""Backend of a batch on mixed hardware: what the worker that solves it has."""

SHARED_BY = "ANTENNAOPT_DEVICE_SHARED_BY"
"""Environment variable of a worker: how many processes share its device."""

_FEW_PROCESSES, _PROCESSES_A_CORE = 64, 4  # workers of any machine, and of each core
_MOST_PROCESSES, _MOST_OF_LARGE = 8, 6  # that share a device
_LARGE_CELLS = 60_000  # of an antenna with which the device is busy, whatever the host does

_LARGEST: dict[int, int] = {}
"""Most antennas that did fit, by the cells of their lattice, once a batch did not; of this process's device."""


def capacity(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many of a study's antennas this process's device takes, and how.

    Args:
        plan: As `SolverPlan.to_dict` wrote it.

    Returns:
        As `antennaopt.solve.capacity.capacity_of`, this process's share where several have the device; and `device`
        (name, compute capability, driver) and `shared_by`, the processes that share it.

    Raises:
        DeviceError: There is no device, or too little memory for one antenna.
        Unsuitable: No scheme can step these antennas.
    """
    from antennaopt.solve.capacity import capacity_of
    from fdtd.backends import cuda

    device, sharers = cuda.device(), int(os.environ.get(SHARED_BY, "1"))
    share = min(device.free_bytes(), device.limits.memory_bytes // sharers)  # others may have taken theirs already
    found = capacity_of(plan, device.limits, share, device.identity)
    wave = -(-found["wave"] // sharers)
    return {**found, "wave": wave, "device": device.identity, "shared_by": sharers}


def processes_a_device(plan: Mapping[str, Any], devices: int) -> int:
    """Return how many processes of this machine share each of its devices.

    A process's host lays antennas in space out, packs them and computes their figures: about 20 ms of a core for one
    that the device steps in 2 to 12 ms. Fewer processes have larger batches, which suit a device that is always busy.
    Other antennas take one process.

    Args:
        plan: As `SolverPlan.to_dict` or `YeePlan.to_dict` wrote it; without the lattice's shape antennas are small.
        devices: Of this machine that solve.
    """
    if plan.get("solver") != "yee":
        return 1
    large = "shape" in plan and cell_count(plan) > _LARGE_CELLS
    return max(1, min(_MOST_OF_LARGE if large else _MOST_PROCESSES, usable_cores() // (2 * max(devices, 1))))


def share_turns() -> None:
    """Let this worker step antennas in space by turns with others of its parent process that have the same device."""
    if int(os.environ.get(SHARED_BY, "1")) > 1:
        from fdtd.backends import cuda

        cuda.TURNS.share(os.environ.get("CUDA_VISIBLE_DEVICES", "0"), os.getppid())


@lru_cache(maxsize=1)
def own_backend() -> str:
    """Return what this process solves with on mixed hardware: "cuda" where it has a device."""
    from fdtd.backends.cuda.present import devices

    try:
        return "cuda" if devices() else "cpu"
    except DeviceError:
        return "cpu"


def kind_of_worker(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return what this worker is: its `backend`, and with a device its `capacity`."""
    if own_backend() == "cuda":
        return {**capacity(plan), "backend": "cuda"}
    return {"backend": "cpu"}


def release_memory() -> None:
    """Give the device's memory that is kept for later back; nothing where the device was never used."""
    if "cupy" in sys.modules:
        from fdtd.backends import cuda

        cuda.device().release()


def begin_driver(backend: str) -> None:
    """Let the CUDA driver begin in a thread, where a backend needs it: that takes a while without the interpreter.

    It reads the environment. `wait_for_driver` comes before anything sets a variable.

    Args:
        backend: As given; nothing happens with those that need no device.
    """
    if backend in ("auto", "cuda"):
        _beginning.append(Thread(target=_begin_driver, name="driver", daemon=True))
        _beginning[-1].start()


def wait_for_driver() -> None:
    """Wait until the CUDA driver has begun, where `begin_driver` was called."""
    while _beginning:
        _beginning.pop().join()


_beginning: list[Thread] = []


def _begin_driver() -> None:
    with suppress(OSError, AttributeError):  # the look for devices fails in the same way, and raises the error
        ctypes.CDLL("libcuda.so.1").cuInit(0)


def check_backend(name: str) -> None:
    """Refuse a name that is no backend's.

    Raises:
        ConfigurationError: There is none.
    """
    if name not in BACKENDS:
        raise ConfigurationError(f"--backend {name} is not known; use one of {', '.join(BACKENDS)}")


def chosen_backend(name: str, *, remote: bool = False, quiet: bool = True) -> str:
    """Return the backend that a name stands for: `auto` is cuda where a device can be used, and cpu elsewhere.

    Args:
        name: As given.
        remote: Whether the workers of a scheduler solve; what this machine has does not matter then.
        quiet: Whether to keep what `auto` came to, and why, to ourselves.

    Raises:
        ConfigurationError: There is no such backend.
        ClusterError: This machine cannot run it; the message says what would help.
    """
    check_backend(name)
    if name not in ("auto", "cuda") or (remote and name == "cuda"):
        return name
    if remote:
        chosen, why = "cpu", "for workers with devices say --backend cuda"
    else:
        chosen, why = _device_or_not()
    if name == "cuda" and chosen != "cuda":
        raise ClusterError(f"--backend cuda: {why}")
    if name == "auto" and not quiet:
        print(f"backend {chosen}: {why.partition('; ')[0]}", file=sys.stderr, flush=True)
    return chosen


def _device_or_not() -> tuple[str, str]:
    """Return cuda and the devices' names, or cpu and why there is none."""
    from fdtd.backends.cuda.present import devices

    try:
        found = [one.name for one in devices()]
    except DeviceError as error:
        return "cpu", str(error)
    return "cuda", ", ".join(f"{found.count(name)} x {name}" for name in dict.fromkeys(found))


def evaluate_within_memory(
    evaluate: Callable[..., Sequence[Mapping[str, Any]]],
    family: str,
    designs: Sequence[Mapping[str, float]],
    plan: Mapping[str, Any],
    *,
    release: Callable[[], None],
    **options: Any,
) -> list[Mapping[str, Any]]:
    """Evaluate a batch in as many parts as the device's memory requires: halve it until it fits.

    An antenna's outcome does not depend on its batch, so the parts are as good as the whole. Later batches begin with
    the size that did fit. One antenna is tried a second time, as another process may have filled the memory.

    Args:
        evaluate: As `antennaopt.solve.evaluate.evaluate`; raises `OutOfMemory` or `MemoryError`
            when the memory is used up.
        family: Antenna family.
        designs: Full designs.
        plan: As `SolverPlan.to_dict` wrote it.
        release: Gives memory that is kept for later back to the device.
        options: Passed on to `evaluate`.

    Raises:
        OutOfMemory: The device cannot hold one antenna.
    """
    cells = cell_count(plan)
    waiting, outcomes = list(designs), []
    size = min(len(waiting), _LARGEST.get(cells, len(waiting)))
    again = False
    while waiting:
        part = waiting[:size]
        try:
            outcomes += evaluate(family, part, plan, **options)
        except (OutOfMemory, MemoryError) as error:
            said = str(error)
        else:
            del waiting[: len(part)]
            again = False
            continue
        release()  # out here the exception holds no arrays any more
        if len(part) == 1 and again:
            raise OutOfMemory(
                f"the device has too little memory for one antenna ({said}); use a larger cell, fewer steps, a smaller "
                "antenna, or --backend cpu"
            )
        again = len(part) == 1
        size = (len(part) + 1) // 2
        _LARGEST[cells] = size
    return outcomes


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_processes(count: int | None, named: str = "cluster.workers =") -> None:
    """Refuse more worker processes than this machine can hold; an idle one takes 60 MB.

    Args:
        count: Of processes; one a core when None.
        named: What the number is given by, for the message.

    Raises:
        ClusterError: There would be.
    """
    cores = usable_cores()
    most = max(_FEW_PROCESSES, _PROCESSES_A_CORE * cores)
    if count is not None and count > most:
        raise ClusterError(
            f"{named} {count} are too many processes for the {cores} cores of this machine (must be "
            f"<= {most}); leave it out for one a core"
        )


def check_devices(count: int) -> None:
    """Refuse more devices than this machine has, to share one antenna.

    Raises:
        ClusterError: There are fewer.
        DeviceError: There is none.
    """
    from fdtd.backends.cuda.present import devices

    there = len(devices())
    if count > there:
        many = "1 CUDA device" if there == 1 else f"{there} CUDA devices"
        raise ClusterError(f"devices = {count}, but this machine has {many}; use at most {there}")


def enough_devices(count: int | None) -> tuple[str, ...]:
    """Return the UUIDs of `count` of this machine's devices.

    Args:
        count: All when None.

    Raises:
        ClusterError: There are fewer.
        DeviceError: There is none.
    """
    from fdtd.backends.cuda.present import devices

    found = devices()
    if count is not None and count > len(found):
        many = "1 CUDA device" if len(found) == 1 else f"{len(found)} CUDA devices"
        raise ClusterError(
            f"cluster.workers = {count}, but this machine has {many}, and a worker needs one of its own; "
            f'use "auto" or at most {len(found)}'
        )
    return tuple(one.uuid for one in found[:count])
