"""Common parts of the benchmarks: timings in turns, median and spread, and the provenance of stored figures."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from antennaopt.machine import processor_name

Log = Callable[[str], None]
"""Gets a line of text while a bench goes on."""


def typical(values: Sequence[float]) -> tuple[float, float]:
    """Return the median of some timings, and their spread: half of the range over the median."""
    middle = statistics.median(values)
    return middle, (max(values) - min(values)) / 2 / middle


def in_turns(timed: Mapping[str, Callable[[], float]], repeat: int) -> dict[str, list[float]]:
    """Measure each of some variants `repeat` times; they take turns, so that a change of the clock meets all alike.

    Args:
        timed: What measures, by name.
        repeat: Rounds.
    """
    measured: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(repeat):
        for name, measure in timed.items():
            measured[name].append(measure())
    return measured


def rates(cell_steps_per_s: Sequence[float], base: float | None) -> dict[str, Any]:
    """Return the entries of a row on the rate of a kernel.

    Args:
        cell_steps_per_s: Of each timing.
        base: Rate of `one_step` in the same run; None where it was not timed.
    """
    rate, spread = typical(cell_steps_per_s)
    return {"cell_steps_per_s": rate, "spread": spread, "ratio_to_one_step": None if base is None else rate / base}


def busy_seconds() -> float:
    """Return how long this machine's cores have worked, summed; 0 where the system has no such figure."""
    with suppress(OSError):
        ticks = [int(text) for text in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return (sum(ticks[:3]) + sum(ticks[5:8])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class Watch:
    """Load of this machine from now on, until `about` is read."""

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
