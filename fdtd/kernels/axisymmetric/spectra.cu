// Spectra of records, sum_n x_n exp(-jwt_n), in double precision, which the records themselves need not have; and the
// power through a contour. Settings: REAL of the records; NUMBERS and SLICES; THREADS of a block of `flux`.
//
// A block of `spectra` sums NUMBERS numbers of one antenna at FREQUENCIES frequencies at a time. Each of its warps takes
// every SLICES-th sample; the warps' sums are added up in their order. So an antenna's spectrum depends on its record
// alone.

#define FREQUENCIES (SLICES / 2)  // two sums each, so that every warp adds up one

// records: (antennas, samples, numbers), of which each antenna has counts[antenna] samples. weights: of the samples, or
// null. waves: cos(wt) and -sin(wt), (samples, frequencies, 2). found: complex, (antennas, frequencies, numbers).
extern "C" __global__ void spectra(
    const REAL* records, int samples, int numbers, const int* counts, const double* weights, const double* waves,
    int frequencies, double* found) {
    __shared__ double parts[SLICES][2 * FREQUENCIES][NUMBERS];
    const int lane = threadIdx.x % NUMBERS, slice = threadIdx.x / NUMBERS, antenna = blockIdx.y;
    const int number = blockIdx.x * NUMBERS + lane, count = min(counts[antenna], samples);
    const REAL* const own = &records[(size_t)antenna * samples * numbers + number];
    for (int first = 0; first < frequencies; first += FREQUENCIES) {
        const int some = min(FREQUENCIES, frequencies - first);
        double sums[2 * FREQUENCIES] = {};
        if (number < numbers)
#pragma unroll 4
            for (int sample = slice; sample < count; sample += SLICES) {
                const double value = own[(size_t)sample * numbers];
                const double weighted = weights ? value * weights[sample] : value;
                const double* const wave = &waves[2 * ((size_t)sample * frequencies + first)];
#pragma unroll
                for (int part = 0; part < 2 * FREQUENCIES; ++part)
                    if (part < 2 * some) sums[part] = fma(weighted, wave[part], sums[part]);
            }
#pragma unroll
        for (int part = 0; part < 2 * FREQUENCIES; ++part) parts[slice][part][lane] = sums[part];
        __syncthreads();
        double sum = 0.0;
#pragma unroll
        for (int from = 0; from < SLICES; ++from) sum += parts[from][slice][lane];
        if (number < numbers && slice < 2 * some)
            found[2 * (((size_t)antenna * frequencies + first + slice / 2) * numbers + number) + slice % 2] = sum;
        __syncthreads();
    }
}

// Sum of sign Re E* H over pairs of a spectrum's numbers, a block a row. pairs: places of E and of H, sign, (3, pairs).
extern "C" __global__ void flux(const double* spectra, int numbers, const int* pairs, int count, double* found) {
    __shared__ double sums[THREADS];
    const double* const own = &spectra[2 * (size_t)blockIdx.x * numbers];
    double sum = 0.0;
    for (int pair = threadIdx.x; pair < count; pair += THREADS) {
        const double* const e = &own[2 * pairs[pair]];
        const double* const h = &own[2 * pairs[count + pair]];
        sum += pairs[2 * count + pair] * (e[0] * h[0] + e[1] * h[1]);
    }
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) found[blockIdx.x] = sums[0];
}
