"""Samples of Huygens boxes on a device: spectra, powers and far fields of a batch in a few launches.

Samples stay in device memory. The host is given powers and far fields, in two copies a batch. Kernels go ahead of those
that step other batches, on this thread's own stream, and the host waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from fdtd.backends.cuda.device import Device
from fdtd.backends.cuda.text import REALS, enumerators, flatten
from fdtd.farfield.box import DARK, SIGNS, Patch
from fdtd.yee.ringing import rest_of_transform
from fdtd.yee.spectrum import weights
from fdtd.yee.surface import Far, Surface

_TEXT = "kernels/huygens/surface.cu"
THREADS, CHUNK = 64, 32
"""Threads of a block, and factors that are held at a time: 32 KiB of shared memory for far fields."""
_HEADS = enumerators(_TEXT, "Head")[:-1]
_WALLS = 3  # at most: one an axis


@lru_cache(maxsize=2)
def text(precision: str) -> str:
    """Return the kernels' text, flattened, for samples in "float32" or "float64"."""
    return flatten(_TEXT, {"REAL": REALS[precision], "THREADS": THREADS, "CHUNK": CHUNK, "DARK": repr(DARK)})


@dataclass(frozen=True, kw_only=True)
class Take:
    """Samples of one antenna that lie in a ring in device memory.

    Attributes:
        antenna: Number in the batch.
        start: First number of the ring.
        held: Its rows.
        first: Number of the first sample.
        end: Number after that of the last.
    """

    antenna: int
    start: int
    held: int
    first: int
    end: int


@dataclass(eq=False)
class Kept:
    """Gets the samples of one antenna: where they are in device memory.

    Attributes:
        gathering: Of the batch.
        antenna: Number in it.
    """

    gathering: OnDevice
    antenna: int
    last: tuple[Any, Take] | None = None
    rest: np.ndarray | None = None

    def ring_on(self, rates: np.ndarray, count: int) -> None:
        """Add what waves of these rates, 1/s, do after the last sample; they are fitted to the last `count`."""
        if self.last is None or not len(rates) or count <= len(rates):
            return
        surface, taken = self.gathering.surfaces[self.antenna], self.last[1].end
        found = rest_of_transform(rates, surface.interval, count, surface.frequencies)
        self.rest = np.exp(-2j * np.pi * surface.frequencies * surface.interval * (taken + 1))[:, None] * found


class OnDevice:
    """A `fdtd.yee.surface.Gathering` of antennas on a device, all at the same frequencies.

    Args:
        device: Where.
        surfaces: One an antenna.

    Attributes:
        takers: One an antenna.
    """

    def __init__(self, device: Device, surfaces: Sequence[Surface]) -> None:
        self.surfaces, self._device = surfaces, device
        self.takers = [Kept(self, antenna) for antenna in range(len(surfaces))]
        self._frequencies = len(surfaces[0].frequencies)
        self._table = _heads(surfaces)
        self._values: Any = None  # buffers, from the first samples on
        self._heads: Any = None
        self._precision = "float32"

    def add(self, record: Any, takes: Sequence[Take]) -> None:
        """Add samples to the spectra; they may be overwritten afterwards.

        Args:
            record: The buffer of all rings.
            takes: Where samples lie in it.
        """
        surfaces = [self.surfaces[take.antenna] for take in takes]
        factors = [
            weights(one.frequencies, one.interval, take.first, take.end)
            for one, take in zip(surfaces, takes, strict=True)
        ]
        self._add(record, takes, factors)
        for take in takes:
            self.takers[take.antenna].last = record, take

    def _add(self, record: Any, takes: Sequence[Take], factors: Sequence[np.ndarray]) -> None:
        device, starts = self._device, [0, *accumulate(one.size for one in factors)]
        tasks = np.array(
            [
                (take.antenna, take.start, take.held, self.surfaces[take.antenna].size, take.first, take.end, at)
                for take, at in zip(takes, starts, strict=False)
            ],
            np.int64,
        )
        self._precision = str(record.dtype)
        blocks = -(-max(self.surfaces[take.antenna].size for take in takes) // THREADS)
        with device.ahead():
            self._allocate()
            given = device.upload(tasks), device.upload(_flat(factors))
            self._start(
                "add_samples", (blocks, len(takes)), record, *given, self._frequencies, self._heads, self._values
            )

    def _allocate(self) -> None:
        if self._values is None:
            whole = int(self._table[-1, _HEADS.index("VALUES")]) + self._frequencies * self.surfaces[-1].size
            self._values, self._heads = self._device.zeros(2 * whole, np.float64), self._device.upload(self._table)

    def _start(self, kernel: str, grid: tuple[int, int], *arguments: Any) -> None:
        self._device.start(text(self._precision), kernel, grid, THREADS, *arguments)

    def far(self) -> list[Far]:
        """Return the answers."""
        self._add_rest()
        device, surfaces, count = self._device, self.surfaces, self._frequencies
        boxes = [one.box for one in surfaces]
        patches, numbers = _patches([one.patches for one in boxes])
        walls, sizes = _walls(surfaces)
        angles = np.concatenate([_angles(*one) for one in _distinct(surfaces)[0]])
        heads = {name: self._table[:, at] for at, name in enumerate(_HEADS)}
        most, blocks = int(heads["DIRECTIONS"].max()), len(surfaces) * count
        with device.ahead():
            self._allocate()  # nothing was sampled
            power = device.zeros(5 * blocks, np.float64)
            field = device.zeros(4 * count * int(heads["DIRECTIONS"].sum()), np.float64)
            own = [device.upload(one) for one in (sizes, patches, numbers)]
            frequencies = device.upload(surfaces[0].frequencies)
            lossy = device.upload(np.concatenate([one.lossy.ravel() for one in surfaces] + [np.zeros(1)]))
            self._start("powers", (blocks, 1), self._values, self._heads, *own, lossy, frequencies, count, power)
            given = device.upload(walls), device.upload(angles), frequencies
            self._start("radiate", (blocks, -(-most // THREADS)), self._values, self._heads, *own, *given, count, field)
            power, field = device.download(power).reshape(-1, count, 5), device.download(field).view(complex)
        parts = np.split(field, heads["FIELD"][1:])
        return [
            Far(
                field=parts[n].reshape(count, -1, 2),
                flux=power[n, :, 0],
                losses=power[n, :, 1:3],
                voltage=power[n, :, 3] + 1j * power[n, :, 4],
                spectra=self._spectra(n),
            )
            for n in range(len(surfaces))
        ]

    def _add_rest(self) -> None:
        """Add what antennas that ring on would do after their last samples, which are still in their rings."""
        rings: dict[int, tuple[Any, list[Take], list[np.ndarray]]] = {}
        for one in self.takers:
            if one.rest is None or one.last is None:
                continue
            record, take = one.last
            _, takes, factors = rings.setdefault(id(record), (record, [], []))
            takes.append(replace(take, first=take.end - one.rest.shape[1]))
            factors.append(one.rest)
        for record, takes, factors in rings.values():
            self._add(record, takes, factors)
        for one in self.takers:
            one.last = None  # the memory of the rings is free

    def _spectra(self, antenna: int) -> Callable[[], np.ndarray]:
        surface, values, device = self.surfaces[antenna], self._values, self._device
        start, size = int(self._table[antenna, _HEADS.index("VALUES")]), self._frequencies * surface.size

        def fetch() -> np.ndarray:
            own = device.download(values[2 * start : 2 * (start + size)]).view(complex)
            return surface.at_one_time(own.reshape(-1, surface.size))

        return fetch


def _flat(factors: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.ascontiguousarray(one, dtype=complex).view(float).ravel() for one in factors])


def _distinct(surfaces: Sequence[Surface]) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[int]]:
    """Return the lists of directions, and which of them each antenna has."""
    keys = [(id(one.theta), id(one.phi)) for one in surfaces]
    lists = {key: (one.theta, one.phi) for key, one in zip(keys, surfaces, strict=True)}
    places = {key: at for at, key in enumerate(lists)}
    return list(lists.values()), [places[key] for key in keys]


def _angles(theta: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """Return sine and cosine of both angles of each direction, one axis."""
    return np.stack([np.sin(theta), np.cos(theta), np.sin(phi), np.cos(phi)], axis=-1).ravel()


def _heads(surfaces: Sequence[Surface]) -> np.ndarray:
    """Return the table `Head` of the kernels, (antennas, heads)."""
    lists, which = _distinct(surfaces)
    starts = [0, *accumulate(len(theta) for theta, _ in lists)]
    table = np.zeros((len(surfaces), len(_HEADS)), np.int64)
    sizes = {
        "VALUES": [len(one.frequencies) * one.size for one in surfaces],
        "FIELD": [2 * len(one.frequencies) * len(one.theta) for one in surfaces],
        "WEIGHTS": [one.lossy.size for one in surfaces],
        "PATCH": [len(one.box.patches) for one in surfaces],
    }
    for at, name in enumerate(_HEADS):
        if name in sizes:
            table[:, at] = [0, *accumulate(sizes[name][:-1])]
    own = {
        "BOX": [len(one.box.indices) for one in surfaces],
        "LOSSY": [one.lossy.shape[1] for one in surfaces],
        "PATCHES": sizes["PATCH"],
        "DIRECTION": [starts[at] for at in which],
        "DIRECTIONS": [len(one.theta) for one in surfaces],
        "WALLS": [len(one.box.walls) for one in surfaces],
    }
    for name, values in own.items():
        table[:, _HEADS.index(name)] = values
    return table


def _patches(boxes: Sequence[Sequence[Patch]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables `Patch` and `Number` of the kernels, one axis each."""
    rows, numbers, start = [], [], 0
    for patch in (patch for box in boxes for patch in box):
        own = [[patch.j[1], patch.m[1], patch.place_j, patch.place_m, patch.cell], *patch.places, *patch.lengths]
        rows.append((
            patch.axis, *patch.along, patch.j[0], patch.m[0], *patch.weights.shape, patch.electric.start,
            patch.magnetic.start, *patch.hole[0], *patch.hole[1], start,
        ))  # fmt: skip
        numbers += own
        start += sum(map(len, own))
    return np.array(rows, np.int64).ravel(), np.concatenate(numbers)


def _walls(surfaces: Sequence[Surface]) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables `Wall`, (antennas, 3, 4), and `Size` of the kernels, one axis each."""
    walls = np.zeros((len(surfaces), _WALLS, 4), np.int64)
    sizes = np.zeros((len(surfaces), 1 + _WALLS))
    for at, surface in enumerate(surfaces):
        grid = surface.box.grid
        sizes[at, 0] = grid.dt
        for number, (axis, side, kind) in enumerate(surface.box.walls):
            walls[at, number] = axis, side, SIGNS[kind], kind == "electric"
            sizes[at, 1 + number] = grid.planes[axis][-1 if side else 0]
    return walls.ravel(), sizes.ravel()
