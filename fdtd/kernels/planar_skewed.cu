// Time skewing with time tiling: one block a problem holds a window of rows; a group of warps owns each of LEVELS time
// steps and follows the group before it, LAG rows behind. Rows enter at one side at time t and leave at the other at
// t + LEVELS. No work is done twice and there is no second buffer.
//
// Settings: REAL; LEVELS; GROUP (warps a level); ROW (floats that a row of one plane has on chip, columns + 2 at
// least). Launch: blocks of (32 GROUP, LEVELS), grid (batch), dynamic shared memory of SLOTS rows of all planes and
// coefficients.
#if !defined(LEVELS) || !defined(GROUP) || !defined(ROW)
#error "LEVELS, GROUP and ROW must be set"
#endif
#include "planar_parameters.cuh"
#include "stencil.cuh"

// Level w takes row k = n - LAG w at iteration n. Its first phase reads row k + 1, which the level before it finished
// BACK + 1 iterations ago if it leads by LAG rows; its last phase reads row k - BACK - 1. One row is being loaded.
enum { LAG = 2 + Stencil::BACK, SLOTS = LAG * (LEVELS - 1) + Stencil::BACK + 4 };
enum { ARRAYS = Stencil::PLANES + Stencil::COEFFICIENTS, SLOT = ARRAYS * ROW };

extern __shared__ real window[];

__device__ inline real *slot(int j) { return window + (j + SLOTS) % SLOTS * SLOT + 1; }

// Row j of one problem from memory; zeros outside the lattice.
__device__ inline void fetch(const real *from, const real *media, int j, int thread, int threads) {
    real *to = slot(j) - 1;
    const long long plane = plane_size();
    for (int i = thread; i < ROW; i += threads) {
        const long long place = row_at(j) + i - 1;
        const bool stored = j >= 0 && j < P.rows && i <= P.columns;
#pragma unroll
        for (int f = 0; f < Stencil::PLANES; ++f)
            to[f * ROW + i] = stored && f < Stencil::KEPT ? from[f * plane + place] : real(0);
#pragma unroll
        for (int c = 0; c < Stencil::COEFFICIENTS; ++c)
            to[(Stencil::PLANES + c) * ROW + i] = stored ? media[c * plane + place] : real(0);
    }
}

template <int PHASE> __device__ inline void phase(int problem, int step, int k, bool active) {
    const int j = k - Stencil::back(PHASE);
    if (active && j >= 0 && j < P.rows) {
        Cell<true> c;
        real *here = slot(j), *below = slot(j - 1), *above = slot(j + 1);
        real *psi = P.psi + (long long)problem * 4 * plane_size() + row_at(j);
        c.stride = c.step = ROW, c.psi_stride = plane_size(), c.j = j, c.parity = threadIdx.y & 1;
        for (int i = threadIdx.x; i < P.columns; i += 32 * GROUP) {
            c.here = here + i, c.below = below + i, c.above = above + i;
            c.middle = c.here + Stencil::PLANES * ROW, c.low = c.below + Stencil::PLANES * ROW;
            c.high = c.above + Stencil::PLANES * ROW, c.psi = psi + i, c.i = i;
            Stencil::template update<PHASE>(c);
        }
    }
    __syncthreads();  // the next phase reads what this one wrote
    if (P.source_count) {
        if (active) impress(problem, step, PHASE, threadIdx.x, 32 * GROUP, [=](int plane, int row, int column) {
            return row == j ? slot(j) + plane * ROW + column : (real *)0;
        });
        __syncthreads();  // sources are in before a neighbour reads them
    }
}

extern "C" __global__ void __launch_bounds__(32 * GROUP * LEVELS) advance(int first_step, int steps) {
    const int problem = blockIdx.x, thread = threadIdx.y * 32 * GROUP + threadIdx.x, threads = 32 * GROUP * LEVELS;
    const long long plane = plane_size();
    real *state = P.state + (long long)problem * Stencil::PLANES * plane;
    const real *media = P.coefficients + (long long)problem * Stencil::COEFFICIENTS * plane;
    for (int done = 0; done < steps; done += LEVELS) {
        const int count = min((int)LEVELS, steps - done), step = first_step + done + threadIdx.y;
        for (int j = -1; j <= 1; ++j) fetch(state, media, j, thread, threads);
        // Row k - BACK - 1 of the lowest level is read at its last phase: empty before it is ever written.
        for (int j = -1; j > -1 - LAG * count && j > 2 - SLOTS; --j) fetch(state, media, j, thread, threads);
        __syncthreads();  // the first rows are there
        const int last = P.rows - 1 + LAG * (count - 1) + Stencil::BACK;
        for (int n = 0; n <= last; ++n) {
            const int k = n - LAG * (int)threadIdx.y;
            const bool active = (int)threadIdx.y < count;
            fetch(state, media, n + 2, thread, threads);
            phase<0>(problem, step, k, active);
            if (Stencil::PHASES > 1) phase<Stencil::PHASES - 1 < 1 ? Stencil::PHASES - 1 : 1>(problem, step, k, active);
            if (Stencil::PHASES > 2) phase<Stencil::PHASES - 1>(problem, step, k, active);
            // This level has finished row k - BACK; the next one comes to it only after the next barrier.
            const int ready = k - Stencil::BACK;
            if (P.probe_count && active && ready >= 0 && ready < P.rows)
                sample(problem, step, threadIdx.x, 32 * GROUP, [=](int plane, int row, int column) {
                    return row == ready ? slot(ready) + Stencil::holds(plane, threadIdx.y + 1) * ROW + column : (real *)0;
                });
            if ((int)threadIdx.y == count - 1 && ready >= 0 && ready < P.rows)
                for (int i = threadIdx.x; i < P.columns; i += 32 * GROUP)
#pragma unroll
                    for (int f = 0; f < Stencil::KEPT; ++f)
                        state[f * plane + row_at(ready) + i] = slot(ready)[Stencil::holds(f, count) * ROW + i];
            __syncthreads();  // rows are stored and sampled before their slots are used again
        }
    }
}
