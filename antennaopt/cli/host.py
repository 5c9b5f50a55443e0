"""What this machine has: cores and memory, and whether a plan fits in it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError
from antennaopt.farm.cores import usable_cores

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

SWEEP_BYTES_PER_CELL = 640
"""Fields, coefficients and the float64 media that they are made from, about."""


def memory_bytes() -> int | None:
    """Return the machine's memory, the control group's limit when that is smaller; None when not known."""
    sizes = []
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(OSError):
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        sizes += [int(limit)] if limit.isdigit() else []
    return min(sizes, default=None)


def check_memory(plan: Mapping[str, Any], antennas: int = 1, *, what: str = "", instead: str = "") -> None:
    """Refuse a grid that cannot be held in memory, before it is tried.

    Args:
        plan: As `SolverPlan.to_dict` writes it.
        antennas: How many are solved at a time on this machine.
        what: Whose grid it is, for the message: `the certificate's`; the antenna's own when empty.
        instead: Another way out.

    Raises:
        ConfigurationError: It takes more than the machine has.
    """
    there = memory_bytes()
    needed = int(plan["memory_bytes"]) * antennas
    if there is not None and needed > there:
        many = f" for {antennas} antennas at a time" if antennas > 1 else ""
        raise ConfigurationError(
            f"{what or 'the'} grid of {plan['nr']} x {plan['nz']} cells of {plan['cell'] * 1e3:.4g} mm needs "
            f"{_size(needed)}{many} (this machine has {_size(there)}); use a larger cell, a smaller antenna"
            f"{', fewer workers' if antennas > 1 else ''}{instead}"
        )


def check_memory_of_cells(side: int) -> None:
    """Refuse a square domain of a sweep that cannot be held in memory.

    Args:
        side: Cells along a side.

    Raises:
        ConfigurationError: It takes more than the machine has.
    """
    there = memory_bytes()
    if there is not None and side**2 * SWEEP_BYTES_PER_CELL > there:
        largest = int((there / SWEEP_BYTES_PER_CELL) ** 0.5)
        raise ConfigurationError(
            f"--size {side} needs {_size(side**2 * SWEEP_BYTES_PER_CELL)} (this machine has {_size(there)}); "
            f"use at most {largest}"
        )


def check_device(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse antennas that a device of this machine cannot solve, before it is tried; makes no context.

    Args:
        plan: As `SolverPlan.to_dict` writes it.

    Returns:
        What a device takes, were it empty; see `antennaopt.solve.device.room`.

    Raises:
        DeviceError: There is no device, or it has too little memory for one antenna.
        Unsuitable: It cannot step these antennas.
    """
    from antennaopt.solve.room import room_of
    from fdtd.backends.cuda.present import devices

    found = devices()
    smallest = min(found, key=lambda one: one.limits.memory_bytes)
    names = ", ".join(dict.fromkeys(one.name for one in found))
    return {**room_of(plan, smallest.limits, smallest.limits.memory_bytes), "device": names, "count": len(found)}


def check_room(plan: Mapping[str, Any], backend: str) -> None:
    """Refuse a single antenna that its backend has no room for; see `check_memory` and `check_device`."""
    if backend == "cuda":
        check_device(plan)
    else:
        check_memory(plan)


def check_run_memory(
    experiment: Experiment, plan: Mapping[str, Any], *, local: bool = True, backend: str = "cpu"
) -> dict[str, Any] | None:
    """Refuse a run whose grid, or the finer one of its certificates, cannot be held in memory.

    Args:
        experiment: From `load_experiment`.
        plan: What its antennas share.
        local: Whether this machine's own workers solve; of others, one antenna must fit here.
        backend: What solves; with "cuda" it is the device's memory that counts.

    Returns:
        The certificates' plan; None when none are asked for.

    Raises:
        ConfigurationError: One takes more than the machine has.
        DeviceError: One takes more than the device has, or there is none.
        Unsuitable: The device cannot step them.
    """
    from antennaopt.run import halved_plan

    if backend == "cuda":
        finer = None if experiment.certificate.mode == "off" else halved_plan(experiment, plan)
        for one in (plan, finer):
            if one is not None and local and experiment.cluster.kind == "local":
                check_device(one)
        return finer
    workers = experiment.cluster.workers
    local = local and experiment.cluster.kind == "local"
    at_a_time = 1 if not local else workers if isinstance(workers, int) else usable_cores()
    check_memory(plan, at_a_time)
    if experiment.certificate.mode == "off":
        return None
    finer = halved_plan(experiment, plan)
    check_memory(finer, at_a_time, what="the certificate's", instead=' or certificate.mode = "off"')
    return finer


def _size(count: int) -> str:
    return f"{count / 2**40:.3g} TiB" if count >= 2**40 else f"{count / 2**30:.3g} GiB"
