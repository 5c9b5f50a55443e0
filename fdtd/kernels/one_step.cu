// One time step a launch: two kernels, E and H, one thread a vector of 16 bytes of one row; every operand from memory.
//
// Settings: REAL, REAL_BYTES, THREADS (of a block), RESIDENT (blocks that a multiprocessor should hold: sets the
// registers a thread). Launch: blocks of THREADS, grid (vectors of the lattice / THREADS, batch).
// E reads only H and its own cells, H only E and its own cells, so no thread meets another.
#if !defined(THREADS) || !defined(RESIDENT)
#error "THREADS and RESIDENT must be set"
#endif
#define CELLS (16 / REAL_BYTES)
#include "lanes.cuh"
#include "axial.cuh"

struct Curl {
    real r, phi, z;
};

// Unstretched curls of H at column j (as stored) of row k; zero below the lowest row.
__device__ inline Curl curl_h(int antenna, int k, int j) {
    const real *h_r = field(antenna, k, 3), *h = field(antenna, k, 4), *h_z = field(antenna, k, 5);
    const real h_below = k > 0 ? field(antenna, k - 1, 4)[j] : real(0);
    const real hr_below = k > 0 ? field(antenna, k - 1, 3)[j] : real(0);
    return {P.order * h_z[j] - (h[j] - h_below), (h_r[j] - hr_below) - (h_z[j] - h_z[j - 1]),
            (h[j] - h[j - 1]) - P.order * h_r[j]};
}

// What the r-z entries around e_r and e_z of this cell make of the other component's curls (see fdtd.problem).
__device__ inline void couple(int antenna, int k, int j, real &e_r, real &e_z) {
    const real *gain = P.gains;  // of e_r
    if (row_word(antenna, k) & ROW_COUPLED) {
        const real *x = node_coupling(antenna, k);
        for (int n = j; n <= j + 1; ++n)
            if (x[n] != real(0) && k > 0)
                e_r += gain[j] * (x[n] * (curl_h(antenna, k, n).z + curl_h(antenna, k - 1, n).z));
        if (x[j] != real(0))
            e_z += x[j] * (gain[j - 1] * curl_h(antenna, k, j - 1).r + gain[j] * curl_h(antenna, k, j).r);
    }
    if (k + 1 < P.nz && row_word(antenna, k + 1) & ROW_COUPLED) {
        const real x = node_coupling(antenna, k + 1)[j];
        if (x != real(0))
            e_z += x * (gain[j - 1] * curl_h(antenna, k + 1, j - 1).r + gain[j] * curl_h(antenna, k + 1, j).r);
    }
}

__device__ inline void load(const real *from, real *to) { unpack(*reinterpret_cast<const vector *>(from), to); }
__device__ inline void store(real *to, const real *from) { *reinterpret_cast<vector *>(to) = packed(from); }

__device__ inline void scale(const real *factors, real *values) {
    real f[WIDTH];
    load(factors, f);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) values[w] *= f[w];
}

// Adds what one filter of the radial layer makes of a curl and advances its memory; `f` and `psi` at its first column.
__device__ inline void add_filtered(const real *f, real *psi, const real *curl, real *sum) {
    real b[WIDTH], c[WIDTH], p[WIDTH];
    load(f, b), load(f + P.radial_pitch, c), load(psi, p);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) p[w] = b[w] * p[w] + c[w] * curl[w], sum[w] += p[w];
    store(psi, p);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) e_step(int step) {
    const int vectors = P.pitch / WIDTH, place = blockIdx.x * THREADS + threadIdx.x, antenna = blockIdx.y;
    const int k = place / vectors, j = (place - k * vectors) * WIDTH;
    if (k >= P.nz || !P.active[antenna]) return;
    real *state = field(antenna, k, 0) + j;
    const real *below = state - 3 * P.pitch;  // h_r of the row below; not read in the lowest row
    real hr[WIDTH], h[WIDTH], hz[WIDTH], e_r[WIDTH], e[WIDTH], e_z[WIDTH], dz_hr[WIDTH], dz_h[WIDTH];
    load(state + 3 * P.pitch, hr), load(state + 4 * P.pitch, h), load(state + 5 * P.pitch, hz);
    load(state, e_r), load(state + P.pitch, e), load(state + 2 * P.pitch, e_z);
    const real h_outside = state[4 * P.pitch - 1], hz_outside = state[5 * P.pitch - 1];
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) dz_hr[w] = dz_h[w] = 0;
    if (k > 0) load(below, dz_hr), load(below + P.pitch, dz_h);
    real g_r[WIDTH], g_phi[WIDTH], g_z[WIDTH];
    load(P.gains + j, g_r), load(P.gains + P.pitch + j, g_phi), load(P.gains + 2 * P.pitch + j, g_z);
    const int word = row_word(antenna, k), above = row_word(antenna, k + 1);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) dz_hr[w] = hr[w] - dz_hr[w], dz_h[w] = h[w] - dz_h[w];
    if (RARELY(word & ROW_AXIAL)) {
        const int columns = P.axial_rows[k];
#pragma unroll
        for (int w = 0; w < WIDTH; ++w)
            if (j + w < columns) {
                dz_hr[w] = stretched(axial_memory(antenna, k, 0) + j + w, dz_hr[w], 0, k);
                dz_h[w] = stretched(axial_memory(antenna, k, 1) + j + w, dz_h[w], 0, k);
            }
    }
    real curl_r[WIDTH], curl_phi[WIDTH], curl_z[WIDTH];
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        curl_r[w] = P.order * hz[w] - dz_h[w], curl_phi[w] = dz_hr[w] - (hz[w] - (w ? hz[w - 1] : hz_outside));
        curl_z[w] = (h[w] - (w ? h[w - 1] : h_outside)) - P.order * hr[w];
        g_r[w] *= curl_r[w], g_phi[w] *= curl_phi[w], g_z[w] *= curl_z[w];
        if (MOVE_ONLY) g_r[w] = dz_h[w] + hz[w], g_phi[w] = dz_hr[w] + hr[w], g_z[w] = h[w];  // nothing is read in vain
    }
    const int c = j - P.lead - P.radial_start, n = P.radial_pitch;
    if (RARELY(c >= 0 && c < P.radial_cells)) {
        const real *f = P.filters + c;
        real *psi = radial_memory(antenna, k, 0) + c;
        add_filtered(f, psi, curl_r, g_r), add_filtered(f + 2 * n, psi + n, curl_phi, g_phi);
        add_filtered(f + 4 * n, psi + 2 * n, curl_z, g_z), add_filtered(f + 6 * n, psi + 3 * n, curl_z, g_z);
    }
    const int reach = word & ROW_REACH;
    if (RARELY(j < reach)) {
        const real *media = medium(antenna, k, 0) + j;
        scale(media, e_r), scale(media + P.pitch, e), scale(media + 2 * P.pitch, e_z);
        scale(media + 3 * P.pitch, g_r), scale(media + 4 * P.pitch, g_phi), scale(media + 5 * P.pitch, g_z);
    }
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) e_r[w] += g_r[w], e[w] += g_phi[w], e_z[w] += g_z[w];
    if (RARELY((word & (ROW_SOURCE | ROW_PLANE)) || (word | above) & ROW_COUPLED)) {
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
            if (word & ROW_SOURCE && step < P.source_steps && j + w < P.lead + P.source_columns) {
                e_r[w] -= P.source[j + w] * P.waveform[step];
                e[w] -= P.source[P.pitch + j + w] * P.waveform[step];
            }
            if ((word | above) & ROW_COUPLED && j + w < max(reach, above & ROW_REACH)) couple(antenna, k, j + w, e_r[w], e_z[w]);
            if (word & ROW_PLANE) e_r[w] = 0, e[w] = 0;
        }
    }
    store(state, e_r), store(state + P.pitch, e), store(state + 2 * P.pitch, e_z);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) h_step(int step) {
    const int vectors = P.pitch / WIDTH, place = blockIdx.x * THREADS + threadIdx.x, antenna = blockIdx.y;
    const int k = place / vectors, j = (place - k * vectors) * WIDTH;
    if (k >= P.nz || !P.active[antenna]) return;
    real *state = field(antenna, k, 0) + j;
    real hr[WIDTH], h[WIDTH], hz[WIDTH], e_r[WIDTH], e[WIDTH], e_z[WIDTH], dz_er[WIDTH], dz_e[WIDTH];
    load(state, e_r), load(state + P.pitch, e), load(state + 2 * P.pitch, e_z);
    load(state + 3 * P.pitch, hr), load(state + 4 * P.pitch, h), load(state + 5 * P.pitch, hz);
    const bool last = j + WIDTH >= P.pitch;
    const real e_outside = last ? real(0) : state[P.pitch + WIDTH], ez_outside = last ? real(0) : state[2 * P.pitch + WIDTH];
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) dz_er[w] = dz_e[w] = 0;
    if (k + 1 < P.nz) load(state + 6 * P.pitch, dz_er), load(state + 7 * P.pitch, dz_e);
    real g_r[WIDTH], g_phi[WIDTH], g_z[WIDTH];
    const real *gains = P.gains + 3 * P.pitch + j;
    load(gains, g_r), load(gains + P.pitch, g_phi), load(gains + 2 * P.pitch, g_z);
    const int word = row_word(antenna, k);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) dz_er[w] -= e_r[w], dz_e[w] -= e[w];
    if (RARELY(word & ROW_AXIAL)) {
        const int columns = P.axial_rows[k];
#pragma unroll
        for (int w = 0; w < WIDTH; ++w)
            if (j + w < columns) {
                dz_er[w] = stretched(axial_memory(antenna, k, 2) + j + w, dz_er[w], 3, k);
                dz_e[w] = stretched(axial_memory(antenna, k, 3) + j + w, dz_e[w], 3, k);
            }
    }
    if (RARELY(word & ROW_CUT && j < (word & ROW_REACH))) {
        const real *face = open_face(antenna, k, 0) + j;
        scale(face, g_r), scale(face + P.pitch, g_phi), scale(face + 2 * P.pitch, g_z);
    }
    real curl_r[WIDTH], curl_phi[WIDTH], curl_z[WIDTH];
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        curl_r[w] = dz_e[w] + P.order * e_z[w];
        curl_phi[w] = ((w + 1 < WIDTH ? e_z[w + 1] : ez_outside) - e_z[w]) - dz_er[w];
        curl_z[w] = ((w + 1 < WIDTH ? e[w + 1] : e_outside) - e[w]) + P.order * e_r[w];
        g_r[w] *= curl_r[w], g_phi[w] *= curl_phi[w], g_z[w] *= curl_z[w];
        if (MOVE_ONLY) g_r[w] = dz_e[w] + e[w], g_phi[w] = dz_er[w] + e_z[w], g_z[w] = e_r[w];
    }
    const int c = j - P.lead - P.radial_start, n = P.radial_pitch;
    if (RARELY(c >= 0 && c < P.radial_cells)) {
        const real *f = P.filters + 8 * n + c;
        real *psi = radial_memory(antenna, k, 4) + c;
        add_filtered(f, psi, curl_r, g_r), add_filtered(f + 2 * n, psi + n, curl_phi, g_phi);
        add_filtered(f + 4 * n, psi + 2 * n, curl_z, g_z), add_filtered(f + 6 * n, psi + 3 * n, curl_z, g_z);
    }
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) hr[w] += g_r[w], h[w] += g_phi[w], hz[w] -= g_z[w];
    store(state + 3 * P.pitch, hr), store(state + 4 * P.pitch, h), store(state + 5 * P.pitch, hz);
}
