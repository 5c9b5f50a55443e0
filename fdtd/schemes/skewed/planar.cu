// Time skewing with time tiling: one block a problem holds a window of rows; a group of warps owns each of LEVELS time
// steps and follows the group before it, LAG rows behind. Rows enter at one side at time t and leave at the other at
// t + LEVELS. No work is done twice and there is no second buffer.
//
// Settings: REAL; LEVELS; GROUP (warps a level); COLUMNS (that change); ROW (numbers of a row of one
// plane, whole vectors of 16 bytes). Launch: blocks of 32 GROUP LEVELS threads, grid (batch), dynamic shared memory of
// SLOTS rows of all planes and coefficients.
#if !defined(LEVELS) || !defined(GROUP) || !defined(COLUMNS) || !defined(ROW)
#error "LEVELS, GROUP, COLUMNS and ROW must be set"
#endif
#include "kernels/intrinsics.cuh"
#include "kernels/planar/parameters.cuh"
#include "kernels/planar/stencil.cuh"

// Level w takes row k = n - LAG w at iteration n. Its first phase reads row k + 1, which the level before it finished
// in the last iteration; its last phase reads row k - BACK - 1. Two rows are on their way from memory.
enum { LAG = 2 + Stencil::BACK, AHEAD = 3, SLOTS = LAG * (LEVELS - 1) + Stencil::BACK + 2 + AHEAD };
enum { ARRAYS = Stencil::KEPT + Stencil::COEFFICIENTS, SLOT = (Stencil::PLANES + Stencil::COEFFICIENTS) * ROW };
enum { SPAN = WARP * GROUP, THREADS = SPAN * LEVELS, TURNS = (COLUMNS + SPAN - 1) / SPAN };  // columns of a thread
enum { CHUNK = 16 / sizeof(real), CHUNKS = ARRAYS * ROW / CHUNK, COPIES = (CHUNKS + THREADS - 1) / THREADS };
enum { LAST = Stencil::PHASES - 1 };

// Row j on chip, from ROW_LEAD columns before column 0 on; j is at least -SLOTS.
__device__ inline int slot_of(int j) { return (j + SLOTS) % SLOTS; }
__device__ inline real *window() { return reinterpret_cast<real *>(shared_base()); }

__device__ inline int level() { return threadIdx.x / SPAN; }
__device__ inline int member() { return threadIdx.x % SPAN; }

// A thread's part of the copy of every row: the same places each time.
struct Share {
    const real *from[COPIES];  // of row -1
    int to[COPIES];            // in a slot; negative: nothing
};

__device__ inline Share share(int problem) {
    const long long plane = plane_size();
    const real *state = P.state + problem * Stencil::PLANES * plane;
    const real *media = P.coefficients + problem * Stencil::COEFFICIENTS * plane;
    Share mine;
#pragma unroll
    for (int m = 0; m < COPIES; ++m) {
        const int n = threadIdx.x + m * THREADS, array = n * CHUNK / ROW, at = n * CHUNK % ROW, one = array - Stencil::KEPT;
        mine.from[m] = (one < 0 ? state + array * plane : media + one * plane) + row_at(-1) - ROW_LEAD + at;
        mine.to[m] = n < CHUNKS ? (one < 0 ? array : Stencil::PLANES + one) * ROW + at : -1;
    }
    return mine;
}

// Starts the copy of row j, also of the zeros below and above the lattice.
__device__ inline void fetch(const Share &mine, int j) {
    real *slot = window() + slot_of(j) * SLOT;
    if (j <= P.rows)
#pragma unroll
        for (int m = 0; m < COPIES; ++m)
            if (mine.to[m] >= 0) copy_16_bytes(slot + mine.to[m], mine.from[m] + (long long)(j + 1) * P.pitch);
    close_copies();
    for (int n = threadIdx.x; n < (Stencil::PLANES - Stencil::KEPT) * ROW; n += THREADS)
        slot[Stencil::KEPT * ROW + n] = 0;  // what is never stepped is read as zero
}

template <int PHASE, bool STRETCHED>
__device__ inline void cell(real *here, real *below, real *above, int problem, int j, int i) {
    Cell<STRETCHED> c;
    c.stride = c.step = ROW, c.psi_stride = plane_size(), c.j = j, c.i = i, c.parity = level() & 1;
    c.here = here, c.below = below, c.above = above, c.middle = here + Stencil::PLANES * ROW;
    c.low = below + Stencil::PLANES * ROW, c.high = above + Stencil::PLANES * ROW;
    if (STRETCHED) c.psi = P.psi + (long long)problem * 4 * plane_size() + row_at(j) + i;
    Values values;
    Stencil::template compute<PHASE>(c, values);
    Stencil::template store<PHASE>(c, values);
}

// `clear`: which of this thread's turns have a warp's columns clear of the layers. No wait follows the last phase: the
// next iteration begins with a barrier.
template <int PHASE> __device__ inline void phase(int problem, int step, int k, unsigned clear) {
    const int j = k - Stencil::back(PHASE);
    if (j >= 0 && j < P.rows - Stencil::IDLE) {
        const int at = slot_of(j), first = member();
        real *here = window() + at * SLOT + ROW_LEAD + first;
        real *below = here + (at > 0 ? -SLOT : (SLOTS - 1) * SLOT), *above = here + (at < SLOTS - 1 ? SLOT : (1 - SLOTS) * SLOT);
        const unsigned simple = plain(j, P.rows) ? clear : 0;
#pragma unroll
        for (int t = 0; t < TURNS; ++t) {
            if (t == TURNS - 1 && first + t * SPAN >= COLUMNS) break;
            if (simple >> t & 1)
                cell<PHASE, false>(here + t * SPAN, below + t * SPAN, above + t * SPAN, problem, j, first + t * SPAN);
            else
                cell<PHASE, true>(here + t * SPAN, below + t * SPAN, above + t * SPAN, problem, j, first + t * SPAN);
        }
        impress(problem, step, PHASE, ROW, [=](int row, int column) {
            return row == j && column % SPAN == first ? here + (column - first) : (real *)0;
        });
    }
    if (PHASE < LAST) __syncthreads();  // the next phase reads what this one wrote
}

extern "C" __global__ void __launch_bounds__(32 * GROUP * LEVELS, 1) march(int first_step, int steps) {
    const int problem = blockIdx.x, first = member(), lane = threadIdx.x % WARP;
    const long long plane = plane_size();
    real *state = P.state + problem * Stencil::PLANES * plane;
    const Share mine = share(problem);
    unsigned clear = 0;
    for (int t = 0; t < TURNS; ++t) {
        const int left = first - lane + t * SPAN;
        clear |= unsigned(plain(left, P.columns) && plain(left + WARP - 1, P.columns)) << t;
    }
    for (int done = 0; done < steps; done += LEVELS) {
        const int count = min((int)LEVELS, steps - done), step = first_step + done + level();
        for (int j = -1; j < AHEAD; ++j) fetch(mine, j);
        const int last = P.rows - 1 + LAG * (count - 1) + Stencil::BACK;
        for (int n = 0; n <= last + 1; ++n) {
            wait_copies<AHEAD - 2>();
            __syncthreads();  // row n + 1 has arrived; the last phases are done; the slot of row n + AHEAD is free
            // Rows that no level has are outside the lattice.
            const int k = level() < count ? n - LAG * level() : -1 - Stencil::BACK, ready = k - 1 - Stencil::BACK;
            if (ready >= 0 && ready < P.rows) {
                const real *row = window() + slot_of(ready) * SLOT + ROW_LEAD;
                sample(problem, step, first, SPAN, [=](int plane, int j, int i) {
                    return j == ready ? row + Stencil::holds(plane, level() + 1) * ROW + i : (const real *)0;
                });
                if (level() == count - 1)
                    for (int i = first; i < COLUMNS; i += SPAN)
#pragma unroll
                        for (int f = 0; f < Stencil::KEPT; ++f)
                            state[f * plane + row_at(ready) + i] = row[Stencil::holds(f, count) * ROW + i];
            }
            if (n > last) break;
            fetch(mine, n + AHEAD);
            phase<0>(problem, step, k, clear);
            if (Stencil::PHASES > 1) phase<SECOND>(problem, step, k, clear);
            if (Stencil::PHASES > 2) phase<THIRD>(problem, step, k, clear);
        }
        wait_copies<0>();
        __syncthreads();  // the rows are in memory before they are read again
    }
}
