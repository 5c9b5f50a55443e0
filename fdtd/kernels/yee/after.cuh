// Source and sums of one antenna after the update of step n, by one block of whole warps.
#include "kernels/intrinsics.cuh"
#include "kernels/yee/sums.cuh"

// Most threads of such a block, and edges of a sum that a lane reads together.
#define MOST_THREADS 1024
#define SUMS_AHEAD 8

// Drives the edges from `first` to before `last`.
__device__ inline void drive(int antenna, int n, int thread, int first, int last) {
    if (n >= count(antenna, WAVEFORM)) return;
    real *fields = P.fields + start(antenna, FIELDS);
    const int *places = P.sources + start(antenna, SOURCES_AT);
    const real volts = P.waveform[start(antenna, WAVEFORM_AT) + n], *gains = P.gains + start(antenna, GAINS);
    for (int p = first + thread; p < last; p += blockDim.x) fields[__ldg(places + p)] += __ldg(gains + p) * volts;
}

// A warp a sum. `value(p)`: edge p of `probes` after the step.
template <class Value> __device__ inline void add_sums(int antenna, int n, int thread, const Value &value) {
    const int sums = count(antenna, SUMS), lane = thread % 32;
    for (int s = warp_index(); s < sums; s += blockDim.x / 32) {
        const double total = weighted_sum<SUMS_AHEAD>(antenna, s, lane, value);
        if (lane == 0) P.sums[start(antenna, SUMS_AT) + (place)n * sums + s] = total;
    }
}
