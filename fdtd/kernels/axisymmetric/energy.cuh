// The energy of an antenna, in an order that depends on nothing else, and what follows from it.
//
// Rows are dealt out to LOOK_PARTS parts of LOOK_THREADS threads each. Threads add up their own values, a part adds up
// its threads by halves, and the antenna its parts in order, whatever kernel does so.
//
// Settings: those of parameters.cuh; COLUMNS_A_LANE, the columns of a row that a lane has, where ROW_PITCH is a
// constant.
#include "kernels/axisymmetric/parameters.cuh"

#define LOOK_THREADS 256
#define LOOK_PARTS 20

// Share of one number of a row: in matter energy is E D, and cb is the permittivity's inverse (0 in metal).
__device__ inline double energy_of(double value, double weight, double cb) {
    const double share = value * value * weight;
    return cb == 1 ? share : cb > 0 ? share / cb : 0.0;
}

// Share of one thread of a part. A lane loads its numbers of some components before it adds the first.
#define AT_A_TIME 3  // components
__device__ inline double energy_share(int antenna, int part, int thread) {
    const int warp = thread / 32, lane = thread % 32, warps = LOOK_THREADS / 32;
    double total = 0;
#pragma unroll 1
    for (int k = part * warps + warp; k < P.nz; k += LOOK_PARTS * warps) {
        const int reach = row_word(antenna, k) & ROW_REACH;
        const real *row = field(antenna, k, 0), *media = medium(antenna, k, 3);
#ifdef COLUMNS_A_LANE
#pragma unroll 1
        for (int component = 0; component < 6; component += AT_A_TIME) {
            real value[AT_A_TIME * COLUMNS_A_LANE], cb[AT_A_TIME * COLUMNS_A_LANE];
            const int here = component < 3 ? reach : 0;
#pragma unroll
            for (int n = 0; n < AT_A_TIME * COLUMNS_A_LANE; ++n) {
                const int j = lane + n % COLUMNS_A_LANE * 32, at = (component + n / COLUMNS_A_LANE) * ROW_PITCH + j;
                value[n] = j < ROW_PITCH ? row[at] : 0;
                cb[n] = j < here ? media[at] : 1;
            }
#pragma unroll
            for (int n = 0; n < AT_A_TIME * COLUMNS_A_LANE; ++n) {
                const int j = lane + n % COLUMNS_A_LANE * 32, at = (component + n / COLUMNS_A_LANE) * ROW_PITCH + j;
                if (j < ROW_PITCH) total += energy_of(value[n], P.weights[at], cb[n]);
            }
        }
#else
        for (int component = 0; component < 6; ++component)
#pragma unroll 4
            for (int j = lane; j < ROW_PITCH; j += 32) {
                const int at = component * ROW_PITCH + j;
                total += energy_of(row[at], P.weights[at], component < 3 && j < reach ? media[at] : 1);
            }
#endif
    }
    return total;
}

// Energy `now` after `step` steps over its largest so far; an antenna that has decayed, or is no longer finite, is
// done.
__device__ inline void judge_energy(int antenna, double now, int step) {
    const double before = P.energies[P.batch + antenna];
    const bool finite = now - now == 0;
    const double peak = finite && now > before ? now : before;
    const double ratio = finite && peak > 0 ? now / peak : 1.0;
    P.energies[antenna] = now, P.energies[P.batch + antenna] = peak, P.energies[2 * P.batch + antenna] = ratio;
    P.taken[antenna] = step;
    if (!finite || (step >= P.settled && ratio < P.decay)) P.active[antenna] = 0;
}
