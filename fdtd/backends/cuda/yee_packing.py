"""Antennas on rectilinear lattices as the arrays of `kernels/yee/parameters.cuh`, one by one and as a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.constants import speed_of_light

from fdtd.backends.cuda.text import enumerators
from fdtd.backends.cuda.yee_turning import UNTURNED, Turn, handedness, turned
from fdtd.errors import Unsuitable
from fdtd.schemes.resident.yee import TRACE
from fdtd.yee.grid import COMPONENTS, Grid
from fdtd.yee.problem import Problem, factors
from fdtd.yee.spectrum import FITTED

PARAMETERS = "kernels/yee/parameters.cuh"
AIR, METAL = 0, 1
"""The first two media."""
RECORD_BYTES = 24 << 20
"""Of an antenna's samples on the device, before the host takes them."""
_ROW = 8  # numbers; rows start on a memory sector
_MOST_MEDIA = 1 << 16
_MOST_NUMBERS = 1 << 31  # of an antenna's fields: places are 32-bit numbers
_SPACINGS = ((True, 1), (True, 2), (True, 0), (False, 1), (False, 2), (False, 0))  # half nodes?, axis; as in yee3d

COUNTS = enumerators(PARAMETERS, "Count")[:-1]  # the last is their number
STARTS = enumerators(PARAMETERS, "Start")[:-1]

# The array that each start is of.
ARRAYS = {
    "FIELDS": "fields", "MEDIA": "media", "FACTORS": "factors", "PERMITTIVITY": "permittivity", "AXES_AT": "axes",
    "LENGTHS": "lengths", "PSI_X": "psi_x", "PSI_Y": "psi_y", "PSI_Z": "psi_z", "SOURCES_AT": "sources",
    "GAINS": "gains", "WAVEFORM_AT": "waveform", "PROBES_AT": "probes", "WEIGHTS": "weights", "SPANS": "spans",
    "SUMS_AT": "sums", "TRACE_AT": "trace", "BOX_AT": "box", "RECORD": "record", "ENERGY": "energy",
}  # fmt: skip
EMPTY = ("fields", "psi_x", "psi_y", "psi_z", "sums", "trace", "record", "energy")
"""Arrays that are zero at first, unless start fields are given."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Packed:
    """One antenna.

    Attributes:
        counts: By the names of `COUNTS`.
        arrays: By the names of `ARRAYS`, one axis; those of `EMPTY` are missing, but for start fields.
        sizes: Numbers of the arrays of `EMPTY`.
        decay: Energy over its largest at which it is done.
        turn: Order of the axes; all numbers are those of the turned problem.
    """

    counts: dict[str, int]
    arrays: dict[str, np.ndarray]
    sizes: dict[str, int]
    decay: float
    turn: Turn = UNTURNED

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Of its fields, (6, nz + 2, ny + 2, pitch)."""
        return 6, self.counts["NZ"] + 2, self.counts["NY"] + 2, self.counts["PITCH"]


def pack(problem: Problem, precision: str, turn: Turn = UNTURNED) -> Packed:
    """Pack one antenna.

    Args:
        problem: What to step.
        precision: "float32" or "float64".
        turn: Order of the axes.

    Raises:
        Unsuitable: It has too many cells or media for the numbers' types, or an edge is driven twice.
    """
    problem = turned(problem, turn)
    grid, sampling = problem.grid, problem.sampling
    nx, ny, nz = grid.counts
    pitch, longest = pitch_of(nx), max(grid.counts) + 2
    shape = (6, nz + 2, ny + 2, pitch)
    fields = int(np.prod(shape))
    if fields >= _MOST_NUMBERS:
        raise Unsuitable(
            f"a lattice of {nx} x {ny} x {nz} cells has more than {_MOST_NUMBERS:,} field values; use a larger cell"
        )
    real = np.dtype(precision)
    media, table, permittivity = _media(problem, shape)
    counts = {
        **dict.fromkeys(COUNTS, 0), "NX": nx, "NY": ny, "NZ": nz, "PITCH": pitch, "LONGEST": longest,
        "STEPS": sampling.steps, "RECORD_EVERY": sampling.record_every, "CHECK_EVERY": sampling.check_every,
        "SETTLED": sampling.settled,
    }  # fmt: skip
    slots = []
    for axis, name in enumerate("XYZ"):
        low, high = grid.layers[2 * axis : 2 * axis + 2]
        counts |= {f"LOW_{name}": low, f"HIGH_{name}": high}
        counts[f"END_{name}"] = grid.counts[axis] + (f"{name.lower()}+" in grid.magnetic)
        slots.append(low + high + 1 if low + high else 0)
    arrays: dict[str, np.ndarray] = {
        "media": media.ravel(),
        "factors": table.astype(real).ravel(),
        "permittivity": permittivity,
        "axes": _axes(problem, longest, handedness(turn)).astype(real).ravel(),
        "lengths": _lengths(grid, longest).ravel(),
        **_driven(problem, shape, real),
    }
    box = np.zeros(0, np.int32) if problem.box is None else _places(problem.box, grid, shape)
    samples = sampling.steps // sampling.record_every if len(box) else 0
    a_look = sampling.check_every // sampling.record_every
    least = max(2 * a_look, FITTED, RECORD_BYTES // max(1, len(box) * real.itemsize))
    held = max(1, min(samples, least))
    sums = 0 if problem.probe is None else len(problem.probe.weights)
    counts |= {
        "SOURCES": len(arrays["sources"]), "WAVEFORM": len(arrays["waveform"]), "PROBES": len(arrays["probes"]),
        "SUMS": sums, "BOX": len(box), "HELD": held, "KINDS": len(table),
    }  # fmt: skip
    arrays["box"] = box
    if problem.initial is not None:
        live = np.concatenate([~problem.media.metal, [grid.inside(name) for name in COMPONENTS[3:]]])
        start = np.zeros(shape, real)
        start[:, : nz + 1, : ny + 1, : nx + 1] = np.where(live, problem.initial, 0.0)
        arrays["fields"] = start.ravel()
    sizes = {
        "fields": fields,
        "psi_x": 4 * (nz + 1) * (ny + 1) * slots[0],
        "psi_y": 4 * (nz + 1) * slots[1] * pitch,
        "psi_z": 4 * slots[2] * (ny + 1) * pitch,
        "sums": sampling.steps * sums,
        "trace": 2 * TRACE * len(arrays["probes"]),
        "record": held * len(box),
        "energy": sampling.steps // sampling.check_every if sampling.check_every else 0,
    }
    return Packed(counts=counts, arrays=arrays, sizes=sizes, decay=sampling.decay, turn=turn)


def pitch_of(cells: int) -> int:
    """Return how many numbers a stored row of that many cells has."""
    return -(-(cells + 2) // _ROW) * _ROW


def twice(packed: Packed, memories: Mapping[str, int], kept: int) -> Packed:
    """Return an antenna as `trapezoidal` has it: two places for fields and memories, components of a plane together.

    Args:
        packed: From `pack`.
        memories: Numbers of the layers' memories, for both places.
        kept: Numbers more, after the last memory.
    """
    sizes = {**packed.sizes, "fields": 2 * packed.sizes["fields"], **memories}
    sizes["psi_z"] += kept
    components, planes, *row = packed.shape
    plane = int(np.prod(row))
    arrays = dict(packed.arrays)
    for name in ("sources", "probes", "box"):
        component, k, rest = np.unravel_index(arrays[name], (components, planes, plane))
        arrays[name] = _flat((k, component, rest), (planes, components, plane))
    arrays["media"] = np.ascontiguousarray(arrays["media"].reshape(3, planes, plane).swapaxes(0, 1)).ravel()
    if "fields" in arrays:
        arrays["fields"] = np.tile(arrays["fields"].reshape(components, planes, plane).swapaxes(0, 1).ravel(), 2)
    return replace(packed, sizes=sizes, arrays=arrays)


def number_type(antennas: Sequence[Packed]) -> str:
    """Return the C type that the numbers of all media of a batch fit in."""
    most = max(len(one.arrays["permittivity"]) for one in antennas)
    return "unsigned char" if most <= 256 else "unsigned short"


def starts(antennas: Sequence[Packed]) -> np.ndarray:
    """Return where the parts of each antenna begin, int64, (antennas, STARTS)."""
    sizes = np.array(
        [
            [one.sizes[name] if name in one.sizes else len(one.arrays[name]) for name in (ARRAYS[at] for at in STARTS)]
            for one in antennas
        ],
        dtype=np.int64,
    )
    return np.cumsum(sizes, axis=0) - sizes


def _media(problem: Problem, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each edge's medium, (3, nz + 2, ny + 2, pitch), and ca, cb, and permittivity of the media."""
    media, grid = problem.media, problem.grid
    plain = (media.permittivity == 1) & (media.conductivity == 0)
    other = ~(plain | media.metal)
    pairs = media.permittivity[other] + 1j * media.conductivity[other]
    distinct, which = np.unique(pairs, return_inverse=True)
    if len(distinct) + 2 > _MOST_MEDIA:
        raise Unsuitable(
            f"a device takes {_MOST_MEDIA:,} different media (found {len(distinct) + 2:,}); use fewer blocks"
        )
    numbers = np.full((3, *shape[1:]), METAL, np.uint16)
    nz, ny, nx = grid.shape
    inner = numbers[:, :nz, :ny, :nx]
    inner[plain & ~media.metal] = AIR
    inner[other] = which.reshape(-1) + 2
    known = np.concatenate([[1, 1], distinct])
    ca, cb = factors(np.real(known), np.imag(known), grid.dt)
    table = np.stack([ca, cb], axis=-1)
    table[METAL] = 0.0
    return numbers, table, np.real(known).copy()


def _axes(problem: Problem, longest: int, sign: int) -> np.ndarray:
    """Return slope, b and kappa c of the stencil's spacings, (6, 3, longest); slopes have the sign of all curls."""
    grid = problem.grid
    found = np.zeros((len(_SPACINGS), 3, longest))
    for at, (half, axis) in enumerate(_SPACINGS):
        inverse, b, c = problem.absorber.filters(grid, axis, half=half)
        if half:
            slope = inverse * np.append(speed_of_light * grid.dt / grid.spacing(axis), 0.0)
        else:
            slope = inverse / grid.dual(axis)
        found[at, :, : len(b)] = sign * slope, b, c / inverse
    return found


def _lengths(grid: Grid, longest: int) -> np.ndarray:
    """Return the lengths that nodes and half nodes stand for along x, y, z, (3, 2, longest), m."""
    found = np.zeros((3, 2, longest))
    for axis, count in enumerate(grid.counts):
        found[axis, 0, : count + 1], found[axis, 1, :count] = grid.dual(axis), grid.spacing(axis)
    return found


def _driven(problem: Problem, shape: tuple[int, ...], real: np.dtype) -> dict[str, np.ndarray]:
    """Return sources, waveform, probes, weights and spans."""
    source, probe = problem.source, problem.probe
    none = np.zeros(0, np.int32)
    sources = none if source is None else _flat(tuple(source.points.T), shape)
    if len(np.unique(sources)) < len(sources):
        raise Unsuitable("an edge is driven twice; add up its gains")
    return {
        "sources": sources,
        "gains": none.astype(real) if source is None else source.gains.astype(real),
        "waveform": none.astype(real) if source is None else source.waveform.astype(real),
        "probes": none if probe is None else _flat(tuple(probe.points.T), shape),
        "weights": none.astype(float) if probe is None else probe.weights.astype(float).ravel(),
        "spans": none if probe is None else probe.spans.astype(np.int32).ravel(),
    }


def _flat(points: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    return np.array(np.ravel_multi_index(tuple(points), shape), np.int32)


def _places(state: np.ndarray, grid: Grid, shape: tuple[int, ...]) -> np.ndarray:
    """Return places in the stored fields of flat indices into the state."""
    return _flat(np.unravel_index(state, (6, *grid.shape)), shape)
