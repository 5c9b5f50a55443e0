"""Row updates of the axisymmetric lattice: one row of E or of H, its absorbing layers, its cut faces.

Fields are `cells[1 + k, component, LEAD + i]`, components in the order of the constants below, a zero row before the
first and after the last, LEAD zero columns before the axis, so that neighbours need no branch. `state` is the same
memory without its shape, (rows * 6 * width,): the updates take the places where their rows begin, which the caller
computes once. All loops run over whole blocks of LANES columns, the inner one over a block: LLVM then makes no loop for
a remainder, whose set-up takes as long as a short row. Coefficients stand in such blocks, [block, which, lane], so that
one address serves all of a block; beyond the last column they are zero.
"""

from __future__ import annotations

from typing import Any

from fdtd.backends.cpu.accesses import accesses
from fdtd.backends.cpu.compiled import compiled

E_R, E_PHI, E_Z, H_R, H_PHI, H_Z = range(6)
LEAD = 16
LANES = 16
"""Columns of a block: a whole number of vectors of any processor, in either precision."""

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz"},
    "_nrt": False,
}
INLINE: dict[str, Any] = {**OPTIONS, "forceinline": True}
MERGED: dict[str, Any] = {**OPTIONS, "inline": "always"}
"""Options of a function that becomes part of its caller before LLVM sees either.

LLVM gives what it inlines alias scopes of its own, and the caller's stores would be checked against them at run time.
"""

_loads, _stores, _get_e = accesses(("e_r", "e_phi", "e_z", "p0", "p1", "p2", "p3"))
_get_er, _get_ef, _get_ez = _loads["e_r"], _loads["e_phi"], _loads["e_z"]
_set_er, _set_ef, _set_ez = _stores["e_r"], _stores["e_phi"], _stores["e_z"]
_get_p0, _get_p1, _get_p2, _get_p3 = _loads["p0"], _loads["p1"], _loads["p2"], _loads["p3"]
_set_p0, _set_p1, _set_p2, _set_p3 = _stores["p0"], _stores["p1"], _stores["p2"], _stores["p3"]

_loads_h, _stores_h, _get_h = accesses(("h_r", "h_phi", "h_z", "q0", "q1", "q2", "q3"))
_get_hr, _get_hf, _get_hz = _loads_h["h_r"], _loads_h["h_phi"], _loads_h["h_z"]
_set_hr, _set_hf, _set_hz = _stores_h["h_r"], _stores_h["h_phi"], _stores_h["h_z"]
_get_q0, _get_q1, _get_q2, _get_q3 = _loads_h["q0"], _loads_h["q1"], _loads_h["q2"], _loads_h["q3"]
_set_q0, _set_q1, _set_q2, _set_q3 = _stores_h["q0"], _stores_h["q1"], _stores_h["q2"], _stores_h["q3"]

_loads_s, _stores_s, _get_s = accesses(("s0", "s1", "t0", "t1"))
_set_s0, _set_s1 = _stores_s["s0"], _stores_s["s1"]
_get_t0, _get_t1, _set_t0, _set_t1 = _loads_s["t0"], _loads_s["t1"], _stores_s["t0"], _stores_s["t1"]

_loads_m, _stores_m, _get_m = accesses(("re", "im"))
_get_re, _get_im, _set_re, _set_im = _loads_m["re"], _loads_m["im"], _stores_m["re"], _stores_m["im"]


@compiled(**MERGED)
def e_curl(state, at, up, down, width, j, m):
    """Curls of H that drive e_r, e and e_z in column j of a row of the state; rows as for `e_row`."""
    h_z = _get_e(state, at + H_Z * width + j)
    h_phi = _get_e(state, at + H_PHI * width + j)
    h_r = _get_e(state, at + H_R * width + j)
    curl_r = m * h_z - (_get_e(state, up + H_PHI * width + j) - _get_e(state, down + H_PHI * width + j))
    inner = _get_e(state, at + H_Z * width + j - 1)
    curl_f = (_get_e(state, up + H_R * width + j) - _get_e(state, down + H_R * width + j)) - (h_z - inner)
    curl_z = (h_phi - _get_e(state, at + H_PHI * width + j - 1)) - m * h_r
    return curl_r, curl_f, curl_z


@compiled(**MERGED)
def h_curl(state, at, up, down, width, j, m):
    """Curls of E that drive h_r, h and h_z; arguments as for `e_curl`."""
    e_z = _get_h(state, at + E_Z * width + j)
    e_phi = _get_h(state, at + E_PHI * width + j)
    e_r = _get_h(state, at + E_R * width + j)
    curl_r = (_get_h(state, up + E_PHI * width + j) - _get_h(state, down + E_PHI * width + j)) + m * e_z
    axial = _get_h(state, up + E_R * width + j) - _get_h(state, down + E_R * width + j)
    curl_f = (_get_h(state, at + E_Z * width + j + 1) - e_z) - axial
    curl_z = (_get_h(state, at + E_PHI * width + j + 1) - e_phi) + m * e_r
    return curl_r, curl_f, curl_z


@compiled(**INLINE)
def e_row(filled, first, state, width, at, up, down, media, here, gains, m):
    """Advance a row of E by one step, but for what `e_radial` advances.

    d/dz of H is the row at `up` less that at `down`: the neighbours, or a stretched difference less the zero row.

    Args:
        filled: Blocks, from the axis, that are not all air.
        first: Where the blocks end that are advanced here; `e_radial` has the others.
        state: Fields, without their shape.
        width: Columns of the state.
        at: Where the row begins in the state, component 0.
        up: The same of the row above the axial difference.
        down: Of the row below it.
        media: ca (0-2) and cb (3-5) of e_r, e, e_z, [rows, blocks, 6, LANES], without its shape.
        here: Where the row begins in `media`.
        gains: Radial factors, [blocks, 6, LANES], without its shape.
        m: Azimuthal order, in the state's precision.
    """
    for v in range(filled):
        for lane in range(LANES):
            j, c, g = LEAD + LANES * v + lane, here + 6 * LANES * v + lane, 6 * LANES * v + lane
            curl_r, curl_f, curl_z = e_curl(state, at, up, down, width, j, m)
            e_r = _get_e(media, c) * _get_er(state, at + E_R * width + j)
            e_f = _get_e(media, c + LANES) * _get_ef(state, at + E_PHI * width + j)
            e_z = _get_e(media, c + 2 * LANES) * _get_ez(state, at + E_Z * width + j)
            e_r = e_r + _get_e(media, c + 3 * LANES) * (_get_e(gains, g) * curl_r)
            e_f = e_f + _get_e(media, c + 4 * LANES) * (_get_e(gains, g + LANES) * curl_f)
            e_z = e_z + _get_e(media, c + 5 * LANES) * (_get_e(gains, g + 2 * LANES) * curl_z)
            _set_er(state, at + E_R * width + j, e_r)
            _set_ef(state, at + E_PHI * width + j, e_f)
            _set_ez(state, at + E_Z * width + j, e_z)
    for v in range(filled, first):
        for lane in range(LANES):
            j, g = LEAD + LANES * v + lane, 6 * LANES * v + lane
            curl_r, curl_f, curl_z = e_curl(state, at, up, down, width, j, m)
            e_r = _get_er(state, at + E_R * width + j) + _get_e(gains, g) * curl_r
            e_f = _get_ef(state, at + E_PHI * width + j) + _get_e(gains, g + LANES) * curl_f
            e_z = _get_ez(state, at + E_Z * width + j) + _get_e(gains, g + 2 * LANES) * curl_z
            _set_er(state, at + E_R * width + j, e_r)
            _set_ef(state, at + E_PHI * width + j, e_f)
            _set_ez(state, at + E_Z * width + j, e_z)


@compiled(**INLINE)
def h_row(first, state, width, at, up, down, gains, m):
    """Advance the blocks before `first` of a row of H by one step; arguments as for `e_row`."""
    for v in range(first):
        for lane in range(LANES):
            j, g = LEAD + LANES * v + lane, 6 * LANES * v + lane
            curl_r, curl_f, curl_z = h_curl(state, at, up, down, width, j, m)
            h_r = _get_hr(state, at + H_R * width + j) + _get_h(gains, g + 3 * LANES) * curl_r
            h_f = _get_hf(state, at + H_PHI * width + j) + _get_h(gains, g + 4 * LANES) * curl_f
            h_z = _get_hz(state, at + H_Z * width + j) - _get_h(gains, g + 5 * LANES) * curl_z
            _set_hr(state, at + H_R * width + j, h_r)
            _set_hf(state, at + H_PHI * width + j, h_f)
            _set_hz(state, at + H_Z * width + j, h_z)


@compiled(**INLINE)
def e_radial(first, blocks, state, width, at, up, down, gains, filters, psi, memory, m):
    """Advance the blocks of a row of E that hold the radial layer, all of them air, by one step.

    Args:
        first, blocks: The first of these blocks, and their end.
        filters: b and c of e_r (0, 1), e (2, 3), e_z (4, 5 and 6, 7), [layer's blocks, 16, LANES], without its shape; c
            carries the factor S. Zero in front of the layer.
        psi: State of the filters, [rows, layer's blocks, 8, LANES], without its shape: 0-3 for E, 4-7 for H.
        memory: Where the row begins in `psi`.
    """
    for v in range(first, blocks):
        for lane in range(LANES):
            j, g = LEAD + LANES * v + lane, 6 * LANES * v + lane
            f, p = 16 * LANES * (v - first) + lane, memory + 8 * LANES * (v - first) + lane
            curl_r, curl_f, curl_z = e_curl(state, at, up, down, width, j, m)
            e_r = _get_er(state, at + E_R * width + j) + _get_e(gains, g) * curl_r
            e_f = _get_ef(state, at + E_PHI * width + j) + _get_e(gains, g + LANES) * curl_f
            e_z = _get_ez(state, at + E_Z * width + j) + _get_e(gains, g + 2 * LANES) * curl_z
            p0 = _get_e(filters, f) * _get_p0(psi, p) + _get_e(filters, f + LANES) * curl_r
            p1 = _get_e(filters, f + 2 * LANES) * _get_p1(psi, p + LANES) + _get_e(filters, f + 3 * LANES) * curl_f
            p2 = _get_e(filters, f + 4 * LANES) * _get_p2(psi, p + 2 * LANES) + _get_e(filters, f + 5 * LANES) * curl_z
            p3 = _get_e(filters, f + 6 * LANES) * _get_p3(psi, p + 3 * LANES) + _get_e(filters, f + 7 * LANES) * curl_z
            _set_p0(psi, p, p0)
            _set_p1(psi, p + LANES, p1)
            _set_p2(psi, p + 2 * LANES, p2)
            _set_p3(psi, p + 3 * LANES, p3)
            _set_er(state, at + E_R * width + j, e_r + p0)
            _set_ef(state, at + E_PHI * width + j, e_f + p1)
            _set_ez(state, at + E_Z * width + j, e_z + (p2 + p3))


@compiled(**INLINE)
def e_radial_filled(first, blocks, state, width, at, up, down, media, layer, filters, psi, memory, m):
    """Add the radial layer's convolutions to a row of E that is not all air there and that `e_row` has advanced.

    Arguments as for `e_radial`; the layer's blocks of this row begin at `layer` in `media`.
    """
    for v in range(first, blocks):
        for lane in range(LANES):
            j, c = LEAD + LANES * v + lane, 6 * LANES * (v - first) + lane
            curl_r, curl_f, curl_z = e_curl(state, at, up, down, width, j, m)
            f, p = 16 * LANES * (v - first) + lane, memory + 8 * LANES * (v - first) + lane
            p0 = _get_e(filters, f) * _get_p0(psi, p) + _get_e(filters, f + LANES) * curl_r
            p1 = _get_e(filters, f + 2 * LANES) * _get_p1(psi, p + LANES) + _get_e(filters, f + 3 * LANES) * curl_f
            p2 = _get_e(filters, f + 4 * LANES) * _get_p2(psi, p + 2 * LANES) + _get_e(filters, f + 5 * LANES) * curl_z
            p3 = _get_e(filters, f + 6 * LANES) * _get_p3(psi, p + 3 * LANES) + _get_e(filters, f + 7 * LANES) * curl_z
            _set_p0(psi, p, p0)
            _set_p1(psi, p + LANES, p1)
            _set_p2(psi, p + 2 * LANES, p2)
            _set_p3(psi, p + 3 * LANES, p3)
            e_r = _get_er(state, at + E_R * width + j) + _get_e(media, layer + c + 3 * LANES) * p0
            e_f = _get_ef(state, at + E_PHI * width + j) + _get_e(media, layer + c + 4 * LANES) * p1
            e_z = _get_ez(state, at + E_Z * width + j) + _get_e(media, layer + c + 5 * LANES) * (p2 + p3)
            _set_er(state, at + E_R * width + j, e_r)
            _set_ef(state, at + E_PHI * width + j, e_f)
            _set_ez(state, at + E_Z * width + j, e_z)


@compiled(**INLINE)
def h_radial(first, blocks, state, width, at, up, down, gains, filters, psi, memory, m):
    """Advance the blocks of a row of H that hold the radial layer; filters 8-9 serve h_r, 10-11 h, 12-15 h_z."""
    for v in range(first, blocks):
        for lane in range(LANES):
            j, g = LEAD + LANES * v + lane, 6 * LANES * v + lane
            f, p = 16 * LANES * (v - first) + lane, memory + 8 * LANES * (v - first) + lane
            curl_r, curl_f, curl_z = h_curl(state, at, up, down, width, j, m)
            h_r = _get_hr(state, at + H_R * width + j) + _get_h(gains, g + 3 * LANES) * curl_r
            h_f = _get_hf(state, at + H_PHI * width + j) + _get_h(gains, g + 4 * LANES) * curl_f
            h_z = _get_hz(state, at + H_Z * width + j) - _get_h(gains, g + 5 * LANES) * curl_z
            q0 = _get_h(filters, f + 8 * LANES) * _get_q0(psi, p + 4 * LANES) + _get_h(filters, f + 9 * LANES) * curl_r
            q1 = (
                _get_h(filters, f + 10 * LANES) * _get_q1(psi, p + 5 * LANES) + _get_h(filters, f + 11 * LANES) * curl_f
            )
            q2 = (
                _get_h(filters, f + 12 * LANES) * _get_q2(psi, p + 6 * LANES) + _get_h(filters, f + 13 * LANES) * curl_z
            )
            q3 = (
                _get_h(filters, f + 14 * LANES) * _get_q3(psi, p + 7 * LANES) + _get_h(filters, f + 15 * LANES) * curl_z
            )
            _set_q0(psi, p + 4 * LANES, q0)
            _set_q1(psi, p + 5 * LANES, q1)
            _set_q2(psi, p + 6 * LANES, q2)
            _set_q3(psi, p + 7 * LANES, q3)
            _set_hr(state, at + H_R * width + j, h_r + q0)
            _set_hf(state, at + H_PHI * width + j, h_f + q1)
            _set_hz(state, at + H_Z * width + j, h_z - (q2 + q3))


@compiled(**INLINE)
def stretch(component, upper, lower, to, columns, blocks, state, width, psi, memory, b, c, keep):
    """Stretched axial differences of a component and the next between two rows of the state, into the row at `to`.

    keep d + psi with psi <- b psi + c d in the first `columns` columns, d itself in the others.

    Args:
        upper, lower, to: Where the rows begin in the state.
        psi: Memory of the layers, [rows, 2, 2, columns], without its shape: of H differences, of E differences.
        memory: Where the two memories of this difference begin in `psi`.
    """
    held = (columns + LANES - 1) // LANES
    first, second, size = component * width, (component + 1) * width, blocks * LANES
    for v in range(held):
        for lane in range(LANES):
            i = LANES * v + lane
            j = LEAD + i
            d0 = _get_s(state, upper + first + j) - _get_s(state, lower + first + j)
            d1 = _get_s(state, upper + second + j) - _get_s(state, lower + second + j)
            t0 = b * _get_t0(psi, memory + i) + c * d0
            t1 = b * _get_t1(psi, memory + size + i) + c * d1
            _set_t0(psi, memory + i, t0)
            _set_t1(psi, memory + size + i, t1)
            _set_s0(state, to + first + j, keep * d0 + t0 if i < columns else d0)
            _set_s1(state, to + second + j, keep * d1 + t1 if i < columns else d1)
    for i in range(held * LANES, size):  # one loop: LLVM would unroll a block of so little, and not vectorise it
        j = LEAD + i
        _set_s0(state, to + first + j, _get_s(state, upper + first + j) - _get_s(state, lower + first + j))
        _set_s1(state, to + second + j, _get_s(state, upper + second + j) - _get_s(state, lower + second + j))


@compiled(**INLINE)
def e_couple(k, cells, gains, m, first, last, column, coupling):
    """Add what the r-z entry of the inverse permittivity makes of the curls around the nodes of plane k.

    A node takes the curls on its four edges and gives each of them its share; the edges below it, in row k - 1, have
    their own update behind them.

    Args:
        k: Plane.
        cells: Fields; H of rows k and k - 1 not yet advanced.
        gains: Radial factors, [6, n].
        m: Azimuthal order.
        first: Range of this plane in the lists.
        last: End of the range.
        column: Columns of the nodes.
        coupling: A quarter of their entries.
    """
    row = k + 1
    for entry in range(first, last):
        i = column[entry]
        j = i + LEAD
        above = (cells[row, H_PHI, j] - cells[row, H_PHI, j - 1]) - m * cells[row, H_R, j]
        below = (cells[row - 1, H_PHI, j] - cells[row - 1, H_PHI, j - 1]) - m * cells[row - 1, H_R, j]
        inside = m * cells[row, H_Z, j - 1] - (cells[row, H_PHI, j - 1] - cells[row - 1, H_PHI, j - 1])
        outside = m * cells[row, H_Z, j] - (cells[row, H_PHI, j] - cells[row - 1, H_PHI, j])
        axial = coupling[entry] * (above + below)
        radial = coupling[entry] * (gains[0, i - 1] * inside + gains[0, i] * outside)
        cells[row, E_R, j - 1] += gains[0, i - 1] * axial
        cells[row, E_R, j] += gains[0, i] * axial
        cells[row - 1, E_Z, j] += radial
        cells[row, E_Z, j] += radial


@compiled(**INLINE)
def h_cut(k, cells, ku, kd, gains, m, first, last, component, column, excess):
    """Finish the faces of row k that a conductor cuts: the missing 1 / open_area - 1 of what `h_row` added.

    Args:
        first, last: Range of this row in the lists.
        component, column, excess: Which face, and 1 / open_area - 1.
    """
    row = k + 1
    for entry in range(first, last):
        i = column[entry]
        j = i + LEAD
        more = excess[entry]
        if component[entry] == 0:
            curl = (cells[ku, E_PHI, j] - cells[kd, E_PHI, j]) + m * cells[row, E_Z, j]
            cells[row, H_R, j] += more * (gains[3, i] * curl)
        elif component[entry] == 1:
            curl = (cells[row, E_Z, j + 1] - cells[row, E_Z, j]) - (cells[ku, E_R, j] - cells[kd, E_R, j])
            cells[row, H_PHI, j] += more * (gains[4, i] * curl)
        else:
            curl = (cells[row, E_PHI, j + 1] - cells[row, E_PHI, j]) + m * cells[row, E_R, j]
            cells[row, H_Z, j] -= more * (gains[5, i] * curl)


@compiled(**INLINE)
def accumulate(state, first, cosine, sine, sums, real, imaginary, count):
    """Add a part of the state, times a phase factor, to two parts of running sums; all by where they begin."""
    for i in range(count):
        value = _get_m(state, first + i)
        _set_re(sums, real + i, _get_re(sums, real + i) + cosine * value)
        _set_im(sums, imaginary + i, _get_im(sums, imaginary + i) + sine * value)
