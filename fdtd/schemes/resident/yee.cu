// A chain of blocks holds one antenna in space: all fields in registers, from the first step of a launch to the last.
//
// A block has PLANES planes, a warp ROWS rows of them, a lane COLUMNS columns. Neighbours along x are the next lane's;
// along y they come through shared memory, along z from the next block: straight if the chain is a cluster
// (SPREAD = 0), else through device memory (posts.cuh), and then chains take one antenna after the other. A warp waits
// for its neighbours alone.
// Sums of two products say which is rounded first, so an antenna's bits do not depend on the cluster's shape.
// Nothing is overwritten too early: who sends H gets E in return that was formed from it, and the other way round.
//
// Memories of the layers in front of x and y faces lie in shared memory, and as many of those along z as fit; the
// others stay in device memory, and are on their way while the row before is formed. Source and probes are edges. At
// steps with samples or a look, fields go to device memory, and all threads of the cluster share that work.
//
// Settings: those of kernels/yee/parameters.cuh; CLUSTER (blocks), SPREAD, WARPS, PLANES, ROWS, COLUMNS; LANES_X,
// ROWS_Y (lanes and rows in layers), LAYERS_Z (whether there are any along z), HELD_Z (rows of a warp's memories along
// z in shared memory, of 4 * PLANES * ROWS), AHEAD_Z (whether the others are read a row ahead), TABLE (media in shared
// memory, or 0), KEEP_MEDIA (whether edges' media lie in shared memory), TAPS (driven edges and probes), TRACE (steps
// between sums). Launch: grid (CLUSTER, antennas), or, if spread, as many chains as are on the device at the same time
// (CLUSTER * chains); steps [first, first + count).
#include "kernels/intrinsics.cuh"
#include "kernels/signals.cuh"
#include "kernels/yee/energy.cuh"
#include "kernels/yee/sums.cuh"
#include "schemes/resident/yee_chain.cuh"

#define THREADS (32 * WARPS)
#define CELLS (PLANES * ROWS)  // of a lane, in columns
#define IN_ORDER (SPREAD && PLANES == 1)
#define ALL_LANES 0xffffffffu
enum { AIR = 0, METAL = 1 };

template <class Real> struct Wide;
template <> struct Wide<float> { typedef float2 pair; };
template <> struct Wide<double> { typedef double2 pair; };
typedef Wide<real>::pair pair;
// What a lane's columns have, and two such.
struct alignas(COLUMNS == 3 ? sizeof(real) : COLUMNS * sizeof(real)) Columns {
    real at[COLUMNS];
};
struct alignas(COLUMNS == 3 ? 2 * sizeof(real) : COLUMNS * sizeof(real) > 16 ? COLUMNS * sizeof(real) : 16) Two {
    Columns a, b;
};
// 1 / (kappa d), b and kappa c of a row or plane.
struct alignas(16) Filter {
    real slope, b, c, none;
};
struct alignas(COLUMNS == 3 ? sizeof(number) : COLUMNS * sizeof(number)) Edges {
    number medium[COLUMNS];
};
// The media of an antenna's edges in device memory; beyond the lattice is metal.
struct EdgesAway {
    const number *from;
    int volume, area, pitch, rows, planes;
    __device__ Edges of(int c, int k, int j, int lane) const {
        const bool there = k < planes && j < rows;
        const number *at = from + ((place)c * volume + k * area + j * pitch + COLUMNS * lane);
        if (COLUMNS != 3 && there && COLUMNS * lane < pitch) return *reinterpret_cast<const Edges *>(at);
        Edges edges;
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q)
            edges.medium[q] = COLUMNS == 3 && there && COLUMNS * lane + q < pitch ? at[q] : number(METAL);
        return edges;
    }
};
enum Signal { H_BELOW, E_ABOVE, H_BEFORE, E_AFTER, SIGNALS };

struct Shared {
#if !SPREAD
    Two h_below[WARPS][ROWS][32];                  // h_x, h_y of the plane below
    Two e_above[WARPS][ROWS][32];                  // e_x, e_y of the plane above
#endif
    Two h_before[WARPS][PLANES][32];               // h_x, h_z of the row before
    Two e_after[WARPS][PLANES][32];                // e_x, e_z of the row after
    Columns psi_x[4][CELLS][WARPS][LANES_X + 1];   // one more: rows lie in different banks
    Columns psi_y[4][ROWS_Y + 1][PLANES][32];
    Columns psi_z[HELD_Z + 1][WARPS][32];
    Filter along_y[2][WARPS * ROWS], along_z[2][PLANES];  // of H, of E
    Two filter_x[2][LANES_X + 1];                  // b, kappa c of a lane's columns
    Columns slope_x[2][32];
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
    long long left;  // see `leave`
    int epoch;
};
static_assert(sizeof(Shared) <= SHARED_BYTES, "the plan counts shared memory otherwise");
static_assert(CELLS + ROWS + PLANES < 32, "bits of a warp's rows");
__device__ inline Shared &shared() { return *reinterpret_cast<Shared *>(shared_base()); }
__device__ inline int agreed(int value) { return __shfl_sync(ALL_LANES, value, 0); }
__device__ inline Columns all_of(const real *of) {
    Columns x;
#pragma unroll
    for (int q = 0; q < COLUMNS; ++q) x.at[q] = of[q];
    return x;
}

struct Patch {
    real ex[CELLS][COLUMNS], ey[CELLS][COLUMNS], ez[CELLS][COLUMNS], hx[CELLS][COLUMNS], hy[CELLS][COLUMNS], hz[CELLS][COLUMNS];
};

// Where a warp is, and what its rows have.
struct Warp {
    int warp, lane, rank;
    int at_x;      // place among the lanes of the layers along x, or -1
    int rows;      // bits: rows with air alone between the walls in front of x- and x+, then rows and planes in layers
    int first_y;   // place of its first row among the rows of the layers along y
    Columns *away; // its memories along z in device memory
#if SPREAD
    Parcel *post;  // a lane's parcels for its block
    int epoch;
#endif
};
__device__ inline bool plain(const Warp &g, int m) { return g.rows >> m & 1; }
__device__ inline bool in_y(const Warp &g, int m) { return g.rows >> (CELLS + m % ROWS) & 1; }
__device__ inline bool in_z(const Warp &g, int m) { return g.rows >> (CELLS + ROWS + m / ROWS) & 1; }

#include "schemes/resident/yee_cells.cuh"
#include "schemes/resident/yee_edges.cuh"
#include "schemes/resident/yee_rows.cuh"
#include "schemes/resident/yee_pauses.cuh"

// Steps of an antenna by its chain; `turn` counts all that the chain has taken in this launch. Returns those taken.
__device__ inline int take_steps(int antenna, int first, int last, int turn) {
    lay_out_tables(antenna);
    move_memories<false>(antenna);
    __syncthreads();  // tables and memories are there
    const Warp g = survey(antenna);
    Patch f;
    move_fields<false>(f, antenna);
    meet();  // all blocks have started, and their signals are ready
    const int off = turn - first;
    send_e(f, g, first + off, false);
    Arrival coming;  // what another block has sent, for the next row that needs it
    if (IN_ORDER && g.rank < CLUSTER - 1) look_for<E_ABOVE>(g, 0, coming);
    const int taps = tapped(antenna);
    int since = first, half = 0, pause = next_pause(antenna, first, last), n = first;
#pragma unroll 1
    for (; n < last; ++n) {
        form_h(f, g, n + off, coming);
        send_h(f, g, n + off);
        const bool at_once = SPREAD && !taps && g.rank > 0 && n + 1 < last && n != pause;
        form_e(f, g, n + off, coming, at_once);
        const int line = half * TRACE + n - since;
        if (taps & 1) tap(f.ex, g, 0, antenna, n, line);
        if (taps & 2) tap(f.ey, g, 1, antenna, n, line);
        if (taps & 4) tap(f.ez, g, 2, antenna, n, line);
        if (n == pause) {
            all_have_left(shared().left);  // nothing of the last pause is read any more
            move_fields<true>(f, afresh(antenna));
            if (!attend(antenna, n, since, half)) {
                ++n;
                break;
            }
            since = n + 1, half ^= 1, pause = next_pause(antenna, since, last);
        }
        if (n + 1 < last) send_e(f, g, n + 1 + off, at_once);
    }
    move_memories<true>(antenna);
    meet();  // no block sends to one that has ended
    return n - first;
}

__device__ inline void prepare_signals() {
    for (int n = 0; n < WARPS * SIGNALS; ++n) prepare_signal(&shared().signals[0][0] + n, 1);
    publish_signals();
}

#ifndef HOST_EMULATION
#if !SPREAD
extern "C" __cluster_dims__(CLUSTER, 1, 1) __global__ void resident(int first, int count, int epoch, int running);
#endif
#endif
// `running` antennas are in `P.stepped`. Where chains take one after the other, `epoch` grows from launch to launch by
// at least the steps that a chain takes.
extern "C" __global__ void __launch_bounds__(THREADS, 1) resident(int first, int steps, int epoch, int running) {
#if SPREAD
    const int chains = gridDim.x / CLUSTER;
    if (threadIdx.x == 0) shared().epoch = epoch, shared().left = 0;
#else
    const int chains = running;
#endif
    bool prepared = false;
    int turn = 0;
#pragma unroll 1
    for (int at = chain_here(); at < running; at += chains) {
        const int antenna = P.stepped[at], last = min(first + steps, count(antenna, STEPS));
        if (!P.active[antenna] || first >= last) continue;
        if (threadIdx.x == 0) {
            if (!prepared) prepare_signals();
            shared().peak = P.peak[antenna];
        }
        prepared = true;
        turn += take_steps(antenna, first, last, turn);
    }
}
