"""What a worker does with its device beside evaluating; the driver has no CUDA context and asks."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from fdtd.errors import DeviceError

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
