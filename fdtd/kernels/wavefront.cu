// The wavefront: one block an antenna, one warp a time level, rows streamed along z (time skewing of populations).
//
// At iteration t level l advances E of row k = t - LAG l, then H of row k - 1, and hands row k - 1 on. A row is handed on
// two iterations before the next level needs it, so that it can be asked for before the barrier that ends the iteration:
// one barrier a row, and nothing to wait for after it. A warp keeps two rows in registers, which change roles. After the
// last row of the lattice comes a row of zeros, the conductor in the plane k = nz, and right behind it the first row
// again, LEVELS steps later. The columns of the radial layer belong to warps of their own (radial.cuh), in step with the
// others; the last of them also records the rows that the main warps leave for it.
//
// Settings: REAL, REAL_BYTES, CELLS (lanes.cuh); LEVELS (time levels, one main warp each), AHEAD (rows that the first
// warp asks for ahead of time), RADIAL_COLUMNS, RADIAL_WARPS (at least one), RADIAL_LEVELS (levels a radial lane), TAPS
// (samples under way at a time, 2^n).
// Launch: (batch) blocks of (LEVELS + RADIAL_WARPS) 32 threads; `first` step, `count` of steps.
#if !defined(LEVELS) || !defined(AHEAD) || !defined(RADIAL_COLUMNS) || !defined(RADIAL_WARPS) || !defined(RADIAL_LEVELS)
#error "LEVELS, AHEAD, RADIAL_COLUMNS, RADIAL_WARPS and RADIAL_LEVELS must be set"
#endif
#ifndef TAPS
#error "TAPS must be set"
#endif
#if AHEAD < 1 || TAPS & (TAPS - 1) || RADIAL_WARPS < 1
#error "AHEAD and RADIAL_WARPS must be at least one, and TAPS a power of two"
#endif
#define LAG 3
#define THREADS (32 * (LEVELS + RADIAL_WARPS))
#include "bor.cuh"
#include "recording.cuh"

struct Passes {
    int first, end, last;  // steps asked for: [first, end); steps of all passes: [first, last)
};

// Where one level stands: its row k of E (nz: the row of zeros), the step that it takes there.
struct Level {
    int k, step, word, word_below;
    int sample;  // that this step ends in, or -1
    int life;    // 0 outside the run of passes, 1 beyond the steps asked for (rows go through unchanged), 2 to be stepped
};

__device__ inline void judge(Level &at, const Passes &passes) {
    at.life = at.step < passes.first || at.step >= passes.last ? 0 : at.step < passes.end ? 2 : 1;
    at.sample = at.life == 2 && (at.step + 1) % P.record_every == 0 ? (at.step + 1) / P.record_every - 1 : -1;
}

// Level `level` in iteration 0, where only the first level has begun.
__device__ inline void place(Level &at, int level, const Passes &passes, const int *words) {
    at.k = level ? P.nz + 1 - LAG * level : 0;
    at.step = passes.first + level - (level ? LEVELS : 0);
    at.word = words[at.k], at.word_below = 0;
    judge(at, passes);
}

__device__ inline void move_on(Level &at, const Passes &passes, const int *words) {
    at.word_below = at.word;
    if (RARELY(++at.k > P.nz)) at.k = 0, at.step += LEVELS, judge(at, passes);
    at.word = words[at.k];
}

struct Place {
    int antenna, warp, lane;
};

struct Shared {
    vector *links;  // [LEVELS - 1][2][ROW_VECTORS]: finished rows on their way to the next level
    vector *ring;   // [AHEAD + 1][ROW_VECTORS]: rows from memory
    vector *taps;   // [2][TAPS][ROW_VECTORS]: rows to record
    vector *spill;  // [32]: where copies go that are made for the cache
    real *h_edge;   // [4][LEVELS][2]: h_z, h of the last main column, as level l leaves them
    real *e_edge;   // [2][LEVELS][2]: e_z, e of the radial layer's first column
    real *chain;    // [4][LEVELS][14][RADIAL_COLUMNS]: the radial layer's finished cells
    int2 *posts;    // [2][TAPS]: row and sample of each tap, or -1
    int *words;     // [nz + 1]
};

__device__ inline Shared carve(unsigned char *base, int &bytes) {
    Shared s;
    s.links = reinterpret_cast<vector *>(base);
    s.ring = s.links + (LEVELS - 1) * 2 * ROW_VECTORS;
    s.taps = s.ring + (AHEAD + 1) * ROW_VECTORS;
    s.spill = s.taps + 2 * TAPS * ROW_VECTORS;
    s.h_edge = reinterpret_cast<real *>(s.spill + 32);
    s.e_edge = s.h_edge + 8 * LEVELS;
    s.chain = s.e_edge + 4 * LEVELS;
    s.posts = reinterpret_cast<int2 *>(s.chain + 4 * LEVELS * 14 * RADIAL_COLUMNS);
    s.words = reinterpret_cast<int *>(s.posts + 2 * TAPS);
    bytes = int(reinterpret_cast<unsigned char *>(s.words) - base);
    return s;
}
#include "radial.cuh"

// Brings part of a row that later branches read into the first-level cache.
__device__ inline void warm(const Shared &s, int lane, const real *row) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) copy_16_cached(s.spill + lane, row + lane * CELLS + v * WIDTH);
}

__device__ inline void warm_row(const Shared &s, const Place &p, int k, int word) {
    const int column = p.lane * CELLS;
    if (word & ROW_REACH && column < (word & ROW_REACH)) {
#pragma unroll 1
        for (int n = 0; n < 6; ++n) warm(s, p.lane, medium(p.antenna, k, n));
    }
    if (word & ROW_CUT) {
#pragma unroll 1
        for (int n = 0; n < 3; ++n) warm(s, p.lane, open_face(p.antenna, k, n));
    }
    if (word & ROW_COUPLED) warm(s, p.lane, node_coupling(p.antenna, k));
    if (word & ROW_AXIAL && column < P.axial_rows[k]) {
#pragma unroll 1
        for (int n = 0; n < 4; ++n) warm(s, p.lane, axial_memory(p.antenna, k, n));
    }
}

// Asks for row k from memory into its slot of the ring.
__device__ inline void ask(const Shared &s, const Place &p, int k, bool wanted, int slot) {
    if (wanted && k < P.nz) {
        const real *row = field(p.antenna, k, 0) + p.lane * CELLS;
        vector *to = s.ring + slot * ROW_VECTORS + p.lane;
#pragma unroll
        for (int n = 0; n < 6; ++n)
#pragma unroll
            for (int v = 0; v < VECTORS; ++v)
                copy_16_bytes(to + (n * VECTORS + v) * 32, row + n * P.pitch + v * WIDTH);
        const int word = s.words[k];
        if (RARELY(word & (ROW_REACH | ROW_CUT | ROW_COUPLED | ROW_AXIAL))) warm_row(s, p, k, word);
    }
    close_copies();
}

// One level's update: E of `row` (k), H of `below` (k - 1); what is due is left to be recorded.
__device__ inline void advance(
    Row &row, Row &below, const Level &at, const Columns &c, const Place &p, const Shared &s, int now
) {
    if (RARELY(at.life < 2)) return;
    const real *edge = s.e_edge + ((now ^ 1) * LEVELS + p.warp) * 2;
    const real edge_ez = edge[0], edge_e = edge[1];
    if (RARELY(at.word & E_FULL || at.k == P.nz)) {
        if (at.k < P.nz) advance_e_full(row, below, c, p.lane, at.word, p.antenna, at.k, at.step);
    } else advance_e_plain(row, below, c, p.lane);
    if (RARELY(at.word_below & H_FULL || at.k == 0)) {
        if (at.k > 0)
            advance_h_full(below, row, c, p.lane, edge_ez, edge_e, at.word_below, p.antenna, at.k - 1);
    } else advance_h_plain(below, row, c, p.lane, edge_ez, edge_e);
    if (RARELY(at.sample >= 0 && at.word_below & ROW_RECORDED && at.k > 0)) {
        const int tap = now * TAPS + (at.sample & (TAPS - 1));
        write_shared(s.taps + tap * ROW_VECTORS, p.lane, below);
        if (p.lane == 0) s.posts[tap] = {at.k - 1, at.sample};
    }
}

// Hands the finished row `below` on and loads the row after the present one in its place; `slot`: of the ring, the next
// row's.
__device__ inline void hand_on(
    Row &below, Level &at, int &slot, const Passes &passes, const Place &p, const Shared &s, int now
) {
    if (p.warp + 1 < LEVELS) {
        write_shared(s.links + (p.warp * 2 + now) * ROW_VECTORS, p.lane, below);
    } else if (at.life && at.k > 0) write_global(field(p.antenna, at.k - 1, 0), p.lane, below);
    move_on(at, passes, s.words);
    if (p.warp > 0) read_shared(s.links + ((p.warp - 1) * 2 + (now ^ 1)) * ROW_VECTORS, p.lane, below);
    else {
        wait_copies<AHEAD - 1>();
        if (at.life && at.k < P.nz) read_shared(s.ring + slot * ROW_VECTORS, p.lane, below);
        else clear(below);
        const bool wraps = at.k + AHEAD > P.nz;
        const int k = at.k + AHEAD - (wraps ? P.nz + 1 : 0), step = at.step + (wraps ? LEVELS : 0);
        ask(s, p, k, step >= passes.first && step < passes.last, slot == 0 ? AHEAD : slot - 1);
        slot = slot == AHEAD ? 0 : slot + 1;
    }
}

__device__ inline void iterate(
    Row &row, Row &below, Level &at, int &slot, int t, const Columns &c, const Passes &passes, const Place &p,
    const Shared &s
) {
    const int now = t & 1;
    advance(row, below, at, c, p, s, now);
    if (p.lane == 31) {
        real *edge = s.h_edge + ((t & 3) * LEVELS + p.warp) * 2;
        edge[0] = below.h_z[CELLS - 1], edge[1] = below.h[CELLS - 1];
    }
    hand_on(below, at, slot, passes, p, s, now);
    __syncthreads();  // rows, edges and filter memory of this iteration are there for the next
}

__device__ inline void main_warp(const Shared &s, const Passes &passes, const Place &p, int iterations) {
    Row x, y;
    clear(x), clear(y);
    Columns c;
    read_columns(p.lane, c);
    Level at;
    place(at, p.warp, passes, s.words);
    int slot = 1;
    if (p.warp == 0) {
#pragma unroll 1
        for (int k = 0; k <= AHEAD; ++k) ask(s, p, k, true, k);
        wait_copies<AHEAD>();
        read_shared(s.ring, p.lane, x);
    }
#pragma unroll 1
    for (int t = 0; t < iterations; t += 2) {
        iterate(x, y, at, slot, t, c, passes, p, s);
        iterate(y, x, at, slot, t + 1, c, passes, p, s);
    }
    wait_copies<0>();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) wavefront(int first, int count) {
    const Place p{int(blockIdx.x), warp_index(), int(threadIdx.x % 32)};
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
    const int iterations = (rounds * (P.nz + 1) + LAG * LEVELS + 1) / 2 * 2;
    if (p.warp < LEVELS) main_warp(s, passes, p, iterations);
    else radial_warp(s, passes, p, iterations);
}
