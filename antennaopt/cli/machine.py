"""What this machine has: cores and memory, and whether a plan fits in it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antennaopt.errors import ConfigurationError


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_bytes() -> int | None:
    """Return the machine's memory, the control group's limit when that is smaller; None when not known."""
    sizes = []
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(OSError):
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        sizes += [int(limit)] if limit.isdigit() else []
    return min(sizes, default=None)


def check_memory(plan: Mapping[str, Any], antennas: int = 1) -> None:
    """Refuse a grid that cannot be held in memory, before it is tried.

    Args:
        plan: As `SolverPlan.to_dict` writes it.
        antennas: How many are solved at a time on this machine.

    Raises:
        ConfigurationError: It takes more than the machine has.
    """
    there = memory_bytes()
    needed = int(plan["memory_bytes"]) * antennas
    if there is not None and needed > there:
        many = f" for {antennas} antennas at a time" if antennas > 1 else ""
        raise ConfigurationError(
            f"the grid of {plan['nr']} x {plan['nz']} cells of {plan['cell'] * 1e3:.4g} mm needs {_size(needed)}{many} "
            f"(this machine has {_size(there)}); use a larger cell, a smaller antenna or fewer workers"
        )


def _size(count: int) -> str:
    return f"{count / 2**40:.3g} TiB" if count >= 2**40 else f"{count / 2**30:.3g} GiB"
