// The columns of the radial layer for the wavefront: a lane holds one column at RADIAL_LEVELS time levels, in step with the
// main warps; cells and their eight filter memories go from level to level through shared memory.
//
// With the last main column it exchanges h_z and h (as a level meets them) for e_z and e (as it leaves them).

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

#if RADIAL_COLUMNS
#define RADIAL_GROUPS (32 / RADIAL_COLUMNS)
#if RADIAL_COLUMNS > 32 || RADIAL_WARPS * RADIAL_GROUPS * RADIAL_LEVELS < LEVELS
#error "the radial warps do not cover all columns and levels"
#endif

// A cell of the radial layer: its fields and the memories of its filters, 0-3 for E, 4-7 for H.
struct Cell {
    real e_r, e, e_z, h_r, h, h_z, psi[8];
};

__device__ inline void read_cell(int antenna, int k, int column, Cell &cell) {
    const real *at = field(antenna, k, 0) + P.lead + P.radial_start + column;
    cell.e_r = at[0], cell.e = at[P.pitch], cell.e_z = at[2 * P.pitch];
    cell.h_r = at[3 * P.pitch], cell.h = at[4 * P.pitch], cell.h_z = at[5 * P.pitch];
    const real *psi = radial_memory(antenna, k, 0) + column;
#pragma unroll
    for (int n = 0; n < 8; ++n) cell.psi[n] = psi[n * P.radial_pitch];
}

__device__ inline void write_cell(int antenna, int k, int column, const Cell &cell) {
    real *at = field(antenna, k, 0) + P.lead + P.radial_start + column;
    at[0] = cell.e_r, at[P.pitch] = cell.e, at[2 * P.pitch] = cell.e_z;
    at[3 * P.pitch] = cell.h_r, at[4 * P.pitch] = cell.h, at[5 * P.pitch] = cell.h_z;
    real *psi = radial_memory(antenna, k, 0) + column;
#pragma unroll
    for (int n = 0; n < 8; ++n) psi[n * P.radial_pitch] = cell.psi[n];
}

__device__ inline void clear(Cell &cell) {
    cell.e_r = cell.e = cell.e_z = cell.h_r = cell.h = cell.h_z = 0;
#pragma unroll
    for (int n = 0; n < 8; ++n) cell.psi[n] = 0;
}

// Coefficients of one column: radial factors of the six updates, b and c of the eight filters.
struct RadialColumn {
    real gain[6], b[8], c[8];
};

__device__ inline void radial_e(
    Cell &cell, const Cell &below, real h_left, real hz_left, const RadialColumn &f, int word, int antenna, int k,
    int at
) {
    const real m = P.order;
    real dz_hr = cell.h_r - below.h_r, dz_h = cell.h - below.h;
    if (RARELY(word & ROW_AXIAL) && at < P.axial_rows[k]) {
        dz_hr = stretched(axial_memory(antenna, k, 0) + at, dz_hr, 0, k);
        dz_h = stretched(axial_memory(antenna, k, 1) + at, dz_h, 0, k);
    }
    const real curl_r = m * cell.h_z - dz_h, curl_phi = dz_hr - (cell.h_z - hz_left);
    const real curl_z = (cell.h - h_left) - m * cell.h_r;
    cell.psi[0] = f.b[0] * cell.psi[0] + f.c[0] * curl_r;
    cell.psi[1] = f.b[1] * cell.psi[1] + f.c[1] * curl_phi;
    cell.psi[2] = f.b[2] * cell.psi[2] + f.c[2] * curl_z;
    cell.psi[3] = f.b[3] * cell.psi[3] + f.c[3] * curl_z;
    const real drive_r = f.gain[0] * curl_r + cell.psi[0], drive_phi = f.gain[1] * curl_phi + cell.psi[1];
    const real drive_z = f.gain[2] * curl_z + (cell.psi[2] + cell.psi[3]);
    if (RARELY(word & ROW_RADIAL)) {
        const real *media = medium(antenna, k, 0) + at;
        cell.e_r = media[0] * cell.e_r + media[3 * P.pitch] * drive_r;
        cell.e = media[P.pitch] * cell.e + media[4 * P.pitch] * drive_phi;
        cell.e_z = media[2 * P.pitch] * cell.e_z + media[5 * P.pitch] * drive_z;
    } else cell.e_r += drive_r, cell.e += drive_phi, cell.e_z += drive_z;
    if (RARELY(word & ROW_PLANE)) cell.e_r = cell.e = 0;
}

__device__ inline void radial_h(
    Cell &cell, const Cell &above, real e_right, real ez_right, const RadialColumn &f, int word, int antenna, int k,
    int at
) {
    const real m = P.order;
    real dz_er = above.e_r - cell.e_r, dz_e = above.e - cell.e;
    if (RARELY(word & ROW_AXIAL) && at < P.axial_rows[k]) {
        dz_er = stretched(axial_memory(antenna, k, 2) + at, dz_er, 3, k);
        dz_e = stretched(axial_memory(antenna, k, 3) + at, dz_e, 3, k);
    }
    const real curl_r = dz_e + m * cell.e_z, curl_phi = (ez_right - cell.e_z) - dz_er;
    const real curl_z = (e_right - cell.e) + m * cell.e_r;
    cell.psi[4] = f.b[4] * cell.psi[4] + f.c[4] * curl_r;
    cell.psi[5] = f.b[5] * cell.psi[5] + f.c[5] * curl_phi;
    cell.psi[6] = f.b[6] * cell.psi[6] + f.c[6] * curl_z;
    cell.psi[7] = f.b[7] * cell.psi[7] + f.c[7] * curl_z;
    cell.h_r += f.gain[3] * curl_r + cell.psi[4];
    cell.h += f.gain[4] * curl_phi + cell.psi[5];
    cell.h_z -= f.gain[5] * curl_z + (cell.psi[6] + cell.psi[7]);
}

// A finished cell on its way to the next level: what E's update leaves of its filters goes an iteration before the rest.
__device__ inline real *link_of(const Shared &s, int t, int level, int column) {
    return s.chain + ((t & 3) * LEVELS + level) * 14 * RADIAL_COLUMNS + column;
}

__device__ inline void read_link(const Shared &s, int t, int level, int column, Cell &cell) {
    const real *rest = link_of(s, t - 2, level, column), *filters = link_of(s, t - 3, level, column);
    cell.e_r = rest[0], cell.e = rest[RADIAL_COLUMNS], cell.e_z = rest[2 * RADIAL_COLUMNS];
    cell.h_r = rest[3 * RADIAL_COLUMNS], cell.h = rest[4 * RADIAL_COLUMNS], cell.h_z = rest[5 * RADIAL_COLUMNS];
#pragma unroll
    for (int n = 0; n < 4; ++n) {
        cell.psi[n] = filters[(10 + n) * RADIAL_COLUMNS];
        cell.psi[4 + n] = rest[(6 + n) * RADIAL_COLUMNS];
    }
}

__device__ inline void write_link(const Shared &s, int t, int level, int column, const Cell &cell, const Cell &done) {
    real *to = link_of(s, t, level, column);
    to[0] = done.e_r, to[RADIAL_COLUMNS] = done.e, to[2 * RADIAL_COLUMNS] = done.e_z;
    to[3 * RADIAL_COLUMNS] = done.h_r, to[4 * RADIAL_COLUMNS] = done.h, to[5 * RADIAL_COLUMNS] = done.h_z;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
        to[(6 + n) * RADIAL_COLUMNS] = done.psi[4 + n];
        to[(10 + n) * RADIAL_COLUMNS] = cell.psi[n];
    }
}

// The first level's cells, asked for one row ahead of time, and the last main column's h_z, h.
struct Ahead {
    Cell cell;
    real h_z, h;
};

__device__ inline void look_ahead(Ahead &ahead, int antenna, int k, int column, int at) {
    read_cell(antenna, k, column, ahead.cell);
    ahead.h_z = field(antenna, k, 5)[at - 1], ahead.h = field(antenna, k, 4)[at - 1];
}

__device__ inline void radial_warp(const Shared &s, const Passes &passes, const Place &p, int iterations) {
    const int group = p.lane / RADIAL_COLUMNS, column = p.lane % RADIAL_COLUMNS;
    const int lowest = ((p.warp - LEVELS) * RADIAL_GROUPS + group) * RADIAL_LEVELS;
    const int at = P.lead + P.radial_start + column;
    RadialColumn f;
#pragma unroll
    for (int n = 0; n < 6; ++n) f.gain[n] = P.gains[n * P.pitch + at];
#pragma unroll
    for (int n = 0; n < 8; ++n) {
        f.b[n] = P.filters[2 * n * P.radial_pitch + column];
        f.c[n] = P.filters[(2 * n + 1) * P.radial_pitch + column];
    }
    Level levels[RADIAL_LEVELS];
    Cell waiting[RADIAL_LEVELS];
    Ahead ahead;
    bool works[RADIAL_LEVELS];
#pragma unroll
    for (int v = 0; v < RADIAL_LEVELS; ++v) {
        works[v] = group < RADIAL_GROUPS && lowest + v < LEVELS;
        place(levels[v], works[v] ? lowest + v : 0, passes, s.words);
        clear(waiting[v]);
    }
    clear(ahead.cell), ahead.h_z = ahead.h = 0;
    const bool reads = works[0] && lowest == 0;
    if (reads && levels[0].life) look_ahead(ahead, p.antenna, 0, column, at);
#pragma unroll 1
    for (int t = 0; t < iterations; ++t) {
#pragma unroll
        for (int v = 0; v < RADIAL_LEVELS; ++v) {
            Level &here = levels[v];
            const int level = works[v] ? lowest + v : 0;
            Cell cell, &below = waiting[v];
            real hz_edge = 0, h_edge = 0;
            if (v == 0 && reads) {
                cell = ahead.cell, hz_edge = ahead.h_z, h_edge = ahead.h;
                const bool wrap = here.k == P.nz;
                const int k = wrap ? 0 : here.k + 1, step = here.step + (wrap ? LEVELS : 0);
                if (step < passes.last && k < P.nz) look_ahead(ahead, p.antenna, k, column, at);
                else clear(ahead.cell);
            } else {
                read_link(s, t, max(level - 1, 0), column, cell);
                const real *edge = s.h_edge + (((t - 2) & 3) * LEVELS + max(level - 1, 0)) * 2;
                hz_edge = edge[0], h_edge = edge[1];
            }
            real h_left = __shfl_up_sync(ALL_LANES, cell.h, 1), hz_left = __shfl_up_sync(ALL_LANES, cell.h_z, 1);
            if (column == 0) hz_left = hz_edge, h_left = h_edge;
            const bool live = works[v] && here.life == 2;
            if (live && here.k < P.nz)
                radial_e(cell, below, h_left, hz_left, f, here.word, p.antenna, here.k, at);
            if (works[v] && column == 0) {
                real *edge = s.e_edge + ((t & 1) * LEVELS + level) * 2;
                edge[0] = cell.e_z, edge[1] = cell.e;
            }
            real e_right = __shfl_down_sync(ALL_LANES, below.e, 1), ez_right = __shfl_down_sync(ALL_LANES, below.e_z, 1);
            if (column == RADIAL_COLUMNS - 1) e_right = 0, ez_right = 0;
            const int k = here.k - 1;
            if (live && k >= 0) {
                radial_h(below, cell, e_right, ez_right, f, here.word_below, p.antenna, k, at);
                const int i = at - P.lead;
                if (RARELY(here.sample >= 0) && i < P.map_right && i >= P.map_left && k >= P.map_bottom && k < P.map_top)
                    record_map(p.antenna, k, i, here.sample, below.e_r, below.e, below.e_z);
            }
            if (works[v]) {
                if (level < LEVELS - 1) write_link(s, t, level, column, cell, below);
                else if (here.life && k >= 0) write_cell(p.antenna, k, column, below);
            }
            below = cell;
            move_on(here, passes, s.words);
        }
        if (p.warp == LEVELS + RADIAL_WARPS - 1) record_taps(s, p, (t & 1) ^ 1);
        __syncthreads();  // see wavefront.cu
    }
}
#else
__device__ inline void radial_warp(const Shared &s, const Passes &, const Place &p, int iterations) {
#pragma unroll 1
    for (int t = 0; t < iterations; ++t) {
        if (p.warp == LEVELS + RADIAL_WARPS - 1) record_taps(s, p, (t & 1) ^ 1);
        __syncthreads();  // see wavefront.cu
    }
}
#endif
