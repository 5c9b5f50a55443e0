// One time step in one launch, in place: a block an antenna streams its rows upwards through a ring in shared memory.
//
// One warp moves whole rows by asynchronous copies, several rows ahead. One half of the other threads
// computes E of ROWS rows while the other half computes H of the ROWS rows before these, less one. That H needs only E
// of the iteration before, and that E only H that has not changed yet. One barrier for ROWS rows.
//
// Settings: REAL, REAL_BYTES, TEAM (threads that do E, or H: whole warps, at least one a vector of ROWS rows), ROWS,
// RING (rows in shared memory, more than 3 ROWS + 2), BLOCKS (target for a multiprocessor). Launch: (batch) blocks of
// 2 TEAM + 32, dynamic shared memory.
#if !defined(TEAM) || !defined(ROWS) || !defined(RING) || !defined(BLOCKS)
#error "TEAM, ROWS, RING and BLOCKS must be set"
#endif
#include "schemes/one_step/cells.cuh"
#include "kernels/signals.cuh"

#define THREADS (2 * TEAM + 32)

// In shared memory: signals, rows' words, and the ring of rows, fields first and then memories of the radial layer.
struct Ring {
    signal_word *arrivals;
    int *words;
    real *rows;
    int fields, memories;  // numbers of a row
    __device__ real *row(int k) const { return rows + k % RING * (fields + memories); }
};
__device__ inline Ring lay_out() {
    Ring s;
    s.fields = 6 * P.pitch, s.memories = 8 * P.radial_pitch;
    s.rows = reinterpret_cast<real *>(shared_base());
    s.arrivals = reinterpret_cast<signal_word *>(s.rows + RING * (s.fields + s.memories));
    s.words = reinterpret_cast<int *>(s.arrivals + RING);
    return s;
}

__device__ inline void ask_row(const Ring &s, int antenna, int k) {
    signal_word *arrival = s.arrivals + k % RING;
    copy_in(s.row(k), field(antenna, k, 0), s.fields * REAL_BYTES, arrival);
    copy_in(s.row(k) + s.fields, radial_memory(antenna, k, 0), s.memories * REAL_BYTES, arrival);
    announce_copies(arrival, (s.fields + s.memories) * REAL_BYTES);
}
__device__ inline void return_row(const Ring &s, int antenna, int k) {
    copy_out(field(antenna, k, 0), s.row(k), s.fields * REAL_BYTES);
    copy_out(radial_memory(antenna, k, 0), s.row(k) + s.fields, s.memories * REAL_BYTES);
}

// Further operands of a row are read from memory directly, but prefetched early.
__device__ inline void ask_for_the_rest(const Ring &s, int antenna, int k, int lane) {
    const int word = s.words[k], line = 128 / REAL_BYTES;
    if (word & ROW_AXIAL)
        for (int at = lane * line; at < 4 * P.pitch; at += 32 * line) prefetch(axial_memory(antenna, k, 0) + at);
    for (int at = lane; at < 9; at += 32)
        if (at < 6 || word & ROW_CUT)
            for (int j = 0; j < (word & ROW_REACH); j += line)
                prefetch((at < 6 ? medium(antenna, k, at) : open_face(antenna, k, at - 6)) + j);
}

// The warp that moves rows. In iteration n it writes back the rows that H finished in the iteration before; new rows
// take the places of the rows written back one iteration earlier.
__device__ inline void carry(const Ring &s, int antenna, int n, int lane) {
    const int free = (n - 2) * ROWS - 2;  // the highest row whose place is free
    if (lane == 0) {
        wait_copies_out();
        for (int k = max(free - ROWS + 1, 0); k <= free; ++k)
            if (k + RING < P.nz) ask_row(s, antenna, k + RING);
        for (int k = max(free + 1, 0); k <= min(free + ROWS, P.nz - 1); ++k) return_row(s, antenna, k);
    }
    for (int k = max(free - ROWS + 1, 0); k <= free; ++k)
        if (k + RING < P.nz) ask_for_the_rest(s, antenna, k + RING, lane);
}

__device__ inline void row_e(const Ring &s, const Spot &spot, int step) {
    for (int k = max(spot.k - 1, 0); k <= spot.k; ++k) await_signal(s.arrivals + k % RING, k / RING);
    real *row = s.row(spot.k);
    step_e(row + spot.j, [&] { return s.row(spot.k - 1) + spot.j; }, spot, row + s.fields, s.words + spot.k, step);
}

__device__ inline void row_h(const Ring &s, const Spot &spot) {
    real *row = s.row(spot.k);
    step_h(row + spot.j, [&] { return s.row(spot.k + 1) + spot.j; }, spot, row + s.fields, s.words + spot.k);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) whole_step(int step) {
    const int antenna = blockIdx.x, lane = threadIdx.x % 32, vectors = P.pitch / WIDTH;
    if (!P.active[antenna]) return;
    const Ring s = lay_out();
    for (int k = threadIdx.x; k <= P.nz; k += THREADS) s.words[k] = row_word(antenna, k);
    if (threadIdx.x == 0)
        for (int n = 0; n < RING; ++n) prepare_signal(s.arrivals + n, 1);
    __syncthreads();  // signals and words are ready
    const int part = threadIdx.x / TEAM, at = threadIdx.x % TEAM, row = at / vectors;  // of E, of H, carrying
    const bool works = part < 2 && row < ROWS;
    if (part == 2)
        for (int k = 0; k < min(RING, P.nz); ++k) {
            if (lane == 0) ask_row(s, antenna, k);
            ask_for_the_rest(s, antenna, k, lane);
        }
#pragma unroll 1
    for (int n = 0; n * ROWS < P.nz + ROWS + 1; ++n) {
        const int k = part ? (n - 1) * ROWS - 1 + row : n * ROWS + row;
        const Spot spot{antenna, k, (at - row * vectors) * WIDTH};
        if (part == 2) carry(s, antenna, n, lane);
        else if (works && k >= 0 && k < P.nz) {
            if (part) row_h(s, spot);
            else row_e(s, spot, step);
        }
        publish_to_copies();
        __syncthreads();  // E and H of these rows are visible to the next iteration and to copies
    }
    if (part < 2 || lane > 0) return;
    const int n = (P.nz + ROWS) / ROWS + 1;  // as in the next iteration
    for (int k = max((n - 2) * ROWS - 1, 0); k < P.nz; ++k) return_row(s, antenna, k);
    wait_copies_out();
}
