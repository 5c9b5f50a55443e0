// One of an antenna's weighted sums of edges, by all lanes of a warp; lane 0 has it.
//
// `value(p)` is edge p of `probes`. Edges from `spans` alone count, as those of one port among all ports'. Lanes have
// four parts each, which are added up by halves: the order depends on nothing but the antenna. A lane reads AHEAD edges, a
// multiple of four, before it adds the first.
#include "kernels/yee/parameters.cuh"

template <int AHEAD = 4, class Value>
__device__ inline double weighted_sum(int antenna, int sum, int lane, const Value &value) {
    const int *span = P.spans + start(antenna, SPANS) + 2 * sum;
    const int first = __ldg(span), last = __ldg(span + 1);
    const double *weights = P.weights + start(antenna, WEIGHTS) + (place)sum * count(antenna, PROBES);
    double part[4] = {};
    for (int base = first + lane; base < last; base += 32 * AHEAD) {
#pragma unroll
        for (int of = 0; of < AHEAD; ++of)
            if (base + 32 * of < last) part[of % 4] += __ldg(weights + base + 32 * of) * (double)value(base + 32 * of);
    }
    double total = (part[0] + part[2]) + (part[1] + part[3]);
    for (int half = 16; half > 0; half /= 2) total += __shfl_down_sync(0xffffffffu, total, half);
    return total;
}
