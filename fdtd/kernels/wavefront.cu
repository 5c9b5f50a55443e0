// The wavefront: one block an antenna, one warp two time levels, rows streamed along z (time skewing of populations).
//
// At iteration t level l advances E of row k = t - 2 l, then H of row k - 1; both its neighbours in time are two rows
// away, so everything that a level reads was finished in the iteration before: one barrier an iteration. A warp keeps
// three rows in registers, which change roles from one iteration to the next. After the last row of the lattice comes a
// row of zeros, the conductor in the plane k = nz, and right behind it the first row again, LEVELS steps later. The
// columns of the radial layer belong to warps of their own (radial.cuh), in step with the others.
//
// Settings: REAL, REAL_BYTES, CELLS (lanes.cuh); WARPS (main warps; LEVELS = 2 WARPS), AHEAD (rows that the first warp
// asks for ahead of time, 2^n - 1), RADIAL_COLUMNS, RADIAL_WARPS, RADIAL_LEVELS (levels a radial lane).
// Launch: (batch) blocks of (WARPS + RADIAL_WARPS) 32 threads; `first` step, `count` of steps.
#if !defined(WARPS) || !defined(AHEAD) || !defined(RADIAL_COLUMNS) || !defined(RADIAL_WARPS) || !defined(RADIAL_LEVELS)
#error "WARPS, AHEAD, RADIAL_COLUMNS, RADIAL_WARPS and RADIAL_LEVELS must be set"
#endif
#if AHEAD & (AHEAD + 1)
#error "AHEAD + 1 must be a power of two"
#endif
#define LEVELS (2 * WARPS)
#define THREADS (32 * (WARPS + RADIAL_WARPS))
#include "bor.cuh"
#include "recording.cuh"

// Where one level stands: its row k of E (nz: the row of zeros), the step that it takes there.
struct Level {
    int k, step, word, word_below;
    bool valid, live;  // inside the run of passes; inside the steps asked for
};

struct Passes {
    int first, end, last;  // steps asked for: [first, end); steps of all passes: [first, last)
};

__device__ inline void judge(Level &at, const Passes &passes) {
    at.valid = at.step >= passes.first && at.step < passes.last;
    at.live = at.valid && at.step < passes.end;
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
    real *h_edge;   // [2][LEVELS][2]: h_z, h of the main warps' last column, as level l meets them
    real *e_edge;   // [2][LEVELS][2]: e_z, e of the radial layer's first column
    real *chain;    // [2][radial groups][14][RADIAL_COLUMNS]
    int *words;     // [nz + 1]
};
#include "radial.cuh"

__device__ inline Shared carve(unsigned char *base, int &bytes) {
    Shared s;
    s.links = reinterpret_cast<vector *>(base);
    s.ring = s.links + (WARPS - 1) * 2 * ROW_VECTORS;
    s.h_edge = reinterpret_cast<real *>(s.ring + (AHEAD + 1) * ROW_VECTORS);
    s.e_edge = s.h_edge + 4 * LEVELS;
    s.chain = s.e_edge + 4 * LEVELS;
    s.words = reinterpret_cast<int *>(s.chain + 2 * RADIAL_GROUPS * 14 * RADIAL_COLUMNS);
    bytes = int(reinterpret_cast<unsigned char *>(s.words) - base);
    return s;
}

// E of row k of one level.
__device__ inline void level_e(Row &row, Row &below, const Level &at, const Columns &c, const Place &p) {
    if (!at.live || at.k == P.nz) return;
    if (at.word & E_FULL) advance_e_full(row, below, c, p.lane, at.word, p.antenna, at.k, at.step);
    else advance_e_plain(row, below, c, p.lane);
}

// H of row k - 1 of one level, and what is recorded there.
__device__ inline void level_h(
    Row &row, const Row &above, const Level &at, const Columns &c, const Place &p, const real *edge
) {
    if (!at.live || at.k == 0) return;
    const real edge_ez = edge[0], edge_e = edge[1];
    if (at.word_below & H_FULL)
        advance_h_full(row, above, c, p.lane, edge_ez, edge_e, at.word_below, p.antenna, at.k - 1);
    else advance_h_plain(row, above, c, p.lane, edge_ez, edge_e);
    if (at.word_below & ROW_RECORDED && (at.step + 1) % P.record_every == 0)
        record_row(row, p.lane, p.antenna, at.k - 1, (at.step + 1) / P.record_every - 1);
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

// One iteration of a main warp. Rows of its first level: `oldest` is row k - 3 and becomes row k, `newest` is row k - 1;
// its second level is at row k - 2, `middle`.
__device__ inline void iterate(
    Row &newest, Row &middle, Row &oldest, Level &early, Level &late, Level &asked, int t, const Shared &s,
    const Passes &passes, const Columns &c, const Place &p
) {
    const int now = t & 1, before = now ^ 1;
    level_e(middle, oldest, late, c, p);
    level_h(oldest, middle, late, c, p, s.e_edge + (before * LEVELS + 2 * p.warp + 1) * 2);
    if (p.warp + 1 < WARPS) {
        write_shared(s.links + (p.warp * 2 + now) * ROW_VECTORS, p.lane, oldest);
        if (p.lane == 31) {
            real *edge = s.h_edge + (now * LEVELS + 2 * p.warp + 2) * 2;
            edge[0] = oldest.h_z[CELLS - 1], edge[1] = oldest.h[CELLS - 1];
        }
    } else if (late.valid && late.k > 0) write_global(field(p.antenna, late.k - 1, 0), p.lane, oldest);
    if (p.warp > 0) read_shared(s.links + ((p.warp - 1) * 2 + before) * ROW_VECTORS, p.lane, oldest);
    else {
        wait_copies<AHEAD - 1>();
        if (early.valid && early.k < P.nz) read_shared(s.ring + (t & AHEAD) * ROW_VECTORS, p.lane, oldest);
        else clear(oldest);
        ask(s, p, asked, (t + AHEAD) & AHEAD);
        move_on(asked, passes, s.words);
    }
    level_e(oldest, newest, early, c, p);
    level_h(newest, oldest, early, c, p, s.e_edge + (before * LEVELS + 2 * p.warp) * 2);
    if (p.lane == 31) {
        real *edge = s.h_edge + (now * LEVELS + 2 * p.warp + 1) * 2;
        edge[0] = newest.h_z[CELLS - 1], edge[1] = newest.h[CELLS - 1];
    }
    move_on(early, passes, s.words), move_on(late, passes, s.words);
    __syncthreads();  // rows, edges and filter memory of this iteration are there for the next
}

__device__ inline void main_warp(const Shared &s, const Passes &passes, const Place &p, int iterations) {
    Row x, y, z;
    clear(x), clear(y), clear(z);
    Columns c;
    read_columns(p.lane, c);
    Level early, late, asked;
    place(early, 2 * p.warp, passes, s.words), place(late, 2 * p.warp + 1, passes, s.words);
    place(asked, 0, passes, s.words);
    if (p.warp == 0)
        for (int t = 0; t < AHEAD; ++t) ask(s, p, asked, t), move_on(asked, passes, s.words);
#pragma unroll 1
    for (int t = 0; t < iterations; t += 3) {
        iterate(x, y, z, early, late, asked, t, s, passes, c, p);
        iterate(z, x, y, early, late, asked, t + 1, s, passes, c, p);
        iterate(y, z, x, early, late, asked, t + 2, s, passes, c, p);
    }
    wait_copies<0>();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) wavefront(int first, int count) {
    const Place p{int(blockIdx.x), int(threadIdx.x / 32), int(threadIdx.x % 32)};
    if (!P.active[p.antenna]) return;
    int bytes;
    const Shared s = carve(shared_base(), bytes);
    for (int at = threadIdx.x; at < bytes / 4; at += THREADS) reinterpret_cast<int *>(s.links)[at] = 0;
    for (int k = threadIdx.x; k <= P.nz; k += THREADS) s.words[k] = row_word(p.antenna, k);
    __syncthreads();  // shared memory is ready
    const int rounds = (count + LEVELS - 1) / LEVELS;
    const Passes passes{first, first + count, first + rounds * LEVELS};
    const int iterations = (rounds * (P.nz + 1) + 2 * LEVELS + 1) / 3 * 3;
    if (p.warp < WARPS) main_warp(s, passes, p, iterations);
#if RADIAL_COLUMNS
    else radial_warp(s, passes, p, iterations);
#endif
}
