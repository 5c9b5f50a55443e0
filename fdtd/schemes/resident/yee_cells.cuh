// The update of a row's two cells by a lane: layers, slopes, media. Included by yee.cu alone.

// Differences of a row's two cells, of the component named first.
struct Differences {
    real zy[2], yz[2], xz[2], zx[2], yx[2], xy[2];
};
__device__ inline void stretch(pair &psi, real b0, real b1, real c0, real c1, real *d) {
    psi.x = rounded(b0, psi.x) + c0 * d[0], psi.y = rounded(b1, psi.y) + c1 * d[1];
    d[0] += psi.x, d[1] += psi.y;
}

// A lane's memory along z of one row: as many as fit lie in shared memory.
template <int PHASE> __device__ inline pair *memory_z(const Warp &g, int which, int m) {
    const int at = (2 * PHASE + which) * CELLS + m;
    if (at < HELD_Z) return &shared().psi_z[at][g.warp][g.lane];
    return g.away + (at - HELD_Z) * THREADS;
}
template <int PHASE> __device__ inline void read_z(const Warp &g, int m, pair *psi) {
#if LAYERS_Z
    if (in_z(g, m)) psi[0] = *memory_z<PHASE>(g, 0, m), psi[1] = *memory_z<PHASE>(g, 1, m);
#endif
}

template <int PHASE> __device__ inline void layers(const Warp &g, int m, pair *psi, Differences &d) {
    Shared &s = shared();
#if LANES_X
    if (g.at_x >= 0) {
        const Two f = s.filter_x[PHASE][g.at_x];
        pair *at = &s.psi_x[2 * PHASE][m][g.warp][g.at_x];
        stretch(at[0], f.a.x, f.a.y, f.b.x, f.b.y, d.zx);
        stretch(at[CELLS * WARPS * (LANES_X + 1)], f.a.x, f.a.y, f.b.x, f.b.y, d.yx);
    }
#endif
#if ROWS_Y
    if (in_y(g, m)) {
        const Filter f = s.along_y[PHASE][g.warp * ROWS + m % ROWS];
        pair *at = &s.psi_y[2 * PHASE][g.first_y + m % ROWS][m / ROWS][g.lane];
        stretch(at[0], f.b, f.b, f.c, f.c, d.zy);
        stretch(at[(ROWS_Y + 1) * PLANES * 32], f.b, f.b, f.c, f.c, d.xy);
    }
#endif
#if LAYERS_Z
    if (in_z(g, m)) {
        const Filter f = s.along_z[PHASE][m / ROWS];
        stretch(psi[0], f.b, f.b, f.c, f.c, d.yz), stretch(psi[1], f.b, f.b, f.c, f.c, d.xz);
        *memory_z<PHASE>(g, 0, m) = psi[0], *memory_z<PHASE>(g, 1, m) = psi[1];
    }
#endif
}

// Slopes of a row's derivatives.
struct Slopes {
    real x[2], y, z;
};
template <int PHASE> __device__ inline Slopes slopes(const Warp &g, int m) {
    const Shared &s = shared();
    const pair x = s.slope_x[PHASE][g.lane];
    return {{x.x, x.y}, s.along_y[PHASE][g.warp * ROWS + m % ROWS].slope, s.along_z[PHASE][m / ROWS].slope};
}

// ca and cb of a medium; tables that are too long stay in device memory.
__device__ inline pair factors_of(int medium) {
    if (TABLE) return shared().factors[medium];
    return __ldg(reinterpret_cast<const pair *>(P.factors + shared().factors_at) + medium);
}
// Media of a lane's two edges of a component.
__device__ inline Edges edges_of(const Warp &g, int c, int m) {
#if KEEP_MEDIA
    return shared().media[m][c][g.warp * 32 + g.lane];
#else
    return shared().edges.of(c, g.rank * PLANES + m / ROWS, g.warp * ROWS + m % ROWS, g.lane);
#endif
}
__device__ inline void update_e(Patch &f, const Warp &g, int m, const Differences &d) {
    const Slopes by = slopes<1>(g, m);
    real of[3][2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
        of[0][j] = by.y * d.zy[j] - rounded(by.z, d.yz[j]);
        of[1][j] = by.z * d.xz[j] - rounded(by.x[j], d.zx[j]);
        of[2][j] = by.x[j] * d.yx[j] - rounded(by.y, d.xy[j]);
    }
    if (plain(g, m)) {
        const Two air = shared().air[g.lane];
        f.ex[m][0] += air.a.x * of[0][0], f.ex[m][1] += air.a.y * of[0][1];
        f.ey[m][0] += air.b.x * of[1][0], f.ey[m][1] += air.b.y * of[1][1];
        f.ez[m][0] += air.b.x * of[2][0], f.ez[m][1] += air.b.y * of[2][1];
        return;
    }
    real(*const e[3])[2] = {f.ex, f.ey, f.ez};
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        const Edges edges = edges_of(g, c, m);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const pair k = factors_of(edges.medium[j]);
            e[c][m][j] = rounded(k.x, e[c][m][j]) + k.y * of[c][j];
        }
    }
}
