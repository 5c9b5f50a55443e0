// Waits between the warps of a tile.
#include "schemes/trapezoidal/yee_tile.cuh"

// Warps wait for the warps of the next rows alone, and later than these have what is waited for: signals of each warp,
// by turns, as a warp may be a turn ahead of the next.
struct Signals {
    signal_word *watched;  // an even lane waits for the row before, an odd one for the row after

    __device__ Signals() {
        const int row = threadIdx.x / 32, next = threadIdx.x % 2 ? min(row + 1, ROWS - 1) : max(row - 1, 0);
        watched = at(next);
    }
    __device__ static signal_word *at(int row) {
        return reinterpret_cast<signal_word *>(reinterpret_cast<real *>(shared_base()) + SIGNALS_AT) + row * 4;
    }
    __device__ static void prepare() {
        if (threadIdx.x < 4 * ROWS) prepare_signal(at(0) + threadIdx.x, 1);
    }
    // Turns are counted from the first of a piece.
    __device__ static void give(int stage, int turn) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) give_signal(at(threadIdx.x / 32) + 2 * stage + (turn & 1));
    }
    __device__ void await(int stage, int turn) const {
        await_signal(watched + 2 * stage + (turn & 1), turn >> 1);
        __syncwarp();
    }
    // All warps have finished a piece of so many turns: signals are as before it.
    __device__ static void complete(int turns) {
        for (; turns & 3; ++turns)
            for (int stage = 0; stage < 2; ++stage) give(stage, turns);
    }
};
