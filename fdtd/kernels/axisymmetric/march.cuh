// A block of WARPS patches, one above the other, and the strips of the radial layer next to them, in step: each warp
// waits only for the rows and columns that its neighbours send, by signals in shared memory.
//
// A row is sent as soon as its half step is done and read as late as possible. One slot an edge is enough: two
// neighbours need each other's rows in turn, so neither can overwrite a row that the other has not read.
//
// Settings: those of lanes.cuh; ROWS (of a patch); WARPS; RADIAL_WARPS, RADIAL_COLUMNS, STRIP_ROWS (0 warps: no radial
// layer); CLUSTERED (1: the blocks of a cluster stand one above the other, and send across); SEGMENTS (patches side by
// side that the columns before the radial layer are cut into, of which a block has one at a time; 1 if not set).
// Provides the signals and slots, and the step of a strip.
#if !defined(WARPS) || !defined(ROWS) || !defined(RADIAL_WARPS) || !defined(RADIAL_COLUMNS) || !defined(CLUSTERED)
#error "WARPS, ROWS, RADIAL_WARPS, RADIAL_COLUMNS and CLUSTERED must be set"
#endif
#include "kernels/axisymmetric/lanes.cuh"
#include "kernels/signals.cuh"
#ifndef SEGMENTS
#define SEGMENTS 1
#endif
// Stored column where the last segment begins, next to the radial layer.
#define LAST_ORIGIN (SEGMENTS > 1 ? P.lead + P.radial_start - 32 * CELLS : 0)
#define STRIP_ORIGIN LAST_ORIGIN

// A row's entry for an axial layer: 1/kappa, b, c and the columns that it covers (0 in rows without), for E or for H.
struct LayerRow {
    real keep, b, c, columns;
};
#if RADIAL_WARPS
#include "kernels/axisymmetric/strip.cuh"
#endif

// A number that is equal in all lanes, in a form that the compiler recognises: branches on it do not divide the warp.
__device__ inline int agreed(int number) { return __shfl_sync(ALL_LANES, number, 0); }

#define WIDE (32 * CELLS)  // columns of a patch
#define HEIGHT (WARPS * ROWS)
#define THREADS (32 * (WARPS + RADIAL_WARPS))
#if RADIAL_WARPS
// Lanes of a strip that write next to a patch, or one for all its rows.
#define COLUMN_GIVERS (STRIP_ROWS % ROWS ? ROWS : 1)
#else
#define COLUMN_GIVERS 1
#endif
// Signals, rows [warp][e, h][2][WIDE], edges [row][e, h][2], strip rows [warp][e, h][2][RADIAL_COLUMNS].
#define SIGNAL_BYTES ((8 * 3 * (WARPS + RADIAL_WARPS) + 15) / 16 * 16)
#define MAIL_NUMBERS (WARPS * 4 * WIDE + (RADIAL_WARPS ? 4 * HEIGHT : 0) + RADIAL_WARPS * 4 * RADIAL_COLUMNS)
#define MARCH_BYTES ((SIGNAL_BYTES + MAIL_NUMBERS * REAL_BYTES + 127) / 128 * 128)

// Completed by these arrivals: a patch's E row from above, H row from below, the layer's first column; a strip's E and
// H rows, the last main column.
enum Signal { E_ROW, H_ROW, E_COLUMN, STRIP_E_ROW, STRIP_H_ROW, H_COLUMN };

__device__ inline signal_word *signal_of(Signal kind, int warp) {
    const int place = kind < STRIP_E_ROW ? kind * WARPS : 3 * WARPS + (kind - STRIP_E_ROW) * RADIAL_WARPS;
    return reinterpret_cast<signal_word *>(shared_base()) + place + warp;
}
__device__ inline real *mail() { return reinterpret_cast<real *>(shared_base() + SIGNAL_BYTES); }
__device__ inline real *row_slot(int warp, int half) { return mail() + (warp * 2 + half) * 2 * WIDE; }
__device__ inline real *edge_slot(int row, int half) { return mail() + WARPS * 4 * WIDE + (row * 2 + half) * 2; }
__device__ inline real *strip_slot(int warp, int half) {
    return mail() + WARPS * 4 * WIDE + 4 * HEIGHT + (warp * 2 + half) * 2 * RADIAL_COLUMNS;
}

// Lanes that give the signal of a patch's row: one is faster in blocks of few warps (decision record 0051).
#define ROW_GIVERS (WARPS + RADIAL_WARPS > 12 ? 32 : 1)

// One thread, before a barrier of all threads. Of a strip's row each lane that has written gives the signal; where another
// block writes, only the bytes are expected.
__device__ inline void prepare_signals() {
    for (int w = 0; w < WARPS; ++w) {
        prepare_signal(signal_of(E_ROW, w), CLUSTERED && w == WARPS - 1 ? 1 : ROW_GIVERS);
        prepare_signal(signal_of(H_ROW, w), CLUSTERED && w == 0 ? 1 : ROW_GIVERS);
        prepare_signal(signal_of(E_COLUMN, w), COLUMN_GIVERS);
    }
#if RADIAL_WARPS
    for (int v = 0; v < RADIAL_WARPS; ++v) {
        prepare_signal(signal_of(STRIP_E_ROW, v), CLUSTERED && v == RADIAL_WARPS - 1 ? 1 : RADIAL_COLUMNS);
        prepare_signal(signal_of(STRIP_H_ROW, v), CLUSTERED && v == 0 ? 1 : RADIAL_COLUMNS);
        const int first = v * STRIP_HEIGHT / ROWS, end = (v + 1) * STRIP_HEIGHT / ROWS;
        prepare_signal(signal_of(H_COLUMN, v), (end < WARPS ? end : WARPS) - first);
    }
#endif
}

// Two lane-wise components of a row in a slot, free of bank conflicts.
__device__ inline void load_slot(const real *slot, int lane, real *first, real *second) {
    const vector *from = reinterpret_cast<const vector *>(slot) + lane;
    read_component(from, 0, 0, first), read_component(from, 1, 0, second);
}
__device__ inline void write_slot(real *slot, int lane, const real *first, const real *second) {
    vector *to = reinterpret_cast<vector *>(slot) + lane;
    write_component(to, 0, 0, first), write_component(to, 1, 0, second);
}
// To a warp of this block or, `by` blocks above, of another.
__device__ inline void send_slot(real *slot, signal_word *signal, int by, int lane, const real *first, const real *second) {
#if CLUSTERED
    if (by) {
        vector *to = reinterpret_cast<vector *>(slot) + lane;
        const int rank = cluster_rank() + by;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            send(to + v * 32, rank, packed(first + v * WIDTH), signal);
            send(to + (VECTORS + v) * 32, rank, packed(second + v * WIDTH), signal);
        }
        return;
    }
#endif
    write_slot(slot, lane, first, second);
    if (ROW_GIVERS == 1) __syncwarp();
    if (ROW_GIVERS > 1 || lane == 0) give_signal(signal);
}
#define ROW_BYTES (2 * WIDE * REAL_BYTES)

// Neighbours of a warp, and the turn of their signals.
struct Course {
    int warp;
    bool below, above;   // whether a patch exists
    int turn;
};

#if RADIAL_WARPS
#define STRIP_BYTES (2 * RADIAL_COLUMNS * REAL_BYTES)

// Two components of a strip's edge row, from the lanes that `hold` it.
__device__ inline void send_strip(
    real *slot, signal_word *signal, int by, const Strip &g, bool hold, real first, real second
) {
#if CLUSTERED
    if (by) {
        const int rank = cluster_rank() + by;
        if (hold) send(slot + g.column, rank, first, signal), send(slot + RADIAL_COLUMNS + g.column, rank, second, signal);
        return;
    }
#endif
    if (hold) slot[g.column] = first, slot[RADIAL_COLUMNS + g.column] = second, give_signal(signal);
}

__device__ inline void send_strip_h(const LayerCell (&x)[STRIP_ROWS], const Strip &g, const Course &c) {
    if (!c.above) return;
    const int by = c.warp == RADIAL_WARPS - 1, to = by ? 0 : c.warp + 1;
    send_strip(strip_slot(to, 1), signal_of(STRIP_H_ROW, to), by, g, g.works && g.top, x[STRIP_ROWS - 1].at[H_R],
               x[STRIP_ROWS - 1].at[H_PHI]);
}

template <int KIND> __device__ inline void strip_half_e(LayerCell (&x)[STRIP_ROWS], const Strip &g, const Course &c) {
    real hr_below = __shfl_up_sync(ALL_LANES, x[STRIP_ROWS - 1].at[H_R], RADIAL_COLUMNS);
    real h_below = __shfl_up_sync(ALL_LANES, x[STRIP_ROWS - 1].at[H_PHI], RADIAL_COLUMNS);
    if (g.group == 0) hr_below = h_below = 0;
    await_signal(signal_of(H_COLUMN, c.warp), c.turn);
    if (c.below) {
        await_signal(signal_of(STRIP_H_ROW, c.warp), c.turn);
        const real *slot = strip_slot(c.warp, 1) + g.column;
        if (g.group == 0) hr_below = slot[0], h_below = slot[RADIAL_COLUMNS];
    }
#pragma unroll
    for (int r = STRIP_ROWS - 1; r >= 0; --r) {
        real edge_hz = 0, edge_h = 0;
        if (g.works && g.column == 0) edge_hz = edge_slot(g.row + r, 1)[0], edge_h = edge_slot(g.row + r, 1)[1];
        strip_e<KIND>(x[r], r ? x[r - 1].at[H_R] : hr_below, r ? x[r - 1].at[H_PHI] : h_below, edge_hz, edge_h, g, r);
        if (g.works && g.column == 0) {
            edge_slot(g.row + r, 0)[0] = x[r].at[E_Z], edge_slot(g.row + r, 0)[1] = x[r].at[E_PHI];
            if (COLUMN_GIVERS > 1 || r % ROWS == 0) give_signal(signal_of(E_COLUMN, (g.row + r) / ROWS));
        }
    }
    if (c.below) {
        const int by = c.warp == 0 ? -1 : 0, to = by ? RADIAL_WARPS - 1 : c.warp - 1;
        send_strip(strip_slot(to, 0), signal_of(STRIP_E_ROW, to), by, g, g.group == 0, x[0].at[E_R], x[0].at[E_PHI]);
    }
}

template <int KIND> __device__ inline void strip_half_h(LayerCell (&x)[STRIP_ROWS], const Strip &g, const Course &c) {
    real er_above = __shfl_down_sync(ALL_LANES, x[0].at[E_R], RADIAL_COLUMNS);
    real e_above = __shfl_down_sync(ALL_LANES, x[0].at[E_PHI], RADIAL_COLUMNS);
    if (g.top) er_above = e_above = 0;
    if (c.above) {
        await_signal(signal_of(STRIP_E_ROW, c.warp), c.turn);
        const real *slot = strip_slot(c.warp, 0) + g.column;
        if (g.top) er_above = slot[0], e_above = slot[RADIAL_COLUMNS];
    }
#pragma unroll
    for (int r = 0; r < STRIP_ROWS; ++r)
        strip_h<KIND>(x[r], r + 1 < STRIP_ROWS ? x[r + 1 < STRIP_ROWS ? r + 1 : r].at[E_R] : er_above,
                r + 1 < STRIP_ROWS ? x[r + 1 < STRIP_ROWS ? r + 1 : r].at[E_PHI] : e_above, g, r);
}

// Bytes that other blocks send to a warp in this step.
__device__ inline void expect_strips(const Course &c, int lane) {
#if CLUSTERED
    if (lane) return;
    if (c.below && c.warp == 0) expect_bytes(signal_of(STRIP_H_ROW, 0), STRIP_BYTES);
    if (c.above && c.warp == RADIAL_WARPS - 1) expect_bytes(signal_of(STRIP_E_ROW, c.warp), STRIP_BYTES);
#endif
}

// One step of a strip.
__device__ inline void march_strip(LayerCell (&x)[STRIP_ROWS], const Strip &g, Course &c, bool more) {
    expect_strips(c, g.lane);
    if (SEGMENTS > 1 && g.kind == STRIP_IDLE) strip_half_e<STRIP_IDLE>(x, g, c), strip_half_h<STRIP_IDLE>(x, g, c);
    else if (g.kind == STRIP_AIR) strip_half_e<STRIP_AIR>(x, g, c), strip_half_h<STRIP_AIR>(x, g, c);
    else if (g.kind == STRIP_AXIAL) strip_half_e<STRIP_AXIAL>(x, g, c), strip_half_h<STRIP_AXIAL>(x, g, c);
    else strip_half_e<STRIP_FULL>(x, g, c), strip_half_h<STRIP_FULL>(x, g, c);
    ++c.turn;
    if (more) send_strip_h(x, g, c);
}
#endif
