"""What a worker with a device knows of it: asked by the driver, which has no CUDA context of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from antennaopt.evaluation.plan import SolverPlan
from fdtd.layout import Layout
from fdtd.media import Media
from fdtd.monitors import FieldMap
from fdtd.problem import Problem

BATCHES_AT_A_TIME = 2
"""On one device: while one batch is stepped the next is prepared, and the last one looked at."""


def room(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Say what this process's device takes of a study's antennas.

    Args:
        plan: As `SolverPlan.to_dict` wrote it.

    Returns:
        `device` (name, compute capability, driver), `scheme` and `reason` (why no faster one), `wave` (multiprocessors:
        antennas that are stepped at the same time), `antennas` (most in one batch, two of which are held at a time).

    Raises:
        DeviceError: There is no device, or too little memory for one antenna.
        Unsuitable: No scheme can step these antennas.
    """
    from fdtd.backends import cuda
    from fdtd.backends.cuda.choice import antenna_bytes, batch_limit, choose

    solver, device = SolverPlan.from_dict(plan), cuda.device()
    problem = outline(solver.layout)
    scheme, reason = choose(problem, solver.precision, device.limits)
    each = antenna_bytes(problem, solver.precision)
    return {
        "device": device.identity,
        "scheme": scheme,
        "reason": reason,
        "wave": device.limits.multiprocessors,
        "antennas": batch_limit(device.free_bytes(), each, device.limits, BATCHES_AT_A_TIME),
    }


def outline(layout: Layout) -> Problem:
    """A study's problem without an antenna: what planning needs. Its field map is as large as any can be."""
    grid = layout.grid
    ones = np.broadcast_to(1.0, (1, 3, grid.nz, grid.nr))
    return Problem(
        grid=grid,
        media=Media(permittivity=ones, conductivity=ones, open_length=ones, open_area=ones),
        sampling=layout.sampling,
        radial_layer=layout.radial_layer,
        axial_layers=layout.axial_layers,
        contour=layout.contour,
        field_map=FieldMap(
            rows=(layout.contour_bottom, layout.contour_top),
            columns=(0, layout.contour_column),
            frequencies=np.array(layout.frequencies),
        ),
    )


def release_memory() -> None:
    """Give the device's memory that is kept for later back; nothing where the device was never used."""
    if "cupy" in sys.modules:
        from fdtd.backends import cuda

        cuda.device().release()
