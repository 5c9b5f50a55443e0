"""The order in which cells are visited: several time levels follow each other up the rows, one row apart.

Level t is at row k - t while level 0 is at row k. A row of E needs H of its own row and of the one below from the
level before, and both are finished by then; so the whole state makes one trip through the cache for `levels` steps
(time skewing along z). One level is the plain sweep. Every cell sees the same operations in the same order whatever
the number of levels: the bits do not change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    FieldSums,
    accumulate,
    differenced_rows,
    e_couple,
    e_radial,
    e_row,
    h_cut,
    h_radial,
    h_row,
)
from fdtd.backends.cpu.compiled import compiled

REDUCTION: dict[str, Any] = {**OPTIONS, "fastmath": {"contract", "nsz", "reassoc"}}


class Source(NamedTuple):
    """The current sheet: its row, -1 for none; what it takes off e_r and e per unit, [2, columns]; its waveform."""

    plane: int
    shape: np.ndarray
    waveform: np.ndarray


class Port(NamedTuple):
    """The port.

    Attributes:
        place: Row, -1 for none, and columns.
        weights: v_r, v_phi, c_r, c_phi, [4, columns].
        record: Voltage and current, [samples, 2].
    """

    place: np.ndarray
    weights: np.ndarray
    record: np.ndarray


class Contour(NamedTuple):
    """The Huygens contour: its column, -1 for none, bottom and top; its samples, [samples, size]."""

    corner: np.ndarray
    record: np.ndarray


class Recording(NamedTuple):
    """Recording after the steps n with (n + 1) a multiple of `every`."""

    every: int
    port: Port
    contour: Contour
    field_map: FieldSums


@compiled(**INLINE)
def advance_e(k, lattice, fields, medium, layers):
    """Advance E in row k by one step, absorbing layers included."""
    upper, lower = differenced_rows(k, 0, lattice, fields, layers)
    e_row(k, upper, lower, lattice, fields, medium)
    if layers.radial[1] > 0:
        e_radial(k, upper, lower, lattice, fields, medium, layers)


@compiled(**INLINE)
def advance_h(k, lattice, fields, medium, layers):
    """Advance H in row k by one step, absorbing layers and cut faces included."""
    upper, lower = differenced_rows(k, 1, lattice, fields, layers)
    h_row(k, upper, lower, lattice, fields)
    if layers.radial[1] > 0:
        h_radial(k, upper, lower, lattice, fields, layers)
    h_cut(k, upper, lower, lattice, fields, medium)


@compiled(**INLINE)
def drive(k, step, state, source):
    """Subtract the source's current of this step from row k of E, where it stands there."""
    if k == source.plane and step < source.waveform.size:
        for i in range(source.shape.shape[1]):
            state[E_R, k + 1, LEAD + i] -= source.shape[0, i] * source.waveform[step]
            state[E_PHI, k + 1, LEAD + i] -= source.shape[1, i] * source.waveform[step]


@compiled(**OPTIONS)
def record_e(k, sample, state, port, contour):
    """Store what is sampled in row k of E."""
    row, weights = k + 1, port.weights
    if k == port.place[0]:
        total = 0.0
        for i in range(port.place[1]):
            total += weights[0, i] * state[E_R, row, LEAD + i] + weights[1, i] * state[E_PHI, row, LEAD + i]
        port.record[sample, 0] = total
    last, bottom, top = contour.corner[0], contour.corner[1], contour.corner[2]
    record = contour.record
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
def record_map(k, sample, state, field_map):
    """Add row k of E, once all of it is there, to the field map."""
    if field_map.box[0] <= k < field_map.box[1]:
        for frequency in range(field_map.wave.shape[1]):
            for component in range(3):
                accumulate(k, sample, frequency, component, state, field_map)


@compiled(**OPTIONS)
def record_h(k, sample, state, port, contour):
    """Store what is sampled in row k of H."""
    row, weights = k + 1, port.weights
    if k == port.place[0]:
        total = 0.0
        for i in range(port.place[1]):
            total += weights[2, i] * state[H_R, row, LEAD + i] + weights[3, i] * state[H_PHI, row, LEAD + i]
        port.record[sample, 1] = total
    last, bottom, top = contour.corner[0], contour.corner[1], contour.corner[2]
    record = contour.record
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
def sweep(start, levels, lattice, fields, medium, layers, source, recording):
    """Take all rows from step `start` to step start + levels, recording on the way."""
    state = fields.state
    for front in range(lattice.nz + levels):
        for level in range(levels):
            k = front - level
            step = start + level
            due = (step + 1) % recording.every == 0
            sample = (step + 1) // recording.every - 1
            if 0 <= k < lattice.nz:
                advance_e(k, lattice, fields, medium, layers)
                drive(k, step, state, source)
                e_couple(k, lattice, fields, medium)
                if due:
                    record_e(k, sample, state, recording.port, recording.contour)
            if 0 < k <= lattice.nz:
                advance_h(k - 1, lattice, fields, medium, layers)
                if due:
                    record_h(k - 1, sample, state, recording.port, recording.contour)
                    record_map(k - 1, sample, state, recording.field_map)


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
