// Tiles of a lattice: what they form and store, and where a thread finds its numbers.
//
// Settings: those of yee.cu. The text is for one lattice, alone in its batch: its arrays start at zero.
#include "kernels/signals.cuh"
#include "schemes/trapezoidal/yee_level.cuh"

#define COLUMNS 64
#define THREADS (32 * ROWS)
enum {
    UNIT = 16 / sizeof(real),      // numbers of a copy
    UNITS = COLUMNS / UNIT,        // copies of a row of one component
    LAYER = (ROWS + 1) * COLUMNS,  // numbers of a plane of one component, with a row more
    STAGE = 6 * LAYER,             // of a plane before the first step
    // In shared memory: stages; of two planes, E after the first step, H_X and H_Z after it, H after the second step.
    E_AT = STAGES * STAGE, H_AT = E_AT + 6 * LAYER, HH_AT = H_AT + 4 * LAYER,
    // [phase][slope, b, c] of planes from two before the first; [phase][b, c] of columns, of rows.
    ALONG_Z = HH_AT + 6 * LAYER, SLOPES = LAST_Z + 6,
    ALONG_X = ALONG_Z + 6 * SLOPES, ALONG_Y = ALONG_X + 4 * COLUMNS,
    // Media of planes before the first step and between the steps, in a ring: [plane][row][component][column].
    MEDIA_AT = ALONG_Y + 4 * ROWS, MEDIA_ROW = 3 * COLUMNS, MEDIA_PLANE = ROWS * MEDIA_ROW, MEDIA_PLANES = STAGES + 1,
    WORD = 4 / sizeof(number), WORDS = MEDIA_ROW / WORD,  // numbers of a copy; copies of a row
    SIGNALS_AT = MEDIA_AT + MEDIA_PLANES * MEDIA_PLANE / WORD,  // [row][stage of a turn][odd turn?]
    KEPT_AT = SIGNALS_AT + ROWS * 4 * (int)sizeof(signal_word) / (int)sizeof(real)
};

// Strides of the lattice, in numbers. Planes of all components follow each other: [k][component][j][i].
enum {
    PLANE = (CELLS_Y + 2) * ROW_PITCH, ALL = 6 * PLANE, VOLUME = (CELLS_Z + 2) * ALL, LONG = LONGEST_AXIS,
    // Memories of all kinds of a plane follow each other: [k][2 * phase + which][j][i]. Along x both columns of a lane
    // have entries where one is in a layer: those in front of x-, then those from an even column in front of x+.
    BELOW_X = (LAYERS_LOW_X + 1) / 2 * 2, ABOVE_X = (CELLS_X - LAYERS_HIGH_X) / 2 * 2,
    SLOTS_X = BELOW_X + (LAYERS_HIGH_X ? (CELLS_X + 2 - ABOVE_X) / 2 * 2 : 0),
    SLOTS_Y = LAYERS_LOW_Y + LAYERS_HIGH_Y ? LAYERS_LOW_Y + LAYERS_HIGH_Y + 1 : 0,
    SLOTS_Z = LAYERS_LOW_Z + LAYERS_HIGH_Z ? LAYERS_LOW_Z + LAYERS_HIGH_Z + 1 : 0,
    PLANE_X = (CELLS_Y + 1) * SLOTS_X, PLANE_Y = SLOTS_Y * ROW_PITCH, PLANE_Z = (CELLS_Y + 1) * ROW_PITCH,
    PLACE_X = (CELLS_Z + 1) * 4 * PLANE_X, PLACE_Y = (CELLS_Z + 1) * 4 * PLANE_Y, PLACE_Z = SLOTS_Z * 4 * PLANE_Z,
    KEPT_X = KEPT_AT, KEPT_Y = KEPT_X + 8 * ROWS * SLOTS_X  // in shared memory, between the steps
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
    int at_x, at_y;         // entries of the layers' memories, or -1
    bool in, row_y, core;   // whether the lattice has the cells, whether they are in a layer along y, and stored
    int first, last, turn;  // planes that are stored; place that is read
    const real *tables;     // shared memory

    __device__ Thread(int turn, const Tile &tile) : first(tile.low[2]), last(tile.high[2]), turn(turn) {
        i = tile.x + threadIdx.x % 32 * 2, j = tile.y + threadIdx.x / 32, at = j * ROW_PITCH + i;
        in = i < ROW_PITCH && j < LAST_Y;
        at_x = i < BELOW_X ? i : LAYERS_HIGH_X && i >= ABOVE_X ? BELOW_X + i - ABOVE_X : -1;
        if (!in || i >= LAST_X) at_x = -1;
        at_y = j < LAST_Y ? slot(j, CELLS_Y, LAYERS_LOW_Y, LAYERS_HIGH_Y) : -1, row_y = at_y >= 0;
        core = i >= tile.low[0] && i < tile.high[0] && j >= tile.low[1] && j < tile.high[1];
    }
    __device__ static real filter(int spacing, int which, int at) {
        return at < LONG ? __ldg(P.axes + (spacing * 3 + which) * LONG + at) : 0;
    }
    // The first of a phase's two memories, at row and column, in the place that is read, or in the other; the second is
    // a plane of the axis further.
    template <int PHASE> __device__ real *psi_x(int k, bool other) const {
        return P.psi_x + (turn ^ other) * PLACE_X + (k * 4 + 2 * PHASE) * PLANE_X + (j * SLOTS_X + at_x);
    }
    template <int PHASE> __device__ real *psi_y(int k, bool other) const {
        return P.psi_y + (turn ^ other) * PLACE_Y + (k * 4 + 2 * PHASE) * PLANE_Y + (at_y * ROW_PITCH + i);
    }
    template <int PHASE> __device__ real *psi_z(int at_z, bool other) const {
        return P.psi_z + (turn ^ other) * PLACE_Z + (at_z * 4 + 2 * PHASE) * PLANE_Z + at;
    }
    // The same of a plane's memories between the two steps, in shared memory along x and y.
    template <int PHASE> __device__ real *kept_x(int k) const {
        return const_cast<real *>(tables) + KEPT_X + ((k & 1) * 4 + 2 * PHASE) * (ROWS * SLOTS_X) +
               threadIdx.x / 32 * SLOTS_X + at_x;
    }
    template <int PHASE> __device__ real *kept_y(int k) const {
        const int from = ((k & 1) * 4 + 2 * PHASE) * (2 * THREADS) + threadIdx.x * 2;
        if (Y_ON_CHIP) return const_cast<real *>(tables) + KEPT_Y + from;
        return P.psi_z + 2 * PLACE_Z + blockIdx.x * (16 * THREADS) + from;
    }
    template <int PHASE> __device__ static real *kept_z(int k) {
        const int from = ((k & 1) * 4 + 2 * PHASE) * (2 * THREADS) + threadIdx.x * 2;
        return P.psi_z + 2 * PLACE_Z + (blockIdx.x + (Y_ON_CHIP ? 0 : gridDim.x)) * (16 * THREADS) + from;
    }
    // A half step's memories and filters: FRESH from before the pass, else from its first step.
    template <int PHASE, bool X, bool Y, bool Z, bool FRESH> __device__ void fetch(Level<PHASE> &level) const {
        const int k = level.k;
        const bool there = k < LAST_Z;
        if (X) {
            for (int w = 0; w < 2; ++w) level.x.value[w][0] = level.x.value[w][1] = 0;
            if (there && at_x >= 0) {
                const real *from = FRESH ? psi_x<PHASE>(k, false) : kept_x<PHASE>(k);
                for (int w = 0; w < 2; ++w) load(level.x.value[w], from + w * (FRESH ? PLANE_X : ROWS * SLOTS_X));
            }
            const real *of = tables + ALONG_X + PHASE * 2 * COLUMNS + threadIdx.x % 32 * 2;
            load(level.x.b, of), load(level.x.c, of + COLUMNS);
        }
        if (Y) {
            const real *of = tables + ALONG_Y + PHASE * 2 * ROWS + threadIdx.x / 32;
            for (int w = 0; w < 2; ++w) level.y.value[w][0] = level.y.value[w][1] = 0;
            if (there && in) {
                const real *from = FRESH ? psi_y<PHASE>(k, false) : kept_y<PHASE>(k);
                for (int w = 0; w < 2; ++w) load(level.y.value[w], from + w * (FRESH ? PLANE_Y : 2 * THREADS));
            }
            level.y.b[0] = of[0], level.y.c[0] = of[ROWS];
        }
        if (Z) {
            for (int w = 0; w < 2; ++w) level.z.value[w][0] = level.z.value[w][1] = 0;
            if (in) {
                const real *from = FRESH ? psi_z<PHASE>(level.at_z, false) : kept_z<PHASE>(k);
                for (int w = 0; w < 2; ++w) load(level.z.value[w], from + w * (FRESH ? PLANE_Z : 2 * THREADS));
            }
            level.z.b[0] = level.filter_z[SLOPES], level.z.c[0] = level.filter_z[2 * SLOPES];
        }
    }
    // Starts to fetch the memories of plane k that are not there yet.
    template <bool X, bool Y> __device__ void prefetch_memories(int k) const {
        if (!in || k >= LAST_Z) return;
        const int at_z = slot(k, CELLS_Z, LAYERS_LOW_Z, LAYERS_HIGH_Z);
        for (int m = 0; m < 4; ++m) {
            if (X && at_x >= 0) prefetch(psi_x<0>(k, false) + m * PLANE_X);
            if (Y && row_y) prefetch(psi_y<0>(k, false) + m * PLANE_Y);
            if (at_z >= 0) prefetch(psi_z<0>(at_z, false) + m * PLANE_Z);
        }
    }
    // Stores them: LAST to the other place, where the cell is the tile's own, else for the second step.
    template <int PHASE, bool X, bool Y, bool Z, bool LAST> __device__ void put(const Level<PHASE> &level) const {
        const int k = level.k;
        if (!(LAST ? core && k >= first && k < last : in && k < LAST_Z)) return;
        if (X && at_x >= 0) {
            real *to = LAST ? psi_x<PHASE>(k, true) : kept_x<PHASE>(k);
            for (int w = 0; w < 2; ++w) keep(to + w * (LAST ? PLANE_X : ROWS * SLOTS_X), level.x.value[w]);
        }
        if (Y) {
            real *to = LAST ? psi_y<PHASE>(k, true) : kept_y<PHASE>(k);
            for (int w = 0; w < 2; ++w) keep(to + w * (LAST ? PLANE_Y : 2 * THREADS), level.y.value[w]);
        }
        if (Z) {
            real *to = LAST ? psi_z<PHASE>(level.at_z, true) : kept_z<PHASE>(k);
            for (int w = 0; w < 2; ++w) keep(to + w * (LAST ? PLANE_Z : 2 * THREADS), level.z.value[w]);
        }
    }
};
