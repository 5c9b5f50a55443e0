"""A packed lattice cut along z into slabs, which are lattices of their own with copies of their neighbours' planes.

Plane p of a slab, from 1 on, is node p - 1 of its own; planes 0 and `count` + 1 are the neighbours'. One more follows,
which is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fdtd.backends.cuda.yee_packing import METAL, Packed
from fdtd.errors import ConfigError

LEAST_PLANES = 2
"""Of a slab: one is sent up and one down."""
TRACED = 256
"""Steps whose edges of the sums are kept, as in `slab.cu`; no less than are started at a time."""
UNIT = 16
"""Bytes; whole ones are copied between devices."""
_LAYER = 1.3  # work of a plane in a layer along z, which has 43 % more bytes: measured
_Z_SPACINGS = (1, 4)  # of the stencil, in `axes`
_Z = 2  # in `lengths`


@dataclass(frozen=True, kw_only=True, eq=False)
class Slab:
    """Planes of a lattice that one device steps.

    Attributes:
        first: Its first node along z.
        count: Its nodes along z.
        below: Whether there is a slab below.
        above: Whether there is one above.
        packed: As a lattice of its own; its sources in plane 1 come first, and it has neither sums nor looks.
        early: Sources in plane 1 that drive what is sent down.
        probes: Which edges of the sums are its own.
        box: Which points of the box are.
    """

    first: int
    count: int
    below: bool
    above: bool
    packed: Packed
    early: int
    probes: np.ndarray
    box: np.ndarray


def cuts(packed: Packed, devices: int) -> list[int]:
    """Return the first node along z of each slab, and the number of nodes: slabs take about the same time.

    Args:
        packed: The whole lattice.
        devices: Number of slabs.

    Raises:
        ConfigError: It has too few planes.
    """
    nodes, counts = packed.counts["NZ"] + 1, packed.counts
    if not 1 <= devices <= nodes // LEAST_PLANES:
        raise ConfigError(
            f"devices = {devices} need {devices * LEAST_PLANES} planes along z, and the lattice has {nodes}; use "
            f"at most {nodes // LEAST_PLANES}"
        )
    work = np.ones(nodes)
    work[: counts["LOW_Z"]] = _LAYER
    if counts["HIGH_Z"]:
        work[-1 - counts["HIGH_Z"] :] = _LAYER
    so_far = np.concatenate([[0.0], np.cumsum(work)])
    found = [0]
    for slab in range(1, devices):
        ideal = int(np.abs(so_far - so_far[-1] * slab / devices).argmin())
        left = devices - slab  # slabs still to come
        found.append(min(max(ideal, found[-1] + LEAST_PLANES), nodes - left * LEAST_PLANES))
    return [*found, nodes]


def slabs(packed: Packed, starts: Sequence[int]) -> list[Slab]:
    """Cut a lattice.

    Args:
        packed: The whole lattice.
        starts: From `cuts`, or other numbers that increase.
    """
    return [_slab(packed, first, end) for first, end in pairwise(starts)]


def _slab(packed: Packed, first: int, end: int) -> Slab:
    whole, arrays, shape = packed.counts, packed.arrays, packed.shape
    nodes, count = whole["NZ"] + 1, end - first
    layers = whole["NZ"] - whole["HIGH_Z"] if whole["HIGH_Z"] else end
    counts = whole | {
        "NZ": count + 1,
        "END_Z": min(end, whole["END_Z"]) - first + 1,
        "LOW_Z": min(end, whole["LOW_Z"]) - first + 1 if whole["LOW_Z"] > first else 0,
        "HIGH_Z": end - max(layers, first) if layers < end else 0,
        "SUMS": 0,
        "CHECK_EVERY": 0,
        "HELD": 1,
    }
    own_shape = (shape[0], count + 3, *shape[2:])
    sources, early, driven = _own(arrays["sources"], shape, first, end, own_shape)
    order = np.argsort(~early, kind="stable")
    probes, _, probed = _own(arrays["probes"], shape, first, end, own_shape)
    box, _, sampled = _own(arrays["box"], shape, first, end, own_shape)
    own = arrays | {
        "media": _planes(arrays["media"].reshape(3, *shape[1:]), first, end, METAL).ravel(),
        "axes": _shifted(arrays["axes"].reshape(6, 3, -1), _Z_SPACINGS, first),
        "lengths": _shifted(arrays["lengths"].reshape(3, 2, -1), (_Z,), first),
        "sources": sources[order],
        "gains": arrays["gains"][driven][order],
        "probes": probes,
        "box": box,
    }
    own |= {name: arrays[name][:0] for name in ("weights", "spans")}
    if "fields" in arrays:
        own["fields"] = _planes(arrays["fields"].reshape(shape), first, end, 0).ravel()
    counts |= {"SOURCES": len(sources), "PROBES": len(probes), "BOX": len(box)}
    rows, pitch = whole["NY"] + 1, whole["PITCH"]
    entries = {axis: sum(counts[f"{side}_{axis}"] for side in ("LOW", "HIGH")) for axis in "XYZ"}
    entries = {axis: number + 1 if number else 0 for axis, number in entries.items()}
    sizes = packed.sizes | {
        "fields": int(np.prod(own_shape)),
        "psi_x": 4 * (count + 2) * rows * entries["X"],
        "psi_y": 4 * (count + 2) * entries["Y"] * pitch,
        "psi_z": 4 * entries["Z"] * rows * pitch,
        "sums": 0,
        "trace": TRACED * len(probes),
        "record": units(len(box), arrays["factors"].itemsize),
        "energy": 0,
    }
    return Slab(
        first=first,
        count=count,
        below=first > 0,
        above=end < nodes,
        packed=Packed(counts=counts, arrays=own, sizes=sizes, decay=packed.decay),
        early=int(early.sum()),
        probes=probed,
        box=sampled,
    )


def head(packed: Packed, parts: Sequence[Slab]) -> Packed:
    """Return what the first device keeps of the whole lattice: sums, samples and energy, no fields.

    Its `fields` are where the slabs' parts of a sample arrive, one slab after the other, each in whole units. Its
    `probes` are the rows of the slabs' traces, which arrive likewise, and its `box` says which point a part is.
    """
    size = packed.arrays["factors"].itemsize
    arrived = [units(len(part.box), size) for part in parts]
    points = [
        np.concatenate([part.box, np.full(room - len(part.box), -1)]) for part, room in zip(parts, arrived, strict=True)
    ]
    rows = np.concatenate([part.probes for part in parts])
    probes = np.empty(len(rows), np.int32)
    probes[rows] = np.arange(len(rows))
    nothing = {name: packed.arrays[name][:0] for name in ("media", "axes", "lengths", "sources", "gains", "waveform")}
    arrays = packed.arrays | nothing | {"probes": probes, "box": np.concatenate(points).astype(np.int32)}
    arrays.pop("fields", None)
    sizes = packed.sizes | {"psi_x": 0, "psi_y": 0, "psi_z": 0, "trace": TRACED * len(rows), "fields": sum(arrived)}
    return Packed(counts=packed.counts, arrays=arrays, sizes=sizes, decay=packed.decay)


def units(numbers: int, size: int) -> int:
    """Return the numbers of whole units that hold so much: bytes of a number are `size`."""
    whole = UNIT // size
    return -(-numbers // whole) * whole


def _planes(array: np.ndarray, first: int, end: int, beyond: int) -> np.ndarray:
    """Return planes first - 1 to end of the second axis, and one more; `beyond` outside."""
    found = np.full((array.shape[0], end - first + 3, *array.shape[2:]), beyond, array.dtype)
    low, high = max(first - 1, 0), min(end + 1, array.shape[1])
    found[:, low - first + 1 : high - first + 1] = array[:, low:high]
    return found


def _shifted(array: np.ndarray, which: Sequence[int], first: int) -> np.ndarray:
    """Return a table whose entries along z are those of the slab's planes."""
    found = array.copy()
    for at in which:
        found[at] = 0
        whole = array[at, :, max(first - 1, 0) :]
        start = int(first == 0)
        found[at, :, start : start + whole.shape[-1]] = whole[:, : array.shape[-1] - start]
    return found.ravel()


def _own(
    places: np.ndarray, shape: tuple[int, ...], first: int, end: int, own: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places of a slab in its own fields, whether they are E of plane 1, and which of all they are."""
    planes = places // (shape[2] * shape[3]) % shape[1]
    which = np.flatnonzero((planes >= first) & (planes < end))
    component, plane, row, column = np.unravel_index(places[which], shape)
    inside = component, plane - first + 1, row, column
    found = np.ravel_multi_index(inside, own).astype(np.int32)
    return found, (inside[0] < 3) & (inside[1] == 1), which
