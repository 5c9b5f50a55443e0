// A tile of a lattice, streamed along z through one step or two.
//
// A tile forms ROWS x COLUMNS cells of each half step and stores two less on each side, where it has neighbours: what
// the outermost would need is not there. Turn p forms H and E of plane p; of the second step, H of the plane before and
// E of the one before that. Warps wait for the warps of the next rows twice.
// Neighbours along x come from the next lane, along y from shared memory, along z from registers.
#include "schemes/trapezoidal/yee_copies.cuh"
#include "schemes/trapezoidal/yee_ports.cuh"
#include "schemes/trapezoidal/yee_signals.cuh"
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

// The same number, for which the loop after this does not wait: it is used here. `turn` is 0 or 1, unknown to a compiler.
__device__ inline float arrived(float number, int turn) {
    int bits;
    memcpy(&bits, &number, sizeof bits);
    bits ^= turn >> 1;
    memcpy(&number, &bits, sizeof bits);
    return number;
}

template <int STEPS, bool X, bool Y>
__device__ inline void stream(int n, int turn, const Tile &tile) {
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
    const Media media(tile, shared);
    const Signals signals;
    const pair *factors = reinterpret_cast<const pair *>(P.factors);
    const pair air = __ldg(factors);
    real slope_x[2][2], slope_y[2];
    for (int phase = 0; phase < 2; ++phase) {
        slope_y[phase] = arrived(t.filter(3 * phase, 0, t.j), turn);
        for (int cell = 0; cell < 2; ++cell) slope_x[phase][cell] = arrived(t.filter(3 * phase + 2, 0, t.i + cell), turn);
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
        for (int c = 0; c < 6; ++c)
            for (int cell = 0; cell < 2; ++cell) {
                if (c < 4) h_one[c * LAYER - COLUMNS + cell] = 0;
                h_two[c * LAYER - COLUMNS + cell] = 0;
            }

    const int begin = max(tile.low[2] - STEPS, 0), end = tile.high[2] + 2 * (STEPS - 1);
    for (int s = 0; s < STAGES - 1; ++s) {
        copies.start(old, shared + s * STAGE, begin - 1 + s), media.start(begin - 1 + s);
        close_copies();
    }
    real h1[3][2] = {}, h1_before[3][2] = {}, h2_before[3][2] = {};  // of planes p, p - 1, p - 3
    for (int c = 0; c < 6; ++c) h_two[c * LAYER] = h_two[c * LAYER + 1] = 0;
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
        if (p + STAGES - 2 < end) media.start(p + STAGES - 2);
        close_copies();
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
            keep(h_one + (p & 1) * (2 * LAYER), h1[0]), keep(h_one + (p & 1) * (2 * LAYER) + LAYER, h1[2]);
            signals.give(0, p - begin);
            ports.probe(0, t, p, 3, h1);
            if (STEPS == 1 && t.core && p >= t.first)
                for (int c = 0; c < 3; ++c) keep(stepped + (3 + c) * PLANE + p * ALL, h1[c]);
        }
        signals.await(1, p - begin - 1);
        if (STEPS == 2 && p - 2 == t.first - 1)
            for (int c = 0; c < 2; ++c) load(h2_before[c], h_two + (p & 1) * (3 * LAYER) + c * LAYER);
        if (STEPS == 2 && p - 2 >= t.first) {  // E of the second step, plane p - 2
            Level<1> e;
            pose(e, t, slopes, p - 2);
            e.slope_y = slope_y[1], e.slope_x[0] = slope_x[1][0], e.slope_x[1] = slope_x[1][1];
            for (int c = 0; c < 3; ++c) {
                load(e.formed[c], e_one + ((p & 1) * 3 + c) * LAYER);
                load(e.read[c], h_two + (p & 1) * (3 * LAYER) + c * LAYER);
            }
            copy(e.beside_z, h2_before, 2), copy(h2_before, e.read, 2);
            const real *before = h_two + (p & 1) * (3 * LAYER) - COLUMNS;
            load(e.beside_y[0], before), load(e.beside_y[2], before + 2 * LAYER);
            from_before(e);
            media.apply(e, factors, air);
            advance<1, X, Y, false, true>(t, e);
            ports.drive(n + 1, t, p - 2, e.formed);
            ports.probe(1, t, p - 2, 0, e.formed);
            if (t.core)
                for (int c = 0; c < 3; ++c) keep(stepped + c * PLANE + (p - 2) * ALL, e.formed[c]);
        }
        signals.await(0, p - begin);
        t.prefetch_memories<X, Y>(p + 1);
        Level<1> e;
        {  // E of the first step, plane p
            pose(e, t, slopes, p);
            e.slope_y = slope_y[1], e.slope_x[0] = slope_x[1][0], e.slope_x[1] = slope_x[1][1];
            copy(e.read, h1), copy(e.beside_z, h1_before, 2);
            for (int c = 0; c < 3; ++c) load(e.formed[c], here + c * LAYER);
            const real *before = h_one + (p & 1) * (2 * LAYER) - COLUMNS;
            load(e.beside_y[0], before), load(e.beside_y[2], before + LAYER);
            from_before(e);
            media.apply(e, factors, air);
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
                for (int c = 0; c < 3; ++c) keep(h_two + (~p & 1) * (3 * LAYER) + c * LAYER, h.formed[c]);
            }
        }
        wait_copies<STAGES - 3>();
        signals.give(1, p - begin);
    }
    __syncthreads();
    signals.complete(end - begin);
}
