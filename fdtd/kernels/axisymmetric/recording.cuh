// Records of a finished row that lies in shared memory: its part of the port, of the Huygens contour, of the
// field map. One warp does it.
//
// Settings: those of lanes.cuh. Provides `record_row` for the main columns, and `record_map` for cells of the radial
// layer.
#include "kernels/axisymmetric/lanes.cuh"

__device__ inline double lane_sum(double part) {
#pragma unroll
    for (int by = 16; by > 0; by /= 2) part += __shfl_xor_sync(ALL_LANES, part, by);
    return part;
}

// One number of a row in the layout of `write_shared`.
__device__ inline real cell_of(const vector *row, int component, int i) {
    const int at = P.lead + i, lane = at / CELLS, cell = at % CELLS;
    const real *numbers = reinterpret_cast<const real *>(row);
    return numbers[((component * VECTORS + cell / WIDTH) * 32 + lane) * WIDTH + cell % WIDTH];
}

__device__ inline void record_port(const vector *row, int lane, int antenna, long long place) {
    double voltage = 0, current = 0;
#pragma unroll 1
    for (int i = lane; i < P.port_columns; i += 32) {
        const double *w = port_weights(antenna, 0) + P.lead + i;
        voltage += w[0] * (double)cell_of(row, 0, i) + w[ROW_PITCH] * (double)cell_of(row, 1, i);
        current += w[2 * ROW_PITCH] * (double)cell_of(row, 3, i) + w[3 * ROW_PITCH] * (double)cell_of(row, 4, i);
    }
    voltage = lane_sum(voltage), current = lane_sum(current);
    if (lane == 0) P.port_record[place * 2] = voltage, P.port_record[place * 2 + 1] = current;
}

__device__ inline void record_contour(const vector *row, int lane, int k, long long place) {
    const int n = P.contour_column, top = P.contour_top, bottom = P.contour_bottom, height = top - bottom;
    const int face = 4 * n + 2;
    real *sample = P.contour_record + place * P.contour_size, *side = sample + 2 * face;
    if (k == top || k <= bottom) {
        real *lid = sample + (k == top ? 0 : face);
#pragma unroll 1
        for (int i = lane; i <= n; i += 32) {
            if (k >= bottom) {
                if (i < n) lid[i] = cell_of(row, 0, i);
                lid[n + i] = cell_of(row, 1, i);
            }
            if (k != bottom) {
                lid[2 * n + 1 + i] = cell_of(row, 3, i);
                if (i < n) lid[3 * n + 2 + i] = cell_of(row, 4, i);
            }
        }
    }
    if (k >= bottom && lane < 4) {
        const int component = lane == 0 ? 1 : lane + (lane == 1 ? 1 : 2);  // e, e_z, h, h_z
        const int start = lane == 0 ? 0 : lane * height + 1;
        if (k < top || lane == 0 || lane == 3) side[start + k - bottom] = cell_of(row, component, n);
    }
}

// Adds a cell of row k, column i, to the field map; 3 or 6 planes apart stand the components and re, im.
__device__ inline void record_map(int antenna, int k, int i, int sample, real e_r, real e, real e_z) {
    const int columns = P.map_right - P.map_left, plane = (P.map_top - P.map_bottom) * columns;
    real *sum = P.sums + (long long)antenna * P.map_frequencies * 6 * plane + (k - P.map_bottom) * columns +
                (i - P.map_left);
#pragma unroll 1
    for (int f = 0; f < P.map_frequencies; ++f, sum += 6 * plane) {
        const real cosine = P.wave[f * P.samples + sample], sine = P.wave[(P.map_frequencies + f) * P.samples + sample];
        add_without_return(sum, cosine * e_r), add_without_return(sum + 3 * plane, sine * e_r);
        add_without_return(sum + plane, cosine * e), add_without_return(sum + 4 * plane, sine * e);
        add_without_return(sum + 2 * plane, cosine * e_z), add_without_return(sum + 5 * plane, sine * e_z);
    }
}

// All of it, for row k at the end of a step that ends in sample `sample`; strips record the radial layer's columns.
__device__ inline void record_row(const vector *row, int lane, int antenna, int k, int sample) {
    const long long place = (long long)antenna * P.samples + sample;
    if (k == P.port_plane) record_port(row, lane, antenna, place);
    if (P.contour_size && k >= P.contour_bottom - 1 && k <= P.contour_top) record_contour(row, lane, k, place);
    if (k >= P.map_bottom && k < P.map_top) {
        const int end = min(P.map_right, P.radial_start);
#pragma unroll 1
        for (int i = P.map_left + lane; i < end; i += 32)
            record_map(antenna, k, i, sample, cell_of(row, 0, i), cell_of(row, 1, i), cell_of(row, 2, i));
    }
}
