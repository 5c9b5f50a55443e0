// One phase of one time step a launch for a batch of antennas on rectilinear lattices: every operand from memory.
//
// Settings: those of kernels/yee/parameters.cuh, TILE_ROWS, DEPTH, RESIDENT. Grid (tiles of the largest antenna, antennas), blocks of
// TILE_ROWS warps. A warp has 32 columns of a row, a thread DEPTH planes of its column.
#include "kernels/yee/cell.cuh"
#include "stencil.cuh"

#define WARP 32

template <int PHASE> __device__ inline void phase(int n) {
    const int antenna = P.stepped[blockIdx.y];
    if (!steps(antenna, n)) return;
    const int end_x = count(antenna, END_X), end_y = count(antenna, END_Y), end_z = count(antenna, END_Z);
    const int across = (end_x + WARP - 1) / WARP, rows = (end_y + TILE_ROWS - 1) / TILE_ROWS;
    const int tile = blockIdx.x / across;
    const int i = blockIdx.x % across * WARP + threadIdx.x % WARP, j = tile % rows * TILE_ROWS + threadIdx.x / WARP;
    const int first = tile / rows * DEPTH, last = min(first + DEPTH, end_z);
    if (i >= end_x || j >= end_y || first >= end_z) return;
    const Lattice lattice(antenna);
#pragma unroll 1
    for (int k = first; k < last; ++k) {
        Cell<PHASE> cell(lattice, i, j, k);
        cell.prepare();
        Values values;
        Stencil::compute<PHASE>(cell, values);
        Stencil::store<PHASE>(cell, values);
    }
}

extern "C" __global__ void __launch_bounds__(TILE_ROWS * WARP, RESIDENT) phase_0(int n) { phase<0>(n); }
extern "C" __global__ void __launch_bounds__(TILE_ROWS * WARP, RESIDENT) phase_1(int n) { phase<1>(n); }
