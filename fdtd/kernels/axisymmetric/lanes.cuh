// A row of cells in the registers of one warp: lane l holds the stored columns l CELLS ... l CELLS + CELLS - 1.
//
// Settings: REAL_BYTES (4 or 8), CELLS (cells a lane, whole vectors of 16 bytes).
#if !defined(CELLS) || !defined(REAL_BYTES)
#error "CELLS and REAL_BYTES must be set"
#endif
#include "kernels/axisymmetric/parameters.cuh"
#include "kernels/intrinsics.cuh"

#if REAL_BYTES == 4
typedef float4 vector;
#define WIDTH 4
__device__ inline void unpack(const vector &from, real *to) { to[0] = from.x, to[1] = from.y, to[2] = from.z, to[3] = from.w; }
__device__ inline vector packed(const real *from) { return make_float4(from[0], from[1], from[2], from[3]); }
#else
typedef double2 vector;
#define WIDTH 2
__device__ inline void unpack(const vector &from, real *to) { to[0] = from.x, to[1] = from.y; }
__device__ inline vector packed(const real *from) { return make_double2(from[0], from[1]); }
#endif
#if CELLS % WIDTH
#error "CELLS must be a whole number of 16-byte vectors"
#endif
#define VECTORS (CELLS / WIDTH)
#define ALL_LANES 0xffffffffu

// Six components of one row.
struct Row {
    real e_r[CELLS], e[CELLS], e_z[CELLS], h_r[CELLS], h[CELLS], h_z[CELLS];
};

// One lane's vectors of a row in shared memory: [component][vector][lane], free of bank conflicts.
__device__ inline void read_component(const vector *row, int component, int lane, real *to) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) unpack(row[(component * VECTORS + v) * 32 + lane], to + v * WIDTH);
}
__device__ inline void write_component(vector *row, int component, int lane, const real *from) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) row[(component * VECTORS + v) * 32 + lane] = packed(from + v * WIDTH);
}
#define ROW_VECTORS (6 * VECTORS * 32)

__device__ inline void read_shared(const vector *from, int lane, Row &row) {
    read_component(from, 3, lane, row.h_r), read_component(from, 4, lane, row.h), read_component(from, 5, lane, row.h_z);
    read_component(from, 0, lane, row.e_r), read_component(from, 1, lane, row.e), read_component(from, 2, lane, row.e_z);
}
__device__ inline void write_shared(vector *to, int lane, const Row &row) {
    write_component(to, 0, lane, row.e_r), write_component(to, 1, lane, row.e), write_component(to, 2, lane, row.e_z);
    write_component(to, 3, lane, row.h_r), write_component(to, 4, lane, row.h), write_component(to, 5, lane, row.h_z);
}
__device__ inline void clear(Row &row) {
#pragma unroll
    for (int j = 0; j < CELLS; ++j) row.e_r[j] = row.e[j] = row.e_z[j] = row.h_r[j] = row.h[j] = row.h_z[j] = 0;
}

// One lane's cells of a row in device memory.
__device__ inline void read_cells(const real *row, int lane, real *to) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) unpack(reinterpret_cast<const vector *>(row + lane * CELLS)[v], to + v * WIDTH);
}
__device__ inline void write_cells(real *row, int lane, const real *from) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) reinterpret_cast<vector *>(row + lane * CELLS)[v] = packed(from + v * WIDTH);
}
__device__ inline void write_global(real *to, int lane, const Row &row) {
    const int n = ROW_PITCH;
    write_cells(to, lane, row.e_r), write_cells(to + n, lane, row.e), write_cells(to + 2 * n, lane, row.e_z);
    write_cells(to + 3 * n, lane, row.h_r), write_cells(to + 4 * n, lane, row.h), write_cells(to + 5 * n, lane, row.h_z);
}
__device__ inline void read_global(const real *from, int lane, Row &row) {
    const int n = ROW_PITCH;
    read_cells(from, lane, row.e_r), read_cells(from + n, lane, row.e), read_cells(from + 2 * n, lane, row.e_z);
    read_cells(from + 3 * n, lane, row.h_r), read_cells(from + 4 * n, lane, row.h), read_cells(from + 5 * n, lane, row.h_z);
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
