// A slab of rows that a block keeps from the first step to the last: the operands of their updates lie in shared
// memory, in tables and in a pool.
//
// The pool holds memories of the axial filters, in the rows that have any, and coefficients of the rows that hold more
// than air: those that are not air's, in the lanes between the first and the last cell that is not. Other lanes read a
// table. Warps with a row that has no place there read device memory.
//
// Settings: those of march.cuh; SHARED_BYTES; LAYERED_ROWS (most rows of a block that can lie in axial layers over all
// columns); BY_NEED (0: the pool holds all coefficients from the axis on, which takes fewer registers; 0 if not set);
// DESK_ROWS (rows of a warp with a separate place: on their way to the record, or from and to memory); TABLES (blocks of
// rows that have tables at a time; 1 if not set). Columns of tables and of lanes count from the segment's first. Provides
// SHARED_BYTES' parts, `lay_out_air`, `lay_out_rows`, `stage_rows`, the needs of a warp's rows (`needs_of`, Rows) and their
// places (`load_plane`, Memory).
#if !defined(SHARED_BYTES) || !defined(LAYERED_ROWS)
#error "SHARED_BYTES and LAYERED_ROWS must be set"
#endif
#include "kernels/axisymmetric/march.cuh"
#ifndef TABLES
#define TABLES 1
#endif
#ifndef BY_NEED
#define BY_NEED 0
#endif
#ifndef DESK_ROWS
#define DESK_ROWS 1
#endif

// Needs of a warp's rows beyond the update in air: axial layers (alone: over all columns), coefficients, the source or
// a conducting plane, coefficients from device memory.
enum Need { AXIAL = 1, FILLED = 2, RARE = 4, AWAY = 8 };

// Coefficients of four lanes' cells, [plane][vector][lane]: cb times the gain of e_r, e, e_z; gains of h_r, h, h_z over
// the open area; ca of e_r, e, e_z. By need a row has the first three, with faces that are cut six, with losses all. In
// air, for all lanes: gains and ones. Two fours side by side lie in different banks.
#define SIDE 4
#define PLANES 9
__device__ constexpr int side_vectors(int planes) { return planes * VECTORS * SIDE | 4; }
#define SIDE_VECTORS side_vectors(PLANES)
__device__ inline int planes_of(int word) { return !BY_NEED || word & ROW_LOSSY ? PLANES : word & ROW_CUT ? 6 : 3; }
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

// Places of a row's axial memories and coefficients in the pool, and the fours of lanes with the latter: their number,
// and by need the first of them FIRST_SIDE bits up (-1: no place).
#define FIRST_SIDE 8
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
        gains[to * WIDTH + cell % WIDTH] = plane < 6 ? P.gains[plane * P.pitch + origin + cell] : real(1);
    }
}

// Fours of lanes before the one that holds the axis, and from there, or from the one that holds column `start`, to the
// last that holds a row's first columns, as stored.
__device__ inline int sides_before(int start = 0) { return max(start, P.lead) / (CELLS * SIDE); }
__device__ inline int sides_of(int columns, int start = 0) {
    return columns ? max(0, (min(columns, WIDE) + CELLS * SIDE - 1) / (CELLS * SIDE) - sides_before(start)) : 0;
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
    const int start = max(0, start_of(all.word) - origin) / ROW_UNIT;
    int word = (all.word & ((1 << ROW_START) - 1) & ~int(ROW_REACH)) | reach | start << ROW_START;
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
        const int row = n * 32 + int(threadIdx.x % 32), k = origin + row, word = notes.of[n].word;
        const int start = BY_NEED ? start_of(word) : 0, first = BY_NEED ? sides_before(start) << FIRST_SIDE : 0;
        const int sides = sides_of(word & ROW_REACH, start), size = sides * side_vectors(planes_of(word));
        const int end = taken + sum_so_far(size, all), columns = notes.of[n].columns;
        if (row >= HEIGHT) continue;
        RowPlace *place = row_place(table + row);
        place->media = end - size, place->word = word;
        place->sides = end <= POOL_VECTORS ? first | sides : -1;
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
__device__ inline int side_in_row(const RowPlace &p, int lane) {
    return lane / SIDE - (BY_NEED ? p.sides >> FIRST_SIDE : sides_before());
}
__device__ inline bool has_place(const RowPlace &p, int lane) {
    const int side = side_in_row(p, lane);
    return side >= 0 && (BY_NEED ? p.sides >= 0 && side < (p.sides & ((1 << FIRST_SIDE) - 1)) : side < p.sides);
}
__device__ inline int of_row(const RowPlace &p, int lane) {
    if (!has_place(p, lane)) return of_air(lane);
    return POOL_AT / int(sizeof(vector)) + p.media + side_in_row(p, lane) * side_vectors(planes_of(p.word)) + lane % SIDE;
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
        const int reach = p.word & ROW_REACH, cut = p.word & ROW_CUT ? reach : 0, planes = planes_of(p.word);
        real x[PLANES][WIDTH], gain[WIDTH];
#pragma unroll
        for (int plane = 0; plane < PLANES; ++plane) {
            const bool faces = plane >= 3 && plane < 6;
            const real *from = faces ? open_face(g.antenna, k, plane - 3) : medium(g.antenna, k, plane < 3 ? 3 + plane : plane - 6);
#pragma unroll
            for (int w = 0; w < WIDTH; ++w) x[plane][w] = 1;
            if (plane < planes && at < (faces ? cut : reach)) unpack(__ldg(reinterpret_cast<const vector *>(from + origin + at)), x[plane]);
        }
        const vector *gains = reinterpret_cast<const vector *>(shared_base()) + g.air + v * SIDE;
        vector *to = reinterpret_cast<vector *>(shared_base()) + of_row(p, g.lane) + v * SIDE;
#pragma unroll
        for (int plane = 0; plane < PLANES; ++plane) {
            if (plane >= planes) break;
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
