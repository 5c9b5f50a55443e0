// A tile of a lattice, streamed along z through one step or two.
//
// A tile forms ROWS x COLUMNS cells of each half step and stores two less on each side, where it has neighbours: what
// the outermost would need is not there. Turn p forms H and E of plane p; of the second step, H of the plane before and
// E of the one before that. It has two barriers.
// Neighbours along x come from the next lane, along y from shared memory, along z from registers.
#include "schemes/trapezoidal/yee_tile.cuh"
#include "stencil.cuh"

template <int PHASE, bool X, bool Y, bool Z> __device__ inline void form(Level<PHASE> &level) {
    LevelCell<PHASE, 0, X, Y, Z> cell(level);
    LevelCell<PHASE, 1, X, Y, Z> other(level);
    Values values, others;
    Stencil::compute<PHASE>(cell, values);
    Stencil::compute<PHASE>(other, others);
    Stencil::store<PHASE>(cell, values);
    Stencil::store<PHASE>(other, others);
}

template <int PHASE, bool X, bool Y, bool Z, bool FRESH, bool LAST>
__device__ inline void form_in(const Thread &t, Level<PHASE> &level) {
    t.fetch<PHASE, X, Y, Z, FRESH>(level);
    form<PHASE, X, Y, Z>(level);
    t.put<PHASE, X, Y, Z, LAST>(level);
}

// A half step of two cells. X: the tile touches layers along x, Y: along y; which rows and planes do is known by warp.
template <int PHASE, bool X, bool Y, bool FRESH, bool LAST>
__device__ inline void advance(const Thread &t, Level<PHASE> &level) {
    const int k = level.k;
    level.at_z = k < LAST_Z ? slot(k, CELLS_Z, LAYERS_LOW_Z, LAYERS_HIGH_Z) : -1;
    if (level.at_z >= 0) {
        if (Y && t.row_y) form_in<PHASE, X, Y, true, FRESH, LAST>(t, level);
        else form_in<PHASE, X, false, true, FRESH, LAST>(t, level);
    } else {
        if (Y && t.row_y) form_in<PHASE, X, Y, false, FRESH, LAST>(t, level);
        else form_in<PHASE, X, false, false, FRESH, LAST>(t, level);
    }
}

// Driven edges and edges of the sums, and the planes that they lie in.
struct Ports {
    int sources, probes, source_first, source_last, probe_first, probe_last;

    __device__ Ports() {
        sources = count(0, SOURCES), probes = count(0, PROBES);
        source_first = probe_first = 1 << 30, source_last = probe_last = -1;
        for (int s = 0; s < sources; ++s) {
            const int k = __ldg(P.sources + s) / ALL % (CELLS_Z + 2);
            source_first = min(source_first, k), source_last = max(source_last, k);
        }
        for (int p = 0; p < probes; ++p) {
            const int k = __ldg(P.probes + p) / ALL % (CELLS_Z + 2);
            probe_first = min(probe_first, k), probe_last = max(probe_last, k);
        }
    }
    // Adds step n of the source to a thread's E of plane k.
    __device__ void drive(int n, const Thread &t, int k, real (*fields)[2]) const {
        if (k < source_first || k > source_last || n >= count(0, WAVEFORM) || !t.in) return;
        const real volts = P.waveform[n];
        const int own = k * ALL + t.at;
#pragma unroll 1
        for (int s = 0; s < sources; ++s) {
            const int from = __ldg(P.sources + s) - own;
            const real gain = __ldg(P.gains + s);
#pragma unroll
            for (int c = 0; c < 3; ++c)
#pragma unroll
                for (int cell = 0; cell < 2; ++cell)
                    if (from == c * PLANE + cell) fields[c][cell] += gain * volts;
        }
    }
    // Keeps the edges of the sums among a thread's components of plane k, from component `begin` on.
    __device__ void probe(int step, const Thread &t, int k, int begin, real (*fields)[2]) const {
        if (k < probe_first || k > probe_last || !t.core || k < t.first || k >= t.last) return;
        const int own = begin * PLANE + k * ALL + t.at;
        real *trace = P.trace + step * probes;
#pragma unroll 1
        for (int p = 0; p < probes; ++p) {
            const int from = __ldg(P.probes + p) - own;
#pragma unroll
            for (int c = 0; c < 3; ++c)
#pragma unroll
                for (int cell = 0; cell < 2; ++cell)
                    if (from == c * PLANE + cell) trace[p] = fields[c][cell];
        }
    }
};

// Starts to copy planes of a row: E of plane k + 1 with H of plane k.
struct Copies {
    int half, unit, own, after;

    __device__ explicit Copies(const Tile &tile) {
        half = threadIdx.x % 32 / UNITS, unit = threadIdx.x % UNITS * UNIT;
        const int column = tile.x + unit, row = tile.y + threadIdx.x / 32, next = tile.y + ROWS;
        const bool there = column < ROW_PITCH;  // what is not, is a copy of the zero row
        own = (there && row <= CELLS_Y ? row * ROW_PITCH + column : (CELLS_Y + 1) * ROW_PITCH) + half * PLANE;
        after = (there && next <= CELLS_Y ? next * ROW_PITCH + column : (CELLS_Y + 1) * ROW_PITCH) + half * 2 * PLANE;
    }
    __device__ void start(const real *fields, real *stage, int k) const {
        const real *e = fields + min(k + 1, CELLS_Z + 1) * ALL, *h = fields + min(max(k, 0), CELLS_Z + 1) * ALL;
        real *to = stage + half * LAYER + threadIdx.x / 32 * COLUMNS + unit;
        copy_16_bytes(to, e + own);
        copy_16_bytes(to + 2 * LAYER, (half ? h : e) + 2 * PLANE + own);
        copy_16_bytes(to + 4 * LAYER, h + 4 * PLANE + own);
        if (threadIdx.x < 32) copy_16_bytes(stage + 2 * half * LAYER + ROWS * COLUMNS + unit, e + after);
    }
};

template <int BYTES> struct Word;
template <> struct Word<2> { typedef unsigned short type; };
template <> struct Word<4> { typedef unsigned type; };
typedef Word<2 * sizeof(number)>::type Both;

struct Media {
    int edges[3];  // two numbers each
    __device__ void load(const number *from) {
        for (int c = 0; c < 3; ++c)
            edges[c] = *reinterpret_cast<const Both *>(from + c * PLANE);
    }
    // Nothing is computed of them before, so nothing waits for them.
    __device__ void apply(Level<1> &level, const pair *factors, pair air) const {
        int at[3];
        for (int c = 0; c < 3; ++c) at[c] = afresh(edges[c]);
        if (all_lanes((at[0] | at[1] | at[2]) == 0)) {
            for (int c = 0; c < 3; ++c) level.media_of[c][0] = level.media_of[c][1] = air;
        } else {
            for (int c = 0; c < 3; ++c) {
                level.media_of[c][0] = __ldg(factors + (number)at[c]);
                level.media_of[c][1] = __ldg(factors + (number)(at[c] >> 8 * (int)sizeof(number)));
            }
        }
    }
};

__device__ inline void copy(real (*to)[2], const real (*from)[2], int components = 3) {
#pragma unroll
    for (int c = 0; c < 3; ++c)
        if (c < components) to[c][0] = from[c][0], to[c][1] = from[c][1];
}
__device__ inline void from_after(Level<0> &h) {
    for (int c = 1; c < 3; ++c) h.beside_x[c] = __shfl_down_sync(0xffffffffu, h.read[c][0], 1);
}
__device__ inline void from_before(Level<1> &e) {
    for (int c = 1; c < 3; ++c) {
        const real other = __shfl_up_sync(0xffffffffu, e.read[c][1], 1);
        e.beside_x[c] = threadIdx.x % 32 ? other : 0;
    }
}

template <int PHASE> __device__ inline void pose(Level<PHASE> &level, const Thread &t, const real *slopes, int k) {
    level.i = t.i, level.j = t.j, level.k = k;
    level.slope_z = slopes[PHASE * 3 * SLOPES + k], level.filter_z = slopes + PHASE * 3 * SLOPES + k;
}

template <int STEPS, bool X, bool Y> __device__ inline void stream(int n, int turn, const Tile &tile) {
    Thread t(turn, tile);
    t.tables = reinterpret_cast<const real *>(shared_base());
    const real *const old = P.fields + turn * VOLUME;
    real *const stepped = P.fields + (1 - turn) * VOLUME + t.at;
    const Copies copies(tile);
    real *const shared = reinterpret_cast<real *>(shared_base());
    const int own = threadIdx.x / 32 * COLUMNS + threadIdx.x % 32 * 2;
    real *const e_one = shared + E_AT + own;
    real *const h_one = shared + H_AT + COLUMNS + own, *const h_two = shared + HH_AT + COLUMNS + own;  // a row before
    const Ports ports;
    const number *media = P.media + (t.i < ROW_PITCH && t.j <= CELLS_Y ? t.at : (CELLS_Y + 1) * ROW_PITCH);
    const pair *factors = reinterpret_cast<const pair *>(P.factors);
    const pair air = __ldg(factors);
    real slope_x[2][2], slope_y[2];
    for (int phase = 0; phase < 2; ++phase) {
        slope_y[phase] = t.filter(3 * phase, 0, t.j);
        for (int cell = 0; cell < 2; ++cell) slope_x[phase][cell] = t.filter(3 * phase + 2, 0, t.i + cell);
    }
    for (int m = threadIdx.x; m < 6 * SLOPES; m += THREADS) {
        const int phase = m / (3 * SLOPES), k = max(m % SLOPES + tile.low[2] - 2, 0);
        shared[ALONG_Z + m] = Thread::filter(3 * phase + 1, m / SLOPES % 3, k);
    }
    for (int m = threadIdx.x; m < 4 * COLUMNS; m += THREADS) {
        const int at = tile.x + m % COLUMNS;
        const bool inside = at < LAST_X && slot(at, CELLS_X, LAYERS_LOW_X, LAYERS_HIGH_X) >= 0;
        shared[ALONG_X + m] = inside ? Thread::filter(3 * (m / (2 * COLUMNS)) + 2, 1 + m / COLUMNS % 2, at) : 0;
    }
    for (int m = threadIdx.x; m < 4 * ROWS; m += THREADS)
        shared[ALONG_Y + m] = Thread::filter(3 * (m / (2 * ROWS)), 1 + m / ROWS % 2, tile.y + m % ROWS);
    const real *const slopes = shared + ALONG_Z - (tile.low[2] - 2);
    if (threadIdx.x < 32)
        for (int cell = 0; cell < 2; ++cell)
            for (int c = 0; c < 2; ++c) h_one[c * LAYER - COLUMNS + cell] = h_two[2 * c * LAYER - COLUMNS + cell] = 0;

    const int begin = max(tile.low[2] - STEPS, 0), end = tile.high[2] + 2 * (STEPS - 1);
    for (int s = 0; s < STAGES - 1; ++s) {
        copies.start(old, shared + s * STAGE, begin - 1 + s);
        close_copies();
    }
    real h1[3][2] = {}, h1_before[3][2] = {}, h2_before[3][2] = {};  // of planes p, p - 1, p - 3
    for (int c = 0; c < 3; ++c) h_two[c * LAYER] = h_two[c * LAYER + 1] = 0;
    Media early, late;
    late.load(media);
    wait_copies<STAGES - 3>();
    __syncthreads();
    int stage = 0;
#pragma unroll 1
    for (int p = begin; p < end; ++p) {
        const real *here = shared + stage * STAGE + own;
        const int free = stage ? stage - 1 : STAGES - 1;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        const real *above = shared + stage * STAGE + own;
        if (p + STAGES - 2 < end - STEPS + 1) copies.start(old, shared + free * STAGE, p + STAGES - 2);
        close_copies();
        early.load(media + min(p, CELLS_Z + 1) * (3 * PLANE));
        {  // H of the first step, plane p
            Level<0> h;
            pose(h, t, slopes, p);
            h.slope_y = slope_y[0], h.slope_x[0] = slope_x[0][0], h.slope_x[1] = slope_x[0][1];
            for (int c = 0; c < 3; ++c) {
                load(h.formed[c], above + (3 + c) * LAYER), load(h.read[c], here + c * LAYER);
                if (c < 2) load(h.beside_z[c], above + c * LAYER);
                if (c != 1) load(h.beside_y[c], here + c * LAYER + COLUMNS);
            }
            from_after(h);
            advance<0, X, Y, true, STEPS == 1>(t, h);
            copy(h1_before, h1), copy(h1, h.formed);
            keep(h_one, h1[0]), keep(h_one + LAYER, h1[2]);
            ports.probe(0, t, p, 3, h1);
            if (STEPS == 1 && t.core && p >= t.first)
                for (int c = 0; c < 3; ++c) keep(stepped + (3 + c) * PLANE + p * ALL, h1[c]);
        }
        if (STEPS == 2 && p - 2 == t.first - 1)
            for (int c = 0; c < 2; ++c) load(h2_before[c], h_two + c * LAYER);
        if (STEPS == 2 && p - 2 >= t.first) {  // E of the second step, plane p - 2
            Level<1> e;
            pose(e, t, slopes, p - 2);
            e.slope_y = slope_y[1], e.slope_x[0] = slope_x[1][0], e.slope_x[1] = slope_x[1][1];
            for (int c = 0; c < 3; ++c) {
                load(e.formed[c], e_one + ((p & 1) * 3 + c) * LAYER);
                load(e.read[c], h_two + c * LAYER);
            }
            copy(e.beside_z, h2_before, 2), copy(h2_before, e.read, 2);
            load(e.beside_y[0], h_two - COLUMNS), load(e.beside_y[2], h_two + 2 * LAYER - COLUMNS);
            from_before(e);
            late.apply(e, factors, air);
            advance<1, X, Y, false, true>(t, e);
            ports.drive(n + 1, t, p - 2, e.formed);
            ports.probe(1, t, p - 2, 0, e.formed);
            if (t.core)
                for (int c = 0; c < 3; ++c) keep(stepped + c * PLANE + (p - 2) * ALL, e.formed[c]);
        }
        __syncthreads();
        late.load(media + max(p - 1, 0) * (3 * PLANE));
        t.prefetch_memories<X, Y>(p + 1);
        Level<1> e;
        {  // E of the first step, plane p
            pose(e, t, slopes, p);
            e.slope_y = slope_y[1], e.slope_x[0] = slope_x[1][0], e.slope_x[1] = slope_x[1][1];
            copy(e.read, h1), copy(e.beside_z, h1_before, 2);
            for (int c = 0; c < 3; ++c) load(e.formed[c], here + c * LAYER);
            load(e.beside_y[0], h_one - COLUMNS), load(e.beside_y[2], h_one + LAYER - COLUMNS);
            from_before(e);
            early.apply(e, factors, air);
            advance<1, X, Y, true, STEPS == 1>(t, e);
            ports.drive(n, t, p, e.formed);
            ports.probe(0, t, p, 0, e.formed);
            if (STEPS == 1) {
                if (t.core && p >= t.first)
                    for (int c = 0; c < 3; ++c) keep(stepped + c * PLANE + p * ALL, e.formed[c]);
            } else {
                for (int c = 0; c < 3; ++c) keep(e_one + ((p & 1) * 3 + c) * LAYER, e.formed[c]);
            }
        }
        if (STEPS == 2) {
            if (p > begin) {  // H of the second step, plane p - 1
                Level<0> h;
                pose(h, t, slopes, p - 1);
                h.slope_y = slope_y[0], h.slope_x[0] = slope_x[0][0], h.slope_x[1] = slope_x[0][1];
                const real *from = e_one + (~p & 1) * 3 * LAYER;
                copy(h.formed, h1_before), copy(h.beside_z, e.formed, 2);
                for (int c = 0; c < 3; ++c) load(h.read[c], from + c * LAYER);
                load(h.beside_y[0], from + COLUMNS), load(h.beside_y[2], from + 2 * LAYER + COLUMNS);
                from_after(h);
                advance<0, X, Y, false, true>(t, h);
                ports.probe(1, t, p - 1, 3, h.formed);
                if (t.core && p - 1 >= t.first && p - 1 < t.last)
                    for (int c = 0; c < 3; ++c) keep(stepped + (3 + c) * PLANE + (p - 1) * ALL, h.formed[c]);
                for (int c = 0; c < 3; ++c) keep(h_two + c * LAYER, h.formed[c]);
            }
        }
        wait_copies<STAGES - 3>();
        __syncthreads();
    }
}
