// The axisymmetric update of one row in the registers of a warp (unknowns and equations: fdtd/problem.py).
//
// `plain` forms are the update in air; `full` forms add what a row's word asks for: filled columns, an axial layer, the
// source, coupled nodes, cut faces. The radial layer is not here: its columns belong to radial.cuh.
#include "lanes.cuh"
#include "axial.cuh"

// Radial factors of one lane's columns: S/r_i, S/r_(i+1/2), S r_(i+1/2); S r_i is the last less S/2. Zero left of the axis.
struct Columns {
    real node[CELLS], half[CELLS], rising[CELLS];
};

__device__ inline void read_columns(int lane, Columns &c) {
    read_cells(P.gains, lane, c.half), read_cells(P.gains + 2 * P.pitch, lane, c.node);
    read_cells(P.gains + 4 * P.pitch, lane, c.rising);
}

// What stands on E of one row before its update: factors of the old field and of the curl.
#define E_FULL (ROW_REACH | ROW_AXIAL | ROW_SOURCE | ROW_PLANE | ROW_COUPLED)
#define H_FULL (ROW_AXIAL | ROW_CUT)

// E of a row from its own H and that of the row below.
__device__ inline void advance_e_plain(Row &row, const Row &below, const Columns &c, int lane) {
    const real hz_outside = from_left(row.h_z, lane), h_outside = from_left(row.h, lane), m = P.order;
    const real half = P.courant / 2;
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const real hz_left = j ? row.h_z[j - 1] : hz_outside, h_left = j ? row.h[j - 1] : h_outside;
        row.e_r[j] += c.half[j] * (m * row.h_z[j] - (row.h[j] - below.h[j]));
        row.e[j] += (c.rising[j] - half) * ((row.h_r[j] - below.h_r[j]) - (row.h_z[j] - hz_left));
        row.e_z[j] += c.node[j] * ((row.h[j] - h_left) - m * row.h_r[j]);
    }
}

// H of a row from its own E and that of the row above; `edge_ez`, `edge_e`: the column after the warp's last.
__device__ inline void advance_h_plain(
    Row &row, const Row &above, const Columns &c, int lane, real edge_ez, real edge_e
) {
    const real ez_outside = from_right(row.e_z, lane, edge_ez), e_outside = from_right(row.e, lane, edge_e);
    const real m = P.order;
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const real ez_right = j + 1 < CELLS ? row.e_z[j + 1] : ez_outside;
        const real e_right = j + 1 < CELLS ? row.e[j + 1] : e_outside;
        row.h_r[j] += c.node[j] * ((above.e[j] - row.e[j]) + m * row.e_z[j]);
        row.h[j] += c.rising[j] * ((ez_right - row.e_z[j]) - (above.e_r[j] - row.e_r[j]));
        row.h_z[j] -= c.half[j] * ((e_right - row.e[j]) + m * row.e_r[j]);
    }
}

// Stretches two differences of one vector of columns and advances their memory; columns beyond the layer's keep theirs.
__device__ inline void stretch_vector(int antenna, int k, int at, int filter, int table, real *d0, real *d1) {
    const int columns = P.axial_rows[k];
    if (at >= columns) return;
    const real *t = P.axial + table * P.nz + k;
    const real keep = t[0], b = t[P.nz], c = t[2 * P.nz];
    real *memory = axial_memory(antenna, k, filter) + at;
    real p0[WIDTH], p1[WIDTH];
    unpack(*reinterpret_cast<vector *>(memory), p0), unpack(*reinterpret_cast<vector *>(memory + P.pitch), p1);
#pragma unroll
    for (int v = 0; v < WIDTH; ++v)
        if (at + v < columns) {
            p0[v] = b * p0[v] + c * d0[v], p1[v] = b * p1[v] + c * d1[v];
            d0[v] = keep * d0[v] + p0[v], d1[v] = keep * d1[v] + p1[v];
        }
    *reinterpret_cast<vector *>(memory) = packed(p0), *reinterpret_cast<vector *>(memory + P.pitch) = packed(p1);
}

// What the r-z entries at the nodes of plane k make of the curls around them, for e_r, e_z of the row and e_z below.
__device__ inline void couple_nodes(Row &row, Row &below, const Columns &c, int lane, int antenna, int k) {
    const real m = P.order;
    const real h_outside = from_left(row.h, lane), below_outside = from_left(below.h, lane);
    real x[CELLS], axial[CELLS], radial[CELLS];
    read_cells(node_coupling(antenna, k), lane, x);
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

// E of a row with everything that its word asks for; the row below is const but for coupled nodes.
__device__ inline void advance_e_full(
    Row &row, Row &below, const Columns &c, int lane, int word, int antenna, int k, int step
) {
    const real hz_outside = from_left(row.h_z, lane), h_outside = from_left(row.h, lane), m = P.order;
    const real half = P.courant / 2;
    const int reach = word & ROW_REACH;
    const real *media = medium(antenna, k, 0);
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        const int at = lane * CELLS + v * WIDTH;
        real dz_hr[WIDTH], dz_h[WIDTH], a[3][WIDTH], b[3][WIDTH];
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
            const int j = v * WIDTH + w;
            dz_hr[w] = row.h_r[j] - below.h_r[j], dz_h[w] = row.h[j] - below.h[j];
            a[0][w] = a[1][w] = a[2][w] = b[0][w] = b[1][w] = b[2][w] = 1;
        }
        if (word & ROW_AXIAL) stretch_vector(antenna, k, at, 0, 0, dz_hr, dz_h);
        if (at < reach)
#pragma unroll
            for (int n = 0; n < 3; ++n) {
                unpack(*reinterpret_cast<const vector *>(media + n * P.pitch + at), a[n]);
                unpack(*reinterpret_cast<const vector *>(media + (3 + n) * P.pitch + at), b[n]);
            }
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
            const int j = v * WIDTH + w;
            const real hz_left = j ? row.h_z[j - 1] : hz_outside, h_left = j ? row.h[j - 1] : h_outside;
            const real curl_r = m * row.h_z[j] - dz_h[w], curl_phi = dz_hr[w] - (row.h_z[j] - hz_left);
            const real curl_z = (row.h[j] - h_left) - m * row.h_r[j];
            row.e_r[j] = a[0][w] * row.e_r[j] + b[0][w] * (c.half[j] * curl_r);
            row.e[j] = a[1][w] * row.e[j] + b[1][w] * ((c.rising[j] - half) * curl_phi);
            row.e_z[j] = a[2][w] * row.e_z[j] + b[2][w] * (c.node[j] * curl_z);
        }
        if (word & ROW_SOURCE && step < P.source_steps && at < P.lead + P.source_columns) {
            const real amplitude = P.waveform[step];
#pragma unroll
            for (int w = 0; w < WIDTH; ++w) {
                row.e_r[v * WIDTH + w] -= P.source[at + w] * amplitude;
                row.e[v * WIDTH + w] -= P.source[P.pitch + at + w] * amplitude;
            }
        }
    }
    if (word & ROW_COUPLED) couple_nodes(row, below, c, lane, antenna, k);
    if (word & ROW_PLANE)
#pragma unroll
        for (int j = 0; j < CELLS; ++j) row.e_r[j] = row.e[j] = 0;
}

// H of a row inside an axial layer or with cut faces.
__device__ inline void advance_h_full(
    Row &row, const Row &above, const Columns &c, int lane, real edge_ez, real edge_e, int word, int antenna, int k
) {
    const real ez_outside = from_right(row.e_z, lane, edge_ez), e_outside = from_right(row.e, lane, edge_e);
    const real m = P.order;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        const int at = lane * CELLS + v * WIDTH;
        real dz_er[WIDTH], dz_e[WIDTH], f[3][WIDTH];
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
            const int j = v * WIDTH + w;
            dz_er[w] = above.e_r[j] - row.e_r[j], dz_e[w] = above.e[j] - row.e[j];
            f[0][w] = f[1][w] = f[2][w] = 1;
        }
        if (word & ROW_AXIAL) stretch_vector(antenna, k, at, 2, 3, dz_er, dz_e);
        if (word & ROW_CUT)
#pragma unroll
            for (int n = 0; n < 3; ++n) unpack(*reinterpret_cast<const vector *>(open_face(antenna, k, n) + at), f[n]);
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
            const int j = v * WIDTH + w;
            const real ez_right = j + 1 < CELLS ? row.e_z[j + 1] : ez_outside;
            const real e_right = j + 1 < CELLS ? row.e[j + 1] : e_outside;
            row.h_r[j] += (f[0][w] * c.node[j]) * (dz_e[w] + m * row.e_z[j]);
            row.h[j] += (f[1][w] * c.rising[j]) * ((ez_right - row.e_z[j]) - dz_er[w]);
            row.h_z[j] -= (f[2][w] * c.half[j]) * ((e_right - row.e[j]) + m * row.e_r[j]);
        }
    }
}
