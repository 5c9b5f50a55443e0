// Redundant computation: a block reads a tile with a halo that is wide enough for `count` steps, steps it in registers, and
// writes the tile. All tiles are independent: they read one buffer of fields and filter memories and write the other.
//
// Blocks stay and take one tile after the other: while a tile is stepped, the next one's fields are on their way to shared
// memory. Memories of the axial filters lie in shared memory, those of the radial layer in the registers of its strips.
// Every row of the block has its own place there: warps of one block may be at work on different tiles.
//
// Settings: REAL; those of march.cuh; DEPTH (most steps); TILES_R, TILES_Z (tiles of an antenna), STRIDE_R, STRIDE_Z
// (columns, whole pieces of 8 bytes, and rows between them); SHARED_BYTES.
// Launch: any number of blocks of THREADS, dynamic shared memory; `odd`: from the second buffer to the first.
#if !defined(DEPTH) || !defined(TILES_R) || !defined(TILES_Z) || !defined(STRIDE_R) || !defined(STRIDE_Z)
#error "DEPTH, TILES_R, TILES_Z, STRIDE_R and STRIDE_Z must be set"
#endif
#ifndef SHARED_BYTES
#error "SHARED_BYTES must be set"
#endif
#define CLUSTERED 0
#define PIECE_BYTES 8
#define FACTOR_SETS TILES_R
#if CELLS * REAL_BYTES % 8
#error "a lane's cells of a row must be whole pieces of 8 bytes"
#endif
#include "march.cuh"

#define CHUNK (16 / REAL_BYTES)                // numbers of a copy
#define STAGE_WIDE (WIDE + CHUNK)              // of a row, wherever in a chunk it starts
#define STAGE_NUMBERS (6 * ROWS * STAGE_WIDE)  // of a warp
static_assert(MARCH_BYTES + WARPS * STAGE_NUMBERS * REAL_BYTES == SHARED_BYTES, "the plan counts shared memory otherwise");

__device__ inline real *stage(int warp) {
    return reinterpret_cast<real *>(shared_base() + MARCH_BYTES) + warp * STAGE_NUMBERS;
}

// A tile: where it starts, and the part of it that is written.
struct Tile {
    int antenna, position, row, column;
    int bottom, top, left, right;
    bool radial;
};

__device__ inline int tile_row(int z) { return max(0, min(z * STRIDE_Z, P.nz - HEIGHT)); }
__device__ inline int tile_column(int r) { return min(r * STRIDE_R, P.lead + P.radial_start - WIDE); }

__device__ inline Tile tile_of(int n) {
    const int place = n % (TILES_R * TILES_Z), r = place % TILES_R, z = place / TILES_R;
    Tile t;
    t.antenna = n / (TILES_R * TILES_Z), t.position = r, t.row = tile_row(z), t.column = tile_column(r);
    t.bottom = z ? t.row + DEPTH : 0, t.top = z + 1 < TILES_Z ? tile_row(z + 1) + DEPTH : P.nz;
    t.left = r ? t.column + DEPTH : 0;
    t.right = r + 1 < TILES_R ? tile_column(r + 1) + DEPTH : P.lead + P.radial_start;
    t.radial = RADIAL_WARPS && r + 1 == TILES_R;
    return t;
}

// A block's way through the tiles of antennas that still run: its present tile (TILES or more: none left). Flags of the
// next 32 are read together, one a lane.
#define TILES (P.batch * TILES_R * TILES_Z)
struct Tour {
    int n, passed, flags;
};
__device__ inline int flags_from(int n) {
    const int there = n + int(threadIdx.x % 32) * int(gridDim.x);
    return there < TILES ? P.active[there / (TILES_R * TILES_Z)] : 0;
}
__device__ inline void skip_stopped(Tour &t) {
    while (t.n < TILES && !__shfl_sync(WHOLE_WARP, t.flags, t.passed % 32)) {
        t.n += gridDim.x;
        if (++t.passed % 32 == 0) t.flags = flags_from(t.n);
    }
}
__device__ inline void set_out(Tour &t) { t.n = blockIdx.x, t.passed = 0, t.flags = flags_from(t.n), skip_stopped(t); }
__device__ inline void go_on(Tour &t) {
    t.n += gridDim.x;
    if (++t.passed % 32 == 0) t.flags = flags_from(t.n);
    skip_stopped(t);
}

// Offsets of the buffers that a launch reads and writes.
struct Buffers {
    bool odd;
    __device__ real *fields(bool write, int antenna, int k) const {
        return field(antenna + (odd != write ? P.batch : 0), k, 0);
    }
    __device__ real *axial(bool write, int antenna, int k) const {
        return axial_memory(antenna + (odd != write ? P.batch : 0), k, 0);
    }
    __device__ real *radial(bool write, int antenna, int k) const {
        return radial_memory(antenna + (odd != write ? P.batch : 0), k, 0);
    }
};

// What lane r must know of row r: asked for together with the fields, looked at when the tile's turn comes.
struct RowAhead {
    RowNotes notes;
    int place;  // of the row's axial memory
};

// Asks for a warp's part of a tile.
__device__ inline RowAhead fetch(const Tile &t, int warp, int lane, const Buffers &buffers) {
    const int first = t.row + warp * ROWS, rows = 6 * (P.nz - first);
    const real *from = buffers.fields(false, t.antenna, first) + t.column / CHUNK * CHUNK;
    real *to = stage(warp);
#pragma unroll
    for (int n = 0; n < (STAGE_NUMBERS / CHUNK + 31) / 32; ++n) {
        const int chunk = n * 32 + lane, row = chunk / (STAGE_WIDE / CHUNK), column = chunk % (STAGE_WIDE / CHUNK) * CHUNK;
        if (row >= 6 * ROWS) continue;
        const bool there = row < rows;
        copy_16_or_zeros(to + row * STAGE_WIDE + column, there ? from + row * P.pitch + column : from, there);
    }
    close_copies();
    const int k = first + min(lane, ROWS - 1);
    return {notes_of(t.antenna, k), P.axial_rows[P.nz + min(k, P.nz - 1)]};
}

__device__ inline void take(Patch &f, const Tile &t, int warp, int lane) {
    const real *from = stage(warp) + t.column % CHUNK + lane * CELLS;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        load_lane(from + (r * 6 + 0) * STAGE_WIDE, f.e_r[r]), load_lane(from + (r * 6 + 1) * STAGE_WIDE, f.e[r]);
        load_lane(from + (r * 6 + 2) * STAGE_WIDE, f.e_z[r]), load_lane(from + (r * 6 + 3) * STAGE_WIDE, f.h_r[r]);
        load_lane(from + (r * 6 + 4) * STAGE_WIDE, f.h[r]), load_lane(from + (r * 6 + 5) * STAGE_WIDE, f.h_z[r]);
    }
}

// Writes a lane's cells of a row, less the columns that other tiles write.
__device__ inline void put_lane(real *to, const real *from, const Ground &g, const Tile &t) {
    if (g.column >= t.left && g.column + CELLS <= t.right) stream_lane(to, from);
    else
#pragma unroll
        for (int j = 0; j < CELLS; ++j)
            if (g.column + j >= t.left && g.column + j < t.right) to[j] = from[j];
}

__device__ inline void put(const Patch &f, const Ground &g, const Tile &t, const Buffers &buffers) {
    real *to = buffers.fields(true, t.antenna, g.first) + g.column;
    const int n = P.pitch;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (g.first + r >= t.bottom && g.first + r < t.top) {
            put_lane(to, f.e_r[r], g, t), put_lane(to + n, f.e[r], g, t), put_lane(to + 2 * n, f.e_z[r], g, t);
            put_lane(to + 3 * n, f.h_r[r], g, t), put_lane(to + 4 * n, f.h[r], g, t), put_lane(to + 5 * n, f.h_z[r], g, t);
        }
        to += 6 * n;
    }
}

// A lane's columns of the axial memories of its rows: asked for, or, of the tile proper, written to the other buffer.
__device__ inline void move_axial(const Ground &g, const Tile &t, const RowAhead &rows, const Buffers &buffers, bool write) {
    real *start = P.axial_psi + (t.antenna + (buffers.odd != write ? P.batch : 0)) * (long long)P.axial_count * 4 * P.pitch;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int k = g.first + r, columns = __shfl_sync(WHOLE_WARP, rows.notes.columns, r);
        const int place = __shfl_sync(WHOLE_WARP, rows.place, r);
        if (!columns || (write && (k < t.bottom || k >= t.top))) continue;
        real *away = start + place * 4 * P.pitch + g.column;
#pragma unroll
        for (int filter = 0; filter < 4; ++filter) {
            real *here = layer_memory_of(g.layer + r, filter) + g.lane * CELLS;
            if (write) put_lane(away + filter * P.pitch, here, g, t);
            else
#pragma unroll
                for (int v = 0; v < CELLS; v += 8 / REAL_BYTES) copy_8_bytes(here + v, away + filter * P.pitch + v);
        }
    }
}

// Not inlined, nor is the other: each has the registers to itself.
__device__ __noinline__ void main_warp(int step, int steps, Buffers buffers) {
    const int warp = warp_index(), lane = threadIdx.x % 32, count = agreed(steps);
    Course c{warp, warp > 0, warp < WARPS - 1, false, 0, 0};
    Tour tour;
    set_out(tour);
    RowAhead coming;
    if (tour.n < TILES) coming = fetch(tile_of(tour.n), warp, lane, buffers);
#pragma unroll 1
    while (tour.n < TILES) {
        const Tile t = tile_of(tour.n);
        const RowAhead rows = coming;
        Patch f;
        Ground g;
        wait_copies<0>();
        __syncwarp();  // all lanes' copies are there
        take(f, t, warp, lane);
        place(g, t.antenna, lane, t.row + warp * ROWS, warp * ROWS, t.column + lane * CELLS,
              lane < ROWS ? word_beyond(rows.notes, t.column) : 0);
        g.position = t.position;
        const bool layered = AXIAL_WARPS >> warp & 1 && g.mode != PLAIN;
        if (layered) move_axial(g, t, rows, buffers, false);
        close_copies();
        read_factors(g);
        __syncwarp();  // all lanes have what they need of the stage
        go_on(tour);
        if (tour.n < TILES) coming = fetch(tile_of(tour.n), warp, lane, buffers);
        else close_copies();
        if (layered) fill_layer_rows(g), wait_copies<1>();
        c.radial = t.radial;
        if (count > 0) send_h(f, g, c);
#pragma unroll 1
        for (int s = 0; s < count; ++s) march_patch(f, g, c, step + s, s + 1 < count);
        put(f, g, t, buffers);
        if (layered) move_axial(g, t, rows, buffers, true);
    }
}

#if RADIAL_WARPS
__device__ __noinline__ void strip_warp(int step, int steps, Buffers buffers) {
    const int warp = warp_index() - WARPS, lane = threadIdx.x % 32, count = agreed(steps);
    Course c{warp, warp > 0, warp < RADIAL_WARPS - 1, true, 0, 0};
    Strip g;
    g.column = lane % RADIAL_COLUMNS, g.at = P.lead + P.radial_start + g.column;
    read_factors(g);
    Tour tour;
#pragma unroll 1
    for (set_out(tour); tour.n < TILES; go_on(tour)) {
        const Tile t = tile_of(tour.n);
        if (!t.radial) continue;
        StripCell x[STRIP_ROWS];
        survey(g, t.antenna, warp, lane, t.row, HEIGHT);
#pragma unroll
        for (int r = 0; r < STRIP_ROWS; ++r) {
            const int k = g.first + r;
            if (g.works && k < P.nz)
                load_strip_cell(x[r], buffers.fields(false, t.antenna, k) + g.at, buffers.radial(false, t.antenna, k) + g.column);
            else clear(x[r]);
            if (g.works && g.word[r] & ROW_AXIAL)
                for (int filter = 0; filter < 4; ++filter)
                    strip_memory_of(layer_place(g.row + r), filter)[g.column] = buffers.axial(false, t.antenna, k)[filter * P.pitch + g.at];
        }
        if (count > 0) send_strip_h(x, g, c);
#pragma unroll 1
        for (int s = 0; s < count; ++s) march_strip(x, g, c, s + 1 < count);
#pragma unroll
        for (int r = 0; r < STRIP_ROWS; ++r) {
            const int k = g.first + r;
            if (!g.works || k < t.bottom || k >= t.top) continue;
            store_strip_cell(x[r], buffers.fields(true, t.antenna, k) + g.at, buffers.radial(true, t.antenna, k) + g.column);
            if (g.word[r] & ROW_AXIAL)
                for (int filter = 0; filter < 4; ++filter)
                    buffers.axial(true, t.antenna, k)[filter * P.pitch + g.at] = strip_memory_of(layer_place(g.row + r), filter)[g.column];
        }
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1) trapezoidal(int step, int count, int odd) {
    if (threadIdx.x == 0) prepare_signals();
    for (int r = 0; r < TILES_R; ++r) share_factors(tile_column(r), r);
    __syncthreads();  // signals and factors are ready
    const Buffers buffers{odd != 0};
    if (warp_index() < WARPS) main_warp(step, count, buffers);
#if RADIAL_WARPS
    else strip_warp(step, count, buffers);
#endif
}
