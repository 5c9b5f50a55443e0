// The update of a lane's cells of a row: layers, slopes, media. Included by yee.cu alone.

// Differences of a lane's cells of a row, of the component named first.
struct Differences {
    real zy[COLUMNS], yz[COLUMNS], xz[COLUMNS], zx[COLUMNS], yx[COLUMNS], xy[COLUMNS];
};
__device__ inline void stretch(Columns &psi, const Two &f, real *d) {
#pragma unroll
    for (int q = 0; q < COLUMNS; ++q) psi.at[q] = rounded(f.a.at[q], psi.at[q]) + f.b.at[q] * d[q], d[q] += psi.at[q];
}
__device__ inline void stretch(Columns &psi, const Filter &f, real *d) {
#pragma unroll
    for (int q = 0; q < COLUMNS; ++q) psi.at[q] = rounded(f.b, psi.at[q]) + f.c * d[q], d[q] += psi.at[q];
}

// A lane's memory along z of one row: as many as fit lie in shared memory.
template <int PHASE> __device__ inline Columns *memory_z(const Warp &g, int which, int m) {
    const int at = (2 * PHASE + which) * CELLS + m;
    if (at < HELD_Z) return &shared().psi_z[at][g.warp][g.lane];
    return g.away + (at - HELD_Z) * THREADS;
}
template <int PHASE> __device__ inline void read_z(const Warp &g, int m, Columns *psi) {
#if LAYERS_Z
    if (in_z(g, m)) psi[0] = *memory_z<PHASE>(g, 0, m), psi[1] = *memory_z<PHASE>(g, 1, m);
#endif
}

template <int PHASE> __device__ inline void layers(const Warp &g, int m, Columns *psi, Differences &d) {
    Shared &s = shared();
#if LANES_X
    if (g.at_x >= 0) {
        const Two f = s.filter_x[PHASE][g.at_x];
        Columns *at = &s.psi_x[2 * PHASE][m][g.warp][g.at_x];
        stretch(at[0], f, d.zx);
        stretch(at[CELLS * WARPS * (LANES_X + 1)], f, d.yx);
    }
#endif
#if ROWS_Y
    if (in_y(g, m)) {
        const Filter f = s.along_y[PHASE][g.warp * ROWS + m % ROWS];
        Columns *at = &s.psi_y[2 * PHASE][g.first_y + m % ROWS][m / ROWS][g.lane];
        stretch(at[0], f, d.zy);
        stretch(at[(ROWS_Y + 1) * PLANES * 32], f, d.xy);
    }
#endif
#if LAYERS_Z
    if (in_z(g, m)) {
        const Filter f = s.along_z[PHASE][m / ROWS];
        stretch(psi[0], f, d.yz), stretch(psi[1], f, d.xz);
        *memory_z<PHASE>(g, 0, m) = psi[0], *memory_z<PHASE>(g, 1, m) = psi[1];
    }
#endif
}

// Slopes of a row's derivatives.
struct Slopes {
    Columns x;
    real y, z;
};
template <int PHASE> __device__ inline Slopes slopes(const Warp &g, int m) {
    const Shared &s = shared();
    return {s.slope_x[PHASE][g.lane], s.along_y[PHASE][g.warp * ROWS + m % ROWS].slope, s.along_z[PHASE][m / ROWS].slope};
}

// ca and cb of a medium; tables that are too long stay in device memory.
__device__ inline pair factors_of(int medium) {
    if (TABLE) return shared().factors[medium];
    return __ldg(reinterpret_cast<const pair *>(P.factors + shared().factors_at) + medium);
}
// Media of a lane's edges of a component.
__device__ inline Edges edges_of(const Warp &g, int c, int m) {
#if KEEP_MEDIA
    return shared().media[m][c][g.warp * 32 + g.lane];
#else
    return shared().edges.of(c, g.rank * PLANES + m / ROWS, g.warp * ROWS + m % ROWS, g.lane);
#endif
}
__device__ inline void update_e(Patch &f, const Warp &g, int m, const Differences &d) {
    const Slopes by = slopes<1>(g, m);
    real of[3][COLUMNS];
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
        of[0][j] = by.y * d.zy[j] - rounded(by.z, d.yz[j]);
        of[1][j] = by.z * d.xz[j] - rounded(by.x.at[j], d.zx[j]);
        of[2][j] = by.x.at[j] * d.yx[j] - rounded(by.y, d.xy[j]);
    }
    if (plain(g, m)) {
        const Two air = shared().air[g.lane];
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            f.ex[m][j] += air.a.at[j] * of[0][j];
            f.ey[m][j] += air.b.at[j] * of[1][j], f.ez[m][j] += air.b.at[j] * of[2][j];
        }
        return;
    }
    real(*const e[3])[COLUMNS] = {f.ex, f.ey, f.ez};
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        const Edges edges = edges_of(g, c, m);
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            const pair k = factors_of(edges.medium[j]);
            e[c][m][j] = rounded(k.x, e[c][m][j]) + k.y * of[c][j];
        }
    }
}
