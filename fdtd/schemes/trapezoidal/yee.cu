// Passes of one or two steps of one lattice: tiles are streamed along z, and a field is read and written once a pass.
//
// Settings: those of kernels/yee/parameters.cuh with PLANES_TOGETHER 1; ROWS of a tile, ROW_STRIDE and STRIDE between
// tiles, TILES_X along x, STAGES; Y_ON_CHIP 1 where memories along y are in shared memory between the steps; of the
// lattice ROW_PITCH, LONGEST_AXIS, CELLS_X, LAST_X (END_X), LAYERS_LOW_X, LAYERS_HIGH_X, and so along y and z. A warp a
// row, two columns a lane. Fields and memories have two places; a pass reads place `turn` and writes the other.
#include "kernels/intrinsics.cuh"
#include "schemes/trapezoidal/yee_level.cuh"
#include "schemes/trapezoidal/yee_pass.cuh"
#include "kernels/yee/after.cuh"

// A block has pieces of tiles, one after the other. `stepped` has the antenna, the first piece of each block and their
// number, and the pieces: tile, first plane, plane after the last.
template <int STEPS> __device__ inline void pass(int n, int turn) {
    const int antenna = P.stepped[0], *of_block = P.stepped + 1 + blockIdx.x;
    if (!steps(antenna, n)) return;
    Signals::prepare();
    __syncthreads();
#pragma unroll 1
    for (int piece = __ldg(of_block); piece < __ldg(of_block + 1); ++piece) {
        const int *of_piece = P.stepped + 2 + gridDim.x + 3 * piece;
        const Tile tile(__ldg(of_piece), __ldg(of_piece + 1), __ldg(of_piece + 2));
        if (tile.in_x || tile.in_y) stream<STEPS, true, true>(n, turn, tile);
        else stream<STEPS, false, false>(n, turn, tile);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) pass_1(int n, int turn) { pass<1>(n, turn); }
extern "C" __global__ void __launch_bounds__(THREADS, 1) pass_2(int n, int turn) { pass<2>(n, turn); }

// Sums of the steps of a pass, from the values of their edges.
extern "C" __global__ void __launch_bounds__(MOST_THREADS) sums_of_pass(int n, int taken) {
    const int antenna = P.stepped[blockIdx.x];
    if (!steps(antenna, n)) return;
    for (int step = 0; step < taken; ++step) {
        const real *values = P.trace + start(antenna, TRACE_AT) + step * count(antenna, PROBES);
        add_sums(antenna, n + step, threadIdx.x, [&](int p) { return values[p]; });
    }
}
