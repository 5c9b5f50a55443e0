"""Cores and devices of this machine that workers may use."""

from __future__ import annotations

import os

from antennaopt.errors import ClusterError


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
