"""What this machine has: cores and memory, and whether a plan fits in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError
from antennaopt.farm import usable_cores

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

SWEEP_BYTES_PER_CELL = 640
"""Fields, coefficients and the float64 media that they are made from, about."""


def check_memory_of_cells(side: int) -> None:
    """Refuse a square domain of a sweep that cannot be held in memory.

    Args:
        side: Cells along a side.

    Raises:
        ConfigurationError: It takes more than the machine has.
    """
    from antennaopt.solve.capacity import memory_bytes, size_text

    there = memory_bytes()
    if there is not None and side**2 * SWEEP_BYTES_PER_CELL > there:
        largest = int((there / SWEEP_BYTES_PER_CELL) ** 0.5)
        raise ConfigurationError(
            f"--size {side} needs {size_text(side**2 * SWEEP_BYTES_PER_CELL)} (this machine has {size_text(there)}); "
            f"use at most {largest}"
        )


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
    from antennaopt.solve.capacity import check_device, check_memory

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
