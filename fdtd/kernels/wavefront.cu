// The wavefront: one block an antenna, one warp two time levels, rows streamed along z (time skewing of populations).
//
// At iteration t level l advances E of row k = t - 2 l, then H of row k - 1; both its neighbours in time are two rows
// away, so everything that a level reads was finished in the iteration before: one barrier an iteration. A warp keeps
// three rows in registers. After the last row of the lattice comes a row of zeros, the conductor in the plane k = nz, and
// right behind it the first row again, LEVELS steps later. The columns of the radial layer belong to warps of their own
// (radial.cuh), in step with the others; the last of them also records the rows that the main warps leave for it.
//
// Settings: REAL, REAL_BYTES, CELLS (lanes.cuh); WARPS (main warps; LEVELS = 2 WARPS), AHEAD (rows that the first warp
// asks for ahead of time, 2^n - 1), RADIAL_COLUMNS, RADIAL_WARPS (at least one), RADIAL_LEVELS (levels a radial lane),
// TAPS (samples under way at a time, 2^n).
// Launch: (batch) blocks of (WARPS + RADIAL_WARPS) 32 threads; `first` step, `count` of steps.
#if !defined(WARPS) || !defined(AHEAD) || !defined(RADIAL_COLUMNS) || !defined(RADIAL_WARPS) || !defined(RADIAL_LEVELS)
#error "WARPS, AHEAD, RADIAL_COLUMNS, RADIAL_WARPS and RADIAL_LEVELS must be set"
#endif
#ifndef TAPS
#error "TAPS must be set"
#endif
#if AHEAD & (AHEAD + 1) || TAPS & (TAPS - 1) || RADIAL_WARPS < 1
#error "AHEAD + 1 and TAPS must be powers of two, and RADIAL_WARPS at least one"
#endif
#define LEVELS (2 * WARPS)
#define THREADS (32 * (WARPS + RADIAL_WARPS))
#include "bor.cuh"
#include "recording.cuh"

// Where one level stands: its row k of E (nz: the row of zeros), the step that it takes there.
struct Level {
    int k, step, word, word_below;
    int sample;        // that this step ends in, or -1
    bool valid, live;  // inside the run of passes; inside the steps asked for
};

struct Passes {
    int first, end, last;  // steps asked for: [first, end); steps of all passes: [first, last)
};

__device__ inline void judge(Level &at, const Passes &passes) {
    at.valid = at.step >= passes.first && at.step < passes.last;
    at.live = at.valid && at.step < passes.end;
    at.sample = at.live && (at.step + 1) % P.record_every == 0 ? (at.step + 1) / P.record_every - 1 : -1;
}

// Level `level` in iteration 0, where only the first level has begun.
__device__ inline void place(Level &at, int level, const Passes &passes, const int *words) {
    at.k = level ? P.nz + 1 - 2 * level : 0;
    at.step = passes.first + level - (level ? LEVELS : 0);
    at.word = words[at.k], at.word_below = 0;
    judge(at, passes);
}

__device__ inline void move_on(Level &at, const Passes &passes, const int *words) {
    at.word_below = at.word;
    if (++at.k > P.nz) at.k = 0, at.step += LEVELS, judge(at, passes);
    at.word = words[at.k];
}

struct Place {
    int antenna, warp, lane;
};

struct Shared {
    vector *links;  // [WARPS - 1][2][ROW_VECTORS]: finished rows on their way to the next warp
    vector *ring;   // [AHEAD + 1][ROW_VECTORS]: rows from memory
    vector *taps;   // [2][TAPS][ROW_VECTORS]: rows to record
    real *h_edge;   // [2][LEVELS][2]: h_z, h of the main warps' last column, as level l meets them
    real *e_edge;   // [2][LEVELS][2]: e_z, e of the radial layer's first column
    real *chain;    // [2][radial groups][14][RADIAL_COLUMNS]
    int2 *posts;    // [2][TAPS]: row and sample of each tap, or -1
    int *words;     // [nz + 1]
};
#include "radial.cuh"

__device__ inline Shared carve(unsigned char *base, int &bytes) {
    Shared s;
    s.links = reinterpret_cast<vector *>(base);
    s.ring = s.links + (WARPS - 1) * 2 * ROW_VECTORS;
    s.taps = s.ring + (AHEAD + 1) * ROW_VECTORS;
    s.h_edge = reinterpret_cast<real *>(s.taps + 2 * TAPS * ROW_VECTORS);
    s.e_edge = s.h_edge + 4 * LEVELS;
    s.chain = s.e_edge + 4 * LEVELS;
    s.posts = reinterpret_cast<int2 *>(s.chain + 2 * RADIAL_GROUPS * 14 * RADIAL_COLUMNS);
    s.words = reinterpret_cast<int *>(s.posts + 2 * TAPS);
    bytes = int(reinterpret_cast<unsigned char *>(s.words) - base);
    return s;
}

// E of row k of one level.
__device__ inline void level_e(Row &row, Row &below, const Level &at, const Columns &c, const Place &p) {
    if (at.live && at.k < P.nz) advance_e(row, below, c, p.lane, at.word, p.antenna, at.k, at.step);
}

// H of row k - 1 of one level; leaves it to be recorded if a sample is due.
__device__ inline void level_h(
    Row &row, const Row &above, const Level &at, const Columns &c, const Place &p, const real *edge, const Shared &s,
    int now
) {
    if (!at.live || at.k == 0) return;
    advance_h(row, above, c, p.lane, edge[0], edge[1], at.word_below, p.antenna, at.k - 1);
    if (at.sample >= 0 && at.word_below & ROW_RECORDED) {
        const int tap = now * TAPS + (at.sample & (TAPS - 1));
        write_shared(s.taps + tap * ROW_VECTORS, p.lane, row);
        if (p.lane == 0) s.posts[tap] = {at.k - 1, at.sample};
    }
}

// Asks for one row from memory into its slot of the ring.
__device__ inline void ask(const Shared &s, const Place &p, const Level &at, int slot) {
    if (at.valid && at.k < P.nz) {
        const real *row = field(p.antenna, at.k, 0) + p.lane * CELLS;
        vector *to = s.ring + slot * ROW_VECTORS + p.lane;
#pragma unroll
        for (int n = 0; n < 6; ++n)
#pragma unroll
            for (int v = 0; v < VECTORS; ++v)
                copy_16_bytes(to + (n * VECTORS + v) * 32, row + n * P.pitch + v * WIDTH);
    }
    close_copies();
}

__device__ inline void main_warp(const Shared &s, const Passes &passes, const Place &p, int iterations) {
    Row newest, middle, oldest;  // of the warp's first level: rows k - 1, k - 2, k - 3
    clear(newest), clear(middle), clear(oldest);
    Columns c;
    read_columns(p.lane, c);
    Level early, late, asked;
    place(early, 2 * p.warp, passes, s.words), place(late, 2 * p.warp + 1, passes, s.words);
    place(asked, 0, passes, s.words);
    if (p.warp == 0) {
#pragma unroll 1
        for (int t = 0; t < AHEAD; ++t) ask(s, p, asked, t), move_on(asked, passes, s.words);
    }
#pragma unroll 1
    for (int t = 0; t < iterations; ++t) {
        const int now = t & 1, before = now ^ 1;
        level_e(middle, oldest, late, c, p);
        level_h(oldest, middle, late, c, p, s.e_edge + (before * LEVELS + 2 * p.warp + 1) * 2, s, now);
        if (p.warp + 1 < WARPS) {
            write_shared(s.links + (p.warp * 2 + now) * ROW_VECTORS, p.lane, oldest);
            if (p.lane == 31) {
                real *edge = s.h_edge + (now * LEVELS + 2 * p.warp + 2) * 2;
                edge[0] = oldest.h_z[CELLS - 1], edge[1] = oldest.h[CELLS - 1];
            }
        } else if (late.valid && late.k > 0) write_global(field(p.antenna, late.k - 1, 0), p.lane, oldest);
        oldest = middle, middle = newest;
        if (p.warp > 0) read_shared(s.links + ((p.warp - 1) * 2 + before) * ROW_VECTORS, p.lane, newest);
        else {
            wait_copies<AHEAD - 1>();
            if (early.valid && early.k < P.nz) read_shared(s.ring + (t & AHEAD) * ROW_VECTORS, p.lane, newest);
            else clear(newest);
            ask(s, p, asked, (t + AHEAD) & AHEAD);
            move_on(asked, passes, s.words);
        }
        level_e(newest, middle, early, c, p);
        level_h(middle, newest, early, c, p, s.e_edge + (before * LEVELS + 2 * p.warp) * 2, s, now);
        if (p.lane == 31) {
            real *edge = s.h_edge + (now * LEVELS + 2 * p.warp + 1) * 2;
            edge[0] = middle.h_z[CELLS - 1], edge[1] = middle.h[CELLS - 1];
        }
        move_on(early, passes, s.words), move_on(late, passes, s.words);
        __syncthreads();  // rows, edges and filter memory of this iteration are there for the next
    }
    wait_copies<0>();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) wavefront(int first, int count) {
    const Place p{int(blockIdx.x), int(threadIdx.x / 32), int(threadIdx.x % 32)};
    if (!P.active[p.antenna]) return;
    int bytes;
    const Shared s = carve(shared_base(), bytes);
    for (int at = threadIdx.x; at < bytes / 4; at += THREADS) reinterpret_cast<int *>(s.links)[at] = 0;
    __syncthreads();  // nothing is cleared after it has been set
    for (int k = threadIdx.x; k <= P.nz; k += THREADS) s.words[k] = row_word(p.antenna, k);
    for (int n = threadIdx.x; n < 2 * TAPS; n += THREADS) s.posts[n].x = -1;
    __syncthreads();  // shared memory is ready
    const int rounds = (count + LEVELS - 1) / LEVELS;
    const Passes passes{first, first + count, first + rounds * LEVELS};
    const int iterations = rounds * (P.nz + 1) + 2 * LEVELS;
    if (p.warp < WARPS) main_warp(s, passes, p, iterations);
    else radial_warp(s, passes, p, iterations);
}
