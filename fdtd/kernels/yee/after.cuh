// Source and sums of one antenna after the update of step n, by one block of AFTER_THREADS threads.
#include "kernels/yee/parameters.cuh"

#define AFTER_THREADS 128

__device__ inline void drive(int antenna, int n, int thread) {
    if (n >= count(antenna, WAVEFORM)) return;
    real *fields = P.fields + start(antenna, FIELDS);
    const real volts = P.waveform[start(antenna, WAVEFORM_AT) + n];
    for (int p = thread; p < count(antenna, SOURCES); p += AFTER_THREADS)
        fields[P.sources[start(antenna, SOURCES_AT) + p]] += P.gains[start(antenna, GAINS) + p] * volts;
}

// Threads add up their own edges, the block its threads by halves. `partial`: AFTER_THREADS numbers of shared memory.
__device__ inline void add_sums(int antenna, int n, int thread, double *partial) {
    const real *fields = P.fields + start(antenna, FIELDS);
    const int probes = count(antenna, PROBES), sums = count(antenna, SUMS);
    for (int s = 0; s < sums; ++s) {
        double total = 0;
        for (int p = thread; p < probes; p += AFTER_THREADS)
            total += P.weights[start(antenna, WEIGHTS) + (place)s * probes + p] *
                     (double)fields[P.probes[start(antenna, PROBES_AT) + p]];
        partial[thread] = total;
        for (int half = AFTER_THREADS / 2; half > 0; half /= 2) {
            __syncthreads();  // the partial sums of the level before are there
            if (thread < half) partial[thread] += partial[thread + half];
        }
        if (thread == 0) P.sums[start(antenna, SUMS_AT) + (place)n * sums + s] = partial[0];
        __syncthreads();  // the sum is read before the next begins
    }
}
