// Further work of the wavefront's radial warps: rows and cells from memory and back, prefetch of coefficients,
// recording.
//
// Needs the settings of kernel.cu and what it declares (Passes, Place, Shared). Provides `Service`: `begin` before the
// first iteration, `serve` once in each.
#ifndef RADIAL_WARPS
#error "include fetch.cuh from kernel.cu: its settings must be set"
#endif
#include "kernels/signals.cuh"

// Position of a helper that runs ahead of the first level: row k (nz: the row of zeros), the step that reads it, its
// number since the start.
struct Fetch {
    int k, step, number;
};

__device__ inline bool wanted(const Fetch &next, const Passes &passes) {
    return next.step < passes.last && next.k < P.nz;
}

__device__ inline bool move_on(Fetch &next) {
    ++next.number;
    if (RARELY(++next.k > P.nz)) {
        next.k = 0, next.step += LEVELS;
        return true;
    }
    return false;
}

// The main columns of the rows, from memory into the ring.
struct RowFetch {
    Fetch next;
    const real *from;  // this lane's first cell of row k
};

__device__ inline void begin(RowFetch &rows, const Passes &passes, const Place &p) {
    rows.next = {0, passes.first, 0};
    rows.from = field(p.antenna, 0, 0) + p.lane * CELLS;
}

__device__ inline void ask(RowFetch &rows, const Passes &passes, const Place &p, const Shared &s) {
    vector *to = s.ring + ring_place(rows.next.number) * ROW_VECTORS + p.lane;
    if (wanted(rows.next, passes)) {
#pragma unroll
        for (int n = 0; n < 6; ++n)
#pragma unroll
            for (int v = 0; v < VECTORS; ++v)
                copy_16_bytes(to + (n * VECTORS + v) * 32, rows.from + n * ROW_PITCH + v * WIDTH);
    } else {
        const real zero[WIDTH] = {};
#pragma unroll 1
        for (int n = 0; n < 6 * VECTORS; ++n) to[n * 32] = packed(zero);
    }
    rows.from += 6 * ROW_PITCH;
    if (move_on(rows.next)) rows.from -= (P.nz + 1) * 6 * ROW_PITCH;
}

// The radial layer's cells and the main columns next to them, from memory into the inlet: for each of the 14 numbers of
// a cell a run of whole vectors, and the last main columns' h_z and h.
#define INLET_VECTORS (14 * INLET_RUN + 2)
#define INLET_PARTS ((INLET_VECTORS + 31) / 32)
struct CellStream {
    Fetch next;
    real *row[INLET_PARTS];  // this lane's vectors of row k in memory
    int stride[INLET_PARTS];
};

#if RADIAL_COLUMNS
__device__ inline void begin(CellStream &cells, const Passes &passes, const Place &p, int number) {
    cells.next = {0, passes.first, number};
    real *row = field(p.antenna, 0, 0) + 32 * CELLS;  // the first radial column
#pragma unroll
    for (int n = 0; n < INLET_PARTS; ++n) {
        const int place = p.lane + 32 * n, part = place / INLET_RUN, column = place % INLET_RUN * WIDTH;
        cells.stride[n] = 6 * ROW_PITCH;
        if (place >= 14 * INLET_RUN) cells.row[n] = row + (place == 14 * INLET_RUN ? 5 : 4) * ROW_PITCH - WIDTH;
        else if (part < 6) cells.row[n] = row + part * ROW_PITCH + column;
        else {
            cells.row[n] = radial_memory(p.antenna, 0, part - 6) + column;
            cells.stride[n] = 8 * RADIAL_PITCH;
        }
    }
}

__device__ inline void move_on(CellStream &cells) {
#pragma unroll
    for (int n = 0; n < INLET_PARTS; ++n) cells.row[n] += cells.stride[n];
    if (move_on(cells.next)) {
#pragma unroll
        for (int n = 0; n < INLET_PARTS; ++n) cells.row[n] -= (P.nz + 1) * cells.stride[n];
    }
}

__device__ inline void ask(CellStream &cells, const Passes &passes, const Place &p, const Shared &s) {
    vector *to = reinterpret_cast<vector *>(s.inlet + (cells.next.number & 7) * INLET) + p.lane;
    const bool copies = wanted(cells.next, passes);
    const real zero[WIDTH] = {};
#pragma unroll
    for (int n = 0; n < INLET_PARTS; ++n)
        if (p.lane + 32 * n < INLET_VECTORS) {
            if (copies) copy_16_bytes(to + 32 * n, cells.row[n]);
            else to[32 * n] = packed(zero);
        }
    move_on(cells);
}

// The radial layer's cells that the last level has finished, back to memory an iteration later.
__device__ inline void give_back(CellStream &cells, const Passes &passes, const Place &p, const Shared &s) {
    if (cells.next.number < 0) {
        ++cells.next.number;
        return;
    }
    const real *link = chain_of(s, LEVELS - 1, cells.next.number);
    const vector *from = reinterpret_cast<const vector *>(link) + p.lane;
    if (wanted(cells.next, passes)) {
#pragma unroll
        for (int n = 0; n < INLET_PARTS; ++n)
            if (p.lane + 32 * n < 14 * INLET_RUN) *reinterpret_cast<vector *>(cells.row[n]) = from[32 * n];
    }
    move_on(cells);
}
#endif

// Copies PLANES_A_ROW planes of a row's coefficients into its place in shared memory, from lane FIRST on.
template <int PLANES_A_ROW, int FIRST, int LANES>
__device__ inline void stage(vector *rows, const real *from, const Fetch &next, int reach, int lane) {
    const int place = lane - FIRST;
    if (lane * CELLS >= reach || place < 0 || place >= LANES) return;
    vector *to = rows + staged_row(next.number) * (PLANES_A_ROW * VECTORS * LANES) + place;
#pragma unroll
    for (int n = 0; n < PLANES_A_ROW; ++n)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            copy_16_bytes(to + (n * VECTORS + v) * LANES, from + lane * CELLS + n * ROW_PITCH + v * WIDTH);
}

#if NUMBERED
// The same of the numbers of a row's pairs; the first pairs are prefetched.
__device__ inline void stage_numbers(const Shared &s, const Fetch &next, int reach, const Place &p) {
    const int place = p.lane - FIRST_LANE;
    if (p.lane < 8) prefetch(P.pairs + 2 * s.pairs[next.k] + p.lane * 8);
    if (p.lane * CELLS >= reach || place < 0 || place >= STAGED_LANES) return;
    const int *from = P.numbers + ((long long)p.antenna * P.nz + next.k) * 3 * (ROW_PITCH / 2) + p.lane * (CELLS / 2);
    unsigned char *to = reinterpret_cast<unsigned char *>(medium_place(s, staged_row(next.number), place));
#pragma unroll
    for (int n = 0; n < 3; ++n) copy_8_bytes(to + n * 8 * STAGED_LANES, from + n * (ROW_PITCH / 2));
}
#endif

// Prefetches the first `columns` of a row that full updates read, a memory sector a lane.
__device__ inline void warm(int lane, const real *row, int columns) {
    const int sector = 32 / REAL_BYTES;
#pragma unroll 1
    for (int at = lane * sector; at < columns; at += 32 * sector) prefetch(row + at);
}

__device__ inline void warm_row(Fetch &next, const Passes &passes, const Place &p, const Shared &s) {
    const int k = next.k, word = wanted(next, passes) ? s.words[k] : 0, reach = word & ROW_REACH;
    if (RARELY(reach)) {
#if NUMBERED
        stage_numbers(s, next, reach, p);
#else
        stage<6, FIRST_LANE, STAGED_LANES>(s.media, medium(p.antenna, k, 0), next, reach, p.lane);
        const int beyond = (FIRST_LANE + STAGED_LANES) * CELLS;
        if (reach > beyond) {
#pragma unroll 1
            for (int n = 0; n < 6; ++n) warm(p.lane, medium(p.antenna, k, n) + beyond, reach - beyond);
        }
#endif
        if (word & ROW_CUT) {
            stage<3, FIRST_CUT_LANE, CUT_LANES>(s.faces, open_face(p.antenna, k, 0), next, reach, p.lane);
            if (!CUT_LANES) {
#pragma unroll 1
                for (int n = 0; n < 3; ++n) warm(p.lane, open_face(p.antenna, k, n), reach);
            }
        }
        if (COUPLED && word & ROW_COUPLED) warm(p.lane, node_coupling(p.antenna, k), reach);
    }
    if (RARELY(word & ROW_AXIAL)) {
#pragma unroll 1
        for (int n = 0; n < 4; ++n) warm(p.lane, layer_memory(p.antenna, s.layers[k], n), layer_columns(s.layers[k]));
    }
    move_on(next);
}

// Records the rows that the main warps stored in the iteration before.
__device__ inline void record_taps(const Shared &s, const Place &p, int before) {
#pragma unroll 1
    for (int n = before * TAPS; n < (before + 1) * TAPS; ++n) {
        const int2 post = s.posts[n];
        if (post.x < 0) continue;
        record_row(s.taps + n * ROW_VECTORS, p.lane, p.antenna, post.x, post.y);
        __syncwarp();  // all lanes have read the post
        if (p.lane == 0) s.posts[n].x = -1;
    }
}

// Further work of the radial warps, shared among them; at iteration t row t + RING is requested, and row
// t + 2 has arrived.
#define ROW_HELPER 0
#define CELL_HELPER (RADIAL_WARPS > 1 ? 1 : 0)
#define WARM_HELPER (RADIAL_WARPS - 1)
struct Service {
    RowFetch rows;
    CellStream asked, finished;
    Fetch warmed;
};

__device__ inline void begin(Service &service, const Passes &passes, const Place &p, const Shared &s) {
    begin(service.rows, passes, p);
#if RADIAL_COLUMNS
    begin(service.asked, passes, p, 0), begin(service.finished, passes, p, -lag(LEVELS - 1) - 2);
#endif
    service.warmed = {0, passes.first, 0};
#pragma unroll 1
    for (int n = 0; n < RING; ++n) {
        if (p.helper == ROW_HELPER) ask(service.rows, passes, p, s);
#if RADIAL_COLUMNS
        if (p.helper == CELL_HELPER) ask(service.asked, passes, p, s);
#endif
        if (p.helper == WARM_HELPER) warm_row(service.warmed, passes, p, s);
        close_copies();
    }
    wait_copies<0>();
}

__device__ inline void serve(Service &service, const Passes &passes, const Place &p, const Shared &s, int t) {
    if (p.helper == ROW_HELPER) ask(service.rows, passes, p, s);
#if RADIAL_COLUMNS
    if (p.helper == CELL_HELPER) ask(service.asked, passes, p, s);
    if (p.helper == WARM_HELPER) give_back(service.finished, passes, p, s);
#endif
    if (p.helper == CELL_HELPER) record_taps(s, p, (t & 1) ^ 1);
    if (p.helper == WARM_HELPER) warm_row(service.warmed, passes, p, s);
    close_copies();
    wait_copies<RING - 2>();
}
