"""Which scheme steps a problem, and how many antennas a device takes at a time."""

from __future__ import annotations

from fdtd.axisymmetric.problem import Problem
from fdtd.errors import OutOfMemory, Unsuitable
from fdtd.schemes.antennas import SCHEMES, Scheme
from fdtd.schemes.machine import Limits

_BYTES_PER_CELL = 40  # numbers of double precision that rasterising and packing an antenna hold at a time
_RECORD_COPIES = 2  # the contour's record, and what its transform holds of it
_STATE = 8  # numbers of a cell that a second buffer holds: six components, and the layers' memories
_SHARE = 0.8  # of the free memory: what the libraries take and lose is not ours


def choose(problem: Problem, precision: str, limits: Limits) -> tuple[str, str]:
    """The scheme that steps large batches of a problem fastest, by its plan's pace.

    It depends on the lattice, the precision and the device alone, not on how many antennas there are or what they hold:
    all batches of a study go the same way.

    Args:
        problem: What to step; its lattice, layers and sampling are looked at, and whether its nodes may be coupled.
        precision: "float32" or "float64".
        limits: Of the device.

    Returns:
        Its name, and what stood against each of the others.

    Raises:
        Unsuitable: There is none; the message says why for each.
    """
    able: dict[str, Scheme] = {}
    reasons = []
    for name, made in SCHEMES.items():
        try:
            able[name] = made(problem, precision, limits)
        except Unsuitable as error:
            reasons.append(f"{name}: {error}")
    if not able:
        raise Unsuitable(f"no scheme can step this problem: {'; '.join(reasons)}")
    best = max(able, key=lambda name: able[name].pace)
    others = [f"{name}: {_speed(able[name])}" for name in able if name != best]
    return best, "; ".join([_speed(able[best]), *others, *reasons])


def _speed(scheme: Scheme) -> str:
    """How fast a scheme is, as far as its plan tells."""
    if scheme.name == "one_step":
        return "all numbers through memory in every step"
    return f"about {scheme.pace / 1e9:.0f} G cell-steps/s for populations"


def antenna_bytes(problem: Problem, precision: str, doubled: bool = False) -> int:
    """Device memory that one antenna of a batch takes, at most, from rasterising it to its figures of merit.

    Args:
        problem: What to step.
        precision: "float32" or "float64".
        doubled: Whether the scheme has two buffers of all that changes.
    """
    size = 4 if precision == "float32" else 8
    sampling, box = problem.sampling, problem.field_map
    contour = 0 if problem.contour is None else problem.contour.size
    record = max(sampling.steps // sampling.record_every, 1) * contour * size
    sums = 0
    if box is not None:
        sums = 6 * len(box.frequencies) * (box.rows[1] - box.rows[0]) * (box.columns[1] - box.columns[0])
    second = problem.grid.cells * size * _STATE if doubled else 0
    return problem.grid.cells * 8 * _BYTES_PER_CELL + record * _RECORD_COPIES + sums * (size + 16) + second


def whole_waves(scheme: Scheme, limits: Limits) -> int:
    """Antennas that keep a device busy to the end: as many as multiprocessors or, by whole waves, somewhat fewer."""
    return limits.multiprocessors // scheme.at_once * scheme.at_once


def batch_limit(free_bytes: int, per_antenna: int, wave: int, batches: int = 1) -> int:
    """Antennas that a device can hold in one batch: whole waves, where it has room.

    Args:
        free_bytes: Device memory that is free.
        per_antenna: From `antenna_bytes`.
        wave: Antennas, from `whole_waves`.
        batches: Held at a time.

    Raises:
        OutOfMemory: There is no room for one antenna.
    """
    room = int(_SHARE * free_bytes / batches) // per_antenna
    if room < 1 and int(_SHARE * free_bytes) >= per_antenna:
        room = 1
    if room < 1:
        raise OutOfMemory(
            f"one antenna needs about {per_antenna / 1e9:.2g} GB of device memory, and {free_bytes / 1e9:.2g} GB are "
            "free; use a larger cell, fewer steps, a smaller antenna, or --backend cpu"
        )
    return room // wave * wave or room
