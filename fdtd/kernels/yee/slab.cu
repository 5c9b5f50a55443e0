// Between steps of one lattice that several devices step, each a slab of its planes: what `looks.cu` does for whole
// lattices.
//
// A slab is a lattice of its own whose first plane, and whose last but one, are copies of its neighbours' planes. One
// device, the first, also has the records of the whole lattice. Kernels that end in `_here` run there, with the
// parameters of the whole lattice; the others run on each device with those of its slab. Sums have the order of
// `looks.cu`.
#include "kernels/yee/looks.cu"

// Steps whose edges of the sums a device keeps: [probes, TRACED].
#define TRACED 256
// Rows whose energy a warp reads at a time.
#define ROWS_AHEAD 16

// Source of edges `first` to before `last` after the update of step `P.taken + ahead`; then, if `traced`, the edges of
// the sums.
extern "C" __global__ void drive_slab(int ahead, int first, int last, int traced) {
    const int n = P.taken[0] + ahead;
    if (!steps(0, n)) return;
    drive(0, n, threadIdx.x, first, last);
    if (!traced) return;
    __syncthreads();  // the sums are of driven fields
    const real *fields = P.fields + start(0, FIELDS);
    const int *places = P.probes + start(0, PROBES_AT);
    real *trace = P.trace + start(0, TRACE_AT) + n % TRACED;
    for (int p = threadIdx.x; p < count(0, PROBES); p += blockDim.x) trace[(place)p * TRACED] = fields[__ldg(places + p)];
}

extern "C" __global__ void count_steps(int taken) {
    if (threadIdx.x == 0 && P.active[0]) P.taken[0] += taken;
}

// The slab's part of a sample.
extern "C" __global__ void sample_slab() {
    const real *fields = P.fields + start(0, FIELDS);
    const int *places = P.box + start(0, BOX_AT), size = count(0, BOX);
    real *samples = P.record + start(0, RECORD);
    for (int b = blockIdx.x * blockDim.x + threadIdx.x; b < size; b += gridDim.x * blockDim.x) samples[b] = fields[places[b]];
}

// What lanes have of the energy of each row of one component, in `planes` planes of the slab: [planes, rows, 32] after
// the shares. Rows are formed in any order.
extern "C" __global__ void rows_of_slab(int component, int planes) {
    const int rows = count(0, NY) + 1, first = (component * (count(0, NZ) + 1) + 1) * rows, lane = threadIdx.x % 32;
    double *found = P.shares + LOOK_PARTS * (1 + LOOK_THREADS) + lane;
    const int warps = gridDim.x * (LOOK_THREADS / 32);
    for (int row = blockIdx.x * (LOOK_THREADS / 32) + threadIdx.x / 32; row < planes * rows; row += warps)
        found[(place)row * 32] = energy_of_row(0, first + row, lane);
}

// Goes on with the energy: rows of one component in the slab's own planes, which are `planes` from plane `low` of the
// whole lattice on, which has `all` of them. The first slab of the first component begins at zero.
extern "C" __global__ void energy_of_slab(int component, int low, int planes, int all) {
    double *sum = P.shares + LOOK_PARTS + blockIdx.x * LOOK_THREADS + threadIdx.x;
    const double *found = P.shares + LOOK_PARTS * (1 + LOOK_THREADS) + threadIdx.x % 32;
    const int rows = count(0, NY) + 1, end = planes * rows, warps = LOOK_PARTS * (LOOK_THREADS / 32);
    // This warp adds up rows own, own + warps, ... of the whole lattice.
    const int own = blockIdx.x * (LOOK_THREADS / 32) + threadIdx.x / 32;
    const int before = (component * all + low) * rows % warps;
    double so_far = component == 0 && low == 0 ? 0 : *sum;
    for (int row = (own - before + warps) % warps; row < end; row += ROWS_AHEAD * warps) {
        double some[ROWS_AHEAD];  // all on their way before the first is added
        for (int at = 0; at < ROWS_AHEAD; ++at) some[at] = found[(place)min(row + at * warps, end - 1) * 32];
        for (int at = 0; at < ROWS_AHEAD; ++at)
            if (row + at * warps < end) so_far += some[at];
    }
    *sum = so_far;
}

// Ends it: `n` as for `look`, which comes next.
extern "C" __global__ void energy_here(int n) {
    if (looked_at(0, n)) share(0, P.shares[LOOK_PARTS + blockIdx.x * LOOK_THREADS + threadIdx.x]);
}

// Puts the parts of a sample, which lie one after the other in `P.fields`, into the ring: part b is point box[b], or
// none.
extern "C" __global__ void record_here(int n, int parts) {
    const int every = count(0, RECORD_EVERY);
    if (!steps(0, n)) return;
    const int row = ((n + 1) / every - 1) % count(0, HELD);
    const int *points = P.box + start(0, BOX_AT);
    real *samples = P.record + start(0, RECORD) + (place)row * count(0, BOX);
    for (int b = blockIdx.x * blockDim.x + threadIdx.x; b < parts; b += gridDim.x * blockDim.x)
        if (points[b] >= 0) samples[points[b]] = P.fields[b];
}

// Sums of steps from `first` on, a block a step: edge p of the sums is row probes[p] of the traces of all devices.
extern "C" __global__ void sums_here(int first) {
    const int n = first + blockIdx.x;
    if (n >= count(0, STEPS)) return;
    const int *rows = P.probes + start(0, PROBES_AT);
    add_sums(0, n, threadIdx.x, [&](int p) { return P.trace[(place)__ldg(rows + p) * TRACED + n % TRACED]; });
}
