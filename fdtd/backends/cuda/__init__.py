"""The CUDA backend: whole batches on one device, and how many antennas it takes at a time.

CuPy is imported when a device is first needed.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from fdtd.axisymmetric.problem import Problem, Records, Watch
from fdtd.backends.cuda.device import CudaDevice, Device
from fdtd.backends.cuda.device_set import CudaSet
from fdtd.backends.cuda.paces import measured_paces, paced
from fdtd.backends.cuda.stepping import Batch, texts
from fdtd.backends.cuda.turns import Turns
from fdtd.errors import ConfigError, OutOfMemory, Unsuitable
from fdtd.schemes.antennas import SCHEMES, Scheme
from fdtd.schemes.machine import SHARE_OF_FREE, Limits
from fdtd.side_by_side import side_by_side

_PRECISIONS = ("float32", "float64")
_BYTES_PER_CELL = 40  # numbers of double precision that rasterising and packing an antenna hold at a time
_RECORD_COPIES = 2  # the contour's record, and what its transform holds of it
PLACES_THERE = 2
"""Batches that are stepped at the same time, at most."""
_STATE = 8  # numbers of a cell that a second buffer holds: six components, and the layers' memories


class _Places:
    """Places of batches that are stepped at the same time, and the device's time that each of them is charged.

    There are two: a third batch waits until one is free. Three would end later than two, and share what is cached.

    Each place has streams and constant memory of its own, so that blocks of one batch take the multiprocessors that
    antennas of another have left. The batch that came first goes first: else all would end at the same time, and
    nothing would be stepped while the host looks at them. While n batches are stepped, each is charged an n-th of the
    time: the sum over batches is the time in which any was stepped.
    """

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(PLACES_THERE)
        self._taken: list[int] = []
        self._lock = threading.Lock()
        self._stepping: list[int] = []  # places, in order of arrival
        self._charged = 0.0  # s, to a batch that has been there from the beginning
        self._since = 0.0

    @contextmanager
    def take(self) -> Iterator[int]:
        """Take the lowest place that is free; wait while none is."""
        with self._free:
            with self._lock:
                place = next(place for place in range(len(self._taken) + 1) if place not in self._taken)
                self._taken.append(place)
            try:
                yield place
            finally:
                with self._lock:
                    self._taken.remove(place)

    def rank(self, place: int) -> int:
        """Return how many batches began before a place's."""
        with self._lock:
            return self._stepping.index(place)

    @contextmanager
    def stepping(self, place: int) -> Iterator[list[float]]:
        """Count one more batch that is stepped; the seconds that it was charged are added to the list at the end."""
        seconds: list[float] = []
        with self._lock:
            start = self._charge()
            self._stepping.append(place)
        try:
            yield seconds
        finally:
            with self._lock:
                seconds.append(self._charge() - start)
                self._stepping.remove(place)

    def _charge(self) -> float:
        now = time.perf_counter()
        if self._stepping:
            self._charged += (now - self._since) / len(self._stepping)
        self._since = now
        return self._charged


PLACES = _Places()
"""Of this process's device."""
TURNS = Turns()
"""Of this process on its device, for antennas in space: several processes solve these."""


@lru_cache(maxsize=1)
def device() -> CudaDevice:
    """The device of this process, looked up once.

    cuBLAS is given a workspace of one size before it is loaded: by default it picks its kernels, and with them the
    order of a sum, by what other streams leave it, and an antenna's last bits would depend on the batch beside its own.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return CudaDevice()


@lru_cache(maxsize=4)
def device_set(count: int) -> CudaSet:
    """The first devices of this process, looked up once.

    Raises:
        DeviceError: There are fewer.
    """
    return CudaSet(count, device())


def run(
    problem: Problem,
    *,
    precision: str = "float32",
    scheme: str | None = None,
    watch: Watch | None = None,
    on: Device | None = None,
    **choice: Any,
) -> Records:
    """Step a batch to its end.

    Args:
        problem: What to step.
        precision: "float32" or "float64".
        scheme: The order in which cells are visited, one of `SCHEMES`; the fastest that can if None (see
            `choose`).
        watch: Called at every look at the first antenna's energy.
        on: Where to run; the CUDA device if None.
        choice: Keywords of the scheme's plan.

    Returns:
        Records in the given precision; those of one antenna do not depend on its neighbours in the batch.

    Raises:
        ConfigError: The precision or the scheme is unknown.
        DeviceError: No device, or too little memory.
        KernelBuildError: A kernel does not compile for the device.
        Unsuitable: The scheme cannot step this problem on this device.
    """
    if precision not in _PRECISIONS:
        raise ConfigError(f"precision = {precision!r} is unknown (allowed: {', '.join(_PRECISIONS)})")
    if scheme is not None and scheme not in SCHEMES:
        raise ConfigError(f"scheme = {scheme!r} is unknown (allowed: {', '.join(SCHEMES)})")
    where = device() if on is None else on
    name = choose(problem, precision, where.limits, paces_of(where))[0] if scheme is None else scheme
    made = SCHEMES[name](problem, precision, where.limits, **choice)
    with PLACES.take() as place:
        batch = Batch(where, problem, made, precision, place=place)
        batch.running()  # waits until everything is there
        with PLACES.stepping(place) as seconds:
            _march(batch, problem, watch, lambda: where.apart(place, PLACES.rank(place)))
            records = batch.records()  # waits for the end
        return replace(records, seconds=seconds[0])


def rehearse(problem: Problem, precision: str, places: int = PLACES_THERE, on: Device | None = None) -> None:
    """Compile and load what `run` takes for problems like this one; nothing is stepped, and no place is taken.

    Args:
        problem: Of an antenna, as `run` gets it.
        precision: "float32" or "float64".
        places: Of batches that will be stepped at the same time.
        on: Where; the CUDA device if None.

    Raises:
        DeviceError, KernelBuildError, Unsuitable: As `run`.
    """
    where = device() if on is None else on
    made = SCHEMES[choose(problem, precision, where.limits, paces_of(where))[0]](problem, precision, where.limits)

    def programs(text: str) -> None:
        for place in range(places):
            where.program(text, place)

    compiled = [partial(programs, text) for text in texts(problem, made, precision)]
    side_by_side(*compiled, partial(Batch, where, problem, made, precision))


def _march(
    batch: Batch, problem: Problem, watch: Watch | None, apart: Callable[[], AbstractContextManager[None]]
) -> None:
    """Start launch after launch until no antenna runs.

    One launch waits behind the one that runs, so that the device need not wait for the host's look at who runs; an
    antenna that has stopped does nothing in it.
    """
    sampling = problem.sampling
    looks: deque[tuple[int, Callable[[], tuple[np.ndarray, np.ndarray]]]] = deque()

    def seen() -> bool:
        step, look = looks.popleft()
        running, ratios = look()
        if watch is not None:
            watch(step, float(ratios[0]))
        return bool(running.any())

    while batch.steps < sampling.steps:
        with apart():
            batch.advance(min(batch.steps + sampling.check_every, sampling.steps))
            if batch.steps % sampling.check_every == 0:
                looks.append((batch.steps, batch.start_look()))
        if len(looks) > 1 and not seen():
            break
    else:
        while looks and seen():
            pass
    for _, look in looks:  # copies must have arrived before their memory is anybody else's
        look()


def paces_of(where: Device) -> Mapping[str, float]:
    """Return the paces that were measured on a device; none for what stands for one."""
    return measured_paces(where.identity) if isinstance(where, CudaDevice) else {}


FOR_FEW = ("resident", "trapezoidal", "one_step")
"""Schemes for some ten antennas, the fastest first: they use more than one multiprocessor an antenna. To step ten
lenses of 124 x 210 cells took an H200 13, 30 and 54 ms, 121 by `wavefront`; with coupled nodes on 237 x 398 cells
0.27 s by `one_step`, 1.81 by `wavefront`."""


def choose(
    problem: Problem, precision: str, limits: Limits, paces: Mapping[str, float] | None = None
) -> tuple[str, str]:
    """The scheme that steps large batches of a problem fastest, by its plan's pace on this device.

    It depends on the lattice, the precision and the device, and on whether antennas are few, as those of certificates
    (`Problem.few`); never on how many there are or what they hold: all batches of a study go the same way. Few antennas
    take the first of `FOR_FEW` that can step them.

    Args:
        problem: What to step; its lattice, layers and sampling are looked at, and whether its nodes may be coupled.
        precision: "float32" or "float64".
        limits: Of the device.
        paces: Its measured paces over the plans' own; see `measured_paces`.

    Returns:
        Its name, and what stood against each of the others.

    Raises:
        Unsuitable: There is none; the message gives the reason for each.
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
    pace = {name: paced(one, paces or {}) for name, one in able.items()}
    best = max(able, key=pace.__getitem__)
    if problem.few:
        best = next((name for name in FOR_FEW if name in able), best)
    others = [f"{name}: {_speed(able[name], pace[name])}" for name in able if name != best]
    return best, "; ".join([_speed(able[best], pace[best]), *others, *reasons])


def _speed(scheme: Scheme, pace: float) -> str:
    """How fast a scheme is, as far as its plan tells, and what was measured."""
    if scheme.name == "one_step":
        return "all numbers through memory in every step"
    return f"about {pace / 1e9:.0f} G cell-steps/s for populations"


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
    """Antennas that keep a device busy to the end: as many as multiprocessors or, by whole waves, somewhat fewer.

    Where several are stepped on a multiprocessor, one wave.
    """
    return max(limits.multiprocessors // scheme.at_once, 1) * scheme.at_once


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
    room = int(SHARE_OF_FREE * free_bytes / batches) // per_antenna
    if room < 1 and int(SHARE_OF_FREE * free_bytes) >= per_antenna:
        room = 1
    if room < 1:
        raise OutOfMemory(
            f"one antenna needs about {per_antenna / 1e9:.2g} GB of device memory, and {free_bytes / 1e9:.2g} GB are "
            "free; use a larger cell, fewer steps, a smaller antenna, or --backend cpu"
        )
    return room // wave * wave or room
