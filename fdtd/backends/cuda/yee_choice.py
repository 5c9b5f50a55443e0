"""Which scheme steps an antenna in space on a device, and which antennas are stepped together.

An antenna that fits in a cluster is stepped by `resident`, any other by `one_step`. The choice looks at the antenna
alone, so that its bits do not depend on the batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fdtd.backends.cuda.yee_packing import Packed, number_type
from fdtd.errors import Unsuitable
from fdtd.schemes.machine import Limits
from fdtd.schemes.resident.yee import YeeResidentPlan, plan_yee

SCHEMES = ("one_step", "resident")
_SIDES = ("LOW", "HIGH")
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


def plan_unposed(shape: tuple[int, int, int], layers: int, precision: str, limits: Limits) -> YeeResidentPlan:
    """Plan clusters for antennas of a size, before any is posed.

    Args:
        shape: Cells along x, y, z.
        layers: Cells of the absorbing layers, in front of all faces.
        precision: "float32" or "float64".
        limits: Of the device.

    Raises:
        Unsuitable: The device has no clusters, or such an antenna does not fit.
    """
    counts: dict[str, int] = dict.fromkeys(("KINDS", "SOURCES", "PROBES"), _A_FEW)
    for axis, cells in zip("XYZ", shape, strict=True):
        counts |= {f"{name}{axis}": cells for name in ("N", "END_")} | {f"{name}_{axis}": layers for name in _SIDES}
    return plan_yee([counts], np.dtype(precision).itemsize, 1, limits)


def expected(shape: tuple[int, int, int], layers: int, precision: str, limits: Limits) -> tuple[str, str]:
    """Return the scheme of antennas of a size, and what stood against the other; arguments of `plan_unposed`."""
    try:
        plan_unposed(shape, layers, precision, limits)
    except Unsuitable as error:
        return "one_step", f"all numbers through memory in every step; resident: {error}"
    return "resident", "fields in the registers of a cluster; one_step: all numbers through memory in every step"


def groups(antennas: Sequence[Packed], precision: str, limits: Limits) -> list[tuple[str, list[int]]]:
    """Return schemes, and the numbers of the antennas that each steps together, in the order of the first of each.

    Args:
        antennas: From `pack`.
        precision: As they were packed.
        limits: Of the device.
    """
    found: dict[tuple[str, int], list[int]] = {}
    for number, one in enumerate(antennas):
        try:
            key = "resident", plan_resident([one], precision, limits).planes
        except Unsuitable:
            key = "one_step", 0
        found.setdefault(key, []).append(number)
    made: list[tuple[str, list[int]]] = []
    waiting = [(scheme, members) for (scheme, _), members in found.items()]
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
