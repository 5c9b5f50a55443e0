// The wavefront: one block an antenna, one warp a time level, rows streamed along z (time skewing of populations).
//
// At iteration t level l advances E of row t - lag(l), then H of the row below, passes that row on and loads its next
// row: one barrier an iteration. Even levels pass on before the barrier, odd levels after it, so that one half of the
// warps moves rows while the other half computes. A warp keeps two rows in registers, which change roles. After the
// last row of the lattice comes a row of zeros, the conductor in the plane k = nz, and right behind it the first row
// again, LEVELS steps later.
//
// Three kinds of work are not the main warps': the columns of the radial layer (radial.cuh), fetching rows from memory
// and recording (fetch.cuh). Radial warps do it, in step with the others: every fourth warp, so that they share one of
// the multiprocessor's four parts and its instruction cache.
//
// Settings: REAL, REAL_BYTES, CELLS (lanes.cuh); LEVELS (time levels, one main warp each), RADIAL_COLUMNS, RADIAL_WARPS
// (at least one), RADIAL_LEVELS (levels a radial lane), TAPS (samples under way at a time, 2^n), BLOCKS (of a
// multiprocessor, which decide the registers of a lane), RING (rows on their way from memory, at least 3), STAGED_ROWS,
// FIRST_LANE, STAGED_LANES, WIDE, COUPLED, NUMBERED, FIRST_CUT_LANE, CUT_LANES (rows.cuh); ROW_PITCH, RADIAL_PITCH.
// Launch: (batch) blocks of (LEVELS + RADIAL_WARPS) 32 threads; `first` step, `count` of steps, `iterations` of all
// levels for them (an even number; an argument, since registers are scarce and constants cost nothing); `looks`:
// whether the energy is computed after them.
#if !defined(LEVELS) || !defined(RADIAL_COLUMNS) || !defined(RADIAL_WARPS) || !defined(RADIAL_LEVELS) || !defined(TAPS)
#error "LEVELS, RADIAL_COLUMNS, RADIAL_WARPS, RADIAL_LEVELS and TAPS must be set"
#endif
#if !defined(BLOCKS) || !defined(RING) || RING < 3
#error "BLOCKS must be set, and RING to 3 or more"
#endif
#if TAPS & (TAPS - 1) || RADIAL_WARPS < 1 || RADIAL_WARPS > LEVELS
#error "TAPS must be a power of two, and RADIAL_WARPS between one and LEVELS"
#endif
#define WARPS (LEVELS + RADIAL_WARPS)
#define THREADS (32 * WARPS)
#define SPREAD (3 * RADIAL_WARPS > LEVELS ? LEVELS / 3 : RADIAL_WARPS)  // radial warps that are every fourth warp
#define MEDIUM_BYTES (NUMBERED ? 3 * 8 * STAGED_LANES : 6 * VECTORS * STAGED_LANES * int(sizeof(vector)))  // of a row
#define FACE_VECTORS (3 * VECTORS * CUT_LANES)
#include "schemes/wavefront/rows.cuh"
#include "kernels/axisymmetric/recording.cuh"
#define COLUMNS_A_LANE ((ROW_PITCH + 31) / 32)
#include "kernels/axisymmetric/energy.cuh"

// Rows that level l is behind the first: 2 from an even level to the odd one after it, 4 from an odd one to the next.
__device__ inline int lag(int level) { return 3 * level - (level & 1); }

// Place of the media of a row, by the number of rows before it; and of a row on its way from memory.
__device__ inline int staged_row(int number) { return unsigned(number) % STAGED_ROWS; }
__device__ inline int ring_place(int number) { return unsigned(number) % RING; }

// Number of a radial warp: every fourth warp is one, and the last ones; -1 for the others.
__device__ inline int helper_of(int warp) {
    if (warp % 4 == 3 && warp / 4 < SPREAD) return warp / 4;
    return warp >= WARPS - (RADIAL_WARPS - SPREAD) ? warp - LEVELS : -1;
}

struct Passes {
    int first, end, last;  // requested steps: [first, end); steps of all passes: [first, last)
};

// Position of one level: its row k of E (nz: the row of zeros), the step that it takes there.
struct Level {
    int k, step, word, word_below;
    int sample;  // that this step ends in, or one of the following
};
#define NOT_DUE -1  // no sample
#define PASSING -2  // beyond the requested steps: rows pass unchanged
#define OUTSIDE -3  // before the first pass or after the last

__device__ inline bool live(const Level &at) { return at.sample >= NOT_DUE; }
__device__ inline bool valid(const Level &at) { return at.sample >= PASSING; }

__device__ inline void judge(Level &at, const Passes &passes) {
    if (at.step < passes.first || at.step >= passes.last) at.sample = OUTSIDE;
    else if (at.step >= passes.end) at.sample = PASSING;
    else at.sample = (at.step + 1) % P.record_every ? NOT_DUE : (at.step + 1) / P.record_every - 1;
}

// Level `level` in iteration 0, where only the first level has begun.
__device__ inline void place(Level &at, int level, const Passes &passes, const int *words) {
    at.k = level ? P.nz + 1 - lag(level) : 0;
    at.step = passes.first + level - (level ? LEVELS : 0);
    at.word = words[at.k], at.word_below = 0;
    judge(at, passes);
}

__device__ inline void move_on(Level &at, const Passes &passes, const int *words) {
    at.word_below = at.word;
    if (RARELY(++at.k > P.nz)) at.k = 0, at.step += LEVELS, judge(at, passes);
    at.word = words[at.k];
}

// The same for levels that differ from lane to lane.
__device__ inline void move_on_apart(Level &at, const Passes &passes, const int *words) {
    at.word_below = at.word;
    const bool wraps = ++at.k > P.nz;
    if (RARELY(!all_lanes(!wraps)) && wraps) at.k = 0, at.step += LEVELS, judge(at, passes);
    at.word = words[at.k];
}

struct Place {
    int antenna, level, helper, lane;  // level of a main warp, or -1; number of a radial warp, or -1
};

struct Shared {
    vector *links;  // [LEVELS - 1][2][ROW_VECTORS]: finished rows on their way to the next level
    vector *ring;   // [RING][ROW_VECTORS]: rows from memory
    vector *taps;   // [2][TAPS][ROW_VECTORS]: rows to record
    // ca and cb of rows under way [STAGED_ROWS][6][VECTORS][STAGED_LANES], NUMBERED: 64 bits
    // [STAGED_ROWS][3][STAGED_LANES]
    vector *media;
    vector *faces;  // [STAGED_ROWS][3][VECTORS][CUT_LANES]: 1 / open area of their cut faces
    real *e_edge;   // [2][LEVELS][2]: e_z, e of the radial layer's first column
    real *chain;    // [CHAIN_PLACES][CHAIN]: the radial layer's finished cells, and h_z, h of the last main column
    real *inlet;    // [8][INLET]: the same from memory
    int2 *posts;    // [2][TAPS]: row and sample of each tap, or -1
    int *words;     // [nz + 1]: needs of each row
    int *layers;    // [nz + 1]: its place in an axial layer
    int *pairs;     // [nz + 1], NUMBERED: its first pair of ca and cb
    real *axial;    // [axial_count][6]: 1/kappa, b, c of that place for E and for H
};
#define INLET_RUN ((RADIAL_COLUMNS + WIDTH - 1) / WIDTH)  // vectors of one number of the cells
#define INLET (RADIAL_COLUMNS ? (14 * INLET_RUN + 2) * WIDTH : 0)
#define CHAIN_PLACES (BLOCKS == 1 ? 4 * LEVELS : lag(LEVELS - 1) + 2)
#define CHAIN (RADIAL_COLUMNS ? 14 * INLET_RUN * WIDTH + WIDTH : 0)

// A lane's place in row `row` of the staged media.
__device__ inline vector *medium_place(const Shared &s, int row, int lane) {
    return reinterpret_cast<vector *>(reinterpret_cast<unsigned char *>(s.media) + row * MEDIUM_BYTES +
                                      lane * (NUMBERED ? 8 : int(sizeof(vector))));
}

__device__ inline Shared carve(unsigned char *base, int &bytes) {
    Shared s;
    s.links = reinterpret_cast<vector *>(base);
    s.ring = s.links + (LEVELS - 1) * 2 * ROW_VECTORS;
    s.taps = s.ring + RING * ROW_VECTORS;
    s.media = s.taps + 2 * TAPS * ROW_VECTORS;
    s.faces = medium_place(s, STAGED_ROWS, 0);
    s.chain = reinterpret_cast<real *>(s.faces + STAGED_ROWS * FACE_VECTORS);
    s.inlet = s.chain + CHAIN_PLACES * CHAIN;
    s.e_edge = s.inlet + 8 * INLET;
    s.posts = reinterpret_cast<int2 *>(s.e_edge + 4 * LEVELS);
    s.words = reinterpret_cast<int *>(s.posts + 2 * TAPS);
    s.layers = s.words + P.nz + 1;
    s.pairs = s.layers + P.nz + 1;
    s.axial = reinterpret_cast<real *>(s.pairs + NUMBERED * (P.nz + 1));
    bytes = int(reinterpret_cast<unsigned char *>(s.words) - base);
    return s;
}
// Place of a row that a level has finished. It is read an iteration later, or three where the next level is four rows
// behind. Blocks that share a multiprocessor have two and four places a level in turn, as many before a level as rows
// that it is behind; a block alone has room for four, and registers less room for the difference.
__device__ inline real *chain_of(const Shared &s, int level, int row) {
    if (BLOCKS == 1) return s.chain + ((row & 3) * LEVELS + level) * CHAIN;
    return s.chain + (lag(level) + (row & (level % 2 && level + 1 < LEVELS ? 3 : 1))) * CHAIN;
}
__device__ inline const real *axial_row(const Shared &s, int k) { return s.axial + (s.layers[k] >> 16) * 6; }
#include "schemes/wavefront/radial.cuh"

// One level's update: E of `row` (k), H of `below` (k - 1); rows with a sample due are stored for the record.
__device__ inline void advance(
    Row &row, Row &below, const Level &at, const Columns &c, const Place &p, const Shared &s, int t
) {
    const int now = t & 1;
    if (RARELY(!live(at))) return;
    if (RARELY(at.word & E_FULL || at.k == P.nz)) {
        if (at.k < P.nz) {
            const int lane = afresh(p.lane), antenna = afresh(p.antenna);
            const vector *staged = medium_place(s, staged_row(t - lag(p.level)), lane - FIRST_LANE);
            advance_e_full(row, below, c, lane, at.word, s.layers[at.k], antenna, at.k, at.step, staged,
                           NUMBERED ? s.pairs[at.k] : 0, axial_row(s, at.k));
        }
    } else advance_e_plain(row, below, c, p.lane);
    const real *edge = s.e_edge + ((now ^ 1) * LEVELS + p.level) * 2;
    const real edge_ez = edge[0], edge_e = edge[1];
    if (RARELY(at.word_below & H_FULL || at.k == 0)) {
        if (at.k > 0) {
            const int lane = afresh(p.lane), antenna = afresh(p.antenna);
            advance_h_full(
                below, row, c, lane, edge_ez, edge_e, at.word_below, s.layers[at.k - 1], antenna, at.k - 1,
                s.faces + staged_row(t - lag(p.level) - 1) * FACE_VECTORS + lane - FIRST_CUT_LANE,
                axial_row(s, at.k - 1)
            );
        }
    } else advance_h_plain(below, row, c, p.lane, edge_ez, edge_e);
    if (RARELY(at.sample >= 0 && at.word_below & ROW_RECORDED && at.k > 0)) {
        const int tap = now * TAPS + (at.sample & (TAPS - 1)), lane = afresh(p.lane);
        write_shared(s.taps + tap * ROW_VECTORS, lane, below);
        if (lane == 0) s.posts[tap] = {at.k - 1, at.sample};
    }
}

__device__ inline void iterate(
    Row &row, Row &below, Level &at, int t, const Columns &c, const Passes &passes, const Place &p, const Shared &s
) {
    const int now = t & 1, odd = p.level & 1;
    advance(row, below, at, c, p, s, t);
    if (RADIAL_COLUMNS && p.lane == 31) {
        real *edge = chain_of(s, p.level, t - lag(p.level) - 1) + 14 * INLET_RUN * WIDTH;
        edge[0] = below.at[H_Z][CELLS - 1], edge[1] = below.at[H_PHI][CELLS - 1];
    }
    if (odd) __syncthreads();  // see below
    if (p.level + 1 < LEVELS) write_shared(s.links + (p.level * 2 + now) * ROW_VECTORS, p.lane, below);
    else if (valid(at) && at.k > 0) store_row(field(afresh(p.antenna), at.k - 1, 0) + afresh(p.lane) * CELLS, below);
    move_on(at, passes, s.words);
    const vector *from = p.level ? s.links + ((p.level - 1) * 2 + now) * ROW_VECTORS
                                 : s.ring + ring_place(t + 1) * ROW_VECTORS;
    read_shared(from, p.lane, below);
    if (!odd) __syncthreads();  // rows, edges and filter memory of this iteration are visible to the next
}

__device__ inline void main_warp(const Shared &s, const Passes &passes, const Place &p, int iterations) {
    Row x, y;
    clear(x), clear(y);
    Columns c;
    read_columns(p.lane, c);
    Level at;
    place(at, p.level, passes, s.words);
    if (p.level == 0) read_shared(s.ring, p.lane, x);
    __syncthreads();  // the first row's slot may be filled again
#pragma unroll 1
    for (int t = 0; t < iterations; t += 2) {
        iterate(x, y, at, t, c, passes, p, s);
        iterate(y, x, at, t + 1, c, passes, p, s);
    }
}

// The antenna's energy after `step` steps, LOOK_AT_A_TIME parts at a time: `partial` holds a number for each of their
// threads.
#define LOOK_AT_A_TIME 4
__device__ inline void look_at(int antenna, int step, double *partial) {
    double now = 0;
#pragma unroll 1
    for (int part = 0; part < LOOK_PARTS; part += LOOK_AT_A_TIME) {
#pragma unroll 1
        for (int n = threadIdx.x; n < LOOK_AT_A_TIME * LOOK_THREADS; n += THREADS)
            partial[n] = energy_share(antenna, part + n / LOOK_THREADS, n % LOOK_THREADS);
#pragma unroll 1
        for (int half = LOOK_THREADS / 2; half > 0; half /= 2) {
            __syncthreads();  // the partial sums of the level before are there
            for (int n = threadIdx.x; n < LOOK_AT_A_TIME * LOOK_THREADS; n += THREADS)
                if (n % LOOK_THREADS < half) partial[n] += partial[n + half];
        }
        __syncthreads();  // the parts' sums are there
        for (int n = 0; n < LOOK_AT_A_TIME; ++n) now += partial[n * LOOK_THREADS];
        __syncthreads();  // and have been read
    }
    if (threadIdx.x == 0) judge_energy(antenna, now, step);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) wavefront(int first, int count, int iterations, int looks) {
    if (!P.active[blockIdx.x]) return;
    const int warp = warp_index(), helper = helper_of(warp);
    const Place p{int(blockIdx.x), helper < 0 ? warp - min((warp + 1) / 4, SPREAD) : -1, helper, int(threadIdx.x % 32)};
    int bytes;
    const Shared s = carve(shared_base(), bytes);
    for (int at = threadIdx.x; at < bytes / 4; at += THREADS) reinterpret_cast<int *>(s.links)[at] = 0;
    __syncthreads();  // nothing is cleared after it has been set
    for (int k = threadIdx.x; k <= P.nz; k += THREADS)
        s.words[k] = row_word(p.antenna, k), s.layers[k] = k < P.nz ? row_layer(k) : 0;
    if (NUMBERED)
        for (int k = threadIdx.x; k < P.nz; k += THREADS) s.pairs[k] = P.row_pairs[(long long)p.antenna * P.nz + k];
    for (int k = threadIdx.x; k < P.nz; k += THREADS)
        if (P.axial_rows[k])
            for (int n = 0; n < 6; ++n) s.axial[P.axial_rows[P.nz + k] * 6 + n] = P.axial[n * P.nz + k];
    for (int n = threadIdx.x; n < 2 * TAPS; n += THREADS) s.posts[n].x = -1;
    __syncthreads();  // words have arrived
    const int rounds = (count + LEVELS - 1) / LEVELS;
    const Passes passes{first, first + count, first + rounds * LEVELS};
    Service service;
    if (helper >= 0) begin(service, passes, p, s);
    __syncthreads();  // the first rows have arrived
    if (helper < 0) main_warp(s, passes, p, iterations);
    else radial_warp(s, passes, p, service, iterations);
    if (!looks) return;
    __syncthreads();  // all rows are in memory, and nothing is under way in shared memory
    look_at(blockIdx.x, first + count, reinterpret_cast<double *>(shared_base()));
}
