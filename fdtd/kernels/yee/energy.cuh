// Energy of rows of an antenna's components, a lane's share: rows are numbered [component][k][j].
#include "kernels/yee/parameters.cuh"

#define LOOK_PARTS 64    // of an antenna's energy
#define ROWS_AT_A_TIME 4  // that a warp reads

struct EnergyRow {
    const real *fields;
    const number *media;
    const double *along, *permittivity;
    double area;
    bool electric;

    __device__ inline EnergyRow(int antenna, int row, int turn = 0) {
        const int ny = count(antenna, NY), nz = count(antenna, NZ);
        const int pitch = count(antenna, PITCH), longest = count(antenna, LONGEST);
        const double *lengths = P.lengths + start(antenna, LENGTHS);
        const int j = row % (ny + 1), k = row / (ny + 1) % (nz + 1), c = row / (ny + 1) / (nz + 1);
        electric = c < 3;
        const double *of[3];
        for (int axis = 0; axis < 3; ++axis) of[axis] = lengths + (2 * axis + (electric == (c % 3 == axis))) * longest;
        area = of[1][j] * of[2][k], along = of[0];
        const int plane = PLANES_TOGETHER ? 6 * k + c : c * (nz + 2) + k, of_media = PLANES_TOGETHER ? 3 * k + c : plane;
        const place row_size = pitch, plane_size = (ny + 2) * row_size;
        fields = fields_of(antenna, turn) + plane * plane_size + j * row_size;
        media = P.media + start(antenna, MEDIA) + (electric ? of_media * plane_size + j * row_size : 0);
        permittivity = P.permittivity + start(antenna, PERMITTIVITY);
    }
    __device__ inline double at(int i) const {
        const double value = fields[i];
        return (electric ? permittivity[media[i]] : 1.0) * area * along[i] * value * value;
    }
};

__device__ inline double energy_of_row(int antenna, int row, int lane) {
    const EnergyRow of(antenna, row);
    double total = 0;
    for (int i = lane; i <= count(antenna, NX); i += 32) total += of.at(i);
    return total;
}

// Adds rows `first`, `first + apart`, ... before `end` to a sum, one after the other, as `energy_of_row` has them.
__device__ inline double add_rows(int antenna, int first, int end, int apart, int lane, double sum, int turn = 0) {
    for (int row = first; row < end; row += ROWS_AT_A_TIME * apart) {
        double total[ROWS_AT_A_TIME] = {};
        const EnergyRow of[ROWS_AT_A_TIME] = {
            {antenna, row, turn},
            {antenna, min(row + apart, end - 1), turn},
            {antenna, min(row + 2 * apart, end - 1), turn},
            {antenna, min(row + 3 * apart, end - 1), turn},
        };
        for (int i = lane; i <= count(antenna, NX); i += 32)
            for (int which = 0; which < ROWS_AT_A_TIME; ++which) total[which] += of[which].at(i);
        for (int which = 0; which < ROWS_AT_A_TIME; ++which)
            if (row + which * apart < end) sum += total[which];
    }
    return sum;
}
