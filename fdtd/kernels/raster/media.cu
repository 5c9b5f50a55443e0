// Permittivity of dielectric bodies on the lattice and around rims: what fdtd/axisymmetric/media.py and rim_media.py do
// with arrays, one launch each. Macros from media.py: SUBCELLS, a cell's along each side; CELLS of a block of
// `effective_permittivity`.
//
// Later bodies take their part of each subcell first. Complex numbers are divided as NumPy does.
#include "kernels/raster/level_sets.cuh"

#define PARTS (SUBCELLS * SUBCELLS)

struct Complex {
    double re, im;
};

__device__ Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__device__ Complex operator*(double a, Complex b) { return {a * b.re, a * b.im}; }
__device__ Complex operator/(double a, Complex b) {
    if (fabs(b.re) >= fabs(b.im)) {
        const double ratio = b.im / b.re, scale = 1.0 / (b.re + b.im * ratio);
        return {a * scale, -(a * ratio) * scale};
    }
    const double ratio = b.re / b.im, scale = 1.0 / (b.im + b.re * ratio);
    return {a * ratio * scale, -a * scale};
}

// Level sets of a batch, with permittivity and loss tangent, (bodies, antennas) each; null for metal.
struct Bodies {
    const int* heads;
    int count;
    const double* numbers;
    int antennas;
    const double *permittivity, *loss_tangent;

    __device__ double depth(int body, int antenna, double r, double z) const {
        return depth_in(&heads[HEAD * body], numbers, antenna, antennas, r, z);
    }
    __device__ Complex inside(int body, int antenna) const {
        const double value = permittivity[body * antennas + antenna];
        return {value, value * -loss_tangent[body * antennas + antenna]};
    }
};

// As NumPy adds up rows of a multiple of 8 numbers.
__device__ double sum(const double* each) {
    double sums[8];
    for (int part = 0; part < PARTS; ++part) sums[part % 8] = part < 8 ? each[part] : sums[part % 8] + each[part];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Part of each subcell round (r, z) inside a body, and the surface's normal.
__device__ __noinline__ void cut(
    const Bodies& bodies, int body, int antenna, double r, double z, double d, double* share, double& n_r,
    double& n_z) {
    double along_r[PARTS], along_z[PARTS];
    for (int part = 0; part < PARTS; ++part) {
        const double dr = ((part % SUBCELLS + 0.5) / SUBCELLS - 0.5) * d;
        const double dz = ((part / SUBCELLS + 0.5) / SUBCELLS - 0.5) * d;
        share[part] = bodies.depth(body, antenna, fabs(r + dr), z + dz);
        along_r[part] = share[part] * dr, along_z[part] = share[part] * dz;
    }
    const double slope_r = sum(along_r), slope_z = sum(along_z), size = hypot(slope_r, slope_z);
    n_r = size > 0 ? slope_r / size : slope_r, n_z = size > 0 ? slope_z / size : 1.0;
    const double extent = (fabs(n_r) + fabs(n_z)) * d / SUBCELLS;
    for (int part = 0; part < PARTS; ++part) share[part] = fmin(fmax(0.5 + share[part] / extent, 0.0), 1.0);
}

// <1/eps> and <eps> of the cell round a point, and the normal of the surface that cuts most of it.
struct Mixture {
    Complex harmonic, mean;
    double n_r, n_z;

    // Of the component along r (0), phi (1) or z (2).
    __device__ Complex permittivity(int component) const {
        const double across = component == 0 ? n_r * n_r : component == 1 ? 0.0 : n_z * n_z;
        return 1.0 / (across * harmonic + (1 - across) / mean);
    }
};

// Metal takes no part: `metal` without bodies where none may touch.
__device__ __noinline__ Mixture mixed(
    const Bodies& bodies, const Bodies& metal, int antenna, double r, double z, double d) {
    double share[PARTS], taken[PARTS], free[PARTS], along_r, along_z;
    for (int part = 0; part < PARTS; ++part) taken[part] = 0.0, free[part] = 1.0;
    for (int body = 0; body < metal.count; ++body) {
        cut(metal, body, antenna, r, z, d, share, along_r, along_z);
        for (int part = 0; part < PARTS; ++part) free[part] = fmin(free[part], 1.0 - share[part]);
    }
    if (!(sum(free) > 1e-6))
        for (int part = 0; part < PARTS; ++part) free[part] = 1.0;
    const double all = sum(free);
    Mixture found{{0.0, 0.0}, {0.0, 0.0}, 0.0, 0.0};
    double air = 1.0, most = 0.0;
    for (int body = bodies.count - 1; body >= 0; --body) {
        cut(bodies, body, antenna, r, z, d, share, along_r, along_z);
        for (int part = 0; part < PARTS; ++part) {
            const double seen = fmin(share[part], 1 - taken[part]);
            taken[part] = taken[part] + seen, share[part] = seen * free[part];
        }
        const double part = sum(share) / all, weight = part * (1 - part);
        const Complex inside = bodies.inside(body, antenna);
        found.harmonic = part / inside + found.harmonic, found.mean = part * inside + found.mean, air = air - part;
        if (body + 1 == bodies.count || weight > most) found.n_r = along_r, found.n_z = along_z, most = weight;
    }
    found.harmonic = found.harmonic + Complex{air, 0.0}, found.mean = found.mean + Complex{air, 0.0};
    return found;
}

// Permittivity and conductivity, (antennas, 3, nz, nr), and coupling, (antennas, nz, nr) or null, of every node.
// boxes: first row, last row + 1 and last column + 1 in which each body is looked for, (bodies, 3). lossy: conductivity
// over the imaginary part.
//
// A block first gives its cells what they lie in. Components of those near a surface follow, a thread each, so that no
// thread waits for the few of its warp that have such a cell.
extern "C" __global__ void effective_permittivity(
    const int* heads, int bodies, const double* numbers, const double* materials, const int* boxes,
    const int* metal_heads, int metals, const double* metal_numbers, int nr, int nz, int origin, double cell,
    double lossy, double* permittivity, double* conductivity, double* coupling) {
    __shared__ int near_surface[CELLS], count;
    const int antenna = blockIdx.y, antennas = gridDim.y, cells = nz * nr;
    const Bodies solids{heads, bodies, numbers, antennas, materials, materials + (size_t)bodies * antennas};
    const Bodies metal{metal_heads, metals, metal_numbers, antennas, nullptr, nullptr};
    auto keep = [&](int component, int place, Complex value) {
        const size_t at = ((size_t)3 * antenna + component) * cells + place;
        permittivity[at] = value.re, conductivity[at] = lossy * value.im;
    };
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const int own = blockIdx.x * CELLS + threadIdx.x;
    if (own < cells) {
        const int k = own / nr, i = own % nr;
        Complex filling{1.0, 0.0};
        bool near = false;
        for (int body = 0; body < bodies; ++body) {
            if (k < boxes[3 * body] || k >= boxes[3 * body + 1] || i >= boxes[3 * body + 2]) continue;
            const double depth = solids.depth(body, antenna, i * cell, (k - origin) * cell);
            if (depth >= 2 * cell) filling = solids.inside(body, antenna);
            near = near || fabs(depth) < 2 * cell;
        }
        if (near) near_surface[atomicAdd(&count, 1)] = own;
        else
            for (int component = 0; component < 3; ++component) keep(component, own, filling);
        if (coupling) coupling[(size_t)antenna * cells + own] = 0.0;
    }
    __syncthreads();
    for (int item = threadIdx.x; item < 3 * count; item += CELLS) {
        const int place = near_surface[item / 3], component = item % 3, k = place / nr, i = place % nr;
        const double dr = component == 0 ? 0.5 : 0.0, dz = component == 2 ? 0.5 : 0.0;
        const Mixture here = mixed(solids, metal, antenna, (i + dr) * cell, (k - origin + dz) * cell, cell);
        keep(component, place, here.permittivity(component));
        if (component == 1 && coupling)
            coupling[(size_t)antenna * cells + place] =
                here.n_r * here.n_z * (here.harmonic.re - (1.0 / here.mean).re);
    }
}

// Part of each node's coupling with which the inverse permittivity is positive definite, times that coupling.
extern "C" __global__ void stable_coupling(
    int nr, int nz, const double* permittivity, const double* coupling, double* stable) {
    const int place = blockIdx.x * blockDim.x + threadIdx.x, k = place / nr, i = place % nr;
    if (place >= nz * nr) return;
    const size_t plane = (size_t)nz * nr;
    const double *const own = coupling + blockIdx.y * plane, *const eps = permittivity + 3 * blockIdx.y * plane;
    auto size = [&](int row, int column) { return fabs(own[(size_t)row * nr + column]); };
    auto keep = [&](double row, size_t at) { return 1 / fmax(row * eps[at], 1.0); };
    auto keep_r = [&](int column) {
        const double weighted = size(k, column) * column;
        const double row = column + 1 < nr ? (weighted + size(k, column + 1) * (column + 1)) / (2 * column + 1) : 0.0;
        return keep(row, (size_t)k * nr + column);
    };
    auto keep_z = [&](int row) {
        return keep(row + 1 < nz ? (size(row, i) + size(row + 1, i)) / 2 : 0.0, 2 * plane + (size_t)row * nr + i);
    };
    double kept = fmin(keep_r(i), keep_z(k));
    if (i > 0) kept = fmin(kept, keep_r(i - 1));
    if (k > 0) kept = fmin(kept, keep_z(k - 1));
    stable[blockIdx.y * plane + place] = own[place] * kept;
}

// Permittivity without loss at some distances (m) from each rim, (distances, rims, antennas, directions). corners: r,
// z, wall, opening, (4, rims, metals), metals 1 or the antennas; of `whole` directions every `every`-th from `start`.
extern "C" __global__ void seen_from_rims(
    const int* heads, int bodies, const double* numbers, const double* materials, int antennas, const double* corners,
    int rims, int metals, const double* distances, int count, int whole, int start, int every, int directions,
    double* found) {
    const int place = blockIdx.x * blockDim.x + threadIdx.x, antenna = blockIdx.y;
    const int direction = place % directions, rim = place / directions % rims, away = place / directions / rims;
    if (away >= count) return;
    const Bodies solids{heads, bodies, numbers, antennas, materials, nullptr};
    const int own = rim * metals + (metals == 1 ? 0 : antenna), size = rims * metals;
    const double step = corners[3 * size + own] / whole, off = distances[away];
    const double angle = corners[2 * size + own] + (start + every * direction + 0.5) * step;
    const double r = corners[own] + off * cos(angle), z = corners[size + own] + off * sin(angle);
    double value = 1.0;
    for (int body = bodies - 1; body >= 0; --body)
        if (solids.depth(body, antenna, r, z) > 0) {
            value = materials[body * antennas + antenna];
            break;
        }
    found[(((size_t)away * rims + rim) * antennas + antenna) * directions + direction] = value;
}

// Where what is seen, (rims and antennas, directions), changes: how many times, the last direction before each change,
// (.., most), and what is seen before and after, (.., most + 1). Of more than `most`, the first.
// One warp a row. Places beyond the count have the last direction and what is seen there.
extern "C" __global__ void borders(
    const double* seen, int rows, int directions, int most, int* counts, int* last, double* values) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const double* const own = &seen[(size_t)row * directions];
    int* const places = &last[(size_t)row * most];
    double* const found = &values[(size_t)row * (most + 1)];
    int count = 0;
    for (int first = 0; first + 1 < directions; first += 32) {
        const int here = first + lane;
        const bool changes = here + 1 < directions && own[here + 1] != own[here];
        const unsigned all = __ballot_sync(ALL_LANES, changes);
        const int place = count + __popc(all & ((1u << lane) - 1));
        if (changes && place < most) places[place] = here, found[place + 1] = own[here + 1];
        count += __popc(all);
    }
    for (int place = count + lane; place < most; place += 32)
        places[place] = directions - 1, found[place + 1] = own[directions - 1];
    if (lane == 0) counts[row] = count, found[0] = own[0];
}

// Permittivity of the edges along r and z round rims over what endless sectors would make of it, (2, rows, side, side):
// without metal. of: antenna, first column and first row of each row's window, (3, rows).
extern "C" __global__ void over_endless(
    const int* heads, int bodies, const double* numbers, const double* materials, int antennas,
    const int* sector_heads, int sectors, const double* sector_numbers, const double* sector_materials, const int* of,
    int rows, int side, int origin, double cell, double* ratios) {
    const int place = blockIdx.y * blockDim.x + threadIdx.x, row = blockIdx.x;  // rows may pass 65,535
    const int along_z = place / (side * side), k = place / side % side, i = place % side;
    if (along_z > 1) return;
    const Bodies solids{heads, bodies, numbers, antennas, materials, materials + (size_t)bodies * antennas};
    const Bodies endless{sector_heads, sectors, sector_numbers, rows, sector_materials,
                         sector_materials + (size_t)sectors * rows};
    const Bodies none{nullptr, 0, nullptr, 0, nullptr, nullptr};
    const double r = (of[rows + row] + i + (along_z ? 0.0 : 0.5)) * cell;
    const double z = (of[2 * rows + row] + k - origin + (along_z ? 0.5 : 0.0)) * cell;
    const double there = mixed(solids, none, of[row], r, z, cell).permittivity(2 * along_z).re;
    const double would_be = mixed(endless, none, row, r, z, cell).permittivity(2 * along_z).re;
    ratios[((size_t)(along_z * rows + row) * side + k) * side + i] = there / would_be;
}
