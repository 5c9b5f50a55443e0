// One cell of an antenna's lattice and its neighbours, in device memory: the accessor of the stencil yee3d.
//
// Settings: those of parameters.cuh. Numbers of a cell are on their way before the first is used: the text of a phase
// reads its fields first, and `prepare` the memories of the layers and the media.
#include "kernels/yee/parameters.cuh"

enum Derivative { NODE_X, HALF_X, NODE_Y, HALF_Y, NODE_Z, HALF_Z };

// Results of a phase for one cell, before they are stored.
struct Values {
    real at[4];
};

// What all cells of an antenna share.
struct Lattice {
    int nx, ny, nz, pitch, plane, volume;  // strides in numbers: of a row, a plane, a component
    int longest;
    int low_x, high_x, low_y, high_y, low_z, high_z;
    int slots_x, slots_y, slots_z;
    real *fields, *psi_x, *psi_y, *psi_z;
    const number *media;
    const real *factors, *axes;

    __device__ explicit Lattice(int antenna) {
        nx = count(antenna, NX), ny = count(antenna, NY), nz = count(antenna, NZ);
        pitch = count(antenna, PITCH), plane = (ny + 2) * pitch, volume = (nz + 2) * plane;
        longest = count(antenna, LONGEST);
        low_x = count(antenna, LOW_X), high_x = count(antenna, HIGH_X), slots_x = slots(low_x, high_x);
        low_y = count(antenna, LOW_Y), high_y = count(antenna, HIGH_Y), slots_y = slots(low_y, high_y);
        low_z = count(antenna, LOW_Z), high_z = count(antenna, HIGH_Z), slots_z = slots(low_z, high_z);
        fields = P.fields + start(antenna, FIELDS), media = P.media + start(antenna, MEDIA);
        psi_x = P.psi_x + start(antenna, PSI_X), psi_y = P.psi_y + start(antenna, PSI_Y);
        psi_z = P.psi_z + start(antenna, PSI_Z);
        factors = P.factors + start(antenna, FACTORS), axes = P.axes + start(antenna, AXES_AT);
    }
};

// Two memories of one kind of derivative, and its filter; none outside the layers.
struct Memories {
    real *first;
    int second;  // distance to the other
    real b, c, value[2];

    __device__ void load(real *at, int distance, const real *filter, int longest) {
        first = at, second = distance;
        value[0] = at[0], value[1] = at[distance];
        b = __ldg(filter + longest), c = __ldg(filter + 2 * longest);
    }
    __device__ real stretched(int which, real difference) const {
        if (!first) return difference;
        const real next = b * value[which] + c * difference;
        first[which * second] = next;
        return difference + next;
    }
};

template <int PHASE> struct Cell {
    const Lattice &own;
    int i, j, k;
    real *here;
    Memories x, y, z;
    int medium[3];

    __device__ Cell(const Lattice &lattice, int column, int row, int plane)
        : own(lattice), i(column), j(row), k(plane), here(lattice.fields + (k * lattice.plane + j * lattice.pitch + i)) {}

    // Starts to read what is no field.
    __device__ void prepare() {
        x.first = y.first = z.first = nullptr;
        const int at_x = slot(i, own.nx, own.low_x, own.high_x), at_y = slot(j, own.ny, own.low_y, own.high_y);
        const int at_z = slot(k, own.nz, own.low_z, own.high_z);
        if (at_x >= 0) {
            const int row = (own.ny + 1) * own.slots_x, all = (own.nz + 1) * row;
            x.load(own.psi_x + (2 * PHASE * all + k * row + j * own.slots_x + at_x), all, filter(2) + i, own.longest);
        }
        if (at_y >= 0) {
            const int row = own.slots_y * own.pitch, all = (own.nz + 1) * row;
            y.load(own.psi_y + (2 * PHASE * all + k * row + at_y * own.pitch + i), all, filter(0) + j, own.longest);
        }
        if (at_z >= 0) {
            const int row = (own.ny + 1) * own.pitch, all = own.slots_z * row;
            z.load(own.psi_z + (2 * PHASE * all + at_z * row + j * own.pitch + i), all, filter(1) + k, own.longest);
        }
        if (PHASE == 1)
            for (int c = 0; c < 3; ++c) medium[c] = __ldg(own.media + (c * own.volume + int(here - own.fields)));
    }
    // Filter of one of the phase's spacings: 0 along y, 1 along z, 2 along x.
    __device__ const real *filter(int along) const { return own.axes + (3 * PHASE + along) * 3 * own.longest; }

    __device__ real &field(int component, int dk = 0, int dj = 0, int di = 0) const {
        return here[component * own.volume + dk * own.plane + dj * own.pitch + di];
    }
    __device__ real coefficient(int which) const { return __ldg(own.factors + 2 * medium[which % 3] + which / 3); }
    __device__ real spacing(int which, int at) const { return __ldg(own.axes + which * 3 * own.longest + at); }
    __device__ real stretched(Derivative along, int which, real difference) const {
        const bool in_x = along == NODE_X || along == HALF_X, in_y = along == NODE_Y || along == HALF_Y;
        return (in_x ? x : in_y ? y : z).stretched(which, difference);
    }
    // What stands before the first cell is zero.
    __device__ bool after(int, int, int) const { return true; }
};
