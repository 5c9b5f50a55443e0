// Time skewing with time tiling: one block a problem holds a window of rows; a group of warps owns each of LEVELS time
// steps and follows the group before it, LAG rows behind. Rows enter at one side at time t and leave at the other at
// t + LEVELS. No work is done twice and there is no second buffer.
//
// Settings: REAL; STENCIL; LEVELS; GROUP (warps a level); ROW (numbers of a row of one plane, the pitch in memory).
// Launch: blocks of 32 GROUP LEVELS threads, grid (batch), dynamic shared memory of SLOTS rows of all planes and
// coefficients.
#if !defined(LEVELS) || !defined(GROUP) || !defined(ROW)
#error "LEVELS, GROUP and ROW must be set"
#endif
#include "machine.cuh"
#include "planar_parameters.cuh"
#include "stencil.cuh"

// Level w takes row k = n - LAG w at iteration n. Its first phase reads row k + 1, which the level before it finished
// in the last iteration; its last phase reads row k - BACK - 1. Two rows are on their way from memory.
enum { LAG = 2 + Stencil::BACK, AHEAD = 3, SLOTS = LAG * (LEVELS - 1) + Stencil::BACK + 2 + AHEAD };
enum { ARRAYS = Stencil::KEPT + Stencil::COEFFICIENTS, SLOT = (Stencil::PLANES + Stencil::COEFFICIENTS) * ROW };

// Row j on chip, from what stands LEAD columns before column 0.
__device__ inline real *slot(int j) { return reinterpret_cast<real *>(shared_base()) + (j + SLOTS) % SLOTS * SLOT; }

__device__ inline int level() { return threadIdx.x / (WARP * GROUP); }
__device__ inline int member() { return threadIdx.x % (WARP * GROUP); }

// Starts the copy of row j, also of the zeros below and above the lattice.
__device__ inline void fetch(const real *state, const real *media, int j) {
    enum { CHUNK = 16 / sizeof(real), CHUNKS = ROW / CHUNK };
    if (j <= P.rows)
        for (int n = threadIdx.x; n < ARRAYS * CHUNKS; n += WARP * GROUP * LEVELS) {
            const int array = n / CHUNKS, at = n % CHUNKS * CHUNK, media_array = array - Stencil::KEPT;
            const real *plane = media_array < 0 ? state + array * plane_size() : media + media_array * plane_size();
            const int to = media_array < 0 ? array : Stencil::PLANES + media_array;
            copy_16_bytes(slot(j) + to * ROW + at, plane + row_at(j) - LEAD + at);
        }
    close_copies();
    for (int n = threadIdx.x; n < (Stencil::PLANES - Stencil::KEPT) * ROW; n += WARP * GROUP * LEVELS)
        slot(j)[Stencil::KEPT * ROW + n] = 0;  // what is never stepped is read as zero
}

enum { LAST = Stencil::PHASES - 1 };

template <int PHASE, bool STRETCHED>
__device__ inline void cell(real *here, real *below, real *above, int problem, int j, int i) {
    Cell<STRETCHED> c;
    c.stride = c.step = ROW, c.psi_stride = plane_size(), c.j = j, c.i = i, c.parity = level() & 1;
    c.here = here + i, c.below = below + i, c.above = above + i, c.middle = c.here + Stencil::PLANES * ROW;
    c.low = c.below + Stencil::PLANES * ROW, c.high = c.above + Stencil::PLANES * ROW;
    c.psi = P.psi + (long long)problem * 4 * plane_size() + row_at(j) + i;
    Values values;
    Stencil::template compute<PHASE>(c, values);
    Stencil::template store<PHASE>(c, values);
}

// Nobody waits after the last phase: the next iteration begins with a barrier.
template <int PHASE> __device__ inline void phase(int problem, int step, int k, bool active) {
    const int j = k - Stencil::back(PHASE);
    if (active && j >= 0 && j < P.rows - Stencil::IDLE) {
        real *here = slot(j) + LEAD, *below = slot(j - 1) + LEAD, *above = slot(j + 1) + LEAD;
        const int lane = threadIdx.x % WARP;
        for (int i = member(); i < P.columns - Stencil::IDLE; i += WARP * GROUP)
            if (all_plain(j, i - lane))
                cell<PHASE, false>(here, below, above, problem, j, i);
            else
                cell<PHASE, true>(here, below, above, problem, j, i);
        impress(problem, step, PHASE, ROW, [=](int row, int column) {
            return row == j && column % (WARP * GROUP) == member() ? here + column : (real *)0;
        });
    }
    if (PHASE < LAST) __syncthreads();  // the next phase reads what this one wrote
}

extern "C" __global__ void __launch_bounds__(32 * GROUP * LEVELS, 1) march(int first_step, int steps) {
    const int problem = blockIdx.x;
    const long long plane = plane_size();
    real *state = P.state + problem * Stencil::PLANES * plane;
    const real *media = P.coefficients + problem * Stencil::COEFFICIENTS * plane;
    for (int done = 0; done < steps; done += LEVELS) {
        const int count = min((int)LEVELS, steps - done), step = first_step + done + level();
        for (int j = -1; j < AHEAD; ++j) fetch(state, media, j);
        const int last = P.rows - 1 + LAG * (count - 1) + Stencil::BACK;
        for (int n = 0; n <= last + 1; ++n) {
            wait_copies<AHEAD - 2>();
            __syncthreads();  // row n + 1 is there; the last phases are done; the slot of row n + AHEAD is free
            const int k = n - LAG * level(), ready = k - 1 - Stencil::BACK;
            const bool active = level() < count, finished = active && ready >= 0 && ready < P.rows;
            if (P.probe_count && finished)
                sample(problem, step, member(), WARP * GROUP, [=](int plane, int row, int column) {
                    const int held = Stencil::holds(plane, level() + 1);
                    return row == ready ? slot(ready) + LEAD + held * ROW + column : (real *)0;
                });
            if (finished && level() == count - 1)
                for (int i = member(); i < P.columns - Stencil::IDLE; i += WARP * GROUP)
#pragma unroll
                    for (int f = 0; f < Stencil::KEPT; ++f)
                        state[f * plane + row_at(ready) + i] = slot(ready)[Stencil::holds(f, count) * ROW + LEAD + i];
            if (n > last) break;
            fetch(state, media, n + AHEAD);
            phase<0>(problem, step, k, active);
            if (Stencil::PHASES > 1) phase<SECOND>(problem, step, k, active);
            if (Stencil::PHASES > 2) phase<THIRD>(problem, step, k, active);
        }
        wait_copies<0>();
        __syncthreads();  // the rows are in memory before they are read again
    }
}
