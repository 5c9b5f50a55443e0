"""The CPU backend of the rectilinear lattice: Numba, float32 or float64, one antenna a core.

A step is one trip through memory: H of plane k, then E of plane k. Coefficients stand in tables of rows; rows of edges
that are equal share one entry, so those of an antenna stay in the cache. A row's update is one loop over whole vectors,
and the layers' convolutions are added by loops of their own: along y and z where the row lies in a layer, along x for
the first and last entries of every row.

Arrays have a border of zeros: entry [k + 1, j + 1, i] is the place [k, j, i] of `fdtd.yee.grid`. Each row ends with a
zero at least, which is also what the next row finds before its first entry.
"""
# ruff: noqa: ANN001, ANN202 - compiled text: Numba infers the types

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
from scipy.constants import speed_of_light

from fdtd.backends.cpu.accesses import LANES
from fdtd.backends.cpu.compiled import compiled
from fdtd.backends.cpu.yee_planes import (
    OPTIONS,
    Layers,
    Places,
    Rows,
    Slopes,
    e_layers,
    e_plane,
    h_layers,
    h_plane,
)
from fdtd.errors import ConfigError
from fdtd.yee.grid import COMPONENTS, Grid, half_node
from fdtd.yee.problem import Look, Problem, Records, Taker, stop

_DTYPES = {"float32": np.float32, "float64": np.float64}
_BLOCK = 4_000_000  # numbers of box samples that are kept before they are passed on
_CELL_STEPS = 50_000_000  # of one call: some tenths of a second, after which Ctrl-C is heard


class _Drive(NamedTuple):
    """Source and probe: places [points, 4] in the bordered arrays, gains, waveform; places, weights [sums, points].

    `spans` are those of `Probe`, [sums, 2].
    """

    points: np.ndarray
    gains: np.ndarray
    waveform: np.ndarray
    probes: np.ndarray
    weights: np.ndarray
    spans: np.ndarray


@compiled(**OPTIONS)
def _march(state, rows, slopes, layers, drive, sums, shape, span):
    """Take the steps `span[0]` to `span[1]`."""
    _, ny, nz = shape
    places = Places(state[0].size, state[0, 0].size, state.shape[3])
    flat = state.reshape(state.size)
    for n in range(span[0], span[1]):
        for k in range(nz + 1):
            h_plane(k, flat, places, slopes, ny)
            h_layers(k, flat, places, layers, ny)
            e_plane(k, flat, places, rows, slopes, ny)
            e_layers(k, flat, places, rows, layers, ny)
        if n < len(drive.waveform):
            for p in range(len(drive.points)):
                c, k, j, i = drive.points[p]
                state[c, k, j, i] += drive.gains[p] * drive.waveform[n]
        for s in range(drive.weights.shape[0]):
            total = 0.0
            for p in range(drive.spans[s, 0], drive.spans[s, 1]):
                c, k, j, i = drive.probes[p]
                total += drive.weights[s, p] * state[c, k, j, i]
            sums[n, s] = total


@compiled(**OPTIONS)
def _energy(state, rows, lengths_x, lengths_y, lengths_z, shape):
    """Sum eps e^2 + h^2 over the lattice; `lengths` are [6, cells + 1]."""
    nx, ny, nz = shape
    total = 0.0
    for c in range(6):
        for k in range(nz + 1):
            for j in range(ny + 1):
                row = 0.0
                if c < 3:
                    r = rows.at[c, k, j]
                    for i in range(nx + 1):
                        value = state[c, k + 1, j + 1, i]
                        row += lengths_x[c, i] * rows.permittivity[r, i] * value * value
                else:
                    for i in range(nx + 1):
                        value = state[c, k + 1, j + 1, i]
                        row += lengths_x[c, i] * value * value
                total += lengths_y[c, j] * lengths_z[c, k] * row
    return total


def run(
    problem: Problem, take: Taker | None = None, *, precision: str = "float32", look: Look | None = None
) -> Records:
    """Step a problem to its end.

    Args:
        problem: What to step.
        take: Gets the samples of the box, a block at a time.
        precision: "float32" or "float64".
        look: Called at every look at the energy.

    Raises:
        ConfigError: The precision is unknown.
    """
    if precision not in _DTYPES:
        raise ConfigError(f"precision = {precision!r} is unknown (allowed: {', '.join(_DTYPES)})")
    dtype, grid, sampling = _DTYPES[precision], problem.grid, problem.sampling
    state = _bordered(problem, dtype)
    rows, slopes, layers, drive = (
        _rows(problem, state, dtype),
        *_stretched(problem, state, dtype),
        _drive(problem, dtype),
    )
    lengths = [np.array([_lengths(grid, name, axis) for name in COMPONENTS]) for axis in range(3)]
    shape, sums = grid.counts, np.zeros((sampling.steps, len(drive.weights)))
    box = None if problem.box is None or take is None else _bordered_indices(problem.box, grid, state)
    held = max(1, _BLOCK // max(1, 0 if box is None else len(box)))
    block, first = np.zeros((held, 0 if box is None else len(box)), dtype), 0
    energy, done, start = [], 0, time.perf_counter()
    at_once = max(1, _CELL_STEPS // math.prod(shape))
    while done < sampling.steps:
        every = sampling.record_every if box is not None else sampling.check_every or sampling.steps
        ahead = min(every - done % every, at_once, sampling.steps - done)
        _march(state, rows, slopes, layers, drive, sums, shape, (done, done + ahead))
        done += ahead
        if box is not None and take is not None and done % every == 0:
            sample = done // every - 1
            np.take(state.reshape(-1), box, out=block[sample - first], mode="clip")
            if sample - first + 1 == held:
                take(first, block)
                first = sample + 1
        if sampling.check_every and done % sampling.check_every == 0:
            energy.append(float(_energy(state, rows, *lengths, shape)))
            if stop(energy, done, sampling, look):
                break
    if box is not None and take is not None and (left := done // sampling.record_every - first):
        take(first, block[:left])
    nx, ny, nz = shape
    final = state[:, 1 : nz + 2, 1 : ny + 2, : nx + 1]
    return Records(
        steps=done,
        sums=sums[:done],
        final=final,
        energy=np.array(energy),
        finite=bool(np.isfinite(final).all()),
        seconds=time.perf_counter() - start,
    )


def _bordered(problem: Problem, dtype: type) -> np.ndarray:
    """Start fields with a border, (6, nz + 3, ny + 3, width)."""
    nz, ny, nx = problem.grid.shape
    state = np.zeros((6, nz + 2, ny + 2, -(-(nx + 1) // LANES) * LANES), dtype)
    if problem.initial is not None:
        live = np.concatenate([~problem.media.metal, [problem.grid.inside(name) for name in COMPONENTS[3:]]])
        state[:, 1 : nz + 1, 1 : ny + 1, :nx] = np.where(live, problem.initial, 0.0)
    return state


def _bordered_indices(flat: np.ndarray, grid: Grid, state: np.ndarray) -> np.ndarray:
    """Flat indices into the bordered state."""
    c, k, j, i = np.unravel_index(flat, (6, *grid.shape))
    return np.ravel_multi_index((c, k + 1, j + 1, i), state.shape)


def _rows(problem: Problem, state: np.ndarray, dtype: type) -> Rows:
    """Tables of rows, each distinct row once."""
    ca, cb = problem.factors()
    nx = ca.shape[-1]
    both = np.concatenate([ca, cb, problem.media.permittivity], axis=-1).reshape(-1, 3 * nx)
    known: dict[bytes, int] = {}
    at = np.array([known.setdefault(row.tobytes(), len(known)) for row in both], dtype=np.int64)
    _, first = np.unique(at, return_index=True)
    width = state.shape[-1]
    tables = [np.zeros((len(first), width), dtype) for _ in range(3)]
    for place, table in enumerate(tables):
        table[:, :nx] = both[first, place * nx : (place + 1) * nx]
    return Rows(tables[0].reshape(-1), tables[1].reshape(-1), at.reshape(ca.shape[:-1]), tables[2])


def _stretched(problem: Problem, state: np.ndarray, dtype: type) -> tuple[Slopes, Layers]:
    """Derivatives with their stretching, and the layers' filters with empty convolutions."""
    grid = problem.grid
    width, (nz, ny, nx) = state.shape[-1], grid.shape
    slopes, filters = {}, {}
    for half in (True, False):
        for axis in range(3):
            light = speed_of_light * grid.dt if half else 1.0
            distance = np.append(grid.spacing(axis), np.inf) if half else grid.dual(axis)
            stretch = problem.absorber.filters(grid, axis, half=half)
            slope = light * stretch[0] / distance
            slopes[half, axis] = np.pad(slope, (0, width - nx)) if axis == 0 else slope
            filters[half, axis] = np.stack([stretch[1], light * stretch[2] / distance])
    across = [np.stack([filters[half, axis] for half in (False, True)]) for axis in range(3)]
    slots = [np.where(one[:, 1] != 0, np.cumsum(one[:, 1] != 0, axis=1) - 1, -1) for one in across]
    counts = [int(one.max()) + 1 for one in slots]
    filters_x, ends = _ends(across[0])
    edge = filters_x.shape[-1]
    cast = {key: np.ascontiguousarray(one, dtype) for key, one in slopes.items()}
    layers = Layers(
        filters_x=filters_x.astype(dtype).reshape(-1),
        filters_y=np.repeat(across[1].astype(dtype), LANES),
        filters_z=np.repeat(across[2].astype(dtype), LANES),
        slots_y=slots[1],
        slots_z=slots[2],
        psi_x=np.zeros(4 * nz * ny * 2 * edge, dtype),
        psi_y=np.zeros(4 * nz * counts[1] * width, dtype),
        psi_z=np.zeros(4 * counts[2] * ny * width, dtype),
        planes=nz,
        count_y=counts[1],
        count_z=counts[2],
        ends=ends,
        edge=edge,
    )
    order = [(True, 0), (True, 1), (True, 2), (False, 0), (False, 1), (False, 2)]
    return Slopes(*(cast[key] for key in order)), layers


def _ends(filters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the filters of the two ends of a row, and where each end begins.

    Args:
        filters: b and c / d of nodes and of half nodes along x, [2, 2, cells + 1].

    Returns:
        [2, 2, ends, edge], zero outside the layers, with a whole number of blocks in an end; and [2, ends].
    """
    count = filters.shape[-1]
    inside = filters[:, 1] != 0
    low = inside & (np.arange(count) < count // 2)
    spans = [[np.flatnonzero(one) for one in (low[half], inside[half] & ~low[half])] for half in range(2)]
    longest = max(int(one[-1] - one[0]) + 1 if len(one) else 0 for both in spans for one in both)
    edge = -(-longest // LANES) * LANES
    found, ends = np.zeros((2, 2, 2, edge)), np.zeros((2, 2), np.int64)
    for half in range(2):
        for end, span in enumerate(spans[half]):
            if len(span):
                ends[half, end] = max(min(int(span[0]), count - edge), 0)
                found[half, :, end, span - ends[half, end]] = filters[half][:, span].T
    return found, ends


def _drive(problem: Problem, dtype: type) -> _Drive:
    source, probe = problem.source, problem.probe
    none, step = np.zeros((0, 4), np.int64), np.array([0, 1, 1, 0])
    return _Drive(
        points=none if source is None else source.points + step,
        gains=np.zeros(0, dtype) if source is None else source.gains.astype(dtype),
        waveform=np.zeros(0, dtype) if source is None else source.waveform.astype(dtype),
        probes=none if probe is None else probe.points + step,
        weights=np.zeros((0, 0)) if probe is None else probe.weights.astype(float),
        spans=np.zeros((0, 2), np.int64) if probe is None else probe.spans,
    )


def _lengths(grid: Grid, component: str, axis: int) -> np.ndarray:
    """Length that a component stands for along an axis, m, (cells + 1,)."""
    return np.append(grid.spacing(axis), 0.0) if half_node(component, axis) else grid.dual(axis)
