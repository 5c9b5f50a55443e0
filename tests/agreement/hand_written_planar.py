"""The planar loops for Numba that were written by hand before they came from formulas, for `test_planar_bits.py`.

A row of differences is formed in a scratch row, stretched where it lies in a layer, and added to the field.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.constants import c, epsilon_0, mu_0

from fdtd.planar.problem import PlanarProblem, inverse_or_zero

_DTYPES = {"float32": np.float32, "float64": np.float64}
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}

# Rows of the state: the component out of the plane, then the two in it.
_OUT, _X, _Y = 0, 1, 2
# Filters and convolutions: along x at nodes and half nodes, along y at nodes and half nodes.
_NODE_X, _HALF_X, _NODE_Y, _HALF_Y = 0, 1, 2, 3


class _Cells(NamedTuple):
    """One problem's state and coefficients, each [parts, ny, nx].

    Attributes:
        state: The component out of the plane and the two in it.
        gains: What a curl adds to each H.
        keep: Of each E, the part kept.
        gain: What a curl adds to each E.
        lengths: Open parts of the segments along x and y.
        opened: Whether e_x and e_y are stepped.
    """

    state: np.ndarray
    gains: np.ndarray
    keep: np.ndarray
    gain: np.ndarray
    lengths: np.ndarray
    opened: np.ndarray


class _Nodes(NamedTuple):
    """Nodes that couple e_x and e_y: rows and columns, [2, nodes], and their weights."""

    places: np.ndarray
    weights: np.ndarray


class _Layers(NamedTuple):
    """Absorbing layers: cells, filters along x and y at nodes and half nodes [2, 3, columns or rows], memory."""

    cells: int
    along: np.ndarray
    across: np.ndarray
    psi: np.ndarray


class _Drive(NamedTuple):
    """Currents of one kind: places [sources, 3], and what each takes off its field at every step [sources, steps]."""

    places: np.ndarray
    samples: np.ndarray


class _Scratch(NamedTuple):
    """Two rows of differences, and the curls of the whole plane (TE)."""

    row: np.ndarray
    other: np.ndarray
    curls: np.ndarray


@njit(**_OPTIONS)
def _stretch_along(difference, psi, filters, cells, n):
    """Stretch a row of d/dx in the layers at its two ends."""
    for i in range(cells):
        psi[i] = filters[1, i] * psi[i] + filters[2, i] * difference[i]
        difference[i] = filters[0, i] * difference[i] + psi[i]
    for i in range(max(cells, n - cells), n):
        psi[i] = filters[1, i] * psi[i] + filters[2, i] * difference[i]
        difference[i] = filters[0, i] * difference[i] + psi[i]


@njit(**_OPTIONS)
def _stretch_across(difference, psi, gain, decay, drive, n):
    """Stretch a row of d/dy that lies in a layer."""
    for i in range(n):
        psi[i] = decay * psi[i] + drive * difference[i]
        difference[i] = gain * difference[i] + psi[i]


@njit(**_OPTIONS)
def _subtract(out, left, right, n):
    """Out = left - right."""
    for i in range(n):
        out[i] = left[i] - right[i]


@njit(**_OPTIONS)
def _subtract_weighted(out, left, left_weight, right, right_weight, n):
    """Out = left weight * left - right weight * right."""
    for i in range(n):
        out[i] = left_weight[i] * left[i] - right_weight[i] * right[i]


@njit(**_OPTIONS)
def _add(field, gain, difference, n):
    """Field += gain * difference."""
    for i in range(n):
        field[i] += gain[i] * difference[i]


@njit(**_OPTIONS)
def _update(field, keep, gain, left, right, n):
    """Field = keep * field + gain * (left - right)."""
    for i in range(n):
        field[i] = keep[i] * field[i] + gain[i] * (left[i] - right[i])


@njit(**_OPTIONS)
def _h_tm(cells, layers, scratch):
    state, row = cells.state, scratch.row
    ny, nx = state.shape[1], state.shape[2]
    for j in range(ny):
        if j < ny - 1:
            _subtract(row, state[_OUT, j + 1], state[_OUT, j], nx)
            if j < layers.cells or j >= ny - 1 - layers.cells:
                f = layers.across[1, :, j]
                _stretch_across(row, layers.psi[_HALF_Y, j], f[0], f[1], f[2], nx)
            _add(state[_X, j], cells.gains[_X, j], row, nx)
        _subtract(row, state[_OUT, j, 1:], state[_OUT, j], nx - 1)
        _stretch_along(row, layers.psi[_HALF_X, j], layers.along[1], layers.cells, nx - 1)
        _add(state[_Y, j], cells.gains[_Y, j], row, nx - 1)


@njit(**_OPTIONS)
def _e_tm(cells, layers, scratch):
    state, row, other = cells.state, scratch.row, scratch.other
    ny, nx = state.shape[1], state.shape[2]
    row[0] = 0
    for j in range(1, ny - 1):
        _subtract(row[1:], state[_Y, j, 1:], state[_Y, j], nx - 1)
        _stretch_along(row, layers.psi[_NODE_X, j], layers.along[0], layers.cells + 1, nx)
        _subtract(other, state[_X, j], state[_X, j - 1], nx)
        if j <= layers.cells or j >= ny - 1 - layers.cells:
            f = layers.across[0, :, j]
            _stretch_across(other, layers.psi[_NODE_Y, j], f[0], f[1], f[2], nx)
        _update(state[_OUT, j], cells.keep[0, j], cells.gain[0, j], row, other, nx)


@njit(**_OPTIONS)
def _h_te(cells, layers, scratch):
    state, lengths, row, other = cells.state, cells.lengths, scratch.row, scratch.other
    ny, nx = state.shape[1], state.shape[2]
    for j in range(ny - 1):
        _subtract_weighted(row, state[_Y, j, 1:], lengths[1, j, 1:], state[_Y, j], lengths[1, j], nx - 1)
        _stretch_along(row, layers.psi[_HALF_X, j], layers.along[1], layers.cells, nx - 1)
        _subtract_weighted(other, state[_X, j + 1], lengths[0, j + 1], state[_X, j], lengths[0, j], nx)
        if j < layers.cells or j >= ny - 1 - layers.cells:
            f = layers.across[1, :, j]
            _stretch_across(other, layers.psi[_HALF_Y, j], f[0], f[1], f[2], nx)
        for i in range(nx - 1):
            state[_OUT, j, i] += cells.gains[_OUT, j, i] * (other[i] - row[i])


@njit(**_OPTIONS)
def _e_te(cells, layers, scratch):
    """Curls are kept for the whole plane: the coupling reads a row below and a row above."""
    state, keep, gain, row, curls = cells.state, cells.keep, cells.gain, scratch.row, scratch.curls
    ny, nx = state.shape[1], state.shape[2]
    for j in range(ny):
        if 0 < j < ny - 1:
            _subtract(row, state[_OUT, j], state[_OUT, j - 1], nx)
            if j <= layers.cells or j >= ny - 1 - layers.cells:
                f = layers.across[0, :, j]
                _stretch_across(row, layers.psi[_NODE_Y, j], f[0], f[1], f[2], nx)
            for i in range(nx):
                state[_X, j, i] = keep[0, j, i] * state[_X, j, i] + gain[0, j, i] * row[i]
                curls[0, j, i] = row[i]
        if j < ny - 1:
            row[0] = 0
            _subtract(row[1:], state[_OUT, j, 1:], state[_OUT, j], nx - 1)
            _stretch_along(row, layers.psi[_NODE_X, j], layers.along[0], layers.cells + 1, nx)
            for i in range(nx):
                state[_Y, j, i] = keep[1, j, i] * state[_Y, j, i] - gain[1, j, i] * row[i]
                curls[1, j, i] = -row[i]


@njit(**_OPTIONS)
def _couple(cells, nodes, curls):
    """Node by node: each passes on what its two neighbours of one direction see to those of the other."""
    state, opened, weights = cells.state, cells.opened, nodes.weights
    for n in range(len(weights)):
        j, i = nodes.places[0, n], nodes.places[1, n]
        x = weights[n] * (opened[0, j, i] * curls[0, j, i] + opened[0, j, i - 1] * curls[0, j, i - 1])
        y = weights[n] * (opened[1, j, i] * curls[1, j, i] + opened[1, j - 1, i] * curls[1, j - 1, i])
        state[_X, j, i] += opened[0, j, i] * y
        state[_X, j, i - 1] += opened[0, j, i - 1] * y
        state[_Y, j, i] += opened[1, j, i] * x
        state[_Y, j - 1, i] += opened[1, j - 1, i] * x


@njit(**_OPTIONS)
def _drive(state, drive, step):
    """Subtract the currents of this step."""
    for s in range(len(drive.places)):
        state[drive.places[s, 0], drive.places[s, 1], drive.places[s, 2]] -= drive.samples[s, step]


@njit(**_OPTIONS)
def _march(tm, cells, nodes, layers, scratch, drives, points, out):
    magnetic, electric = drives
    for step in range(len(out)):
        if tm:
            _h_tm(cells, layers, scratch)
        else:
            _h_te(cells, layers, scratch)
        _drive(cells.state, magnetic, step)
        if tm:
            _e_tm(cells, layers, scratch)
        else:
            _e_te(cells, layers, scratch)
            _couple(cells, nodes, scratch.curls)
        _drive(cells.state, electric, step)
        for p in range(len(points)):
            out[step, p] = cells.state[points[p, 0], points[p, 1], points[p, 2]]


def run(problem: PlanarProblem, precision: str) -> tuple[np.ndarray, np.ndarray]:
    """Return final fields and samples of all probes of a batch."""
    results = [_step(problem, index, _DTYPES[precision]) for index in range(problem.media.batch)]
    return np.stack([state for state, _, _ in results]), np.stack([out for _, out, _ in results])


def _step(problem: PlanarProblem, index: int, dtype: type) -> tuple[np.ndarray, np.ndarray, float]:
    """Final state and samples of all probes of one problem, and the seconds of its stepping."""
    grid, media, layer = problem.grid, problem.media, problem.layer
    tm, courant, live = grid.polarisation == "TM", grid.courant_number, problem.live()[index]

    def cast(array: Any) -> np.ndarray:
        return np.ascontiguousarray(array, dtype=dtype)

    state = np.zeros((3, *grid.shape)) if problem.initial is None else np.where(live, problem.initial[index], 0.0)
    electric = live[:1] if tm else live[1:]
    loss = media.conductivity[index] * grid.time_step / (2 * media.permittivity[index] * epsilon_0)
    keep = np.where(electric, (1 - loss) / (1 + loss), 0.0)
    gain = np.where(electric, courant / (media.permittivity[index] * (1 + loss)), 0.0)
    lengths = np.stack([media.open_x[index], media.open_y[index]])
    # What a curl adds to H: at the places of the state, zero where nothing is stepped; H_x turns the other way.
    inverse = inverse_or_zero(np.stack([media.open_area[index], lengths[1], lengths[0]]))
    gains = courant * live * inverse * np.array([1.0, -1.0, 1.0])[:, None, None]
    along = np.stack([layer.filters(grid, "x", offset) for offset in (0.0, 0.5)])
    across = np.stack([layer.filters(grid, "y", offset) for offset in (0.0, 0.5)])
    weights = np.where(tm, 0.0, media.coupling[index] * courant / 4)
    weights[0] = weights[:, 0] = 0.0  # in the walls
    coupled = np.nonzero(weights)
    points = [
        (grid.components.index(probe.component), row, column)
        for probe in problem.probes
        for row, column in zip(probe.rows, probe.columns, strict=True)
    ]
    cells = _Cells(cast(state), cast(gains), cast(keep), cast(gain), cast(lengths), cast(live[1:]))
    ny, nx = grid.shape
    layers = _Layers(layer.cells, cast(along), cast(across), np.zeros((4, ny, nx), dtype))
    scratch = _Scratch(np.zeros(nx, dtype), np.zeros(nx, dtype), np.zeros((2, 1 if tm else ny, nx), dtype))
    nodes = _Nodes(np.stack(coupled), cast(weights[coupled]))
    drives = tuple(_drives(problem, kind, gain, dtype) for kind in ("h", "e"))
    out, places = np.zeros((problem.steps, len(points)), dtype), np.array(points, dtype=np.int64).reshape(-1, 3)
    start = time.perf_counter()
    _march(tm, cells, nodes, layers, scratch, drives, places, out)
    return cells.state, out, time.perf_counter() - start


def _drives(problem: PlanarProblem, kind: str, gain: np.ndarray, dtype: type) -> _Drive:
    """Currents on E ("e") or on H ("h")."""
    grid = problem.grid
    sources = [source for source in problem.sources if source.component[0] == kind]
    places = np.zeros((len(sources), 3), dtype=np.int64)
    samples = np.zeros((len(sources), problem.steps))
    for n, source in enumerate(sources):
        component = grid.components.index(source.component)
        places[n] = component, source.row, source.column
        if kind == "e":
            scale = np.sqrt(mu_0 / epsilon_0) * gain[max(component - 1, 0), source.row, source.column] / grid.cell
        else:
            scale = grid.time_step * c / grid.cell**2
        count = min(problem.steps, len(source.samples))
        samples[n, :count] = scale * np.asarray(source.samples, dtype=float)[:count]
    return _Drive(places, samples.astype(dtype))
