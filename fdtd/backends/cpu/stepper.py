"""Lays a problem out in memory for the row updates and steps its antennas, one a thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.constants import epsilon_0

from fdtd.axisymmetric.monitors import Snapshots
from fdtd.axisymmetric.problem import Problem, Records, Watch
from fdtd.backends.cpu.bor import LEAD, Fields, FieldSums, Lattice, Layers, Medium
from fdtd.backends.cpu.compiled import bound
from fdtd.backends.cpu.walk import Contour, Port, Recording, Source, energy, sweep
from fdtd.errors import ConfigError

_VECTOR = 16  # columns are padded to whole vectors
_DTYPES = {"float32": np.float32, "float64": np.float64}


def run(
    problem: Problem,
    *,
    precision: str = "float32",
    steps_per_sweep: int = 16,
    threads: int = 1,
    watch: Watch | None = None,
) -> Records:
    """Step a batch to its end.

    Args:
        problem: What to step.
        precision: "float32" or "float64".
        steps_per_sweep: Time levels that follow each other in one trip through memory; does not change the bits.
        threads: Antennas stepped at the same time.
        watch: Called at every look at the first antenna's energy.

    Returns:
        Records in the given precision; those of one antenna do not depend on its neighbours in the batch.

    Raises:
        ConfigError: Two axial layers share a row, or the precision is unknown.
    """
    if precision not in _DTYPES:
        raise ConfigError(f"precision = {precision!r} is unknown (allowed: {', '.join(_DTYPES)})")
    shared = _shared(problem, _DTYPES[precision])
    levels = max(1, min(steps_per_sweep, problem.sampling.check_every))

    def one(index: int) -> dict[str, Any]:
        return _step(problem, shared, index, levels, watch if index == 0 else None)

    batch = range(problem.media.batch)
    if threads > 1 and len(batch) > 1:
        with ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(one, batch))
    else:
        results = [one(index) for index in batch]
    has_map, wanted = problem.field_map is not None, problem.snapshots
    return Records(
        steps=np.array([result["steps"] for result in results]),
        energy=np.array([result["energy"] for result in results]),
        finite=np.array([result["finite"] for result in results]),
        port=[result["port"] for result in results],
        contour=[result["contour"] for result in results],
        field_map=np.stack([result["field_map"] for result in results]) if has_map else None,
        final=np.stack([result["final"] for result in results]),
        snapshots=results[wanted.antenna]["snapshots"] if wanted is not None else None,
    )


@dataclass(frozen=True, kw_only=True)
class _Shared:
    """Data that all antennas of a batch share; the parts that each has of its own are empty."""

    dtype: Any
    lattice: Lattice
    layers: Layers
    axial_rows: int
    weights: np.ndarray
    source: Source
    recording: Recording
    contour_size: int
    sums_shape: tuple[int, ...]


def _aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros that start on a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def _padded(rows: np.ndarray, n: int, dtype: Any) -> np.ndarray:
    """Copy [..., columns] into zeros [..., n]."""
    out = _aligned((*rows.shape[:-1], n), dtype)
    out[..., : rows.shape[-1]] = rows
    return out


def _shared(problem: Problem, dtype: Any) -> _Shared:
    grid, sampling = problem.grid, problem.sampling
    n = -(-grid.nr // _VECTOR) * _VECTOR
    radial, gains, filters = _radial_layer(problem, n, dtype)
    layer_rows, layer, count = _axial_layers(problem, dtype)
    samples = sampling.steps // sampling.record_every
    port, contour, source, field_map = problem.port, problem.contour, problem.source, problem.field_map
    if field_map is not None:
        times = sampling.sample_times(grid, samples)[0]
        phase = 2 * np.pi * np.asarray(field_map.frequencies)[:, None] * times
        wave = np.stack([np.cos(phase), -np.sin(phase)]).astype(dtype)
        box = np.array([*field_map.rows, *field_map.columns])
    else:
        wave, box = np.zeros((2, 0, 1), dtype), np.zeros(4, np.int64)
    none = np.zeros((0, 0, 0), dtype)
    return _Shared(
        dtype=dtype,
        lattice=Lattice(n, grid.nz, dtype(grid.azimuthal_order), gains),
        layers=Layers(layer_rows, layer, none, radial, filters, none),
        axial_rows=count,
        weights=_padded(grid.energy_weights, n, np.float64),
        source=Source(-1, np.zeros((2, 1), dtype), np.zeros(1, dtype))
        if source is None
        else Source(
            source.plane,
            np.stack([source.profile_r, source.profile_phi]).astype(dtype),
            np.asarray(source.waveform, dtype),
        ),
        recording=Recording(
            sampling.record_every,
            Port(np.array([-1, 0]), np.zeros((4, 1)), np.zeros((0, 2)))
            if port is None
            else Port(
                np.array([port.plane, len(port.v_r)]),
                np.stack([port.v_r, port.v_phi, port.c_r, port.c_phi]).astype(float),
                np.zeros((0, 2)),
            ),
            Contour(
                np.array([-1, 0, 0] if contour is None else [contour.column, contour.bottom, contour.top]),
                np.zeros((0, 0), dtype),
            ),
            FieldSums(box.astype(np.int64), wave, none),
        ),
        contour_size=0 if contour is None else contour.size,
        sums_shape=(1, 2, 3, 1, 1) if field_map is None else field_map.shape,
    )


def _radial_layer(problem: Problem, n: int, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Radial factors of the six updates [6, 1, n] and the layer's filters [16, 1, count]."""
    grid, layer = problem.grid, problem.radial_layer
    start, count = grid.nr - layer.cells, -(-layer.cells // _VECTOR) * _VECTOR
    gains, found = layer.factors(grid)
    filters = np.zeros((16, 1, max(count, 1)))
    filters[:, 0, : layer.cells] = found
    # The filters' columns may run past the grid's; so must the rows that they read.
    width = max(n, start + count)
    if width > n + LEAD:
        raise ConfigError(f"pml_cells = {layer.cells} does not fit {grid.nr} columns; enlarge the grid")
    return np.array([start, count]), _padded(gains[:, None, :], n, dtype), filters.astype(dtype)


def _axial_layers(problem: Problem, dtype: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Per row: stretched columns and the place of their memory; and 1/kappa, b, c for E and for H."""
    nz = problem.grid.nz
    rows = np.zeros((2, nz), np.int64)
    table = np.zeros((6, nz))
    count = 0
    for layer in problem.axial_layers:
        start, stop = layer.rows
        if rows[0, start:stop].any():
            raise ConfigError("two axial absorbing layers share a row; move them apart")
        rows[0, start:stop] = layer.columns
        rows[1, start:stop] = count + np.arange(stop - start)
        table[:3, start:stop] = layer.filters(problem.grid, 0.0)
        table[3:, start:stop] = layer.filters(problem.grid, 0.5)
        count += stop - start
    return rows, table.astype(dtype), count


def _coefficients(problem: Problem, index: int, n: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Factors ca and cb of e_r, e, e_z, [6, nz, n]; and 1 / cb, [3, nz, n], for the energy."""
    grid, media = problem.grid, problem.media
    loss = media.conductivity[index] * (grid.time_step / (2 * epsilon_0)) / media.permittivity[index]
    cb = media.open_length[index] / (media.permittivity[index] * (1 + loss))
    cb[:2, 0] = 0.0  # the plane k = 0 conducts
    out = _aligned((6, grid.nz, n), dtype)
    out[:3, :, : grid.nr] = (1 - loss) / (1 + loss)
    out[3:, :, : grid.nr] = cb
    inverse = np.divide(1.0, cb, out=np.zeros_like(cb), where=cb > 0)
    return out, _padded(inverse, n, dtype)


def _air(media: np.ndarray, n: int, nr: int) -> np.ndarray:
    """First column of each row, in whole vectors, from which every ca and cb is one; (nz,)."""
    filled = (media[:, :, :nr] != 1).any(axis=0)
    last = np.where(filled.any(axis=1), nr - np.argmax(filled[:, ::-1], axis=1), 0)
    return np.minimum(-(-last // _VECTOR) * _VECTOR, n)


def _cut_faces(problem: Problem, index: int, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row pointers, (component, column) and 1 / open_area - 1 of the faces that a conductor cuts."""
    area = problem.media.open_area[index]
    component, row, column = np.nonzero(area != 1.0)
    order = np.argsort(row, kind="stable")
    component, row, column = component[order], row[order], column[order]
    pointers = np.searchsorted(row, np.arange(problem.grid.nz + 1))
    return pointers, np.stack([component, column]), (1 / area[component, row, column] - 1).astype(dtype)


def _couplings(problem: Problem, index: int, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row pointers, columns and a quarter of the entries of the nodes that couple e_r and e_z."""
    x = problem.media.coupling
    if x is None:
        return np.zeros(problem.grid.nz + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, dtype)
    row, column = np.nonzero(x[index])
    pointers = np.searchsorted(row, np.arange(problem.grid.nz + 1))
    return pointers, column, (x[index, row, column] / 4).astype(dtype)


def _medium(problem: Problem, index: int, shared: _Shared) -> tuple[Medium, np.ndarray]:
    """Media and conductors of one antenna; and 1 / cb, [3, nz, n], for the energy."""
    n, dtype, radial = shared.lattice.n, shared.dtype, shared.layers.radial
    coefficients, inverse_cb = _coefficients(problem, index, max(n, radial[0] + radial[1]), dtype)
    medium = Medium(
        coefficients,
        _air(coefficients, n, problem.grid.nr),
        *_cut_faces(problem, index, dtype),
        *_couplings(problem, index, dtype),
    )
    return medium, inverse_cb


def _step(problem: Problem, shared: _Shared, index: int, levels: int, watch: Watch | None) -> dict[str, Any]:
    """Step one antenna to its end."""
    grid, sampling, dtype, n = problem.grid, problem.sampling, shared.dtype, shared.lattice.n
    nz, nr, width = grid.nz, grid.nr, n + 3 * LEAD
    size = 6 * (nz + 3) * width
    memory = _aligned((size + 2 * LEAD,), dtype)
    fields = Fields(*(memory[LEAD + shift :][:size].reshape(6, nz + 3, width) for shift in (0, -1, 1)))
    state = fields.state
    if problem.initial is not None:
        state[:, 1 : nz + 1, LEAD : LEAD + nr] = problem.initial[index]
    medium, inverse_cb = _medium(problem, index, shared)
    layers = shared.layers._replace(
        axial_psi=_aligned((4, max(shared.axial_rows, 1), n), dtype),
        psi=_aligned((8, nz, shared.layers.filters.shape[2]), dtype),
    )
    samples = max(sampling.steps // sampling.record_every, 1)
    port = np.zeros((samples, 2))
    record = np.zeros((samples, shared.contour_size), dtype)
    sums = np.zeros(shared.sums_shape, dtype)
    blank = shared.recording
    recording = blank._replace(
        port=blank.port._replace(record=port),
        contour=blank.contour._replace(record=record),
        field_map=blank.field_map._replace(sums=sums.reshape(-1, *sums.shape[3:])),
    )
    parts = (shared.lattice, fields, medium, layers, shared.source, recording)
    advance = bound(sweep, 0, levels, *parts)

    wanted = problem.snapshots if problem.snapshots is not None and problem.snapshots.antenna == index else None
    frames: list[np.ndarray] = []
    step, peak, ratio, finite = 0, 0.0, 1.0, True
    while step < sampling.steps:
        count = min(levels, sampling.check_every - step % sampling.check_every, sampling.steps - step)
        if wanted is not None:
            count = min(count, wanted.steps_to_next(step) or count)
        advance(step, count, *parts)
        step += count
        if wanted is not None and wanted.due(step):
            frames.append(state[:3, 1 : nz + 1, LEAD : LEAD + nr][(slice(None), *wanted.box)].copy())
        if step % sampling.check_every == 0:
            now = energy(n, nz, state, inverse_cb, shared.weights)
            finite = bool(np.isfinite(now))
            peak = max(peak, now)
            ratio = now / peak if peak > 0 and finite else 1.0
            if watch is not None:
                watch(step, ratio)
            if not finite or (step >= sampling.settled and ratio < sampling.decay):
                break
    taken = step // sampling.record_every
    return {
        "steps": step,
        "energy": ratio,
        "finite": finite,
        "port": port[:taken].copy(),
        "contour": record[:taken].copy(),
        "field_map": sums,
        "snapshots": None if wanted is None else _frames(frames, wanted, nz, nr, dtype),
        "final": state[:, 1 : nz + 1, LEAD : LEAD + nr].copy(),
    }


def _frames(frames: list[np.ndarray], wanted: Snapshots, nz: int, nr: int, dtype: Any) -> np.ndarray:
    """Stack frames, none at all too, (frames, 3, rows kept, columns kept)."""
    shape = np.empty((nz, nr), dtype)[wanted.box].shape
    return np.reshape(np.array(frames, dtype), (len(frames), 3, *shape))
