// The radial warps of the wavefront: columns of the radial layer, in step with the main warps.
//
// A radial lane holds one column at RADIAL_LEVELS time levels; cells and their eight filter memories go from level to
// level through shared memory. With the last main column it exchanges h_z and h (from before a level) for e_z and e
// (from after it).
//
// Needs the settings and declarations of kernel.cu. Provides `radial_warp`, which also does the work of fetch.cuh;
// without a radial layer it does that work alone.
#if !defined(RADIAL_COLUMNS) || !defined(RADIAL_LEVELS)
#error "RADIAL_COLUMNS and RADIAL_LEVELS must be set"
#endif
#include "kernels/axisymmetric/layer.cuh"
#include "schemes/wavefront/fetch.cuh"

#if RADIAL_COLUMNS
#define RADIAL_GROUPS (32 / RADIAL_COLUMNS)
#if RADIAL_COLUMNS > 32 || RADIAL_WARPS * RADIAL_GROUPS * RADIAL_LEVELS < LEVELS
#error "the radial warps do not cover all columns and levels"
#endif

// An axial layer's numbers for one cell and half step: 1/kappa, b, c and the memories of its two differences.
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

// Accessor of layer.cuh; `PLAIN`: the row is neither in an axial layer nor filled nor the conducting plane.
template <bool PLAIN> struct RadialHere : LayerHere {
    const Stretch &z;
    int word, antenna, k, stored;
    __device__ void stretch(real &rise_r, real &rise_phi) const {
        if (PLAIN || !z.at) return;
        const real p0 = remembered(z.first, z.b, z.c, rise_r), p1 = remembered(z.second, z.b, z.c, rise_phi);
        z.at[0] = p0, z.at[ROW_PITCH] = p1;
        rise_r = stretched(z.keep, rise_r, p0), rise_phi = stretched(z.keep, rise_phi, p1);
    }
    __device__ bool filled() const { return !PLAIN && word & ROW_RADIAL; }
    __device__ const real *media() const { return medium(antenna, k, 0) + stored; }
    __device__ bool conducts() const { return !PLAIN && word & ROW_PLANE; }
};

#define RUN (INLET_RUN * WIDTH)  // numbers of the cells' components are apart, on chip

// Place of the results of the level before: h_z and h of the last main column `edge` after the cell's
// first number, the rows of the ring `stride` numbers apart.
struct Source {
    const real *first;
    int stride, mask, edge_z, edge;
};

__device__ inline void radial_warp(
    const Shared &s, const Passes &passes, const Place &p, Service &service, int iterations
) {
    const int group = p.lane / RADIAL_COLUMNS, column = p.lane % RADIAL_COLUMNS;
    const int lowest = (p.helper * RADIAL_GROUPS + group) * RADIAL_LEVELS;
    LayerColumn f;
    read_column(f, column);
    Level levels[RADIAL_LEVELS];
    LayerCell waiting[RADIAL_LEVELS];
    Source sources[RADIAL_LEVELS];
#pragma unroll
    for (int v = 0; v < RADIAL_LEVELS; ++v) {
        const int level = min(lowest + v, LEVELS - 1), before = max(level - 1, 0);
        place(levels[v], level, passes, s.words);
        clear(waiting[v]);
        const int mask = BLOCKS == 1 || (before % 2 && before + 1 < LEVELS) ? 3 : 1;  // see chain_of
        if (level) sources[v] = {chain_of(s, before, 0), (BLOCKS == 1 ? LEVELS : 1) * CHAIN, mask, 14 * RUN, 14 * RUN + 1};
        else sources[v] = {s.inlet, INLET, 7, 14 * RUN + WIDTH - 1, 14 * RUN + 2 * WIDTH - 1};
    }
    __syncthreads();  // see kernel.cu
#pragma unroll 1
    for (int t = 0; t < iterations; ++t) {
#pragma unroll
        for (int v = 0; v < RADIAL_LEVELS; ++v) {
            Level &here = levels[v];
            const bool works = group < RADIAL_GROUPS && lowest + v < LEVELS;
            const int level = min(lowest + v, LEVELS - 1), row = t - lag(level);
            LayerCell cell, &below = waiting[v];
            const real *link = sources[v].first + (row & sources[v].mask) * sources[v].stride;
            load_layer_cell(cell, link + column, RUN, link + column + 6 * RUN, RUN);
            real h_left = __shfl_up_sync(ALL_LANES, cell.at[H_PHI], 1), hz_left = __shfl_up_sync(ALL_LANES, cell.at[H_Z], 1);
            if (column == 0) hz_left = link[sources[v].edge_z], h_left = link[sources[v].edge];
            const int k = here.k - 1;
            const bool runs = works && live(here);
            const bool due = here.sample >= 0 && P.map_right > P.radial_start;
            const bool plain = runs && k >= 0 && k + 1 < P.nz && !due &&
                               !((here.word | here.word_below) & (ROW_AXIAL | ROW_RADIAL | ROW_PLANE));
            real e_right = __shfl_down_sync(ALL_LANES, below.at[E_PHI], 1);
            real ez_right = __shfl_down_sync(ALL_LANES, below.at[E_Z], 1);
            if (column == RADIAL_COLUMNS - 1) e_right = 0, ez_right = 0;
            if (all_lanes(plain || !works)) {
                const Stretch none{};
                layer_e(RadialHere<true>{{cell, f, below.at[H_R], below.at[H_PHI], hz_left, h_left}, none, 0, 0, 0, 0});
                layer_h(RadialHere<true>{{below, f, cell.at[E_R], cell.at[E_PHI], ez_right, e_right}, none, 0, 0, 0, 0});
            } else {
                const int antenna = afresh(p.antenna), stored = P.lead + P.radial_start + afresh(column);
                Stretch of_e, of_h;  // loaded together, before the first use
                of_e.at = of_h.at = nullptr;
                if (runs && here.word & ROW_AXIAL) look_up(of_e, antenna, axial_row(s, here.k), s.layers[here.k], 0, stored);
                if (runs && here.word_below & ROW_AXIAL && k >= 0) look_up(of_h, antenna, axial_row(s, k) + 3, s.layers[k], 2, stored);
                if (runs && here.k < P.nz)
                    layer_e(RadialHere<false>{{cell, f, below.at[H_R], below.at[H_PHI], hz_left, h_left}, of_e, here.word,
                                              antenna, here.k, stored});
                if (runs && k >= 0) {
                    layer_h(RadialHere<false>{{below, f, cell.at[E_R], cell.at[E_PHI], ez_right, e_right}, of_h, 0, 0, 0, 0});
                    const int i = stored - P.lead;
                    if (due && i < P.map_right && i >= P.map_left && k >= P.map_bottom && k < P.map_top)
                        record_map(antenna, k, i, here.sample, below.at[E_R], below.at[E_PHI], below.at[E_Z]);
                }
            }
            if (works && column == 0) {
                real *out = s.e_edge + ((t & 1) * LEVELS + level) * 2;
                out[0] = cell.at[E_Z], out[1] = cell.at[E_PHI];
            }
            real *next = chain_of(s, level, row - 1) + column;
            if (works) store_layer_cell(below, next, RUN, next + 6 * RUN, RUN);
            below = cell;
            move_on_apart(here, passes, s.words);
        }
        serve(service, passes, p, s, t);
        __syncthreads();  // see kernel.cu
    }
}
#else
__device__ inline void radial_warp(
    const Shared &s, const Passes &passes, const Place &p, Service &service, int iterations
) {
    __syncthreads();  // see kernel.cu
#pragma unroll 1
    for (int t = 0; t < iterations; ++t) {
        serve(service, passes, p, s, t);
        __syncthreads();  // see kernel.cu
    }
}
#endif
