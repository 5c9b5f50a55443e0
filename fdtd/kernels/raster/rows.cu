// Media of a batch as its steppers read them: what `_add_media` of fdtd/backends/cuda/packing.py does with arrays, in
// one launch. Settings: REAL. Compiled without fused multiply-adds, with the bits of NumPy.

#define WARPS 4  // of a block, a row each
#define ALL_LANES 0xffffffffu

// Stored rows have `pitch` columns, `lead` of them before the axis; columns without a cell are 0.
// permittivity, conductivity: (antennas, 3, nz, nr). open_length, open_area: the same, or of one for all (each 0).
// coupling: (antennas, nz, nr) or null. lossy: loss factor times permittivity over conductivity.
// media: ca and cb, (antennas, nz, 6, pitch). faces: 1 / open_area, (antennas, nz, 3, pitch), or null.
// words: last column that is filled, flags, and whole `unit`s of columns before the first, at most `most`, from bit
// `start` on, (antennas, nz + 1); into_radial: the flag of a row filled beyond `inner`.
extern "C" __global__ void rows_of_media(
    int nr, int nz, int lead, int pitch, int inner, int each_length, int each_area, double lossy,
    const double* permittivity, const double* conductivity, const double* open_length, const double* open_area,
    const double* coupling, int into_radial, int if_cut, int if_coupled, int if_lossy, int start, int unit, int most, REAL* media, REAL* faces, int* words) {
    const int k = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32, antenna = blockIdx.y;
    if (k >= nz) return;
    const size_t plane = (size_t)nz * nr, row = (size_t)antenna * nz + k;
    int last = 0, before = pitch;
    bool cut = false, coupled = false, loses = false;
    for (int first = 0; first < pitch; first += 32) {
        const int stored = first + lane, i = stored - lead;
        const bool cell = i >= 0 && i < nr && stored < pitch;
        bool filled = false;
        for (int component = 0; component < 3; ++component) {
            double ca = 0.0, cb = 0.0, over_area = 0.0;
            if (cell) {
                const size_t here = component * plane + (size_t)k * nr + i, own = 3 * plane * antenna + here;
                const double eps = permittivity[own], loss = conductivity[own] * lossy / eps;
                const double area = open_area[(each_area ? 3 * plane * antenna : 0) + here];
                ca = (1 - loss) / (1 + loss);
                cb = open_length[(each_length ? 3 * plane * antenna : 0) + here] / (eps * (1 + loss));
                over_area = 1 / area;
                filled = filled || ca != 1 || cb != 1 || area != 1, cut = cut || area != 1, loses = loses || ca != 1;
            }
            if (stored < pitch) {
                media[(row * 6 + component) * pitch + stored] = (REAL)ca;
                media[(row * 6 + 3 + component) * pitch + stored] = (REAL)cb;
                if (faces) faces[(row * 3 + component) * pitch + stored] = (REAL)over_area;
            }
        }
        if (coupling && cell && coupling[antenna * plane + (size_t)k * nr + i] != 0) filled = coupled = true;
        const unsigned all = __ballot_sync(ALL_LANES, filled);
        if (all) last = first + 32 - __clz(all) - lead, before = min(before, first + __ffs(all) - 1);
    }
    cut = __ballot_sync(ALL_LANES, cut) != 0, coupled = __ballot_sync(ALL_LANES, coupled) != 0;
    loses = __ballot_sync(ALL_LANES, loses) != 0;
    if (lane == 0)
        words[(size_t)antenna * (nz + 1) + k] = (last > 0 ? last + lead : 0) | (last > inner ? into_radial : 0) |
                                               (cut ? if_cut : 0) | (coupled ? if_coupled : 0) | (loses ? if_lossy : 0) |
                                               (last > 0 ? min(before / unit, most) << start : 0);
}
