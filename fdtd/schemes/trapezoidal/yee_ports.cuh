// Driven edges and edges of the sums of a lattice that is stepped in tiles.
#include "schemes/trapezoidal/yee_tile.cuh"

// Driven edges and edges of the sums, and the planes that they lie in.
struct Ports {
    int sources, probes, source_first, source_last, probe_first, probe_last;

    __device__ Ports() {
        sources = count(0, SOURCES), probes = count(0, PROBES);
        source_first = probe_first = 1 << 30, source_last = probe_last = -1;
        for (int s = 0; s < sources; ++s) {
            const int k = __ldg(P.sources + s) / ALL % (CELLS_Z + 2);
            source_first = min(source_first, k), source_last = max(source_last, k);
        }
        for (int p = 0; p < probes; ++p) {
            const int k = __ldg(P.probes + p) / ALL % (CELLS_Z + 2);
            probe_first = min(probe_first, k), probe_last = max(probe_last, k);
        }
    }
    // Adds step n of the source to a thread's E of plane k.
    __device__ void drive(int n, const Thread &t, int k, real (*fields)[2]) const {
        if (k < source_first || k > source_last || n >= count(0, WAVEFORM) || !t.in) return;
        const real volts = P.waveform[n];
        const int own = k * ALL + t.at;
#pragma unroll 1
        for (int s = 0; s < sources; ++s) {
            const int from = __ldg(P.sources + s) - own;
            const real gain = __ldg(P.gains + s);
#pragma unroll
            for (int c = 0; c < 3; ++c)
#pragma unroll
                for (int cell = 0; cell < 2; ++cell)
                    if (from == c * PLANE + cell) fields[c][cell] += gain * volts;
        }
    }
    // Keeps the edges of the sums among a thread's components of plane k, from component `begin` on.
    __device__ void probe(int step, const Thread &t, int k, int begin, real (*fields)[2]) const {
        if (k < probe_first || k > probe_last || !t.core || k < t.first || k >= t.last) return;
        const int own = begin * PLANE + k * ALL + t.at;
        real *trace = P.trace + step * probes;
#pragma unroll 1
        for (int p = 0; p < probes; ++p) {
            const int from = __ldg(P.probes + p) - own;
#pragma unroll
            for (int c = 0; c < 3; ++c)
#pragma unroll
                for (int cell = 0; cell < 2; ++cell)
                    if (from == c * PLANE + cell) trace[p] = fields[c][cell];
        }
    }
};
