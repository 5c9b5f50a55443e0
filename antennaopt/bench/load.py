"""What stored figures rest on: commit, machine, and whether it was quiet while something was timed on it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from antennaopt.installed import processor_name


def busy_seconds() -> float:
    """Return how long this machine's cores have worked, summed; 0 where the system does not say."""
    with suppress(OSError):
        ticks = [int(text) for text in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return (sum(ticks[:3]) + sum(ticks[5:8])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class Watch:
    """Look at this machine from now on, until `about` is read."""

    def __init__(self) -> None:
        self._began = _so_far()

    def about(self) -> dict[str, Any]:
        """Return what every stored row names.

        Returns:
            `commit` of the source (`+changes` when it is modified, None outside a checkout), `machine` (its processor),
            `cores`, and `other_cores`: how many cores were busy with other programs, on average.
        """
        from antennaopt.store.manifest import source_commit

        wall, ours, everything = (now - before for now, before in zip(_so_far(), self._began, strict=True))
        return {
            "commit": source_commit(),
            "machine": processor_name(),
            "cores": os.cpu_count(),
            "other_cores": round(max(everything - ours, 0.0) / wall, 2) if wall > 0 else 0.0,
        }


def _so_far() -> tuple[float, float, float]:
    """Wall time; processor time of this process and its children that have ended; that of all programs, s."""
    return time.monotonic(), sum(os.times()[:4]), busy_seconds()
