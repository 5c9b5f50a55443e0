// Between steps: samples of the port, the contour and the field map; the energy; antennas that have decayed.
//
// Settings: REAL. `record` serves the schemes that do not record inside their launch: one block an antenna and part of
// its cells, grid (parts, batch). `look_part` and `look` serve those that do not look at the energy there, `list_running`
// those whose blocks go from antenna to antenna.
#include "kernels/axisymmetric/energy.cuh"

// Sample `sample` of one antenna, after a whole step; `second`: its fields are in the second buffer of two.
extern "C" __global__ void record(int sample, int second) {
    const int antenna = blockIdx.y, stored = antenna + (second ? P.batch : 0), at = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    if (!P.active[antenna]) return;
    const int n = P.contour_column, top = P.contour_top, bottom = P.contour_bottom, height = top - bottom;
    const int face = 4 * n + 2;
    const long long place = (long long)antenna * P.samples + sample;
    for (int s = at; s < P.contour_size; s += stride) {
        int k, component, i, rest = s;
        if (s < 2 * face) {
            const bool upper = s < face;
            if (!upper) rest -= face;
            k = upper ? top : bottom;
            if (rest < n) component = 0, i = rest;
            else if (rest < 2 * n + 1) component = 1, i = rest - n;
            else {
                k = upper ? top : bottom - 1;
                if (rest < 3 * n + 2) component = 3, i = rest - (2 * n + 1);
                else component = 4, i = rest - (3 * n + 2);
            }
        } else {
            rest -= 2 * face, i = n;
            if (rest < height + 1) component = 1, k = bottom + rest;
            else if (rest < 2 * height + 1) component = 2, k = bottom + rest - (height + 1);
            else if (rest < 3 * height + 1) component = 4, k = bottom + rest - (2 * height + 1);
            else component = 5, k = bottom + rest - (3 * height + 1);
        }
        P.contour_record[place * P.contour_size + s] = field(stored, k, component)[P.lead + i];
    }
    if (P.port_plane >= 0 && at < 2) {
        double total = 0;
        for (int part = 0; part < 2; ++part) {
            const real *row = field(stored, P.port_plane, 3 * at + part);
            const double *weights = port_weights(antenna, 2 * at + part);
            for (int i = 0; i < P.port_columns; ++i) total += weights[P.lead + i] * (double)row[P.lead + i];
        }
        P.port_record[place * 2 + at] = total;
    }
    const int rows = P.map_top - P.map_bottom, columns = P.map_right - P.map_left, plane = rows * columns;
    for (int s = at; s < 3 * plane * P.map_frequencies; s += stride) {
        const int cell = s % plane, component = s / plane % 3, f = s / (3 * plane);
        const real value = field(stored, P.map_bottom + cell / columns, component)[P.lead + P.map_left + cell % columns];
        real *sums = P.sums + ((long long)(antenna * P.map_frequencies + f) * 6 + component) * plane + cell;
        sums[0] += P.wave[f * P.samples + sample] * value;
        sums[3 * plane] += P.wave[(P.map_frequencies + f) * P.samples + sample] * value;
    }
}

// Energy of one part of an antenna's rows, grid (LOOK_PARTS, batch).
extern "C" __global__ void look_part() {
    __shared__ double partial[LOOK_THREADS];
    const int antenna = blockIdx.y;
    if (!P.active[antenna]) return;
    partial[threadIdx.x] = energy_share(antenna, blockIdx.x, threadIdx.x);
    for (int half = LOOK_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // the partial sums of the level before are there
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0) P.shares[antenna * LOOK_PARTS + blockIdx.x] = partial[0];
}

// Adds up the parts after `step` steps, a thread an antenna.
extern "C" __global__ void look(int step) {
    const int antenna = blockIdx.x * blockDim.x + threadIdx.x;
    if (antenna >= P.batch || !P.active[antenna]) return;
    double now = 0;
    for (int part = 0; part < LOOK_PARTS; ++part) now += P.shares[antenna * LOOK_PARTS + part];
    judge_energy(antenna, now, step);
}

// Lists the antennas that still run, in one block of LOOK_THREADS.
extern "C" __global__ void list_running() {
    __shared__ int before[LOOK_THREADS];
    const int thread = threadIdx.x, share = (P.batch + LOOK_THREADS - 1) / LOOK_THREADS, first = thread * share;
    const int end = min(first + share, P.batch);
    int count = 0;
    for (int antenna = first; antenna < end; ++antenna) count += P.active[antenna] != 0;
    before[thread] = count;
    for (int reach = 1; reach < LOOK_THREADS; reach *= 2) {
        __syncthreads();
        const int more = thread >= reach ? before[thread - reach] : 0;
        __syncthreads();
        before[thread] += more;
    }
    int place = before[thread] - count;
    for (int antenna = first; antenna < end; ++antenna)
        if (P.active[antenna]) P.running[1 + place++] = antenna;
    if (thread == LOOK_THREADS - 1) P.running[0] = place;
}
