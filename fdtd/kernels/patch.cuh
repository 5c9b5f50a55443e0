// A patch of ROWS x CELLS cells in the registers of each lane: a warp holds ROWS rows of WIDE = 32 CELLS columns.
// Unknowns and equations: fdtd/problem.py. The radial layer is not here: its columns belong to strip.cuh.
//
// Settings: REAL_BYTES (4 or 8), CELLS, ROWS.
#if !defined(CELLS) || !defined(ROWS) || !defined(REAL_BYTES)
#error "CELLS, ROWS and REAL_BYTES must be set"
#endif
#include "parameters.cuh"
#include "machine.cuh"
#include "axial.cuh"
#include "signals.cuh"

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

// Memory of the axial filters, wherever the scheme keeps it: [place of the row][4][pitch].
struct AxialMemory {
    real *start;
    int first, pitch;  // place of the first row that is held
    __device__ real *at(int k, int filter, int column) const {
        return start + ((P.axial_rows[P.nz + k] - first) * 4 + filter) * pitch + column;
    }
};

// Where a warp's patch lies, and the radial factors of its lanes' columns.
struct Ground {
    int antenna, lane, first;  // lowest row
    int column;                // the lane's first column, as stored
    bool plain;                // air, and nothing else, in all rows
    int word[ROWS];
    AxialMemory axial;
    real half[CELLS], node[CELLS], rising[CELLS];  // S/r_(i+1/2), S/r_i, S r_(i+1/2); S r_i is the last less S/2
};

// For a patch that starts in row `first`; lane r brings the word of row r. The plane k = nz and all beyond conduct.
__device__ inline void place(Ground &g, int antenna, int lane, int first, int column, int words) {
    g.antenna = antenna, g.lane = lane, g.first = first, g.column = column;
    int all = 0;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        g.word[r] = __shfl_sync(WHOLE_WARP, words, r);
        all |= (g.word[r] & ROW_REACH) > column - lane * CELLS ? g.word[r] : g.word[r] & ~ROW_REACH;
    }
    g.plain = agreed(!(all & (ROW_REACH | ROW_AXIAL | ROW_SOURCE | ROW_PLANE | ROW_CUT)));
}

__device__ inline void read_factors(Ground &g) {
    load_lane(P.gains + g.column, g.half), load_lane(P.gains + 2 * P.pitch + g.column, g.node);
    load_lane(P.gains + 4 * P.pitch + g.column, g.rising);
}

__device__ inline real lane_before(const real *cells, int lane) {
    const real value = __shfl_up_sync(WHOLE_WARP, cells[CELLS - 1], 1);
    return lane == 0 ? real(0) : value;
}
__device__ inline real lane_after(const real *cells, int lane, real edge) {
    const real value = __shfl_down_sync(WHOLE_WARP, cells[0], 1);
    return lane == 31 ? edge : value;
}

// Stretches a row's differences along z in the columns that the layer covers.
__device__ inline void stretch_lane(const Ground &g, int k, int filter, int table, int local, real *d) {
    const int columns = P.axial_rows[k];
    real *psi = g.axial.at(k, filter, local);
#pragma unroll
    for (int j = 0; j < CELLS; ++j)
        if (g.column + j < columns) d[j] = stretched(psi + j, d[j], table, k);
}

// e <- ca e + cb drive, with ca = cb = 1 in air.
__device__ inline void fill_lane(const Ground &g, int k, int component, int reach, real *e, const real *drive) {
    const real *media = medium(g.antenna, k, component) + g.column;
#pragma unroll
    for (int v = 0; v < CELLS / PIECE; ++v) {
        real a[PIECE], b[PIECE];
#pragma unroll
        for (int w = 0; w < PIECE; ++w) a[w] = b[w] = 1;
        if (g.column + v * PIECE < reach) {
            spread(reinterpret_cast<const piece *>(media)[v], a);
            spread(reinterpret_cast<const piece *>(media + 3 * P.pitch)[v], b);
        }
#pragma unroll
        for (int w = 0; w < PIECE; ++w) e[v * PIECE + w] = a[w] * e[v * PIECE + w] + b[w] * drive[v * PIECE + w];
    }
}

// E of row r of the patch; `local`: the lane's first column in the axial memory.
template <bool PLAIN>
__device__ inline void row_e(
    Patch &f, int r, const real *hr_below, const real *h_below, const Ground &g, int local, int step
) {
    const real m = P.order, hz_before = lane_before(f.h_z[r], g.lane), h_before = lane_before(f.h[r], g.lane);
    real up_h[CELLS], up_hr[CELLS];
#pragma unroll
    for (int j = 0; j < CELLS; ++j) up_h[j] = f.h[r][j] - h_below[j], up_hr[j] = f.h_r[r][j] - hr_below[j];
    const int k = g.first + r, word = g.word[r], reach = word & ROW_REACH;
    if (!PLAIN && word & ROW_AXIAL) stretch_lane(g, k, 1, 0, local, up_h), stretch_lane(g, k, 0, 0, local, up_hr);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        up_h[j] = m * f.h_z[r][j] - up_h[j];
        up_hr[j] -= f.h_z[r][j] - (j ? f.h_z[r][j - 1] : hz_before);
    }
    if (PLAIN || reach <= g.column - g.lane * CELLS) {
#pragma unroll
        for (int j = 0; j < CELLS; ++j) {
            f.e_r[r][j] += g.half[j] * up_h[j];
            f.e[r][j] += (g.rising[j] - P.half_courant) * up_hr[j];
            f.e_z[r][j] += g.node[j] * ((f.h[r][j] - (j ? f.h[r][j - 1] : h_before)) - m * f.h_r[r][j]);
        }
    } else {
        real drive[CELLS];
#pragma unroll
        for (int j = 0; j < CELLS; ++j) drive[j] = g.half[j] * up_h[j];
        fill_lane(g, k, 0, reach, f.e_r[r], drive);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) drive[j] = (g.rising[j] - P.half_courant) * up_hr[j];
        fill_lane(g, k, 1, reach, f.e[r], drive);
#pragma unroll
        for (int j = 0; j < CELLS; ++j)
            drive[j] = g.node[j] * ((f.h[r][j] - (j ? f.h[r][j - 1] : h_before)) - m * f.h_r[r][j]);
        fill_lane(g, k, 2, reach, f.e_z[r], drive);
    }
    if (!PLAIN && word & (ROW_SOURCE | ROW_PLANE)) {
        if (word & ROW_SOURCE && step < P.source_steps) {
            const real amplitude = P.waveform[step];
#pragma unroll
            for (int j = 0; j < CELLS; ++j)
                if (g.column + j < P.lead + P.source_columns) {
                    f.e_r[r][j] -= P.source[g.column + j] * amplitude;
                    f.e[r][j] -= P.source[P.pitch + g.column + j] * amplitude;
                }
        }
        if (word & ROW_PLANE) {
#pragma unroll
            for (int j = 0; j < CELLS; ++j) f.e_r[r][j] = f.e[r][j] = 0;
        }
    }
}

__device__ inline void open_lane(const Ground &g, int k, int component, real *curl) {
    real share[CELLS];
    load_lane(open_face(g.antenna, k, component) + g.column, share);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) curl[j] *= share[j];
}

// H of row r; `edge_ez`, `edge_e`: the column after the warp's last.
template <bool PLAIN>
__device__ inline void row_h(
    Patch &f, int r, const real *er_above, const real *e_above, real edge_ez, real edge_e, const Ground &g, int local
) {
    const real m = P.order, ez_after = lane_after(f.e_z[r], g.lane, edge_ez), e_after = lane_after(f.e[r], g.lane, edge_e);
    real up_e[CELLS], up_er[CELLS], along[CELLS];
#pragma unroll
    for (int j = 0; j < CELLS; ++j) up_e[j] = e_above[j] - f.e[r][j], up_er[j] = er_above[j] - f.e_r[r][j];
    const int k = g.first + r, word = g.word[r];
    if (!PLAIN && word & ROW_AXIAL) stretch_lane(g, k, 3, 3, local, up_e), stretch_lane(g, k, 2, 3, local, up_er);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        up_e[j] += m * f.e_z[r][j];
        up_er[j] = ((j + 1 < CELLS ? f.e_z[r][j + 1] : ez_after) - f.e_z[r][j]) - up_er[j];
        along[j] = ((j + 1 < CELLS ? f.e[r][j + 1] : e_after) - f.e[r][j]) + m * f.e_r[r][j];
    }
    if (!PLAIN && word & ROW_CUT) open_lane(g, k, 0, up_e), open_lane(g, k, 1, up_er), open_lane(g, k, 2, along);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        f.h_r[r][j] += g.node[j] * up_e[j];
        f.h[r][j] += g.rising[j] * up_er[j];
        f.h_z[r][j] -= g.half[j] * along[j];
    }
}
