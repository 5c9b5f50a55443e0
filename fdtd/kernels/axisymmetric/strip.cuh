// The columns of the radial layer: a lane holds STRIP_ROWS cells of one column with the memories of their filters, all
// in registers; a warp holds GROUPS groups of lanes, one above the other.
//
// Settings: RADIAL_COLUMNS (1 to 32), STRIP_ROWS. Provides a strip's place and needs (`survey`) and its cells' update
// (layer.cuh); needs LayerRow (march.cuh), and layer_of
// and memory_of: the places of tables and axial memories (slab.cuh).
#if RADIAL_COLUMNS < 1 || RADIAL_COLUMNS > 32 || !defined(STRIP_ROWS)
#error "RADIAL_COLUMNS (1 to 32) and STRIP_ROWS must be set"
#endif
#include "kernels/axisymmetric/lanes.cuh"
#include "kernels/axisymmetric/layer.cuh"

#define GROUPS (32 / RADIAL_COLUMNS)
#define STRIP_HEIGHT (GROUPS * STRIP_ROWS)  // rows of a warp

// Needs of a strip beyond the radial layer's own filters: none; axial layers over all of its columns; all. Idle: its
// block has no layer now, and it only gives and awaits signals.
enum StripKind { STRIP_AIR, STRIP_AXIAL, STRIP_FULL, STRIP_IDLE };

struct Strip {
    int antenna, lane, group, column;  // column of the layer
    int at;                            // the same as stored in rows
    int row, first;                    // lowest row of the lane, in the block and in the lattice
    bool works, top;                   // lanes beyond the groups or the block do not; the warp's highest group
    int kind;                          // of the warp's update
    int table;                         // start of the tables of the block's rows
    int word[STRIP_ROWS];
    LayerColumn factors;
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
    // Rows with layers or planes; with layers that end before; with more.
    bool rich = false, narrow = false, full = false;
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

// A lane's cell of one row, from the start of the row and of its memories, or back.
template <bool WRITE> __device__ inline void move_strip_cell(LayerCell &cell, real *row, real *psi, const Strip &g) {
    if (WRITE) store_layer_cell(cell, row + g.at, P.pitch, psi + g.column, P.radial_pitch);
    else load_layer_cell(cell, row + g.at, P.pitch, psi + g.column, P.radial_pitch);
}

// A row's entry for an axial layer, and the memory of one filter.
__device__ inline LayerRow layer_of(const Strip &g, int r, int half);
__device__ inline real *memory_of(const Strip &g, int r, int filter);

// Accessor of layer.cuh: row r of a lane, in half step HALF.
template <int KIND, int HALF> struct StripHere : LayerHere {
    const Strip &g;
    int r;
    // Without branches where each row has a layer; rows without one get a layer of no effect and memories of zero.
    __device__ void stretch(real &rise_r, real &rise_phi) const {
        if (KIND == STRIP_AIR || (KIND == STRIP_FULL && !(g.works && g.word[r] & ROW_AXIAL))) return;
        const LayerRow t = layer_of(g, r, HALF);
        if (KIND == STRIP_FULL && real(g.at - STRIP_ORIGIN) >= t.columns) return;
        real *memory[2] = {memory_of(g, r, 2 * HALF), memory_of(g, r, 2 * HALF + 1)};
        const real a = remembered(*memory[0], t.b, t.c, rise_r), b = remembered(*memory[1], t.b, t.c, rise_phi);
        rise_r = stretched(t.keep, rise_r, a), rise_phi = stretched(t.keep, rise_phi, b);
        if (g.works) *memory[0] = a, *memory[1] = b;
    }
    __device__ bool filled() const { return KIND == STRIP_FULL && g.works && g.word[r] & ROW_RADIAL; }
    __device__ const real *media() const { return medium(g.antenna, g.first + r, 0) + g.at; }
    __device__ bool conducts() const { return KIND != STRIP_AIR && g.word[r] & ROW_PLANE; }
};

// `edge_hz`, `edge_h`: the main column before the layer's first.
template <int KIND> __device__ inline void strip_e(
    LayerCell &x, real hr_below, real h_below, real edge_hz, real edge_h, const Strip &g, int r
) {
    if (KIND == STRIP_IDLE) return;
    real hz_before = __shfl_up_sync(ALL_LANES, x.at[H_Z], 1), h_before = __shfl_up_sync(ALL_LANES, x.at[H_PHI], 1);
    if (g.column == 0) hz_before = edge_hz, h_before = edge_h;
    layer_e(StripHere<KIND, 0>{{x, g.factors, hr_below, h_below, hz_before, h_before}, g, r});
}

template <int KIND> __device__ inline void strip_h(LayerCell &x, real er_above, real e_above, const Strip &g, int r) {
    if (KIND == STRIP_IDLE) return;
    real ez_after = __shfl_down_sync(ALL_LANES, x.at[E_Z], 1), e_after = __shfl_down_sync(ALL_LANES, x.at[E_PHI], 1);
    if (g.column == RADIAL_COLUMNS - 1) ez_after = e_after = 0;
    layer_h(StripHere<KIND, 1>{{x, g.factors, er_above, e_above, ez_after, e_after}, g, r});
}
