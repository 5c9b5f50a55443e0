"""The CUDA backend of rectilinear lattices: batches of antennas, each with lattice, time step and stop of its own.

The host starts launches and looks at who runs; an antenna's numbers do not depend on its neighbours, to the bit.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace

import numpy as np

from fdtd.backends import cuda
from fdtd.backends.cuda.device import Device
from fdtd.backends.cuda.device_set import DeviceSet
from fdtd.backends.cuda.text import REALS, check_precision, flatten, pack_parameters
from fdtd.backends.cuda.yee_choice import (
    SCHEMES,
    groups,
    plan_resident,
    plan_tiles,
    plan_unposed,
    turn_of,
    unposed,
)
from fdtd.backends.cuda.yee_packing import PARAMETERS, RECORD_BYTES, Packed, number_type, pack, twice
from fdtd.backends.cuda.yee_records import LOOK_PARTS, LOOK_THREADS, Recorded, uploaded
from fdtd.backends.cuda.yee_slabs import cuts
from fdtd.backends.cuda.yee_split import Split
from fdtd.backends.cuda.yee_turning import UNTURNED
from fdtd.errors import ConfigError, OutOfMemory, Unsuitable
from fdtd.schemes import one_step
from fdtd.schemes.machine import HOPPER, Limits
from fdtd.schemes.resident.yee import YeeResidentPlan
from fdtd.schemes.trapezoidal import yee as tiles
from fdtd.stencils import SPATIAL
from fdtd.yee.problem import Look, Problem, Records, Sampling, Taker

_SUMS_AT_ONCE = 8, 32  # warps of the block of `after`: one a sum, at least and at most
_RECORD_PARTS, _RECORD_THREADS = 16, 256
_ALL_PLANES = 1 << 30
_WRAP = 1 << 31  # numbers of turns of chains
_SPLIT = threading.Lock()  # one lattice at a time has the streams of several devices
# Steps that are started at a time. Clusters fetch an antenna's fields once in as many, and stop by themselves.
_CHUNK = {"one_step": 160, "trapezoidal": 160, "resident": 640}
BUSY_CELLS = 8_000_000
"""Cells of all antennas that keep a device busy, about."""
PORT_BYTES = 1 << 20
"""Of the edges of an antenna's port, in a guide at most, with their weights and their values at 32 steps."""


class Batch(Recorded):
    """Antennas in device memory, with the programs that step them."""

    def __init__(
        self,
        device: Device,
        antennas: Sequence[Packed],
        precision: str,
        place: int = 0,
        scheme: str = "one_step",
        **tuning: int,
    ) -> None:
        """Upload and compile.

        Args:
            device: Where.
            antennas: From `pack`.
            precision: "float32" or "float64", as they were packed.
            place: Batches that are stepped at the same time have different places.
            scheme: One of `SCHEMES`.
            tuning: Keywords of the scheme's plan.
        """
        settings = {"REAL": REALS[precision], "NUMBER": number_type(antennas)}
        if scheme == "resident":
            self._plan = plan_resident(antennas, precision, device.limits, **tuning)
            stepper = flatten("schemes/resident/yee.cu", settings | self._plan.macros)
            antennas = [replace(one, sizes=one.sizes | self._plan.memories) for one in antennas]
        elif scheme == "trapezoidal":
            if len(antennas) > 1:
                raise Unsuitable("trapezoidal steps one lattice at a time; use one_step")
            (one,) = antennas
            self._plan = tiles.plan_yee(one.counts, np.dtype(precision).itemsize, device.limits, **tuning)
            text = flatten("schemes/trapezoidal/yee.cu", settings | self._plan.macros, SPATIAL["yee3d"].formula)
            stepper, settings["PLANES_TOGETHER"] = tiles.steady(text), "1"
            antennas = [twice(one, self._plan.memories, self._plan.kept)]
        else:
            self._plan = one_step.plan_yee(np.dtype(precision).itemsize, **tuning)
            stepper = flatten("schemes/one_step/yee.cu", settings | self._plan.macros, SPATIAL["yee3d"].formula)
        plan = self._plan
        between = (plan.parcels, plan.chains) if isinstance(plan, YeeResidentPlan) else ()
        super().__init__(device, antennas, uploaded(device, antennas, precision, *between), _CHUNK[scheme])
        self._epoch = 1
        self._stepper = device.program(stepper, place)
        self._looker = device.program(flatten("kernels/yee/looks.cu", settings), place)
        self._precision = precision
        self._after_threads = 32 * int(np.clip(self._counts["SUMS"].max(), *_SUMS_AT_ONCE))
        self._set_order(np.arange(len(antennas)))

    @property
    def _ends(self) -> list[tuple[int, int, int]]:
        return [tuple(one.counts[f"END_{axis}"] for axis in "XYZ") for one in self.antennas]  # type: ignore[misc]

    def _set_order(self, running: np.ndarray) -> None:
        """Start blocks for these antennas alone from now on; everything started has finished."""
        self._order = running
        more = self._plan.table() if isinstance(self._plan, tiles.YeeTilesPlan) else []
        self._buffers["stepped"] = self._device.upload(np.array([*running, *more], np.int32))
        addresses = {name: self._device.address(buffer) for name, buffer in self._buffers.items()}
        self._parameters = pack_parameters(self._precision, addresses, PARAMETERS)
        for program in (self._stepper, self._looker):
            program.set_parameters(self._parameters)

    def advance(self, end: int) -> None:
        """Start everything that takes the antennas to `end` steps; samples must not outrun the host (`due`)."""
        for program in (self._stepper, self._looker):
            program.set_parameters(self._parameters)  # other batches of this place had theirs there
        running, order = len(self._order), self._order
        if isinstance(self._plan, YeeResidentPlan):
            self._advance_chains(self._plan, end - self.steps, running)
            self.steps = end
            return
        every, check = self._counts["RECORD_EVERY"][order], self._counts["CHECK_EVERY"][order]
        every = np.where(self._counts["BOX"][order] > 0, every, 0)
        if isinstance(self._plan, tiles.YeeTilesPlan):
            self._advance_passes(self._plan, end, every, check)
            return
        grid, threads = self._plan.grid([self._ends[one] for one in order]), self._plan.threads
        for n in range(self.steps, end):
            self._stepper.launch("phase_0", grid, threads, n, 0, _ALL_PLANES)
            self._stepper.launch("phase_1", grid, threads, n, 0, _ALL_PLANES)
            self._looker.launch("after", (running,), self._after_threads, n)
            self._record_and_look(n, every, check, running)
        self.steps = end

    def _record_and_look(self, n: int, every: np.ndarray, check: np.ndarray, running: int) -> None:
        """Start what is due after step n."""
        if _any_due(every, n):
            self._looker.launch("record", (_RECORD_PARTS, running), _RECORD_THREADS, n, self.turn)
        if _any_due(check, n):
            self._looker.launch("look_part", (LOOK_PARTS, running), LOOK_THREADS, n, self.turn)
            self._looker.launch("look", (-(-running // LOOK_THREADS),), LOOK_THREADS, n, running, self.turn)

    def _advance_passes(self, plan: tiles.YeeTilesPlan, end: int, every: np.ndarray, check: np.ndarray) -> None:
        """Start passes of two steps, and of one where something is due between the two."""
        n = self.steps
        while n < end:
            taken = 1 if n + 1 == end or _any_due(every, n) or _any_due(check, n) else 2
            self._stepper.launch(f"pass_{taken}", (plan.blocks,), plan.threads, n, self.turn, shared=plan.shared_bytes)
            self._stepper.launch("sums_of_pass", (1,), self._after_threads, n, taken)
            n, self.turn = n + taken, 1 - self.turn
            self._record_and_look(n - 1, every, check, 1)
        self.steps = end

    def _advance_chains(self, plan: YeeResidentPlan, steps: int, running: int) -> None:
        """Start a cluster an antenna, or as many chains of blocks as there are on the device at the same time."""
        chains = min(plan.chains, running)
        self._stepper.launch(
            "resident",
            (chains * plan.cluster,) if chains else (plan.cluster, running),
            plan.threads,
            self.steps,
            steps,
            self._epoch,
            running,
            shared=plan.shared_bytes,
            cluster=1 if chains else plan.cluster,
            together=chains > 0,
        )
        if chains:
            taken = steps * -(-running // chains)  # by a chain, at most
            self._epoch = (self._epoch + taken) % _WRAP

    def keep(self, running: np.ndarray) -> None:
        """Start no more blocks for antennas that are known to have stopped, once half of them have."""
        self._live &= running
        left = self._order[self._live[self._order] & (self._counts["STEPS"][self._order] > self.steps)]
        if 0 < len(left) <= len(self._order) // 2:
            self.running()  # waits until constant memory is not in use
            self._set_order(left)


def run_batch(
    problems: Sequence[Problem],
    takers: Sequence[Taker | None],
    *,
    precision: str = "float32",
    look: Look | None = None,
    final: bool = False,
    scheme: str | None = None,
    on: Device | None = None,
    **tuning: int,
) -> list[Records]:
    """Step a batch to its end.

    Args:
        problems: What to step.
        takers: What gets the samples of each box, a block at a time; those of a `Kept` stay in device memory.
        precision: "float32" or "float64".
        look: Called at every look at the first antenna's energy.
        final: Whether to fetch the last fields; without, records have None.
        scheme: One of `SCHEMES`; if None, `resident` for those that fit in registers, their axes turned where that
            helps, `trapezoidal` for other large ones in single precision where there is memory for it, and `one_step`
            for the rest.
        on: Where to run; the CUDA device if None.
        tuning: Keywords of the scheme's plan.

    Returns:
        Records of each; `seconds` are those of all with the same scheme over their number.

    Raises:
        ConfigError: Precision or scheme is unknown.
        DeviceError: There is no device, or too little memory.
        KernelBuildError: A kernel does not compile for the device.
        Unsuitable: An antenna has too many cells or media.
    """
    check_precision(precision)
    if scheme not in (None, *SCHEMES):
        raise ConfigError(f"scheme = {scheme!r} is unknown (allowed: {', '.join(SCHEMES)})")
    where = cuda.device() if on is None else on
    turns = [turn_of(problem, precision, where.limits) if scheme is None else UNTURNED for problem in problems]
    packed = [pack(problem, precision, turn) for problem, turn in zip(problems, turns, strict=True)]
    found: dict[int, Records] = {}
    with cuda.PLACES.take() as place:
        apart = lambda: where.apart(place, cuda.PLACES.rank(place))  # noqa: E731
        chosen = scheme is None
        # Groups are made once; what another batch takes meanwhile is met by `_with_room`.
        room = where.free_bytes() if chosen else None
        for name, members in groups(packed, precision, where.limits, room) if chosen else _alike(scheme, len(packed)):
            some = [packed[n] for n in members]
            spare = chosen and name == "trapezoidal"
            batch = (_with_room if spare else Batch)(where, some, precision, place, name, **tuning)
            batch.running()  # waits until everything is there
            takes = [takers[n] for n in members]
            with cuda.TURNS.taken(), cuda.PLACES.stepping(place) as seconds:
                _march(batch, [problems[n] for n in members], takes, look if members[0] == 0 else None, apart)
                records = batch.records(final)  # waits for the end
            batch.take_samples(takes)
            del batch  # its memory, before the next has its own
            found |= {
                n: replace(one, seconds=seconds[0] / len(members)) for n, one in zip(members, records, strict=True)
            }
    return [found[n] for n in range(len(packed))]


def _with_room(
    where: Device, antennas: Sequence[Packed], precision: str, place: int, scheme: str, **tuning: int
) -> Batch:
    """Return the batch by a scheme, or by `one_step` where the device has too little memory for it; bits are equal."""
    with suppress(OutOfMemory):
        return Batch(where, antennas, precision, place, scheme, **tuning)
    return Batch(where, antennas, precision, place)  # what was there of the other has been released


def run_split(
    problem: Problem,
    taker: Taker | None,
    *,
    devices: int | DeviceSet,
    precision: str = "float32",
    look: Look | None = None,
    final: bool = False,
    starts: Sequence[int] | None = None,
) -> Records:
    """Step one lattice to its end on several devices of this host, each a slab of its planes.

    Fields, samples, sums and energy have the bits of `run_batch` with `one_step` on one device.

    Args:
        problem: What to step.
        taker: What gets the samples of its box; those of a `Kept` stay in the first device's memory.
        devices: Their number, or the devices themselves.
        precision: "float32" or "float64".
        look: Called at every look at the energy.
        final: Whether to fetch the last fields; without, records have None.
        starts: First node along z of each slab, and the number of nodes; slabs of about the same work if None.

    Raises:
        ConfigError: Precision is unknown, or there are fewer planes than the devices need.
        DeviceError: There are fewer devices, or too little memory.
        KernelBuildError: A kernel does not compile for the devices.
        Unsuitable: The antenna has too many cells or media.
    """
    check_precision(precision)
    packed = pack(problem, precision)
    cuts(packed, devices if isinstance(devices, int) else len(devices.devices))  # before a device is looked for
    where = cuda.device_set(devices) if isinstance(devices, int) else devices
    with _SPLIT, cuda.PLACES.take() as place:
        batch = Split(where, packed, precision, place, starts)
        batch.running()  # waits until everything is there
        with cuda.TURNS.taken(), cuda.PLACES.stepping(place) as seconds:
            _march(batch, [problem], [taker], look, nullcontext)
            (found,) = batch.records(final)  # waits for the end
        batch.take_samples([taker])
    return replace(found, seconds=seconds[0])


def antenna_bytes(
    shape: tuple[int, int, int],
    layers: int,
    precision: str,
    steps: int,
    frequencies: int = 1,
    limits: Limits = HOPPER,
    room: int | None = None,
) -> int:
    """Return the device memory that one antenna takes, at most.

    Args:
        shape: Cells along x, y, z.
        layers: Cells of the absorbing layers, in front of all faces.
        precision: "float32" or "float64".
        steps: Step limit.
        frequencies: Number of those at which samples are transformed.
        limits: Of the device.
        room: Bytes of its memory that are free: without enough for `trapezoidal`, it is stepped by `one_step`.
    """
    nx, ny, nz = (count + 2 for count in shape)
    row, slots, size = nx + 8, 2 * layers + 1, np.dtype(precision).itemsize
    memories = 4 * (ny * nz * slots + nz * slots * row + slots * ny * row)
    fields, kept = 6 * nz * ny * row, 0
    try:  # chains of blocks keep places of their own
        memories += sum(plan_unposed(shape, layers, precision, limits).memories.values())
    except Unsuitable:
        tiled = plan_tiles(unposed(shape, layers, steps), precision, limits, room)
        if tiled is not None:
            fields, memories, kept = 2 * fields, sum(tiled.memories.values()), tiled.kept
    spectra = 16 * frequencies * 8 * (nx * ny + ny * nz + nz * nx)  # four components on six faces, as if at the ends
    found = (fields + memories + kept) * size + 2 * 3 * nz * ny * row + RECORD_BYTES + PORT_BYTES + 24 * steps
    return found + spectra


def _march(
    batch: Batch | Split,
    problems: Sequence[Problem],
    takers: Sequence[Taker | None],
    look: Look | None,
    apart: Callable[[], AbstractContextManager[None]],
) -> None:
    """Start step after step until no antenna runs; the host looks at what ran one chunk before."""
    total = max(problem.sampling.steps for problem in problems)
    watch = _Watch(batch, problems[0].sampling, look)
    looks: deque[Callable[[], np.ndarray]] = deque()
    while batch.steps < total:
        if batch.room() < 1:
            batch.take_samples(takers)
            continue
        over = cuda.TURNS.is_over()
        with apart():
            batch.advance(min(batch.steps + batch.chunk, batch.steps + batch.room(), total))
            looks.append(batch.start_look())
            if len(looks) > 1:
                running = looks.popleft()()
                watch()
                if not running.any():
                    break
                batch.keep(running)
        if over:
            batch.running()  # waits for all that was started
            cuda.TURNS.pass_on()
    for one in looks:  # copies must have arrived before their memory is anybody else's
        one()
    watch()


class _Watch:
    """Reports the looks at the first antenna's energy."""

    def __init__(self, batch: Batch | Split, sampling: Sampling, look: Look | None) -> None:
        self._batch, self._every, self._look = batch, sampling.check_every, look
        self._seen, self._largest = 0, 0.0

    def __call__(self) -> None:
        if self._look is None or not self._every:
            return
        done = int(self._batch.done()[0])
        energies = self._batch.energy(0, done // self._every)
        for now in energies[self._seen :]:
            self._seen += 1
            self._largest = max(self._largest, now)
            level = 10 * math.log10(now / self._largest) if 0 < now < math.inf else -math.inf
            self._look(self._seen * self._every, level)


def _alike(scheme: str, count: int) -> list[tuple[str, Sequence[int]]]:
    """Return what is stepped together where all antennas have one scheme: all, but one by one if trapezoidal."""
    return [(scheme, [n]) for n in range(count)] if scheme == "trapezoidal" else [(scheme, range(count))]


def _any_due(every: np.ndarray, n: int) -> bool:
    return bool(((n + 1) % every[every > 0] == 0).any())
