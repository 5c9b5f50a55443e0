// One time step: two kernels, E and H, in place; one thread a vector of 16 bytes of one row; every operand from memory.
//
// Settings: REAL, REAL_BYTES, THREADS (of a block), RESIDENT (blocks that a multiprocessor should hold: sets the
// registers a thread). Launch: blocks of THREADS, grid (vectors of the lattice / THREADS, batch).
// E reads only H and its own cells, H only E and its own cells, so threads do not conflict.
#if !defined(THREADS) || !defined(RESIDENT)
#error "THREADS and RESIDENT must be set"
#endif
#include "schemes/one_step/cells.cuh"

__device__ inline Spot spot_in_place() {
    const int vectors = P.pitch / WIDTH, place = blockIdx.x * THREADS + threadIdx.x, antenna = blockIdx.y;
    const int k = place / vectors;
    return {antenna, k, (place - k * vectors) * WIDTH};
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) e_step(int step) {
    const Spot s = spot_in_place();
    if (s.k >= P.nz || !P.active[s.antenna]) return;
    real *state = field(s.antenna, s.k, 0) + s.j;
    step_e(state, [=] { return state - 6 * P.pitch; }, s, radial_memory(s.antenna, s.k, 0), row_words(s.antenna, s.k), step);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) h_step(int step) {
    const Spot s = spot_in_place();
    if (s.k >= P.nz || !P.active[s.antenna]) return;
    real *state = field(s.antenna, s.k, 0) + s.j;
    step_h(state, [=] { return state + 6 * P.pitch; }, s, radial_memory(s.antenna, s.k, 0), row_words(s.antenna, s.k));
}
