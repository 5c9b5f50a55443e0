"""Which scheme steps an antenna in space on a device, and which antennas are stepped together.

An antenna that fits in a cluster, or in a chain of blocks that are on the device at the same time, is stepped by
`resident`. A large lattice that takes many steps in single precision is stepped by `trapezoidal` where its two places
fit in the memory that is free, any other by `one_step`, with the same bits. Axes are turned where only that lets an
antenna fit. But for that memory the choice looks at the antenna alone, so that its bits do not depend on the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import permutations

import numpy as np

from fdtd.backends.cuda.yee_packing import Packed, number_type, pitch_of
from fdtd.backends.cuda.yee_turning import UNTURNED, Turn
from fdtd.errors import Unsuitable
from fdtd.schemes.machine import SHARE_OF_FREE, Limits
from fdtd.schemes.resident.yee import FEW_PLANES, YeeResidentPlan, plan_yee, step_time
from fdtd.schemes.trapezoidal import yee as tiles
from fdtd.yee.problem import Problem

SCHEMES = ("one_step", "trapezoidal", "resident")
WORTH_TILES = 0.8e12
"""Cells times step limit of a lattice that is worth a text of its own. It takes 4 to 5 s to compile, and half of the
steps save that where tiles do 47 G cell-steps/s and `one_step` 31."""
LEAST_STORED = 380.0
"""Cells that a block must store in the time of a plane of a tile in air: 461 at 256^3 cells, which do 1.5 times the
rate of `one_step`."""
_SELDOM = 9  # steps between samples; where they are an odd number, passes of one step are no more than one in five
_MOST_EDGES = 256  # driven or summed: every thread looks for its own among them
_TIMED = 90  # capability of the devices on which tiles were timed
_A_FEW = 64  # media, driven edges and probes of an antenna that is not posed yet
NUMBERS = {"unsigned char": np.uint8, "unsigned short": np.uint16}
"""NumPy's types of the numbers of media."""


def plan_resident(antennas: Sequence[Packed], precision: str, limits: Limits, **tuning: int) -> YeeResidentPlan:
    """Plan clusters for a batch.

    Args:
        antennas: From `pack`.
        precision: As they were packed.
        limits: Of the device.
        tuning: Keywords of `plan_yee`.

    Raises:
        Unsuitable: The device has no clusters, an antenna does not fit, or its source or a probe is no edge.
    """
    for one in antennas:
        edges = 3 * int(np.prod(one.shape[1:]))
        if any((one.arrays[name] >= edges).any() for name in ("sources", "probes")):
            raise Unsuitable("resident drives and probes components of E alone; use one_step")
    number = np.dtype(NUMBERS[number_type(antennas)]).itemsize
    return plan_yee([one.counts for one in antennas], np.dtype(precision).itemsize, number, limits, **tuning)


def turn_of(problem: Problem, precision: str, limits: Limits) -> Turn:
    """Return the order of the axes in which an antenna is stepped: the given one, unless only another lets it fit.

    Args:
        problem: One antenna.
        precision: "float32" or "float64".
        limits: Of the device.
    """
    grid, axes = problem.grid, []
    for axis, cells in enumerate(grid.counts):
        axes.append((cells, cells + (f"{'xyz'[axis]}+" in grid.magnetic), *grid.layers[2 * axis : 2 * axis + 2]))
    return _best_turn(axes, precision, limits)


def _best_turn(axes: Sequence[tuple[int, int, int, int]], precision: str, limits: Limits) -> Turn:
    """Return the first order that fits a small cluster, else that of the fastest chain, else of any cluster."""
    plans: dict[Turn, YeeResidentPlan] = {}
    for x, y, z in permutations(UNTURNED):
        turn = x, y, z
        with suppress(Unsuitable):
            plans[turn] = plan_yee([_unposed([axes[axis] for axis in turn])], np.dtype(precision).itemsize, 1, limits)
    small = [turn for turn, plan in plans.items() if not plan.chains and plan.planes <= FEW_PLANES]
    chains = {turn: step_time(plan, limits) for turn, plan in plans.items() if plan.chains}
    return next(iter([*small, *sorted(chains, key=chains.__getitem__), *plans, UNTURNED]))


def _unposed(axes: Sequence[tuple[int, int, int, int]]) -> dict[str, int]:
    """Return counts of an antenna that is not posed yet; cells, end and cells of both layers of each axis."""
    counts: dict[str, int] = dict.fromkeys(("KINDS", "SOURCES", "PROBES"), _A_FEW)
    for axis, numbers in zip("XYZ", axes, strict=True):
        counts |= dict(zip((f"N{axis}", f"END_{axis}", f"LOW_{axis}", f"HIGH_{axis}"), numbers, strict=True))
    counts["PITCH"] = pitch_of(axes[0][0])
    counts["LONGEST"] = max(cells for cells, *_ in axes) + 2
    return counts


def unposed(shape: tuple[int, int, int], layers: int, steps: int) -> dict[str, int]:
    """Return counts of an antenna that is not posed yet: cells along x, y, z, layers in front of all faces, steps."""
    return _unposed([(cells, cells, layers, layers) for cells in shape]) | {"STEPS": steps, "RECORD_EVERY": 2}


def plan_unposed(shape: tuple[int, int, int], layers: int, precision: str, limits: Limits) -> YeeResidentPlan:
    """Plan chains of blocks for antennas of a size, before any is posed, in the order of axes that fits best.

    Args:
        shape: Cells along x, y, z.
        layers: Cells of the absorbing layers, in front of all faces.
        precision: "float32" or "float64".
        limits: Of the device.

    Raises:
        Unsuitable: The device has no clusters, or such an antenna does not fit.
    """
    ends = [(cells, cells, layers, layers) for cells in shape]
    turn = _best_turn(ends, precision, limits)
    return plan_yee([_unposed([ends[axis] for axis in turn])], np.dtype(precision).itemsize, 1, limits)


def expected(
    shape: tuple[int, int, int], layers: int, precision: str, limits: Limits, steps: int, room: int | None = None
) -> tuple[str, str]:
    """Return the scheme of antennas of a size with a step limit, and what stood against the others.

    Args:
        shape: Cells along x, y, z.
        layers: Cells of the absorbing layers, in front of all faces.
        precision: "float32" or "float64".
        limits: Of the device.
        steps: Step limit.
        room: Bytes of its memory that are free; all that tiles need if None.
    """
    try:
        plan = plan_unposed(shape, layers, precision, limits)
    except Unsuitable as error:
        if plan_tiles(unposed(shape, layers, steps), precision, limits, room):
            return "trapezoidal", f"all numbers through memory in every second step; resident: {error}"
        return "one_step", f"all numbers through memory in every step; resident: {error}"
    where = "blocks at a time" if plan.chains else "a cluster"
    return "resident", f"fields in the registers of {where}; one_step: all numbers through memory in every step"


def plan_tiles(
    counts: Mapping[str, int], precision: str, limits: Limits, room: int | None = None
) -> tiles.YeeTilesPlan | None:
    """Plan passes of two steps, or return None where they save less than compiling costs, do not suit or do not fit.

    Args:
        counts: Of a lattice, by the names of `COUNTS`.
        precision: "float32" or "float64".
        limits: Of the device.
        room: Bytes of its memory that are free; enough if None.
    """
    few = counts["SOURCES"] + counts["PROBES"] <= _MOST_EDGES
    work = counts["NX"] * counts["NY"] * counts["NZ"] * counts["STEPS"]
    every = counts["RECORD_EVERY"]
    if work < WORTH_TILES or limits.capability < _TIMED or not few or (every % 2 and every < _SELDOM):
        return None
    with suppress(Unsuitable):
        plan = tiles.plan_yee(counts, np.dtype(precision).itemsize, limits)
        fits = room is None or plan.memory_bytes <= SHARE_OF_FREE * room
        return plan if fits and plan.stored >= LEAST_STORED else None
    return None


def groups(
    antennas: Sequence[Packed], precision: str, limits: Limits, room: int | None = None
) -> list[tuple[str, list[int]]]:
    """Return schemes, and the numbers of the antennas that each steps together, in the order of the first of each.

    An antenna that only memory keeps from `trapezoidal` is stepped alone too.

    Args:
        antennas: From `pack`.
        precision: As they were packed.
        limits: Of the device.
        room: Bytes of its memory that are free; all that tiles need if None.
    """
    found: dict[tuple[str, int, int, bool], list[int]] = {}
    for number, one in enumerate(antennas):
        try:
            plan = plan_resident([one], precision, limits)
            key = "resident", plan.planes, plan.columns, plan.chains > 0
        except Unsuitable:
            scheme = "trapezoidal" if plan_tiles(one.counts, precision, limits, room) else "one_step"
            key = scheme, number if plan_tiles(one.counts, precision, limits) else -1, 0, False
        found.setdefault(key, []).append(number)
    made: list[tuple[str, list[int]]] = []
    waiting = [(scheme, members) for (scheme, *_), members in found.items()]
    while waiting:
        scheme, members = waiting.pop(0)
        if scheme == "resident" and len(members) > 1 and not _fit([antennas[n] for n in members], precision, limits):
            half = len(members) // 2
            waiting[:0] = [(scheme, members[:half]), (scheme, members[half:])]
            continue
        made.append((scheme, members))
    return sorted(made, key=lambda group: group[1][0])


def _fit(antennas: Sequence[Packed], precision: str, limits: Limits) -> bool:
    try:
        plan_resident(antennas, precision, limits)
    except Unsuitable:
        return False
    return True
