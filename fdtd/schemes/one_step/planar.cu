// One phase of one time step a launch: one thread a short column of cells, every operand from memory. The baseline.
//
// Settings: REAL; ROWS (cells a thread takes). Launch of the phases: blocks of a row's columns, grid
// (columns / threads, rows / ROWS, batch).
#ifndef ROWS
#error "ROWS must be set"
#endif
#include "kernels/planar/parameters.cuh"
#include "kernels/planar/stencil.cuh"

__device__ inline real *place(int problem, int plane, int j, int i) {
    return P.state + ((long long)problem * Stencil::PLANES + plane) * plane_size() + row_at(j) + i;
}

template <bool STRETCHED> using Stored = Cell<STRETCHED, IN_MEMORY>;

// All rows are computed before any is stored, so that the loads of one do not wait for the stores of another. Rows of
// cells without coefficients follow each other: the rows that neighbours share are then in the first-level cache.
template <int PHASE, bool STRETCHED> __device__ inline void cells(int problem, int step, int first, int i) {
    Stored<STRETCHED> c;
    c.stride = c.step = c.psi_stride = plane_size(), c.i = i, c.parity = step & 1;
    real *state = place(problem, 0, first, i);
    const real *media = P.coefficients + (long long)problem * Stencil::COEFFICIENTS * c.step + row_at(first) + i;
    real *psi = P.psi + (long long)problem * 4 * c.psi_stride + row_at(first) + i;
    const auto go_to = [&](int r) {
        c.here = state + r * P.pitch, c.below = c.here - P.pitch, c.above = c.here + P.pitch;
        c.middle = media + r * P.pitch, c.low = c.middle - P.pitch, c.high = c.middle + P.pitch;
        c.psi = psi + r * P.pitch, c.j = first + r;
    };
    Values values[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (first + r < P.rows - Stencil::IDLE) {
            go_to(r), Stencil::template compute<PHASE>(c, values[r]);
            if (!Stencil::COEFFICIENTS) Stencil::template store<PHASE>(c, values[r]);
        }
    if (!Stencil::COEFFICIENTS) return;
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (first + r < P.rows - Stencil::IDLE) go_to(r), Stencil::template store<PHASE>(c, values[r]);
}

template <int PHASE> __device__ inline void phase(int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * ROWS, problem = blockIdx.z;
    if (i >= P.columns - Stencil::IDLE) return;
    if (all_plain(first, i - threadIdx.x % WARP) && plain(first + ROWS - 1, P.rows))
        cells<PHASE, false>(problem, step, first, i);
    else
        cells<PHASE, true>(problem, step, first, i);
    impress(problem, step, PHASE, plane_size(), [=](int row, int column) {
        return column == i && row >= first && row < first + ROWS ? place(problem, 0, row, column) : (real *)0;
    });
}

extern "C" __global__ void phase_0(int step) { phase<0>(step); }
extern "C" __global__ void phase_1(int step) { phase<SECOND>(step); }
extern "C" __global__ void phase_2(int step) { phase<THIRD>(step); }

// Samples after a step: one block a problem.
extern "C" __global__ void probe(int step) {
    const int problem = blockIdx.x;
    sample(problem, step, threadIdx.x, blockDim.x,
           [=](int plane, int j, int i) { return place(problem, Stencil::holds(plane, step + 1), j, i); });
}
