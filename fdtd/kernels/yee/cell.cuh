// Two cells of a row of an antenna's lattice and their neighbours: the accessor of the stencil yee3d.
//
// Settings: those of parameters.cuh. A thread goes up through the planes of its two columns and keeps what the next
// plane needs as well. All numbers of a plane are on their way before the first is used.
#include "kernels/yee/two_cells.cuh"

struct alignas(2 * sizeof(number)) Edges {
    number medium[2];
};
template <int PHASE> struct Columns {
    enum { FORMED = PHASE ? 0 : 3, READ = PHASE ? 3 : 0 };  // first component that the phase forms, and that it reads
    int i, j, k, pitch, plane, volume, longest;             // strides in numbers: of a row, a plane, a component
    int end_x, low_z, high_z, nz;
    int at_x[2], at_y, at_z;                                // entries of the layers' memories, or -1
    int row_x, row_y, row_z, apart_x, apart_y, apart_z;     // strides of memories: of a plane or entry, of a memory
    real *here, *psi_x, *psi_y, *psi_z;
    const number *media;
    const real *axes;
    const pair *factors;
    real slope_x[2], slope_y, slope_z;
    real formed[3][2], read[3][2], beside_x[3], beside_y[3][2], beside_z[3][2];
    Memories x, y, z;
    pair media_of[3][2];  // ca, cb

    __device__ Columns(int antenna, int column, int row, int first) : i(column), j(row), k(first) {
        const int nx = count(antenna, NX), ny = count(antenna, NY);
        nz = count(antenna, NZ), end_x = count(antenna, END_X), longest = count(antenna, LONGEST);
        pitch = count(antenna, PITCH), plane = (ny + 2) * pitch, volume = (nz + 2) * plane;
        const int low_x = count(antenna, LOW_X), high_x = count(antenna, HIGH_X);
        const int low_y = count(antenna, LOW_Y), high_y = count(antenna, HIGH_Y);
        low_z = count(antenna, LOW_Z), high_z = count(antenna, HIGH_Z);
        row_x = (ny + 1) * slots(low_x, high_x), row_y = slots(low_y, high_y) * pitch, row_z = (ny + 1) * pitch;
        apart_x = (nz + 1) * row_x, apart_y = (nz + 1) * row_y, apart_z = slots(low_z, high_z) * row_z;
        at_x[0] = slot(i, nx, low_x, high_x), at_x[1] = i + 1 < end_x ? slot(i + 1, nx, low_x, high_x) : -1;
        at_y = slot(j, ny, low_y, high_y);
        const int at = k * plane + j * pitch + i;
        here = P.fields + start(antenna, FIELDS) + at, media = P.media + start(antenna, MEDIA) + at;
        psi_x = P.psi_x + start(antenna, PSI_X) + (2 * PHASE * apart_x + k * row_x + j * slots(low_x, high_x));
        psi_y = P.psi_y + start(antenna, PSI_Y) + (2 * PHASE * apart_y + k * row_y + at_y * pitch + i);
        psi_z = P.psi_z + start(antenna, PSI_Z) + (2 * PHASE * apart_z + j * pitch + i);
        axes = P.axes + start(antenna, AXES_AT) + 9 * PHASE * longest;
        factors = reinterpret_cast<const pair *>(P.factors + start(antenna, FACTORS));
        slope_y = __ldg(filter(0) + j);
        slope_x[0] = __ldg(filter(2) + i), slope_x[1] = i + 1 < longest ? __ldg(filter(2) + i + 1) : 0;
        for (int c = 0; c < 2; ++c) load(PHASE ? beside_z[c] : read[c], here + (READ + c) * volume - PHASE * plane);
    }
    // Filter of one of the phase's spacings: 0 along y, 1 along z, 2 along x.
    __device__ const real *filter(int along) const { return axes + along * 3 * longest; }

    // Starts to read all that a plane needs.
    __device__ void fetch() {
        constexpr int SIDE = PHASE ? -1 : 1;
        const real *from = here + READ * volume;
        for (int c = 0; c < 3; ++c) {
            load(formed[c], here + (FORMED + c) * volume);
            if (PHASE || c == 2) load(read[c], from + c * volume);
            if (!PHASE && c < 2) load(beside_z[c], from + c * volume + plane);
            if (c != 1) load(beside_y[c], from + c * volume + SIDE * pitch);
            if (c) beside_x[c] = from[c * volume + (PHASE ? -1 : 2)];
        }
        slope_z = __ldg(filter(1) + k), at_z = slot(k, nz, low_z, high_z);
        for (int cell = 0; cell < 2; ++cell)
            if (at_x[cell] >= 0) {
                for (int w = 0; w < 2; ++w) x.value[w][cell] = psi_x[w * apart_x + at_x[cell]];
                x.load_filter(filter(2) + i + cell, longest, cell);
            }
        if (at_y >= 0) {
            for (int w = 0; w < 2; ++w) load(y.value[w], psi_y + w * apart_y);
            y.load_filter(filter(0) + j, longest, 0);
        }
        if (at_z >= 0) {
            for (int w = 0; w < 2; ++w) load(z.value[w], psi_z + at_z * row_z + w * apart_z);
            z.load_filter(filter(1) + k, longest, 0);
        }
        if (PHASE)
            for (int c = 0; c < 3; ++c) {
                const Edges edges = *reinterpret_cast<const Edges *>(media + c * volume);
                for (int cell = 0; cell < 2; ++cell) media_of[c][cell] = __ldg(factors + edges.medium[cell]);
            }
    }
    // Stores what was formed, and goes to the next plane.
    __device__ void next() {
        for (int c = 0; c < 3; ++c) keep(here + (FORMED + c) * volume, formed[c]);
        for (int w = 0; w < 2; ++w) {
            for (int cell = 0; cell < 2; ++cell)
                if (at_x[cell] >= 0) psi_x[w * apart_x + at_x[cell]] = x.value[w][cell];
            if (at_y >= 0) keep(psi_y + w * apart_y, y.value[w]);
            if (at_z >= 0) keep(psi_z + at_z * row_z + w * apart_z, z.value[w]);
            for (int cell = 0; cell < 2; ++cell)
                if (PHASE) beside_z[w][cell] = read[w][cell];
                else read[w][cell] = beside_z[w][cell];
        }
        ++k, here += plane, media += plane, psi_x += row_x, psi_y += row_y;
    }
};

// One of the two cells.
template <int PHASE, int WHICH> struct Cell : OneOfTwo<Columns<PHASE>, PHASE, WHICH> {
    using OneOfTwo<Columns<PHASE>, PHASE, WHICH>::OneOfTwo;

    __device__ real stretched(Derivative along, int which, real difference) const {
        Columns<PHASE> &own = this->own;
        const bool in_x = along == NODE_X || along == HALF_X, in_y = along == NODE_Y || along == HALF_Y;
        if ((in_x ? own.at_x[WHICH] : in_y ? own.at_y : own.at_z) < 0) return difference;
        Memories &of = in_x ? own.x : in_y ? own.y : own.z;
        real &value = of.value[which][WHICH];
        value = of.b[in_x ? WHICH : 0] * value + of.c[in_x ? WHICH : 0] * difference;
        return difference + value;
    }
};
