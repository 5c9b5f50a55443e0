// One phase of one time step a launch for a batch of antennas on rectilinear lattices: every operand from memory.
//
// Settings: those of kernels/yee/parameters.cuh, THREADS, DEPTH, RESIDENT. Grid (tiles of the largest antenna,
// antennas), blocks of THREADS. A thread has two columns, neighbours in a row, and DEPTH planes of them; a block's
// columns follow each other through the rows of the lattice. Planes from `low` to before `high` are stepped, as far as
// they are of the lattice.
#include "kernels/yee/cell.cuh"
#include "stencil.cuh"

template <int PHASE> __device__ inline void phase(int n, int low, int high) {
    const int antenna = P.stepped[blockIdx.y];
    if (!steps(antenna, n)) return;
    const int pairs = (count(antenna, END_X) + 1) / 2, end_y = count(antenna, END_Y);
    const int tiles = (pairs * end_y + THREADS - 1) / THREADS, at = blockIdx.x % tiles * THREADS + threadIdx.x;
    const int end_z = min(count(antenna, END_Z), high);
    const int first = low + blockIdx.x / tiles * DEPTH, last = min(first + DEPTH, end_z);
    if (at >= pairs * end_y || first >= end_z) return;
    Columns<PHASE> columns(antenna, at % pairs * 2, at / pairs, first);
    const bool two = columns.i + 1 < columns.end_x;
#pragma unroll 1
    for (int k = first; k < last; ++k) {
        columns.fetch();
        Cell<PHASE, 0> cell(columns);
        Cell<PHASE, 1> other(columns);
        Values values, others;
        Stencil::compute<PHASE>(cell, values);
        Stencil::compute<PHASE>(other, others);
        Stencil::store<PHASE>(cell, values);
        if (two) Stencil::store<PHASE>(other, others);
        columns.next();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) phase_0(int n, int low, int high) {
    phase<0>(n, low, high);
}
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) phase_1(int n, int low, int high) {
    phase<1>(n, low, high);
}
