// One phase of one time step a launch: one thread a cell, every operand from memory. The baseline of the planar stencils.
//
// Settings: REAL. Launch: blocks of (32, 8), grid (columns / 32, rows / 8, batch) for the phases.
#include "planar_parameters.cuh"
#include "stencil.cuh"

__device__ inline real *place(int problem, int plane, int j, int i) {
    return P.state + ((long long)problem * Stencil::PLANES + plane) * plane_size() + row_at(j) + i;
}

template <int PHASE> __device__ inline void phase(int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    const int problem = blockIdx.z;
    if (i >= P.columns || j >= P.rows) return;
    Cell<true> c;
    c.here = place(problem, 0, j, i), c.below = c.here - P.pitch, c.above = c.here + P.pitch;
    c.stride = c.step = c.psi_stride = plane_size();
    c.middle = P.coefficients + (long long)problem * Stencil::COEFFICIENTS * c.step + row_at(j) + i;
    c.low = c.middle - P.pitch, c.high = c.middle + P.pitch;
    c.psi = P.psi + (long long)problem * 4 * c.psi_stride + row_at(j) + i;
    c.j = j, c.i = i, c.parity = step & 1;
    Stencil::template update<PHASE>(c);
}

extern "C" __global__ void phase_0(int step) { phase<0>(step); }
extern "C" __global__ void phase_1(int step) { phase<Stencil::PHASES - 1 < 1 ? Stencil::PHASES - 1 : 1>(step); }
extern "C" __global__ void phase_2(int step) { phase<Stencil::PHASES - 1>(step); }

// Sources of one phase: one block a problem.
extern "C" __global__ void drive(int step, int which) {
    const int problem = blockIdx.x;
    impress(problem, step, which, threadIdx.x, blockDim.x,
            [=](int plane, int j, int i) { return place(problem, plane, j, i); });
}

// Samples after a step: one block a problem.
extern "C" __global__ void probe(int step) {
    const int problem = blockIdx.x;
    sample(problem, step, threadIdx.x, blockDim.x,
           [=](int plane, int j, int i) { return place(problem, Stencil::holds(plane, step + 1), j, i); });
}
