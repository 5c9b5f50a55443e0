"""How many of a study's antennas a device takes, and by which scheme they are stepped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from antennaopt.solve.plan import SolverPlan
from fdtd.axisymmetric.layout import Layout
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import FieldMap
from fdtd.axisymmetric.problem import Problem
from fdtd.schemes.machine import Limits

BATCHES_AT_A_TIME = 2
"""On one device: while one batch is stepped the next is prepared, and the last one looked at."""


def batch_room(antennas: int, streams: int) -> int:
    """Return how many antennas a batch may have where a device takes so many batches at a time.

    Args:
        antennas: As `room_of` says, for `BATCHES_AT_A_TIME`.
        streams: Batches at a time.
    """
    return max(antennas * BATCHES_AT_A_TIME // max(streams, BATCHES_AT_A_TIME), 1)


def room_of(plan: Mapping[str, Any], limits: Limits, free_bytes: int) -> dict[str, Any]:
    """Say what a device takes of a study's antennas.

    Args:
        plan: As `SolverPlan.to_dict` wrote it.
        limits: Of the device.
        free_bytes: Of its memory.

    Returns:
        `scheme` and `reason` (what stood against the others), `wave` (antennas that keep the device busy to the end),
        `at_once` (antennas that are stepped at the same time), `antennas` (most in one batch, two of which are held at
        a time).

    Raises:
        OutOfMemory: There is too little memory for one antenna.
        Unsuitable: No scheme can step these antennas.
    """
    from fdtd.backends.cuda.choice import antenna_bytes, batch_limit, choose, whole_waves
    from fdtd.schemes.antennas import SCHEMES

    solver = SolverPlan.from_dict(plan)
    problem = outline(solver.layout)
    scheme, reason = choose(problem, solver.precision, limits)
    made = SCHEMES[scheme](problem, solver.precision, limits)
    each = antenna_bytes(problem, solver.precision, made.doubled)
    wave = whole_waves(made, limits)
    most = batch_limit(free_bytes, each, wave, BATCHES_AT_A_TIME)
    return {"scheme": scheme, "reason": reason, "wave": wave, "at_once": made.at_once, "antennas": most}


def outline(layout: Layout) -> Problem:
    """A study's problem without an antenna: what planning needs. Its field map is as large as any can be."""
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
        ),
    )
