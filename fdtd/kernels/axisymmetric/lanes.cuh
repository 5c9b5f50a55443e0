// A row of cells in the registers of one warp: lane l holds the stored columns l CELLS ... l CELLS + CELLS - 1.
//
// Settings: REAL, REAL_BYTES (4 or 8), CELLS (cells a lane). Defines vector, WIDTH, VECTORS: a lane's cells of one row
// go to and from memory in vectors of up to 16 bytes. Provides rows in registers and their neighbours (`Lane`, accessor
// LaneCell), their way to and from memory, the curls of a lane's cells.
#if !defined(CELLS) || !defined(REAL_BYTES)
#error "CELLS and REAL_BYTES must be set"
#endif
#include "kernels/axisymmetric/parameters.cuh"
#include "kernels/intrinsics.cuh"
#include "kernels/axisymmetric/curl.cuh"

#if REAL_BYTES == 4 && CELLS % 4 == 0
typedef float4 vector;
#define WIDTH 4
__device__ inline void unpack(const vector &from, real *to) { to[0] = from.x, to[1] = from.y, to[2] = from.z, to[3] = from.w; }
__device__ inline vector packed(const real *from) { return make_float4(from[0], from[1], from[2], from[3]); }
#elif REAL_BYTES == 4 && CELLS % 2 == 0
typedef float2 vector;
#define WIDTH 2
__device__ inline void unpack(const vector &from, real *to) { to[0] = from.x, to[1] = from.y; }
__device__ inline vector packed(const real *from) { return make_float2(from[0], from[1]); }
#elif REAL_BYTES == 8 && CELLS % 2 == 0
typedef double2 vector;
#define WIDTH 2
__device__ inline void unpack(const vector &from, real *to) { to[0] = from.x, to[1] = from.y; }
__device__ inline vector packed(const real *from) { return make_double2(from[0], from[1]); }
#else
typedef real vector;
#define WIDTH 1
__device__ inline void unpack(const vector &from, real *to) { to[0] = from; }
__device__ inline vector packed(const real *from) { return from[0]; }
#endif
#define VECTORS (CELLS / WIDTH)
#define ALL_LANES 0xffffffffu

// A lane's cells of one row, [component][cell].
struct Row {
    real at[6][CELLS];
};

__device__ inline void clear(real *cells) {
#pragma unroll
    for (int j = 0; j < CELLS; ++j) cells[j] = 0;
}
__device__ inline void clear(Row &row) {
#pragma unroll
    for (int c = 0; c < 6; ++c) clear(row.at[c]);
}

// A lane's cells of one component, from and to their start in memory.
__device__ inline void load_lane(const real *from, real *to) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) unpack(reinterpret_cast<const vector *>(from)[v], to + v * WIDTH);
}
__device__ inline void store_lane(real *to, const real *from) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) reinterpret_cast<vector *>(to)[v] = packed(from + v * WIDTH);
}
// All six components, unrolled by hand: a loop makes other addresses, and `resident` then spills more registers.
__device__ inline void load_row(const real *from, Row &row) {
    const int n = ROW_PITCH;
    load_lane(from, row.at[0]), load_lane(from + n, row.at[1]), load_lane(from + 2 * n, row.at[2]);
    load_lane(from + 3 * n, row.at[3]), load_lane(from + 4 * n, row.at[4]), load_lane(from + 5 * n, row.at[5]);
}
__device__ inline void store_row(real *to, const Row &row) {
    const int n = ROW_PITCH;
    store_lane(to, row.at[0]), store_lane(to + n, row.at[1]), store_lane(to + 2 * n, row.at[2]);
    store_lane(to + 3 * n, row.at[3]), store_lane(to + 4 * n, row.at[4]), store_lane(to + 5 * n, row.at[5]);
}
// Coefficients of a lane's cells, which no kernel writes; `plain` beyond the row's reach.
__device__ inline void load_reached(const real *row, int column, int reach, real plain, real *to) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) to[v * WIDTH + w] = plain;
        if (column + v * WIDTH < reach) unpack(__ldg(reinterpret_cast<const vector *>(row + column) + v), to + v * WIDTH);
    }
}

// A lane's vectors of a row in shared memory: [component][vector][lane], free of bank conflicts.
#define ROW_VECTORS (6 * VECTORS * 32)
__device__ inline void read_component(const vector *row, int component, int lane, real *to) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) unpack(row[(component * VECTORS + v) * 32 + lane], to + v * WIDTH);
}
__device__ inline void write_component(vector *row, int component, int lane, const real *from) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) row[(component * VECTORS + v) * 32 + lane] = packed(from + v * WIDTH);
}
__device__ inline void read_shared(const vector *from, int lane, Row &row) {  // what is used first comes first
#pragma unroll
    for (int n = 0; n < 6; ++n) read_component(from, (n + 3) % 6, lane, row.at[(n + 3) % 6]);
}
__device__ inline void write_shared(vector *to, int lane, const Row &row) {
#pragma unroll
    for (int c = 0; c < 6; ++c) write_component(to, c, lane, row.at[c]);
}

// The neighbour lane's nearest cell; zero beyond the axis, `edge` beyond the last lane.
__device__ inline real from_left(const real *cells, int lane) {
    const real value = __shfl_up_sync(ALL_LANES, cells[CELLS - 1], 1);
    return lane == 0 ? real(0) : value;
}
__device__ inline real from_right(const real *cells, int lane, real edge) {
    const real value = __shfl_down_sync(ALL_LANES, cells[0], 1);
    return lane == 31 ? edge : value;
}

// Accessor of curl.cuh: cell j of a lane.
struct LaneCell {
    const Row &row;
    const real *next_r, *next_phi;  // h_r, h of the row below, or e_r, e of the row above
    real beside_z, beside_phi;      // h_z, h of the column before, or e_z, e of the column after
    int j;
    __device__ real field(Component c, int dk = 0, int di = 0) const {
        if (dk) return c == H_R || c == E_R ? next_r[j] : next_phi[j];
        if (j + di < 0 || j + di >= CELLS) return c == H_Z || c == E_Z ? beside_z : beside_phi;
        return row.at[c][j + di];
    }
};
struct Lane {
    const Row &row;
    const real *next_r, *next_phi;
    real beside_z, beside_phi;
    __device__ LaneCell at(int j) const { return {row, next_r, next_phi, beside_z, beside_phi, j}; }
};

// Differences along z of a lane's cells, in place for the curls r and phi that they are part of; the stretching by
// axial layers comes between.
__device__ inline void rises_of_h(const Lane &x, real *for_r, real *for_phi) {
#pragma unroll
    for (int j = 0; j < CELLS; ++j) for_r[j] = rise_of_h(x.at(j), H_PHI), for_phi[j] = rise_of_h(x.at(j), H_R);
}
__device__ inline void rises_of_e(const Lane &x, real *for_r, real *for_phi) {
#pragma unroll
    for (int j = 0; j < CELLS; ++j) for_r[j] = rise_of_e(x.at(j), E_PHI), for_phi[j] = rise_of_e(x.at(j), E_R);
}
__device__ inline void curls_of_h(const Lane &x, real *r, real *phi) {
#pragma unroll
    for (int j = 0; j < CELLS; ++j) r[j] = curl_h_r(x.at(j), r[j]), phi[j] = curl_h_phi(x.at(j), phi[j]);
}
__device__ inline void curls_of_e(const Lane &x, real *r, real *phi) {
#pragma unroll
    for (int j = 0; j < CELLS; ++j) r[j] = curl_e_r(x.at(j), r[j]), phi[j] = curl_e_phi(x.at(j), phi[j]);
}
