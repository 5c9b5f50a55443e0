// One time step in one launch, from one buffer of fields and filter memories to the other.
//
// A lane streams the rows of a chunk upwards: E of a row, then H of the row below it, with the next row on its way from
// memory. Neighbours along r are neighbours in the warp. A chunk does the E of the row after its last once more, a warp
// that of the lane after its last: all warps are independent.
//
// Settings: those of one_step.cu, for an odd step at the end; CHUNK (rows). Launch: blocks of THREADS, grid (vectors of a
// row times chunks / (31 a warp), batch).
#ifndef CHUNK
#error "CHUNK must be set"
#endif
#include "one_step.cu"

// What a lane asks for a row ahead of its use: its cells, the column before them, the word of the row after.
struct Ahead {
    Cells x;
    real h_left, hz_left;
    int above;
};

__device__ inline void clear(Cells &x) {
    clear(x.e_r), clear(x.e), clear(x.e_z), clear(x.h_r), clear(x.h), clear(x.h_z);
}

// Row k, or zeros: the plane k = nz and all beyond conduct.
__device__ inline void ask(Ahead &a, const Spot &s, bool works, int k) {
    a.h_left = a.hz_left = 0, a.above = 0;
    if (!works || k >= P.nz) {
        clear(a.x);
        return;
    }
    const real *state = field(s.from, k, 0) + s.j;
    load_three(state, a.x.e_r, a.x.e, a.x.e_z), load_three(state + 3 * P.pitch, a.x.h_r, a.x.h, a.x.h_z);
    if (threadIdx.x % 32 == 0) a.h_left = state[4 * P.pitch - 1], a.hz_left = state[5 * P.pitch - 1];
    a.above = row_word(s.antenna, k + 1);
}

// `odd`: from the second buffer to the first.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) whole_step(int step, int odd) {
    const int vectors = P.pitch / WIDTH, lane = threadIdx.x % 32, antenna = blockIdx.y;
    const int place = (blockIdx.x * (THREADS / 32) + warp_index()) * 31 + lane, chunk = place / vectors;
    const int first = chunk * CHUNK, j = (place - chunk * vectors) * WIDTH;
    if (all_lanes(first >= P.nz) || !P.active[antenna]) return;
    const bool works = first < P.nz, owns = works && lane < 31, last = j + WIDTH >= P.pitch;
    const int from = antenna + odd * P.batch, to = antenna + (1 - odd) * P.batch;
    Spot s{antenna, from, to, first, j};
    Cells below;
    clear(below);
    if (works && first > 0) load(field(from, first - 1, 3) + j, below.h_r), load(field(from, first - 1, 4) + j, below.h);
    Ahead ahead;
    ask(ahead, s, works, first);
    int word = works ? row_word(antenna, first) : 0, word_below = 0;
#pragma unroll 1
    for (int n = 0; n <= CHUNK; ++n) {
        const int k = first + n;
        Cells x = ahead.x;
        const int above = ahead.above;
        real h_left = __shfl_up_sync(ALL_LANES, x.h[WIDTH - 1], 1), hz_left = __shfl_up_sync(ALL_LANES, x.h_z[WIDTH - 1], 1);
        if (lane == 0) h_left = ahead.h_left, hz_left = ahead.hz_left;
        if (n < CHUNK) ask(ahead, s, works, k + 1);
        s.k = k, s.to = owns && n < CHUNK ? to : -1;
        if (works && k < P.nz) advance_e(x, below.h_r, below.h, h_left, hz_left, s, word, above, step);
        real e_right = __shfl_down_sync(ALL_LANES, below.e[0], 1), ez_right = __shfl_down_sync(ALL_LANES, below.e_z[0], 1);
        if (last) e_right = ez_right = 0;
        if (n > 0 && owns && k <= P.nz) {
            s.k = k - 1, s.to = to;
            advance_h(below, x.e_r, x.e, ez_right, e_right, s, word_below);
            real *state = field(to, k - 1, 0) + j;
            store_three(state, below.e_r, below.e, below.e_z), store_three(state + 3 * P.pitch, below.h_r, below.h, below.h_z);
        }
        below = x, word_below = word, word = above;
    }
}
