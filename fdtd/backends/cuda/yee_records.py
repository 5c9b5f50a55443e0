"""What a device keeps of antennas that are stepped there, and how the host takes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fdtd.backends.cuda.device import Device
from fdtd.backends.cuda.yee_choice import NUMBERS
from fdtd.backends.cuda.yee_packing import ARRAYS, COUNTS, EMPTY, STARTS, Packed, number_type, starts
from fdtd.backends.cuda.yee_surface import Kept, OnDevice, Take
from fdtd.backends.cuda.yee_turning import back, turned_state
from fdtd.yee.problem import Records, Taker

LOOK_PARTS, LOOK_THREADS = 64, 256
"""As in `energy.cuh` and `looks.cu`."""
_APART = 32  # numbers of a chain's counters


class Recorded:
    """Samples, sums and energy of antennas in device memory.

    Attributes:
        antennas: As they were packed.
        starts: Where the parts of each antenna begin in the arrays, (antennas, STARTS).
        steps: Steps taken by the antennas that still run.
        chunk: Steps that are well started at a time.
    """

    def __init__(self, device: Device, antennas: Sequence[Packed], buffers: dict[str, Any], chunk: int) -> None:
        """Keep what others step; `buffers` has the arrays of `Parameters` by name."""
        self.antennas, self._device, self._buffers = list(antennas), device, buffers
        self._counts = {name: np.array([one.counts[name] for one in antennas]) for name in COUNTS}
        self.starts = starts(self.antennas)
        self._taken = np.zeros(len(antennas), int)  # samples that the host has
        self._live = np.ones(len(antennas), bool)  # as far as the host knows
        self.steps, self.chunk = 0, chunk
        self.turn = 0  # place of the fields now, where they have two

    def room(self) -> int:
        """Return the steps that may be started before the host must take samples."""
        sampled = self._live & (self._counts["BOX"] > 0) & (self._counts["STEPS"] > self.steps)
        ends = (self._taken + self._counts["HELD"] + 1) * self._counts["RECORD_EVERY"] - 1
        return int(ends[sampled].min()) - self.steps if sampled.any() else self.chunk

    def start_look(self) -> Callable[[], np.ndarray]:
        """Start to fetch which antennas run; the result waits."""
        look = self._device.start_download(self._buffers["active"])
        return lambda: look() != 0

    def running(self) -> np.ndarray:
        """Return which antennas have not stopped at a look, once everything started has finished, (batch,)."""
        return self._device.download(self._buffers["active"]) != 0

    def done(self) -> np.ndarray:
        """Return the steps that each antenna has taken, (batch,); waits likewise."""
        taken, self._live = self._device.download(self._buffers["taken"]), self.running()
        return np.where(self._live, np.minimum(self.steps, self._counts["STEPS"]), taken).astype(int)

    def take_samples(self, takers: Sequence[Taker | None]) -> None:
        """Pass on all samples that the host has not had; those of a `Kept` stay in device memory."""
        stay: dict[OnDevice, list[Take]] = {}
        for one, (taker, done) in enumerate(zip(takers, self.done(), strict=True)):
            size, held = self.antennas[one].counts["BOX"], self.antennas[one].counts["HELD"]
            first, end = int(self._taken[one]), int(done // self.antennas[one].counts["RECORD_EVERY"])
            if taker is None or not size:
                continue
            if isinstance(taker, Kept):
                start = self._start_of("record", one)
                if first < end:
                    taken = Take(antenna=taker.antenna, start=start, held=held, first=first, end=end)
                    stay.setdefault(taker.gathering, []).append(taken)
                self._taken[one] = end
                continue
            while first < end:  # rows in a ring
                row = first % held
                count = min(end - first, held - row)
                taker(first, self._part("record", one, row * size, count * size).reshape(count, size))
                first += count
            self._taken[one] = first
        for gathering, takes in stay.items():
            gathering.add(self._buffers["record"], takes)

    def _start_of(self, name: str, antenna: int) -> int:
        """Return where one antenna's part of an array begins."""
        return int(self.starts[antenna, [ARRAYS[one] for one in STARTS].index(name)])

    def _part(self, name: str, antenna: int, first: int, count: int) -> np.ndarray:
        """Return numbers of one antenna's part of an array."""
        at = self._start_of(name, antenna) + first
        return self._device.download(self._buffers[name][at : at + count])

    def energy(self, antenna: int, looks: int) -> np.ndarray:
        """Return an antenna's energy at its first looks, V^2 m."""
        return self._part("energy", antenna, 0, looks)

    def state(self, antenna: int) -> np.ndarray:
        """Return an antenna's fields, (6, nz + 1, ny + 1, nx + 1)."""
        packed = self.antennas[antenna]
        size = math.prod(packed.shape)
        self.done()  # and what was learnt there
        turn = self.turn if self._live[antenna] else int(self._device.download(self._buffers["turned"])[antenna])
        stored = self._part("fields", antenna, turn * size, size)
        if packed.sizes["fields"] > size:
            stored = stored.reshape(packed.shape[1], 6, *packed.shape[2:]).swapaxes(0, 1)
        stored = stored.reshape(packed.shape)
        nz, ny, nx = (packed.counts[f"N{axis}"] for axis in "ZYX")
        return turned_state(stored[:, : nz + 1, : ny + 1, : nx + 1], back(packed.turn))

    def records(self, final: bool) -> list[Records]:
        """Return what the batch left behind, with the last fields or without."""
        found = []
        whole = {name: self._device.download(self._buffers[name]) for name in ("sums", "energy")}  # two copies a batch
        for one, (packed, done) in enumerate(zip(self.antennas, self.done(), strict=True)):
            counts = packed.counts
            looks = done // counts["CHECK_EVERY"] if counts["CHECK_EVERY"] else 0
            sizes = {"sums": done * counts["SUMS"], "energy": looks}
            sums, energy = (whole[name][self._start_of(name, one) :][:size].copy() for name, size in sizes.items())
            state = None
            if final or not looks:
                state = self.state(one)
            found.append(
                Records(
                    steps=int(done),
                    sums=sums.reshape(done, counts["SUMS"]),
                    final=state,
                    energy=energy,
                    finite=bool(np.isfinite(energy[-1:] if state is None else state).all()),
                    seconds=0.0,
                )
            )
        return found


def uploaded(
    device: Device, antennas: Sequence[Packed], precision: str, parcels: int = 0, chains: int = 0
) -> dict[str, Any]:
    """Return the arrays of `Parameters` by name, but for `stepped`, in device memory.

    Args:
        device: Where.
        antennas: From `pack`.
        precision: As they were packed.
        parcels: That blocks of chains send each other.
        chains: Of blocks, which meet.
    """
    real = np.dtype(precision)
    types = {"sums": np.float64, "energy": np.float64, "media": NUMBERS[number_type(antennas)]}
    buffers: dict[str, Any] = {}
    for name in ARRAYS.values():
        if name in EMPTY and not any(name in one.arrays for one in antennas):
            size = sum(one.sizes[name] for one in antennas)
            buffers[name] = device.zeros(max(size, 1), types.get(name, real))
            continue
        whole = [one.arrays[name] if name in one.arrays else np.zeros(one.sizes[name], real) for one in antennas]
        joined = np.concatenate(whole) if sum(map(len, whole)) else np.zeros(1, whole[0].dtype)
        buffers[name] = device.upload(joined.astype(types["media"]) if name == "media" else joined)
    count = len(antennas)
    table = np.array([[one.counts[name] for name in COUNTS] for one in antennas], np.int32)
    return buffers | {
        "posts": device.zeros(max(2 * parcels, 1), np.int64),
        "meetings": device.zeros(max(_APART * chains, 1), np.int64),
        "counts": device.upload(table.ravel()),
        "starts": device.upload(starts(antennas).ravel()),
        "decay": device.upload(np.array([one.decay for one in antennas])),
        "peak": device.zeros(count, np.float64),
        "shares": device.zeros(count * LOOK_PARTS, np.float64),
        "active": device.upload(np.ones(count, np.int32)),
        "taken": device.zeros(count, np.int32),
        "turned": device.zeros(count, np.int32),
    }
