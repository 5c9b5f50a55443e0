"""Row updates of the axisymmetric lattice: one row of E or of H, its absorbing layers, its cut faces.

`e_curl` and `h_curl` hold the stencil; every update calls them.

Fields are `state[component, 1 + k, LEAD + i]`, components in the order of the constants below, a zero row before the
first and after the last, LEAD zero columns before the axis, so that neighbours need no branch. `before` and `after`
are the same memory one column to the left and to the right: as arrays of their own they spare the vectoriser a
carried dependence. All loops run over whole vectors; coefficients beyond the last column are zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fdtd.backends.cpu.compiled import compiled
from fdtd.backends.cpu.lanes import family

E_R, E_PHI, E_Z, H_R, H_PHI, H_Z = range(6)
LEAD = 16

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}, "_nrt": False}
INLINE: dict[str, Any] = {**OPTIONS, "forceinline": True}

_loads, _stores, _get_e = family(("e_r", "e_phi", "e_z", "p0", "p1", "p2", "p3"))
_get_er, _get_ef, _get_ez = _loads["e_r"], _loads["e_phi"], _loads["e_z"]
_set_er, _set_ef, _set_ez = _stores["e_r"], _stores["e_phi"], _stores["e_z"]
_get_p0, _get_p1, _get_p2, _get_p3 = _loads["p0"], _loads["p1"], _loads["p2"], _loads["p3"]
_set_p0, _set_p1, _set_p2, _set_p3 = _stores["p0"], _stores["p1"], _stores["p2"], _stores["p3"]

_loads_h, _stores_h, _get_h = family(("h_r", "h_phi", "h_z", "q0", "q1", "q2", "q3"))
_get_hr, _get_hf, _get_hz = _loads_h["h_r"], _loads_h["h_phi"], _loads_h["h_z"]
_set_hr, _set_hf, _set_hz = _stores_h["h_r"], _stores_h["h_phi"], _stores_h["h_z"]
_get_q0, _get_q1, _get_q2, _get_q3 = _loads_h["q0"], _loads_h["q1"], _loads_h["q2"], _loads_h["q3"]
_set_q0, _set_q1, _set_q2, _set_q3 = _stores_h["q0"], _stores_h["q1"], _stores_h["q2"], _stores_h["q3"]

_loads_s, _stores_s, _get_s = family(("s0", "s1", "t0", "t1"))
_set_s0, _set_s1 = _stores_s["s0"], _stores_s["s1"]
_get_t0, _get_t1, _set_t0, _set_t1 = _loads_s["t0"], _loads_s["t1"], _stores_s["t0"], _stores_s["t1"]

_loads_m, _stores_m, _get_m = family(("re", "im"))
_get_re, _get_im, _set_re, _set_im = _loads_m["re"], _loads_m["im"], _stores_m["re"], _stores_m["im"]


class Lattice(NamedTuple):
    """The lattice that all antennas share.

    Attributes:
        n: Columns, a whole number of vectors.
        nz: Rows.
        m: Azimuthal order, in the state's precision.
        gains: Radial factors, [6, 1, n].
    """

    n: int
    nz: int
    m: Any
    gains: np.ndarray


class Fields(NamedTuple):
    """The state, and the same memory one column to the left and to the right, each [6, nz + 3, columns]."""

    state: np.ndarray
    before: np.ndarray
    after: np.ndarray


class Medium(NamedTuple):
    """Media and conductors of one antenna; lists are in the order of the rows.

    Attributes:
        coefficients: ca (0-2) and cb (3-5) of e_r, e, e_z, [6, nz, n].
        air: First column from which each row holds nothing but air, a whole number of vectors, [nz].
        cut_rows: Start of each row in the lists of cut faces, [nz + 1].
        cut_faces: Component and column of each cut face, [2, faces].
        excess: 1 / open_area - 1 of each cut face.
        couple_rows: Start of each row in the lists of coupled nodes, [nz + 1].
        couple_columns: Columns of the coupled nodes.
        couplings: A quarter of their entries of the inverse permittivity.
    """

    coefficients: np.ndarray
    air: np.ndarray
    cut_rows: np.ndarray
    cut_faces: np.ndarray
    excess: np.ndarray
    couple_rows: np.ndarray
    couple_columns: np.ndarray
    couplings: np.ndarray


class Layers(NamedTuple):
    """Absorbing layers.

    Attributes:
        axial_rows: Stretched columns of each row, and the row of `axial_psi` that is its memory, [2, nz].
        axial: 1 / kappa, b, c of H differences (0-2) and of E differences (3-5), [6, nz].
        axial_psi: Memory of H differences (0, 1) and of E differences (2, 3), [4, rows, n].
        radial: First column and number of columns of the radial layer.
        filters: b and c of e_r (0, 1), e (2, 3), e_z (4, 5 and 6, 7), h_r (8, 9), h (10, 11), h_z (12, 13 and 14, 15),
            [16, 1, columns]; c carries the factor S.
        psi: Memory of the filters, [8, nz, columns]: 0-3 for E, 4-7 for H.
    """

    axial_rows: np.ndarray
    axial: np.ndarray
    axial_psi: np.ndarray
    radial: np.ndarray
    filters: np.ndarray
    psi: np.ndarray


class FieldSums(NamedTuple):
    """Running sums of the field map.

    Attributes:
        box: Rows and columns, (4,); empty where there is no map.
        wave: cos and -sin of w t, (2, F, samples).
        sums: (F times re/im times component, rows, columns).
    """

    box: np.ndarray
    wave: np.ndarray
    sums: np.ndarray


@compiled(**INLINE)
def e_curl(fields, row, j, upper, lower, m):
    """Curls of H that drive e_r, e and e_z in one row and column of the state.

    d/dz of H is row `upper` of the state less row `lower`: the neighbours, or a stretched difference less the zero row.
    """
    state, before = fields.state, fields.before
    h_z = _get_e(state, H_Z, row, j)
    curl_r = m * h_z - (_get_e(state, H_PHI, upper, j) - _get_e(state, H_PHI, lower, j))
    curl_f = (_get_e(state, H_R, upper, j) - _get_e(state, H_R, lower, j)) - (h_z - _get_e(before, H_Z, row, j))
    curl_z = (_get_e(state, H_PHI, row, j) - _get_e(before, H_PHI, row, j)) - m * _get_e(state, H_R, row, j)
    return curl_r, curl_f, curl_z


@compiled(**INLINE)
def h_curl(fields, row, j, upper, lower, m):
    """Curls of E that drive h_r, h and h_z; arguments as for `e_curl`."""
    state, after = fields.state, fields.after
    e_z = _get_h(state, E_Z, row, j)
    curl_r = (_get_h(state, E_PHI, upper, j) - _get_h(state, E_PHI, lower, j)) + m * e_z
    curl_f = (_get_h(after, E_Z, row, j) - e_z) - (_get_h(state, E_R, upper, j) - _get_h(state, E_R, lower, j))
    curl_z = (_get_h(after, E_PHI, row, j) - _get_h(state, E_PHI, row, j)) + m * _get_h(state, E_R, row, j)
    return curl_r, curl_f, curl_z


@compiled(**INLINE)
def e_row(k, upper, lower, lattice, fields, medium):
    """Advance row k of E by one step; `upper` and `lower` as for `e_curl`."""
    row, m, state, media, gains = k + 1, lattice.m, fields.state, medium.coefficients, lattice.gains
    air = medium.air[k]
    for i in range(air):
        j = i + LEAD
        curl_r, curl_f, curl_z = e_curl(fields, row, j, upper, lower, m)
        e_r = _get_e(media, 0, k, i) * _get_er(state, E_R, row, j)
        e_f = _get_e(media, 1, k, i) * _get_ef(state, E_PHI, row, j)
        e_z = _get_e(media, 2, k, i) * _get_ez(state, E_Z, row, j)
        _set_er(state, E_R, row, j, e_r + _get_e(media, 3, k, i) * (_get_e(gains, 0, 0, i) * curl_r))
        _set_ef(state, E_PHI, row, j, e_f + _get_e(media, 4, k, i) * (_get_e(gains, 1, 0, i) * curl_f))
        _set_ez(state, E_Z, row, j, e_z + _get_e(media, 5, k, i) * (_get_e(gains, 2, 0, i) * curl_z))
    for i in range(air, lattice.n):
        j = i + LEAD
        curl_r, curl_f, curl_z = e_curl(fields, row, j, upper, lower, m)
        _set_er(state, E_R, row, j, _get_er(state, E_R, row, j) + _get_e(gains, 0, 0, i) * curl_r)
        _set_ef(state, E_PHI, row, j, _get_ef(state, E_PHI, row, j) + _get_e(gains, 1, 0, i) * curl_f)
        _set_ez(state, E_Z, row, j, _get_ez(state, E_Z, row, j) + _get_e(gains, 2, 0, i) * curl_z)


@compiled(**INLINE)
def h_row(k, upper, lower, lattice, fields):
    """Advance row k of H by one step; arguments as for `e_row`."""
    row, m, state, gains = k + 1, lattice.m, fields.state, lattice.gains
    for i in range(lattice.n):
        j = i + LEAD
        curl_r, curl_f, curl_z = h_curl(fields, row, j, upper, lower, m)
        _set_hr(state, H_R, row, j, _get_hr(state, H_R, row, j) + _get_h(gains, 3, 0, i) * curl_r)
        _set_hf(state, H_PHI, row, j, _get_hf(state, H_PHI, row, j) + _get_h(gains, 4, 0, i) * curl_f)
        _set_hz(state, H_Z, row, j, _get_hz(state, H_Z, row, j) - _get_h(gains, 5, 0, i) * curl_z)


@compiled(**INLINE)
def e_radial(k, upper, lower, lattice, fields, medium, layers):
    """Add the radial layer's convolutions to row k of E."""
    row, m, state, media = k + 1, lattice.m, fields.state, medium.coefficients
    filters, psi, first = layers.filters, layers.psi, layers.radial[0]
    for i in range(layers.radial[1]):
        a = first + i
        j = a + LEAD
        curl_r, curl_f, curl_z = e_curl(fields, row, j, upper, lower, m)
        p0 = _get_e(filters, 0, 0, i) * _get_p0(psi, 0, k, i) + _get_e(filters, 1, 0, i) * curl_r
        p1 = _get_e(filters, 2, 0, i) * _get_p1(psi, 1, k, i) + _get_e(filters, 3, 0, i) * curl_f
        p2 = _get_e(filters, 4, 0, i) * _get_p2(psi, 2, k, i) + _get_e(filters, 5, 0, i) * curl_z
        p3 = _get_e(filters, 6, 0, i) * _get_p3(psi, 3, k, i) + _get_e(filters, 7, 0, i) * curl_z
        _set_p0(psi, 0, k, i, p0)
        _set_p1(psi, 1, k, i, p1)
        _set_p2(psi, 2, k, i, p2)
        _set_p3(psi, 3, k, i, p3)
        _set_er(state, E_R, row, j, _get_er(state, E_R, row, j) + _get_e(media, 3, k, a) * p0)
        _set_ef(state, E_PHI, row, j, _get_ef(state, E_PHI, row, j) + _get_e(media, 4, k, a) * p1)
        _set_ez(state, E_Z, row, j, _get_ez(state, E_Z, row, j) + _get_e(media, 5, k, a) * (p2 + p3))


@compiled(**INLINE)
def h_radial(k, upper, lower, lattice, fields, layers):
    """Add the radial layer's convolutions to row k of H."""
    row, m, state = k + 1, lattice.m, fields.state
    filters, psi, first = layers.filters, layers.psi, layers.radial[0]
    for i in range(layers.radial[1]):
        j = first + i + LEAD
        curl_r, curl_f, curl_z = h_curl(fields, row, j, upper, lower, m)
        q0 = _get_h(filters, 8, 0, i) * _get_q0(psi, 4, k, i) + _get_h(filters, 9, 0, i) * curl_r
        q1 = _get_h(filters, 10, 0, i) * _get_q1(psi, 5, k, i) + _get_h(filters, 11, 0, i) * curl_f
        q2 = _get_h(filters, 12, 0, i) * _get_q2(psi, 6, k, i) + _get_h(filters, 13, 0, i) * curl_z
        q3 = _get_h(filters, 14, 0, i) * _get_q3(psi, 7, k, i) + _get_h(filters, 15, 0, i) * curl_z
        _set_q0(psi, 4, k, i, q0)
        _set_q1(psi, 5, k, i, q1)
        _set_q2(psi, 6, k, i, q2)
        _set_q3(psi, 7, k, i, q3)
        _set_hr(state, H_R, row, j, _get_hr(state, H_R, row, j) + q0)
        _set_hf(state, H_PHI, row, j, _get_hf(state, H_PHI, row, j) + q1)
        _set_hz(state, H_Z, row, j, _get_hz(state, H_Z, row, j) - (q2 + q3))


@compiled(**INLINE)
def differenced_rows(k, half, lattice, fields, layers):
    """Return the two rows of the state whose difference is d/dz in row k.

    In an axial layer these are scratch row nz + 2, into which the stretched differences of both transverse components
    go, and the zero row 0. A difference d becomes keep d + psi with psi <- b psi + c d in the layer's columns, and
    stays d in the others.

    Args:
        half: 0 for the differences of H that drive E, 1 for those of E that drive H.
    """
    upper, lower = k + 1 + half, k + half
    columns = layers.axial_rows[0, k]
    if columns == 0:
        return upper, lower
    state, psi, at, to = fields.state, layers.axial_psi, layers.axial_rows[1, k], lattice.nz + 2
    c0, p = H_R - 3 * half, 2 * half
    keep, b, c = layers.axial[3 * half, k], layers.axial[3 * half + 1, k], layers.axial[3 * half + 2, k]
    for i in range(columns):
        j = i + LEAD
        d0 = _get_s(state, c0, upper, j) - _get_s(state, c0, lower, j)
        d1 = _get_s(state, c0 + 1, upper, j) - _get_s(state, c0 + 1, lower, j)
        t0 = b * _get_t0(psi, p, at, i) + c * d0
        t1 = b * _get_t1(psi, p + 1, at, i) + c * d1
        _set_t0(psi, p, at, i, t0)
        _set_t1(psi, p + 1, at, i, t1)
        _set_s0(state, c0, to, j, keep * d0 + t0)
        _set_s1(state, c0 + 1, to, j, keep * d1 + t1)
    for i in range(columns, lattice.n):
        j = i + LEAD
        _set_s0(state, c0, to, j, _get_s(state, c0, upper, j) - _get_s(state, c0, lower, j))
        _set_s1(state, c0 + 1, to, j, _get_s(state, c0 + 1, upper, j) - _get_s(state, c0 + 1, lower, j))
    return to, 0


@compiled(**INLINE)
def e_couple(k, lattice, fields, medium):
    """Add what the r-z entry of the inverse permittivity makes of the curls around the nodes of plane k.

    A node takes the curls on its four edges and gives each of them its share; the edges below it, in row k - 1, have
    their own update behind them. H of rows k and k - 1 must not have advanced yet.
    """
    row, m, state, gains = k + 1, lattice.m, fields.state, lattice.gains
    for entry in range(medium.couple_rows[k], medium.couple_rows[k + 1]):
        i = medium.couple_columns[entry]
        j = i + LEAD
        outside, _, above = e_curl(fields, row, j, row, row - 1, m)
        inside, _, _ = e_curl(fields, row, j - 1, row, row - 1, m)
        _, _, below = e_curl(fields, row - 1, j, row, row - 1, m)
        axial = medium.couplings[entry] * (above + below)
        radial = medium.couplings[entry] * (gains[0, 0, i - 1] * inside + gains[0, 0, i] * outside)
        state[E_R, row, j - 1] += gains[0, 0, i - 1] * axial
        state[E_R, row, j] += gains[0, 0, i] * axial
        state[E_Z, row - 1, j] += radial
        state[E_Z, row, j] += radial


@compiled(**INLINE)
def h_cut(k, upper, lower, lattice, fields, medium):
    """Add to the faces of row k that a conductor cuts the missing 1 / open_area - 1 of what `h_row` added."""
    row, m, state, gains = k + 1, lattice.m, fields.state, lattice.gains
    for entry in range(medium.cut_rows[k], medium.cut_rows[k + 1]):
        i = medium.cut_faces[1, entry]
        j = i + LEAD
        more = medium.excess[entry]
        curl_r, curl_f, curl_z = h_curl(fields, row, j, upper, lower, m)
        if medium.cut_faces[0, entry] == 0:
            state[H_R, row, j] += more * (gains[3, 0, i] * curl_r)
        elif medium.cut_faces[0, entry] == 1:
            state[H_PHI, row, j] += more * (gains[4, 0, i] * curl_f)
        else:
            state[H_Z, row, j] -= more * (gains[5, 0, i] * curl_z)


@compiled(**INLINE)
def accumulate(k, sample, frequency, component, state, field_map):
    """Add row k of a component, times a phase factor, to the running sums of one frequency."""
    first, at = LEAD + field_map.box[2], k - field_map.box[0]
    real = 6 * frequency + component
    imaginary = real + 3
    cosine, sine = field_map.wave[0, frequency, sample], field_map.wave[1, frequency, sample]
    sums = field_map.sums
    for i in range(field_map.box[3] - field_map.box[2]):
        value = _get_m(state, component, k + 1, first + i)
        _set_re(sums, real, at, i, _get_re(sums, real, at, i) + cosine * value)
        _set_im(sums, imaginary, at, i, _get_im(sums, imaginary, at, i) + sine * value)
