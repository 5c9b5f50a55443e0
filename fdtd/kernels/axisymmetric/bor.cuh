// The axisymmetric update of one row in the registers of a warp (unknowns and equations: fdtd/axisymmetric/problem.py).
//
// `plain` forms are the update in air; `full` forms add what a row's word asks for: filled columns, an axial layer, the
// source, coupled nodes, cut faces. The radial layer is not here: its columns belong to radial.cuh.
//
// Settings: FIRST_LANE (that with the axis), STAGED_LANES (lanes from there on whose ca and cb the caller keeps in shared
// memory), WIDE (1: some row reaches beyond them), COUPLED (1: some nodes couple e_r and e_z), CUT_LANES (lanes whose cut
// faces are kept there; 0: none).
#if !defined(FIRST_LANE) || !defined(STAGED_LANES) || !defined(WIDE) || !defined(COUPLED) || !defined(CUT_LANES)
#error "FIRST_LANE, STAGED_LANES, WIDE, COUPLED and CUT_LANES must be set"
#endif
#include "kernels/axisymmetric/lanes.cuh"
#include "kernels/axisymmetric/axial.cuh"

// Radial factors of one lane's columns: S/r_i, S/r_(i+1/2), S r_(i+1/2); S r_i is the last less S/2. Zero left of the axis.
struct Columns {
    real node[CELLS], half[CELLS], rising[CELLS];
};

__device__ inline void read_columns(int lane, Columns &c) {
    read_cells(P.gains, lane, c.half), read_cells(P.gains + 2 * ROW_PITCH, lane, c.node);
    read_cells(P.gains + 4 * ROW_PITCH, lane, c.rising);
}

// What keeps a row's update from being plain.
#define E_FULL (ROW_REACH | ROW_AXIAL | ROW_SOURCE | ROW_PLANE | ROW_COUPLED)
#define H_FULL (ROW_AXIAL | ROW_CUT)

// Stretches two differences of one row along z and advances their memories, in the columns that the layer covers. All is
// asked for before anything is used. `t`: 1/kappa, b and c of the row.
__device__ inline void stretch_cells(
    int antenna, const real *t, int layer, int lane, int filter, real *d0, real *d1
) {
    const int columns = layer_columns(layer) - lane * CELLS;
    vector *memory = reinterpret_cast<vector *>(layer_memory(antenna, layer, filter) + lane * CELLS);
    vector *second = memory + ROW_PITCH / WIDTH;
    real p0[CELLS], p1[CELLS];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
        if (v * WIDTH < columns) unpack(memory[v], p0 + v * WIDTH), unpack(second[v], p1 + v * WIDTH);
    const real keep = t[0], b = t[1], c = t[2];
#pragma unroll
    for (int j = 0; j < CELLS; ++j)
        if (j < columns) {
            p0[j] = b * p0[j] + rounded(c, d0[j]), d0[j] = keep * d0[j] + p0[j];
            p1[j] = b * p1[j] + rounded(c, d1[j]), d1[j] = keep * d1[j] + p1[j];
        }
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
        if (v * WIDTH < columns) memory[v] = packed(p0 + v * WIDTH), second[v] = packed(p1 + v * WIDTH);
}

// One lane's cells of a row of coefficients, `plain` beyond the row's reach.
__device__ inline void read_reached(const real *row, int lane, int reach, real plain, real *to) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) to[v * WIDTH + w] = plain;
        if (lane * CELLS + v * WIDTH < reach) unpack(reinterpret_cast<const vector *>(row + lane * CELLS)[v], to + v * WIDTH);
    }
}

// Where a row's ca and cb are: in shared memory, this lane's first vector of the first plane, if the row's reach ends
// with the lanes that are staged there; else in device memory.
struct Medium {
    const vector *staged;
    const real *row;
    int reach;
};

// e <- ca e + (cb gain) curl, with ca = cb = 1 in air.
__device__ inline void drive_e(
    real *e, const real *curl, const real *gain, real less, int component, int lane, const Medium &m
) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        real a[WIDTH], b[WIDTH];
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) a[w] = b[w] = 1;
        if (WIDE && RARELY(m.reach > (FIRST_LANE + STAGED_LANES) * CELLS)) {
            if (lane * CELLS + v * WIDTH < m.reach) {
                unpack(reinterpret_cast<const vector *>(m.row + component * ROW_PITCH)[v], a);
                unpack(reinterpret_cast<const vector *>(m.row + (3 + component) * ROW_PITCH)[v], b);
            }
        } else if (lane >= FIRST_LANE && lane * CELLS + v * WIDTH < m.reach) {
            unpack(m.staged[(component * VECTORS + v) * STAGED_LANES], a);
            unpack(m.staged[((3 + component) * VECTORS + v) * STAGED_LANES], b);
        }
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
            const int j = v * WIDTH + w;
            e[j] = rounded(a[w], e[j]) + (b[w] * (gain[j] - less)) * curl[j];
        }
    }
}

// What the r-z entries at the nodes of plane k make of the curls around them, for e_r, e_z of the row and e_z below.
__device__ inline void couple_nodes(Row &row, Row &below, const Columns &c, int lane, int reach, int antenna, int k) {
    const real m = P.order;
    const real h_outside = from_left(row.h, lane), below_outside = from_left(below.h, lane);
    real x[CELLS], axial[CELLS], radial[CELLS];
    read_reached(node_coupling(antenna, k), lane, reach, 0, x);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const real left = j ? row.h[j - 1] : h_outside, left_below = j ? below.h[j - 1] : below_outside;
        const real here = (row.h[j] - left) - m * row.h_r[j], under = (below.h[j] - left_below) - m * below.h_r[j];
        axial[j] = x[j] * (here + under);
        radial[j] = c.half[j] * (m * row.h_z[j] - (row.h[j] - below.h[j]));
    }
    const real inside = from_left(radial, lane), beyond = from_right(axial, lane, real(0));
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        row.e_r[j] += c.half[j] * (axial[j] + (j + 1 < CELLS ? axial[j + 1] : beyond));
        const real share = x[j] * ((j ? radial[j - 1] : inside) + radial[j]);
        row.e_z[j] += share, below.e_z[j] += share;
    }
}

__device__ inline void drive_source(Row &row, int lane, int step) {
    if (step >= P.source_steps) return;
    const real amplitude = P.waveform[step];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        const int at = lane * CELLS + v * WIDTH;
        if (at < P.lead + P.source_columns) {
#pragma unroll
            for (int w = 0; w < WIDTH; ++w) {
                row.e_r[v * WIDTH + w] -= P.source[at + w] * amplitude;
                row.e[v * WIDTH + w] -= P.source[ROW_PITCH + at + w] * amplitude;
            }
        }
    }
}

// E of row k in air from its own H and that of the row below.
__device__ inline void advance_e_plain(Row &row, const Row &below, const Columns &c, int lane) {
    if (MOVE_ONLY) return;
    const real m = P.order, hz_outside = from_left(row.h_z, lane), h_outside = from_left(row.h, lane);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const real hz_left = j ? row.h_z[j - 1] : hz_outside, h_left = j ? row.h[j - 1] : h_outside;
        row.e_r[j] += c.half[j] * (m * row.h_z[j] - (row.h[j] - below.h[j]));
        row.e[j] += (c.rising[j] - P.half_courant) * ((row.h_r[j] - below.h_r[j]) - (row.h_z[j] - hz_left));
        row.e_z[j] += c.node[j] * ((row.h[j] - h_left) - m * row.h_r[j]);
    }
}

// The same with everything that the row's word asks for; below.e_z changes where nodes of plane k are coupled.
__device__ inline void advance_e_full(
    Row &row, Row &below, const Columns &c, int lane, int word, int layer, int antenna, int k, int step,
    const vector *staged, const real *axial
) {
    const real m = P.order, hz_outside = from_left(row.h_z, lane), h_outside = from_left(row.h, lane);
    const Medium medium_of_row{staged, medium(antenna, k, 0) + lane * CELLS, word & ROW_REACH};
    real curl_r[CELLS], curl[CELLS];
#pragma unroll
    for (int j = 0; j < CELLS; ++j) curl_r[j] = row.h[j] - below.h[j], curl[j] = row.h_r[j] - below.h_r[j];
    if (word & ROW_AXIAL) stretch_cells(antenna, axial, layer, lane, 0, curl, curl_r);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        curl_r[j] = m * row.h_z[j] - curl_r[j];
        curl[j] -= row.h_z[j] - (j ? row.h_z[j - 1] : hz_outside);
    }
    if (medium_of_row.reach) {
        drive_e(row.e_r, curl_r, c.half, 0, 0, lane, medium_of_row);
        drive_e(row.e, curl, c.rising, P.half_courant, 1, lane, medium_of_row);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) curl[j] = (row.h[j] - (j ? row.h[j - 1] : h_outside)) - m * row.h_r[j];
        drive_e(row.e_z, curl, c.node, 0, 2, lane, medium_of_row);
    } else {
#pragma unroll
        for (int j = 0; j < CELLS; ++j) {
            row.e_r[j] += c.half[j] * curl_r[j], row.e[j] += (c.rising[j] - P.half_courant) * curl[j];
            row.e_z[j] += c.node[j] * ((row.h[j] - (j ? row.h[j - 1] : h_outside)) - m * row.h_r[j]);
        }
    }
    if (RARELY(word & (ROW_SOURCE | ROW_PLANE | ROW_COUPLED))) {
        if (word & ROW_SOURCE) drive_source(row, lane, step);
        if (COUPLED && word & ROW_COUPLED) couple_nodes(row, below, c, lane, word & ROW_REACH, antenna, k);
        if (word & ROW_PLANE) {
#pragma unroll
            for (int j = 0; j < CELLS; ++j) row.e_r[j] = row.e[j] = 0;
        }
    }
}

// h <- h + (gain / open area) curl, or less that; faces are staged if no row's cut faces reach beyond the lanes that are.
__device__ inline void drive_h(
    real *h, const real *curl, const real *gain, real sign, int component, int lane, int reach, const real *faces,
    const vector *staged
) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        real f[WIDTH];
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) f[w] = 1;
#if CUT_LANES
        if (lane >= FIRST_LANE && lane < FIRST_LANE + CUT_LANES && lane * CELLS < reach) unpack(staged[(component * VECTORS + v) * CUT_LANES], f);
#else
        if (lane * CELLS + v * WIDTH < reach)
            unpack(reinterpret_cast<const vector *>(faces + component * ROW_PITCH + lane * CELLS)[v], f);
#endif
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) h[v * WIDTH + w] += (sign * gain[v * WIDTH + w] * f[w]) * curl[v * WIDTH + w];
    }
}

// H of row k from its own E and that of the row above; `edge_ez`, `edge_e`: the column after the warp's last.
__device__ inline void advance_h_plain(
    Row &row, const Row &above, const Columns &c, int lane, real edge_ez, real edge_e
) {
    if (MOVE_ONLY) return;
    const real m = P.order, ez_outside = from_right(row.e_z, lane, edge_ez), e_outside = from_right(row.e, lane, edge_e);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const real ez_right = j + 1 < CELLS ? row.e_z[j + 1] : ez_outside;
        const real e_right = j + 1 < CELLS ? row.e[j + 1] : e_outside;
        row.h_r[j] += c.node[j] * ((above.e[j] - row.e[j]) + m * row.e_z[j]);
        row.h[j] += c.rising[j] * ((ez_right - row.e_z[j]) - (above.e_r[j] - row.e_r[j]));
        row.h_z[j] -= c.half[j] * ((e_right - row.e[j]) + m * row.e_r[j]);
    }
}

// The same inside an axial layer or with faces that a conductor cuts.
__device__ inline void advance_h_full(
    Row &row, const Row &above, const Columns &c, int lane, real edge_ez, real edge_e, int word, int layer, int antenna,
    int k, const vector *staged, const real *axial
) {
    const real m = P.order, ez_outside = from_right(row.e_z, lane, edge_ez), e_outside = from_right(row.e, lane, edge_e);
    const real *faces = open_face(antenna, k, 0);
    real curl_r[CELLS], curl[CELLS];
#pragma unroll
    for (int j = 0; j < CELLS; ++j) curl_r[j] = above.e[j] - row.e[j], curl[j] = above.e_r[j] - row.e_r[j];
    if (word & ROW_AXIAL) stretch_cells(antenna, axial + 3, layer, lane, 2, curl, curl_r);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        curl_r[j] += m * row.e_z[j];
        curl[j] = ((j + 1 < CELLS ? row.e_z[j + 1] : ez_outside) - row.e_z[j]) - curl[j];
    }
    const int cut = word & ROW_CUT ? word & ROW_REACH : 0;
    drive_h(row.h_r, curl_r, c.node, 1, 0, lane, cut, faces, staged);
    drive_h(row.h, curl, c.rising, 1, 1, lane, cut, faces, staged);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) curl[j] = ((j + 1 < CELLS ? row.e[j + 1] : e_outside) - row.e[j]) + m * row.e_r[j];
    drive_h(row.h_z, curl, c.half, -1, 2, lane, cut, faces, staged);
}
