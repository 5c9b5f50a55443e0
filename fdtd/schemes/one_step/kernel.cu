// One time step: two kernels, E and H, in place; one thread a vector of 16 bytes of one row; every operand from memory.
//
// Settings: REAL, REAL_BYTES, THREADS (of a block), RESIDENT (blocks that a multiprocessor should hold: sets the
// registers a thread). Launch: blocks of THREADS, grid (vectors of the lattice / THREADS, batch).
// E reads only H and its own cells, H only E and its own cells, so no thread meets another.
#if !defined(THREADS) || !defined(RESIDENT)
#error "THREADS and RESIDENT must be set"
#endif
#include "kernels/axisymmetric/cells.cuh"

__device__ inline Spot spot_in_place() {
    const int vectors = P.pitch / WIDTH, place = blockIdx.x * THREADS + threadIdx.x, antenna = blockIdx.y;
    const int k = place / vectors;
    return {antenna, k, (place - k * vectors) * WIDTH};
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) e_step(int step) {
    const Spot s = spot_in_place();
    if (s.k >= P.nz || !P.active[s.antenna]) return;
    real *state = field(s.antenna, s.k, 0) + s.j;
    const real *below = state - 3 * P.pitch;  // h_r of the row below; not read in the lowest row
    Cells x;
    real hr_below[WIDTH], h_below[WIDTH];
    load_three(state + 3 * P.pitch, x.h_r, x.h, x.h_z), load_three(state, x.e_r, x.e, x.e_z);
    const real h_left = state[4 * P.pitch - 1], hz_left = state[5 * P.pitch - 1];
    clear(hr_below), clear(h_below);
    if (s.k > 0) load(below, hr_below), load(below + P.pitch, h_below);
    const int word = row_word(s.antenna, s.k), above = row_word(s.antenna, s.k + 1);
    advance_e(x, hr_below, h_below, h_left, hz_left, s, radial_memory(s.antenna, s.k, 0), word, above, step);
    store_three(state, x.e_r, x.e, x.e_z);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) h_step(int step) {
    const Spot s = spot_in_place();
    if (s.k >= P.nz || !P.active[s.antenna]) return;
    real *state = field(s.antenna, s.k, 0) + s.j;
    Cells x;
    real er_above[WIDTH], e_above[WIDTH];
    load_three(state, x.e_r, x.e, x.e_z), load_three(state + 3 * P.pitch, x.h_r, x.h, x.h_z);
    const bool last = s.j + WIDTH >= P.pitch;
    const real e_right = last ? real(0) : state[P.pitch + WIDTH], ez_right = last ? real(0) : state[2 * P.pitch + WIDTH];
    clear(er_above), clear(e_above);
    if (s.k + 1 < P.nz) load(state + 6 * P.pitch, er_above), load(state + 7 * P.pitch, e_above);
    advance_h(x, er_above, e_above, ez_right, e_right, s, radial_memory(s.antenna, s.k, 0), row_word(s.antenna, s.k));
    store_three(state + 3 * P.pitch, x.h_r, x.h, x.h_z);
}
