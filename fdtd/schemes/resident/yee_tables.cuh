// What clusters and chains of blocks lay out once a launch and antenna: tables in shared memory, and what a warp knows
// of its rows. Included by yee_pauses.cuh alone.

// A block's memories along z, and those of them in shared memory, in columns.
#define AWAY_COLUMNS (4 * CELLS * THREADS)
#define HELD_COLUMNS (HELD_Z * THREADS)

// Place of a lane among those of the layers along x, or -1.
__device__ inline int lane_x(int antenna, int lane) {
    const int nx = count(antenna, NX), high = count(antenna, HIGH_X), low = (count(antenna, LOW_X) + COLUMNS - 1) / COLUMNS;
    if (lane < low) return lane;
    const int first = max(low, (nx - high) / COLUMNS);
    return high > 0 && lane >= first && lane <= (nx - 1) / COLUMNS ? low + lane - first : -1;
}
// Whether e_y and e_z are metal at i = 0, as behind an electric wall; a guess that only decides which rows are `plain`.
__device__ inline bool walled(int antenna) {
    const int ny = count(antenna, NY), nz = count(antenna, NZ), pitch = count(antenna, PITCH);
    return P.media[start(antenna, MEDIA) + ((2 * (nz + 2) + nz / 2) * (ny + 2) + ny / 2) * pitch] == METAL;
}

// A place in shared memory that is free after E was formed and before it is sent: what H came in from the block below,
// or, where that is not in shared memory, from the warp before. Some of a warp's rows fit at a time, of two planes.
#if SPREAD
#define DESK h_before
#define DESK_ROWS (PLANES < ROWS ? PLANES : ROWS)
#else
#define DESK h_below
#define DESK_ROWS ROWS
#endif
// What a driven edge or probe is served with: a warp, a component of E, two planes, and rows.
__device__ inline int tap_of(int warp, int component, int planes, int rows) {
    return rows << 10 | planes << 8 | component << 6 | warp;
}
static_assert(PLANES <= 8 && WARPS <= 64 && ROWS / DESK_ROWS < 32, "bits of a tap");

// Tables of a block, by all its threads.
__device__ inline void lay_out_tables(int antenna) {
    Shared &s = shared();
    const int rank = rank_here(), nx = count(antenna, NX), ny = count(antenna, NY), nz = count(antenna, NZ);
    const int longest = count(antenna, LONGEST), pitch = count(antenna, PITCH), area = (ny + 2) * pitch;
    const real *axes = P.axes + start(antenna, AXES_AT), *factors = P.factors + start(antenna, FACTORS);
    auto entry = [&](int spacing, int part, int at) { return at < longest ? axes[(spacing * 3 + part) * longest + at] : real(0); };
    for (int n = threadIdx.x; n < 2 * WARPS * ROWS; n += THREADS) {
        const int phase = n / (WARPS * ROWS), row = n % (WARPS * ROWS);
        s.along_y[phase][row] = {entry(3 * phase, 0, row), entry(3 * phase, 1, row), entry(3 * phase, 2, row), 0};
    }
    for (int n = threadIdx.x; n < 2 * PLANES; n += THREADS) {
        const int phase = n / PLANES, z = n % PLANES, k = rank * PLANES + z, of = 3 * phase + 1;
        s.along_z[phase][z] = {entry(of, 0, k), entry(of, 1, k), entry(of, 2, k), 0};
    }
    for (int n = threadIdx.x; n < 64; n += THREADS) {
        const int phase = n / 32, lane = n % 32, of = 3 * phase + 2;
        auto entries = [&](int part) {
            Columns x;
            for (int q = 0; q < COLUMNS; ++q) x.at[q] = entry(of, part, COLUMNS * lane + q);
            return x;
        };
        s.slope_x[phase][lane] = entries(0);
#if LANES_X
        const int at = lane_x(antenna, lane);
        if (at >= 0) s.filter_x[phase][at] = {entries(1), entries(2)};
#endif
    }
    const int end = count(antenna, END_X);
    const real cb = factors[2 * AIR + 1];
    const bool wall = walled(antenna);
    if (threadIdx.x < 32) {
        for (int q = 0; q < COLUMNS; ++q) {
            const int i = COLUMNS * threadIdx.x + q;
            s.air[threadIdx.x].a.at[q] = i < nx ? cb : 0;
            s.air[threadIdx.x].b.at[q] = i < end && !(wall && i == 0) ? cb : 0;
        }
    }
    for (int n = threadIdx.x; TABLE && n < count(antenna, KINDS); n += THREADS) s.factors[n] = {factors[2 * n], factors[2 * n + 1]};
    const int sources = count(antenna, SOURCES), taps = sources + count(antenna, PROBES);
    const int volume = (nz + 2) * area;
    if (threadIdx.x == 0) {
        s.factors_at = start(antenna, FACTORS);
        s.edges = {P.media + start(antenna, MEDIA), volume, area, pitch, ny + 2, nz + 2};
    }
    for (int p = threadIdx.x; p < taps; p += THREADS) {
        const int at = p < sources ? P.sources[start(antenna, SOURCES_AT) + p] : P.probes[start(antenna, PROBES_AT) + p - sources];
        const int component = at / volume, cell = at % volume, k = cell / area, j = cell % area / pitch, i = cell % pitch;
        const int z = k - rank * PLANES, y = j % ROWS;
        const int desk = ((y % DESK_ROWS * 32 + i / COLUMNS) * 2 + z % 2) * COLUMNS + i % COLUMNS;
        s.taps[p] = z < 0 || z >= PLANES ? -1 : tap_of(j / ROWS, component, z / 2, y / DESK_ROWS) << 16 | desk;
    }
}

// Whether a row lies in a layer along y.
__device__ inline bool has_y(int antenna, int j) {
    const int ny = count(antenna, NY);
    return j < ny && slot(j, ny, count(antenna, LOW_Y), count(antenna, HIGH_Y)) >= 0;
}
__device__ inline Warp survey(int antenna) {
    const int nx = count(antenna, NX), nz = count(antenna, NZ), end = count(antenna, END_X);
    Warp g;
    g.warp = warp_index(), g.lane = threadIdx.x % 32, g.rank = rank_here();
    g.at_x = lane_x(antenna, g.lane);
    g.first_y = g.rows = 0;
    for (int j = 0; j < g.warp * ROWS; j += ROWS) {  // a warp has places for all its rows or none
        bool any = false;
        for (int y = 0; y < ROWS; ++y) any |= has_y(antenna, j + y);
        g.first_y += any * ROWS;
    }
    for (int y = 0; y < ROWS; ++y)
        if (has_y(antenna, g.warp * ROWS + y)) g.rows |= 1 << (CELLS + y);
    for (int z = 0; z < PLANES; ++z) {
        const int k = g.rank * PLANES + z;
        if (k < nz && slot(k, nz, count(antenna, LOW_Z), count(antenna, HIGH_Z)) >= 0) g.rows |= 1 << (CELLS + ROWS + z);
    }
    g.away = reinterpret_cast<Columns *>(P.psi_z + start(antenna, PSI_Z)) + (g.rank * AWAY_COLUMNS + HELD_COLUMNS + int(threadIdx.x));
    const bool wall = walled(antenna);
#pragma unroll 1
    for (int m = 0; m < CELLS; ++m) {
        bool same = true;
        for (int c = 0; c < 3; ++c) {
            const Edges edges = shared().edges.of(c, g.rank * PLANES + m / ROWS, g.warp * ROWS + m % ROWS, g.lane);
            for (int j = 0; j < COLUMNS; ++j) {
                const int i = COLUMNS * g.lane + j;
                const bool metal = i >= (c ? end : nx) || (wall && c && i == 0);
                same &= edges.medium[j] == (metal ? METAL : AIR);
            }
#if KEEP_MEDIA
            shared().media[m][c][threadIdx.x] = edges;
#endif
        }
        if (all_lanes(same)) g.rows |= 1 << m;
    }
#if SPREAD
    g.post = parcels_of(g.warp, g.lane), g.epoch = shared().epoch;
#endif
    g.rows = agreed(g.rows), g.first_y = agreed(g.first_y);
    return g;
}
