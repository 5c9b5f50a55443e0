// Further work of the wavefront's radial warps: rows and cells from memory and back, prefetch of coefficients,
// recording.
//
// Needs the settings of kernel.cu and what it declares (Passes, Place, Shared). Provides `Service`: `begin` before the first
// iteration, `serve` once in each.
#ifndef RADIAL_WARPS
#error "include fetch.cuh from kernel.cu: its settings must be set"
#endif
#include "kernels/signals.cuh"

// Asynchronous copy of one vector.
__device__ inline void copy_vector(vector *shared, const real *global) {
    if (sizeof(vector) == 16) copy_16_bytes(shared, global);
    else copy_8_bytes(shared, global);
}

// Position of a helper that runs ahead of the first level: row k (nz: the row of zeros), the step that reads it, its
// number since the start.
struct Fetch {
    int k, step, number;
};

__device__ inline bool wanted(const Fetch &next, const Passes &passes) {
    return next.step < passes.last && next.k < P.nz;
}

__device__ inline bool move_on(Fetch &next) {
    ++next.number;
    if (RARELY(++next.k > P.nz)) {
        next.k = 0, next.step += LEVELS;
        return true;
    }
    return false;
}

// The main columns of the rows, from memory into the ring. Addresses are computed from the row each time: kept, they would
// occupy registers.
__device__ inline void ask(const Fetch &next, const Passes &passes, const Place &p, const Shared &s) {
    vector *to = s.ring + (next.number & (RING - 1)) * ROW_VECTORS + p.lane;
    if (wanted(next, passes)) {
        const real *from = field(p.antenna, next.k, 0) + p.lane * CELLS;
#pragma unroll
        for (int n = 0; n < 6; ++n)
#pragma unroll
            for (int v = 0; v < VECTORS; ++v)
                copy_vector(to + (n * VECTORS + v) * 32, from + n * ROW_PITCH + v * WIDTH);
    } else {
        const real zero[WIDTH] = {};
#pragma unroll 1
        for (int n = 0; n < 6 * VECTORS; ++n) to[n * 32] = packed(zero);
    }
}

// The radial layer's cells and the main columns next to them, from memory into the inlet: for each of the 14 numbers of a
// cell a run of whole vectors, and the last main columns' h_z and h.
#define INLET_VECTORS (14 * INLET_RUN + 2)
#define INLET_PARTS ((INLET_VECTORS + 31) / 32)

#if RADIAL_COLUMNS
// This lane's vector of row k in memory, `place` of all.
__device__ inline real *cell_vector(int antenna, int k, int place) {
    const int part = place / INLET_RUN, column = place % INLET_RUN * WIDTH;
    if (part >= 6 && place < 14 * INLET_RUN) return radial_memory(antenna, k, part - 6) + column;
    const bool edge = place >= 14 * INLET_RUN;
    return field(antenna, k, edge ? place == 14 * INLET_RUN ? 5 : 4 : part) + 32 * CELLS + (edge ? -WIDTH : column);
}

__device__ inline void ask_cells(const Fetch &next, const Passes &passes, const Place &p, const Shared &s) {
    vector *to = reinterpret_cast<vector *>(s.inlet + (next.number & 7) * INLET) + p.lane;
    const bool copies = wanted(next, passes);
    const real zero[WIDTH] = {};
#pragma unroll
    for (int n = 0; n < INLET_PARTS; ++n) {
        const int place = afresh(p.lane) + 32 * n;
        if (place < INLET_VECTORS) {
            if (copies) copy_vector(to + 32 * n, cell_vector(p.antenna, next.k, place));
            else to[32 * n] = packed(zero);
        }
    }
}

// The radial layer's cells that the last level has finished, back to memory an iteration later.
__device__ inline void give_back(Fetch &next, const Passes &passes, const Place &p, const Shared &s) {
    if (next.number < 0) {
        ++next.number;
        return;
    }
    const real *link = s.chain + ((next.number & 3) * LEVELS + LEVELS - 1) * CHAIN;
    const vector *from = reinterpret_cast<const vector *>(link) + p.lane;
    if (wanted(next, passes)) {
#pragma unroll
        for (int n = 0; n < INLET_PARTS; ++n) {
            const int place = afresh(p.lane) + 32 * n;
            if (place < 14 * INLET_RUN) *reinterpret_cast<vector *>(cell_vector(p.antenna, next.k, place)) = from[32 * n];
        }
    }
    move_on(next);
}
#endif

// Copies PLANES_A_ROW planes of a row's coefficients into its place in shared memory, from the lane of the axis on.
template <int PLANES_A_ROW, int LANES>
__device__ inline void stage(vector *rows, const real *from, const Fetch &next, int reach, int lane) {
    const int place = lane - FIRST_LANE;
    if (lane * CELLS >= reach || place < 0 || place >= LANES) return;
    vector *to = rows + staged_row(next.number) * (PLANES_A_ROW * VECTORS * LANES) + place;
#pragma unroll
    for (int n = 0; n < PLANES_A_ROW; ++n)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            copy_vector(to + (n * VECTORS + v) * LANES, from + lane * CELLS + n * ROW_PITCH + v * WIDTH);
}

// Prefetches the first `columns` of a row that full updates read, a memory sector a lane.
__device__ inline void warm(int lane, const real *row, int columns) {
    const int sector = 32 / REAL_BYTES;
#pragma unroll 1
    for (int at = lane * sector; at < columns; at += 32 * sector) prefetch(row + at);
}

__device__ inline void warm_row(const Fetch &next, const Passes &passes, const Place &p, const Shared &s) {
    const int k = next.k, word = wanted(next, passes) ? s.words[k] : 0, reach = word & ROW_REACH;
    if (RARELY(reach)) {
        stage<6, STAGED_LANES>(s.media, medium(p.antenna, k, 0), next, reach, p.lane);
        const int beyond = (FIRST_LANE + STAGED_LANES) * CELLS;
        if (reach > beyond) {
#pragma unroll 1
            for (int n = 0; n < 6; ++n) warm(p.lane, medium(p.antenna, k, n) + beyond, reach - beyond);
        }
        if (word & ROW_CUT) {
            stage<3, CUT_LANES>(s.faces, open_face(p.antenna, k, 0), next, reach, p.lane);
            if (!CUT_LANES) {
#pragma unroll 1
                for (int n = 0; n < 3; ++n) warm(p.lane, open_face(p.antenna, k, n), reach);
            }
        }
        if (COUPLED && word & ROW_COUPLED) warm(p.lane, node_coupling(p.antenna, k), reach);
    }
    if (RARELY(word & ROW_AXIAL)) {
#pragma unroll 1
        for (int n = 0; n < 4; ++n) warm(p.lane, layer_memory(p.antenna, s.layers[k], n), layer_columns(s.layers[k]));
    }
}

// Records the rows that the main warps stored in the iteration before.
__device__ inline void record_taps(const Shared &s, const Place &p, int before) {
#pragma unroll 1
    for (int n = before * TAPS; n < (before + 1) * TAPS; ++n) {
        const int2 post = s.posts[n];
        if (post.x < 0) continue;
        record_row(s.taps + n * ROW_VECTORS, p.lane, p.antenna, post.x, post.y);
        __syncwarp();  // all lanes have read the post
        if (p.lane == 0) s.posts[n].x = -1;
    }
}

// Further work of the radial warps, shared among them; at iteration t row t + RING is requested, and row
// t + 2 has arrived.
#define ROW_HELPER 0
#define CELL_HELPER (RADIAL_WARPS > 1 ? 1 : 0)
#define WARM_HELPER (RADIAL_WARPS - 1)
struct Service {
    Fetch ahead, finished;
};

__device__ inline void ask_all(Service &service, const Passes &passes, const Place &p, const Shared &s) {
    if (p.helper == ROW_HELPER) ask(service.ahead, passes, p, s);
#if RADIAL_COLUMNS
    if (p.helper == CELL_HELPER) ask_cells(service.ahead, passes, p, s);
#endif
    if (p.helper == WARM_HELPER) warm_row(service.ahead, passes, p, s);
    move_on(service.ahead);
    close_copies();
}

__device__ inline void begin(Service &service, const Passes &passes, const Place &p, const Shared &s) {
    service.ahead = {0, passes.first, 0}, service.finished = {0, passes.first, -lag(LEVELS - 1) - 2};
#pragma unroll 1
    for (int n = 0; n < RING; ++n) ask_all(service, passes, p, s);
    wait_copies<0>();
}

__device__ inline void serve(Service &service, const Passes &passes, const Place &p, const Shared &s, int t) {
#if RADIAL_COLUMNS
    if (p.helper == WARM_HELPER) give_back(service.finished, passes, p, s);
#endif
    if (p.helper == CELL_HELPER) record_taps(s, p, (t & 1) ^ 1);
    ask_all(service, passes, p, s);
    wait_copies<RING - 2>();
}
