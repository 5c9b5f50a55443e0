"""The fastest scheme and shape for antennas in space on a device: timed once, then remembered with the other winners.

Candidates are `one_step`, tiles of two steps a pass for one lattice, clusters and chains of blocks. Samples and looks
are on. Shapes of one scheme have equal bits. A winner holds for one device, driver and kernel text, and for one
lattice, number of antennas and precision (see `marching`).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from fdtd.backends.cuda.device import Device
from fdtd.backends.cuda.marching import Candidate, Wait, cache_file, fastest, recalled, remember
from fdtd.backends.cuda.text import check_precision, kernel_digest
from fdtd.backends.cuda.yee import Batch
from fdtd.backends.cuda.yee_choice import plan_resident, turn_of
from fdtd.backends.cuda.yee_packing import Packed, pack
from fdtd.backends.cuda.yee_turning import UNTURNED, Turn
from fdtd.errors import FdtdError, Unsuitable
from fdtd.schemes.machine import Limits
from fdtd.schemes.resident.yee import YeeResidentPlan, step_time
from fdtd.schemes.trapezoidal import yee as tiles
from fdtd.yee.problem import Problem

STEPS = 160
"""Of one timing: a launch of `resident` has at least as many."""
TIMINGS = 3
"""Of a candidate, after one that compiles and fills the caches; the median counts."""
_OF_EACH = 3  # shapes of clusters, of chains, and of tiles other than the default ones
_HALF_WARPS, _MOST_REGISTERS = 8, 255
_ONE_STEP: tuple[dict[str, int], ...] = ({"depth": 2}, {"depth": 8})
_TILES: tuple[dict[str, int], ...] = ({"rows": 12}, {"rows": 20}, {"stages": 4})

Packing = Callable[[Turn], Packed]
"""Returns the antenna with its axes in an order."""

Told = Callable[[Candidate, float | FdtdError], None]
"""Gets each candidate, with its cell-steps a second or the reason why it cannot run."""


def candidates(problem: Problem, precision: str, limits: Limits, copies: int = 1) -> tuple[Candidate, ...]:
    """Return schemes with shapes that fit a device: of each scheme the plan's own choice first.

    Args:
        problem: One antenna.
        precision: "float32" or "float64".
        limits: Of the device.
        copies: Antennas stepped together; tiles are of a single one.
    """
    turn = turn_of(problem, precision, limits)
    return _candidates(cache(partial(pack, problem, precision)), turn, precision, limits, copies)


def _candidates(packed: Packing, turn: Turn, precision: str, limits: Limits, copies: int) -> tuple[Candidate, ...]:
    found = [Candidate(scheme="one_step"), *(Candidate(scheme="one_step", choice=one) for one in _ONE_STEP)]
    if copies == 1:
        shapes = _tiles(packed(UNTURNED).counts, np.dtype(precision).itemsize, limits)
        found += [Candidate(scheme="trapezoidal", choice=one) for one in shapes]
    found += [Candidate(scheme="resident", choice=one) for one in _resident(packed(turn), precision, limits)]
    return tuple(found)


def _tiles(counts: Mapping[str, int], size: int, limits: Limits) -> Iterator[dict[str, int]]:
    """Yield keywords of tiles that fit: the default ones, other rows and stages, and narrower tiles along x."""
    plans: list[tiles.YeeTilesPlan] = []
    with suppress(Unsuitable):
        across = tiles.plan_yee(counts, size, limits).tiles[0] + 1
        narrow = {"stride": -(-(counts["END_X"] - 2) // (4 * across)) * 4}
        for choice in ({}, *_TILES, narrow):
            with suppress(Unsuitable):
                plan = tiles.plan_yee(counts, size, limits, **choice)
                if plan not in plans:
                    plans.append(plan)
                    yield choice


def _resident(antenna: Packed, precision: str, limits: Limits) -> Iterator[dict[str, int]]:
    """Yield keywords of clusters and chains that fit: the plan's own choice, then a few of each."""
    own = _planned(antenna, precision, limits, {})
    if own is None:
        return
    yield {}
    rows = -(-antenna.counts["END_Y"] // _HALF_WARPS)
    clusters = [{"spread": 0, "planes": planes} for planes in (1, 2, 3, 4)]
    clusters += [{**one, "warps": _HALF_WARPS, "rows": rows} for one in clusters]
    shapes = product((2, 3, 4), (1, 2, 3), (8, 10, 12, 14, 16, 20))
    chains = [{"spread": 1, "columns": columns, "planes": planes, "warps": warps} for columns, planes, warps in shapes]
    for choices in (clusters, chains):
        made: dict[YeeResidentPlan, dict[str, int]] = {}
        for choice in choices:
            plan = _planned(antenna, precision, limits, choice)
            if plan is not None and plan != own and plan.registers <= _MOST_REGISTERS:
                made.setdefault(plan, choice)
        order = sorted(made, key=lambda plan: step_time(plan, limits)) if choices is chains else list(made)
        for plan in order[:_OF_EACH]:
            yield made[plan]


def _planned(antenna: Packed, precision: str, limits: Limits, choice: Mapping[str, int]) -> YeeResidentPlan | None:
    """Return the plan of clusters or chains with some keywords, or None where the antenna does not fit."""
    with suppress(Unsuitable):
        return plan_resident([antenna], precision, limits, **choice)
    return None


def tuned(
    problem: Problem,
    device: Device,
    *,
    identity: str,
    wait: Wait,
    precision: str = "float32",
    copies: int = 1,
    file: Path | None = None,
    told: Told | None = None,
) -> tuple[Candidate, float]:
    """Return the fastest candidate for antennas on a device and its cell-steps a second, timed if not remembered.

    Args:
        problem: One antenna, with a step limit of at least `(TIMINGS + 1) * STEPS`; fewer are timed with fewer.
        device: Where.
        identity: What must not change for a winner to hold: device, compute capability, driver.
        wait: Waits for the device.
        precision: "float32" or "float64".
        copies: Antennas stepped together.
        file: The cache; the user's if None.
        told: Gets each timed candidate.

    Raises:
        ConfigError: The precision is unknown.
        Unsuitable: No candidate runs.
    """
    check_precision(precision)
    place = cache_file() if file is None else file
    problem = replace(problem, sampling=replace(problem.sampling, decay=0.0))  # one that has stopped takes no time
    turn, packed = turn_of(problem, precision, device.limits), cache(partial(pack, problem, precision))
    lattice = _described(problem, packed(UNTURNED).counts, copies)
    key = f"{identity}, text {kernel_digest()}, {lattice} {precision}"
    known = recalled(key, place)
    if known is not None:
        return known

    def measure(candidate: Candidate) -> float:
        try:
            one = packed(turn if candidate.scheme == "resident" else UNTURNED)
            rate = _rate([one] * copies, problem, device, candidate, precision, wait)
        except FdtdError as error:
            if told is not None:
                told(candidate, error)
            raise
        if told is not None:
            told(candidate, rate)
        return rate

    winner, rate = fastest(_candidates(packed, turn, precision, device.limits, copies), measure)
    remember(key, winner, rate, place)
    return winner, rate


def _described(problem: Problem, counts: Mapping[str, int], copies: int) -> str:
    """Return what a rate depends on: cells, layers, walls, samples, looks, and the edges of source and port."""
    grid, sampling = problem.grid, problem.sampling
    cells = "x".join(str(count) for count in grid.counts)
    walls = ",".join(sorted(grid.magnetic)) or "none"
    edges = "+".join(str(counts[name]) for name in ("SOURCES", "PROBES", "BOX", "KINDS"))
    return (
        f"yee3d {cells}x{copies}, layers {'-'.join(map(str, grid.layers))}, magnetic {walls}, edges {edges}, "
        f"every {sampling.record_every} and {sampling.check_every}"
    )


def _rate(
    antennas: Sequence[Packed], problem: Problem, device: Device, candidate: Candidate, precision: str, wait: Wait
) -> float:
    """Return cell-steps a second, the median; as many steps as the problem's limit allows."""
    batch = Batch(device, antennas, precision, 0, candidate.scheme, **candidate.choice)
    steps = max(1, min(STEPS, problem.sampling.steps // (TIMINGS + 1)))
    seconds = []
    for _ in range(TIMINGS + 1):  # the first compiles
        if batch.room() < steps:
            batch.take_samples([_dropped] * len(antennas))
        wait()
        start = time.perf_counter()
        batch.advance(batch.steps + steps)
        wait()
        seconds.append(time.perf_counter() - start)
    return len(antennas) * problem.grid.cells * steps / statistics.median(seconds[1:])


def _dropped(first: int, block: Any) -> None:
    """Let samples go that are not needed."""
