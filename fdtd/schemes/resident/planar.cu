// Synchronised thread blocks: a cluster of blocks holds one problem on chip for all of its steps, a slab of rows each,
// and passes the rows at the slabs' edges through the neighbours' shared memory.
//
// Settings: REAL; CLUSTER (blocks); SLAB (rows a block); COLUMNS (that change); ROW (numbers of a row of one
// plane); WARPS. Launch: blocks of 32 WARPS threads, grid (CLUSTER, batch), dynamic shared memory of (SLAB + 2) ROW
// numbers for each plane and coefficient.
#if !defined(CLUSTER) || !defined(SLAB) || !defined(COLUMNS) || !defined(ROW) || !defined(WARPS)
#error "CLUSTER, SLAB, COLUMNS, ROW and WARPS must be set"
#endif
#include "kernels/intrinsics.cuh"
#include "kernels/planar/parameters.cuh"
#include "kernels/planar/stencil.cuh"

enum { AREA = (SLAB + 2) * ROW, TURNS = (COLUMNS + WARP - 1) / WARP };  // columns of a lane

// Row `j` of the slab, -1 to SLAB, at column 0 of plane 0.
__device__ inline real *slab(int j) { return reinterpret_cast<real *>(shared_base()) + (j + 1) * ROW + ROW_LEAD; }

// Sends the row at one edge, all planes, to the halo of the block beyond.
__device__ inline void send(int own, int halo, int rank) {
    if (rank < 0 || rank >= cluster_blocks()) return;
    real *to = in_block(slab(halo), rank);
    for (int f = 0; f < Stencil::PLANES; ++f)
        for (int i = threadIdx.x; i < P.columns; i += WARP * WARPS) to[f * AREA + i] = slab(own)[f * AREA + i];
}

template <int PHASE, bool STRETCHED> __device__ inline void cell(real *here, int problem, int parity, int j, int i) {
    Cell<STRETCHED> c;
    c.stride = c.step = AREA, c.psi_stride = plane_size(), c.parity = parity, c.j = j, c.i = i;
    c.here = here, c.below = here - ROW, c.above = here + ROW;
    c.middle = here + Stencil::PLANES * AREA, c.low = c.middle - ROW, c.high = c.middle + ROW;
    if (STRETCHED) c.psi = P.psi + (long long)problem * 4 * plane_size() + row_at(j) + i;
    Values values;
    Stencil::template compute<PHASE>(c, values);
    Stencil::template store<PHASE>(c, values);
}

template <int PHASE>
__device__ inline void phase(int problem, int step, int parity, int first, int rows, bool driven) {
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, end = min(rows, P.rows - Stencil::IDLE - first);
    for (int j = warp; j < end; j += WARPS) {
        real *here = slab(j) + lane;
        const bool simple = plain(first + j, P.rows);
#pragma unroll
        for (int t = 0; t < TURNS; ++t) {
            if (t == TURNS - 1 && lane + t * WARP >= COLUMNS) break;
            if (simple && plain(t * WARP, P.columns) && plain(t * WARP + WARP - 1, P.columns))
                cell<PHASE, false>(here + t * WARP, problem, parity, first + j, lane + t * WARP);
            else
                cell<PHASE, true>(here + t * WARP, problem, parity, first + j, lane + t * WARP);
        }
    }
    if (driven)
        impress(problem, step, PHASE, AREA, [=](int row, int column) {
            const int j = row - first;
            return j >= 0 && j < rows && j % WARPS == warp && column % WARP == lane ? slab(j) + column : (real *)0;
        });
    __syncthreads();  // all rows are done
    constexpr int next = (PHASE + 1) % Stencil::PHASES;
    constexpr bool up = Stencil::low(next), down = Stencil::high(next);
    if ((up && Stencil::low(PHASE)) || (down && Stencil::high(PHASE))) cluster_wait();  // neighbours have read the halo
    if (up && rows) send(rows - 1, -1, cluster_rank() + 1);
    if (down && rows) send(0, SLAB, cluster_rank() - 1);
    cluster_wait();  // the halo has arrived
}

#ifndef HOST_EMULATION
extern "C" __cluster_dims__(CLUSTER, 1, 1) __global__ void march(int first_step, int steps);
#endif

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1) march(int first_step, int steps) {
    const int problem = blockIdx.y, first = cluster_rank() * SLAB, rows = max(0, min((int)SLAB, P.rows - first));
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const long long plane = plane_size();
    real *state = P.state + problem * Stencil::PLANES * plane;
    const real *media = P.coefficients + problem * Stencil::COEFFICIENTS * plane;
    for (int j = warp - 1; j <= SLAB; j += WARPS)
        for (int i = lane - ROW_LEAD; i < ROW - ROW_LEAD; i += WARP) {
            const long long place = row_at(min(first + j, P.rows)) + i;
#pragma unroll
            for (int f = 0; f < Stencil::PLANES; ++f)
                slab(j)[f * AREA + i] = f < Stencil::KEPT ? state[f * plane + place] : real(0);
#pragma unroll
            for (int c = 0; c < Stencil::COEFFICIENTS; ++c)
                slab(j)[(Stencil::PLANES + c) * AREA + i] = media[c * plane + place];
        }
    const auto own = [=](int row, int) { return row >= first && row < first + rows; };
    const bool driven = any_place(P.sources, P.source_count, 4, own);
    const bool sampled = any_place(P.probes, P.probe_count, 3, own);
    cluster_wait();  // every block has its slab, halo included, and has started
    for (int step = 0; step < steps; ++step) {
        phase<0>(problem, first_step + step, step & 1, first, rows, driven);
        if (Stencil::PHASES > 1) phase<SECOND>(problem, first_step + step, step & 1, first, rows, driven);
        if (Stencil::PHASES > 2) phase<THIRD>(problem, first_step + step, step & 1, first, rows, driven);
        if (sampled) {
            const int held = step + 1;
            sample(problem, first_step + step, threadIdx.x, WARP * WARPS, [=](int plane, int row, int column) {
                return own(row, column) ? slab(row - first) + Stencil::holds(plane, held) * AREA + column : (real *)0;
            });
            __syncthreads();  // samples are taken before the next step
        }
    }
    for (int j = warp; j < rows; j += WARPS)
        for (int i = lane; i < P.columns; i += WARP)
#pragma unroll
            for (int f = 0; f < Stencil::KEPT; ++f)
                state[f * plane + row_at(first + j) + i] = slab(j)[Stencil::holds(f, steps) * AREA + i];
}
