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
    LEAD,
    OPTIONS,
    accumulate,
    e_couple,
    e_radial,
    e_row,
    h_cut,
    h_radial,
    h_row,
    stretch,
)
from fdtd.backends.cpu.compiled import compiled

REDUCTION: dict[str, Any] = {**OPTIONS, "fastmath": {"contract", "nsz", "reassoc"}}


@compiled(**INLINE)
def advance_e(k, n, nz, air, state, before, media, gains, m, layer_rows, layer, layer_psi, radial, filters, psi):
    """One step of E in row k, absorbing layers included; row nz + 2 of the state is scratch."""
    upper, lower = k + 1, k
    if layer_rows[0, k] > 0:
        keep, b, c = layer[0, k], layer[1, k], layer[2, k]
        stretch(k + 1, k, nz + 2, H_R, n, layer_rows[0, k], state, layer_psi, 0, layer_rows[1, k], b, c, keep)
        upper, lower = nz + 2, 0
    e_row(k, n, air[k], state, before, upper, lower, media, gains, m)
    if radial[1] > 0:
        e_radial(k, radial[0], radial[1], state, before, upper, lower, media, filters, psi, m)


@compiled(**INLINE)
def advance_h(
    k, n, nz, state, after, gains, m, layer_rows, layer, layer_psi, radial, filters, psi, cut_rows, cut_faces, excess
):
    """One step of H in row k, absorbing layers and cut faces included."""
    upper, lower = k + 2, k + 1
    if layer_rows[0, k] > 0:
        keep, b, c = layer[3, k], layer[4, k], layer[5, k]
        stretch(k + 2, k + 1, nz + 2, E_R, n, layer_rows[0, k], state, layer_psi, 2, layer_rows[1, k], b, c, keep)
        upper, lower = nz + 2, 0
    h_row(k, n, state, after, upper, lower, gains, m)
    if radial[1] > 0:
        h_radial(k, radial[0], radial[1], state, after, upper, lower, filters, psi, m)
    first, last = cut_rows[k], cut_rows[k + 1]
    if last > first:
        h_cut(k, state, upper, lower, gains, m, first, last, cut_faces[0], cut_faces[1], excess)


@compiled(**OPTIONS)
def record_e(k, sample, state, port, port_weights, port_record, contour, record):
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
            total += port_weights[0, i] * state[E_R, row, LEAD + i] + port_weights[1, i] * state[E_PHI, row, LEAD + i]
        port_record[sample, 0] = total
    last, bottom, top = contour[0], contour[1], contour[2]
    if last >= 0 and bottom <= k <= top:
        face = 4 * last + 2
        if k in (top, bottom):
            at = 0 if k == top else face
            for i in range(last):
                record[sample, at + i] = state[E_R, row, LEAD + i]
            for i in range(last + 1):
                record[sample, at + last + i] = state[E_PHI, row, LEAD + i]
        record[sample, 2 * face + k - bottom] = state[E_PHI, row, LEAD + last]
        if k < top:
            record[sample, 2 * face + (top - bottom + 1) + k - bottom] = state[E_Z, row, LEAD + last]


@compiled(**OPTIONS)
def record_map(k, sample, state, box, wave, sums):
    """Add row k of E, once all of it is there, to the field map.

    Args:
        k: Row.
        sample: Which sample this is.
        state: Fields.
        box: Rows and columns of the field map, (4,); empty where there is none.
        wave: cos and -sin of w t, (2, F, samples).
        sums: (F times re/im times component, rows, columns).
    """
    row = k + 1
    if box[0] <= k < box[1]:
        for f in range(wave.shape[1]):
            for component in range(3):
                accumulate(
                    state, component, row, LEAD + box[2], wave[0, f, sample], wave[1, f, sample],
                    sums, 6 * f + component, 6 * f + 3 + component, k - box[0], box[3] - box[2],
                )  # fmt: skip


@compiled(**OPTIONS)
def record_h(k, sample, state, port, port_weights, port_record, contour, record):
    """Store what is sampled in row k of H; arguments as for `record_e`."""
    row = k + 1
    if k == port[0]:
        total = 0.0
        for i in range(port[1]):
            total += port_weights[2, i] * state[H_R, row, LEAD + i] + port_weights[3, i] * state[H_PHI, row, LEAD + i]
        port_record[sample, 1] = total
    last, bottom, top = contour[0], contour[1], contour[2]
    if last >= 0 and bottom - 1 <= k <= top:
        face = 4 * last + 2
        if k == top or k == bottom - 1:
            at = (0 if k == top else face) + 2 * last + 1
            for i in range(last + 1):
                record[sample, at + i] = state[H_R, row, LEAD + i]
            for i in range(last):
                record[sample, at + last + 1 + i] = state[H_PHI, row, LEAD + i]
        at = 2 * face + 2 * (top - bottom) + 1
        if bottom <= k < top:
            record[sample, at + k - bottom] = state[H_PHI, row, LEAD + last]
        if bottom <= k:
            record[sample, at + (top - bottom) + k - bottom] = state[H_Z, row, LEAD + last]


@compiled(**OPTIONS)
def sweep(
    start, levels, n, nz, air, record_every, state, before, after, media, gains, m,
    layer_rows, layer, layer_psi, radial, filters, psi,
    cut_rows, cut_faces, excess, couple_rows, couple_columns, couplings, source_plane, source_shape, waveform,
    port, port_weights, port_record, contour, record, box, wave, sums,
):  # fmt: skip
    """Take all rows from step `start` to step start + levels, recording on the way."""
    for front in range(nz + levels):
        for level in range(levels):
            k = front - level
            step = start + level
            due = (step + 1) % record_every == 0
            sample = (step + 1) // record_every - 1
            if 0 <= k < nz:
                advance_e(
                    k, n, nz, air, state, before, media, gains, m, layer_rows, layer, layer_psi, radial, filters, psi
                )
                if k == source_plane and step < waveform.size:
                    for i in range(source_shape.shape[1]):
                        state[E_R, k + 1, LEAD + i] -= source_shape[0, i] * waveform[step]
                        state[E_PHI, k + 1, LEAD + i] -= source_shape[1, i] * waveform[step]
                first, last = couple_rows[k], couple_rows[k + 1]
                if last > first:
                    e_couple(k, state, gains, m, first, last, couple_columns, couplings)
                if due:
                    record_e(k, sample, state, port, port_weights, port_record, contour, record)
            if 0 < k <= nz:
                advance_h(
                    k - 1, n, nz, state, after, gains, m, layer_rows, layer, layer_psi, radial, filters, psi,
                    cut_rows, cut_faces, excess,
                )  # fmt: skip
                if due:
                    record_h(k - 1, sample, state, port, port_weights, port_record, contour, record)
                    record_map(k - 1, sample, state, box, wave, sums)


@compiled(**REDUCTION)
def energy(n, nz, state, inverse_cb, weights):
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
                    value = np.float64(state[component, k + 1, LEAD + i])
                    part += value * value * (inverse_cb[component, k, i] * weights[component, i])
            else:
                for i in range(n):
                    value = np.float64(state[component, k + 1, LEAD + i])
                    part += value * value * weights[component, i]
            total += part
    return total
