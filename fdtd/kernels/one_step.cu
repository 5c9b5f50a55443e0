// One time step a launch: two kernels, E and H, one thread a column of ROWS cells; every operand from memory.
//
// Settings: REAL, ROWS (rows a thread takes), COLUMNS (threads of a block), RESIDENT (blocks that a multiprocessor should
// hold). Launch: blocks of (COLUMNS, 1, 1), grid (nr / COLUMNS, nz / ROWS, batch).
// E reads only H and its own cell, H only E and its own cell, so no thread meets another.
#if !defined(ROWS) || !defined(COLUMNS) || !defined(RESIDENT)
#error "ROWS, COLUMNS and RESIDENT must be set"
#endif
#include "parameters.cuh"
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

extern "C" __global__ void __launch_bounds__(COLUMNS, RESIDENT) e_step(int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * ROWS, antenna = blockIdx.z;
    if (i >= P.nr || !P.active[antenna]) return;
    const int j = P.lead + i, c = i - P.radial_start;
    const real g_r = P.gains[j], g_phi = P.gains[P.pitch + j], g_z = P.gains[2 * P.pitch + j];
    real hr_below = first > 0 ? field(antenna, first - 1, 3)[j] : real(0);
    real h_below = first > 0 ? field(antenna, first - 1, 4)[j] : real(0);
    for (int k = first; k < first + ROWS && k < P.nz; ++k) {
        const int word = row_word(antenna, k);
        const real *state = field(antenna, k, 0);
        const real hr = state[3 * P.pitch + j], h = state[4 * P.pitch + j], hz = state[5 * P.pitch + j];
        const real h_left = state[4 * P.pitch + j - 1], hz_left = state[5 * P.pitch + j - 1];
        real e_r = state[j], e = state[P.pitch + j], e_z = state[2 * P.pitch + j];
        real dz_h = h - h_below, dz_hr = hr - hr_below;
        if (word & ROW_AXIAL && j < P.axial_rows[k]) {
            dz_hr = stretched(axial_memory(antenna, k, 0) + j, dz_hr, 0, k);
            dz_h = stretched(axial_memory(antenna, k, 1) + j, dz_h, 0, k);
        }
        const real curl_r = P.order * hz - dz_h, curl_phi = dz_hr - (hz - hz_left);
        const real curl_z = (h - h_left) - P.order * hr;
        real cb_r = 1, cb_phi = 1, cb_z = 1;
        if (j < (word & ROW_REACH)) {
            const real *media = medium(antenna, k, 0) + j;
            e_r *= media[0], e *= media[P.pitch], e_z *= media[2 * P.pitch];
            cb_r = media[3 * P.pitch], cb_phi = media[4 * P.pitch], cb_z = media[5 * P.pitch];
        }
        e_r += cb_r * (g_r * curl_r), e += cb_phi * (g_phi * curl_phi), e_z += cb_z * (g_z * curl_z);
        if (c >= 0) {
            const real *f = P.filters + c;
            real *psi = radial_memory(antenna, k, 0) + c;
            const int n = P.radial_pitch;
            const real p0 = f[0] * psi[0] + f[n] * curl_r, p1 = f[2 * n] * psi[n] + f[3 * n] * curl_phi;
            const real p2 = f[4 * n] * psi[2 * n] + f[5 * n] * curl_z, p3 = f[6 * n] * psi[3 * n] + f[7 * n] * curl_z;
            psi[0] = p0, psi[n] = p1, psi[2 * n] = p2, psi[3 * n] = p3;
            e_r += cb_r * p0, e += cb_phi * p1, e_z += cb_z * (p2 + p3);
        }
        if (word & ROW_SOURCE && step < P.source_steps && i < P.source_columns) {
            e_r -= P.source[j] * P.waveform[step];
            e -= P.source[P.pitch + j] * P.waveform[step];
        }
        if ((word | (k + 1 < P.nz ? row_word(antenna, k + 1) : 0)) & ROW_COUPLED) couple(antenna, k, j, e_r, e_z);
        if (word & ROW_PLANE) e_r = 0, e = 0;
        real *out = field(antenna, k, 0);
        out[j] = e_r, out[P.pitch + j] = e, out[2 * P.pitch + j] = e_z;
        hr_below = hr, h_below = h;
    }
}

extern "C" __global__ void __launch_bounds__(COLUMNS, RESIDENT) h_step(int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * ROWS, antenna = blockIdx.z;
    if (i >= P.nr || !P.active[antenna]) return;
    const int j = P.lead + i, c = i - P.radial_start;
    const real *gains = P.gains + 3 * P.pitch + j;
    const real g_r = gains[0], g_phi = gains[P.pitch], g_z = gains[2 * P.pitch];
    real e_r = field(antenna, first, 0)[j], e = field(antenna, first, 1)[j];
    for (int k = first; k < first + ROWS && k < P.nz; ++k) {
        const int word = row_word(antenna, k);
        const real *state = field(antenna, k, 0);
        const real e_z = state[2 * P.pitch + j];
        const real e_right = state[P.pitch + j + 1], ez_right = state[2 * P.pitch + j + 1];
        real hr = state[3 * P.pitch + j], h = state[4 * P.pitch + j], hz = state[5 * P.pitch + j];
        const real er_above = k + 1 < P.nz ? state[6 * P.pitch + j] : real(0);
        const real e_above = k + 1 < P.nz ? state[7 * P.pitch + j] : real(0);
        real dz_er = er_above - e_r, dz_e = e_above - e;
        if (word & ROW_AXIAL && j < P.axial_rows[k]) {
            dz_er = stretched(axial_memory(antenna, k, 2) + j, dz_er, 3, k);
            dz_e = stretched(axial_memory(antenna, k, 3) + j, dz_e, 3, k);
        }
        const real curl_r = dz_e + P.order * e_z, curl_phi = (ez_right - e_z) - dz_er;
        const real curl_z = (e_right - e) + P.order * e_r;
        real f_r = g_r, f_phi = g_phi, f_z = g_z;
        if (word & ROW_CUT) {
            const real *face = open_face(antenna, k, 0) + j;
            f_r *= face[0], f_phi *= face[P.pitch], f_z *= face[2 * P.pitch];
        }
        hr += f_r * curl_r, h += f_phi * curl_phi, hz -= f_z * curl_z;
        if (c >= 0) {
            const int n = P.radial_pitch;
            const real *f = P.filters + 8 * n + c;
            real *psi = radial_memory(antenna, k, 4) + c;
            const real p0 = f[0] * psi[0] + f[n] * curl_r, p1 = f[2 * n] * psi[n] + f[3 * n] * curl_phi;
            const real p2 = f[4 * n] * psi[2 * n] + f[5 * n] * curl_z, p3 = f[6 * n] * psi[3 * n] + f[7 * n] * curl_z;
            psi[0] = p0, psi[n] = p1, psi[2 * n] = p2, psi[3 * n] = p3;
            hr += p0, h += p1, hz -= p2 + p3;
        }
        real *out = field(antenna, k, 3);
        out[j] = hr, out[P.pitch + j] = h, out[2 * P.pitch + j] = hz;
        e_r = er_above, e = e_above;
    }
}
