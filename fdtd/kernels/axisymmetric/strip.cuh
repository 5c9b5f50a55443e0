// The columns of the radial layer: a lane holds STRIP_ROWS cells of one column with the memories of their filters, all in
// registers; a warp holds GROUPS groups of lanes, one above the other.
//
// Settings: RADIAL_COLUMNS (1 to 32), STRIP_ROWS.
#if RADIAL_COLUMNS < 1 || RADIAL_COLUMNS > 32 || !defined(STRIP_ROWS)
#error "RADIAL_COLUMNS (1 to 32) and STRIP_ROWS must be set"
#endif
#include "kernels/axisymmetric/patch.cuh"

#define GROUPS (32 / RADIAL_COLUMNS)
#define STRIP_HEIGHT (GROUPS * STRIP_ROWS)  // rows of a warp

// Filters 0-3 belong to E, 4-7 to H.
struct StripCell {
    real e_r, e, e_z, h_r, h, h_z, psi[8];
};

// What a strip needs beyond the radial layer's own filters: nothing; axial layers over all of its columns; everything.
enum StripKind { STRIP_AIR, STRIP_AXIAL, STRIP_FULL };

struct Strip {
    int antenna, lane, group, column;  // column of the layer
    int at;                            // the same as stored in rows
    int row, first;                    // lowest row of the lane, in the block and in the lattice
    bool works, top;                   // lanes beyond the groups or the block do not; the warp's highest group
    int kind;                          // of the warp's update
    int table;                         // where the tables of the block's rows start
    int word[STRIP_ROWS];
    real gain[6], b[8], c[8];
};

// For warp `warp` of a block whose lowest row is `origin` and that has `height` rows.
__device__ inline void survey(Strip &g, int antenna, int warp, int lane, int origin, int height) {
    g.antenna = antenna, g.lane = lane, g.group = lane / RADIAL_COLUMNS, g.column = lane % RADIAL_COLUMNS;
    const int row = warp * STRIP_HEIGHT + g.group * STRIP_ROWS;
    g.works = g.group < GROUPS && row < height;
    g.top = g.works && (g.group == GROUPS - 1 || row + STRIP_ROWS == height);
    g.row = row, g.table = 0, g.first = origin + row, g.at = P.lead + P.radial_start + g.column;
#pragma unroll
    for (int r = 0; r < STRIP_ROWS; ++r) g.word[r] = g.first + r < P.nz ? row_word(antenna, g.first + r) : int(ROW_PLANE);
    const int start = P.lead + P.radial_start;
    bool rich = false, narrow = false, full = false;  // rows with layers or planes; with layers that end before; with more
#pragma unroll
    for (int r = 0; r < STRIP_ROWS; ++r) {
        if (!g.works) continue;
        const int columns = g.word[r] & ROW_AXIAL ? P.axial_rows[g.first + r] : 0;
        rich = rich || columns > start || g.word[r] & ROW_PLANE, narrow = narrow || (columns && columns < start + RADIAL_COLUMNS);
        full = full || g.word[r] & ROW_RADIAL;
    }
    rich = !all_lanes(!rich), narrow = !all_lanes(!narrow), full = !all_lanes(!full);
    g.kind = full || (rich && narrow) ? STRIP_FULL : rich ? STRIP_AXIAL : STRIP_AIR;
}

__device__ inline void read_factors(Strip &g) {
#pragma unroll
    for (int n = 0; n < 6; ++n) g.gain[n] = P.gains[n * P.pitch + g.at];
#pragma unroll
    for (int n = 0; n < 8; ++n) {
        g.b[n] = P.filters[2 * n * P.radial_pitch + g.column];
        g.c[n] = P.filters[(2 * n + 1) * P.radial_pitch + g.column];
    }
}

__device__ inline void load_strip_cell(StripCell &cell, const real *row, const real *psi) {
    cell.e_r = row[0], cell.e = row[P.pitch], cell.e_z = row[2 * P.pitch];
    cell.h_r = row[3 * P.pitch], cell.h = row[4 * P.pitch], cell.h_z = row[5 * P.pitch];
#pragma unroll
    for (int n = 0; n < 8; ++n) cell.psi[n] = psi[n * P.radial_pitch];
}

__device__ inline void store_strip_cell(const StripCell &cell, real *row, real *psi) {
    row[0] = cell.e_r, row[P.pitch] = cell.e, row[2 * P.pitch] = cell.e_z;
    row[3 * P.pitch] = cell.h_r, row[4 * P.pitch] = cell.h, row[5 * P.pitch] = cell.h_z;
#pragma unroll
    for (int n = 0; n < 8; ++n) psi[n * P.radial_pitch] = cell.psi[n];
}

__device__ inline void clear(StripCell &cell) {
    cell.e_r = cell.e = cell.e_z = cell.h_r = cell.h = cell.h_z = 0;
#pragma unroll
    for (int n = 0; n < 8; ++n) cell.psi[n] = 0;
}

// What the axial layers need of a row, and the memory of one filter.
__device__ inline LayerRow layer_of(const Strip &g, int r, int half);
__device__ inline real *memory_of(const Strip &g, int r, int filter);

// Stretches two of a row's differences along z, if the layer covers the column, and advances their memories. Without
// branches where each row has a layer to show: one of no effect and memories of zero.
template <int KIND> __device__ inline void stretch(const Strip &g, int r, int half, real &first, real &second) {
    if (KIND == STRIP_AIR || (KIND == STRIP_FULL && !(g.works && g.word[r] & ROW_AXIAL))) return;
    const LayerRow t = layer_of(g, r, half);
    if (KIND == STRIP_FULL && real(g.at) >= t.columns) return;
    real *memory[2] = {memory_of(g, r, 2 * half), memory_of(g, r, 2 * half + 1)};
    const real a = t.b * *memory[0] + rounded(t.c, first), b = t.b * *memory[1] + rounded(t.c, second);
    first = t.keep * first + a, second = t.keep * second + b;
    if (g.works) *memory[0] = a, *memory[1] = b;
}

// `edge_hz`, `edge_h`: the main column before the layer's first. 
template <int KIND> __device__ inline void strip_e(
    StripCell &x, real hr_below, real h_below, real edge_hz, real edge_h, const Strip &g, int r
) {
    const real m = P.order;
    real hz_before = __shfl_up_sync(WHOLE_WARP, x.h_z, 1), h_before = __shfl_up_sync(WHOLE_WARP, x.h, 1);
    if (g.column == 0) hz_before = edge_hz, h_before = edge_h;
    real up_hr = x.h_r - hr_below, up_h = x.h - h_below;
    const int word = g.word[r];
    stretch<KIND>(g, r, 0, up_hr, up_h);
    const real curl_r = m * x.h_z - up_h, curl_phi = up_hr - (x.h_z - hz_before), curl_z = (x.h - h_before) - m * x.h_r;
    x.psi[0] = g.b[0] * x.psi[0] + rounded(g.c[0], curl_r);
    x.psi[1] = g.b[1] * x.psi[1] + rounded(g.c[1], curl_phi);
    x.psi[2] = g.b[2] * x.psi[2] + rounded(g.c[2], curl_z);
    x.psi[3] = g.b[3] * x.psi[3] + rounded(g.c[3], curl_z);
    const real drive_r = g.gain[0] * curl_r + x.psi[0], drive_phi = g.gain[1] * curl_phi + x.psi[1];
    const real drive_z = g.gain[2] * curl_z + (x.psi[2] + x.psi[3]);
    if (KIND == STRIP_FULL && g.works && word & ROW_RADIAL) {
        const real *media = medium(g.antenna, g.first + r, 0) + g.at;
        x.e_r = rounded(media[0], x.e_r) + media[3 * P.pitch] * drive_r;
        x.e = rounded(media[P.pitch], x.e) + media[4 * P.pitch] * drive_phi;
        x.e_z = rounded(media[2 * P.pitch], x.e_z) + media[5 * P.pitch] * drive_z;
    } else x.e_r += drive_r, x.e += drive_phi, x.e_z += drive_z;
    if (KIND != STRIP_AIR && word & ROW_PLANE) x.e_r = x.e = 0;
}

template <int KIND> __device__ inline void strip_h(StripCell &x, real er_above, real e_above, const Strip &g, int r) {
    const real m = P.order;
    real ez_after = __shfl_down_sync(WHOLE_WARP, x.e_z, 1), e_after = __shfl_down_sync(WHOLE_WARP, x.e, 1);
    if (g.column == RADIAL_COLUMNS - 1) ez_after = e_after = 0;
    real up_er = er_above - x.e_r, up_e = e_above - x.e;
    const int word = g.word[r];
    stretch<KIND>(g, r, 1, up_er, up_e);
    const real curl_r = up_e + m * x.e_z, curl_phi = (ez_after - x.e_z) - up_er, curl_z = (e_after - x.e) + m * x.e_r;
    x.psi[4] = g.b[4] * x.psi[4] + rounded(g.c[4], curl_r);
    x.psi[5] = g.b[5] * x.psi[5] + rounded(g.c[5], curl_phi);
    x.psi[6] = g.b[6] * x.psi[6] + rounded(g.c[6], curl_z);
    x.psi[7] = g.b[7] * x.psi[7] + rounded(g.c[7], curl_z);
    x.h_r += g.gain[3] * curl_r + x.psi[4];
    x.h += g.gain[4] * curl_phi + x.psi[5];
    x.h_z -= g.gain[5] * curl_z + (x.psi[6] + x.psi[7]);
}
