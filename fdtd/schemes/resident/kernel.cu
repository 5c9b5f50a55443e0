// Synchronised blocks: a cluster of blocks holds one antenna on chip, fields and radial layer in registers, for all
// steps up to the next check of the energy. Each block has a slab of rows; its edge rows go directly to the neighbour
// block's shared memory, and only the warps at the edges wait for them. Memories of the axial filters lie in shared
// memory.
//
// Settings: REAL; those of slab.cuh, CELLS in whole vectors of 16 bytes; CLUSTER (blocks).
// Launch: grid (CLUSTER, batch) of THREADS, dynamic shared memory; steps [first, first + count).
#ifndef CLUSTER
#error "CLUSTER must be set"
#endif
#define CLUSTERED 1
#include "kernels/axisymmetric/patch.cuh"
#include "kernels/axisymmetric/recording.cuh"
#if CELLS * REAL_BYTES % 16
#error "CELLS must be a whole number of 16-byte vectors"
#endif

static_assert(SHARED_BYTES >= LEAST_BYTES, "the plan counts shared memory otherwise");

__device__ inline void move_patch(Patch &f, const Rows &g, bool write) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (g.first + r >= P.nz) {
            clear(f.row[r]);
            continue;
        }
        real *at = field(g.antenna, g.first + r, 0) + g.column;
        if (write) store_row(at, f.row[r]);
        else load_row(at, f.row[r]);
    }
}

// A lane's columns of the axial memories of its rows, to shared memory or back.
__device__ inline void move_memories(const Rows &g, bool write) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (!(g.word[r] & ROW_AXIAL)) continue;
        const Memory<false> memories(g, r, slab_layer(g.row + r, 0)->columns);
        if (!memories.there) continue;
#pragma unroll 1
        for (int filter = 0; filter < 4; ++filter) {
            vector *away = reinterpret_cast<vector *>(axial_memory(g.antenna, g.first + r, filter) + g.column);
            vector *here = memories.of(filter);
#pragma unroll
            for (int v = 0; v < VECTORS; ++v)
                write ? void(away[v] = here[v * memories.lanes]) : void(here[v * memories.lanes] = away[v]);
        }
    }
}

// Records the samples due of a warp's rows.
__device__ __noinline__ void record_desk(int warp, int antenna, int k, int sample) {
    __syncwarp();  // the row is on the desk
    record_row(desk<vector>(warp), threadIdx.x % 32, antenna, k, sample);
    __syncwarp();  // the desk is free
}
__device__ inline void record_patch(const Patch &f, const Rows &g, int warp, int sample) {
    vector *to = desk<vector>(warp);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (g.word[r] & ROW_RECORDED) {
            write_shared(to, g.lane, f.row[r]);
            record_desk(warp, g.antenna, g.first + r, sample);
        }
}

// All steps of a launch. Not inlined: each of them has the registers to itself.
template <int NEED> __device__ __noinline__ void march(int start, int steps) {
    const int warp = warp_index(), lane = threadIdx.x % 32, first = agreed(start), count = agreed(steps), rank = cluster_rank();
    Course c{warp, warp > 0 || rank > 0, warp < WARPS - 1 || rank < cluster_blocks() - 1, 0};
    Patch f;
    Rows g;
    survey(g, blockIdx.y, lane, warp * ROWS, rank * HEIGHT + warp * ROWS);
    move_patch(f, g, false);
    if (NEED & AXIAL) move_memories(g, false);
    if (NEED & FILLED) stage_rows(g);
    if (NEED & RARE) g.amplitude = amplitude_of(first);
    int recorded = 0;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) recorded |= g.word[r] & ROW_RECORDED;
    int sample = first / P.record_every, due = (sample + 1) * P.record_every - first;
    clear_slots(c, lane), send_top(f, g.lane, c), send_side(f, g.lane, c);
#pragma unroll 1
    for (int s = 0; s < count; ++s) {
        advance<NEED>(f, g, c, first + s, s + 1 < count);
        if (--due == 0) {
            if (recorded) record_patch(f, g, warp, sample);
            due = P.record_every, ++sample;
        }
    }
    move_patch(f, g, true);
    if (NEED & AXIAL) move_memories(g, true);
}

__device__ inline void main_warp(int first, int count) {
    const int needs = needs_of(warp_index() * ROWS);
    if (needs & AWAY) march<AXIAL | FILLED | RARE | AWAY>(first, count);
    else if (needs & RARE && needs & FILLED) march<AXIAL | FILLED | RARE>(first, count);
    else if (needs & RARE) march<AXIAL | RARE>(first, count);
    else if (needs == (AXIAL | FILLED)) march<AXIAL | FILLED>(first, count);
    else if (needs == FILLED) march<FILLED>(first, count);
    else if (needs == AXIAL) march<AXIAL>(first, count);
    else march<0>(first, count);
}

#if RADIAL_WARPS
__device__ __noinline__ void strip_warp(int first, int steps) {
    const int warp = warp_index() - WARPS, lane = threadIdx.x % 32, count = agreed(steps), rank = cluster_rank();
    Strip g;
    survey(g, blockIdx.y, warp, lane, rank * HEIGHT, HEIGHT);
    read_column(g.factors, g.column);
    Course c{warp, warp > 0 || rank > 0, warp < RADIAL_WARPS - 1 || rank < cluster_blocks() - 1, 0};
    LayerCell x[STRIP_ROWS];
#pragma unroll
    for (int r = 0; r < STRIP_ROWS; ++r) {
        const int k = g.first + r;
        if (g.works && k < P.nz) move_strip_cell<false>(x[r], field(g.antenna, k, 0), radial_memory(g.antenna, k, 0), g);
        else clear(x[r]);
        if (g.works)
            for (int filter = 0; filter < 4; ++filter)
                *memory_of(g, r, filter) = g.word[r] & ROW_AXIAL ? axial_memory(g.antenna, k, filter)[g.at] : real(0);
    }
    const int i = g.at - P.lead;
    int sample = agreed(first) / P.record_every, due = (sample + 1) * P.record_every - agreed(first);
    send_strip_h(x, g, c);
#pragma unroll 1
    for (int s = 0; s < count; ++s) {
        march_strip(x, g, c, s + 1 < count);
        if (--due == 0) {
            if (g.works && i < P.map_right && i >= P.map_left)
#pragma unroll
                for (int r = 0; r < STRIP_ROWS; ++r)
                    if (g.first + r >= P.map_bottom && g.first + r < P.map_top)
                        record_map(g.antenna, g.first + r, i, sample, x[r].at[E_R], x[r].at[E_PHI], x[r].at[E_Z]);
            due = P.record_every, ++sample;
        }
    }
#pragma unroll
    for (int r = 0; r < STRIP_ROWS; ++r) {
        const int k = g.first + r;
        if (g.works && k < P.nz) move_strip_cell<true>(x[r], field(g.antenna, k, 0), radial_memory(g.antenna, k, 0), g);
        if (g.works && g.word[r] & ROW_AXIAL)
            for (int filter = 0; filter < 4; ++filter)
                axial_memory(g.antenna, k, filter)[g.at] = *memory_of(g, r, filter);
    }
}
#endif

#ifndef HOST_EMULATION
extern "C" __cluster_dims__(CLUSTER, 1, 1) __global__ void resident(int first, int count);
#endif
extern "C" __global__ void __launch_bounds__(THREADS, 1) resident(int first, int count) {
    if (!P.active[blockIdx.y]) return;
    if (threadIdx.x == 0) prepare_signals(), publish_signals();
    lay_out_air();
    const int origin = cluster_rank() * HEIGHT;
    if (warp_index() == 0) lay_out_rows(notes_of_rows(blockIdx.y, origin), origin, 0);
    cluster_wait();  // all blocks have started, and their signals are ready
    if (warp_index() < WARPS) main_warp(first, count);
#if RADIAL_WARPS
    else strip_warp(first, count);
#endif
    cluster_wait();  // no block sends to one that has ended
}
