// A slab of rows that a block keeps from the first step to the last: the operands of their updates lie in shared
// memory, in tables and in a pool.
//
// The pool holds memories of the axial filters, in the rows that have any, and coefficients of the rows that hold more
// than air, in the lanes that do; lanes of air read a table. Warps with a row that
// has no place there read device memory.
//
// Settings: those of march.cuh; SHARED_BYTES; LAYERED_ROWS (most rows of a block that can lie in axial layers over all
// columns); DESK_ROWS (rows of a warp with a separate place: on their way to the record, or from and to memory); TABLES
// (blocks of rows that have tables at a time; 1 if not set). Columns of tables and of lanes count from the segment's
// first. Provides SHARED_BYTES' parts, `lay_out_air`,
// `lay_out_rows`, `stage_rows`, the needs of a warp's rows (`needs_of`, Rows) and their places (`load_plane`, Memory).
#if !defined(SHARED_BYTES) || !defined(LAYERED_ROWS)
#error "SHARED_BYTES and LAYERED_ROWS must be set"
#endif
#include "kernels/axisymmetric/march.cuh"
#ifndef TABLES
#define TABLES 1
#endif
#ifndef DESK_ROWS
#define DESK_ROWS 1
#endif

// Needs of a warp's rows beyond the update in air: axial layers (alone: over all columns), coefficients, the source or
// a conducting plane, coefficients from device memory.
enum Need { AXIAL = 1, FILLED = 2, RARE = 4, AWAY = 8 };

// Coefficients of four lanes' cells, [plane][vector][lane]: ca of e_r, e, e_z; cb times the gain of e_r, e, e_z; gains
// of h_r, h, h_z over the open area. In air, for all lanes: ones and gains. Two fours side by side lie in different
// banks.
#define SIDE 4
#define PLANES 9
#define SIDE_VECTORS (PLANES * VECTORS * SIDE | 4)
#define AIR_AT MARCH_BYTES
// Then the layers' table [row][e, h][4], strips' memories [row][4][RADIAL_COLUMNS], places of the rows,
// desks [warp][DESK_ROWS][6][WIDE], and the pool.
#define LAYERS_AT (AIR_AT + 32 / SIDE * SIDE_VECTORS * int(sizeof(vector)))
#define PLACES_AT (LAYERS_AT + HEIGHT * (8 * TABLES + 4 * RADIAL_COLUMNS) * REAL_BYTES)
#define ORIGINS_AT (PLACES_AT + 16 * TABLES * HEIGHT)
#define DESKS_AT ((ORIGINS_AT + (SEGMENTS > 1 ? 4 * TABLES : 0) + 127) / 128 * 128)
#define POOL_AT (DESKS_AT + WARPS * DESK_ROWS * 6 * WIDE * REAL_BYTES)
#define POOL_VECTORS ((SHARED_BYTES - POOL_AT) / int(sizeof(vector)))
#define LEAST_BYTES (POOL_AT + LAYERED_ROWS * 4 * WIDE * REAL_BYTES)

// Places of a row's axial memories and coefficients in the pool, and the number of fours of lanes with the latter (-1:
// no place), from the four that hold the axis on.
struct RowPlace {
    int memory, media, sides, word;
};

__device__ inline vector *air() { return reinterpret_cast<vector *>(shared_base() + AIR_AT); }
__device__ inline RowPlace *row_place(int row) { return reinterpret_cast<RowPlace *>(shared_base() + PLACES_AT) + row; }
// Stored column where the segment of the tables begins that hold row `row`; of the first segment 0.
__device__ inline int &origin_of(int row) { return reinterpret_cast<int *>(shared_base() + ORIGINS_AT)[row / HEIGHT]; }
__device__ inline int origin_of_row(int row) { return SEGMENTS > 1 ? origin_of(row) : 0; }
// A finished row of a warp, waiting to be recorded.
template <class Vector> __device__ inline Vector *desk(int warp) {
    return reinterpret_cast<Vector *>(shared_base() + DESKS_AT) + warp * DESK_ROWS * 6 * WIDE * REAL_BYTES / int(sizeof(Vector));
}
__device__ inline vector *pool() { return reinterpret_cast<vector *>(shared_base() + POOL_AT); }
__device__ inline LayerRow *slab_layer(int row, int half) {
    return reinterpret_cast<LayerRow *>(shared_base() + LAYERS_AT) + 2 * row + half;
}
#if RADIAL_WARPS
__device__ inline LayerRow layer_of(const Strip &g, int r, int half) {
    return *slab_layer((TABLES > 1 ? g.table : 0) + g.row + r, half);
}
__device__ inline real *memory_of(const Strip &g, int r, int filter) {
    return reinterpret_cast<real *>(shared_base() + LAYERS_AT) + 8 * TABLES * HEIGHT + ((g.row + r) * 4 + filter) * RADIAL_COLUMNS + g.column;
}
#endif

// All threads of a block, before their barrier: the table for lanes of air, of columns from `origin` on.
__device__ inline void lay_out_air(int origin = 0) {
    real *gains = reinterpret_cast<real *>(air());
    for (int at = threadIdx.x; at < PLANES * WIDE; at += THREADS) {
        const int plane = at / WIDE, cell = at % WIDE, lane = cell / CELLS, v = cell % CELLS / WIDTH;
        const int to = lane / SIDE * SIDE_VECTORS + (plane * VECTORS + v) * SIDE + lane % SIDE;
        gains[to * WIDTH + cell % WIDTH] = plane < 3 ? real(1) : P.gains[(plane - 3) * P.pitch + origin + cell];
    }
}

// Fours of lanes before the one that holds the axis, and from there to the last that holds a row's first columns, as
// stored.
__device__ inline int sides_before() { return P.lead / (CELLS * SIDE); }
__device__ inline int sides_of(int columns) {
    return columns ? (min(columns, WIDE) + CELLS * SIDE - 1) / (CELLS * SIDE) - sides_before() : 0;
}

// Lanes that have axial memories of a row, and the first of them: all where the layer covers it, and in slabs that
// stay, so that their number is known and no lane diverges.
#define ALL_REMEMBER (TABLES == 1)
__device__ inline int memory_lanes(int columns) {
    if (ALL_REMEMBER || columns >= WIDE) return columns ? 32 : 0;
    return sides_of(columns) * SIDE;
}
__device__ inline int first_memory_lane(int columns) { return ALL_REMEMBER || columns >= WIDE ? 0 : sides_before() * SIDE; }

// A row's word and the columns of its axial layer.
struct RowNotes {
    int word, columns;
};
__device__ inline RowNotes notes_of(int antenna, int k) {
    if (k >= P.nz) return {ROW_PLANE, 0};  // the plane k = nz and all beyond conduct
    return {row_word(antenna, k), P.axial_rows[k]};
}
// The same of a segment from column `origin` on: without what ends before it.
__device__ inline RowNotes notes_from(RowNotes all, int origin) {
    const int reach = max(0, (all.word & ROW_REACH) - origin), columns = max(0, all.columns - origin);
    int word = (all.word & ~int(ROW_REACH)) | reach;
    if (columns == 0) word &= ~int(ROW_AXIAL);
    if (P.lead + P.source_columns <= origin) word &= ~int(ROW_SOURCE);
    return {word, columns};
}

// Notes of a block's rows: lane l has those of rows l, l + 32, ...
struct SlabNotes {
    RowNotes of[(HEIGHT + 31) / 32];
};
__device__ inline SlabNotes notes_of_rows(int antenna, int origin, int column = 0) {
    SlabNotes notes;
#pragma unroll
    for (int n = 0; n < (HEIGHT + 31) / 32; ++n) {
        const int row = n * 32 + int(threadIdx.x % 32);
        notes.of[n] = row < HEIGHT ? notes_of(antenna, origin + row) : RowNotes{0, 0};
        if (SEGMENTS > 1) notes.of[n] = notes_from(notes.of[n], column);
    }
    return notes;
}

// Sum over the lanes up to this one, and over all.
__device__ inline int sum_so_far(int number, int &all) {
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        const int below = __shfl_up_sync(ALL_LANES, number, by);
        if (int(threadIdx.x % 32) >= by) number += below;
    }
    all = __shfl_sync(ALL_LANES, number, 31);
    return number;
}

// One warp: tables of the rows from `origin` and the columns from `column` on, in their place `table`. Memories come
// first, then coefficients.
__device__ inline void lay_out_rows(const SlabNotes &notes, int origin, int table, int column = 0) {
    if (SEGMENTS > 1 && threadIdx.x % 32 == 0) origin_of(table) = column;
    int taken = 0, all;
    for (int n = 0; n < (HEIGHT + 31) / 32; ++n, taken += all) {
        const int row = n * 32 + int(threadIdx.x % 32), size = memory_lanes(notes.of[n].columns) * 4 * VECTORS;
        const int end = taken + sum_so_far(size, all);
        if (row < HEIGHT) row_place(table + row)->memory = end - size;
    }
    for (int n = 0; n < (HEIGHT + 31) / 32; ++n, taken += all) {
        const int row = n * 32 + int(threadIdx.x % 32), k = origin + row, sides = sides_of(notes.of[n].word & ROW_REACH);
        const int end = taken + sum_so_far(sides * SIDE_VECTORS, all), columns = notes.of[n].columns;
        if (row >= HEIGHT) continue;
        RowPlace *place = row_place(table + row);
        place->media = end - sides * SIDE_VECTORS, place->sides = end <= POOL_VECTORS ? sides : -1, place->word = notes.of[n].word;
        for (int half = 0; half < 2; ++half) {
            const real *t = P.axial + 3 * half * P.nz + k;
            *slab_layer(table + row, half) = columns ? LayerRow{t[0], t[P.nz], t[2 * P.nz], real(columns)} : LayerRow{1, 0, 0, 0};
        }
    }
}

// Place of a lane's coefficients, and the coefficients of one plane.
__device__ inline int of_air(int lane) {
    return AIR_AT / int(sizeof(vector)) + lane / SIDE * SIDE_VECTORS + lane % SIDE;
}
__device__ inline bool has_place(const RowPlace &p, int lane) {
    return lane / SIDE >= sides_before() && lane / SIDE - sides_before() < p.sides;
}
__device__ inline int of_row(const RowPlace &p, int lane) {
    if (!has_place(p, lane)) return of_air(lane);
    return POOL_AT / int(sizeof(vector)) + p.media + (lane / SIDE - sides_before()) * SIDE_VECTORS + lane % SIDE;
}
__device__ inline void load_plane(int at, int plane, real *to) {
    const vector *from = reinterpret_cast<const vector *>(shared_base()) + at;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) unpack(from[(plane * VECTORS + v) * SIDE], to + v * WIDTH);
}

// A warp's rows, and the places of their operands for a lane.
struct Rows {
    int antenna, lane, first, column, air;
    int row;  // of their tables
    int word[ROWS], memory[ROWS], media[ROWS];
    real amplitude;  // of the source in the step to come
};

// Needs of a warp's rows, from row `row` of the tables on; a barrier of all threads has passed since they were laid
// out.
__device__ inline int needs_of(int row) {
    int needs = 0;
#pragma unroll 1
    for (int r = 0; r < ROWS; ++r) {
        const RowPlace p = *row_place(row + r);
        if (p.word & ROW_AXIAL) needs |= slab_layer(row + r, 0)->columns < WIDE ? AXIAL | FILLED : AXIAL;
        if (p.word & (ROW_REACH | ROW_SOURCE)) needs |= FILLED;
        if (p.word & (ROW_SOURCE | ROW_PLANE)) needs |= RARE;
        if (p.sides < 0) needs |= AWAY;
    }
    return agreed(needs);
}
__device__ inline void survey(Rows &g, int antenna, int lane, int row, int first) {
    g.antenna = antenna, g.lane = lane, g.first = first, g.row = row, g.column = lane * CELLS, g.air = of_air(lane);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const RowPlace p = *row_place(row + r);
        g.word[r] = agreed(p.word), g.memory[r] = p.memory, g.media[r] = of_row(p, lane);
    }
}

// A lane's share of the coefficients of its rows, from device memory to the pool: a vector of all planes at a time. The
// whole warp synchronises after it.
__device__ inline void stage_rows(const Rows &g) {
#pragma unroll 1
    for (int n = 0; n < ROWS * VECTORS; ++n) {
        const int r = n / VECTORS, v = n % VECTORS, k = g.first + r, at = g.column + v * WIDTH;
        const int origin = origin_of_row(g.row);
        const RowPlace p = *row_place(g.row + r);
        if (!has_place(p, g.lane)) continue;
        const int reach = p.word & ROW_REACH, cut = p.word & ROW_CUT ? reach : 0;
        real x[PLANES][WIDTH], gain[WIDTH];
#pragma unroll
        for (int plane = 0; plane < PLANES; ++plane) {
            const real *from = plane < 6 ? medium(g.antenna, k, plane) : open_face(g.antenna, k, plane - 6);
#pragma unroll
            for (int w = 0; w < WIDTH; ++w) x[plane][w] = 1;
            if (at < (plane < 6 ? reach : cut)) unpack(__ldg(reinterpret_cast<const vector *>(from + origin + at)), x[plane]);
        }
        const vector *gains = reinterpret_cast<const vector *>(shared_base()) + g.air + v * SIDE;
        vector *to = reinterpret_cast<vector *>(shared_base()) + of_row(p, g.lane) + v * SIDE;
#pragma unroll
        for (int plane = 0; plane < PLANES; ++plane) {
            unpack(gains[plane * VECTORS * SIDE], gain);
#pragma unroll
            for (int w = 0; w < WIDTH; ++w) x[plane][w] *= gain[w];
            to[plane * VECTORS * SIDE] = packed(x[plane]);
        }
    }
    __syncwarp();  // the coefficients have arrived
}

// Asynchronous copy of a vector from device to shared memory.
__device__ inline void copy_vector(vector *shared, const vector *global) {
    if (sizeof(vector) == 16) copy_16_bytes(shared, global);
    else if (sizeof(vector) == 8) copy_8_bytes(shared, global);
    else copy_4_bytes(shared, global);
}

// A lane's part of the axial memories of a row, [filter][vector][lane] of the lanes that the layer covers.
template <bool WHOLE> struct Memory {
    vector *first;
    int lanes;
    bool there;
    __device__ Memory(const Rows &g, int r, real columns) {
        const int skipped = WHOLE ? 0 : first_memory_lane(int(columns));
        first = pool() + g.memory[r] + g.lane - skipped, lanes = WHOLE || ALL_REMEMBER ? 32 : memory_lanes(int(columns));
        there = WHOLE || (g.lane >= skipped && real(g.column) < columns);
    }
    __device__ vector *of(int filter) const { return first + filter * VECTORS * lanes; }
};
