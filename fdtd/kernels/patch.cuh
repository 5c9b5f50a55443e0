// A patch of ROWS x CELLS cells in the registers of each lane: a warp holds ROWS rows of WIDE = 32 CELLS columns.
// Unknowns and equations: fdtd/problem.py. The radial layer is not here: its columns belong to strip.cuh.
//
// Settings: REAL_BYTES (4 or 8), CELLS, ROWS; PIECE_BYTES (8 or 16: how rows are aligned in memory), FACTOR_SETS
// (positions along r that the blocks of a grid take; 1 if not set).
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

#ifndef FACTOR_SETS
#define FACTOR_SETS 1
#endif
#ifndef PIECE_BYTES
#define PIECE_BYTES 16
#endif

// A lane's cells of one row go to and from memory in pieces of up to 16 bytes.
#if REAL_BYTES == 4 && CELLS % 4 == 0 && PIECE_BYTES == 16
typedef float4 piece;
#define PIECE 4
__device__ inline void spread(const piece &from, real *to) { to[0] = from.x, to[1] = from.y, to[2] = from.z, to[3] = from.w; }
__device__ inline piece gather(const real *from) { return make_float4(from[0], from[1], from[2], from[3]); }
#elif REAL_BYTES == 4 && CELLS % 2 == 0
typedef float2 piece;
#define PIECE 2
__device__ inline void spread(const piece &from, real *to) { to[0] = from.x, to[1] = from.y; }
__device__ inline piece gather(const real *from) { return make_float2(from[0], from[1]); }
#elif REAL_BYTES == 8 && CELLS % 2 == 0 && PIECE_BYTES == 16
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

// To device memory, whole pieces at a time whatever the registers are.
__device__ inline void stream_lane(real *to, const real *from) {
#if !defined(HOST_EMULATION) && REAL_BYTES == 4 && PIECE == 2
#pragma unroll
    for (int v = 0; v < CELLS / PIECE; ++v)
        asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to + v * 2), "f"(from[v * 2]), "f"(from[v * 2 + 1]) : "memory");
#else
    store_lane(to, from);
#endif
}

// [component][row][cell], components as in memory: e_r, e, e_z, h_r, h, h_z.
struct Patch {
    real e_r[ROWS][CELLS], e[ROWS][CELLS], e_z[ROWS][CELLS], h_r[ROWS][CELLS], h[ROWS][CELLS], h_z[ROWS][CELLS];
};

// What the axial layers need of a row of the block, in shared memory: 1/kappa, b, c and the columns that they cover (0 in
// rows without), for E and for H; the memories of four filters, main columns and radial ones. march.cuh places them.
struct LayerRow {
    real keep, b, c, columns;
};
__device__ inline int layer_place(int row);  // of the block's rows that can lie in layers
__device__ inline LayerRow *layer_row(int place, int half);
__device__ inline real *layer_memory_of(int place, int filter);
__device__ inline real *strip_memory_of(int place, int filter);

// How much of the update a patch needs: air alone; air and axial layers; everything.
enum Mode { PLAIN, LAYERED, FULL };

// Wide patches leave no registers for their columns' factors, read from shared memory, [3][piece][lane], nor for media.
#define KEPT (CELLS > 2 ? 1 : CELLS)
#define EARLY (CELLS <= 2)  // narrow ones ask for a row's media before they do anything else
#define FACTOR_NUMBERS (CELLS > 2 ? 3 * WIDE : 0)
__device__ inline real *factors();

// Where a warp's patch lies, and the radial factors of its lanes' columns.
struct Ground {
    int antenna, lane, first, layer;  // lowest row; its place among the rows that can lie in layers
    int position;                     // along r, of the factors in shared memory
    int column;                       // the lane's first column, as stored
    int mode;
    int word[ROWS];
    real half[KEPT], node[KEPT], rising[KEPT];  // S/r_(i+1/2), S/r_i, S r_(i+1/2); S r_i is the last less S/2
};

// A row's word and the columns of its axial layer.
struct RowNotes {
    int word, columns;
};
__device__ inline RowNotes notes_of(int antenna, int k) {
    if (k >= P.nz) return {ROW_PLANE, 0};  // the plane k = nz and all beyond conduct
    return {row_word(antenna, k), P.axial_rows[k]};
}
// The word less what lies outside the columns from `column` on.
__device__ inline int word_beyond(const RowNotes &notes, int column) {
    int word = notes.word;
    if ((word & ROW_REACH) <= column) word &= ~(ROW_REACH | ROW_CUT);
    if (notes.columns <= column) word &= ~ROW_AXIAL;
    return column < P.lead + P.source_columns ? word : word & ~ROW_SOURCE;
}

// For a patch that starts in row `first`; lane r brings the word of row r.
__device__ inline void place(Ground &g, int antenna, int lane, int first, int row, int column, int words) {
    g.antenna = antenna, g.lane = lane, g.first = first, g.layer = layer_place(row), g.column = column, g.position = 0;
    int all = 0;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) g.word[r] = __shfl_sync(WHOLE_WARP, words, r), all |= g.word[r];
    g.mode = agreed(all & (ROW_REACH | ROW_SOURCE) ? FULL : all & ROW_AXIAL ? LAYERED : all & ROW_PLANE ? FULL : PLAIN);
}

// Fills the rows of the patch in the layers' table.
__device__ inline void fill_layer_rows(const Ground &g) {
    if (g.lane < 2 * ROWS) {
        const int r = g.lane / 2, half = g.lane % 2, k = g.first + r;
        LayerRow row{1, 0, 0, 0};
        if (k < P.nz) {
            const real *t = P.axial + 3 * half * P.nz + k;
            row = {t[0], t[P.nz], t[2 * P.nz], real(P.axial_rows[k])};
        }
        *layer_row(g.layer + r, half) = row;
    }
    __syncwarp();  // the table is there
}

__device__ inline void read_factors(Ground &g) {
#if CELLS <= 2
    load_lane(P.gains + g.column, g.half), load_lane(P.gains + 2 * P.pitch + g.column, g.node);
    load_lane(P.gains + 4 * P.pitch + g.column, g.rising);
#endif
}
// All threads of a block, before they meet; `column`: the first of this position.
__device__ inline void share_factors(int column, int position) {
    for (int at = threadIdx.x; at < FACTOR_NUMBERS; at += blockDim.x) {
        const int kind = at / WIDE, cell = at % WIDE, lane = cell / CELLS, v = cell % CELLS / PIECE;
        factors()[(position * 3 + kind) * WIDE + (v * 32 + lane) * PIECE + cell % PIECE] = P.gains[2 * kind * P.pitch + column + cell];
    }
}
__device__ inline void load_factors(int kind, const real *kept, const Ground &g, real *to) {
#pragma unroll
    for (int v = 0; v < CELLS / PIECE; ++v)
#if CELLS > 2
        spread(reinterpret_cast<const piece *>(factors() + (g.position * 3 + kind) * WIDE)[v * 32 + g.lane], to + v * PIECE);
#else
        to[v] = kept[v], to[CELLS - 1] = kept[CELLS - 1];
#endif
}

__device__ inline real lane_before(const real *cells, int lane) {
    const real value = __shfl_up_sync(WHOLE_WARP, cells[CELLS - 1], 1);
    return lane == 0 ? real(0) : value;
}
__device__ inline real lane_after(const real *cells, int lane, real edge) {
    const real value = __shfl_down_sync(WHOLE_WARP, cells[0], 1);
    return lane == 31 ? edge : value;
}

// Stretches two of a row's differences along z in the columns that the layer covers, and advances their memories.
__device__ inline void stretch_lane(const Ground &g, int r, int half, real *first, real *second) {
    const LayerRow t = *layer_row(g.layer + r, half);
#pragma unroll
    for (int n = 0; n < 2; ++n) {
        real *memory = layer_memory_of(g.layer + r, 2 * half + n) + g.lane * CELLS, *d = n ? second : first;
        real psi[CELLS];
        load_lane(memory, psi);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) {
            psi[j] = t.b * psi[j] + t.c * d[j];
            d[j] = real(g.column + j) < t.columns ? t.keep * d[j] + psi[j] : d[j];
        }
        store_lane(memory, psi);
    }
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

// ca and cb of one component in a row, 1 in air.
struct Medium {
    real a[CELLS], b[CELLS];
};
__device__ inline void read_medium(const real *media, const Ground &g, int reach, Medium &x) {
    reach_lane(media + g.column, g.column, reach, x.a), reach_lane(media + 3 * P.pitch + g.column, g.column, reach, x.b);
}

// E of row r of the patch.
template <int MODE>
__device__ inline void row_e(Patch &f, int r, const real *hr_below, const real *h_below, const Ground &g, int step) {
    if (MOVE_ONLY && MODE == PLAIN) return;
    const int word = g.word[r], reach = word & ROW_REACH;
    const real *media = medium(g.antenna, g.first + r, 0);
    Medium x[3];
    if (MODE == FULL && EARLY) {
#pragma unroll
        for (int n = 0; n < 3; ++n) read_medium(media + n * P.pitch, g, reach, x[n]);
    }
    const real m = P.order, hz_before = lane_before(f.h_z[r], g.lane), h_before = lane_before(f.h[r], g.lane);
    real up_h[CELLS], up_hr[CELLS], factor[CELLS];
#pragma unroll
    for (int j = 0; j < CELLS; ++j) up_h[j] = f.h[r][j] - h_below[j], up_hr[j] = f.h_r[r][j] - hr_below[j];
    if (MODE == LAYERED || (MODE == FULL && RARELY(word & ROW_AXIAL))) stretch_lane(g, r, 0, up_hr, up_h);
    load_factors(0, g.half, g, factor);
    if (MODE == FULL && !EARLY) read_medium(media, g, reach, x[0]);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const real curl = m * f.h_z[r][j] - up_h[j];
        if (MODE == FULL) f.e_r[r][j] = x[0].a[j] * f.e_r[r][j] + x[0].b[j] * (factor[j] * curl);
        else f.e_r[r][j] += factor[j] * curl;
    }
    load_factors(2, g.rising, g, factor);
    if (MODE == FULL && !EARLY) read_medium(media + P.pitch, g, reach, x[1]);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const real curl = up_hr[j] - (f.h_z[r][j] - (j ? f.h_z[r][j - 1] : hz_before));
        if (MODE == FULL) f.e[r][j] = x[1].a[j] * f.e[r][j] + x[1].b[j] * ((factor[j] - P.half_courant) * curl);
        else f.e[r][j] += (factor[j] - P.half_courant) * curl;
    }
    load_factors(1, g.node, g, factor);
    if (MODE == FULL && !EARLY) read_medium(media + 2 * P.pitch, g, reach, x[2]);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const real curl = (f.h[r][j] - (j ? f.h[r][j - 1] : h_before)) - m * f.h_r[r][j];
        if (MODE == FULL) f.e_z[r][j] = x[2].a[j] * f.e_z[r][j] + x[2].b[j] * (factor[j] * curl);
        else f.e_z[r][j] += factor[j] * curl;
    }
    if (MODE != PLAIN && RARELY(word & (ROW_SOURCE | ROW_PLANE))) {
        if (MODE == FULL && word & ROW_SOURCE && step < P.source_steps) {
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

// H of row r; `edge_ez`, `edge_e`: the column after the warp's last.
template <int MODE>
__device__ inline void row_h(
    Patch &f, int r, const real *er_above, const real *e_above, real edge_ez, real edge_e, const Ground &g
) {
    if (MOVE_ONLY && MODE == PLAIN) return;
    const int word = g.word[r], reach = word & ROW_CUT ? word & ROW_REACH : 0;
    const real *faces = open_face(g.antenna, g.first + r, 0) + g.column;
    real share[3][CELLS];
    if (MODE == FULL && EARLY) {
#pragma unroll
        for (int n = 0; n < 3; ++n) reach_lane(faces + n * P.pitch, g.column, reach, share[n]);
    }
    const real m = P.order, ez_after = lane_after(f.e_z[r], g.lane, edge_ez), e_after = lane_after(f.e[r], g.lane, edge_e);
    real up_e[CELLS], up_er[CELLS], factor[CELLS];
#pragma unroll
    for (int j = 0; j < CELLS; ++j) up_e[j] = e_above[j] - f.e[r][j], up_er[j] = er_above[j] - f.e_r[r][j];
    if (MODE == LAYERED || (MODE == FULL && RARELY(word & ROW_AXIAL))) stretch_lane(g, r, 1, up_er, up_e);
    load_factors(1, g.node, g, factor);
    if (MODE == FULL && !EARLY) reach_lane(faces, g.column, reach, share[0]);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const real curl = up_e[j] + m * f.e_z[r][j];
        f.h_r[r][j] += factor[j] * (MODE == FULL ? curl * share[0][j] : curl);
    }
    load_factors(2, g.rising, g, factor);
    if (MODE == FULL && !EARLY) reach_lane(faces + P.pitch, g.column, reach, share[1]);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const real curl = ((j + 1 < CELLS ? f.e_z[r][j + 1] : ez_after) - f.e_z[r][j]) - up_er[j];
        f.h[r][j] += factor[j] * (MODE == FULL ? curl * share[1][j] : curl);
    }
    load_factors(0, g.half, g, factor);
    if (MODE == FULL && !EARLY) reach_lane(faces + 2 * P.pitch, g.column, reach, share[2]);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const real curl = ((j + 1 < CELLS ? f.e[r][j + 1] : e_after) - f.e[r][j]) + m * f.e_r[r][j];
        f.h_z[r][j] -= factor[j] * (MODE == FULL ? curl * share[2][j] : curl);
    }
}
