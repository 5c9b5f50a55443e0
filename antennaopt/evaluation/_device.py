"""What a worker does with its device beside evaluating; the driver has no CUDA context and asks."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


def room(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Say what this process's device takes of a study's antennas.

    Args:
        plan: As `SolverPlan.to_dict` wrote it.

    Returns:
        As `antennaopt.evaluation.room.room_of`, and `device`: name, compute capability, driver.

    Raises:
        DeviceError: There is no device, or too little memory for one antenna.
        Unsuitable: No scheme can step these antennas.
    """
    from antennaopt.evaluation.room import room_of
    from fdtd.backends import cuda

    device = cuda.device()
    return {**room_of(plan, device.limits, device.free_bytes()), "device": device.identity}


def release_memory() -> None:
    """Give the device's memory that is kept for later back; nothing where the device was never used."""
    if "cupy" in sys.modules:
        from fdtd.backends import cuda

        cuda.device().release()
