// A patch of ROWS x CELLS cells in the registers of each lane: a warp holds ROWS rows of WIDE = 32 CELLS columns and
// steps them in turn with its neighbours (march.cuh), with tables and coefficients of the slab (slab.cuh).
//
// Settings: those of slab.cuh. Provides the patch and its step, `advance`, compiled for its rows' needs (NEED). The
// radial layer is not here: its columns belong to strip.cuh. A half step has two parts; the rows for neighbours come
// first.
#include "kernels/axisymmetric/slab.cuh"

struct Patch {
    Row row[ROWS];
};

// Stretches two of a row's differences along z in the columns that the layer covers, and advances their memories.
template <bool WHOLE> __device__ inline void stretch(const Rows &g, int r, int row, int half, real *first, real *second) {
    const LayerRow t = *slab_layer(row, half);
    const Memory<WHOLE> memories(g, r, t.columns);
    const int covered = int(t.columns) - g.column, lanes = memories.lanes;
    if (!ALL_REMEMBER && !memories.there) return;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
        vector *memory = memories.of(2 * half + n);
        real psi[CELLS], *d = n ? second : first;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) unpack(memory[v * lanes], psi + v * WIDTH);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) {
            psi[j] = remembered(psi[j], t.b, t.c, d[j]);
            if (WHOLE || j < covered) d[j] = stretched(t.keep, d[j], psi[j]);
        }
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) memory[v * lanes] = packed(psi + v * WIDTH);
    }
}

// A plane of a row's coefficients, numbered as in the pool.
template <int NEED> __device__ inline void coefficients(const Rows &g, int r, int plane, real *to) {
    const bool faces = plane >= 3 && plane < 6;
    const int own = faces ? ROW_CUT | ROW_LOSSY : ROW_LOSSY;
    const bool kept = !BY_NEED || plane < 3 || g.word[r] & own;
    load_plane(NEED & FILLED && !(NEED & AWAY) && kept ? g.media[r] : g.air, plane, to);
    if (NEED & AWAY) {
        const int reach = !faces || g.word[r] & ROW_CUT ? g.word[r] & ROW_REACH : 0;
        const real *from = faces ? open_face(g.antenna, g.first + r, plane - 3) : medium(g.antenna, g.first + r, plane < 3 ? 3 + plane : plane - 6);
        real x[CELLS];
        load_reached(from + origin_of_row(g.row), g.column, reach, 1, x);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) to[j] *= x[j];
    }
}

template <int NEED> __device__ inline void drive_e(const Rows &g, int r, Component component, const real *curl, Row &row) {
    real gain[CELLS], keep[CELLS], *e = row.at[component];
    coefficients<NEED>(g, r, component, gain);
    if (NEED & FILLED) coefficients<NEED>(g, r, 6 + component, keep);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) NEED & FILLED ? drive(e[j], keep[j], gain[j], curl[j]) : drive(e[j], gain[j], curl[j]);
}

// e_r and e of row r, needed by the row below.
template <int NEED>
__device__ inline void advance_across(Patch &f, const Rows &g, int r, int row, const real *hr_below, const real *h_below, int step) {
    if (MOVE_ONLY && NEED == 0) return;
    Row &x = f.row[r];
    const int word = g.word[r];
    real curl_r[CELLS], curl_phi[CELLS];
    const Lane here{x, hr_below, h_below, from_left(x.at[H_Z], g.lane), 0};
    rises_of_h(here, curl_r, curl_phi);
    if (NEED & AXIAL && word & ROW_AXIAL) stretch<!(NEED & FILLED)>(g, r, row, 0, curl_phi, curl_r);
    curls_of_h(here, curl_r, curl_phi);
    drive_e<NEED>(g, r, E_R, curl_r, x), drive_e<NEED>(g, r, E_PHI, curl_phi, x);
    if (NEED & RARE && NEED & FILLED && word & ROW_SOURCE && step < P.source_steps && g.column + origin_of_row(g.row) < P.lead + P.source_columns) {
        const int at = origin_of_row(g.row) + g.column;
        real profile[CELLS];
        load_lane(source_profile(g.antenna, 0) + at, profile);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) impress(x.at[E_R][j], profile[j], g.amplitude);
        load_lane(source_profile(g.antenna, 1) + at, profile);
#pragma unroll
        for (int j = 0; j < CELLS; ++j) impress(x.at[E_PHI][j], profile[j], g.amplitude);
    }
    if (NEED & RARE && word & ROW_PLANE) clear(x.at[E_R]), clear(x.at[E_PHI]);
}

template <int NEED> __device__ inline void advance_ez(Patch &f, const Rows &g, int r) {
    if (MOVE_ONLY && NEED == 0) return;
    Row &x = f.row[r];
    const Lane here{x, nullptr, nullptr, 0, from_left(x.at[H_PHI], g.lane)};
    real curl[CELLS];
#pragma unroll
    for (int j = 0; j < CELLS; ++j) curl[j] = curl_h_z(here.at(j));
    drive_e<NEED>(g, r, E_Z, curl, x);
}

// h_r and h of row r, needed by the row above; `edge_ez`: the column after the warp's last.
template <int NEED>
__device__ inline void advance_up(Patch &f, const Rows &g, int r, int row, const real *er_above, const real *e_above, real edge_ez) {
    if (MOVE_ONLY && NEED == 0) return;
    Row &x = f.row[r];
    const Lane here{x, er_above, e_above, from_right(x.at[E_Z], g.lane, edge_ez), 0};
    real rise_r[CELLS], rise_phi[CELLS], gain[CELLS];
    rises_of_e(here, rise_r, rise_phi);
    if (NEED & AXIAL && g.word[r] & ROW_AXIAL) stretch<!(NEED & FILLED)>(g, r, row, 1, rise_phi, rise_r);
    coefficients<NEED>(g, r, 3, gain);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) drive(x.at[H_R][j], gain[j], curl_e_r(here.at(j), rise_r[j]));
    coefficients<NEED>(g, r, 4, gain);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) drive(x.at[H_PHI][j], gain[j], curl_e_phi(here.at(j), rise_phi[j]));
}

template <int NEED> __device__ inline void advance_hz(Patch &f, const Rows &g, int r, real edge_e) {
    if (MOVE_ONLY && NEED == 0) return;
    Row &x = f.row[r];
    const Lane here{x, nullptr, nullptr, 0, from_right(x.at[E_PHI], g.lane, edge_e)};
    real gain[CELLS];
    coefficients<NEED>(g, r, 5, gain);
#pragma unroll
    for (int j = 0; j < CELLS; ++j) drive_back(x.at[H_Z][j], gain[j], curl_e_z(here.at(j)));
}

__device__ inline real amplitude_of(int step) { return step < P.source_steps ? P.waveform[step] : real(0); }

// H for the patch above, E for the one below, H for the layer's columns.
__device__ inline void send_top(const Patch &f, int lane, const Course &c) {
    const real *first = f.row[ROWS - 1].at[H_R], *second = f.row[ROWS - 1].at[H_PHI];
    if (c.warp < WARPS - 1) send_slot(row_slot(c.warp + 1, 1), signal_of(H_ROW, c.warp + 1), 0, lane, first, second);
    else if (c.above) send_slot(row_slot(0, 1), signal_of(H_ROW, 0), 1, lane, first, second);
}
__device__ inline void send_bottom(const Patch &f, int lane, const Course &c) {
    const real *first = f.row[0].at[E_R], *second = f.row[0].at[E_PHI];
    if (c.warp > 0) send_slot(row_slot(c.warp - 1, 0), signal_of(E_ROW, c.warp - 1), 0, lane, first, second);
    else if (c.below) send_slot(row_slot(WARPS - 1, 0), signal_of(E_ROW, WARPS - 1), -1, lane, first, second);
}
__device__ inline void send_side(const Patch &f, int lane, const Course &c) {
#if RADIAL_WARPS
    if (lane < 31) return;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        real *slot = edge_slot(c.warp * ROWS + r, 1);
        slot[0] = f.row[r].at[H_Z][CELLS - 1], slot[1] = f.row[r].at[H_PHI][CELLS - 1];
    }
    give_signal(signal_of(H_COLUMN, c.warp * ROWS / STRIP_HEIGHT));
#endif
}

// Bytes that other blocks send to a warp in this step.
__device__ inline void expect_rows(const Course &c, int lane) {
#if CLUSTERED
    if (c.warp == 0 && c.below && lane == 0) expect_bytes(signal_of(H_ROW, 0), ROW_BYTES);
    if (c.warp == WARPS - 1 && c.above && lane == 0) expect_bytes(signal_of(E_ROW, WARPS - 1), ROW_BYTES);
#endif
}

// Rows that no warp sends are zero.
__device__ inline void clear_slots(const Course &c, int lane) {
    const real zeros[CELLS] = {};
    if (!c.below) write_slot(row_slot(c.warp, 1), lane, zeros, zeros);
    if (!c.above) write_slot(row_slot(c.warp, 0), lane, zeros, zeros);
}

// One step of a patch; `more`: another follows in this launch. Rows for neighbours are computed first and sent at once;
// signals are tested early, so that a wait for a row that has arrived takes no time.
template <int NEED> __device__ inline void advance(Patch &f, Rows &g, Course &c, int step, bool more) {
    const int row = TABLES > 1 ? g.row : c.warp * ROWS;
    expect_rows(c, g.lane);
    const bool h_there = !c.below || signal_given(signal_of(H_ROW, c.warp), c.turn);
#pragma unroll
    for (int r = ROWS - 1; r > 0; --r)
        advance_across<NEED>(f, g, r, row + r, f.row[r - 1].at[H_R], f.row[r - 1].at[H_PHI], step), advance_ez<NEED>(f, g, r);
    {
        real hr_below[CELLS], h_below[CELLS];
        if (!h_there) await_signal(signal_of(H_ROW, c.warp), c.turn);
        load_slot(row_slot(c.warp, 1), g.lane, hr_below, h_below);
        advance_across<NEED>(f, g, 0, row, hr_below, h_below, step);
    }
    send_bottom(f, g.lane, c);
    const bool column_there = !RADIAL_WARPS || signal_given(signal_of(E_COLUMN, c.warp), c.turn);
    advance_ez<NEED>(f, g, 0);
    real edge[ROWS][2];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) edge[r][0] = edge[r][1] = 0;
#if RADIAL_WARPS
    if (!column_there) await_signal(signal_of(E_COLUMN, c.warp), c.turn);
    if (g.lane == 31)
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const real *slot = edge_slot(c.warp * ROWS + r, 0);
            edge[r][0] = slot[0], edge[r][1] = slot[1];
        }
#endif
    const bool e_there = !c.above || signal_given(signal_of(E_ROW, c.warp), c.turn);
#pragma unroll
    for (int r = 0; r + 1 < ROWS; ++r)
        advance_up<NEED>(f, g, r, row + r, f.row[r + 1].at[E_R], f.row[r + 1].at[E_PHI], edge[r][0]),
            advance_hz<NEED>(f, g, r, edge[r][1]);
    {
        real er_above[CELLS], e_above[CELLS];
        if (!e_there) await_signal(signal_of(E_ROW, c.warp), c.turn);
        load_slot(row_slot(c.warp, 0), g.lane, er_above, e_above);
        advance_up<NEED>(f, g, ROWS - 1, row + ROWS - 1, er_above, e_above, edge[ROWS - 1][0]);
    }
    ++c.turn;
    if (NEED & RARE) g.amplitude = amplitude_of(step + 1);
    if (more) send_top(f, g.lane, c);
    advance_hz<NEED>(f, g, ROWS - 1, edge[ROWS - 1][1]);
    if (more) send_side(f, g.lane, c);
}
