"""Capacity for antennas: of this machine's memory, and of a device with the scheme that steps them."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from antennaopt.errors import ConfigurationError
from antennaopt.solve.lattices import lattice_text
from antennaopt.solve.plan import SolverPlan
from antennaopt.solve.yee_plan import YeePlan
from fdtd.axisymmetric.layout import Layout
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import FieldMap
from fdtd.axisymmetric.problem import Problem
from fdtd.errors import OutOfMemory
from fdtd.schemes.machine import Limits

BATCHES_AT_A_TIME = 3
"""On one device: while two are stepped another is prepared, or looked at."""


def largest_batch(antennas: int, streams: int) -> int:
    """Return the largest batch when `streams` batches share a device.

    Args:
        antennas: Of `capacity_of`, for `BATCHES_AT_A_TIME`.
        streams: Batches at a time.
    """
    return max(antennas * BATCHES_AT_A_TIME // max(streams, 2), 1)


def capacity_of(
    plan: Mapping[str, Any], limits: Limits, free_bytes: int, identity: str | None = None
) -> dict[str, Any]:
    """Return how many of a study's antennas a device takes, and by which scheme they are stepped.

    Args:
        plan: As `SolverPlan.to_dict` or `YeePlan.to_dict` wrote it.
        limits: Of the device.
        free_bytes: Of its memory.
        identity: Device, compute capability and driver, by which measured paces are kept.

    Returns:
        `scheme` and `reason` (what stood against the others), `wave` (antennas that keep the device busy to the end),
        `at_once` (antennas that are stepped at the same time), `antennas` (most in one batch, `BATCHES_AT_A_TIME` of
        which are held at a time).

    Raises:
        OutOfMemory: There is too little memory for one antenna.
        Unsuitable: No scheme can step these antennas.
    """
    from fdtd.backends.cuda import antenna_bytes, batch_limit, choose, whole_waves
    from fdtd.backends.cuda.paces import measured_paces
    from fdtd.schemes.antennas import SCHEMES

    if plan.get("solver") == "yee":
        return _capacity_in_space(YeePlan.from_dict(plan), limits, free_bytes)
    solver = SolverPlan.from_dict(plan)
    problem = outline(solver.layout, losses=solver.losses or bool(solver.modes), few=solver.losses)
    scheme, reason = choose(problem, solver.precision, limits, measured_paces(identity) if identity else None)
    made = SCHEMES[scheme](problem, solver.precision, limits)
    each = antenna_bytes(problem, solver.precision, made.doubled)
    wave = whole_waves(made, limits)
    most = batch_limit(free_bytes, each, wave, BATCHES_AT_A_TIME)
    return {"scheme": scheme, "reason": reason, "wave": wave, "at_once": made.at_once, "antennas": most}


def _capacity_in_space(plan: YeePlan, limits: Limits, free_bytes: int) -> dict[str, Any]:
    """Return what `capacity_of` does, for antennas on lattices of their own."""
    from fdtd.backends.cuda import batch_limit
    from fdtd.backends.cuda.yee import BUSY_CELLS, antenna_bytes
    from fdtd.backends.cuda.yee_choice import expected

    wave = -(-BUSY_CELLS // math.prod(plan.shape))
    size = plan.shape, plan.layers, plan.precision

    def most(room: int) -> int:
        each = antenna_bytes(*size, plan.max_steps, len(plan.frequencies), limits, room)
        return batch_limit(free_bytes, each, wave, BATCHES_AT_A_TIME)

    room = free_bytes
    try:
        antennas = most(room)
    except OutOfMemory:  # with one place of the fields, by one_step
        antennas = most(room := 0)
    scheme, reason = expected(*size, limits, plan.max_steps, room)
    return {"scheme": scheme, "reason": reason, "wave": wave, "at_once": 1, "antennas": antennas}


def outline(layout: Layout, *, losses: bool = True, few: bool = False) -> Problem:
    """Return a study's problem without an antenna: what planning needs.

    Its field map is as large as any can be; without `losses` there is none. `few` is as in `Problem`.
    """
    grid = layout.grid
    ones = np.broadcast_to(1.0, (1, 3, grid.nz, grid.nr))
    return Problem(
        grid=grid,
        media=Media(
            permittivity=ones,
            conductivity=ones,
            open_length=ones,
            open_area=ones,
            coupling=None if layout.surfaces == "diagonal" else 0 * ones[:, 0],
        ),
        sampling=layout.sampling,
        radial_layer=layout.radial_layer,
        axial_layers=layout.axial_layers,
        contour=layout.contour,
        field_map=FieldMap(
            rows=(layout.contour_bottom, layout.contour_top),
            columns=(0, layout.contour_column),
            frequencies=np.array(layout.frequencies),
        )
        if losses
        else None,
        few=few,
        metal=layout.metal,
    )


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
            f"{what or 'the'} grid of {lattice_text(plan)} needs "
            f"{size_text(needed)}{many} (this machine has {size_text(there)}); use a larger cell, a smaller antenna"
            f"{', fewer workers' if antennas > 1 else ''}{instead}"
        )


def check_device(plan: Mapping[str, Any], shared_by: int = 1) -> dict[str, Any]:
    """Refuse antennas that a device of this machine cannot solve, before it is tried; makes no context.

    Args:
        plan: As `SolverPlan.to_dict` writes it.
        shared_by: Devices that share each antenna's lattice.

    Returns:
        What a device takes, were it empty; see `antennaopt.solve.device.capacity`.

    Raises:
        DeviceError: There is no device, or it has too little memory for one antenna.
        Unsuitable: It cannot step these antennas.
    """
    from fdtd.backends.cuda.present import devices

    found = devices()
    smallest = min(found, key=lambda one: one.limits.memory_bytes)
    names = ", ".join(dict.fromkeys(one.name for one in found))
    taken = capacity_of(plan, smallest.limits, shared_by * smallest.limits.memory_bytes, smallest.identity)
    return {**taken, "device": names, "count": len(found)}


def check_capacity(plan: Mapping[str, Any], backend: str, devices: int = 1) -> None:
    """Refuse a single antenna that its backend cannot hold; see `check_memory` and `check_device`."""
    if backend == "cuda":
        check_device(plan, devices)
    else:
        check_memory(plan)


def size_text(count: int) -> str:
    """Return a number of bytes for people."""
    return f"{count / 2**40:.3g} TiB" if count >= 2**40 else f"{count / 2**30:.3g} GiB"
