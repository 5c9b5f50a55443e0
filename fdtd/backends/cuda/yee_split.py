"""One lattice stepped by several devices of a host, each a slab of its planes; bits are those of one device.

In each half of a step a slab first forms the plane that a neighbour waits for, on a stream of its own, and sends it
while the other planes are stepped: H of its last plane up, then E of its first plane down. The first device has the
records of the whole lattice too; sums are added up in the order of `one_step` on one device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fdtd.backends.cuda.device import Device, Program
from fdtd.backends.cuda.device_set import COPY, EDGE, MAIN, DeviceSet, Part
from fdtd.backends.cuda.text import REALS, flatten, pack_parameters
from fdtd.backends.cuda.yee_packing import PARAMETERS, Packed, number_type
from fdtd.backends.cuda.yee_records import LOOK_PARTS, LOOK_THREADS, Recorded, uploaded
from fdtd.backends.cuda.yee_slabs import UNIT, Slab, cuts, head, slabs
from fdtd.schemes import one_step
from fdtd.stencils import SPATIAL

_CHUNK = 160  # steps that are started at a time, at most; whole intervals of samples have graphs in common
_MOST_AT_ONCE = 64  # steps of a graph
_THREADS = 256  # of blocks between steps
_MOST_BLOCKS = 1024  # of looks and samples
_LANES = 32  # of a warp
_FLAG = UNIT // 4  # numbers of a whole unit, of which the first says whether the lattice runs


class _Stepped:
    """One slab in its device's memory, with its programs."""

    def __init__(self, device: Device, slab: Slab, precision: str, place: int, **tuning: int) -> None:
        self.slab, self.precision = slab, precision
        settings = {"REAL": REALS[precision], "NUMBER": number_type([slab.packed])}
        self._plan = one_step.plan_yee(np.dtype(precision).itemsize, **tuning)
        self.buffers = uploaded(device, [slab.packed], precision) | {
            "active": device.upload(np.repeat(np.array([1, 0], np.int32), (1, _FLAG - 1))),
            "shares": device.zeros(LOOK_PARTS * (1 + LOOK_THREADS) + _LANES * self.rows, np.float64),
            "stepped": device.zeros(1, np.int32),
        }
        addresses = {name: device.address(buffer) for name, buffer in self.buffers.items()}
        self._parameters = pack_parameters(precision, addresses, PARAMETERS)
        text = flatten("schemes/one_step/yee.cu", settings | self._plan.macros, SPATIAL["yee3d"].formula)
        self._stepper = device.program(text, place)
        self.between: Program = device.program(flatten("kernels/yee/slab.cu", settings), place)

    @property
    def rows(self) -> int:
        """Rows of a component in its own planes."""
        return self.slab.count * (self.slab.packed.counts["NY"] + 1)

    def set_parameters(self) -> None:
        """Copy the addresses into the programs' constant memory."""
        for program in (self._stepper, self.between):
            program.set_parameters(self._parameters)

    def phase(self, which: int, low: int, high: int) -> None:
        """Start a phase of planes from `low` to before `high`; nothing where there are none."""
        if low < high:
            ends = self.slab.packed.counts["END_X"], self.slab.packed.counts["END_Y"], high - low
            self._stepper.launch(f"phase_{which}", self._plan.grid([ends]), self._plan.threads, 0, low, high)

    def plane(self, device: int, component: int, plane: int) -> Part:
        """Return a plane of a component and of the next one."""
        _, planes, rows, pitch = self.slab.packed.shape
        volume, count = planes * rows * pitch, rows * pitch
        first = component * volume + plane * count
        return Part(device=device, buffer=self.buffers["fields"], first=first, count=count, rows=2, apart=volume)

    def own_state(self, device: Device) -> np.ndarray:
        """Return the fields of its own nodes, (6, nodes, ny + 1, nx + 1)."""
        counts, count = self.slab.packed.counts, self.slab.count
        stored = device.download(self.buffers["fields"][: math.prod(self.slab.packed.shape)])
        return stored.reshape(self.slab.packed.shape)[:, 1 : count + 1, : counts["NY"] + 1, : counts["NX"] + 1]


class Split(Recorded):
    """A lattice in the memory of several devices; used as a `yee.Batch` of one antenna.

    Attributes:
        slabs: One a device.
    """

    def __init__(
        self,
        devices: DeviceSet,
        packed: Packed,
        precision: str,
        place: int = 0,
        starts: Sequence[int] | None = None,
        **tuning: int,
    ) -> None:
        """Cut, upload and compile.

        Args:
            devices: Where.
            packed: From `pack`.
            precision: "float32" or "float64", as it was packed.
            place: Lattices that are stepped at the same time have different places.
            starts: First node along z of each slab, and the number of nodes; slabs of about the same work if None.
            tuning: Keywords of `fdtd.schemes.one_step.plan_yee`.

        Raises:
            ConfigError: There are more devices than planes for them.
        """
        self._set = devices
        self.slabs = slabs(packed, cuts(packed, len(devices.devices)) if starts is None else starts)
        self._stepped = []
        for place_of, slab in enumerate(self.slabs):
            with devices.here(place_of):
                self._stepped.append(_Stepped(devices.devices[place_of], slab, precision, place, **tuning))
        first, whole = devices.devices[0], head(packed, self.slabs)
        with devices.here(0):
            buffers = uploaded(first, [whole], precision) | {
                "shares": first.zeros(LOOK_PARTS * (1 + LOOK_THREADS), np.float64),
                "stepped": first.zeros(1, np.int32),
            }
            self._flag = first.upload(np.repeat(np.array([1, 0], np.int32), (1, _FLAG - 1)))
            buffers["active"] = self._flag[:1]
            addresses = {name: first.address(buffer) for name, buffer in buffers.items()}
            self._parameters = pack_parameters(precision, addresses, PARAMETERS)
            settings: dict[str, int | str] = {"REAL": REALS[precision], "NUMBER": number_type([whole]), "HEAD": 1}
            self._head = first.program(flatten("kernels/yee/slab.cu", settings), place)
        every = packed.counts["RECORD_EVERY"]
        super().__init__(first, [whole], buffers, every * (_CHUNK // every) or _CHUNK)
        self._graphs: dict[Hashable, Any] = {}
        self._marks: dict[tuple[str, int], Any] = {}

    @property
    def _all(self) -> range:
        return range(len(self._stepped))

    def _every(self, name: str) -> int:
        counts = self.antennas[0].counts
        return 0 if name == "RECORD_EVERY" and not counts["BOX"] else counts[name]

    def advance(self, end: int) -> None:
        """Start everything that takes the lattice to `end` steps; samples must not outrun the host."""
        for device, one in enumerate(self._stepped):
            with self._set.here(device):
                one.set_parameters()
        with self._set.here(0):
            self._head.set_parameters(self._parameters)
        self._set.begin()
        flushed = self.steps
        while self.steps < end:
            stops = [end, flushed + self.chunk]
            stops += [(self.steps // every + 1) * every for every in map(self._every, _DUE) if every]
            self._take(min(stops) - self.steps)
            n = self.steps - 1
            if self.steps in (end, flushed + self.chunk):
                self._between(partial(self._add_sums, flushed, self.steps - flushed))
                flushed = self.steps
            if self._is_due("RECORD_EVERY", n):
                for device in self._all:
                    self._follow("sample before", (device, COPY), (0, MAIN))
                self._between(partial(self._sample, n), (MAIN, EDGE))
            if self._is_due("CHECK_EVERY", n):
                self._between(partial(self._look, n))
        self._set.end()

    def _is_due(self, name: str, n: int) -> bool:
        every = self._every(name)
        return bool(every) and (n + 1) % every == 0

    def _take(self, steps: int) -> None:
        """Start steps in pieces of about the same length."""
        pieces = -(-steps // _MOST_AT_ONCE)
        for piece in range(pieces):
            length = steps * (piece + 1) // pieces - steps * piece // pieces
            self._set.replay(self._graphs, length, partial(self._between, partial(self._run, length)))
        self.steps += steps

    def _between(self, start: Callable[[], None], streams: Sequence[int] = (MAIN, EDGE, COPY)) -> None:
        """Start something after all that was started on some streams, and before all that will be."""
        begun = self._set.mark(0, MAIN)
        others = [(device, stream) for device in self._all for stream in streams if device or stream]
        for device, stream in others:
            self._set.wait(device, stream, begun)
        start()
        for device, stream in others:
            self._set.wait(0, MAIN, self._set.mark(device, stream))

    def _run(self, steps: int) -> None:
        """Start steps; the first is `P.taken`."""
        self._marks.clear()
        for step in range(steps):
            for device in self._all:
                self._form_h(device)
            for device in self._all:
                self._form_e(device, step)
        for device, one in enumerate(self._stepped):
            self._await(device, MAIN, "plane of e")
            with self._set.on(device, MAIN):
                one.between.launch("count_steps", (1,), 32, steps)

    def _await(self, device: int, stream: int, name: str) -> None:
        """Let a stream wait for a device's mark of that name; nothing where this replay has none yet."""
        if (name, device) in self._marks:
            self._set.wait(device, stream, self._marks[name, device])

    def _follow(self, name: str, first: tuple[int, int], then: tuple[int, int]) -> None:
        """Let one device's stream wait for all that was started on another; tests leave waits out by name."""
        self._set.wait(*then, self._set.mark(*first))

    def _form_h(self, device: int) -> None:
        """Start H of a slab: its last plane first, which the slab above waits for."""
        one, marks, last = self._stepped[device], self._marks, self._stepped[device].slab.count
        if one.slab.above:
            self._await(device, EDGE, "e")
            self._await(device, EDGE, "e above")
            with self._set.on(device, EDGE):
                one.phase(0, last, last + 1)
            marks["plane of h", device] = self._set.mark(device, EDGE)
            above = self._stepped[device + 1].plane(device + 1, 3, 0)
            marks["h below", device + 1] = self._set.send(one.plane(device, 3, last), above, EDGE)
        self._await(device, MAIN, "plane of e")
        with self._set.on(device, MAIN):
            one.phase(0, 1, last + (not one.slab.above))
        marks["h", device] = self._set.mark(device, MAIN)

    def _form_e(self, device: int, step: int) -> None:
        """Start E of a slab: its first plane first, which the slab below waits for; source and sums."""
        one, marks, last = self._stepped[device], self._marks, self._stepped[device].slab.count
        counts, early = one.slab.packed.counts, one.slab.early if one.slab.below else 0
        if one.slab.below:
            self._await(device, EDGE, "h")
            self._await(device, EDGE, "h below")
            with self._set.on(device, EDGE):
                one.phase(1, 1, 2)
                if early:
                    one.between.launch("drive_slab", (1,), _THREADS, step, 0, early, 0)
            marks["plane of e", device] = self._set.mark(device, EDGE)
            below = self._stepped[device - 1]
            to = below.plane(device - 1, 0, below.slab.count + 1)
            marks["e above", device - 1] = self._set.send(one.plane(device, 0, 1), to, EDGE)
        self._await(device, MAIN, "plane of h")
        with self._set.on(device, MAIN):
            one.phase(1, 1 + one.slab.below, last + 1)
        if counts["SOURCES"] > early or counts["PROBES"]:
            self._await(device, MAIN, "plane of e")
            rest = step, early, counts["SOURCES"], int(counts["PROBES"] > 0)
            with self._set.on(device, MAIN):
                one.between.launch("drive_slab", (1,), _THREADS, *rest)
        marks["e", device] = self._set.mark(device, MAIN)

    def _to_head(self, device: int, name: str, to: str, first: int, count: int, stream: int = MAIN) -> None:
        """Send an array to the first device, whose stream waits for it."""
        part = Part(device=device, buffer=self._stepped[device].buffers[name], first=0, count=count)
        there = Part(device=0, buffer=self._buffers[to], first=first, count=count)
        self._set.wait(0, stream, self._set.send(part, there, stream))

    def _add_sums(self, first: int, steps: int) -> None:
        """Start the sums of steps from `first` on."""
        if not self.antennas[0].counts["SUMS"]:
            return
        at = 0
        for device, one in enumerate(self._stepped):
            count = one.slab.packed.sizes["trace"]
            if count:
                self._to_head(device, "trace", "trace", at, count)
            at += count
        with self._set.on(0, MAIN):
            self._head.launch("sums_here", (steps,), _THREADS, first)

    def _sample(self, n: int) -> None:
        """Start a sample of the box after step n; it is sent while steps go on."""
        at = 0
        for device, one in enumerate(self._stepped):
            count = one.slab.packed.sizes["record"]
            if count:
                with self._set.on(device, MAIN):
                    one.between.launch("sample_slab", (_blocks(count),), _THREADS)
                self._follow("gathered", (device, MAIN), (device, COPY))
                self._to_head(device, "record", "fields", at, count, COPY)
            at += count
        with self._set.on(0, COPY):
            self._head.launch("record_here", (_blocks(at),), _THREADS, n, at)

    def _look(self, n: int) -> None:
        """Start a look at the energy after step n: threads' sums pass from device to device, component by component."""
        nodes, last = self.antennas[0].counts["NZ"] + 1, len(self._stepped) - 1
        size = LOOK_PARTS * LOOK_THREADS
        for component in range(6):
            for device, one in enumerate(self._stepped):
                with self._set.on(device, MAIN):
                    blocks = _blocks(_LANES * one.rows, LOOK_THREADS)
                    one.between.launch("rows_of_slab", (blocks,), LOOK_THREADS, component, one.slab.count)
            for device, one in enumerate(self._stepped):
                with self._set.on(device, MAIN):
                    rows = component, one.slab.first, one.slab.count, nodes
                    one.between.launch("energy_of_slab", (LOOK_PARTS,), LOOK_THREADS, *rows)
                following = 0 if device == last else device + 1
                buffer = self._stepped[following].buffers["shares"]
                if component == 5 and device == last:
                    buffer, following = self._buffers["shares"], 0
                elif following == device:
                    continue
                here = Part(device=device, buffer=one.buffers["shares"], first=LOOK_PARTS, count=size)
                there = Part(device=following, buffer=buffer, first=LOOK_PARTS, count=size)
                self._set.wait(following, MAIN, self._set.send(here, there, MAIN))
        self._follow("sample of the same step", (0, COPY), (0, MAIN))  # before the lattice stops
        with self._set.on(0, MAIN):
            self._head.launch("energy_here", (LOOK_PARTS,), LOOK_THREADS, n)
            self._head.launch("look", (1,), LOOK_THREADS, n, 1, 0)
        for device, one in enumerate(self._stepped):
            flag = Part(device=0, buffer=self._flag, first=0, count=_FLAG)
            self._set.send(flag, replace(flag, device=device, buffer=one.buffers["active"]), MAIN)

    def start_look(self) -> Callable[[], np.ndarray]:
        """Start to fetch whether the lattice runs; the result waits."""
        with self._set.here(0):
            return super().start_look()

    def keep(self, running: np.ndarray) -> None:
        """Nothing: there is one lattice."""

    def state(self, antenna: int) -> np.ndarray:
        """Return the fields, (6, nz + 1, ny + 1, nx + 1)."""
        parts = []
        for device, one in enumerate(self._stepped):
            with self._set.here(device):
                parts.append(one.own_state(self._set.devices[device]))
        return np.concatenate(parts, axis=1)


def _blocks(numbers: int, threads: int = _THREADS) -> int:
    """Return the number of blocks for `numbers`; threads take several where there are too many."""
    return max(1, min(-(-numbers // threads), _MOST_BLOCKS))


_DUE = ("RECORD_EVERY", "CHECK_EVERY")
