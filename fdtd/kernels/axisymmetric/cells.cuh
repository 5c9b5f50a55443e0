// The axisymmetric update of one thread's cells: a vector of 16 bytes of one row (unknowns, equations: fdtd/axisymmetric/problem.py).
//
// Settings: REAL, REAL_BYTES.
#define CELLS (16 / REAL_BYTES)
#include "kernels/axisymmetric/lanes.cuh"

// Where cells lie: row k, columns from j on as stored.
struct Spot {
    int antenna, k, j;
};

// What an ablation adds of the numbers that it reads: too little to change a field, but nothing is read in vain.
#define NOTHING real(1e-30)

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

// What the r-z entries around e_r and e_z of column j make of the other component's curls (see fdtd.axisymmetric.problem).
__device__ inline void couple(const Spot &s, int j, real &e_r, real &e_z) {
    const real *gain = P.gains;  // of e_r
    const int k = s.k;
    if (row_word(s.antenna, k) & ROW_COUPLED) {
        const real *x = node_coupling(s.antenna, k);
        for (int n = j; n <= j + 1; ++n)
            if (x[n] != real(0) && k > 0)
                e_r += gain[j] * (x[n] * (curl_h(s.antenna, k, n).z + curl_h(s.antenna, k - 1, n).z));
        if (x[j] != real(0)) e_z += x[j] * (gain[j - 1] * curl_h(s.antenna, k, j - 1).r + gain[j] * curl_h(s.antenna, k, j).r);
    }
    if (k + 1 < P.nz && row_word(s.antenna, k + 1) & ROW_COUPLED) {
        const real x = node_coupling(s.antenna, k + 1)[j];
        if (x != real(0))
            e_z += x * (gain[j - 1] * curl_h(s.antenna, k + 1, j - 1).r + gain[j] * curl_h(s.antenna, k + 1, j).r);
    }
}

__device__ inline void load(const real *from, real *to) { unpack(*reinterpret_cast<const vector *>(from), to); }
__device__ inline void store(real *to, const real *from) { *reinterpret_cast<vector *>(to) = packed(from); }
__device__ inline void clear(real *to) {
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) to[w] = 0;
}

// One thread's cells of E or of H in device memory, from the first component on.
__device__ inline void load_three(const real *from, real *r, real *phi, real *z) {
    load(from, r), load(from + P.pitch, phi), load(from + 2 * P.pitch, z);
}
__device__ inline void store_three(real *to, const real *r, const real *phi, const real *z) {
    store(to, r), store(to + P.pitch, phi), store(to + 2 * P.pitch, z);
}

__device__ inline void scale(const real *factors, real *values) {
    real f[WIDTH];
    load(factors, f);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) values[w] *= f[w];
}

// Advances the memory of one filter of the radial layer and adds it up; `f` and `psi` at its first column.
__device__ inline void add_filtered(const real *f, real *psi, const real *curl, real *sum) {
    real b[WIDTH], c[WIDTH], p[WIDTH];
    load(f, b), load(f + P.radial_pitch, c), load(psi, p);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) p[w] = b[w] * p[w] + rounded(c[w], curl[w]), sum[w] += p[w];
    store(psi, p);
}

// Makes a curl what drives the field in the layer, through so many filters, and its gain 1.
template <int FILTERS> __device__ inline void filter_curl(const real *f, real *psi, real *curl, real *gain) {
    real sum[WIDTH];
    clear(sum);
#pragma unroll
    for (int n = 0; n < FILTERS; ++n) add_filtered(f + 2 * n * P.radial_pitch, psi + n * P.radial_pitch, curl, sum);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) curl[w] = gain[w] * curl[w] + sum[w], gain[w] = 1;
}

// The same of all four filters of E (`first` = 0) or H (4), if the cells lie in the layer; `memory`: of their row.
__device__ inline void filter_radial(
    const Spot &s, int first, real *memory, real *curl_r, real *curl_phi, real *curl_z, real *g_r, real *g_phi, real *g_z
) {
    const int c = s.j - P.lead - P.radial_start, n = P.radial_pitch;
    if (RARELY(c >= 0 && c < P.radial_cells)) {
        const real *f = P.filters + 2 * first * n + c;
        real *psi = memory + first * n + c;
        filter_curl<1>(f, psi, curl_r, g_r), filter_curl<1>(f + 2 * n, psi + n, curl_phi, g_phi);
        filter_curl<2>(f + 4 * n, psi + 2 * n, curl_z, g_z);
    }
}

// Stretches differences along z in an axial layer and advances their memories; `filter` of four, `table`: 0 for H, 3 for E.
__device__ inline void stretch(const Spot &s, int filter, int table, real *dz) {
    const int columns = P.axial_rows[s.k] - s.j;
    const real *t = P.axial + table * P.nz + s.k;
    real *memory = axial_memory(s.antenna, s.k, filter) + s.j, psi[WIDTH];
    load(memory, psi);
    const real keep = t[0], b = t[P.nz], c = t[2 * P.nz];
#pragma unroll
    for (int w = 0; w < WIDTH; ++w)
        if (w < columns) psi[w] = b * psi[w] + rounded(c, dz[w]), dz[w] = keep * dz[w] + psi[w];
    store(memory, psi);
}

// A thread's cells of the six components.
struct Cells {
    real e_r[WIDTH], e[WIDTH], e_z[WIDTH], h_r[WIDTH], h[WIDTH], h_z[WIDTH];
};

// E from H; `hr_below`, `h_below`: of the row below; `h_left`, `hz_left`: of the column before; `radial`: the row's memories of
// the radial layer; words of this row and the next.
__device__ inline void advance_e(
    Cells &x, const real *hr_below, const real *h_below, real h_left, real hz_left, const Spot &s, real *radial,
    int word, int above, int step
) {
    real dz_hr[WIDTH], dz_h[WIDTH], g_r[WIDTH], g_phi[WIDTH], g_z[WIDTH];
    load_three(P.gains + s.j, g_r, g_phi, g_z);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) dz_hr[w] = x.h_r[w] - hr_below[w], dz_h[w] = x.h[w] - h_below[w];
    if (RARELY(word & ROW_AXIAL)) stretch(s, 0, 0, dz_hr), stretch(s, 1, 0, dz_h);
    real curl_r[WIDTH], curl_phi[WIDTH], curl_z[WIDTH];
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        curl_r[w] = P.order * x.h_z[w] - dz_h[w], curl_phi[w] = dz_hr[w] - (x.h_z[w] - (w ? x.h_z[w - 1] : hz_left));
        curl_z[w] = (x.h[w] - (w ? x.h[w - 1] : h_left)) - P.order * x.h_r[w];
        // Nothing is read in vain.
        if (MOVE_ONLY)
            curl_r[w] = NOTHING * (dz_h[w] + x.h_z[w]), curl_phi[w] = NOTHING * (dz_hr[w] + x.h_r[w]), curl_z[w] = NOTHING * x.h[w];
    }
    filter_radial(s, 0, radial, curl_r, curl_phi, curl_z, g_r, g_phi, g_z);
    const int reach = word & ROW_REACH;
    if (RARELY(s.j < reach)) {
        const real *media = medium(s.antenna, s.k, 0) + s.j;
        scale(media, x.e_r), scale(media + P.pitch, x.e), scale(media + 2 * P.pitch, x.e_z);
        scale(media + 3 * P.pitch, g_r), scale(media + 4 * P.pitch, g_phi), scale(media + 5 * P.pitch, g_z);
    }
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        x.e_r[w] += g_r[w] * curl_r[w], x.e[w] += g_phi[w] * curl_phi[w], x.e_z[w] += g_z[w] * curl_z[w];
    }
    if (RARELY((word & (ROW_SOURCE | ROW_PLANE)) || (word | above) & ROW_COUPLED)) {
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
            const int j = s.j + w;
            if (word & ROW_SOURCE && step < P.source_steps && j < P.lead + P.source_columns) {
                x.e_r[w] -= P.source[j] * P.waveform[step];
                x.e[w] -= P.source[P.pitch + j] * P.waveform[step];
            }
            if ((word | above) & ROW_COUPLED && j < max(reach, above & ROW_REACH)) couple(s, j, x.e_r[w], x.e_z[w]);
            if (word & ROW_PLANE) x.e_r[w] = 0, x.e[w] = 0;
        }
    }
}

// H from E; `er_above`, `e_above`: of the row above; `ez_right`, `e_right`: of the column after.
__device__ inline void advance_h(
    Cells &x, const real *er_above, const real *e_above, real ez_right, real e_right, const Spot &s, real *radial,
    int word
) {
    real dz_er[WIDTH], dz_e[WIDTH], g_r[WIDTH], g_phi[WIDTH], g_z[WIDTH];
    load_three(P.gains + 3 * P.pitch + s.j, g_r, g_phi, g_z);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) dz_er[w] = er_above[w] - x.e_r[w], dz_e[w] = e_above[w] - x.e[w];
    if (RARELY(word & ROW_AXIAL)) stretch(s, 2, 3, dz_er), stretch(s, 3, 3, dz_e);
    if (RARELY(word & ROW_CUT && s.j < (word & ROW_REACH))) {
        const real *face = open_face(s.antenna, s.k, 0) + s.j;
        scale(face, g_r), scale(face + P.pitch, g_phi), scale(face + 2 * P.pitch, g_z);
    }
    real curl_r[WIDTH], curl_phi[WIDTH], curl_z[WIDTH];
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        curl_r[w] = dz_e[w] + P.order * x.e_z[w];
        curl_phi[w] = ((w + 1 < WIDTH ? x.e_z[w + 1] : ez_right) - x.e_z[w]) - dz_er[w];
        curl_z[w] = ((w + 1 < WIDTH ? x.e[w + 1] : e_right) - x.e[w]) + P.order * x.e_r[w];
        if (MOVE_ONLY)
            curl_r[w] = NOTHING * (dz_e[w] + x.e[w]), curl_phi[w] = NOTHING * (dz_er[w] + x.e_z[w]), curl_z[w] = NOTHING * x.e_r[w];
    }
    filter_radial(s, 4, radial, curl_r, curl_phi, curl_z, g_r, g_phi, g_z);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        x.h_r[w] += g_r[w] * curl_r[w], x.h[w] += g_phi[w] * curl_phi[w], x.h_z[w] -= g_z[w] * curl_z[w];
    }
}
