"""Loaded by every local worker before it starts (Dask preload)."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from typing import Any

DEVICES = "ANTENNAOPT_DEVICES"
"""Environment variable with the UUIDs of the devices, one a worker, by comma."""

NUMBER = "ANTENNAOPT_WORKER"
"""Environment variable with a local worker's number, set here."""

COLLECT_RARELY = (100_000, 20, 20)
"""Thresholds of the garbage collector: an outcome is hundreds of numbers and lists that no cycle holds."""


def dask_setup(worker: Any) -> None:
    """Leave the terminal's process group: Ctrl-C then reaches the driver alone, which lets the workers finish.

    Where there are devices, this worker takes the one of its number, before anything looks for one; on mixed hardware
    those with higher numbers take none.
    """
    os.environ[NUMBER] = str(worker.name)
    devices = os.environ.get(DEVICES, "")
    if devices:
        uuids, place = devices.split(","), int(worker.name)
        os.environ["CUDA_VISIBLE_DEVICES"] = uuids[place] if place < len(uuids) else ""
    gc.freeze()
    gc.set_threshold(*COLLECT_RARELY)
    with suppress(OSError):  # already the leader of a group of its own
        os.setsid()
