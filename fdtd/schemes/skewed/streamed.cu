// Time skewing in registers: a warp streams the rows of a strip of columns through LEVELS time levels, one row of each
// level in flight, so that a row comes from memory at time t and leaves a few rows later at t + LEVELS. Strips and
// chunks of rows overlap by the reach of the levels, so all warps are independent: no barrier, no shared memory.
//
// Settings: REAL; LEVELS; CELLS (a lane, whole vectors of 16 bytes); BURST (rows loaded
// together, one burst ahead); CHUNK (rows that a warp writes); WARPS; BLOCKS (target for a multiprocessor).
// Launch: blocks of 32 WARPS threads, grid (strips chunks / WARPS rounded up, batch).
#if !defined(LEVELS) || !defined(CELLS) || !defined(BURST) || !defined(CHUNK) || !defined(WARPS) || !defined(BLOCKS)
#error "LEVELS, CELLS, BURST, CHUNK, WARPS and BLOCKS must be set"
#endif
#include "kernels/planar/parameters.cuh"
#include "kernels/planar/stencil.cuh"

// One time level of a stream of rows: takes row j + 1 at the time before, gives row j at its own.
struct Level {
    real last[CELLS], known[CELLS];  // row j before; the part of its sum without the row above

    __device__ void clear() {
#pragma unroll
        for (int c = 0; c < CELLS; ++c) last[c] = known[c] = 0;
    }
    // `row` is input and output. RIM: where bit c of `fixed` is set, cell c stays.
    template <bool RIM> __device__ void pass(real (&row)[CELLS], unsigned fixed) {
        const real left = __shfl_up_sync(~0u, row[CELLS - 1], 1), right = __shfl_down_sync(~0u, row[0], 1);
        real out[CELLS];
#pragma unroll
        for (int c = 0; c < CELLS; ++c) {
            out[c] = MOVE_ONLY ? last[c] : Stencil::after(known[c], row[c]);
            if (RIM && fixed >> c & 1) out[c] = last[c];
        }
#pragma unroll
        for (int c = 0; c < CELLS; ++c)
            known[c] = Stencil::before(last[c], c > 0 ? row[c - 1] : left, row[c], c + 1 < CELLS ? row[c + 1] : right);
#pragma unroll
        for (int c = 0; c < CELLS; ++c) last[c] = row[c], row[c] = out[c];
    }
};

enum { MARGIN = (LEVELS + CELLS - 1) / CELLS, STRIP = (WARP - 2 * MARGIN) * CELLS };  // lanes of halo; columns written

struct alignas(16) Vector {
    real at[16 / sizeof(real)];
};
enum { VECTORS = CELLS * sizeof(real) / 16, WIDTH = 16 / sizeof(real) };

struct Strip {
    const real *from;
    real *to;
    int first_row, end_row;  // written
    int column;              // of this lane's first cell
    bool stored, owner;      // in memory at all; written by this lane
};

// A row of this lane's cells; zeros outside the stored lattice.
__device__ inline void load(const Strip &s, int j, real (&row)[CELLS]) {
    const bool there = s.stored && j >= 0 && j < P.rows;
    const Vector *place = reinterpret_cast<const Vector *>(s.from + row_at(j) + s.column);
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        Vector vector = {};
        if (there) vector = place[v];
#pragma unroll
        for (int c = 0; c < WIDTH; ++c) row[v * WIDTH + c] = vector.at[c];
    }
}

template <bool RIM> __device__ inline void store(const Strip &s, int j, const real (&row)[CELLS]) {
    if (!s.owner || j < s.first_row || j >= s.end_row) return;
    real *place = s.to + row_at(j) + s.column;
    if (RIM && s.column + CELLS > P.columns) {
        for (int c = 0; c < CELLS; ++c)
            if (s.column + c < P.columns) place[c] = row[c];
        return;
    }
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        Vector vector;
#pragma unroll
        for (int c = 0; c < WIDTH; ++c) vector.at[c] = row[v * WIDTH + c];
        reinterpret_cast<Vector *>(place)[v] = vector;
    }
}

template <bool RIM, int ROWS> __device__ inline void stream(const Strip &s) {
    Level levels[LEVELS];
#pragma unroll
    for (int w = 0; w < LEVELS; ++w) levels[w].clear();
    unsigned rim = 0;
    if (RIM)
        for (int c = 0; c < CELLS; ++c) rim |= unsigned(s.column + c == 0 || s.column + c == P.columns - 1) << c;
    real burst[ROWS][CELLS];
#pragma unroll
    for (int b = 0; b < ROWS; ++b) load(s, s.first_row - LEVELS + b, burst[b]);
    for (int j = s.first_row - LEVELS; j < s.end_row + LEVELS; j += ROWS) {
        real ahead[ROWS][CELLS];
#pragma unroll
        for (int b = 0; b < ROWS; ++b) load(s, j + ROWS + b, ahead[b]);
#pragma unroll
        for (int b = 0; b < ROWS; ++b) {
#pragma unroll
            for (int w = 0; w < LEVELS; ++w) {
                const int row = j + b - 1 - w;  // that comes out
                levels[w].template pass<RIM>(burst[b], row == 0 || row == P.rows - 1 ? ~0u : rim);
            }
            store<RIM>(s, j + b - LEVELS, burst[b]);
        }
#pragma unroll
        for (int b = 0; b < ROWS; ++b)
#pragma unroll
            for (int c = 0; c < CELLS; ++c) burst[b][c] = ahead[b][c];
    }
}

// `odd`: from plane 1 to plane 0, else from 0 to 1.
extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS) march(int odd) {
    const int strips = (P.columns + STRIP - 1) / STRIP, chunks = (P.rows + CHUNK - 1) / CHUNK;
    const int warp = blockIdx.x * WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int strip = warp % strips, chunk = warp / strips;
    if (chunk >= chunks) return;
    real *planes = P.state + (long long)blockIdx.y * Stencil::PLANES * plane_size();
    Strip s;
    s.from = planes + odd * plane_size(), s.to = planes + (1 - odd) * plane_size();
    s.first_row = chunk * CHUNK, s.end_row = min(s.first_row + CHUNK, P.rows);
    s.column = strip * STRIP + (lane - MARGIN) * CELLS;
    s.stored = s.column >= -LEAD && s.column + CELLS <= P.pitch - LEAD;
    s.owner = lane >= MARGIN && lane < WARP - MARGIN && s.column < P.columns;
    const int first = strip * STRIP - MARGIN * CELLS, end = first + WARP * CELLS;
    const bool inside = first > 0 && end < P.columns && s.first_row - LEVELS > 0 && s.end_row + LEVELS + BURST < P.rows;
    if (inside)
        stream<false, BURST>(s);
    else
        stream<true, 2>(s);  // fewer rows ahead: it needs registers for the rim
}
