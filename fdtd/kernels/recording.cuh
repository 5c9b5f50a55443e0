// What a warp stores of a finished row: its part of the port, of the Huygens contour, of the field map.

__device__ inline double lane_sum(double part) {
#pragma unroll
    for (int by = 16; by > 0; by /= 2) part += __shfl_xor_sync(ALL_LANES, part, by);
    return part;
}

__device__ inline void record_port(const Row &row, int lane, long long place) {
    double voltage = 0, current = 0;
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const int at = lane * CELLS + j;
        if (at < P.lead + P.port_columns) {
            const double *w = P.port_weights + at;
            voltage += w[0] * (double)row.e_r[j] + w[P.pitch] * (double)row.e[j];
            current += w[2 * P.pitch] * (double)row.h_r[j] + w[3 * P.pitch] * (double)row.h[j];
        }
    }
    voltage = lane_sum(voltage), current = lane_sum(current);
    if (lane == 0) P.port_record[place * 2] = voltage, P.port_record[place * 2 + 1] = current;
}

__device__ inline void record_contour(const Row &row, int lane, int k, long long place) {
    const int n = P.contour_column, top = P.contour_top, bottom = P.contour_bottom, height = top - bottom;
    const int face = 4 * n + 2;
    real *sample = P.contour_record + place * P.contour_size, *side = sample + 2 * face;
    const bool with_e = k == top || k == bottom, with_h = k == top || k == bottom - 1;
    real *lid = sample + (k == top ? 0 : face);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) {
        const int i = lane * CELLS + j - P.lead;
        if (i < 0 || i > n) continue;
        if (with_e) {
            if (i < n) lid[i] = row.e_r[j];
            lid[n + i] = row.e[j];
        }
        if (with_h) {
            lid[2 * n + 1 + i] = row.h_r[j];
            if (i < n) lid[3 * n + 2 + i] = row.h[j];
        }
        if (i == n && k >= bottom) {
            side[k - bottom] = row.e[j], side[3 * height + 1 + k - bottom] = row.h_z[j];
            if (k < top) side[height + 1 + k - bottom] = row.e_z[j], side[2 * height + 1 + k - bottom] = row.h[j];
        }
    }
}

// Where the first of the sums of a cell of the map stands: frequency f, row k, column i; component by component on.
__device__ inline real *map_cell(int antenna, int f, int k, int i) {
    const int rows = P.map_top - P.map_bottom, columns = P.map_right - P.map_left;
    return P.sums + (long long)(antenna * P.map_frequencies + f) * 6 * rows * columns +
           (k - P.map_bottom) * columns + (i - P.map_left);
}

__device__ inline void record_map(int antenna, int k, int i, int sample, real e_r, real e, real e_z) {
    if (i < P.map_left || i >= P.map_right) return;
    const int plane = (P.map_top - P.map_bottom) * (P.map_right - P.map_left);
    for (int f = 0; f < P.map_frequencies; ++f) {
        real *sum = map_cell(antenna, f, k, i);
        const real cosine = P.wave[f * P.samples + sample], sine = P.wave[(P.map_frequencies + f) * P.samples + sample];
        add_without_return(sum, cosine * e_r), add_without_return(sum + 3 * plane, sine * e_r);
        add_without_return(sum + plane, cosine * e), add_without_return(sum + 4 * plane, sine * e);
        add_without_return(sum + 2 * plane, cosine * e_z), add_without_return(sum + 5 * plane, sine * e_z);
    }
}

// All of it, for row k at the end of a step that ends in sample `sample`.
__device__ inline void record_row(const Row &row, int lane, int antenna, int k, int sample) {
    const long long place = (long long)antenna * P.samples + sample;
    if (k == P.port_plane) record_port(row, lane, place);
    if (P.contour_size && k >= P.contour_bottom - 1 && k <= P.contour_top) record_contour(row, lane, k, place);
    if (k >= P.map_bottom && k < P.map_top)
#pragma unroll
        for (int j = 0; j < CELLS; ++j)
            record_map(antenna, k, lane * CELLS + j - P.lead, sample, row.e_r[j], row.e[j], row.e_z[j]);
}
