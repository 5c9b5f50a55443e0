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

// Advances one filter of the radial layer and returns its memory; b and c stand at `filters`.
__device__ inline real filtered(const real *filters, real *psi, real curl) {
    return *psi = filters[0] * *psi + filters[P.radial_pitch] * curl;
}

__device__ inline void load(const real *from, real *to) { unpack(*reinterpret_cast<const vector *>(from), to); }
__device__ inline void store(real *to, const real *from) { *reinterpret_cast<vector *>(to) = packed(from); }

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
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        const real h_left = w ? h[w - 1] : h_outside, hz_left = w ? hz[w - 1] : hz_outside;
        const real curl_r = P.order * hz[w] - dz_h[w], curl_phi = dz_hr[w] - (hz[w] - hz_left);
        const real curl_z = (h[w] - h_left) - P.order * hr[w];
        real drive_r = g_r[w] * curl_r, drive_phi = g_phi[w] * curl_phi, drive_z = g_z[w] * curl_z;
        const int c = j + w - P.lead - P.radial_start, n = P.radial_pitch;
        if (RARELY(c >= 0 && c < P.radial_cells)) {
            const real *f = P.filters + c;
            real *psi = radial_memory(antenna, k, 0) + c;
            drive_r += filtered(f, psi, curl_r), drive_phi += filtered(f + 2 * n, psi + n, curl_phi);
            drive_z += filtered(f + 4 * n, psi + 2 * n, curl_z) + filtered(f + 6 * n, psi + 3 * n, curl_z);
        }
        if (RARELY(j + w < (word & ROW_REACH))) {
            const real *media = medium(antenna, k, 0) + j + w;
            e_r[w] *= media[0], e[w] *= media[P.pitch], e_z[w] *= media[2 * P.pitch];
            drive_r *= media[3 * P.pitch], drive_phi *= media[4 * P.pitch], drive_z *= media[5 * P.pitch];
        }
        e_r[w] += drive_r, e[w] += drive_phi, e_z[w] += drive_z;
    }
    if (RARELY((word & (ROW_SOURCE | ROW_PLANE)) || (word | above) & ROW_COUPLED)) {
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
            if (word & ROW_SOURCE && step < P.source_steps && j + w < P.lead + P.source_columns) {
                e_r[w] -= P.source[j + w] * P.waveform[step];
                e[w] -= P.source[P.pitch + j + w] * P.waveform[step];
            }
            if ((word | above) & ROW_COUPLED && j + w < P.lead + P.nr) couple(antenna, k, j + w, e_r[w], e_z[w]);
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
    if (RARELY(word & ROW_CUT)) {
        real f[WIDTH];
        load(open_face(antenna, k, 0) + j, f);
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) g_r[w] *= f[w];
        load(open_face(antenna, k, 1) + j, f);
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) g_phi[w] *= f[w];
        load(open_face(antenna, k, 2) + j, f);
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) g_z[w] *= f[w];
    }
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        const real e_right = w + 1 < WIDTH ? e[w + 1] : e_outside, ez_right = w + 1 < WIDTH ? e_z[w + 1] : ez_outside;
        const real curl_r = dz_e[w] + P.order * e_z[w], curl_phi = (ez_right - e_z[w]) - dz_er[w];
        const real curl_z = (e_right - e[w]) + P.order * e_r[w];
        hr[w] += g_r[w] * curl_r, h[w] += g_phi[w] * curl_phi, hz[w] -= g_z[w] * curl_z;
        const int c = j + w - P.lead - P.radial_start, n = P.radial_pitch;
        if (RARELY(c >= 0 && c < P.radial_cells)) {
            const real *f = P.filters + 8 * n + c;
            real *psi = radial_memory(antenna, k, 4) + c;
            hr[w] += filtered(f, psi, curl_r), h[w] += filtered(f + 2 * n, psi + n, curl_phi);
            hz[w] -= filtered(f + 4 * n, psi + 2 * n, curl_z) + filtered(f + 6 * n, psi + 3 * n, curl_z);
        }
    }
    store(state + 3 * P.pitch, hr), store(state + 4 * P.pitch, h), store(state + 5 * P.pitch, hz);
}
