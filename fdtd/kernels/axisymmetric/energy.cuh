// The energy of an antenna, in an order that depends on nothing else, and what follows from it.
//
// Rows are dealt out to LOOK_PARTS parts of LOOK_THREADS threads each. Threads add up their own values, a part adds up
// its threads by halves, and the antenna its parts in order, whatever kernel does so.
//
// Settings: those of parameters.cuh.
#include "kernels/axisymmetric/parameters.cuh"

#define LOOK_THREADS 256
#define LOOK_PARTS 20

// Share of one thread of a part.
__device__ inline double energy_share(int antenna, int part, int thread) {
    const int warp = thread / 32, lane = thread % 32, warps = LOOK_THREADS / 32;
    double total = 0;
    for (int k = part * warps + warp; k < P.nz; k += LOOK_PARTS * warps) {
        const int reach = row_word(antenna, k) & ROW_REACH;
        const real *row = field(antenna, k, 0), *media = medium(antenna, k, 0);
        for (int component = 0; component < 6; ++component) {
            const int at = component * ROW_PITCH;
#pragma unroll 4
            for (int j = lane; j < ROW_PITCH; j += 32) {
                const double value = row[at + j];
                double share = value * value * P.weights[at + j];
                if (component < 3 && j < reach) {
                    const double cb = media[at + 3 * ROW_PITCH + j];
                    share = cb > 0 ? share / cb : 0.0;
                }
                total += share;
            }
        }
    }
    return total;
}

// Energy `now` after `step` steps over its largest so far; an antenna that has decayed, or is no longer finite, is done.
__device__ inline void judge_energy(int antenna, double now, int step) {
    const double before = P.energies[P.batch + antenna];
    const bool finite = now - now == 0;
    const double peak = finite && now > before ? now : before;
    const double ratio = finite && peak > 0 ? now / peak : 1.0;
    P.energies[antenna] = now, P.energies[P.batch + antenna] = peak, P.energies[2 * P.batch + antenna] = ratio;
    P.taken[antenna] = step;
    if (!finite || (step >= P.settled && ratio < P.decay)) P.active[antenna] = 0;
}
