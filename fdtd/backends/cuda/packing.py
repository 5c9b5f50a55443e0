"""Lays a problem out as the kernels' `Parameters`: arrays for the pointers, numbers for the rest.

What every antenna has of its own is made in the library of the media's arrays, on the device if they are there. No
array is reduced along its last axes as it lies in memory: CuPy includes CUB for that, and each such reduction takes a
second or two to compile.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.constants import epsilon_0

from fdtd.arrays import library
from fdtd.axisymmetric.problem import Problem
from fdtd.backends.cuda.rasterise import Launcher, launcher
from fdtd.backends.cuda.text import REALS, Packed, flatten
from fdtd.errors import ConfigError, Unsuitable

_ROWS = 4  # of a block of rows.cu

ROW_AXIAL, ROW_SOURCE, ROW_PLANE, ROW_COUPLED, ROW_CUT, ROW_RECORDED, ROW_RADIAL, ROW_LOSSY = (
    1 << bit for bit in range(16, 24)
)
_START, _UNIT, _UNITS = 24, 16, 127  # as in parameters.cuh; the most that there is room for


def pack(problem: Problem, precision: str, *, lead: int, pitch: int, numbered: bool = False) -> Packed:
    """Lay out a batch.

    Args:
        problem: What to step.
        precision: "float32" or "float64".
        lead: Zero columns before the axis.
        pitch: Stored columns of a row.
        numbered: Whether ca and cb are laid out as numbers of pairs too.

    Raises:
        ConfigError: Two axial layers share a row.
        Unsuitable: A monitor or a dielectric surface lies where the kernels do not look, or snapshots are requested.
    """
    if problem.snapshots is not None:
        raise Unsuitable("snapshots are not taken on the device; use backend cpu")
    grid, sampling, batch = problem.grid, problem.sampling, problem.media.batch
    dtype = np.dtype(precision)
    samples = max(sampling.steps // sampling.record_every, 1)
    arrays: dict[str, np.ndarray] = {}
    numbers: dict[str, float] = {
        "batch": batch,
        "nr": grid.nr,
        "nz": grid.nz,
        "lead": lead,
        "pitch": pitch,
        "record_every": sampling.record_every,
        "samples": samples,
        "settled": sampling.settled,
        "steps": sampling.steps,
        "decay": sampling.decay,
        "order": grid.azimuthal_order,
        "half_courant": grid.courant_number / 2,
    }

    xp = library(problem.media.permittivity)

    def padded(rows: np.ndarray, kind: Any = dtype) -> np.ndarray:
        out = library(rows).zeros((*rows.shape[:-1], pitch), kind)
        out[..., lead : lead + rows.shape[-1]] = rows
        return out

    fields = xp.zeros((batch, grid.nz, 6, pitch), dtype)
    if problem.initial is not None:
        fields[..., lead : lead + grid.nr] = xp.asarray(np.moveaxis(problem.initial, 1, 2))
    arrays["fields"] = fields
    words = xp.zeros((batch, grid.nz + 1), np.int32)
    if xp is np:
        _add_media(problem, arrays, words, padded, lead)
    else:
        add_media_in_one_launch(problem, arrays, words, dtype, lead, pitch, launcher())
    _add_coupling(problem, arrays, padded)
    _add_numbers(arrays, numbered)
    _add_radial_layer(problem, arrays, numbers, padded, dtype, lead)
    _add_axial_layers(problem, arrays, numbers, dtype, lead, pitch)
    _add_source(problem, arrays, numbers, padded, dtype)
    _add_monitors(problem, arrays, numbers, padded, dtype, samples)
    arrays["rows"] = _marked(problem, words)
    arrays["active"] = np.ones(batch, np.int32)
    arrays["energies"] = np.zeros((3, batch))
    arrays["taken"] = np.zeros(batch, np.int32)
    arrays["weights"] = padded(grid.energy_weights, np.float64)
    return arrays, numbers


def feed_macros(problem: Problem) -> dict[str, int]:
    """Return the setting of the kernels' texts where antennas have source profiles or port weights of their own."""
    return {"OWN_FEEDS": 1} if _own_feeds(problem) else {}


def _own_feeds(problem: Problem) -> bool:
    source, port = problem.source, problem.port
    return (source is not None and source.profile_r.ndim == 2) or (port is not None and port.v_r.ndim == 2)


def _of_antennas(problem: Problem, rows: np.ndarray) -> np.ndarray:
    """Repeat rows that all antennas share where others are the antennas' own."""
    shared = rows.ndim == 2 and _own_feeds(problem)
    return np.repeat(rows[None], problem.media.batch, axis=0) if shared else rows


def _add_media(problem: Problem, arrays: dict[str, np.ndarray], words: np.ndarray, padded: Any, lead: int) -> None:
    """Loss factors and cut faces, and each row's reach and flags, those of couplings too."""
    grid, media = problem.grid, problem.media
    loss = media.conductivity * (grid.time_step / (2 * epsilon_0)) / media.permittivity
    coefficients = np.concatenate(
        [(1 - loss) / (1 + loss), media.open_length / (media.permittivity * (1 + loss))], axis=1
    )
    filled = (coefficients != 1).any(axis=1) | (media.open_area != 1).any(axis=1)
    if media.coupling is not None:
        filled |= media.coupling != 0
    columns = library(filled).arange(1, grid.nr + 1, dtype=np.int32)[:, None, None]
    last = np.where(np.moveaxis(filled, 2, 0), columns, 0).max(axis=0)
    before = np.where(np.moveaxis(filled, 2, 0), columns - 1, grid.nr).min(axis=0)
    words[:, :-1] |= np.where(last > 0, np.minimum((before + lead) // _UNIT, _UNITS) << _START, 0)
    words[:, :-1] |= np.where((coefficients[:, :3] != 1).any(axis=(1, 3)), ROW_LOSSY, 0)
    words[:, :-1] |= np.where(last > 0, last + lead, 0)
    words[:, :-1] |= np.where(last > grid.nr - problem.radial_layer.cells, ROW_RADIAL, 0)
    arrays["media"] = np.moveaxis(padded(coefficients), 1, 2).copy()
    cut = (media.open_area != 1).any(axis=(1, 3))
    words[:, :-1] |= np.where(cut, ROW_CUT, 0)
    faces = (
        padded(1 / media.open_area)
        if media.spans.cut_columns.any()
        else library(cut).zeros((1, 3, 1, 1), arrays["media"].dtype)
    )
    arrays["faces"] = np.moveaxis(faces, 1, 2).copy()
    if _is_coupled(problem):
        coupled = media.coupling != 0
        words[:, :-1] |= np.where(np.moveaxis(coupled, 2, 0).any(axis=0), ROW_COUPLED, 0)


def add_media_in_one_launch(
    problem: Problem, arrays: dict[str, Any], words: Any, dtype: np.dtype, lead: int, pitch: int, launch: Launcher
) -> None:
    """Do what `_add_media` does by a kernel: as operations it takes a tenth of the time that a study is stepped."""
    grid, media, xp = problem.grid, problem.media, launch.arrays
    each_length, each_area = (one.strides[0] != 0 or media.batch == 1 for one in (media.open_length, media.open_area))
    length, area = media.open_length[: None if each_length else 1], media.open_area[: None if each_area else 1]
    arrays["media"] = xp.empty((media.batch, grid.nz, 6, pitch), dtype)
    faces = xp.empty((media.batch, grid.nz, 3, pitch), dtype) if media.spans.cut_columns.any() else None
    blocks, inner = (-(-grid.nz // _ROWS), media.batch), grid.nr - problem.radial_layer.cells
    launch(
        _rows_text(dtype.name), "rows_of_media", blocks, 32 * _ROWS, grid.nr, grid.nz, lead, pitch, inner,
        int(each_length), int(each_area), grid.time_step / (2 * epsilon_0),
        *map(xp.ascontiguousarray, (media.permittivity, media.conductivity, length, area)),
        None if media.coupling is None else xp.ascontiguousarray(media.coupling),
        ROW_RADIAL, ROW_CUT, ROW_COUPLED if _is_coupled(problem) else 0, ROW_LOSSY, _START, _UNIT, _UNITS,
        arrays["media"], faces, words,
    )  # fmt: skip
    arrays["faces"] = xp.zeros((1, 1, 3, 1), dtype) if faces is None else faces


@lru_cache(maxsize=2)
def _rows_text(precision: str) -> str:
    return flatten("kernels/raster/rows.cu", {"REAL": REALS[precision]})


def _add_numbers(arrays: dict[str, np.ndarray], numbered: bool) -> None:
    """Number the pairs of ca and cb of each row: a run of equal cells of a component has one number.

    A row's numbers begin with 0, so that 16 bits are enough for any row.
    """
    media = arrays["media"]
    xp = library(media)
    if not numbered:
        empty = xp.zeros((1, 1), np.int32)
        arrays |= {"numbers": empty, "pairs": empty.astype(media.dtype), "row_pairs": empty}
        return
    pairs = xp.stack([media[:, :, :3], media[:, :, 3:]], axis=-1)
    starts = xp.ones(pairs.shape[:-1], dtype=bool)
    changed = media[..., 1:] != media[..., :-1]
    starts[..., 1:] = changed[:, :, :3] | changed[:, :, 3:]
    batch, nz, planes, pitch = starts.shape
    counts = xp.cumsum(starts.reshape(batch, nz, planes * pitch), axis=2, dtype=np.int32)
    first = xp.zeros(batch * nz + 1, np.int64)
    first[1:] = xp.cumsum(counts[..., -1].reshape(-1))
    arrays["numbers"] = xp.ascontiguousarray((counts - 1).reshape(starts.shape).astype(np.uint16)).view(np.int32)
    arrays["pairs"] = xp.ascontiguousarray(pairs[starts])
    arrays["row_pairs"] = first[:-1].reshape(batch, nz).astype(np.int32)


def _is_coupled(problem: Problem) -> bool:
    return problem.media.coupling is not None and problem.media.spans.coupled


def _add_coupling(problem: Problem, arrays: dict[str, np.ndarray], padded: Any) -> None:
    """A quarter of each node's coupling, for the four neighbours that it is multiplied with."""
    arrays["coupling"] = np.zeros((1, 1, 1), arrays["media"].dtype)
    coupling = problem.media.coupling
    if coupling is not None and _is_coupled(problem):
        _check_coupling(problem)
        arrays["coupling"] = padded(coupling / 4)


def _check_coupling(problem: Problem) -> None:
    """Nodes that couple e_r and e_z must stand clear of the layers, where curls are stretched."""
    layered = np.zeros((problem.grid.nz + 1, problem.grid.nr), dtype=bool)
    layered[:, problem.grid.nr - problem.radial_layer.cells - 1 :] = problem.radial_layer.cells > 0
    for layer in problem.axial_layers:
        start, stop = layer.rows
        layered[start : stop + 1, : layer.columns + 1] = True
    if (problem.media.spans.coupled_nodes & layered[:-1]).any():
        raise Unsuitable("a tilted dielectric surface stands inside an absorbing layer; widen the grid or use cpu")


def _add_radial_layer(problem: Problem, arrays: Any, numbers: Any, padded: Any, dtype: Any, lead: int) -> None:
    """Radial factors of the six updates and the layer's filters."""
    grid, layer = problem.grid, problem.radial_layer
    start, pitch = grid.nr - layer.cells, max(4, -(-layer.cells // 4) * 4)
    gains, found = layer.factors(grid)
    filters = np.zeros((16, pitch), dtype)
    filters[:, : layer.cells] = found
    rounded = arrays["gains"] = padded(gains)
    inner = slice(lead, lead + start)  # as the wavefront has it: all schemes round alike
    rounded[1, inner] = rounded[4, inner] - rounded.dtype.type(grid.courant_number / 2)
    arrays["filters"] = filters
    arrays["radial_psi"] = library(problem.media.permittivity).zeros((problem.media.batch, grid.nz, 8, pitch), dtype)
    numbers |= {"axis_gain": gains[5, 0], "radial_start": start, "radial_cells": layer.cells, "radial_pitch": pitch}


def _add_axial_layers(problem: Problem, arrays: Any, numbers: Any, dtype: Any, lead: int, pitch: int) -> None:
    """Per row: stretched columns and the place of their memory; 1/kappa, b, c for E and for H."""
    nz = problem.grid.nz
    rows, table, count = np.zeros((2, nz), np.int32), np.zeros((6, nz), dtype), 0
    for layer in problem.axial_layers:
        start, stop = layer.rows
        if rows[0, start:stop].any():
            raise ConfigError("two axial absorbing layers share a row; move them apart")
        rows[0, start:stop] = lead + layer.columns
        table[:3, start:stop] = layer.filters(problem.grid, 0.0)
        table[3:, start:stop] = layer.filters(problem.grid, 0.5)
        count += stop - start
    rows[1] = np.cumsum(rows[0] > 0) - (rows[0] > 0)  # in the order of the rows, however the layers come
    arrays["axial_rows"], arrays["axial"] = rows, table
    arrays["axial_psi"] = library(problem.media.permittivity).zeros(
        (problem.media.batch, max(count, 1), 4, pitch), dtype
    )
    numbers["axial_count"] = max(count, 1)


def _add_source(problem: Problem, arrays: Any, numbers: Any, padded: Any, dtype: Any) -> None:
    source = problem.source
    if source is None:
        arrays["source"], arrays["waveform"] = padded(_of_antennas(problem, np.zeros((2, 1)))), np.zeros(1, dtype)
        numbers |= {"source_plane": -1, "source_columns": 0, "source_steps": 0}
        return
    profiles = _of_antennas(problem, np.stack([source.profile_r, source.profile_phi], axis=-2))
    arrays["source"] = padded(profiles)
    arrays["waveform"] = np.asarray(source.waveform, dtype)
    numbers |= {
        "source_plane": source.plane,
        "source_columns": profiles.shape[-1],
        "source_steps": len(source.waveform),
    }


def _add_monitors(problem: Problem, arrays: Any, numbers: Any, padded: Any, dtype: Any, samples: int) -> None:
    """Port, contour and field map: weights, places, and room for what they record."""
    port, contour, box, batch = problem.port, problem.contour, problem.field_map, problem.media.batch
    start = problem.grid.nr - problem.radial_layer.cells
    weights = np.zeros((4, 1)) if port is None else np.stack([port.v_r, port.v_phi, port.c_r, port.c_phi], axis=-2)
    weights = _of_antennas(problem, weights)
    arrays["port_weights"] = padded(weights, np.float64)
    xp = library(problem.media.permittivity)
    arrays["port_record"] = xp.zeros((batch, samples, 2))
    numbers |= {"port_plane": -1 if port is None else port.plane, "port_columns": weights.shape[-1]}
    if contour is not None and (contour.column >= start or contour.bottom < 1):
        raise Unsuitable("the contour lies in the radial absorbing layer or on the lattice's lowest plane")
    size = 0 if contour is None else contour.size
    # On a device only what an antenna recorded is read again.
    room = xp.zeros if xp is np else xp.empty
    arrays["contour_record"] = room((batch, samples, max(size, 1)), dtype)
    numbers |= {
        "contour_column": -1 if contour is None else contour.column,
        "contour_bottom": 0 if contour is None else contour.bottom,
        "contour_top": 0 if contour is None else contour.top,
        "contour_size": size,
    }
    times = problem.sampling.sample_times(problem.grid, samples)[0]
    frequencies = np.zeros(0) if box is None else np.asarray(box.frequencies)
    phase = 2 * np.pi * frequencies[:, None] * times
    arrays["wave"] = np.stack([np.cos(phase), -np.sin(phase)]).astype(dtype)
    arrays["sums"] = xp.zeros((batch, *((1, 2, 3, 1, 1) if box is None else box.shape)), dtype)
    numbers |= {
        "map_bottom": 0 if box is None else box.rows[0],
        "map_top": 0 if box is None else box.rows[1],
        "map_left": 0 if box is None else box.columns[0],
        "map_right": 0 if box is None else box.columns[1],
        "map_frequencies": len(frequencies),
    }


def _marked(problem: Problem, words: np.ndarray) -> np.ndarray:
    """Return row words with the flags that the whole batch shares."""
    words[:, 0] |= ROW_PLANE
    for layer in problem.axial_layers:
        words[:, slice(*layer.rows)] |= ROW_AXIAL
    if problem.source is not None:
        words[:, problem.source.plane] |= ROW_SOURCE
    if problem.port is not None:
        words[:, problem.port.plane] |= ROW_RECORDED
    if problem.contour is not None:
        words[:, problem.contour.bottom - 1 : problem.contour.top + 1] |= ROW_RECORDED
    if problem.field_map is not None:
        words[:, slice(*problem.field_map.rows)] |= ROW_RECORDED
    return words
