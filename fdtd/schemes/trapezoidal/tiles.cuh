// Tiles of the trapezoidal scheme: a block's way through them, the buffers that a launch reads and writes, and the
// stage in shared memory through which rows move.
//
// Settings: those of kernel.cu. Provides Tile, Tour, Buffers, and `ask`, `exchange` and `send_out` of a warp's rows.
#if !defined(DEPTH) || !defined(TILES) || !defined(STRIDE) || !defined(CLUSTER)
#error "DEPTH, TILES, STRIDE and CLUSTER must be set"
#endif
#if !defined(SEGMENTS)
#define SEGMENTS 1
#endif
#if SEGMENTS == 1
#define ACROSS 0
#endif
#include "kernels/axisymmetric/patch.cuh"

static_assert(SHARED_BYTES >= LEAST_BYTES, "the plan counts shared memory otherwise");

// Signals of the arrival of a warp's rows, at the end of shared memory.
__device__ inline signal_word *arrival(int warp) {
    return reinterpret_cast<signal_word *>(shared_base() + SHARED_BYTES) + warp;
}

// Segments, each ACROSS columns from the one before; the last is next to the radial layer. A column of a segment's skirt
// is lost in every step, and rows are copied 16 bytes at a time.
#define SKIRT ((DEPTH + 3) / 4 * 4)
__device__ inline int origin_of_segment(int s) { return SEGMENTS > 1 ? min(s * ACROSS, LAST_ORIGIN) : 0; }
static_assert(SEGMENTS == 1 || ACROSS % 4 == 0, "a segment's columns are copied 16 bytes at a time");
static_assert(SEGMENTS == 1 || ACROSS + 2 * SKIRT <= WIDE, "segments overlap by two skirts");

// A block's place in its cluster, and the cluster's in the grid.
#if CLUSTERED
__device__ inline int rank() { return cluster_rank(); }
#else
__device__ inline int rank() { return 0; }
#endif
__device__ inline int cluster_index() { return blockIdx.x / CLUSTER; }
__device__ inline int clusters() { return gridDim.x / CLUSTER; }

// A tile: the block's lowest row, and the rows that are written; the segment of its columns.
struct Tile {
    int antenna, row, bottom, top;
#if SEGMENTS > 1
    int segment;
#else
    static constexpr int segment = 0;
#endif
    __device__ bool last() const { return SEGMENTS == 1 || segment == SEGMENTS - 1; }
    // Stored columns: the first; those that are written, [left, right).
    __device__ int origin() const { return origin_of_segment(segment); }
    __device__ int left() const { return SEGMENTS > 1 && segment ? origin() + SKIRT : 0; }
    __device__ int right() const { return SEGMENTS > 1 && !last() ? origin_of_segment(segment + 1) + SKIRT : origin() + WIDE; }
};

// A block's way through the tiles of antennas that still run: its present tile, that tile's antenna, and the number of all
// tiles (a tile of that number or more: none left).
//
// All tiles of one segment come before those of the next: first those that hold the axis, as bodies take longest, then
// those next to the radial layer.
struct Tour {
    int n, antenna, all;
    __device__ bool goes_on() const { return n < all; }
    __device__ int place() const { return SEGMENTS > 1 ? n % (all / SEGMENTS) / TILES : n / TILES; }
    __device__ int segment() const {
        const int turn = SEGMENTS > 1 ? n / (all / SEGMENTS) : 0;
        return turn ? SEGMENTS - turn : 0;
    }
};
__device__ inline void find_antenna(Tour &t) { if (t.goes_on()) t.antenna = P.running[1 + t.place()]; }
__device__ inline void set_out(Tour &t) { t.n = cluster_index(), t.all = P.running[0] * TILES * SEGMENTS, find_antenna(t); }
__device__ inline void go_on(Tour &t) { t.n += clusters(), find_antenna(t); }

__device__ inline int tile_row(int z) { return max(0, min(z * STRIDE, P.nz - CLUSTER * HEIGHT)); }
__device__ inline Tile tile_of(const Tour &tour) {
    // Each antenna starts with another of its tiles, so that blocks get all kinds of tiles for any number of blocks.
    const int z = (tour.n + tour.place()) % TILES, row = tile_row(z);
    Tile t{tour.antenna, row + rank() * HEIGHT, z ? row + DEPTH : 0, z + 1 < TILES ? tile_row(z + 1) + DEPTH : P.nz};
#if SEGMENTS > 1
    t.segment = tour.segment();
#endif
    return t;
}

// The buffers that a launch reads and writes.
struct Buffers {
    bool odd;
    __device__ int antenna(bool write, int antenna) const { return antenna + (odd != write ? P.batch : 0); }
    __device__ real *fields(bool write, int n, int k) const { return field(antenna(write, n), k, 0); }
    __device__ real *axial(bool write, int n, int k) const { return axial_memory(antenna(write, n), k, 0); }
    __device__ real *radial(bool write, int n, int k) const { return radial_memory(antenna(write, n), k, 0); }
};

// A warp's rows in the stage: number n is component n % 6 of row n / 6; lane n requests it and writes it back.
#define STAGED (6 * ROWS)
static_assert(STAGED <= 32, "a lane moves one row of one component");
__device__ inline real *staged(int warp, int n) { return desk<real>(warp) + n * WIDE; }

// Requests a warp's part of a tile. Rows beyond the lattice stay zero.
__device__ inline void ask(const Tile &t, int warp, int lane, const Buffers &buffers) {
    const int first = t.row + warp * ROWS, count = 6 * max(0, min(ROWS, P.nz - first));
    if (lane < count)
        copy_in(staged(warp, lane), buffers.fields(false, t.antenna, first) + lane * P.pitch + t.origin(), WIDE * REAL_BYTES, arrival(warp));
    if (lane == 0) announce_copies(arrival(warp), count * WIDE * REAL_BYTES);
}

// Sends a warp's part of the tile without its halo to the other buffer.
__device__ inline void send_out(const Tile &t, int warp, int lane, const Buffers &buffers) {
    const int first = t.row + warp * ROWS, k = first + lane / 6;
    if (lane >= STAGED || k < t.bottom || k >= t.top) return;
    real *to = buffers.fields(true, t.antenna, first) + lane * P.pitch;
    if (SEGMENTS == 1) copy_out(to, staged(warp, lane), WIDE * REAL_BYTES);
    else copy_out(to + t.left(), staged(warp, lane) + t.left() - t.origin(), (t.right() - t.left()) * REAL_BYTES);
}

// Takes a component of a row from the stage, and puts the stepped one there. Lanes of wide patches take their pieces in
// an order of their own, which avoids bank conflicts.
__device__ inline void exchange_component(real *row, int lane, real *cells, bool takes) {
    vector *place = reinterpret_cast<vector *>(row) + lane * VECTORS, next[VECTORS];
    const int turned = VECTORS == 2 ? lane / 4 % 2 : 0;
    if (takes) {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) next[v] = place[v ^ turned];
    }
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        real out[WIDTH];
#pragma unroll
        for (int w = 0; w < WIDTH; ++w)
            out[w] = VECTORS == 2 && turned ? cells[(VECTORS - 1 - v) * WIDTH + w] : cells[v * WIDTH + w];
        place[v ^ turned] = packed(out);
    }
    if (!takes) return;
    real in[CELLS];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) unpack(next[v], in + v * WIDTH);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) cells[j] = VECTORS == 2 && turned ? in[(j + CELLS / 2) % CELLS] : in[j];
}
__device__ inline void exchange(Patch &f, int warp, int lane, bool takes) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
#pragma unroll
        for (int c = 0; c < 6; ++c) exchange_component(staged(warp, r * 6 + c), lane, f.row[r].at[c], takes);
    }
    publish_to_copies();
    __syncwarp();  // the stage has the rows of all lanes
}
