// One phase of one time step a launch on a lattice with three axes: one thread a cell, every operand from memory.
//
// Settings: REAL. Launch of the phases: blocks of a row's columns, grid (columns / threads, rows, planes).
#include "kernels/box/parameters.cuh"
#include "stencil.cuh"

enum { SECOND = Stencil::PHASES < 2 ? 0 : 1 };

template <int PHASE> __device__ inline void phase(int step) {
    Cell c;
    c.i = blockIdx.x * blockDim.x + threadIdx.x, c.j = blockIdx.y, c.k = blockIdx.z, c.parity = step & 1;
    if (c.i >= P.nx - Stencil::IDLE) return;
    Values values;
    Stencil::compute<PHASE>(c, values);
    Stencil::store<PHASE>(c, values);
}

extern "C" __global__ void phase_0(int step) { phase<0>(step); }
extern "C" __global__ void phase_1(int step) { phase<SECOND>(step); }
