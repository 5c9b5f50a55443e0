// One phase of one time step a launch: one thread a short column of cells, every operand from memory. The baseline.
//
// Settings: REAL; STENCIL; ROWS (cells a thread takes). Launch of the phases: blocks of a row's columns, grid
// (columns / threads, rows / ROWS, batch).
#ifndef ROWS
#error "ROWS must be set"
#endif
#include "planar_parameters.cuh"
#include "stencil.cuh"

__device__ inline real *place(int problem, int plane, int j, int i) {
    return P.state + ((long long)problem * Stencil::PLANES + plane) * plane_size() + row_at(j) + i;
}

template <int PHASE> __device__ inline void phase(int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * ROWS, problem = blockIdx.z;
    if (i >= P.columns - Stencil::IDLE) return;
    Cell<true> c;
    c.stride = c.step = c.psi_stride = plane_size(), c.i = i, c.parity = step & 1;
#pragma unroll
    for (int j = first; j < first + ROWS; ++j) {
        if (j >= P.rows - Stencil::IDLE) break;
        c.here = place(problem, 0, j, i), c.below = c.here - P.pitch, c.above = c.here + P.pitch;
        c.middle = P.coefficients + (long long)problem * Stencil::COEFFICIENTS * c.step + row_at(j) + i;
        c.low = c.middle - P.pitch, c.high = c.middle + P.pitch;
        c.psi = P.psi + (long long)problem * 4 * c.psi_stride + row_at(j) + i, c.j = j;
        Stencil::template update<PHASE>(c);
    }
    impress(problem, step, PHASE, c.stride, [=](int row, int column) {
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
