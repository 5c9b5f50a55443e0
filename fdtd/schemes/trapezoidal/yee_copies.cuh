// Asynchronous copies of fields and media to a tile's shared memory, by the warp of their row.
#include "schemes/trapezoidal/yee_tile.cuh"

// Starts to copy planes of a row: E of plane k + 1 with H of plane k.
struct Copies {
    int half, unit, own, after;

    __device__ explicit Copies(const Tile &tile) {
        half = threadIdx.x % 32 / UNITS, unit = threadIdx.x % UNITS * UNIT;
        const int column = tile.x + unit, row = tile.y + threadIdx.x / 32, next = tile.y + ROWS;
        const bool there = column < ROW_PITCH;  // what is not, is a copy of the zero row
        own = (there && row <= CELLS_Y ? row * ROW_PITCH + column : (CELLS_Y + 1) * ROW_PITCH) + half * PLANE;
        after = (there && next <= CELLS_Y ? next * ROW_PITCH + column : (CELLS_Y + 1) * ROW_PITCH) + half * 2 * PLANE;
    }
    __device__ void start(const real *fields, real *stage, int k) const {
        const real *e = fields + min(k + 1, CELLS_Z + 1) * ALL, *h = fields + min(max(k, 0), CELLS_Z + 1) * ALL;
        real *to = stage + half * LAYER + threadIdx.x / 32 * COLUMNS + unit;
        copy_16_bytes(to, e + own);
        copy_16_bytes(to + 2 * LAYER, (half ? h : e) + 2 * PLANE + own);
        copy_16_bytes(to + 4 * LAYER, h + 4 * PLANE + own);
        if (threadIdx.x >= THREADS - 32) copy_16_bytes(stage + 2 * half * LAYER + ROWS * COLUMNS + unit, e + after);
    }
};

template <int BYTES> struct Two;
template <> struct Two<2> { typedef unsigned short type; };
template <> struct Two<4> { typedef unsigned type; };
typedef Two<2 * sizeof(number)>::type Both;

// Media of a thread's row in shared memory, by plane. They come as asynchronous copies: a number that is loaded to a
// register would share a scoreboard with others that are needed before it has arrived.
struct Media {
    number *row;
    int from[WORDS / 32 + 1];  // places of the thread's words in a plane, in the lattice's order

    __device__ Media(const Tile &tile, real *shared) {
        const int j = tile.y + threadIdx.x / 32;
        row = reinterpret_cast<number *>(shared + MEDIA_AT) + threadIdx.x / 32 * MEDIA_ROW;
        for (int m = 0; m <= WORDS / 32; ++m) {
            const int word = m * 32 + threadIdx.x % 32, i = tile.x + word * WORD % COLUMNS;
            const int at = i < ROW_PITCH && j <= CELLS_Y ? j * ROW_PITCH + i : (CELLS_Y + 1) * ROW_PITCH;
            from[m] = word * WORD / COLUMNS * PLANE + at;
        }
    }
    // Starts to copy those of plane k.
    __device__ void start(int k) const {
        const number *plane = P.media + max(min(k, CELLS_Z + 1), 0) * (3 * PLANE);
        number *to = row + unsigned(k + MEDIA_PLANES) % MEDIA_PLANES * MEDIA_PLANE + threadIdx.x % 32 * WORD;
        for (int m = 0; m <= WORDS / 32; ++m)
            if (m * 32 + threadIdx.x % 32 < WORDS) copy_4_bytes(to + m * 32 * WORD, plane + from[m]);
    }
    __device__ void apply(Level<1> &level, const pair *factors, pair air) const {
        const number *own = row + unsigned(level.k) % MEDIA_PLANES * MEDIA_PLANE + threadIdx.x % 32 * 2;
        int at[3];
        for (int c = 0; c < 3; ++c) at[c] = *reinterpret_cast<const Both *>(own + c * COLUMNS);
        if (all_lanes((at[0] | at[1] | at[2]) == 0)) {
            for (int c = 0; c < 3; ++c) level.media_of[c][0] = level.media_of[c][1] = air;
        } else {
            for (int c = 0; c < 3; ++c) {
                level.media_of[c][0] = __ldg(factors + (number)at[c]);
                level.media_of[c][1] = __ldg(factors + (number)(at[c] >> 8 * (int)sizeof(number)));
            }
        }
    }
};
