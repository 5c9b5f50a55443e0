// The radial warps of the wavefront: columns of the radial layer, rows from memory, recording.
//
// A radial lane holds one column at RADIAL_LEVELS time levels, in step with the main warps; cells and their eight filter
// memories go from level to level through shared memory. With the last main column it exchanges h_z and h (as a level
// meets them) for e_z and e (as it leaves them).

// Where a helper stands that runs ahead of the first level: row k (nz: the row of zeros), the step that meets it, its
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
    vector *to = s.ring + (rows.next.number & (RING - 1)) * ROW_VECTORS + p.lane;
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

// The radial layer's cells and the main columns beside them, from memory into the inlet: for each of the 14 numbers of a
// cell a run of whole vectors, and the last main columns' h_z and h.
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
    const real *link = s.chain + ((cells.next.number & 3) * LEVELS + LEVELS - 1) * CHAIN;
    const vector *from = reinterpret_cast<const vector *>(link) + p.lane;
    if (wanted(cells.next, passes)) {
#pragma unroll
        for (int n = 0; n < INLET_PARTS; ++n)
            if (p.lane + 32 * n < 14 * INLET_RUN) *reinterpret_cast<vector *>(cells.row[n]) = from[32 * n];
    }
    move_on(cells);
}
#endif

// Copies PLANES_A_ROW planes of a row's coefficients into its place in shared memory, from the lane of the axis on.
template <int PLANES_A_ROW, int LANES>
__device__ inline void stage(vector *rows, const real *from, const Fetch &next, int reach, int lane) {
    const int place = lane - FIRST_LANE;
    if (lane * CELLS >= reach || place < 0 || place >= LANES) return;
    vector *to = rows + (next.number & (STAGED_ROWS - 1)) * (PLANES_A_ROW * VECTORS * LANES) + place;
#pragma unroll
    for (int n = 0; n < PLANES_A_ROW; ++n)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            copy_16_bytes(to + (n * VECTORS + v) * LANES, from + lane * CELLS + n * ROW_PITCH + v * WIDTH);
}

// Brings the first `columns` of a row that full updates read nearer, a memory sector a lane.
__device__ inline void warm(int lane, const real *row, int columns) {
    const int sector = 32 / REAL_BYTES;
#pragma unroll 1
    for (int at = lane * sector; at < columns; at += 32 * sector) prefetch(row + at);
}

__device__ inline void warm_row(Fetch &next, const Passes &passes, const Place &p, const Shared &s) {
    const int k = next.k, word = wanted(next, passes) ? s.words[k] : 0, reach = word & ROW_REACH;
    if (RARELY(reach)) {
        stage<6, STAGED_LANES>(s.media, medium(p.antenna, k, 0), next, reach, p.lane);
        if (reach > (FIRST_LANE + STAGED_LANES) * CELLS) {
#pragma unroll 1
            for (int n = 0; n < 6; ++n) warm(p.lane, medium(p.antenna, k, n), reach);
        }
        if (word & ROW_CUT) {
            stage<3, CUT_LANES>(s.faces, open_face(p.antenna, k, 0), next, reach, p.lane);
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

// Records what the main warps left in the iteration before.
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

// What radial warps do besides their columns, shared out among them; at iteration t row t + RING is asked for, and row
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

#if RADIAL_COLUMNS
#define RADIAL_GROUPS (32 / RADIAL_COLUMNS)
#if RADIAL_COLUMNS > 32 || RADIAL_WARPS * RADIAL_GROUPS * RADIAL_LEVELS < LEVELS
#error "the radial warps do not cover all columns and levels"
#endif

// A cell of the radial layer: its fields and the memories of its filters, 0-3 for E, 4-7 for H.
struct Cell {
    real e_r, e, e_z, h_r, h, h_z, psi[8];
};

__device__ inline void clear(Cell &cell) {
    cell.e_r = cell.e = cell.e_z = cell.h_r = cell.h = cell.h_z = 0;
#pragma unroll
    for (int n = 0; n < 8; ++n) cell.psi[n] = 0;
}

// Coefficients of one column: radial factors of the six updates, b and c of the eight filters.
struct RadialColumn {
    real gain[6], b[8], c[8];
};

// What an axial layer keeps for one cell and half step: 1/kappa, b, c and the memories of its two differences.
struct Stretch {
    real keep, b, c, first, second;
    real *at;  // the first memory; null outside the layer
};

__device__ inline void look_up(Stretch &z, int antenna, const real *t, int layer, int filter, int at) {
    z.at = at < layer_columns(layer) ? layer_memory(antenna, layer, filter) + at : nullptr;
    if (!z.at) return;
    z.keep = t[0], z.b = t[1], z.c = t[2];
    z.first = z.at[0], z.second = z.at[ROW_PITCH];
}

__device__ inline void apply(const Stretch &z, real &d0, real &d1) {
    if (!z.at) return;
    const real p0 = z.b * z.first + rounded(z.c, d0), p1 = z.b * z.second + rounded(z.c, d1);
    z.at[0] = p0, z.at[ROW_PITCH] = p1;
    d0 = z.keep * d0 + p0, d1 = z.keep * d1 + p1;
}

// `plain`: the row is neither in an axial layer nor filled nor the conducting plane.
template <bool plain>
__device__ inline void radial_e(
    Cell &cell, const Cell &below, real h_left, real hz_left, const RadialColumn &f, const Stretch &z, int word, int antenna,
    int k, int at
) {
    const real m = P.order;
    real dz_hr = cell.h_r - below.h_r, dz_h = cell.h - below.h;
    if (!plain) apply(z, dz_hr, dz_h);
    const real curl_r = m * cell.h_z - dz_h, curl_phi = dz_hr - (cell.h_z - hz_left);
    const real curl_z = (cell.h - h_left) - m * cell.h_r;
    cell.psi[0] = f.b[0] * cell.psi[0] + rounded(f.c[0], curl_r);
    cell.psi[1] = f.b[1] * cell.psi[1] + rounded(f.c[1], curl_phi);
    cell.psi[2] = f.b[2] * cell.psi[2] + rounded(f.c[2], curl_z);
    cell.psi[3] = f.b[3] * cell.psi[3] + rounded(f.c[3], curl_z);
    const real drive_r = f.gain[0] * curl_r + cell.psi[0], drive_phi = f.gain[1] * curl_phi + cell.psi[1];
    const real drive_z = f.gain[2] * curl_z + (cell.psi[2] + cell.psi[3]);
    if (!plain && word & ROW_RADIAL) {
        const real *media = medium(antenna, k, 0) + at;
        cell.e_r = rounded(media[0], cell.e_r) + media[3 * ROW_PITCH] * drive_r;
        cell.e = rounded(media[ROW_PITCH], cell.e) + media[4 * ROW_PITCH] * drive_phi;
        cell.e_z = rounded(media[2 * ROW_PITCH], cell.e_z) + media[5 * ROW_PITCH] * drive_z;
    } else cell.e_r += drive_r, cell.e += drive_phi, cell.e_z += drive_z;
    if (!plain && word & ROW_PLANE) cell.e_r = cell.e = 0;
}

template <bool plain>
__device__ inline void radial_h(
    Cell &cell, const Cell &above, real e_right, real ez_right, const RadialColumn &f, const Stretch &z
) {
    const real m = P.order;
    real dz_er = above.e_r - cell.e_r, dz_e = above.e - cell.e;
    if (!plain) apply(z, dz_er, dz_e);
    const real curl_r = dz_e + m * cell.e_z, curl_phi = (ez_right - cell.e_z) - dz_er;
    const real curl_z = (e_right - cell.e) + m * cell.e_r;
    cell.psi[4] = f.b[4] * cell.psi[4] + rounded(f.c[4], curl_r);
    cell.psi[5] = f.b[5] * cell.psi[5] + rounded(f.c[5], curl_phi);
    cell.psi[6] = f.b[6] * cell.psi[6] + rounded(f.c[6], curl_z);
    cell.psi[7] = f.b[7] * cell.psi[7] + rounded(f.c[7], curl_z);
    cell.h_r += f.gain[3] * curl_r + cell.psi[4];
    cell.h += f.gain[4] * curl_phi + cell.psi[5];
    cell.h_z -= f.gain[5] * curl_z + (cell.psi[6] + cell.psi[7]);
}

// A cell in shared memory, its numbers `apart`.
__device__ inline void read_link(const real *link, int apart, Cell &cell) {
    cell.e_r = link[0], cell.e = link[apart], cell.e_z = link[2 * apart];
    cell.h_r = link[3 * apart], cell.h = link[4 * apart], cell.h_z = link[5 * apart];
#pragma unroll
    for (int n = 0; n < 8; ++n) cell.psi[n] = link[(6 + n) * apart];
}

__device__ inline void write_link(real *link, const Cell &cell) {
    const int apart = INLET_RUN * WIDTH;
    link[0] = cell.e_r, link[apart] = cell.e, link[2 * apart] = cell.e_z;
    link[3 * apart] = cell.h_r, link[4 * apart] = cell.h, link[5 * apart] = cell.h_z;
#pragma unroll
    for (int n = 0; n < 8; ++n) link[(6 + n) * apart] = cell.psi[n];
}

// Where a lane finds what the level before it has finished: h_z and h of the last main column `edge` after the cell's
// first number, the rows of the ring `stride` numbers apart.
struct Source {
    const real *first;
    int stride, mask, edge_z, edge;
};

__device__ inline void radial_warp(
    const Shared &s, const Passes &passes, const Place &p, Service &service, int iterations
) {
    const int group = p.lane / RADIAL_COLUMNS, column = p.lane % RADIAL_COLUMNS;
    const int lowest = (p.helper * RADIAL_GROUPS + group) * RADIAL_LEVELS, at = P.lead + P.radial_start + column;
    RadialColumn f;
#pragma unroll
    for (int n = 0; n < 6; ++n) f.gain[n] = P.gains[n * ROW_PITCH + at];
#pragma unroll
    for (int n = 0; n < 8; ++n) {
        f.b[n] = P.filters[2 * n * RADIAL_PITCH + column];
        f.c[n] = P.filters[(2 * n + 1) * RADIAL_PITCH + column];
    }
    Level levels[RADIAL_LEVELS];
    Cell waiting[RADIAL_LEVELS];
    Source sources[RADIAL_LEVELS];
#pragma unroll
    for (int v = 0; v < RADIAL_LEVELS; ++v) {
        const int level = min(lowest + v, LEVELS - 1), before = max(level - 1, 0), run = INLET_RUN * WIDTH;
        place(levels[v], level, passes, s.words);
        clear(waiting[v]);
        if (level) sources[v] = {s.chain + before * CHAIN, LEVELS * CHAIN, 3, 14 * run, 14 * run + 1};
        else sources[v] = {s.inlet, INLET, 7, 14 * run + WIDTH - 1, 14 * run + 2 * WIDTH - 1};
    }
    __syncthreads();  // see wavefront.cu
#pragma unroll 1
    for (int t = 0; t < iterations; ++t) {
#pragma unroll
        for (int v = 0; v < RADIAL_LEVELS; ++v) {
            Level &here = levels[v];
            const bool works = group < RADIAL_GROUPS && lowest + v < LEVELS;
            const int level = min(lowest + v, LEVELS - 1), row = t - lag(level);
            Cell cell, &below = waiting[v];
            const real *link = sources[v].first + (row & sources[v].mask) * sources[v].stride;
            read_link(link + column, INLET_RUN * WIDTH, cell);
            real h_left = __shfl_up_sync(ALL_LANES, cell.h, 1), hz_left = __shfl_up_sync(ALL_LANES, cell.h_z, 1);
            if (column == 0) hz_left = link[sources[v].edge_z], h_left = link[sources[v].edge];
            const int k = here.k - 1;
            const bool runs = works && live(here);
            const bool due = here.sample >= 0 && P.map_right > P.radial_start;
            const bool plain = runs && k >= 0 && k + 1 < P.nz && !due &&
                               !((here.word | here.word_below) & (ROW_AXIAL | ROW_RADIAL | ROW_PLANE));
            real e_right = __shfl_down_sync(ALL_LANES, below.e, 1), ez_right = __shfl_down_sync(ALL_LANES, below.e_z, 1);
            if (column == RADIAL_COLUMNS - 1) e_right = 0, ez_right = 0;
            if (all_lanes(plain || !works)) {
                radial_e<true>(cell, below, h_left, hz_left, f, Stretch{}, 0, p.antenna, here.k, at);
                radial_h<true>(below, cell, e_right, ez_right, f, Stretch{});
            } else {
                const int antenna = afresh(p.antenna), stored = P.lead + P.radial_start + afresh(column);
                Stretch of_e, of_h;  // asked for together, before anything is used
                of_e.at = of_h.at = nullptr;
                if (runs && here.word & ROW_AXIAL) look_up(of_e, antenna, axial_row(s, here.k), s.layers[here.k], 0, stored);
                if (runs && here.word_below & ROW_AXIAL && k >= 0) look_up(of_h, antenna, axial_row(s, k) + 3, s.layers[k], 2, stored);
                if (runs && here.k < P.nz)
                    radial_e<false>(cell, below, h_left, hz_left, f, of_e, here.word, antenna, here.k, stored);
                if (runs && k >= 0) {
                    radial_h<false>(below, cell, e_right, ez_right, f, of_h);
                    const int i = stored - P.lead;
                    if (due && i < P.map_right && i >= P.map_left && k >= P.map_bottom && k < P.map_top)
                        record_map(antenna, k, i, here.sample, below.e_r, below.e, below.e_z);
                }
            }
            if (works && column == 0) {
                real *out = s.e_edge + ((t & 1) * LEVELS + level) * 2;
                out[0] = cell.e_z, out[1] = cell.e;
            }
            if (works) write_link(s.chain + (((row - 1) & 3) * LEVELS + level) * CHAIN + column, below);
            below = cell;
            move_on_apart(here, passes, s.words);
        }
        serve(service, passes, p, s, t);
        __syncthreads();  // see wavefront.cu
    }
}
#else
__device__ inline void radial_warp(
    const Shared &s, const Passes &passes, const Place &p, Service &service, int iterations
) {
    __syncthreads();  // see wavefront.cu
#pragma unroll 1
    for (int t = 0; t < iterations; ++t) {
        serve(service, passes, p, s, t);
        __syncthreads();  // see wavefront.cu
    }
}
#endif
