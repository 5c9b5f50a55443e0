// A slab of rows that a block keeps from the first step to the last: what their updates need lies in shared memory.
//
// The pool holds memories of the axial filters, in the rows that have any, and coefficients of the rows that hold more
// than air, in the lanes that do; lanes of air read a table. Warps with a row that
// finds no place there read device memory.
//
// Settings: those of march.cuh; SHARED_BYTES; LAYERED_ROWS (most rows of a block that can lie in axial layers over all
// columns); DESK_ROWS (rows of a warp that have a place apart: on their way to the record, or from and to memory); TABLES
// (blocks of rows that have tables at a time; 1 if not set).
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

// What a warp's rows need beyond the update in air: axial layers (alone: over all columns), coefficients, the source or a
// conducting plane, coefficients from device memory.
enum Need { AXIAL = 1, FILLED = 2, RARE = 4, AWAY = 8 };

// Coefficients of four lanes' cells, [plane][piece][lane]: ca of e_r, e, e_z; cb times the gain of e_r, e, e_z; gains of
// h_r, h, h_z over the open area. In air, for all lanes: ones and gains. Two fours side by side lie in different banks.
#define PIECES (CELLS / PIECE)
#define SIDE 4
#define PLANES 9
#define SIDE_PIECES (PLANES * PIECES * SIDE | 4)
#define AIR_AT MARCH_BYTES
// Then the layers' table [row][e, h][4], strips' memories [row][4][RADIAL_COLUMNS], places of the rows,
// desks [warp][DESK_ROWS][6][WIDE], and the pool.
#define LAYERS_AT (AIR_AT + 32 / SIDE * SIDE_PIECES * int(sizeof(piece)))
#define PLACES_AT (LAYERS_AT + HEIGHT * (8 * TABLES + 4 * RADIAL_COLUMNS) * REAL_BYTES)
#define DESKS_AT ((PLACES_AT + 16 * TABLES * HEIGHT + 127) / 128 * 128)
#define POOL_AT (DESKS_AT + WARPS * DESK_ROWS * 6 * WIDE * REAL_BYTES)
#define POOL_PIECES ((SHARED_BYTES - POOL_AT) / int(sizeof(piece)))
#define LEAST_BYTES (POOL_AT + LAYERED_ROWS * 4 * WIDE * REAL_BYTES)

// Where in the pool a row's axial memories and coefficients are, and how many times four lanes have the latter (-1: no
// place), from the four that hold the axis on.
struct RowPlace {
    int memory, media, sides, word;
};

__device__ inline piece *air() { return reinterpret_cast<piece *>(shared_base() + AIR_AT); }
__device__ inline RowPlace *row_place(int row) { return reinterpret_cast<RowPlace *>(shared_base() + PLACES_AT) + row; }
// A finished row of a warp, waiting to be recorded.
template <class Vector> __device__ inline Vector *desk(int warp) {
    return reinterpret_cast<Vector *>(shared_base() + DESKS_AT) + warp * DESK_ROWS * 6 * WIDE * REAL_BYTES / int(sizeof(Vector));
}
__device__ inline piece *pool() { return reinterpret_cast<piece *>(shared_base() + POOL_AT); }
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

// All threads of a block, before they meet: what lanes of air read.
__device__ inline void lay_out_air() {
    real *gains = reinterpret_cast<real *>(air());
    for (int at = threadIdx.x; at < PLANES * WIDE; at += THREADS) {
        const int plane = at / WIDE, cell = at % WIDE, lane = cell / CELLS, v = cell % CELLS / PIECE;
        const int to = lane / SIDE * SIDE_PIECES + (plane * PIECES + v) * SIDE + lane % SIDE;
        gains[to * PIECE + cell % PIECE] = plane < 3 ? real(1) : P.gains[(plane - 3) * P.pitch + cell];
    }
}

// Fours of lanes before the one that holds the axis, and from there to the last that holds a row's first columns, as stored.
__device__ inline int sides_before() { return P.lead / (CELLS * SIDE); }
__device__ inline int sides_of(int columns) {
    return columns ? (min(columns, WIDE) + CELLS * SIDE - 1) / (CELLS * SIDE) - sides_before() : 0;
}

// Lanes that have axial memories of a row, and the first of them: all where the layer covers it, and in slabs that stay, so
// that their number is known and no lane goes another way.
#define ALL_REMEMBER (TABLES == 1)
__device__ inline int memory_lanes(int columns) {
    if (ALL_REMEMBER || columns >= WIDE) return columns ? 32 : 0;
    return sides_of(columns) * SIDE;
}
__device__ inline int first_memory_lane(int columns) { return ALL_REMEMBER || columns >= WIDE ? 0 : sides_before() * SIDE; }

// Notes of a block's rows: lane l has those of rows l, l + 32, ...
struct SlabNotes {
    RowNotes of[(HEIGHT + 31) / 32];
};
__device__ inline SlabNotes notes_of_rows(int antenna, int origin) {
    SlabNotes notes;
#pragma unroll
    for (int n = 0; n < (HEIGHT + 31) / 32; ++n) {
        const int row = n * 32 + int(threadIdx.x % 32);
        notes.of[n] = row < HEIGHT ? notes_of(antenna, origin + row) : RowNotes{0, 0};
    }
    return notes;
}

// Sum over the lanes up to this one, and over all.
__device__ inline int sum_so_far(int number, int &all) {
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        const int below = __shfl_up_sync(WHOLE_WARP, number, by);
        if (int(threadIdx.x % 32) >= by) number += below;
    }
    all = __shfl_sync(WHOLE_WARP, number, 31);
    return number;
}

// One warp: tables of the rows from `origin` on, in their place `table`. Memories come first, then coefficients.
__device__ inline void lay_out_rows(const SlabNotes &notes, int origin, int table) {
    int taken = 0, all;
    for (int n = 0; n < (HEIGHT + 31) / 32; ++n, taken += all) {
        const int row = n * 32 + int(threadIdx.x % 32), size = memory_lanes(notes.of[n].columns) * 4 * PIECES;
        const int end = taken + sum_so_far(size, all);
        if (row < HEIGHT) row_place(table + row)->memory = end - size;
    }
    for (int n = 0; n < (HEIGHT + 31) / 32; ++n, taken += all) {
        const int row = n * 32 + int(threadIdx.x % 32), k = origin + row, sides = sides_of(notes.of[n].word & ROW_REACH);
        const int end = taken + sum_so_far(sides * SIDE_PIECES, all), columns = notes.of[n].columns;
        if (row >= HEIGHT) continue;
        RowPlace *place = row_place(table + row);
        place->media = end - sides * SIDE_PIECES, place->sides = end <= POOL_PIECES ? sides : -1, place->word = notes.of[n].word;
        for (int half = 0; half < 2; ++half) {
            const real *t = P.axial + 3 * half * P.nz + k;
            *slab_layer(table + row, half) = columns ? LayerRow{t[0], t[P.nz], t[2 * P.nz], real(columns)} : LayerRow{1, 0, 0, 0};
        }
    }
}

// Where a lane finds coefficients, and the coefficients of one plane.
__device__ inline int of_air(int lane) {
    return AIR_AT / int(sizeof(piece)) + lane / SIDE * SIDE_PIECES + lane % SIDE;
}
__device__ inline bool has_place(const RowPlace &p, int lane) {
    return lane / SIDE >= sides_before() && lane / SIDE - sides_before() < p.sides;
}
__device__ inline int of_row(const RowPlace &p, int lane) {
    if (!has_place(p, lane)) return of_air(lane);
    return POOL_AT / int(sizeof(piece)) + p.media + (lane / SIDE - sides_before()) * SIDE_PIECES + lane % SIDE;
}
__device__ inline void load_plane(int at, int plane, real *to) {
    const piece *from = reinterpret_cast<const piece *>(shared_base()) + at;
#pragma unroll
    for (int v = 0; v < PIECES; ++v) spread(from[(plane * PIECES + v) * SIDE], to + v * PIECE);
}

// A warp's rows, and where the lane finds what they need.
struct Rows {
    int antenna, lane, first, column, air;
    int row;  // of their tables
    int word[ROWS], memory[ROWS], media[ROWS];
    real amplitude;  // of the source in the step to come
};

// What a warp's rows need, from row `row` of the tables on; all threads have met since they were laid out.
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

// A lane's share of the coefficients of its rows, from device memory to the pool: a piece of all planes at a time. The whole
// warp meets behind it.
__device__ inline void stage_rows(const Rows &g) {
#pragma unroll 1
    for (int n = 0; n < ROWS * PIECES; ++n) {
        const int r = n / PIECES, v = n % PIECES, k = g.first + r, at = g.column + v * PIECE;
        const RowPlace p = *row_place(g.row + r);
        if (!has_place(p, g.lane)) continue;
        const int reach = p.word & ROW_REACH, cut = p.word & ROW_CUT ? reach : 0;
        real x[PLANES][PIECE], gain[PIECE];
#pragma unroll
        for (int plane = 0; plane < PLANES; ++plane) {
            const real *from = plane < 6 ? medium(g.antenna, k, plane) : open_face(g.antenna, k, plane - 6);
#pragma unroll
            for (int w = 0; w < PIECE; ++w) x[plane][w] = 1;
            if (at < (plane < 6 ? reach : cut)) spread(__ldg(reinterpret_cast<const piece *>(from + at)), x[plane]);
        }
        const piece *gains = reinterpret_cast<const piece *>(shared_base()) + g.air + v * SIDE;
        piece *to = reinterpret_cast<piece *>(shared_base()) + of_row(p, g.lane) + v * SIDE;
#pragma unroll
        for (int plane = 0; plane < PLANES; ++plane) {
            spread(gains[plane * PIECES * SIDE], gain);
#pragma unroll
            for (int w = 0; w < PIECE; ++w) x[plane][w] *= gain[w];
            to[plane * PIECES * SIDE] = gather(x[plane]);
        }
    }
    __syncwarp();  // the coefficients are there
}

// A lane's part of the axial memories of a row, [filter][piece][lane] of the lanes that the layer covers.
template <bool WHOLE> struct Memory {
    piece *first;
    int lanes;
    bool there;
    __device__ Memory(const Rows &g, int r, real columns) {
        const int skipped = WHOLE ? 0 : first_memory_lane(int(columns));
        first = pool() + g.memory[r] + g.lane - skipped, lanes = WHOLE || ALL_REMEMBER ? 32 : memory_lanes(int(columns));
        there = WHOLE || (g.lane >= skipped && real(g.column) < columns);
    }
    __device__ piece *of(int filter) const { return first + filter * PIECES * lanes; }
};

// Stretches two of a row's differences along z in the columns that the layer covers, and advances their memories.
template <bool WHOLE> __device__ inline void stretch(const Rows &g, int r, int row, int half, real *first, real *second) {
    const LayerRow t = *slab_layer(row, half);
    const Memory<WHOLE> memories(g, r, t.columns);
    const int covered = int(t.columns) - g.column, lanes = memories.lanes;
    if (!ALL_REMEMBER && !memories.there) return;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
        piece *memory = memories.of(2 * half + n);
        real psi[CELLS], *d = n ? second : first;
#pragma unroll
        for (int v = 0; v < PIECES; ++v) spread(memory[v * lanes], psi + v * PIECE);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) {
            psi[j] = t.b * psi[j] + rounded(t.c, d[j]);
            if (WHOLE || j < covered) d[j] = t.keep * d[j] + psi[j];
        }
#pragma unroll
        for (int v = 0; v < PIECES; ++v) memory[v * lanes] = gather(psi + v * PIECE);
    }
}

// A plane of a row's coefficients.
template <int NEED> __device__ inline void coefficients(const Rows &g, int r, int plane, real *to) {
    load_plane(NEED & FILLED && !(NEED & AWAY) ? g.media[r] : g.air, plane, to);
    if (NEED & AWAY) {
        const int reach = plane < 6 || g.word[r] & ROW_CUT ? g.word[r] & ROW_REACH : 0;
        const real *from = plane < 6 ? medium(g.antenna, g.first + r, plane) : open_face(g.antenna, g.first + r, plane - 6);
        real x[CELLS];
        reach_lane(from + g.column, g.column, reach, x);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) to[j] *= x[j];
    }
}

// e <- ca e + cb gain curl.
template <int NEED> __device__ inline void drive(const Rows &g, int r, int component, const real *curl, real *e) {
    real gain[CELLS], keep[CELLS];
    coefficients<NEED>(g, r, 3 + component, gain);
    if (NEED & FILLED) coefficients<NEED>(g, r, component, keep);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) e[j] = (NEED & FILLED ? rounded(keep[j], e[j]) : e[j]) + gain[j] * curl[j];
}

// e_r and e of row r, which the row below waits for.
template <int NEED>
__device__ inline void advance_across(Patch &f, const Rows &g, int r, int row, const real *hr_below, const real *h_below, int step) {
    if (MOVE_ONLY && NEED == 0) return;
    const real m = P.order, hz_before = lane_before(f.h_z[r], g.lane);
    const int word = g.word[r];
    real up_h[CELLS], up_hr[CELLS];
#pragma unroll
    for (int j = 0; j < CELLS; ++j) up_h[j] = f.h[r][j] - h_below[j], up_hr[j] = f.h_r[r][j] - hr_below[j];
    if (NEED & AXIAL && word & ROW_AXIAL) stretch<!(NEED & FILLED)>(g, r, row, 0, up_hr, up_h);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        up_h[j] = m * f.h_z[r][j] - up_h[j];
        up_hr[j] -= f.h_z[r][j] - (j ? f.h_z[r][j - 1] : hz_before);
    }
    drive<NEED>(g, r, 0, up_h, f.e_r[r]), drive<NEED>(g, r, 1, up_hr, f.e[r]);
    if (NEED & RARE && NEED & FILLED && word & ROW_SOURCE && step < P.source_steps && g.column < P.lead + P.source_columns) {
        real profile[CELLS];
        load_lane(P.source + g.column, profile);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) f.e_r[r][j] -= profile[j] * g.amplitude;
        load_lane(P.source + P.pitch + g.column, profile);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) f.e[r][j] -= profile[j] * g.amplitude;
    }
    if (NEED & RARE && word & ROW_PLANE) {
#pragma unroll
        for (int j = 0; j < CELLS; ++j) f.e_r[r][j] = f.e[r][j] = 0;
    }
}

template <int NEED> __device__ inline void advance_ez(Patch &f, const Rows &g, int r) {
    if (MOVE_ONLY && NEED == 0) return;
    const real m = P.order, h_before = lane_before(f.h[r], g.lane);
    real curl[CELLS];
#pragma unroll
    for (int j = 0; j < CELLS; ++j) curl[j] = (f.h[r][j] - (j ? f.h[r][j - 1] : h_before)) - m * f.h_r[r][j];
    drive<NEED>(g, r, 2, curl, f.e_z[r]);
}

// h_r and h of row r, which the row above waits for; `edge_ez`: the column after the warp's last.
template <int NEED>
__device__ inline void advance_up(Patch &f, const Rows &g, int r, int row, const real *er_above, const real *e_above, real edge_ez) {
    if (MOVE_ONLY && NEED == 0) return;
    const real m = P.order, ez_after = lane_after(f.e_z[r], g.lane, edge_ez);
    real up_e[CELLS], up_er[CELLS], gain[CELLS];
#pragma unroll
    for (int j = 0; j < CELLS; ++j) up_e[j] = e_above[j] - f.e[r][j], up_er[j] = er_above[j] - f.e_r[r][j];
    if (NEED & AXIAL && g.word[r] & ROW_AXIAL) stretch<!(NEED & FILLED)>(g, r, row, 1, up_er, up_e);
    coefficients<NEED>(g, r, 6, gain);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) f.h_r[r][j] += gain[j] * (up_e[j] + m * f.e_z[r][j]);
    coefficients<NEED>(g, r, 7, gain);
#pragma unroll
    for (int j = 0; j < CELLS; ++j)
        f.h[r][j] += gain[j] * (((j + 1 < CELLS ? f.e_z[r][j + 1] : ez_after) - f.e_z[r][j]) - up_er[j]);
}

template <int NEED> __device__ inline void advance_hz(Patch &f, const Rows &g, int r, real edge_e) {
    if (MOVE_ONLY && NEED == 0) return;
    const real m = P.order, e_after = lane_after(f.e[r], g.lane, edge_e);
    real gain[CELLS];
    coefficients<NEED>(g, r, 8, gain);
#pragma unroll
    for (int j = 0; j < CELLS; ++j)
        f.h_z[r][j] -= gain[j] * (((j + 1 < CELLS ? f.e[r][j + 1] : e_after) - f.e[r][j]) + m * f.e_r[r][j]);
}

__device__ inline real amplitude_of(int step) { return step < P.source_steps ? P.waveform[step] : real(0); }

// H for the patch above, E for the one below, H for the layer's columns.
__device__ inline void send_top(const Patch &f, int lane, const Course &c) {
    const real *first = f.h_r[ROWS - 1], *second = f.h[ROWS - 1];
    if (c.warp < WARPS - 1) send_slot(row_slot(c.warp + 1, 1), signal_of(H_ROW, c.warp + 1), 0, lane, first, second);
    else if (c.above) send_slot(row_slot(0, 1), signal_of(H_ROW, 0), 1, lane, first, second);
}
__device__ inline void send_bottom(const Patch &f, int lane, const Course &c) {
    if (c.warp > 0) send_slot(row_slot(c.warp - 1, 0), signal_of(E_ROW, c.warp - 1), 0, lane, f.e_r[0], f.e[0]);
    else if (c.below) send_slot(row_slot(WARPS - 1, 0), signal_of(E_ROW, WARPS - 1), -1, lane, f.e_r[0], f.e[0]);
}
__device__ inline void send_side(const Patch &f, int lane, const Course &c) {
#if RADIAL_WARPS
    if (lane < 31) return;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        real *slot = edge_slot(c.warp * ROWS + r, 1);
        slot[0] = f.h_z[r][CELLS - 1], slot[1] = f.h[r][CELLS - 1];
    }
    give_signal(signal_of(H_COLUMN, c.warp * ROWS / STRIP_HEIGHT));
#endif
}

// What other blocks will send a warp in this step.
__device__ inline void expect_rows(const Course &c, int lane) {
#if CLUSTERED
    if (c.warp == 0 && c.below && lane == 0) expect_bytes(signal_of(H_ROW, 0), ROW_BYTES);
    if (c.warp == WARPS - 1 && c.above && lane == 0) expect_bytes(signal_of(E_ROW, WARPS - 1), ROW_BYTES);
#endif
}

// Rows that nobody sends are zero.
__device__ inline void clear_slots(const Course &c, int lane) {
    const real zeros[CELLS] = {};
    if (!c.below) write_slot(row_slot(c.warp, 1), lane, zeros, zeros);
    if (!c.above) write_slot(row_slot(c.warp, 0), lane, zeros, zeros);
}

// One step of a patch; `more`: another follows in this launch. What a neighbour waits for is done first and sent at once;
// signals are looked for early, so that waiting for what has come takes no time.
template <int NEED> __device__ inline void advance(Patch &f, Rows &g, Course &c, int step, bool more) {
    const int row = TABLES > 1 ? g.row : c.warp * ROWS;
    expect_rows(c, g.lane);
    const bool h_there = !c.below || signal_given(signal_of(H_ROW, c.warp), c.turn);
#pragma unroll
    for (int r = ROWS - 1; r > 0; --r)
        advance_across<NEED>(f, g, r, row + r, f.h_r[r - 1], f.h[r - 1], step), advance_ez<NEED>(f, g, r);
    {
        real hr_below[CELLS], h_below[CELLS];
        if (!h_there) await_signal(signal_of(H_ROW, c.warp), c.turn);
        load_slot(row_slot(c.warp, 1), g.lane, hr_below, h_below);
        advance_across<NEED>(f, g, 0, row, hr_below, h_below, step);
    }
    send_bottom(f, g.lane, c);
    const bool column_there = !RADIAL_WARPS || signal_given(signal_of(E_COLUMN, c.warp), c.turn);
    advance_ez<NEED>(f, g, 0);
    real edge[ROWS][2];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) edge[r][0] = edge[r][1] = 0;
#if RADIAL_WARPS
    if (!column_there) await_signal(signal_of(E_COLUMN, c.warp), c.turn);
    if (g.lane == 31)
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const real *slot = edge_slot(c.warp * ROWS + r, 0);
            edge[r][0] = slot[0], edge[r][1] = slot[1];
        }
#endif
    const bool e_there = !c.above || signal_given(signal_of(E_ROW, c.warp), c.turn);
#pragma unroll
    for (int r = 0; r + 1 < ROWS; ++r)
        advance_up<NEED>(f, g, r, row + r, f.e_r[r + 1], f.e[r + 1], edge[r][0]), advance_hz<NEED>(f, g, r, edge[r][1]);
    {
        real er_above[CELLS], e_above[CELLS];
        if (!e_there) await_signal(signal_of(E_ROW, c.warp), c.turn);
        load_slot(row_slot(c.warp, 0), g.lane, er_above, e_above);
        advance_up<NEED>(f, g, ROWS - 1, row + ROWS - 1, er_above, e_above, edge[ROWS - 1][0]);
    }
    ++c.turn;
    if (NEED & RARE) g.amplitude = amplitude_of(step + 1);
    if (more) send_top(f, g.lane, c);
    advance_hz<NEED>(f, g, ROWS - 1, edge[ROWS - 1][1]);
    if (more) send_side(f, g.lane, c);
}
