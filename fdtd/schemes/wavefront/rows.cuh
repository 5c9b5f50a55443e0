// The main rows of the wavefront: the axisymmetric update of one row in the registers of a warp.
//
// `plain` forms are the update in air; `full` forms add the needs of a row's word: filled columns, an axial layer, the
// source, coupled nodes, cut faces. The radial layer is not here: its columns belong to radial.cuh.
//
// Settings: those of lanes.cuh, CELLS in whole vectors of 16 bytes; FIRST_LANE and AXIS_CELL (the lane with the axis,
// and its cell there), STAGED_LANES (lanes from there on whose ca and cb the caller keeps in shared memory), WIDE (1:
// some row reaches beyond them), COUPLED (1: some nodes couple e_r and e_z), NUMBERED (1: ca and cb are numbers of
// pairs), FIRST_CUT_LANE, CUT_LANES (lanes from there on whose cut faces are kept there; 0: none).
#if !defined(FIRST_LANE) || !defined(STAGED_LANES) || !defined(WIDE) || !defined(COUPLED) || !defined(CUT_LANES)
#error "FIRST_LANE, STAGED_LANES, WIDE, COUPLED and CUT_LANES must be set"
#endif
#include "kernels/axisymmetric/lanes.cuh"
#if NUMBERED && (CELLS != 4 || REAL_BYTES != 4 || WIDE)
#error "NUMBERED needs four cells a lane of four bytes, and a place for all numbers"
#endif
#if CELLS * REAL_BYTES % 16
#error "CELLS must be a whole number of 16-byte vectors"
#endif

// Radial factors of one lane's columns: S/r_i, S/r_(i+1/2), S r_(i+1/2); S r_i is the last less S/2. Zero left of the
// axis. H_z has the second, less at the axis, where long time steps need it.
struct Columns {
    real node[CELLS], half[CELLS], rising[CELLS];
};

__device__ inline void read_columns(int lane, Columns &c) {
    const real *gains = P.gains + lane * CELLS;
    load_lane(gains, c.half), load_lane(gains + 2 * ROW_PITCH, c.node), load_lane(gains + 4 * ROW_PITCH, c.rising);
}

__device__ inline real gain_of_h_z(const Columns &c, int lane, int j) {
    return j == AXIS_CELL && lane == FIRST_LANE ? P.axis_gain : c.half[j];
}

// Flags of a row whose update is not plain.
#define E_FULL (ROW_REACH | ROW_AXIAL | ROW_SOURCE | ROW_PLANE | ROW_COUPLED)
#define H_FULL (ROW_AXIAL | ROW_CUT)

// Row k and the row below, for E; the row above, for H; `edge_ez`, `edge_e`: the column after the warp's last.
__device__ inline Lane lane_of_h(const Row &row, const Row &below, int lane) {
    const real hz_outside = from_left(row.at[H_Z], lane), h_outside = from_left(row.at[H_PHI], lane);
    return {row, below.at[H_R], below.at[H_PHI], hz_outside, h_outside};
}
__device__ inline Lane lane_of_e(const Row &row, const Row &above, int lane, real edge_ez, real edge_e) {
    const real ez_outside = from_right(row.at[E_Z], lane, edge_ez), e_outside = from_right(row.at[E_PHI], lane, edge_e);
    return {row, above.at[E_R], above.at[E_PHI], ez_outside, e_outside};
}

// Stretches two differences of one row along z and advances their memories, in the columns that the layer covers. All
// loads come before the first use. `t`: 1/kappa, b and c of the row.
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
            p0[j] = remembered(p0[j], b, c, d0[j]), d0[j] = stretched(keep, d0[j], p0[j]);
            p1[j] = remembered(p1[j], b, c, d1[j]), d1[j] = stretched(keep, d1[j], p1[j]);
        }
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
        if (v * WIDTH < columns) memory[v] = packed(p0 + v * WIDTH), second[v] = packed(p1 + v * WIDTH);
}

// Place of a row's ca and cb: in shared memory, this lane's first vector of the first plane, in the lanes that are
// staged there; else in device memory. NUMBERED: of this lane's numbers of the first component, and of the row's pairs.
struct Medium {
    const vector *staged;
    const real *row;
    int reach;
};

// Drives a component of E by cb times the gain, with ca = cb = 1 in air.
__device__ inline void drive_e(
    Row &row, Component component, const real *curl, const real *gain, real less, int lane, const Medium &m
) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        real a[WIDTH], b[WIDTH];
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) a[w] = b[w] = 1;
#if NUMBERED
        if (lane >= FIRST_LANE && lane * CELLS < m.reach) {
            const int2 numbers = reinterpret_cast<const int2 *>(m.staged)[component * STAGED_LANES];
#pragma unroll
            for (int w = 0; w < WIDTH; ++w) {
                const unsigned two = w < 2 ? numbers.x : numbers.y;
                const float2 pair = __ldg(reinterpret_cast<const float2 *>(m.row) + (w % 2 ? two >> 16 : two & 0xffff));
                a[w] = pair.x, b[w] = pair.y;
            }
        }
#else
        if (WIDE && RARELY(lane >= FIRST_LANE + STAGED_LANES)) {
            if (lane * CELLS + v * WIDTH < m.reach) {
                unpack(reinterpret_cast<const vector *>(m.row + component * ROW_PITCH)[v], a);
                unpack(reinterpret_cast<const vector *>(m.row + (3 + component) * ROW_PITCH)[v], b);
            }
        } else if (lane >= FIRST_LANE && lane * CELLS + v * WIDTH < m.reach) {
            unpack(m.staged[(component * VECTORS + v) * STAGED_LANES], a);
            unpack(m.staged[((3 + component) * VECTORS + v) * STAGED_LANES], b);
        }
#endif
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
            const int j = v * WIDTH + w;
            drive(row.at[component][j], a[w], b[w] * (gain[j] - less), curl[j]);
        }
    }
}

// Drives a component of H by the gain over the open area, or by its negative (`sign`); faces are staged if no row's cut
// faces reach beyond the staged lanes.
__device__ inline void drive_h(
    Row &row, Component component, const real *curl, const real *gain, real sign, int lane, int reach, const real *faces,
    const vector *staged
) {
    const int plane = component - H_R;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        real f[WIDTH];
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) f[w] = 1;
#if CUT_LANES
        if (lane >= FIRST_CUT_LANE && lane < FIRST_CUT_LANE + CUT_LANES && lane * CELLS < reach)
            unpack(staged[(plane * VECTORS + v) * CUT_LANES], f);
#else
        if (lane * CELLS + v * WIDTH < reach)
            unpack(reinterpret_cast<const vector *>(faces + plane * ROW_PITCH + lane * CELLS)[v], f);
#endif
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
            const int j = v * WIDTH + w;
            drive(row.at[component][j], sign * gain[j] * f[w], curl[j]);
        }
    }
}

// Contribution of the r-z entries at the nodes of plane k, from the curls around them, to e_r, e_z of the row and e_z
// below.
__device__ inline void couple_nodes(Row &row, Row &below, const Columns &c, int lane, int reach, int antenna, int k) {
    const real zeros[CELLS] = {};
    const Lane here{row, below.at[H_R], below.at[H_PHI], 0, from_left(row.at[H_PHI], lane)};
    const Lane under{below, zeros, zeros, 0, from_left(below.at[H_PHI], lane)};
    real x[CELLS], axial[CELLS], radial[CELLS];
    load_reached(node_coupling(antenna, k), lane * CELLS, reach, 0, x);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        axial[j] = passed_to_r(x[j], here.at(j), under.at(j));
        radial[j] = passed_to_z(c.half[j], here.at(j));
    }
    const real inside = from_left(radial, lane), beyond = from_right(axial, lane, real(0));
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        row.at[E_R][j] += c.half[j] * (axial[j] + (j + 1 < CELLS ? axial[j + 1] : beyond));
        const real share = x[j] * ((j ? radial[j - 1] : inside) + radial[j]);
        row.at[E_Z][j] += share, below.at[E_Z][j] += share;
    }
}

__device__ inline void drive_source(Row &row, int lane, int antenna, int step) {
    if (step >= P.source_steps) return;
    const real amplitude = P.waveform[step];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        const int at = lane * CELLS + v * WIDTH;
        if (at < P.lead + P.source_columns) {
#pragma unroll
            for (int w = 0; w < WIDTH; ++w) {
                impress(row.at[E_R][v * WIDTH + w], source_profile(antenna, 0)[at + w], amplitude);
                impress(row.at[E_PHI][v * WIDTH + w], source_profile(antenna, 1)[at + w], amplitude);
            }
        }
    }
}

// E of row k in air from its own H and that of the row below.
__device__ inline void advance_e_plain(Row &row, const Row &below, const Columns &c, int lane) {
    if (MOVE_ONLY) return;
    const Lane x = lane_of_h(row, below, lane);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const LaneCell here = x.at(j);
        drive(row.at[E_R][j], c.half[j], curl_h_r(here, rise_of_h(here, H_PHI)));
        drive(row.at[E_PHI][j], c.rising[j] - P.half_courant, curl_h_phi(here, rise_of_h(here, H_R)));
        drive(row.at[E_Z][j], c.node[j], curl_h_z(here));
    }
}

// The same with all needs of the row's word; e_z below changes where nodes of plane k are coupled.
__device__ inline void advance_e_full(
    Row &row, Row &below, const Columns &c, int lane, int word, int layer, int antenna, int k, int step,
    const vector *staged, int first_pair, const real *axial
) {
    const Lane x = lane_of_h(row, below, lane);
    const real *in_memory = NUMBERED ? P.pairs + 2 * first_pair : medium(antenna, k, 0) + lane * CELLS;
    const Medium medium_of_row{staged, in_memory, word & ROW_REACH};
    real curl_r[CELLS], curl[CELLS];
    rises_of_h(x, curl_r, curl);
    if (word & ROW_AXIAL) stretch_cells(antenna, axial, layer, lane, 0, curl, curl_r);
    curls_of_h(x, curl_r, curl);
    if (medium_of_row.reach) {
        drive_e(row, E_R, curl_r, c.half, 0, lane, medium_of_row);
        drive_e(row, E_PHI, curl, c.rising, P.half_courant, lane, medium_of_row);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) curl[j] = curl_h_z(x.at(j));
        drive_e(row, E_Z, curl, c.node, 0, lane, medium_of_row);
    } else {
#pragma unroll
        for (int j = 0; j < CELLS; ++j) {
            drive(row.at[E_R][j], c.half[j], curl_r[j]), drive(row.at[E_PHI][j], c.rising[j] - P.half_courant, curl[j]);
            drive(row.at[E_Z][j], c.node[j], curl_h_z(x.at(j)));
        }
    }
    if (RARELY(word & (ROW_SOURCE | ROW_PLANE | ROW_COUPLED))) {
        if (word & ROW_SOURCE) drive_source(row, lane, antenna, step);
        if (COUPLED && word & ROW_COUPLED) couple_nodes(row, below, c, lane, word & ROW_REACH, antenna, k);
        if (word & ROW_PLANE) clear(row.at[E_R]), clear(row.at[E_PHI]);
    }
}

// H of row k from its own E and that of the row above.
__device__ inline void advance_h_plain(
    Row &row, const Row &above, const Columns &c, int lane, real edge_ez, real edge_e
) {
    if (MOVE_ONLY) return;
    const Lane x = lane_of_e(row, above, lane, edge_ez, edge_e);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const LaneCell here = x.at(j);
        drive(row.at[H_R][j], c.node[j], curl_e_r(here, rise_of_e(here, E_PHI)));
        drive(row.at[H_PHI][j], c.rising[j], curl_e_phi(here, rise_of_e(here, E_R)));
        drive_back(row.at[H_Z][j], gain_of_h_z(c, lane, j), curl_e_z(here));
    }
}

// The same inside an axial layer or with faces that a conductor cuts.
__device__ inline void advance_h_full(
    Row &row, const Row &above, const Columns &c, int lane, real edge_ez, real edge_e, int word, int layer, int antenna,
    int k, const vector *staged, const real *axial
) {
    const Lane x = lane_of_e(row, above, lane, edge_ez, edge_e);
    const real *faces = open_face(antenna, k, 0);
    real curl_r[CELLS], curl[CELLS];
    rises_of_e(x, curl_r, curl);
    if (word & ROW_AXIAL) stretch_cells(antenna, axial + 3, layer, lane, 2, curl, curl_r);
    curls_of_e(x, curl_r, curl);
    const int cut = word & ROW_CUT ? word & ROW_REACH : 0;
    drive_h(row, H_R, curl_r, c.node, 1, lane, cut, faces, staged);
    drive_h(row, H_PHI, curl, c.rising, 1, lane, cut, faces, staged);
    real gain[CELLS];
#pragma unroll
    for (int j = 0; j < CELLS; ++j) curl[j] = curl_e_z(x.at(j)), gain[j] = gain_of_h_z(c, lane, j);
    drive_h(row, H_Z, curl, gain, -1, lane, cut, faces, staged);
}
