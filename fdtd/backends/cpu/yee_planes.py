"""Compiled updates of one plane of a rectilinear lattice; see `fdtd.backends.cpu.yee`."""
# ruff: noqa: ANN001, ANN201 - compiled text: Numba infers the types

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fdtd.backends.cpu.compiled import compiled

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}


class Fields(NamedTuple):
    """Components, each [nz + 3, ny + 3, width]."""

    ex: np.ndarray
    ey: np.ndarray
    ez: np.ndarray
    hx: np.ndarray
    hy: np.ndarray
    hz: np.ndarray


class Rows(NamedTuple):
    """Coefficients of E.

    Attributes:
        keep: Table of rows of ca, [rows, width].
        gain: Table of rows of cb, [rows, width].
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
        filters_x: b and c / d at nodes and half nodes of the two ends of a row, [2, 2, ends, edge]; `edge` is one more
            than the cells of the thicker layer, 0 without layers.
        filters_y: b and c / d at nodes and half nodes, [2, 2, ny + 1].
        filters_z: The same along z.
        slots_y: Entry of `psi_y` of a row of nodes or half nodes, -1 outside the layers, [2, ny + 1].
        slots_z: The same along z.
        psi_x: Of e_y, e_z, h_y, h_z, [4, nz + 1, ny + 1, ends, edge].
        psi_y: Of e_x, e_z, h_x, h_z, [4, nz + 1, slots, width].
        psi_z: Of e_x, e_y, h_x, h_y, [4, slots, ny + 1, width].
        ends: Where the two ends of a row begin, [2].
    """

    filters_x: np.ndarray
    filters_y: np.ndarray
    filters_z: np.ndarray
    slots_y: np.ndarray
    slots_z: np.ndarray
    psi_x: np.ndarray
    psi_y: np.ndarray
    psi_z: np.ndarray
    ends: np.ndarray


@compiled(**OPTIONS)
def h_plane(k, f, slopes, nx, ny):
    """Update H on the half plane k + 1/2 (h_x, h_y) and on the plane k (h_z)."""
    w = slopes.half_z[k]
    for j in range(ny + 1):
        u = slopes.half_y[j]
        for i in range(nx + 1):
            f.hx[k + 1, j + 1, i + 1] -= u * (f.ez[k + 1, j + 2, i + 1] - f.ez[k + 1, j + 1, i + 1]) - w * (
                f.ey[k + 2, j + 1, i + 1] - f.ey[k + 1, j + 1, i + 1]
            )
        for i in range(nx + 1):
            f.hy[k + 1, j + 1, i + 1] -= w * (f.ex[k + 2, j + 1, i + 1] - f.ex[k + 1, j + 1, i + 1]) - slopes.half_x[
                i
            ] * (f.ez[k + 1, j + 1, i + 2] - f.ez[k + 1, j + 1, i + 1])
        for i in range(nx + 1):
            f.hz[k + 1, j + 1, i + 1] -= slopes.half_x[i] * (
                f.ey[k + 1, j + 1, i + 2] - f.ey[k + 1, j + 1, i + 1]
            ) - u * (f.ex[k + 1, j + 2, i + 1] - f.ex[k + 1, j + 1, i + 1])


@compiled(**OPTIONS)
def e_plane(k, f, rows, slopes, nx, ny):
    """Update E on the plane k (e_x, e_y) and on the half plane k + 1/2 (e_z)."""
    w = slopes.node_z[k]
    for j in range(ny + 1):
        u = slopes.node_y[j]
        r = rows.at[0, k, j]
        for i in range(nx + 1):
            f.ex[k + 1, j + 1, i + 1] = rows.keep[r, i] * f.ex[k + 1, j + 1, i + 1] + rows.gain[r, i] * (
                u * (f.hz[k + 1, j + 1, i + 1] - f.hz[k + 1, j, i + 1])
                - w * (f.hy[k + 1, j + 1, i + 1] - f.hy[k, j + 1, i + 1])
            )
        r = rows.at[1, k, j]
        for i in range(nx + 1):
            f.ey[k + 1, j + 1, i + 1] = rows.keep[r, i] * f.ey[k + 1, j + 1, i + 1] + rows.gain[r, i] * (
                w * (f.hx[k + 1, j + 1, i + 1] - f.hx[k, j + 1, i + 1])
                - slopes.node_x[i] * (f.hz[k + 1, j + 1, i + 1] - f.hz[k + 1, j + 1, i])
            )
        r = rows.at[2, k, j]
        for i in range(nx + 1):
            f.ez[k + 1, j + 1, i + 1] = rows.keep[r, i] * f.ez[k + 1, j + 1, i + 1] + rows.gain[r, i] * (
                slopes.node_x[i] * (f.hy[k + 1, j + 1, i + 1] - f.hy[k + 1, j + 1, i])
                - u * (f.hx[k + 1, j + 1, i + 1] - f.hx[k + 1, j, i + 1])
            )


@compiled(**OPTIONS)
def h_layers(k, f, layers, nx, ny):
    """Add to H of `h_plane` what the layers' convolutions hold."""
    slot = layers.slots_z[1, k]
    if slot >= 0:
        b, c = layers.filters_z[1, 0, k], layers.filters_z[1, 1, k]
        for j in range(ny + 1):
            for i in range(nx + 1):
                psi = b * layers.psi_z[2, slot, j, i] + c * (f.ey[k + 2, j + 1, i + 1] - f.ey[k + 1, j + 1, i + 1])
                layers.psi_z[2, slot, j, i] = psi
                f.hx[k + 1, j + 1, i + 1] += psi
            for i in range(nx + 1):
                psi = b * layers.psi_z[3, slot, j, i] + c * (f.ex[k + 2, j + 1, i + 1] - f.ex[k + 1, j + 1, i + 1])
                layers.psi_z[3, slot, j, i] = psi
                f.hy[k + 1, j + 1, i + 1] -= psi
    for j in range(ny + 1):
        slot = layers.slots_y[1, j]
        if slot >= 0:
            b, c = layers.filters_y[1, 0, j], layers.filters_y[1, 1, j]
            for i in range(nx + 1):
                psi = b * layers.psi_y[2, k, slot, i] + c * (f.ez[k + 1, j + 2, i + 1] - f.ez[k + 1, j + 1, i + 1])
                layers.psi_y[2, k, slot, i] = psi
                f.hx[k + 1, j + 1, i + 1] -= psi
            for i in range(nx + 1):
                psi = b * layers.psi_y[3, k, slot, i] + c * (f.ex[k + 1, j + 2, i + 1] - f.ex[k + 1, j + 1, i + 1])
                layers.psi_y[3, k, slot, i] = psi
                f.hz[k + 1, j + 1, i + 1] += psi
    edge = layers.filters_x.shape[3]
    if edge:
        for j in range(ny + 1):
            for end in range(2):
                o = layers.ends[end]
                for i in range(edge):
                    b, c = layers.filters_x[1, 0, end, i], layers.filters_x[1, 1, end, i]
                    psi = b * layers.psi_x[2, k, j, end, i] + c * (
                        f.ez[k + 1, j + 1, o + i + 2] - f.ez[k + 1, j + 1, o + i + 1]
                    )
                    layers.psi_x[2, k, j, end, i] = psi
                    f.hy[k + 1, j + 1, o + i + 1] += psi
                for i in range(edge):
                    b, c = layers.filters_x[1, 0, end, i], layers.filters_x[1, 1, end, i]
                    psi = b * layers.psi_x[3, k, j, end, i] + c * (
                        f.ey[k + 1, j + 1, o + i + 2] - f.ey[k + 1, j + 1, o + i + 1]
                    )
                    layers.psi_x[3, k, j, end, i] = psi
                    f.hz[k + 1, j + 1, o + i + 1] -= psi


@compiled(**OPTIONS)
def e_layers(k, f, rows, layers, nx, ny):
    """Add to E of `e_plane` what the layers' convolutions hold."""
    slot = layers.slots_z[0, k]
    if slot >= 0:
        b, c = layers.filters_z[0, 0, k], layers.filters_z[0, 1, k]
        for j in range(ny + 1):
            r = rows.at[0, k, j]
            for i in range(nx + 1):
                psi = b * layers.psi_z[0, slot, j, i] + c * (f.hy[k + 1, j + 1, i + 1] - f.hy[k, j + 1, i + 1])
                layers.psi_z[0, slot, j, i] = psi
                f.ex[k + 1, j + 1, i + 1] -= rows.gain[r, i] * psi
            r = rows.at[1, k, j]
            for i in range(nx + 1):
                psi = b * layers.psi_z[1, slot, j, i] + c * (f.hx[k + 1, j + 1, i + 1] - f.hx[k, j + 1, i + 1])
                layers.psi_z[1, slot, j, i] = psi
                f.ey[k + 1, j + 1, i + 1] += rows.gain[r, i] * psi
    for j in range(ny + 1):
        slot = layers.slots_y[0, j]
        if slot >= 0:
            b, c = layers.filters_y[0, 0, j], layers.filters_y[0, 1, j]
            r = rows.at[0, k, j]
            for i in range(nx + 1):
                psi = b * layers.psi_y[0, k, slot, i] + c * (f.hz[k + 1, j + 1, i + 1] - f.hz[k + 1, j, i + 1])
                layers.psi_y[0, k, slot, i] = psi
                f.ex[k + 1, j + 1, i + 1] += rows.gain[r, i] * psi
            r = rows.at[2, k, j]
            for i in range(nx + 1):
                psi = b * layers.psi_y[1, k, slot, i] + c * (f.hx[k + 1, j + 1, i + 1] - f.hx[k + 1, j, i + 1])
                layers.psi_y[1, k, slot, i] = psi
                f.ez[k + 1, j + 1, i + 1] -= rows.gain[r, i] * psi
    edge = layers.filters_x.shape[3]
    if edge:
        for j in range(ny + 1):
            y, z = rows.at[1, k, j], rows.at[2, k, j]
            for end in range(2):
                o = layers.ends[end]
                for i in range(edge):
                    b, c = layers.filters_x[0, 0, end, i], layers.filters_x[0, 1, end, i]
                    psi = b * layers.psi_x[0, k, j, end, i] + c * (
                        f.hz[k + 1, j + 1, o + i + 1] - f.hz[k + 1, j + 1, o + i]
                    )
                    layers.psi_x[0, k, j, end, i] = psi
                    f.ey[k + 1, j + 1, o + i + 1] -= rows.gain[y, o + i] * psi
                for i in range(edge):
                    b, c = layers.filters_x[0, 0, end, i], layers.filters_x[0, 1, end, i]
                    psi = b * layers.psi_x[1, k, j, end, i] + c * (
                        f.hy[k + 1, j + 1, o + i + 1] - f.hy[k + 1, j + 1, o + i]
                    )
                    layers.psi_x[1, k, j, end, i] = psi
                    f.ez[k + 1, j + 1, o + i + 1] += rows.gain[z, o + i] * psi
