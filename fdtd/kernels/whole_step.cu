// One time step in one launch, from one buffer of fields and filter memories to the other.
//
// A block takes a few whole rows: E of these and of the row above them, which the next block does as well, then H of
// these. New E goes from thread to thread through shared memory; every field is read once and written once.
//
// Settings: those of one_step.cu, for an odd step at the end; TILE_ROWS (rows that a block writes). Launch: blocks of
// THREADS, at least one a vector of TILE_ROWS + 1 rows, grid (rows / TILE_ROWS, batch), dynamic shared memory for three
// components of those rows.
#ifndef TILE_ROWS
#error "TILE_ROWS must be set"
#endif
#include "one_step.cu"

// `odd`: from the second buffer to the first.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) whole_step(int step, int odd) {
    const int antenna = blockIdx.y, vectors = P.pitch / WIDTH, row = int(threadIdx.x) / vectors;
    const int k = blockIdx.x * TILE_ROWS + row, j = (int(threadIdx.x) - row * vectors) * WIDTH;
    if (!P.active[antenna]) return;
    const int from = antenna + odd * P.batch, to = antenna + (1 - odd) * P.batch;
    const bool owns = row < TILE_ROWS && k < P.nz;
    real *shared = reinterpret_cast<real *>(shared_base()) + 3 * row * P.pitch + j;  // e_r, e, e_z of this row
    const Spot s{antenna, k, j};
    Cells x;
    if (row <= TILE_ROWS && k < P.nz) {
        const real *state = field(from, k, 0) + j, *below = state - 3 * P.pitch;
        real hr_below[WIDTH], h_below[WIDTH];
        load_three(state + 3 * P.pitch, x.h_r, x.h, x.h_z), load_three(state, x.e_r, x.e, x.e_z);
        const real h_left = state[4 * P.pitch - 1], hz_left = state[5 * P.pitch - 1];
        clear(hr_below), clear(h_below);
        if (k > 0) load(below, hr_below), load(below + P.pitch, h_below);
        const int word = row_word(antenna, k), above = row_word(antenna, k + 1);
        advance_e(x, hr_below, h_below, h_left, hz_left, s, Across{from, owns ? to : -1}, word, above, step);
        store_three(shared, x.e_r, x.e, x.e_z);
    }
    __syncthreads();  // new E is there
    if (!owns) return;
    const bool last = j + WIDTH >= P.pitch;
    const real e_right = last ? real(0) : shared[P.pitch + WIDTH], ez_right = last ? real(0) : shared[2 * P.pitch + WIDTH];
    real er_above[WIDTH], e_above[WIDTH];
    clear(er_above), clear(e_above);
    if (k + 1 < P.nz) load(shared + 3 * P.pitch, er_above), load(shared + 4 * P.pitch, e_above);
    real *state = field(to, k, 0) + j;
    store_three(state, x.e_r, x.e, x.e_z);
    advance_h(x, er_above, e_above, ez_right, e_right, s, Across{from, to}, row_word(antenna, k));
    store_three(state + 3 * P.pitch, x.h_r, x.h, x.h_z);
}
