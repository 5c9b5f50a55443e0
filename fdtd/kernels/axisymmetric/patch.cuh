// A patch of ROWS x CELLS cells in the registers of each lane: a warp holds ROWS rows of WIDE = 32 CELLS columns.
// Unknowns and equations: fdtd/axisymmetric/problem.py. The radial layer is not here: its columns belong to strip.cuh.
//
// Settings: REAL_BYTES (4 or 8), CELLS, ROWS.
#if !defined(CELLS) || !defined(ROWS) || !defined(REAL_BYTES)
#error "CELLS, ROWS and REAL_BYTES must be set"
#endif
#include "kernels/axisymmetric/parameters.cuh"
#include "kernels/intrinsics.cuh"
#include "kernels/signals.cuh"

#define WIDE (32 * CELLS)
#define WHOLE_WARP 0xffffffffu

// A number that all lanes hold, in a way that tells the compiler so: branches on it do not divide the warp.
__device__ inline int agreed(int number) { return __shfl_sync(WHOLE_WARP, number, 0); }

// A lane's cells of one row go to and from memory in pieces of up to 16 bytes.
#if REAL_BYTES == 4 && CELLS % 4 == 0
typedef float4 piece;
#define PIECE 4
__device__ inline void spread(const piece &from, real *to) { to[0] = from.x, to[1] = from.y, to[2] = from.z, to[3] = from.w; }
__device__ inline piece gather(const real *from) { return make_float4(from[0], from[1], from[2], from[3]); }
#elif REAL_BYTES == 4 && CELLS % 2 == 0
typedef float2 piece;
#define PIECE 2
__device__ inline void spread(const piece &from, real *to) { to[0] = from.x, to[1] = from.y; }
__device__ inline piece gather(const real *from) { return make_float2(from[0], from[1]); }
#elif REAL_BYTES == 8 && CELLS % 2 == 0
typedef double2 piece;
#define PIECE 2
__device__ inline void spread(const piece &from, real *to) { to[0] = from.x, to[1] = from.y; }
__device__ inline piece gather(const real *from) { return make_double2(from[0], from[1]); }
#else
typedef real piece;
#define PIECE 1
__device__ inline void spread(const piece &from, real *to) { to[0] = from; }
__device__ inline piece gather(const real *from) { return from[0]; }
#endif

__device__ inline void load_lane(const real *from, real *to) {
#pragma unroll
    for (int v = 0; v < CELLS / PIECE; ++v) spread(reinterpret_cast<const piece *>(from)[v], to + v * PIECE);
}
__device__ inline void store_lane(real *to, const real *from) {
#pragma unroll
    for (int v = 0; v < CELLS / PIECE; ++v) reinterpret_cast<piece *>(to)[v] = gather(from + v * PIECE);
}

// [component][row][cell], components as in memory: e_r, e, e_z, h_r, h, h_z.
struct Patch {
    real e_r[ROWS][CELLS], e[ROWS][CELLS], e_z[ROWS][CELLS], h_r[ROWS][CELLS], h[ROWS][CELLS], h_z[ROWS][CELLS];
};

// What an axial layer needs of a row: 1/kappa, b, c and the columns that it covers (0 in rows without), for E or for H.
struct LayerRow {
    real keep, b, c, columns;
};

// A row's word and the columns of its axial layer.
struct RowNotes {
    int word, columns;
};
__device__ inline RowNotes notes_of(int antenna, int k) {
    if (k >= P.nz) return {ROW_PLANE, 0};  // the plane k = nz and all beyond conduct
    return {row_word(antenna, k), P.axial_rows[k]};
}

__device__ inline real lane_before(const real *cells, int lane) {
    const real value = __shfl_up_sync(WHOLE_WARP, cells[CELLS - 1], 1);
    return lane == 0 ? real(0) : value;
}
__device__ inline real lane_after(const real *cells, int lane, real edge) {
    const real value = __shfl_down_sync(WHOLE_WARP, cells[0], 1);
    return lane == 31 ? edge : value;
}

// A lane's cells of a row of coefficients, 1 beyond `reach`.
__device__ inline void reach_lane(const real *row, int column, int reach, real *to) {
#pragma unroll
    for (int v = 0; v < CELLS / PIECE; ++v) {
#pragma unroll
        for (int w = 0; w < PIECE; ++w) to[v * PIECE + w] = 1;
        if (column + v * PIECE < reach) spread(__ldg(reinterpret_cast<const piece *>(row) + v), to + v * PIECE);
    }
}
