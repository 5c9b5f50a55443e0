// Redundant computation: a block reads a tile and a halo that is wide enough for `count` steps, steps them in shared
// memory, and writes the tile. All tiles are independent: they read one buffer and write the other.
//
// Settings: REAL; LAYERED (1: the tile may touch absorbing layers and carries their memory); HEIGHT, WIDTH (most
// rows and columns that a tile has with its halo); WARPS. Launch: blocks of 32 WARPS, grid (tiles, batch), dynamic
// shared memory of (HEIGHT + 2) (WIDTH + 2) numbers for each plane, coefficient and memory.
#if !defined(HEIGHT) || !defined(WIDTH) || !defined(WARPS) || !defined(LAYERED)
#error "HEIGHT, WIDTH, WARPS and LAYERED must be set"
#endif
#include "kernels/intrinsics.cuh"
#include "kernels/planar/parameters.cuh"
#include "kernels/planar/stencil.cuh"

enum { BUNCH = 3 };  // rows whose loads are in flight at a time

enum { PITCH = WIDTH + 2, AREA = (HEIGHT + 2) * PITCH };  // with a rim of zeros, for cells outside the lattice
enum { MEMORIES = LAYERED ? 4 : 0, ARRAYS = Stencil::PLANES + Stencil::COEFFICIENTS + MEMORIES };

__device__ inline real *tile() { return reinterpret_cast<real *>(shared_base()); }

// The rows and columns that a block has on chip, and the width of the halo that is no longer valid.
struct Window {
    int first_row, first_column, end_row, end_column;
    int low, high;
    __device__ int row_begin() const { return first_row > 0 ? first_row + low : 0; }
    __device__ int row_end() const { return end_row < P.rows ? end_row - high : P.rows; }
    __device__ int column_begin() const { return first_column > 0 ? first_column + low : 0; }
    __device__ int column_end() const { return end_column < P.columns ? end_column - high : P.columns; }
    __device__ real *at(int j, int i) const { return tile() + (j - first_row + 1) * PITCH + (i - first_column + 1); }
    __device__ bool holds(int j, int i) const {
        return j >= first_row && j < end_row && i >= first_column && i < end_column;
    }
};

// Cells of one column, COUNT rows that are WARPS apart: computed first, then stored.
template <int PHASE, bool STRETCHED, int COUNT> __device__ inline void column(real *here, int j, int i, int parity) {
    Values values[COUNT];
    Cell<STRETCHED> c;
    c.stride = c.step = c.psi_stride = AREA, c.i = i, c.parity = parity;
    const auto go_to = [&](int r) {
        c.here = here + r * (WARPS * PITCH), c.below = c.here - PITCH, c.above = c.here + PITCH;
        c.middle = c.here + Stencil::PLANES * AREA, c.low = c.middle - PITCH, c.high = c.middle + PITCH;
        c.psi = c.here + (Stencil::PLANES + Stencil::COEFFICIENTS) * AREA, c.j = j + r * WARPS;
    };
#pragma unroll
    for (int r = 0; r < COUNT; ++r) go_to(r), Stencil::template compute<PHASE>(c, values[r]);
#pragma unroll
    for (int r = 0; r < COUNT; ++r) go_to(r), Stencil::template store<PHASE>(c, values[r]);
}

// A thread has the same cells in every phase: rows and columns first + its own number + multiples.
template <int PHASE> __device__ inline void phase(Window &w, int problem, int step, int parity, bool driven) {
    w.low += Stencil::low(PHASE), w.high += Stencil::high(PHASE);
    const int begin = w.row_begin() - w.first_row, end = w.row_end(), warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int start = w.first_row + warp + max(0, begin - warp + WARPS - 1) / WARPS * WARPS;
#pragma unroll
    for (int b = 0; b < (WIDTH + WARP - 1) / WARP; ++b) {
        const int first = w.first_column + b * WARP, i = first + lane;
        if (i < w.column_begin() || i >= w.column_end()) continue;
        int j = start;
        real *here = w.at(start, i);
        if (LAYERED && !(plain(first, P.columns) && plain(first + WARP - 1, P.columns))) {
            for (; j < end; j += WARPS, here += WARPS * PITCH) column<PHASE, LAYERED, 1>(here, j, i, parity);
            continue;
        }
        for (; !LAYERED && j + (BUNCH - 1) * WARPS < end; j += BUNCH * WARPS, here += BUNCH * WARPS * PITCH)
            column<PHASE, false, BUNCH>(here, j, i, parity);
        for (; j < end; j += WARPS, here += WARPS * PITCH)
            if (!LAYERED || plain(j, P.rows))
                column<PHASE, false, 1>(here, j, i, parity);
            else
                column<PHASE, LAYERED, 1>(here, j, i, parity);
    }
    if (driven)
        impress(problem, step, PHASE, AREA, [=](int row, int column) {
            const bool own = (row - w.first_row) % WARPS == warp && (column - w.first_column) % WARP == lane;
            return own && w.holds(row, column) ? w.at(row, column) : (real *)0;
        });
    __syncthreads();  // the next phase reads what neighbours wrote
}

// `odd`: from `other` to `state`, else from `state` to `other`.
extern "C" __global__ void __launch_bounds__(32 * WARPS, 2) march(int step, int count, int odd, int first_tile) {
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, problem = blockIdx.y, *core = P.tiles + 4 * (first_tile + blockIdx.x);
    const int row = core[0], column = core[1], core_end = row + core[2], core_right = column + core[3];
    int low = 0, high = 0;
    for (int p = 0; p < Stencil::PHASES; ++p) low += count * Stencil::low(p), high += count * Stencil::high(p);
    Window w = {max(0, row - low), max(0, column - low), min(P.rows, core_end + high), min(P.columns, core_right + high),
                0, 0};
    const long long plane = plane_size();
    const real *from = (odd ? P.other : P.state) + (long long)problem * Stencil::PLANES * plane;
    const real *from_psi = (odd ? P.other_psi : P.psi) + (long long)problem * 4 * plane;
    const real *media = P.coefficients + (long long)problem * Stencil::COEFFICIENTS * plane;
    // The rim too: in the lattice it is never read, outside it is zero in memory.
    for (int j = w.first_row - 1 + warp; j <= w.end_row; j += WARPS)
        for (int i = w.first_column - 1 + lane; i <= w.end_column; i += WARP) {
            const long long place = row_at(j) + i;
            real *here = w.at(j, i);
#pragma unroll
            for (int f = 0; f < Stencil::KEPT; ++f) here[f * AREA] = from[f * plane + place];
#pragma unroll
            for (int c = 0; c < Stencil::COEFFICIENTS; ++c) here[(Stencil::PLANES + c) * AREA] = media[c * plane + place];
#pragma unroll
            for (int m = 0; m < MEMORIES; ++m)
                here[(Stencil::PLANES + Stencil::COEFFICIENTS + m) * AREA] = from_psi[m * plane + place];
        }
    const bool driven = any_place(P.sources, P.source_count, 4, [=](int j, int i) { return w.holds(j, i); });
    const bool sampled = any_place(P.probes, P.probe_count, 3, [=](int j, int i) {
        return j >= row && j < core_end && i >= column && i < core_right;
    });
    __syncthreads();  // the tile is complete
    for (int s = 0; s < count; ++s) {
        phase<0>(w, problem, step + s, s & 1, driven);
        if (Stencil::PHASES > 1) phase<SECOND>(w, problem, step + s, s & 1, driven);
        if (Stencil::PHASES > 2) phase<THIRD>(w, problem, step + s, s & 1, driven);
        if (sampled) {
            sample(problem, step + s, threadIdx.x, WARP * WARPS, [=](int plane, int j, int i) {
                const bool own = j >= row && j < core_end && i >= column && i < core_right;
                return own ? w.at(j, i) + Stencil::holds(plane, s + 1) * AREA : (real *)0;
            });
            __syncthreads();  // samples are taken before the next step
        }
    }
    real *to = (odd ? P.state : P.other) + (long long)problem * Stencil::PLANES * plane;
    real *to_psi = (odd ? P.psi : P.other_psi) + (long long)problem * 4 * plane;
    for (int j = row + warp; j < core_end; j += WARPS)
        for (int i = column + lane; i < core_right; i += WARP) {
            const real *here = w.at(j, i);
#pragma unroll
            for (int f = 0; f < Stencil::KEPT; ++f) to[f * plane + row_at(j) + i] = here[Stencil::holds(f, count) * AREA];
#pragma unroll
            for (int m = 0; m < MEMORIES; ++m)
                to_psi[m * plane + row_at(j) + i] = here[(Stencil::PLANES + Stencil::COEFFICIENTS + m) * AREA];
        }
}
