"""The order in which cells are visited: several time levels follow each other up the rows, one row apart.

Level t is at row k - t while level 0 is at row k. A row of E needs H of its own row and of the one below from the
level before, and both are finished by then; so the whole state makes one trip through the cache for `levels` steps
(time skewing along z). One level is the plain sweep. Every cell sees the same operations in the same order whatever
the number of levels: the bits do not change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fdtd.backends.cpu.bor import (
    E_PHI,
    E_R,
    E_Z,
    H_PHI,
    H_R,
    H_Z,
    INLINE,
    LANES,
    LEAD,
    OPTIONS,
    accumulate,
    e_couple,
    e_radial,
    e_radial_filled,
    e_row,
    h_cut,
    h_radial,
    h_row,
    stretch,
)
from fdtd.backends.cpu.compiled import compiled

REDUCTION: dict[str, Any] = {**OPTIONS, "fastmath": {"contract", "nsz", "reassoc"}}


@compiled(**INLINE)
def advance_e(
    k, blocks, nz, filled, state, width, media, gains, m, layer_rows, layer, layer_psi, radial, filters, psi
):  # fmt: skip
    """One step of E in row k, absorbing layers included; row nz + 2 of the state is scratch."""
    row = 6 * width
    at, upper, lower = (k + 1) * row, (k + 1) * row, k * row
    if layer_rows[0, k] > 0:
        keep, b, c = layer[0, k], layer[1, k], layer[2, k]
        scratch, memory = (nz + 2) * row, layer_rows[1, k] * 4 * LANES * blocks
        stretch(H_R, upper, lower, scratch, layer_rows[0, k], blocks, state, width, layer_psi, memory, b, c, keep)
        upper, lower = scratch, 0
    here, first = k * blocks * 6 * LANES, radial[0]
    memory = k * (blocks - first) * 8 * LANES
    if filled[k] <= first:
        e_row(filled[k], first, state, width, at, upper, lower, media, here, gains, m)
        e_radial(first, blocks, state, width, at, upper, lower, gains, filters, psi, memory, m)
    else:
        e_row(filled[k], blocks, state, width, at, upper, lower, media, here, gains, m)
        layer_media = here + first * 6 * LANES
        e_radial_filled(first, blocks, state, width, at, upper, lower, media, layer_media, filters, psi, memory, m)


@compiled(**INLINE)
def advance_h(
    k, blocks, nz, state, cells, width, gains, factors, m, layer_rows, layer, layer_psi, radial, filters, psi,
    cut_rows, cut_faces, excess,
):  # fmt: skip
    """One step of H in row k, absorbing layers and cut faces included."""
    row = 6 * width
    upper, lower = k + 2, k + 1
    if layer_rows[0, k] > 0:
        keep, b, c = layer[3, k], layer[4, k], layer[5, k]
        memory = (layer_rows[1, k] * 4 + 2) * LANES * blocks
        stretch(
            E_R, upper * row, lower * row, (nz + 2) * row, layer_rows[0, k], blocks, state, width, layer_psi, memory,
            b, c, keep,
        )  # fmt: skip
        upper, lower = nz + 2, 0
    first, at = radial[0], (k + 1) * row
    h_row(first, state, width, at, upper * row, lower * row, gains, m)
    memory = k * (blocks - first) * 8 * LANES
    h_radial(first, blocks, state, width, at, upper * row, lower * row, gains, filters, psi, memory, m)
    first, last = cut_rows[k], cut_rows[k + 1]
    if last > first:
        h_cut(k, cells, upper, lower, factors, m, first, last, cut_faces[0], cut_faces[1], excess)


@compiled(**OPTIONS)
def record_e(k, sample, cells, port, port_weights, port_record, contour, record):
    """Store what is sampled in row k of E; `port` and `contour` hold whole numbers, -1 where there is none.

    Args:
        port: (plane, columns).
        port_weights: v_r, v_phi, c_r, c_phi, (4, columns).
        contour: (column, bottom, top).
        record: Where contour samples go.
    """
    row = k + 1
    if k == port[0]:
        total = 0.0
        for i in range(port[1]):
            total += port_weights[0, i] * cells[row, E_R, LEAD + i] + port_weights[1, i] * cells[row, E_PHI, LEAD + i]
        port_record[sample, 0] = total
    last, bottom, top = contour[0], contour[1], contour[2]
    if last >= 0 and bottom <= k <= top:
        face = 4 * last + 2
        if k in (top, bottom):
            at = 0 if k == top else face
            for i in range(last):
                record[sample, at + i] = cells[row, E_R, LEAD + i]
            for i in range(last + 1):
                record[sample, at + last + i] = cells[row, E_PHI, LEAD + i]
        record[sample, 2 * face + k - bottom] = cells[row, E_PHI, LEAD + last]
        if k < top:
            record[sample, 2 * face + (top - bottom + 1) + k - bottom] = cells[row, E_Z, LEAD + last]


@compiled(**OPTIONS)
def record_map(k, sample, state, width, box, wave, sums):
    """Add row k of E, once all of it is there, to the field map.

    Args:
        k: Row.
        sample: Which sample this is.
        state: Fields, without their shape.
        width: Columns of the state.
        box: Rows and columns of the field map, (4,); empty where there is none.
        wave: cos and -sin of w t, (2, F, samples).
        sums: (F, re/im, component, rows, columns), without its shape.
    """
    if box[0] <= k < box[1]:
        columns = box[3] - box[2]
        plane, at = (box[1] - box[0]) * columns, (k - box[0]) * columns
        for f in range(wave.shape[1]):
            for component in range(3):
                real = (6 * f + component) * plane + at
                accumulate(
                    state, (6 * (k + 1) + component) * width + LEAD + box[2], wave[0, f, sample], wave[1, f, sample],
                    sums, real, real + 3 * plane, columns,
                )  # fmt: skip


@compiled(**OPTIONS)
def record_h(k, sample, cells, port, port_weights, port_record, contour, record):
    """Store what is sampled in row k of H; arguments as for `record_e`."""
    row = k + 1
    if k == port[0]:
        total = 0.0
        for i in range(port[1]):
            total += port_weights[2, i] * cells[row, H_R, LEAD + i] + port_weights[3, i] * cells[row, H_PHI, LEAD + i]
        port_record[sample, 1] = total
    last, bottom, top = contour[0], contour[1], contour[2]
    if last >= 0 and bottom - 1 <= k <= top:
        face = 4 * last + 2
        if k == top or k == bottom - 1:
            at = (0 if k == top else face) + 2 * last + 1
            for i in range(last + 1):
                record[sample, at + i] = cells[row, H_R, LEAD + i]
            for i in range(last):
                record[sample, at + last + 1 + i] = cells[row, H_PHI, LEAD + i]
        at = 2 * face + 2 * (top - bottom) + 1
        if bottom <= k < top:
            record[sample, at + k - bottom] = cells[row, H_PHI, LEAD + last]
        if bottom <= k:
            record[sample, at + (top - bottom) + k - bottom] = cells[row, H_Z, LEAD + last]


@compiled(**OPTIONS)
def sweep(
    start, levels, nz, filled, record_every, state, cells, media, gains, factors, m,
    layer_rows, layer, layer_psi, radial, filters, psi,
    cut_rows, cut_faces, excess, couple_rows, couple_columns, couplings, source_plane, source_shape, waveform,
    port, port_weights, port_record, contour, record, box, wave, sums,
):  # fmt: skip
    """Take all rows from step `start` to step start + levels, recording on the way."""
    blocks, width, mapped = radial[1], cells.shape[2], box[1] > box[0]
    for front in range(nz + levels):
        for level in range(levels):
            k = front - level
            step = start + level
            due = (step + 1) % record_every == 0
            sample = (step + 1) // record_every - 1
            if 0 <= k < nz:
                advance_e(
                    k, blocks, nz, filled, state, width, media, gains, m, layer_rows, layer, layer_psi,
                    radial, filters, psi,
                )  # fmt: skip
                if k == source_plane and step < waveform.size:
                    for i in range(source_shape.shape[1]):
                        cells[k + 1, E_R, LEAD + i] -= source_shape[0, i] * waveform[step]
                        cells[k + 1, E_PHI, LEAD + i] -= source_shape[1, i] * waveform[step]
                first, last = couple_rows[k], couple_rows[k + 1]
                if last > first:
                    e_couple(k, cells, factors, m, first, last, couple_columns, couplings)
                if due:
                    record_e(k, sample, cells, port, port_weights, port_record, contour, record)
            if 0 < k <= nz:
                advance_h(
                    k - 1, blocks, nz, state, cells, width, gains, factors, m, layer_rows, layer, layer_psi,
                    radial, filters, psi, cut_rows, cut_faces, excess,
                )  # fmt: skip
                if due:
                    record_h(k - 1, sample, cells, port, port_weights, port_record, contour, record)
                    if mapped:
                        record_map(k - 1, sample, state, width, box, wave, sums)


@compiled(**REDUCTION)
def energy(n, nz, cells, inverse_cb, weights):
    """Energy of the stored fields (see `fdtd.axisymmetric.problem`), accumulated in float64 over rows.

    Args:
        inverse_cb: 1 / cb, or zero where the edge is inside the conductor, [3, nz, n].
        weights: Radial weights of the six components, [6, n].
    """
    total = 0.0
    for k in range(nz):
        for component in range(6):
            part = np.float64(0.0)
            if component < 3:
                for i in range(n):
                    value = np.float64(cells[k + 1, component, LEAD + i])
                    part += value * value * (inverse_cb[component, k, i] * weights[component, i])
            else:
                for i in range(n):
                    value = np.float64(cells[k + 1, component, LEAD + i])
                    part += value * value * weights[component, i]
            total += part
    return total
