"""Backends: which there are, which one `auto` is here, and what a worker's own device takes.

The driver has no CUDA context; workers are queried.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from antennaopt.errors import ClusterError, ConfigurationError
from fdtd.errors import DeviceError

BACKENDS = ("auto", "cpu", "reference", "cuda")

AS_THE_WORKER = "own"
"""Backend of a batch on mixed hardware: what the worker that solves it has."""


def room(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Say what this process's device takes of a study's antennas.

    Args:
        plan: As `SolverPlan.to_dict` wrote it.

    Returns:
        As `antennaopt.solve.room.room_of`, and `device`: name, compute capability, driver.

    Raises:
        DeviceError: There is no device, or too little memory for one antenna.
        Unsuitable: No scheme can step these antennas.
    """
    from antennaopt.solve.room import room_of
    from fdtd.backends import cuda

    device = cuda.device()
    return {**room_of(plan, device.limits, device.free_bytes()), "device": device.identity}


@lru_cache(maxsize=1)
def own_backend() -> str:
    """Return what this process solves with on mixed hardware: "cuda" where it has a device."""
    from fdtd.backends.cuda.present import devices

    try:
        return "cuda" if devices() else "cpu"
    except DeviceError:
        return "cpu"


def kind_of_worker(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Say what this worker is: its `backend`, and with a device what `room` says."""
    if own_backend() == "cuda":
        return {**room(plan), "backend": "cuda"}
    return {"backend": "cpu"}


def release_memory() -> None:
    """Give the device's memory that is kept for later back; nothing where the device was never used."""
    if "cupy" in sys.modules:
        from fdtd.backends import cuda

        cuda.device().release()


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
