// Half a step of the rows of a chain of blocks: H from E, E from H, and what of them goes to the next warps and blocks.
// Included by yee.cu alone.

// The first turns that need a row of the warp beside, and a plane of the block below or above.
#define FIRST_BY_Y (PLANES > 1 ? (PLANES - 1) * (ROWS - 1) : ROWS - 1)
#define FIRST_BY_Y_OF_E (IN_ORDER ? 0 : FIRST_BY_Y)
#define FIRST_BY_Z ((PLANES - 1) * ROWS)
// Rows are formed in the order in which what they need arrives: first those that need nothing of other warps. Where all
// rows need another block's, and that comes through device memory, they are formed in the order in which they are sent.
__device__ constexpr int turn_of_e(int r) {
    return IN_ORDER                      ? r
           : r < (PLANES - 1) * (ROWS - 1) ? ROWS + r / (ROWS - 1) * ROWS + r % (ROWS - 1) + 1
           : r < (PLANES - 1) * ROWS   ? (r - (PLANES - 1) * (ROWS - 1) + 1) * ROWS
                                        : ROWS - 1 - (r - (PLANES - 1) * ROWS);
}
__device__ constexpr int turn_of_h(int r) { return IN_ORDER ? r : CELLS - 1 - turn_of_e(r); }

__device__ inline void form_h(Patch &f, const Warp &g, int turn, Arrival &coming) {
    Shared &s = shared();
    const bool after = g.warp < WARPS - 1, above = g.rank < CLUSTER - 1;
    expect_plane(g, E_ABOVE, above);
    Columns psi[2], next[2];
    if (AHEAD_Z) read_z<0>(g, turn_of_h(0), psi);
#pragma unroll
    for (int r = 0; r < CELLS; ++r) {
        const int m = turn_of_h(r), z = m / ROWS, y = m % ROWS;
        if (!AHEAD_Z) read_z<0>(g, m, psi);
        else if (r + 1 < CELLS) read_z<0>(g, turn_of_h(r + 1), next);
        Two from_y = {}, from_z = {};
        if (y < ROWS - 1) from_y = {all_of(f.ex[m + 1]), all_of(f.ez[m + 1])};
        else if (after) {
            if (r == FIRST_BY_Y) await_signal(&s.signals[g.warp][E_AFTER], turn);
            from_y = s.e_after[g.warp][z][g.lane];
        }
        if (z < PLANES - 1) from_z = {all_of(f.ex[m + ROWS]), all_of(f.ey[m + ROWS])};
        else if (above) from_z = arrived<E_ABOVE>(g, y, turn, r == FIRST_BY_Z, coming);
        if (r + 1 >= FIRST_BY_Z && r + 1 < CELLS && above) look_for<E_ABOVE>(g, turn_of_h(r + 1) % ROWS, coming);
        if (IN_ORDER && r + 1 == CELLS && g.rank > 0) look_for<H_BELOW>(g, 0, coming);
        real zx = __shfl_down_sync(ALL_LANES, f.ez[m][0], 1), yx = __shfl_down_sync(ALL_LANES, f.ey[m][0], 1);
        if (g.lane == 31) zx = yx = 0;
        Differences d;
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) {
            d.zy[q] = from_y.b.at[q] - f.ez[m][q], d.xy[q] = from_y.a.at[q] - f.ex[m][q];
            d.yz[q] = from_z.b.at[q] - f.ey[m][q], d.xz[q] = from_z.a.at[q] - f.ex[m][q];
            d.zx[q] = (q + 1 < COLUMNS ? f.ez[m][(q + 1) % COLUMNS] : zx) - f.ez[m][q];
            d.yx[q] = (q + 1 < COLUMNS ? f.ey[m][(q + 1) % COLUMNS] : yx) - f.ey[m][q];
        }
        layers<0>(g, m, psi, d);
        const Slopes by = slopes<0>(g, m);
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            f.hx[m][j] = f.hx[m][j] + by.z * d.yz[j] - by.y * d.zy[j];
            f.hy[m][j] = f.hy[m][j] + by.x.at[j] * d.zx[j] - by.z * d.xz[j];
            f.hz[m][j] = f.hz[m][j] + by.y * d.xy[j] - by.x.at[j] * d.yx[j];
        }
        if (SPREAD && z == PLANES - 1 && above) send_row<H_BELOW>(g, y, {all_of(f.hx[m]), all_of(f.hy[m])}, turn);
        if (AHEAD_Z) psi[0] = next[0], psi[1] = next[1];
    }
}

// `at_once`: rows of E for the block below are sent as soon as they are formed.
__device__ inline void form_e(Patch &f, const Warp &g, int turn, Arrival &coming, bool at_once) {
    Shared &s = shared();
    const bool before = g.warp > 0, below = g.rank > 0;
    expect_plane(g, H_BELOW, below);
    Columns psi[2], next[2];
    if (AHEAD_Z) read_z<1>(g, turn_of_e(0), psi);
#pragma unroll
    for (int r = 0; r < CELLS; ++r) {
        const int m = turn_of_e(r), z = m / ROWS, y = m % ROWS;
        if (!AHEAD_Z) read_z<1>(g, m, psi);
        else if (r + 1 < CELLS) read_z<1>(g, turn_of_e(r + 1), next);
        Two from_y = {}, from_z = {};
        if (y > 0) from_y = {all_of(f.hx[m - 1]), all_of(f.hz[m - 1])};
        else if (before) {
            if (r == FIRST_BY_Y_OF_E) await_signal(&s.signals[g.warp][H_BEFORE], turn);
            from_y = s.h_before[g.warp][z][g.lane];
        }
        if (z > 0) from_z = {all_of(f.hx[m - ROWS]), all_of(f.hy[m - ROWS])};
        else if (below) from_z = arrived<H_BELOW>(g, y, turn, r == FIRST_BY_Z, coming);
        if (r + 1 >= FIRST_BY_Z && r + 1 < CELLS && below) look_for<H_BELOW>(g, turn_of_e(r + 1) % ROWS, coming);
        if (IN_ORDER && r + 1 == CELLS && g.rank < CLUSTER - 1) look_for<E_ABOVE>(g, 0, coming);
        constexpr int LAST = COLUMNS - 1;
        real zx = __shfl_up_sync(ALL_LANES, f.hz[m][LAST], 1), yx = __shfl_up_sync(ALL_LANES, f.hy[m][LAST], 1);
        if (g.lane == 0) zx = yx = 0;
        Differences d;
#pragma unroll
        for (int q = 0; q < COLUMNS; ++q) {
            d.zy[q] = f.hz[m][q] - from_y.b.at[q], d.xy[q] = f.hx[m][q] - from_y.a.at[q];
            d.yz[q] = f.hy[m][q] - from_z.b.at[q], d.xz[q] = f.hx[m][q] - from_z.a.at[q];
            d.zx[q] = f.hz[m][q] - (q > 0 ? f.hz[m][(q + LAST) % COLUMNS] : zx);
            d.yx[q] = f.hy[m][q] - (q > 0 ? f.hy[m][(q + LAST) % COLUMNS] : yx);
        }
        layers<1>(g, m, psi, d);
        update_e(f, g, m, d);
        if (SPREAD && z == 0 && at_once) send_row<E_ABOVE>(g, y, {all_of(f.ex[m]), all_of(f.ey[m])}, turn + 1);
        if (AHEAD_Z) psi[0] = next[0], psi[1] = next[1];
    }
}

__device__ inline void send_h(const Patch &f, const Warp &g, int turn) {
    Shared &s = shared();
    if (!SPREAD && g.rank < CLUSTER - 1)
#pragma unroll
        for (int y = 0; y < ROWS; ++y) {
            const int m = (PLANES - 1) * ROWS + y;
            send_row<H_BELOW>(g, y, {all_of(f.hx[m]), all_of(f.hy[m])}, turn);
        }
    if (g.warp == WARPS - 1) return;
#pragma unroll
    for (int z = 0; z < PLANES; ++z)
        s.h_before[g.warp + 1][z][g.lane] = {all_of(f.hx[z * ROWS + ROWS - 1]), all_of(f.hz[z * ROWS + ROWS - 1])};
    __syncwarp();
    if (g.lane == 0) give_signal(&s.signals[g.warp + 1][H_BEFORE]);
}
__device__ inline void send_e(const Patch &f, const Warp &g, int turn, bool sent) {
    Shared &s = shared();
    if (g.rank > 0 && !sent)
#pragma unroll
        for (int y = 0; y < ROWS; ++y) send_row<E_ABOVE>(g, y, {all_of(f.ex[y]), all_of(f.ey[y])}, turn);
    if (g.warp == 0) return;
#pragma unroll
    for (int z = 0; z < PLANES; ++z) s.e_after[g.warp - 1][z][g.lane] = {all_of(f.ex[z * ROWS]), all_of(f.ez[z * ROWS])};
    __syncwarp();
    if (g.lane == 0) give_signal(&s.signals[g.warp - 1][E_AFTER]);
}
