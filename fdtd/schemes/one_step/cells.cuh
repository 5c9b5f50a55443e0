// One thread's cells of the axisymmetric lattice: a vector of 16 bytes of one row, operands where the caller keeps
// them.
//
// Settings: REAL, REAL_BYTES. Provides E and H of those cells with all needs of a row (curl.cuh over LaneCell; coupled
// nodes over StoredCell), and the loads and stores around them.
#define CELLS (16 / REAL_BYTES)
#include "kernels/axisymmetric/lanes.cuh"

// Place of cells: row k, columns from j on as stored.
struct Spot {
    int antenna, k, j;
};

// Share of the numbers read that an ablation adds: too little to change a field, but enough to keep every load.
#define NOTHING real(1e-30)

// Accessor of curl.cuh: column j (as stored) of row k in device memory; zero below the lowest row. H alone.
struct StoredCell {
    const real *h_r, *h, *h_z;
    int k;
    __device__ StoredCell(int antenna, int k, int j)
        : h_r(::field(antenna, k, H_R) + j), h(::field(antenna, k, H_PHI) + j), h_z(::field(antenna, k, H_Z) + j), k(k) {}
    __device__ real field(Component c, int dk = 0, int di = 0) const {
        if (dk < 0 && k <= 0) return 0;
        return (c == H_R ? h_r : c == H_PHI ? h : h_z)[6 * P.pitch * dk + di];
    }
};

// Contribution of the r-z entries around e_r and e_z of column j, from the other component's curls
// (fdtd.axisymmetric.problem).
__device__ inline void couple(const Spot &s, int j, real &e_r, real &e_z) {
    const real *gain = P.gains;  // of e_r
    const int k = s.k;
    const auto passed = [=](int row, int column) { return passed_to_z(gain[column], StoredCell(s.antenna, row, column)); };
    if (row_word(s.antenna, k) & ROW_COUPLED) {
        const real *x = node_coupling(s.antenna, k);
        for (int n = j; n <= j + 1; ++n)
            if (x[n] != real(0) && k > 0)
                e_r += gain[j] * passed_to_r(x[n], StoredCell(s.antenna, k, n), StoredCell(s.antenna, k - 1, n));
        if (x[j] != real(0)) e_z += x[j] * (passed(k, j - 1) + passed(k, j));
    }
    if (k + 1 < P.nz && row_word(s.antenna, k + 1) & ROW_COUPLED) {
        const real x = node_coupling(s.antenna, k + 1)[j];
        if (x != real(0)) e_z += x * (passed(k + 1, j - 1) + passed(k + 1, j));
    }
}

// Three components of one thread's cells, from the first on.
__device__ inline void load_three(const real *from, real *r, real *phi, real *z) {
    load_lane(from, r), load_lane(from + P.pitch, phi), load_lane(from + 2 * P.pitch, z);
}
__device__ inline void store_three(real *to, const real *r, const real *phi, const real *z) {
    store_lane(to, r), store_lane(to + P.pitch, phi), store_lane(to + 2 * P.pitch, z);
}
__device__ inline void load_e(const real *row, Row &x) { load_three(row, x.at[E_R], x.at[E_PHI], x.at[E_Z]); }
__device__ inline void load_h(const real *row, Row &x) { load_three(row + 3 * P.pitch, x.at[H_R], x.at[H_PHI], x.at[H_Z]); }
__device__ inline void store_e(real *row, const Row &x) { store_three(row, x.at[E_R], x.at[E_PHI], x.at[E_Z]); }
__device__ inline void store_h(real *row, const Row &x) { store_three(row + 3 * P.pitch, x.at[H_R], x.at[H_PHI], x.at[H_Z]); }

__device__ inline void scale(const real *factors, real *values) {
    real f[WIDTH];
    load_lane(factors, f);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) values[w] *= f[w];
}

// Advances the memory of one filter of the radial layer and adds it up; `f` and `psi` at its first column.
__device__ inline void add_filtered(const real *f, real *psi, const real *curl, real *sum) {
    real b[WIDTH], c[WIDTH], p[WIDTH];
    load_lane(f, b), load_lane(f + P.radial_pitch, c), load_lane(psi, p);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) p[w] = remembered(p[w], b[w], c[w], curl[w]), sum[w] += p[w];
    store_lane(psi, p);
}

// Turns a curl into the drive of the field in the layer, through the given number of filters, with gain 1.
template <int FILTERS> __device__ inline void filter_curl(const real *f, real *psi, real *curl, real *gain) {
    real sum[WIDTH];
    clear(sum);
#pragma unroll
    for (int n = 0; n < FILTERS; ++n) add_filtered(f + 2 * n * P.radial_pitch, psi + n * P.radial_pitch, curl, sum);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) curl[w] = stretched(gain[w], curl[w], sum[w]), gain[w] = 1;
}

// Drives of three components: curls and their factors.
struct Drives {
    real curl_r[WIDTH], curl_phi[WIDTH], curl_z[WIDTH], g_r[WIDTH], g_phi[WIDTH], g_z[WIDTH];
};

// The same of all four filters of E (`first` = 0) or H (4), if the cells lie in the layer; `memory`: of their row.
__device__ inline void filter_radial(const Spot &s, int first, real *memory, Drives &d) {
    const int c = s.j - P.lead - P.radial_start, n = P.radial_pitch;
    if (RARELY(c >= 0 && c < P.radial_cells)) {
        const real *f = P.filters + 2 * first * n + c;
        real *psi = memory + first * n + c;
        filter_curl<1>(f, psi, d.curl_r, d.g_r), filter_curl<1>(f + 2 * n, psi + n, d.curl_phi, d.g_phi);
        filter_curl<2>(f + 4 * n, psi + 2 * n, d.curl_z, d.g_z);
    }
}

// Stretches differences along z in an axial layer and advances their memories; `filter` of four, `table`: 0 for H, 3
// for E.
__device__ inline void stretch(const Spot &s, int filter, int table, real *dz) {
    const int columns = P.axial_rows[s.k] - s.j;
    const real *t = P.axial + table * P.nz + s.k;
    real *memory = axial_memory(s.antenna, s.k, filter) + s.j, psi[WIDTH];
    load_lane(memory, psi);
    const real keep = t[0], b = t[P.nz], c = t[2 * P.nz];
#pragma unroll
    for (int w = 0; w < WIDTH; ++w)
        if (w < columns) psi[w] = remembered(psi[w], b, c, dz[w]), dz[w] = stretched(keep, dz[w], psi[w]);
    store_lane(memory, psi);
}

// E from H; `x`: with the row below and the column before; `radial`: the row's memories of the radial layer; words of
// this row and the next.
__device__ inline void advance_e(
    Row &row, const Lane &x, const Spot &s, real *radial, int word, int above, int step
) {
    Drives d;
    load_three(P.gains + s.j, d.g_r, d.g_phi, d.g_z);
    rises_of_h(x, d.curl_r, d.curl_phi);
    if (RARELY(word & ROW_AXIAL)) stretch(s, 0, 0, d.curl_phi), stretch(s, 1, 0, d.curl_r);
    curls_of_h(x, d.curl_r, d.curl_phi);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        d.curl_z[w] = curl_h_z(x.at(w));
        if (MOVE_ONLY) {
            d.curl_r[w] = NOTHING * (x.next_phi[w] + row.at[H_Z][w]), d.curl_phi[w] = NOTHING * (x.next_r[w] + row.at[H_R][w]);
            d.curl_z[w] = NOTHING * row.at[H_PHI][w];
        }
    }
    filter_radial(s, 0, radial, d);
    const int reach = word & ROW_REACH;
    if (RARELY(s.j < reach)) {
        const real *media = medium(s.antenna, s.k, 0) + s.j;
        scale(media, row.at[E_R]), scale(media + P.pitch, row.at[E_PHI]), scale(media + 2 * P.pitch, row.at[E_Z]);
        scale(media + 3 * P.pitch, d.g_r), scale(media + 4 * P.pitch, d.g_phi), scale(media + 5 * P.pitch, d.g_z);
    }
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        drive(row.at[E_R][w], d.g_r[w], d.curl_r[w]), drive(row.at[E_PHI][w], d.g_phi[w], d.curl_phi[w]);
        drive(row.at[E_Z][w], d.g_z[w], d.curl_z[w]);
    }
    if (RARELY((word & (ROW_SOURCE | ROW_PLANE)) || (word | above) & ROW_COUPLED)) {
#pragma unroll
        for (int w = 0; w < WIDTH; ++w) {
            const int j = s.j + w;
            if (word & ROW_SOURCE && step < P.source_steps && j < P.lead + P.source_columns) {
                impress(row.at[E_R][w], source_profile(s.antenna, 0)[j], P.waveform[step]);
                impress(row.at[E_PHI][w], source_profile(s.antenna, 1)[j], P.waveform[step]);
            }
            if ((word | above) & ROW_COUPLED && j < max(reach, above & ROW_REACH)) couple(s, j, row.at[E_R][w], row.at[E_Z][w]);
            if (word & ROW_PLANE) row.at[E_R][w] = 0, row.at[E_PHI][w] = 0;
        }
    }
}

// H from E; `x`: with the row above and the column after.
__device__ inline void advance_h(Row &row, const Lane &x, const Spot &s, real *radial, int word) {
    Drives d;
    load_three(P.gains + 3 * P.pitch + s.j, d.g_r, d.g_phi, d.g_z);
    rises_of_e(x, d.curl_r, d.curl_phi);
    if (RARELY(word & ROW_AXIAL)) stretch(s, 2, 3, d.curl_phi), stretch(s, 3, 3, d.curl_r);
    if (RARELY(word & ROW_CUT && s.j < (word & ROW_REACH))) {
        const real *face = open_face(s.antenna, s.k, 0) + s.j;
        scale(face, d.g_r), scale(face + P.pitch, d.g_phi), scale(face + 2 * P.pitch, d.g_z);
    }
    curls_of_e(x, d.curl_r, d.curl_phi);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        d.curl_z[w] = curl_e_z(x.at(w));
        if (MOVE_ONLY) {
            d.curl_r[w] = NOTHING * (x.next_phi[w] + row.at[E_PHI][w]), d.curl_phi[w] = NOTHING * (x.next_r[w] + row.at[E_Z][w]);
            d.curl_z[w] = NOTHING * row.at[E_R][w];
        }
    }
    filter_radial(s, 4, radial, d);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) {
        drive(row.at[H_R][w], d.g_r[w], d.curl_r[w]), drive(row.at[H_PHI][w], d.g_phi[w], d.curl_phi[w]);
        drive_back(row.at[H_Z][w], d.g_z[w], d.curl_z[w]);
    }
}

// Half a step of the cells at `state`; `below()`, `above()`: the same of the next row, called where one exists;
// `words`: of this row and the next.
template <class Next>
__device__ inline void step_e(real *state, Next below, const Spot &s, real *radial, const int *words, int step) {
    Row x;
    real hr_below[WIDTH], h_below[WIDTH];
    load_h(state, x), load_e(state, x);
    const real h_left = state[4 * P.pitch - 1], hz_left = state[5 * P.pitch - 1];
    clear(hr_below), clear(h_below);
    if (s.k > 0) {
        const real *next = below();
        load_lane(next + 3 * P.pitch, hr_below), load_lane(next + 4 * P.pitch, h_below);
    }
    advance_e(x, {x, hr_below, h_below, hz_left, h_left}, s, radial, words[0], words[1], step);
    store_e(state, x);
}
template <class Next> __device__ inline void step_h(real *state, Next above, const Spot &s, real *radial, const int *words) {
    Row x;
    real er_above[WIDTH], e_above[WIDTH];
    load_e(state, x), load_h(state, x);
    const bool last = s.j + WIDTH >= P.pitch;
    const real e_right = last ? real(0) : state[P.pitch + WIDTH], ez_right = last ? real(0) : state[2 * P.pitch + WIDTH];
    clear(er_above), clear(e_above);
    if (s.k + 1 < P.nz) {
        const real *next = above();
        load_lane(next, er_above), load_lane(next + P.pitch, e_above);
    }
    advance_h(x, {x, er_above, e_above, ez_right, e_right}, s, radial, words[0]);
    store_h(state, x);
}
