// Two cells of a row and their neighbours in registers, at one half step: the accessor of the stencil yee3d.
//
// X, Y, Z: whether they may lie in a layer along that axis. In a row along x, cells outside have zero filters.
#include "kernels/yee/two_cells.cuh"

template <int PHASE> struct Level {
    int i, j, k, at_z;
    const real *filter_z;
    real slope_x[2], slope_y, slope_z;
    real formed[3][2], read[3][2], beside_x[3], beside_y[3][2], beside_z[3][2];
    pair media_of[3][2];  // ca, cb
    Memories x, y, z;
};

template <int PHASE, int WHICH, bool X, bool Y, bool Z>
struct LevelCell : OneOfTwo<Level<PHASE>, PHASE, WHICH> {
    using OneOfTwo<Level<PHASE>, PHASE, WHICH>::OneOfTwo;

    __device__ real stretched(Derivative along, int which, real difference) const {
        Level<PHASE> &own = this->own;
        const bool in_x = along == NODE_X || along == HALF_X, in_y = along == NODE_Y || along == HALF_Y;
        if (in_x ? !X : in_y ? !Y : !Z) return difference;
        Memories &of = in_x ? own.x : in_y ? own.y : own.z;
        real &value = of.value[which][WHICH];
        value = of.b[in_x ? WHICH : 0] * value + rounded(of.c[in_x ? WHICH : 0], difference);
        return difference + value;
    }
};
