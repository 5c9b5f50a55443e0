// Tiles of a lattice: what they form and store, and where a thread finds its numbers.
//
// Settings: those of yee.cu. The text is for one lattice, alone in its batch: its arrays start at zero.
#include "schemes/trapezoidal/yee_level.cuh"

#define COLUMNS 64
#define THREADS (32 * ROWS)
enum {
    UNIT = 16 / sizeof(real),      // numbers of a copy
    UNITS = COLUMNS / UNIT,        // copies of a row of one component
    LAYER = (ROWS + 1) * COLUMNS,  // numbers of a plane of one component, with a row more
    STAGE = 6 * LAYER,             // of a plane before the first step
    KEPT = 24,                     // memories of a cell between its two steps: of two planes
    // In shared memory: stages; E after the first step, of two planes; H_X and H_Z after it; H after the second step.
    E_AT = STAGES * STAGE, H_AT = E_AT + 6 * LAYER, HH_AT = H_AT + 2 * LAYER,
    // [phase][slope, b, c] of planes from two before the first; [phase][b, c] of columns, of rows.
    ALONG_Z = HH_AT + 3 * LAYER, SLOPES = LAST_Z + 6,
    ALONG_X = ALONG_Z + 6 * SLOPES, ALONG_Y = ALONG_X + 4 * COLUMNS
};

// Strides of the lattice, in numbers. Planes of all components follow each other: [k][component][j][i].
enum {
    PLANE = (CELLS_Y + 2) * ROW_PITCH, ALL = 6 * PLANE, VOLUME = (CELLS_Z + 2) * ALL, LONG = LONGEST_AXIS,
    SLOTS_X = LAYERS_LOW_X + LAYERS_HIGH_X ? LAYERS_LOW_X + LAYERS_HIGH_X + 1 : 0,
    SLOTS_Y = LAYERS_LOW_Y + LAYERS_HIGH_Y ? LAYERS_LOW_Y + LAYERS_HIGH_Y + 1 : 0,
    SLOTS_Z = LAYERS_LOW_Z + LAYERS_HIGH_Z ? LAYERS_LOW_Z + LAYERS_HIGH_Z + 1 : 0,
    PLANE_X = (CELLS_Y + 1) * SLOTS_X, PLANE_Y = SLOTS_Y * ROW_PITCH, PLANE_Z = (CELLS_Y + 1) * ROW_PITCH,
    APART_X = (CELLS_Z + 1) * PLANE_X, APART_Y = (CELLS_Z + 1) * PLANE_Y, APART_Z = SLOTS_Z * PLANE_Z
};

// A piece of a tile.
struct Tile {
    int x, y, low[3], high[3];  // first column and row; first cell that is stored, and the one after the last
    bool in_x, in_y;            // whether it touches layers along x, along y

    __device__ Tile(int number, int first, int end) {
        const int at[2] = {number % TILES_X, number / TILES_X}, stride[2] = {STRIDE, ROW_STRIDE};
        const int ends[2] = {LAST_X, LAST_Y};
        x = at[0] * STRIDE, y = at[1] * ROW_STRIDE;
        for (int a = 0; a < 2; ++a) {
            low[a] = at[a] * stride[a] + (at[a] ? 2 : 0);
            high[a] = min((at[a] + 1) * stride[a] + 2, ends[a]);
        }
        low[2] = first, high[2] = end;
        in_x = x < LAYERS_LOW_X || x + COLUMNS > CELLS_X - LAYERS_HIGH_X;
        in_y = y < LAYERS_LOW_Y || y + ROWS > CELLS_Y - LAYERS_HIGH_Y;
    }
};

// What a thread needs to find its numbers.
struct Thread {
    int i, j, at;           // column, row, place in a plane
    int at_x[2], at_y;      // entries of the layers' memories, or -1
    bool in, row_y, core;   // whether the lattice has the cells, whether they are in a layer along y, and stored
    int first, last, turn;  // planes that are stored; place that is read
    const real *tables;     // shared memory

    __device__ Thread(int turn, const Tile &tile) : first(tile.low[2]), last(tile.high[2]), turn(turn) {
        i = tile.x + threadIdx.x % 32 * 2, j = tile.y + threadIdx.x / 32, at = j * ROW_PITCH + i;
        in = i < ROW_PITCH && j < LAST_Y;
        for (int cell = 0; cell < 2; ++cell)
            at_x[cell] = in && i + cell < LAST_X ? slot(i + cell, CELLS_X, LAYERS_LOW_X, LAYERS_HIGH_X) : -1;
        at_y = j < LAST_Y ? slot(j, CELLS_Y, LAYERS_LOW_Y, LAYERS_HIGH_Y) : -1, row_y = at_y >= 0;
        core = i >= tile.low[0] && i < tile.high[0] && j >= tile.low[1] && j < tile.high[1];
    }
    __device__ static real filter(int spacing, int which, int at) {
        return at < LONG ? __ldg(P.axes + (spacing * 3 + which) * LONG + at) : 0;
    }
    // Memory `which` of a phase, at row and column, in the place that is read, or in the other.
    __device__ real *psi_x(int phase, int which, int k, bool other) const {
        return P.psi_x + ((turn ^ other) * 4 + 2 * phase + which) * APART_X + k * PLANE_X + j * SLOTS_X;
    }
    __device__ real *psi_y(int phase, int which, int k, bool other) const {
        return P.psi_y + ((turn ^ other) * 4 + 2 * phase + which) * APART_Y + k * PLANE_Y + (at_y * ROW_PITCH + i);
    }
    __device__ real *psi_z(int phase, int which, int at_z, bool other) const {
        return P.psi_z + ((turn ^ other) * 4 + 2 * phase + which) * APART_Z + at_z * PLANE_Z + at;
    }
    template <int PHASE> __device__ static real *kept_at(int k, int axis, int which) {
        const int memory = (k & 1) * 12 + PHASE * 6 + axis * 2 + which;
        return P.psi_z + 8 * APART_Z + (blockIdx.x * KEPT + memory) * (2 * THREADS) + threadIdx.x * 2;
    }
    // A half step's memories and filters: FRESH from before the pass, else from its first step.
    template <int PHASE, bool X, bool Y, bool Z, bool FRESH> __device__ void fetch(Level<PHASE> &level) const {
        const int k = level.k;
        const bool there = k < LAST_Z;
        if (X) {
            const bool some = there && (at_x[0] >= 0 || at_x[1] >= 0);
            for (int w = 0; w < 2; ++w) {
                level.x.value[w][0] = level.x.value[w][1] = 0;
                if (FRESH) {
                    for (int cell = 0; cell < 2; ++cell)
                        if (there && at_x[cell] >= 0) level.x.value[w][cell] = psi_x(PHASE, w, k, false)[at_x[cell]];
                } else if (some) load(level.x.value[w], kept_at<PHASE>(k, 0, w));
            }
            const real *of = tables + ALONG_X + PHASE * 2 * COLUMNS + threadIdx.x % 32 * 2;
            load(level.x.b, of), load(level.x.c, of + COLUMNS);
        }
        if (Y) {
            const real *of = tables + ALONG_Y + PHASE * 2 * ROWS + threadIdx.x / 32;
            for (int w = 0; w < 2; ++w) {
                level.y.value[w][0] = level.y.value[w][1] = 0;
                if (there && in) load(level.y.value[w], FRESH ? psi_y(PHASE, w, k, false) : kept_at<PHASE>(k, 1, w));
            }
            level.y.b[0] = of[0], level.y.c[0] = of[ROWS];
        }
        if (Z) {
            for (int w = 0; w < 2; ++w) {
                level.z.value[w][0] = level.z.value[w][1] = 0;
                if (in) load(level.z.value[w], FRESH ? psi_z(PHASE, w, level.at_z, false) : kept_at<PHASE>(k, 2, w));
            }
            level.z.b[0] = level.filter_z[SLOPES], level.z.c[0] = level.filter_z[2 * SLOPES];
        }
    }
    // Starts to fetch the memories of plane k that are not there yet.
    template <bool X, bool Y> __device__ void prefetch_memories(int k) const {
        if (!in || k >= LAST_Z) return;
        const int at_z = slot(k, CELLS_Z, LAYERS_LOW_Z, LAYERS_HIGH_Z);
        for (int m = 0; m < 4; ++m) {
            if (X && max(at_x[0], at_x[1]) >= 0) prefetch(psi_x(0, m, k, false) + max(at_x[0], at_x[1]));
            if (Y && row_y) prefetch(psi_y(0, m, k, false));
            if (at_z >= 0) prefetch(psi_z(0, m, at_z, false));
        }
    }
    // Stores them: LAST to the other place, where the cell is the tile's own, else for the second step.
    template <int PHASE, bool X, bool Y, bool Z, bool LAST> __device__ void put(const Level<PHASE> &level) const {
        const int k = level.k;
        if (!(LAST ? core && k >= first && k < last : in && k < LAST_Z)) return;
        if (X)
            for (int w = 0; w < 2; ++w) {
                if (LAST) {
                    for (int cell = 0; cell < 2; ++cell)
                        if (at_x[cell] >= 0) psi_x(PHASE, w, k, true)[at_x[cell]] = level.x.value[w][cell];
                } else if (at_x[0] >= 0 || at_x[1] >= 0) keep(kept_at<PHASE>(k, 0, w), level.x.value[w]);
            }
        if (Y)
            for (int w = 0; w < 2; ++w)
                keep(LAST ? psi_y(PHASE, w, k, true) : kept_at<PHASE>(k, 1, w), level.y.value[w]);
        if (Z)
            for (int w = 0; w < 2; ++w)
                keep(LAST ? psi_z(PHASE, w, level.at_z, true) : kept_at<PHASE>(k, 2, w), level.z.value[w]);
    }
};
