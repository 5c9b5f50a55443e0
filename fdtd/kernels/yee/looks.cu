// Between steps of antennas on rectilinear lattices: source, sums, samples of the box, the energy, who is done.
//
// Settings: those of parameters.cuh. `n` is the step whose fields are there, in place `turn`. `after` and `record` serve
// schemes that do not do the same inside their launch; grids are (antennas), (parts, antennas), (LOOK_PARTS, antennas),
// (antennas / threads).
#include "kernels/yee/after.cuh"
#include "kernels/yee/energy.cuh"

#define LOOK_THREADS 256

extern "C" __global__ void __launch_bounds__(MOST_THREADS) after(int n) {
    const int antenna = P.stepped[blockIdx.x];
    if (!steps(antenna, n)) return;
    drive(antenna, n, threadIdx.x, 0, count(antenna, SOURCES));
    __syncthreads();  // the sums are of driven fields
    const real *fields = P.fields + start(antenna, FIELDS);
    const int *places = P.probes + start(antenna, PROBES_AT);
    add_sums(antenna, n, threadIdx.x, [&](int p) { return fields[__ldg(places + p)]; });
}

extern "C" __global__ void record(int n, int turn) {
    const int antenna = P.stepped[blockIdx.y], every = count(antenna, RECORD_EVERY);
    if (!steps(antenna, n) || (n + 1) % every) return;
    const int size = count(antenna, BOX), row = ((n + 1) / every - 1) % count(antenna, HELD);
    const real *fields = fields_of(antenna, turn);
    const int *places = P.box + start(antenna, BOX_AT);
    real *samples = P.record + start(antenna, RECORD) + (place)row * size;
    for (int b = blockIdx.x * blockDim.x + threadIdx.x; b < size; b += gridDim.x * blockDim.x) samples[b] = fields[places[b]];
}

__device__ inline bool looked_at(int antenna, int n) {
    const int every = count(antenna, CHECK_EVERY);
    return every && steps(antenna, n) && (n + 1) % every == 0;
}

// Adds up the values of a block's threads, and stores the sum as the share of its part.
__device__ inline void share(int antenna, double total) {
    __shared__ double partial[LOOK_THREADS];
    partial[threadIdx.x] = total;
    for (int half = LOOK_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // the partial sums of the level before are there
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0) P.shares[(place)antenna * LOOK_PARTS + blockIdx.x] = partial[0];
}

// Energy of one part of an antenna's rows. Rows are dealt out to the parts' warps; threads add up their own values, a
// part its threads by halves, so the order depends on nothing but the lattice.
extern "C" __global__ void look_part(int n, int turn) {
    const int antenna = P.stepped[blockIdx.y];
    if (!looked_at(antenna, n)) return;
    const int rows = 6 * (count(antenna, NZ) + 1) * (count(antenna, NY) + 1);
    const int first = blockIdx.x * (LOOK_THREADS / 32) + threadIdx.x / 32;
    share(antenna, add_rows(antenna, first, rows, LOOK_PARTS * (LOOK_THREADS / 32), threadIdx.x % 32, 0, turn));
}

// Adds up the parts; an antenna that has decayed, or is no longer finite, is done. A thread an antenna; `running` are
// in `P.stepped`. `turn`: the place of the fields.
extern "C" __global__ void look(int n, int running, int turn) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= running) return;
    const int antenna = P.stepped[at];
    if (!looked_at(antenna, n)) return;
    double now = 0;
    for (int part = 0; part < LOOK_PARTS; ++part) now += P.shares[(place)antenna * LOOK_PARTS + part];
    const bool finite = now - now == 0;
    const double peak = finite && now > P.peak[antenna] ? now : P.peak[antenna];
    P.energy[start(antenna, ENERGY) + (n + 1) / count(antenna, CHECK_EVERY) - 1] = now, P.peak[antenna] = peak;
    P.taken[antenna] = n + 1, P.turned[antenna] = turn;
    if (!finite || (n + 1 >= count(antenna, SETTLED) && now < P.decay[antenna] * peak)) P.active[antenna] = 0;
}
