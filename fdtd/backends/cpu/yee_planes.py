"""Compiled updates of one plane of a rectilinear lattice; see `fdtd.backends.cpu.yee`.

`state` is the memory of all components without its shape, each [nz + 2, ny + 2, width]: a row's place is that of its
first number, and neighbours along y and z are `row` and `plane` numbers on. All loops run over whole blocks of LANES
columns, the inner one over a block, so that LLVM makes no loop for a remainder. Every access says which others it does
not overlap (`fdtd.backends.cpu.accesses`): so loops that write three components are vectorised, and those at the ends
of a row, which are too short to be checked for overlaps.
"""
# ruff: noqa: ANN001, ANN201 - compiled text: Numba infers the types

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fdtd.backends.cpu.accesses import LANES, accesses, add_filtered, add_scaled
from fdtd.backends.cpu.compiled import compiled

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
EX, EY, EZ, HX, HY, HZ = range(6)

_loads, _stores, _get = accesses(("x", "y", "z"))
_get_x, _get_y, _get_z = _loads["x"], _loads["y"], _loads["z"]
_set_x, _set_y, _set_z = _stores["x"], _stores["y"], _stores["z"]


class Places(NamedTuple):
    """Where components and neighbours are in the state.

    Attributes:
        size: Numbers of a component.
        plane: Of a plane.
        row: Of a row; a whole number of blocks, with a zero at its end, which the next row reads before its first.
    """

    size: int
    plane: int
    row: int


class Rows(NamedTuple):
    """Coefficients of E, zero beyond the last column.

    Attributes:
        keep: Table of rows of ca, [rows, width], without its shape.
        gain: Table of rows of cb, the same.
        at: Entry of each row of edges, [3, nz + 1, ny + 1].
        permittivity: Table of rows, for the energy, [rows, width].
    """

    keep: np.ndarray
    gain: np.ndarray
    at: np.ndarray
    permittivity: np.ndarray


class Slopes(NamedTuple):
    """What a difference is multiplied by: 1 / (kappa d), with c dt in those of H; [cells + 1], along x [width]."""

    half_x: np.ndarray
    half_y: np.ndarray
    half_z: np.ndarray
    node_x: np.ndarray
    node_y: np.ndarray
    node_z: np.ndarray


class Layers(NamedTuple):
    """Filters and convolutions.

    Attributes:
        filters_x: b and c / d at nodes and half nodes of the two ends of a row, [2, 2, ends, edge], without its shape,
            zero outside the layers; `edge` is a whole number of blocks.
        filters_y: b and c / d at nodes and half nodes, each LANES times, [2, 2, ny + 1, LANES], without its shape.
        filters_z: The same along z.
        slots_y: Entry of `psi_y` of a row of nodes or half nodes, -1 outside the layers, [2, ny + 1].
        slots_z: The same along z.
        psi_x: Of e_y, e_z, h_y, h_z, [4, nz + 1, ny + 1, ends, edge], without its shape.
        psi_y: Of e_x, e_z, h_x, h_z, [4, nz + 1, count_y, width], without its shape.
        psi_z: Of e_x, e_y, h_x, h_y, [4, count_z, ny + 1, width], without its shape.
        planes: nz + 1.
        count_y, count_z: Rows of the layers along y, planes of those along z.
        ends: Where the two ends of a row of nodes and of half nodes begin, [2, ends].
        edge: Columns of an end, 0 without layers along x.
    """

    filters_x: np.ndarray
    filters_y: np.ndarray
    filters_z: np.ndarray
    slots_y: np.ndarray
    slots_z: np.ndarray
    psi_x: np.ndarray
    psi_y: np.ndarray
    psi_z: np.ndarray
    planes: int
    count_y: int
    count_z: int
    ends: np.ndarray
    edge: int


@compiled(**OPTIONS)
def h_plane(k, state, places, slopes, ny):
    """Update H on the half plane k + 1/2 (h_x, h_y) and on the plane k (h_z)."""
    size, plane, row = places
    w = slopes.half_z[k]
    for j in range(ny + 1):
        u = slopes.half_y[j]
        at = (k + 1) * plane + (j + 1) * row
        for v in range(row // LANES):
            for lane in range(LANES):
                i = LANES * v + lane
                p = at + i
                e_x, e_y, e_z = _get(state, p + EX * size), _get(state, p + EY * size), _get(state, p + EZ * size)
                h_x, h_y, h_z = _get_x(state, p + HX * size), _get_y(state, p + HY * size), _get_z(state, p + HZ * size)
                s = _get(slopes.half_x, i)
                h_x -= u * (_get(state, p + EZ * size + row) - e_z) - w * (_get(state, p + EY * size + plane) - e_y)
                h_y -= w * (_get(state, p + EX * size + plane) - e_x) - s * (_get(state, p + EZ * size + 1) - e_z)
                h_z -= s * (_get(state, p + EY * size + 1) - e_y) - u * (_get(state, p + EX * size + row) - e_x)
                _set_x(state, p + HX * size, h_x)
                _set_y(state, p + HY * size, h_y)
                _set_z(state, p + HZ * size, h_z)


@compiled(**OPTIONS)
def e_plane(k, state, places, rows, slopes, ny):
    """Update E on the plane k (e_x, e_y) and on the half plane k + 1/2 (e_z)."""
    size, plane, row = places
    w = slopes.node_z[k]
    for j in range(ny + 1):
        u = slopes.node_y[j]
        at = (k + 1) * plane + (j + 1) * row
        x, y, z = rows.at[0, k, j] * row, rows.at[1, k, j] * row, rows.at[2, k, j] * row
        for v in range(row // LANES):
            for lane in range(LANES):
                i = LANES * v + lane
                p = at + i
                h_x, h_y, h_z = _get(state, p + HX * size), _get(state, p + HY * size), _get(state, p + HZ * size)
                s = _get(slopes.node_x, i)
                curl_x = u * (h_z - _get(state, p + HZ * size - row)) - w * (h_y - _get(state, p + HY * size - plane))
                curl_y = w * (h_x - _get(state, p + HX * size - plane)) - s * (h_z - _get(state, p + HZ * size - 1))
                curl_z = s * (h_y - _get(state, p + HY * size - 1)) - u * (h_x - _get(state, p + HX * size - row))
                e_x, e_y, e_z = _get_x(state, p + EX * size), _get_y(state, p + EY * size), _get_z(state, p + EZ * size)
                _set_x(state, p + EX * size, _get(rows.keep, x + i) * e_x + _get(rows.gain, x + i) * curl_x)
                _set_y(state, p + EY * size, _get(rows.keep, y + i) * e_y + _get(rows.gain, y + i) * curl_y)
                _set_z(state, p + EZ * size, _get(rows.keep, z + i) * e_z + _get(rows.gain, z + i) * curl_z)


@compiled(**OPTIONS)
def h_layers(k, state, places, layers, ny):
    """Add to H of `h_plane` what the layers' convolutions hold."""
    size, plane, row = places
    ex, ey, ez, hx, hy, hz = EX * size, EY * size, EZ * size, HX * size, HY * size, HZ * size
    first = (k + 1) * plane + row
    slot = layers.slots_z[1, k]
    if slot >= 0:
        psi, filters = layers.psi_z, layers.filters_z
        b, c = (2 * layers.planes + k) * LANES, (3 * layers.planes + k) * LANES
        for j in range(ny + 1):
            at = first + j * row
            m = ((2 * layers.count_z + slot) * (ny + 1) + j) * row
            n = ((3 * layers.count_z + slot) * (ny + 1) + j) * row
            for i in range(0, row, LANES):
                p = at + i
                add_filtered(psi, filters, state, (m + i, b, c, ey + p + plane, ey + p, hx + p))
                add_filtered(psi, filters, state, (n + i, b, c, ex + p, ex + p + plane, hy + p))
    for j in range(ny + 1):
        slot = layers.slots_y[1, j]
        if slot >= 0:
            psi, filters = layers.psi_y, layers.filters_y
            b, c = (2 * (ny + 1) + j) * LANES, (3 * (ny + 1) + j) * LANES
            at = first + j * row
            m = ((2 * layers.planes + k) * layers.count_y + slot) * row
            n = ((3 * layers.planes + k) * layers.count_y + slot) * row
            for i in range(0, row, LANES):
                p = at + i
                add_filtered(psi, filters, state, (m + i, b, c, ez + p, ez + p + row, hx + p))
                add_filtered(psi, filters, state, (n + i, b, c, ex + p + row, ex + p, hz + p))
    edge = layers.edge
    if edge:
        psi, filters = layers.psi_x, layers.filters_x
        for j in range(ny + 1):
            for end in range(2):
                at = first + j * row + layers.ends[1, end]
                b, c = (4 + end) * edge, (6 + end) * edge
                m = (((2 * layers.planes + k) * (ny + 1) + j) * 2 + end) * edge
                n = (((3 * layers.planes + k) * (ny + 1) + j) * 2 + end) * edge
                for i in range(0, edge, LANES):
                    p = at + i
                    add_filtered(psi, filters, state, (m + i, b + i, c + i, ez + p + 1, ez + p, hy + p))
                    add_filtered(psi, filters, state, (n + i, b + i, c + i, ey + p, ey + p + 1, hz + p))


@compiled(**OPTIONS)
def e_layers(k, state, places, rows, layers, ny):
    """Add to E of `e_plane` what the layers' convolutions hold."""
    size, plane, row = places
    ex, ey, ez, hx, hy, hz = EX * size, EY * size, EZ * size, HX * size, HY * size, HZ * size
    first, gain = (k + 1) * plane + row, rows.gain
    slot = layers.slots_z[0, k]
    if slot >= 0:
        psi, filters = layers.psi_z, layers.filters_z
        b, c = k * LANES, (layers.planes + k) * LANES
        for j in range(ny + 1):
            at = first + j * row
            x, y = rows.at[0, k, j] * row, rows.at[1, k, j] * row
            m, n = (slot * (ny + 1) + j) * row, ((layers.count_z + slot) * (ny + 1) + j) * row
            for i in range(0, row, LANES):
                p = at + i
                add_scaled(psi, filters, state, gain, (m + i, b, c, hy + p - plane, hy + p, ex + p, x + i))
                add_scaled(psi, filters, state, gain, (n + i, b, c, hx + p, hx + p - plane, ey + p, y + i))
    for j in range(ny + 1):
        slot = layers.slots_y[0, j]
        if slot >= 0:
            psi, filters = layers.psi_y, layers.filters_y
            b, c = j * LANES, (ny + 1 + j) * LANES
            at = first + j * row
            x, z = rows.at[0, k, j] * row, rows.at[2, k, j] * row
            m, n = (k * layers.count_y + slot) * row, ((layers.planes + k) * layers.count_y + slot) * row
            for i in range(0, row, LANES):
                p = at + i
                add_scaled(psi, filters, state, gain, (m + i, b, c, hz + p, hz + p - row, ex + p, x + i))
                add_scaled(psi, filters, state, gain, (n + i, b, c, hx + p - row, hx + p, ez + p, z + i))
    edge = layers.edge
    if edge:
        psi, filters = layers.psi_x, layers.filters_x
        for j in range(ny + 1):
            for end in range(2):
                begin = layers.ends[0, end]
                at = first + j * row + begin
                y, z = rows.at[1, k, j] * row + begin, rows.at[2, k, j] * row + begin
                b, c = end * edge, (2 + end) * edge
                m = ((k * (ny + 1) + j) * 2 + end) * edge
                n = (((layers.planes + k) * (ny + 1) + j) * 2 + end) * edge
                for i in range(0, edge, LANES):
                    p = at + i
                    add_scaled(psi, filters, state, gain, (m + i, b + i, c + i, hz + p - 1, hz + p, ey + p, y + i))
                    add_scaled(psi, filters, state, gain, (n + i, b + i, c + i, hy + p, hy + p - 1, ez + p, z + i))
