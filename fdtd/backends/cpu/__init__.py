"""The CPU backend: Numba, float32 or float64, one antenna a core.

Here a problem is laid out in memory for the row updates, and its antennas are stepped, one a thread.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.constants import epsilon_0

from fdtd.axisymmetric.monitors import Snapshots
from fdtd.axisymmetric.problem import Problem, Records, Watch
from fdtd.backends.cpu.bor import LANES, LEAD
from fdtd.backends.cpu.walk import energy, sweep
from fdtd.errors import ConfigError

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
    """What all antennas of a batch have in common, in the layout of `bor`."""

    dtype: Any
    n: int
    gains: np.ndarray
    factors: np.ndarray
    order: Any
    layer_rows: np.ndarray
    layer: np.ndarray
    layer_count: int
    radial: np.ndarray
    filters: np.ndarray
    weights: np.ndarray
    source_plane: int
    source_shape: np.ndarray
    waveform: np.ndarray
    port: np.ndarray
    port_weights: np.ndarray
    contour: np.ndarray
    contour_size: int
    box: np.ndarray
    wave: np.ndarray
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
    n = -(-grid.nr // LANES) * LANES
    radial, factors, filters = _radial_layer(problem, n, dtype)
    layer_rows, layer, count = _axial_layers(problem, n, dtype)
    samples = sampling.steps // sampling.record_every
    port, contour, source, field_map = problem.port, problem.contour, problem.source, problem.field_map
    if field_map is not None:
        times = sampling.sample_times(grid, samples)[0]
        phase = 2 * np.pi * np.asarray(field_map.frequencies)[:, None] * times
        wave = np.stack([np.cos(phase), -np.sin(phase)]).astype(dtype)
        box = np.array([*field_map.rows, *field_map.columns])
    else:
        wave, box = np.zeros((2, 0, 1), dtype), np.zeros(4, np.int64)
    return _Shared(
        dtype=dtype,
        n=n,
        gains=_blocked(factors, n, dtype),
        factors=factors,
        order=dtype(grid.azimuthal_order),
        layer_rows=layer_rows,
        layer=layer,
        layer_count=count,
        radial=radial,
        filters=filters,
        weights=_padded(grid.energy_weights, n, np.float64),
        source_plane=-1 if source is None else source.plane,
        source_shape=np.zeros((2, 1), dtype)
        if source is None
        else np.stack([source.profile_r, source.profile_phi], axis=-2).astype(dtype),
        waveform=np.zeros(1, dtype) if source is None else np.asarray(source.waveform, dtype),
        port=np.array([-1, 0] if port is None else [port.plane, port.v_r.shape[-1]]),
        port_weights=np.zeros((4, 1))
        if port is None
        else np.stack([port.v_r, port.v_phi, port.c_r, port.c_phi], axis=-2).astype(float),
        contour=np.array([-1, 0, 0] if contour is None else [contour.column, contour.bottom, contour.top]),
        contour_size=0 if contour is None else contour.size,
        box=box.astype(np.int64),
        wave=wave,
        sums_shape=(1, 2, 3, 1, 1) if field_map is None else field_map.shape,
    )


def _blocked(planes: np.ndarray, n: int, dtype: Any) -> np.ndarray:
    """Copy [..., which, columns] into blocks [..., n // LANES, which, LANES], zero beyond the last column, flat."""
    *rows, which, columns = planes.shape
    out = _aligned((*rows, n // LANES, which, LANES), dtype)
    whole = columns // LANES
    parts = planes[..., : whole * LANES].reshape(*rows, which, whole, LANES)
    out[..., :whole, :, :] = np.moveaxis(parts, -3, -2)
    if columns > whole * LANES:
        out[..., whole, :, : columns - whole * LANES] = planes[..., whole * LANES :]
    return out.reshape(-1)


def _radial_layer(problem: Problem, n: int, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First block of the layer and blocks of a row; radial factors of the six updates [6, n]; the layer's filters."""
    grid, layer = problem.grid, problem.radial_layer
    gains, found = layer.factors(grid)
    start = grid.nr - layer.cells
    first = start // LANES if layer.cells else n // LANES
    filters = np.zeros((16, n - first * LANES))
    filters[:, start - first * LANES :][:, : layer.cells] = found
    radial = np.array([first, n // LANES])
    return radial, _padded(gains, n, dtype), _blocked(filters, n - first * LANES, dtype)


def _axial_layers(problem: Problem, n: int, dtype: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Per row: stretched columns and the place of their memory; and 1/kappa, b, c for E and for H.

    A layer over all columns goes on to the end of the last block, where all fields are zero.
    """
    nz, nr = problem.grid.nz, problem.grid.nr
    rows = np.zeros((2, nz), np.int64)
    table = np.zeros((6, nz))
    count = 0
    for layer in problem.axial_layers:
        start, stop = layer.rows
        if rows[0, start:stop].any():
            raise ConfigError("two axial absorbing layers share a row; move them apart")
        rows[0, start:stop] = n if layer.columns == nr else layer.columns
        rows[1, start:stop] = count + np.arange(stop - start)
        table[:3, start:stop] = layer.filters(problem.grid, 0.0)
        table[3:, start:stop] = layer.filters(problem.grid, 0.5)
        count += stop - start
    return rows, table.astype(dtype), count


def _coefficients(problem: Problem, index: int, n: int, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the factors of an antenna's E.

    Returns:
        ca and cb of e_r, e, e_z, [nz, blocks, 6, LANES], flat; blocks of each row, from the axis, that are not all air,
        (nz,); 1 / cb, [3, nz, n], for the energy.
    """
    grid, media = problem.grid, problem.media
    loss = media.conductivity[index] * (grid.time_step / (2 * epsilon_0)) / media.permittivity[index]
    cb = media.open_length[index] / (media.permittivity[index] * (1 + loss))
    cb[:2, 0] = 0.0  # the plane k = 0 conducts
    both = np.concatenate([(1 - loss) / (1 + loss), cb]).astype(dtype)
    inverse = np.divide(1.0, cb, out=np.zeros_like(cb), where=cb > 0)
    return _blocked(both.transpose(1, 0, 2), n, dtype), _filled(both), _padded(inverse, n, dtype)


def _filled(media: np.ndarray) -> np.ndarray:
    """Blocks of each row, from the axis, beyond which every ca and cb is one; (nz,)."""
    filled = (media != 1).any(axis=0)
    nr = media.shape[2]
    last = np.where(filled.any(axis=1), nr - np.argmax(filled[:, ::-1], axis=1), 0)
    return -(-last // LANES)


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


def _step(problem: Problem, shared: _Shared, index: int, levels: int, watch: Watch | None) -> dict[str, Any]:
    """Step one antenna to its end."""
    grid, sampling, dtype, n = problem.grid, problem.sampling, shared.dtype, shared.n
    nz, nr, width = grid.nz, grid.nr, n + 2 * LEAD
    cells = _aligned((nz + 3, 6, width), dtype)
    state, fields = cells.reshape(-1), cells.transpose(1, 0, 2)[:, 1 : nz + 1, LEAD : LEAD + nr]
    if problem.initial is not None:
        fields[...] = problem.initial[index]
    media, filled, inverse_cb = _coefficients(problem, index, n, dtype)
    cut_rows, cut_faces, excess = _cut_faces(problem, index, dtype)
    couplings = _couplings(problem, index, dtype)
    layer_psi = _aligned((4 * max(shared.layer_count, 1) * n,), dtype)
    psi = _aligned((nz * len(shared.filters) // 2,), dtype)
    samples = max(sampling.steps // sampling.record_every, 1)
    port = np.zeros((samples, 2))
    record = np.zeros((samples, shared.contour_size), dtype)
    sums = np.zeros(shared.sums_shape, dtype)
    flat_sums = sums.reshape(-1)
    source_shape, port_weights = (
        own[index] if own.ndim == 3 else own for own in (shared.source_shape, shared.port_weights)
    )

    wanted = problem.snapshots if problem.snapshots is not None and problem.snapshots.antenna == index else None
    frames: list[np.ndarray] = []
    step, peak, ratio, finite = 0, 0.0, 1.0, True
    while step < sampling.steps:
        count = min(levels, sampling.check_every - step % sampling.check_every, sampling.steps - step)
        if wanted is not None:
            count = min(count, wanted.steps_to_next(step) or count)
        sweep(
            step, count, nz, filled, sampling.record_every, state, cells, media, shared.gains, shared.factors,
            shared.order, shared.layer_rows, shared.layer, layer_psi, shared.radial, shared.filters, psi,
            cut_rows, cut_faces, excess, *couplings, shared.source_plane, source_shape, shared.waveform,
            shared.port, port_weights, port, shared.contour, record, shared.box, shared.wave, flat_sums,
        )  # fmt: skip
        step += count
        if wanted is not None and wanted.due(step):
            frames.append(fields[:3][(slice(None), *wanted.box)].copy())
        if step % sampling.check_every == 0:
            now = energy(n, nz, cells, inverse_cb, shared.weights)
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
        "final": fields.copy(),
    }


def _frames(frames: list[np.ndarray], wanted: Snapshots, nz: int, nr: int, dtype: Any) -> np.ndarray:
    """Stack frames, none at all too, (frames, 3, rows kept, columns kept)."""
    shape = np.empty((nz, nr), dtype)[wanted.box].shape
    return np.reshape(np.array(frames, dtype), (len(frames), 3, *shape))
