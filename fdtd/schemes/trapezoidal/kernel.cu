// Redundant computation: a block reads a tile of whole rows with a halo above and below that is high enough for `count`
// steps, steps it in registers, and writes the tile. All tiles are independent: they read one buffer of fields and
// filter memories and write the other.
//
// Blocks stay and take one tile after the other. Asynchronous copies move rows through a stage in shared memory,
// of which every warp has its own part. Between two tiles a warp exchanges its stepped rows for those that have
// arrived. When the copies out have read the stage, it starts copies of the next tile's rows. Other operands of the
// updates lie in shared memory (slab.cuh), laid out for one tile while the one before is stepped. A tile can be as high
// as several blocks: those of a cluster, one above the other, pass their edge rows on as the warps of a block do, and
// only the cluster's ends lose rows.
//
// Rows that are wider than a warp are cut into segments of columns as well, which overlap as tiles do: a tile then is
// some rows of one segment. The radial layer belongs to the last one.
//
// Settings: REAL; those of slab.cuh; DEPTH (most steps); TILES (of a segment of an antenna), STRIDE (rows between them),
// CLUSTER (blocks a tile); SEGMENTS (1 if not set) and, if there are several, ACROSS (columns between them).
// Launch: any number of clusters of blocks of THREADS, dynamic shared memory; `odd`: from the second buffer to the
// first.
#define CLUSTERED (CLUSTER > 1)
#define DESK_ROWS ROWS
#define TABLES 2
#include "schemes/trapezoidal/tiles.cuh"

// A lane's columns of the axial memories of its rows: requested, or, of the tile without its halo, written to the other
// buffer.
__device__ inline void move_memories(const Rows &g, const Tile &t, const Buffers &buffers, bool write) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int k = g.first + r;
        if (!(g.word[r] & ROW_AXIAL) || (write && (k < t.bottom || k >= t.top))) continue;
        const Memory<false> memories(g, r, slab_layer(g.row + r, 0)->columns);
        if (!memories.there) continue;
        real *away = buffers.axial(write, t.antenna, k) + t.origin() + g.column;
#pragma unroll
        for (int filter = 0; filter < 4; ++filter)
#pragma unroll
            for (int v = 0; v < VECTORS; ++v) {
                vector *here = memories.of(filter) + v * memories.lanes, *there = reinterpret_cast<vector *>(away + filter * P.pitch) + v;
                const int at = t.origin() + g.column + v * WIDTH;
                if (!write) copy_vector(here, there);
                else if (SEGMENTS == 1 || (at >= t.left() && at < t.right())) *there = *here;
            }
    }
}

// Where a tile's segment is not that of the tile before: all threads lay out the air of its columns, once the tile
// before is finished.
__device__ inline void change_segment(int &segment, const Tile &t) {
    if (SEGMENTS == 1 || segment == t.segment) return;
    segment = t.segment;
    lay_out_air(t.origin());
    __syncthreads();  // the table is there
}

// A warp that lays out the rows of the next tile. It reads their notes early and writes the tables late.
__device__ inline bool lays_out() { return warp_index() == THREADS / 32 - 1; }
__device__ inline SlabNotes notes_of(const Tile &t) { return notes_of_rows(t.antenna, t.row, t.origin()); }
__device__ inline void lay_out(const SlabNotes &notes, const Tile &t, int table) { lay_out_rows(notes, t.row, table, t.origin()); }

// All steps of one tile; after the first, the next tile's rows are requested.
template <int NEED>
__device__ inline void march(
    Patch &f, Rows &g, Course &c, int step, int count, const Tour &tour, int warp, int lane, const Buffers &buffers
) {
#pragma unroll 1
    for (int s = 0; s < count; ++s) {
        advance<NEED>(f, g, c, step + s, s + 1 < count);
        if (s > 0) continue;
        wait_copies_out();
        if (tour.goes_on()) ask(tile_of(tour), warp, lane, buffers);
    }
}

__device__ __noinline__ void main_warp(int step, int steps, Buffers buffers) {
    const int warp = warp_index(), lane = threadIdx.x % 32, count = agreed(steps);
    Course c{warp, warp > 0 || rank() > 0, warp < WARPS - 1 || rank() < CLUSTER - 1, 0};
    Patch f{};  // rows beyond the lattice are left in the stage as zeros
    Tour tour;
    set_out(tour);
    if (tour.goes_on()) ask(tile_of(tour), warp, lane, buffers);
    clear_slots(c, lane);
    Tile last{};
    int turn = 0, segment = 0;
#pragma unroll 1
    while (tour.goes_on()) {
        const Tile t = tile_of(tour);
        const int table = (turn & 1) * HEIGHT;
        await_signal(arrival(warp), turn);
        exchange(f, warp, lane, true);
        if (turn++) send_out(last, warp, lane, buffers);
        last = t;
        go_on(tour);
        SlabNotes notes;
        if (lays_out() && tour.goes_on()) notes = notes_of(tile_of(tour));
        // The tile before is finished: its tables and its part of the pool are free, the next ones are ready.
        __syncthreads();
        change_segment(segment, t);
        Rows g;
        survey(g, t.antenna, lane, table + warp * ROWS, t.row + warp * ROWS);
        const int needs = needs_of(g.row);
        if (needs & AXIAL) move_memories(g, t, buffers, false);
        close_copies();
        if (needs & FILLED) stage_rows(g);
        if (needs & RARE) g.amplitude = amplitude_of(step);
        if (lays_out() && tour.goes_on()) lay_out(notes, tile_of(tour), HEIGHT - table);
        if (needs & AXIAL) wait_copies<0>(), __syncwarp();  // memories have arrived
        if (count > 0) {
            send_top(f, lane, c), send_side(f, lane, c);
            if (needs & AWAY) march<AXIAL | FILLED | RARE | AWAY>(f, g, c, step, count, tour, warp, lane, buffers);
            else if (needs & FILLED) march<AXIAL | FILLED | RARE>(f, g, c, step, count, tour, warp, lane, buffers);
            else if (needs) march<AXIAL | RARE>(f, g, c, step, count, tour, warp, lane, buffers);
            else march<0>(f, g, c, step, count, tour, warp, lane, buffers);
        } else {
            wait_copies_out();
            if (tour.goes_on()) ask(tile_of(tour), warp, lane, buffers);
        }
        if (needs & AXIAL) move_memories(g, t, buffers, true);
    }
    if (turn == 0) return;
    __syncwarp();  // the copies of all lanes have read the stage
    exchange(f, warp, lane, false);
    send_out(last, warp, lane, buffers);
    wait_copies_out();
}

#if RADIAL_WARPS
__device__ inline void load_strip(LayerCell (&x)[STRIP_ROWS], const Strip &g, const Tile &t, const Buffers &buffers) {
#pragma unroll
    for (int r = 0; r < STRIP_ROWS; ++r) {
        const int k = g.first + r;
        if (g.works && t.last() && k < P.nz)
            move_strip_cell<false>(x[r], buffers.fields(false, t.antenna, k), buffers.radial(false, t.antenna, k), g);
        else clear(x[r]);
    }
}

__device__ inline void move_strip_memories(const Strip &g, const Tile &t, const Buffers &buffers, bool write) {
    if (g.kind == STRIP_AIR || (SEGMENTS > 1 && g.kind == STRIP_IDLE)) return;
#pragma unroll
    for (int r = 0; r < STRIP_ROWS; ++r) {
        const int k = g.first + r;
        if (!g.works || (write && (!(g.word[r] & ROW_AXIAL) || k < t.bottom || k >= t.top))) continue;
        for (int filter = 0; filter < 4; ++filter) {
            real *here = memory_of(g, r, filter);
            if (write) buffers.axial(true, t.antenna, k)[filter * P.pitch + g.at] = *here;
            else *here = g.word[r] & ROW_AXIAL ? buffers.axial(false, t.antenna, k)[filter * P.pitch + g.at] : real(0);
        }
    }
}

__device__ __noinline__ void strip_warp(int step, int steps, Buffers buffers) {
    const int warp = warp_index() - WARPS, lane = threadIdx.x % 32, count = agreed(steps);
    Course c{warp, warp > 0 || rank() > 0, warp < RADIAL_WARPS - 1 || rank() < CLUSTER - 1, 0};
    Strip g;
    g.column = lane % RADIAL_COLUMNS, g.at = P.lead + P.radial_start + g.column;
    read_column(g.factors, g.column);
    Tour tour;
    set_out(tour);
    int table = 0, segment = 0;
#pragma unroll 1
    while (tour.goes_on()) {
        const Tile t = tile_of(tour);
        LayerCell x[STRIP_ROWS];
        survey(g, t.antenna, warp, lane, t.row, HEIGHT);
        g.table = table;
        if (SEGMENTS > 1 && !t.last()) g.kind = STRIP_IDLE;
        load_strip(x, g, t, buffers);
        move_strip_memories(g, t, buffers, false);
        go_on(tour);
        SlabNotes notes;
        if (lays_out() && tour.goes_on()) notes = notes_of(tile_of(tour));
        __syncthreads();  // see main_warp
        change_segment(segment, t);
        if (count > 0) send_strip_h(x, g, c);
#pragma unroll 1
        for (int s = 0; s < count; ++s) {
            march_strip(x, g, c, s + 1 < count);
            if (s == 0 && lays_out() && tour.goes_on()) lay_out(notes, tile_of(tour), HEIGHT - table);
        }
        if (count == 0 && lays_out() && tour.goes_on()) lay_out(notes, tile_of(tour), HEIGHT - table);
        const int top = SEGMENTS > 1 && !t.last() ? t.bottom : t.top;
#pragma unroll
        for (int r = 0; r < STRIP_ROWS; ++r) {
            const int k = g.first + r;
            if (g.works && k >= t.bottom && k < top)
                move_strip_cell<true>(x[r], buffers.fields(true, t.antenna, k), buffers.radial(true, t.antenna, k), g);
        }
        move_strip_memories(g, t, buffers, true);
        table = HEIGHT - table;
    }
}
#endif

#if CLUSTERED && !defined(HOST_EMULATION)
extern "C" __cluster_dims__(CLUSTER, 1, 1) __global__ void trapezoidal(int step, int count, int odd);
#endif
extern "C" __global__ void __launch_bounds__(THREADS, 1) trapezoidal(int step, int count, int odd) {
    if (threadIdx.x == 0) {
        prepare_signals();
        for (int w = 0; w < WARPS; ++w) prepare_signal(arrival(w), 1);
#if CLUSTERED
        publish_signals();
#endif
    }
    for (int at = threadIdx.x; at < WARPS * STAGED * WIDE; at += THREADS)
        if (P.nz < CLUSTER * HEIGHT) staged(0, 0)[at] = 0;  // rows beyond the lattice
    lay_out_air();
    if (lays_out()) {
        Tour tour;
        set_out(tour);
        if (tour.goes_on()) lay_out(notes_of(tile_of(tour)), tile_of(tour), 0);
    }
    publish_to_copies();
#if CLUSTERED
    cluster_wait();  // signals of all blocks, the stage and the first tables are ready
#else
    __syncthreads();  // signals, the stage and the first tables are ready
#endif
    const Buffers buffers{odd != 0};
    if (warp_index() < WARPS) main_warp(step, count, buffers);
#if RADIAL_WARPS
    else strip_warp(step, count, buffers);
#endif
#if CLUSTERED
    cluster_wait();  // no block sends to one that has ended
#endif
}
