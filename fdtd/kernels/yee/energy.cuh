// Energy of one row of one component, a lane's share: rows are numbered [component][k][j].
#include "kernels/yee/parameters.cuh"

#define LOOK_PARTS 64  // of an antenna's energy

__device__ inline double energy_of_row(int antenna, int row, int lane) {
    const int nx = count(antenna, NX), ny = count(antenna, NY), nz = count(antenna, NZ);
    const int pitch = count(antenna, PITCH), longest = count(antenna, LONGEST);
    const real *fields = P.fields + start(antenna, FIELDS);
    const number *media = P.media + start(antenna, MEDIA);
    const double *permittivity = P.permittivity + start(antenna, PERMITTIVITY);
    const double *lengths = P.lengths + start(antenna, LENGTHS);
    const int j = row % (ny + 1), k = row / (ny + 1) % (nz + 1), c = row / (ny + 1) / (nz + 1);
    const bool electric = c < 3;
    const double *along[3];
    for (int axis = 0; axis < 3; ++axis) along[axis] = lengths + (2 * axis + (electric == (c % 3 == axis))) * longest;
    const double area = along[1][j] * along[2][k];
    const place at = ((place)(c * (nz + 2) + k) * (ny + 2) + j) * pitch;
    double total = 0;
    for (int i = lane; i <= nx; i += 32) {
        const double value = fields[at + i];
        total += (electric ? permittivity[media[at + i]] : 1.0) * area * along[0][i] * value * value;
    }
    return total;
}
