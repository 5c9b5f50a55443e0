// What clusters in space do once a launch, and between steps: fields and memories from and to device memory, the port,
// sums, samples and looks. Included by yee.cu alone.

#include "schemes/resident/yee_tables.cuh"

// Bits of the components of E that a warp's driven edges and probes are of.
__device__ inline int tapped(int antenna) {
    const int taps = count(antenna, SOURCES) + count(antenna, PROBES), warp = warp_index();
    int components = 0;
    for (int p = threadIdx.x % 32; p < taps; p += 32) {
        const int who = shared().taps[p] >> 16;
        if (who >= 0 && (who & 63) == warp) components |= 1 << (who >> 6 & 3);
    }
    int all = 0;
    for (int c = 0; c < 3; ++c)
        if (!all_lanes(!(components >> c & 1))) all |= 1 << c;
    return all;
}

template <bool WRITE> __device__ inline void move_fields(Patch &f, int antenna) {
    real(*const parts[6])[COLUMNS] = {f.ex, f.ey, f.ez, f.hx, f.hy, f.hz};
    const int ny = count(antenna, NY), nz = count(antenna, NZ), pitch = count(antenna, PITCH), area = (ny + 2) * pitch;
    const int row = warp_index() * ROWS, plane = rank_here() * PLANES, i = threadIdx.x % 32 * COLUMNS;
    real *fields = P.fields + start(antenna, FIELDS) + (plane * area + row * pitch + i);
#pragma unroll
    for (int m = 0; m < CELLS; ++m) {
        const bool there = i < pitch && row + m % ROWS <= ny && plane + m / ROWS <= nz;
#pragma unroll
        for (int c = 0; c < 6; ++c) {
            real *at = fields + (c * (nz + 2) * area + m / ROWS * area + m % ROWS * pitch);
            if (COLUMNS == 3) {  // rows do not end with a lane's columns
#pragma unroll
                for (int q = 0; q < COLUMNS; ++q) {
                    const bool own = there && i + q < pitch;
                    if (!WRITE) parts[c][m][q] = own ? at[q] : real(0);
                    else if (own) at[q] = parts[c][m][q];
                }
                continue;
            }
            if (WRITE) {
                if (there) *reinterpret_cast<Columns *>(at) = all_of(parts[c][m]);
                continue;
            }
            const Columns value = there ? *reinterpret_cast<Columns *>(at) : Columns{};
#pragma unroll
            for (int q = 0; q < COLUMNS; ++q) parts[c][m][q] = value.at[q];
        }
    }
}

// Memories between device and shared memory, as they lie here.
#define ALONG_X (4 * CELLS * WARPS * (LANES_X + 1))
#define ALONG_Y (4 * (ROWS_Y + 1) * PLANES * 32)
template <bool WRITE> __device__ inline void move_columns(Columns *here, real *away, int columns, int apart) {
    Columns *there = reinterpret_cast<Columns *>(away) + rank_here() * apart;
#pragma unroll 1
    for (int n = threadIdx.x; n < columns; n += THREADS) {
        if (WRITE) there[n] = here[n];
        else here[n] = there[n];
    }
}
template <bool WRITE> __device__ __noinline__ void move_memories(int antenna) {
    Shared &s = shared();
    __syncthreads();  // all warps have done their last step
    if (LANES_X) move_columns<WRITE>(&s.psi_x[0][0][0][0], P.psi_x + start(antenna, PSI_X), ALONG_X, ALONG_X);
    if (ROWS_Y) move_columns<WRITE>(&s.psi_y[0][0][0][0], P.psi_y + start(antenna, PSI_Y), ALONG_Y, ALONG_Y);
    if (HELD_Z) move_columns<WRITE>(&s.psi_z[0][0][0], P.psi_z + start(antenna, PSI_Z), HELD_COLUMNS, AWAY_COLUMNS);
}

// The source of step n, then what the probes see, by a warp that has such edges. A component of two of its planes lies
// on its part of the desk meanwhile: no H comes there before this warp has sent E.
__device__ __noinline__ void serve_taps(int antenna, int who, int n, int line) {
    Shared &s = shared();
    real *desk = reinterpret_cast<real *>(&s.DESK[who & 63][0][0]);
    const int sources = count(antenna, SOURCES), probes = count(antenna, PROBES), lane = threadIdx.x % 32;
    __syncwarp();  // E is there
    if (n < count(antenna, WAVEFORM)) {
        const real volts = __ldg(P.waveform + start(antenna, WAVEFORM_AT) + n), *gains = P.gains + start(antenna, GAINS);
        for (int p = lane; p < sources; p += 32)
            if (s.taps[p] >> 16 == who) desk[s.taps[p] & 0xffff] += __ldg(gains + p) * volts;
        __syncwarp();  // and driven
    }
    real *trace = P.trace + start(antenna, TRACE_AT) + line * probes;
    for (int p = lane; p < probes; p += 32)
        if (s.taps[sources + p] >> 16 == who) trace[p] = desk[s.taps[sources + p] & 0xffff];
}
__device__ inline void tap(real (*e)[COLUMNS], const Warp &g, int component, int antenna, int n, int line) {
    Two *desk = &shared().DESK[g.warp][0][g.lane];
#pragma unroll
    for (int z = 0; z < PLANES; z += 2)
#pragma unroll
        for (int from = 0; from < ROWS; from += DESK_ROWS) {
            const int one = z * ROWS + from, two = z + 1 < PLANES ? one + ROWS : one;
#pragma unroll
            for (int y = 0; y < DESK_ROWS; ++y)
                if (from + y < ROWS) desk[y * 32] = {all_of(e[one + y]), all_of(e[two + y])};
            serve_taps(antenna, tap_of(g.warp, component, z / 2, from / DESK_ROWS), n, line);
#pragma unroll
            for (int y = 0; y < DESK_ROWS; ++y) {
                if (from + y >= ROWS) continue;
                const Two now = desk[y * 32];
#pragma unroll
                for (int q = 0; q < COLUMNS; ++q) {
                    if (two > one) e[two + y][q] = now.b.at[q];
                    e[one + y][q] = now.a.at[q];
                }
            }
            __syncwarp();  // all lanes have read
        }
}

// The first step, from n on, after which the cluster has to meet.
__device__ __noinline__ int next_pause(int antenna, int n, int last) {
    const int record = count(antenna, RECORD_EVERY), check = count(antenna, CHECK_EVERY);
    int at = min(last - 1, n + TRACE - 1);
    if (count(antenna, BOX)) at = min(at, n / record * record + record - 1);
    return check ? min(at, n / check * check + check - 1) : at;
}

// Sums of the steps from `since` to n, of one half of the trace; a warp a step.
__device__ inline void add_up(int antenna, int n, int since, int half) {
    const int probes = count(antenna, PROBES), sums = count(antenna, SUMS), lane = threadIdx.x % 32;
    for (int t = since + rank_here() * WARPS + warp_index(); t <= n; t += CLUSTER * WARPS) {
        const real *trace = P.trace + start(antenna, TRACE_AT) + (half * TRACE + t - since) * probes;
        for (int sum = 0; sum < sums; ++sum) {
            const double total = weighted_sum(antenna, sum, lane, [&](int p) { return trace[p]; });
            if (lane == 0) P.sums[start(antenna, SUMS_AT) + (place)t * sums + sum] = total;
        }
    }
}

__device__ inline void sample(int antenna, int n) {
    const int size = count(antenna, BOX), row = ((n + 1) / count(antenna, RECORD_EVERY) - 1) % count(antenna, HELD);
    const real *fields = P.fields + start(antenna, FIELDS);
    const int *places = P.box + start(antenna, BOX_AT);
    real *to = P.record + start(antenna, RECORD) + (place)row * size;
    constexpr int AT_ONCE = 4, APART = CLUSTER * THREADS;
    for (int b = rank_here() * THREADS + threadIdx.x; b < size; b += AT_ONCE * APART) {
        int place[AT_ONCE];
        real value[AT_ONCE];
#pragma unroll
        for (int of = 0; of < AT_ONCE; ++of) place[of] = __ldg(places + min(b + of * APART, size - 1));
#pragma unroll
        for (int of = 0; of < AT_ONCE; ++of) value[of] = fields[place[of]];
#pragma unroll
        for (int of = 0; of < AT_ONCE; ++of)
            if (b + of * APART < size) to[b + of * APART] = value[of];
    }
}

// Parts of the energy, in the order of kernels/yee/looks.cu, whose blocks of eight warps are virtual here: a block
// takes every CLUSTER-th part, as many at a time as there is room for lanes' totals on the desk, which is free until E
// is sent.
__device__ inline void share_energy(int antenna, double *shares) {
    constexpr int AT_ONCE = int(sizeof(shared().DESK) / (8 * 32 * sizeof(double)));
    static_assert(AT_ONCE > 0, "a part's totals need 2 KB");
    double(*totals)[32] = reinterpret_cast<double(*)[32]>(&shared().DESK[0][0][0]);
    const int rows = 6 * (count(antenna, NZ) + 1) * (count(antenna, NY) + 1), lane = threadIdx.x % 32;
    for (int first = rank_here(); first < LOOK_PARTS; first += AT_ONCE * CLUSTER) {
        const int parts = min(AT_ONCE, (LOOK_PARTS - first + CLUSTER - 1) / CLUSTER);
        for (int n = warp_index(); n < 8 * parts; n += WARPS) {
            double total = 0;
            for (int row = (first + n / 8 * CLUSTER) * 8 + n % 8; row < rows; row += LOOK_PARTS * 8)
                total += energy_of_row(antenna, row, lane);
            totals[n][lane] = total;
        }
        __syncthreads();  // all lanes' totals are there
        for (int n = warp_index(); n < parts; n += WARPS) {
            double part[4];
            for (int w = 0; w < 4; ++w) part[w] = totals[8 * n + w][lane] + totals[8 * n + w + 4][lane];
            double total = (part[0] + part[2]) + (part[1] + part[3]);
            for (int half = 16; half > 0; half /= 2) total += __shfl_down_sync(ALL_LANES, total, half);
            if (lane == 0) shares[first + n * CLUSTER] = total;
        }
        __syncthreads();  // and read
    }
}
// The energy, and whether the antenna goes on; each block adds up all parts.
__device__ inline bool look(int antenna, int n) {
    Shared &s = shared();
    double *shares = P.shares + (place)antenna * LOOK_PARTS, now = 0;
    share_energy(antenna, shares);
    meet();  // all blocks' parts are there
    for (int part = 0; part < LOOK_PARTS; ++part) now += shares[part];
    const bool finite = now - now == 0;
    const double peak = finite && now > s.peak ? now : s.peak;
    const bool done = !finite || (n + 1 >= count(antenna, SETTLED) && now < P.decay[antenna] * peak);
    __syncthreads();  // all have read the peak
    if (threadIdx.x == 0) {
        s.peak = peak;
        if (rank_here() == 0) {
            P.energy[start(antenna, ENERGY) + (n + 1) / count(antenna, CHECK_EVERY) - 1] = now, P.peak[antenna] = peak;
            P.taken[antenna] = n + 1;
            if (done) P.active[antenna] = 0;
        }
    }
    return !done;
}

// All that is due after step n, with the fields in device memory; whether the antenna goes on.
__device__ __noinline__ bool attend(int antenna, int n, int since, int half) {
    const int check = count(antenna, CHECK_EVERY);
    meet();  // fields and traces of all blocks are there
    add_up(antenna, n, since, half);
    if (count(antenna, BOX) && (n + 1) % count(antenna, RECORD_EVERY) == 0) sample(antenna, n);
    const bool on = !check || (n + 1) % check || look(antenna, n);
    leave(shared().left);  // fields and traces have been read
    return on;
}
