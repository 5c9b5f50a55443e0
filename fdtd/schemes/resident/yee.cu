// A cluster of blocks holds one antenna in space: all fields in registers, from the first step of a launch to the last.
//
// A block has PLANES planes, a warp ROWS rows of them, a lane two columns. Neighbours along x are the next lane's; along y
// they come through shared memory, along z straight from the next block. Each warp waits for its own neighbours alone.
// Sums of two products say which is rounded first, so an antenna's bits do not depend on the cluster's shape.
// Nothing is overwritten too early: who sends H gets E in return that was formed from it, and the other way round.
//
// Memories of the layers in front of x and y faces lie in shared memory, and as many of those along z as fit; the others
// stay in device memory, and are on their way while the row before is formed. Source and probes are edges. At steps
// with samples or a look, fields go to device memory, and all threads of the cluster share that work.
//
// Settings: those of kernels/yee/parameters.cuh; CLUSTER (blocks), WARPS, PLANES, ROWS; LANES_X, ROWS_Y (lanes and rows
// in layers), LAYERS_Z (whether there are any along z), HELD_Z (rows of a warp's memories along z in shared memory, of
// 4 * PLANES * ROWS), AHEAD_Z (whether the others are read a row ahead), TABLE (media in
// shared memory, or 0), KEEP_MEDIA (whether edges' media lie in shared memory), TAPS
// (driven edges and probes), TRACE (steps between sums). Launch: grid (CLUSTER, antennas); steps [first, first + count).
#include "kernels/intrinsics.cuh"
#include "kernels/signals.cuh"
#include "kernels/yee/energy.cuh"
#include "kernels/yee/sums.cuh"

#define THREADS (32 * WARPS)
#define CELLS (PLANES * ROWS)  // of a lane, in pairs
#define ALL_LANES 0xffffffffu
enum { AIR = 0, METAL = 1 };

template <class Real> struct Wide;
template <> struct Wide<float> { typedef float2 pair; };
template <> struct Wide<double> { typedef double2 pair; };
typedef Wide<real>::pair pair;
struct alignas(16) Two {
    pair a, b;
};
// 1 / (kappa d), b and kappa c of a row or plane.
struct alignas(16) Filter {
    real slope, b, c, none;
};
struct alignas(2 * sizeof(number)) Edges {
    number medium[2];
};
// The media of an antenna's edges in device memory; beyond the lattice is metal.
struct EdgesAway {
    const number *from;
    int volume, area, pitch, rows, planes;
    __device__ Edges of(int c, int k, int j, int lane) const {
        if (k >= planes || j >= rows || 2 * lane >= pitch) return {number(METAL), number(METAL)};
        return *reinterpret_cast<const Edges *>(from + ((place)c * volume + k * area + j * pitch + 2 * lane));
    }
};
enum Signal { H_BELOW, E_ABOVE, H_BEFORE, E_AFTER, SIGNALS };

struct Shared {
    Two h_below[WARPS][ROWS][32];                  // h_x, h_y of the plane below; sources and probes use a warp's part, see `tap`
    Two e_above[WARPS][ROWS][32];                  // e_x, e_y of the plane above
    Two h_before[WARPS][PLANES][32];               // h_x, h_z of the row before
    Two e_after[WARPS][PLANES][32];                // e_x, e_z of the row after
    pair psi_x[4][CELLS][WARPS][LANES_X + 1];      // one more: rows lie in different banks
    pair psi_y[4][ROWS_Y + 1][PLANES][32];
    pair psi_z[HELD_Z + 1][WARPS][32];
    Filter along_y[2][WARPS * ROWS], along_z[2][PLANES];  // of H, of E
    Two filter_x[2][LANES_X + 1];                  // b, kappa c of a lane's columns
    pair slope_x[2][32];
    Two air[32];                                   // cb of a lane's columns where the row is air: e_x; e_y and e_z
    pair factors[TABLE + 1];
#if KEEP_MEDIA
    Edges media[CELLS][3][THREADS];
#endif
    EdgesAway edges;
    place factors_at;
    int taps[TAPS + 1];
    signal_word signals[WARPS][SIGNALS];
    double peak;
};
static_assert(sizeof(Shared) <= SHARED_BYTES, "the plan counts shared memory otherwise");
static_assert(CELLS + ROWS + PLANES < 32, "bits of a warp's rows");
__device__ inline Shared &shared() { return *reinterpret_cast<Shared *>(shared_base()); }
// All threads of the cluster meet. Lanes come together first: the barrier counts whole warps.
__device__ inline void meet() {
    __syncwarp();
    cluster_wait();
}
__device__ inline int agreed(int value) { return __shfl_sync(ALL_LANES, value, 0); }
__device__ inline pair both(const real *of) { return {of[0], of[1]}; }
__device__ inline void send(Two *own, int rank, const Two &x, signal_word *s) {
    if (sizeof(real) == 4) send(reinterpret_cast<float4 *>(own), rank, make_float4(x.a.x, x.a.y, x.b.x, x.b.y), s);
    else send(&own->a, rank, x.a, s), send(&own->b, rank, x.b, s);
}

struct Patch {
    real ex[CELLS][2], ey[CELLS][2], ez[CELLS][2], hx[CELLS][2], hy[CELLS][2], hz[CELLS][2];
};

// Where a warp is, and what its rows have.
struct Warp {
    int warp, lane, rank;
    int at_x;      // place among the lanes of the layers along x, or -1
    int rows;      // bits: rows with nothing but air between the walls in front of x- and x+, then rows and planes in layers
    int first_y;   // place of its first row among the rows of the layers along y
    pair *away;    // its memories along z in device memory
};
__device__ inline bool plain(const Warp &g, int m) { return g.rows >> m & 1; }
__device__ inline bool in_y(const Warp &g, int m) { return g.rows >> (CELLS + m % ROWS) & 1; }
__device__ inline bool in_z(const Warp &g, int m) { return g.rows >> (CELLS + ROWS + m / ROWS) & 1; }

#include "schemes/resident/yee_cells.cuh"

// The first turns that need a row of the warp beside, and a plane of the block below or above.
#define FIRST_BY_Y (PLANES > 1 ? (PLANES - 1) * (ROWS - 1) : ROWS - 1)
#define FIRST_BY_Z ((PLANES - 1) * ROWS)
// Rows are formed in the order in which what they need arrives: first those that need nothing of other warps.
__device__ constexpr int turn_of_e(int r) {
    return r < (PLANES - 1) * (ROWS - 1) ? ROWS + r / (ROWS - 1) * ROWS + r % (ROWS - 1) + 1
           : r < (PLANES - 1) * ROWS   ? (r - (PLANES - 1) * (ROWS - 1) + 1) * ROWS
                                        : ROWS - 1 - (r - (PLANES - 1) * ROWS);
}
__device__ constexpr int turn_of_h(int r) { return CELLS - 1 - turn_of_e(r); }

__device__ inline void form_h(Patch &f, const Warp &g, int turn) {
    Shared &s = shared();
    const bool after = g.warp < WARPS - 1, above = g.rank < CLUSTER - 1;
    if (above && g.lane == 0) expect_bytes(&s.signals[g.warp][E_ABOVE], ROWS * 32 * sizeof(Two));
    pair psi[2], next[2];
    if (AHEAD_Z) read_z<0>(g, turn_of_h(0), psi);
#pragma unroll
    for (int r = 0; r < CELLS; ++r) {
        const int m = turn_of_h(r), z = m / ROWS, y = m % ROWS;
        if (!AHEAD_Z) read_z<0>(g, m, psi);
        else if (r + 1 < CELLS) read_z<0>(g, turn_of_h(r + 1), next);
        Two from_y = {}, from_z = {};
        if (y < ROWS - 1) from_y = {both(f.ex[m + 1]), both(f.ez[m + 1])};
        else if (after) {
            if (r == FIRST_BY_Y) await_signal(&s.signals[g.warp][E_AFTER], turn);
            from_y = s.e_after[g.warp][z][g.lane];
        }
        if (z < PLANES - 1) from_z = {both(f.ex[m + ROWS]), both(f.ey[m + ROWS])};
        else if (above) {
            if (r == FIRST_BY_Z) await_signal(&s.signals[g.warp][E_ABOVE], turn);
            from_z = s.e_above[g.warp][y][g.lane];
        }
        real zx = __shfl_down_sync(ALL_LANES, f.ez[m][0], 1), yx = __shfl_down_sync(ALL_LANES, f.ey[m][0], 1);
        if (g.lane == 31) zx = yx = 0;
        Differences d;
        d.zy[0] = from_y.b.x - f.ez[m][0], d.zy[1] = from_y.b.y - f.ez[m][1];
        d.xy[0] = from_y.a.x - f.ex[m][0], d.xy[1] = from_y.a.y - f.ex[m][1];
        d.yz[0] = from_z.b.x - f.ey[m][0], d.yz[1] = from_z.b.y - f.ey[m][1];
        d.xz[0] = from_z.a.x - f.ex[m][0], d.xz[1] = from_z.a.y - f.ex[m][1];
        d.zx[0] = f.ez[m][1] - f.ez[m][0], d.zx[1] = zx - f.ez[m][1];
        d.yx[0] = f.ey[m][1] - f.ey[m][0], d.yx[1] = yx - f.ey[m][1];
        layers<0>(g, m, psi, d);
        const Slopes by = slopes<0>(g, m);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            f.hx[m][j] = f.hx[m][j] + by.z * d.yz[j] - by.y * d.zy[j];
            f.hy[m][j] = f.hy[m][j] + by.x[j] * d.zx[j] - by.z * d.xz[j];
            f.hz[m][j] = f.hz[m][j] + by.y * d.xy[j] - by.x[j] * d.yx[j];
        }
        if (AHEAD_Z) psi[0] = next[0], psi[1] = next[1];
    }
}

__device__ inline void form_e(Patch &f, const Warp &g, int turn) {
    Shared &s = shared();
    const bool before = g.warp > 0, below = g.rank > 0;
    if (below && g.lane == 0) expect_bytes(&s.signals[g.warp][H_BELOW], ROWS * 32 * sizeof(Two));
    pair psi[2], next[2];
    if (AHEAD_Z) read_z<1>(g, turn_of_e(0), psi);
#pragma unroll
    for (int r = 0; r < CELLS; ++r) {
        const int m = turn_of_e(r), z = m / ROWS, y = m % ROWS;
        if (!AHEAD_Z) read_z<1>(g, m, psi);
        else if (r + 1 < CELLS) read_z<1>(g, turn_of_e(r + 1), next);
        Two from_y = {}, from_z = {};
        if (y > 0) from_y = {both(f.hx[m - 1]), both(f.hz[m - 1])};
        else if (before) {
            if (r == FIRST_BY_Y) await_signal(&s.signals[g.warp][H_BEFORE], turn);
            from_y = s.h_before[g.warp][z][g.lane];
        }
        if (z > 0) from_z = {both(f.hx[m - ROWS]), both(f.hy[m - ROWS])};
        else if (below) {
            if (r == FIRST_BY_Z) await_signal(&s.signals[g.warp][H_BELOW], turn);
            from_z = s.h_below[g.warp][y][g.lane];
        }
        real zx = __shfl_up_sync(ALL_LANES, f.hz[m][1], 1), yx = __shfl_up_sync(ALL_LANES, f.hy[m][1], 1);
        if (g.lane == 0) zx = yx = 0;
        Differences d;
        d.zy[0] = f.hz[m][0] - from_y.b.x, d.zy[1] = f.hz[m][1] - from_y.b.y;
        d.xy[0] = f.hx[m][0] - from_y.a.x, d.xy[1] = f.hx[m][1] - from_y.a.y;
        d.yz[0] = f.hy[m][0] - from_z.b.x, d.yz[1] = f.hy[m][1] - from_z.b.y;
        d.xz[0] = f.hx[m][0] - from_z.a.x, d.xz[1] = f.hx[m][1] - from_z.a.y;
        d.zx[0] = f.hz[m][0] - zx, d.zx[1] = f.hz[m][1] - f.hz[m][0];
        d.yx[0] = f.hy[m][0] - yx, d.yx[1] = f.hy[m][1] - f.hy[m][0];
        layers<1>(g, m, psi, d);
        update_e(f, g, m, d);
        if (AHEAD_Z) psi[0] = next[0], psi[1] = next[1];
    }
}

__device__ inline void send_h(const Patch &f, const Warp &g) {
    Shared &s = shared();
    if (g.rank < CLUSTER - 1)
#pragma unroll
        for (int y = 0; y < ROWS; ++y) {
            const int m = (PLANES - 1) * ROWS + y;
            send(&s.h_below[g.warp][y][g.lane], g.rank + 1, {both(f.hx[m]), both(f.hy[m])}, &s.signals[g.warp][H_BELOW]);
        }
    if (g.warp == WARPS - 1) return;
#pragma unroll
    for (int z = 0; z < PLANES; ++z)
        s.h_before[g.warp + 1][z][g.lane] = {both(f.hx[z * ROWS + ROWS - 1]), both(f.hz[z * ROWS + ROWS - 1])};
    __syncwarp();
    if (g.lane == 0) give_signal(&s.signals[g.warp + 1][H_BEFORE]);
}
__device__ inline void send_e(const Patch &f, const Warp &g) {
    Shared &s = shared();
    if (g.rank > 0)
#pragma unroll
        for (int y = 0; y < ROWS; ++y)
            send(&s.e_above[g.warp][y][g.lane], g.rank - 1, {both(f.ex[y]), both(f.ey[y])}, &s.signals[g.warp][E_ABOVE]);
    if (g.warp == 0) return;
#pragma unroll
    for (int z = 0; z < PLANES; ++z) s.e_after[g.warp - 1][z][g.lane] = {both(f.ex[z * ROWS]), both(f.ez[z * ROWS])};
    __syncwarp();
    if (g.lane == 0) give_signal(&s.signals[g.warp - 1][E_AFTER]);
}

#include "schemes/resident/yee_pauses.cuh"

#ifndef HOST_EMULATION
extern "C" __cluster_dims__(CLUSTER, 1, 1) __global__ void resident(int first, int count);
#endif
extern "C" __global__ void __launch_bounds__(THREADS, 1) resident(int first, int steps) {
    const int antenna = P.stepped[blockIdx.y], last = min(first + steps, count(antenna, STEPS));
    if (!P.active[antenna] || first >= last) return;
    Shared &s = shared();
    if (threadIdx.x == 0) {
        for (int n = 0; n < WARPS * SIGNALS; ++n) prepare_signal(&s.signals[0][0] + n, 1);
        publish_signals();
        s.peak = P.peak[antenna];
    }
    lay_out_tables(antenna);
    move_memories<false>(antenna);
    __syncthreads();  // tables and memories are there
    const Warp g = survey(antenna);
    Patch f;
    move_fields<false>(f, antenna);
    meet();  // all blocks have started, and their signals are ready
    send_e(f, g);
    const int taps = tapped(antenna);
    int since = first, pause = next_pause(antenna, first, last);
#pragma unroll 1
    for (int n = first; n < last; ++n) {
        form_h(f, g, n - first);
        send_h(f, g);
        form_e(f, g, n - first);
        if (taps & 1) tap(f.ex, g, 0, antenna, n, n - since);
        if (taps & 2) tap(f.ey, g, 1, antenna, n, n - since);
        if (taps & 4) tap(f.ez, g, 2, antenna, n, n - since);
        if (n == pause) {
            move_fields<true>(f, afresh(antenna));
            if (!attend(antenna, n, since)) break;
            since = n + 1, pause = next_pause(antenna, since, last);
        }
        if (n + 1 < last) send_e(f, g);
    }
    move_memories<true>(antenna);
    meet();  // no block sends to one that has ended
}
