// Two cells of a row and their neighbours in registers, at one half step: the accessor of the stencil yee3d.
//
// X, Y, Z: whether they may lie in a layer along that axis. In a row along x, cells outside have zero filters.
#include "kernels/yee/parameters.cuh"

enum Derivative { NODE_X, HALF_X, NODE_Y, HALF_Y, NODE_Z, HALF_Z };

template <class Real> struct Wide;
template <> struct Wide<float> { typedef float2 pair; };
template <> struct Wide<double> { typedef double2 pair; };
typedef Wide<real>::pair pair;
__device__ inline void load(real *to, const real *from) {
    const pair both = *reinterpret_cast<const pair *>(from);
    to[0] = both.x, to[1] = both.y;
}
__device__ inline void keep(real *to, const real *from) { *reinterpret_cast<pair *>(to) = {from[0], from[1]}; }

// Results of a phase for one cell, before they are stored.
struct Values {
    real at[4];
};

// Two memories of one kind of derivative, [which][cell], and its filter.
struct Memories {
    real value[2][2], b[2], c[2];
};

template <int PHASE> struct Level {
    int i, j, k, at_z;
    const real *filter_z;
    real slope_x[2], slope_y, slope_z;
    real formed[3][2], read[3][2], beside_x[3], beside_y[3][2], beside_z[3][2];
    pair media_of[3][2];  // ca, cb
    Memories x, y, z;
};

template <int PHASE, int WHICH, bool X, bool Y, bool Z> struct LevelCell {
    Level<PHASE> &own;
    int i, j, k;

    __device__ explicit LevelCell(Level<PHASE> &level) : own(level), i(level.i + WHICH), j(level.j), k(level.k) {}

    __device__ real &field(int component, int dk = 0, int dj = 0, int di = 0) const {
        if (component / 3 != PHASE) return own.formed[component % 3][WHICH];
        const int c = component % 3;
        if (dk) return own.beside_z[c][WHICH];
        if (dj) return own.beside_y[c][WHICH];
        if (di) return WHICH == PHASE ? own.read[c][1 - WHICH] : own.beside_x[c];
        return own.read[c][WHICH];
    }
    __device__ real coefficient(int which) const {
        const pair of = own.media_of[which % 3][WHICH];
        return which < 3 ? of.x : of.y;
    }
    __device__ real spacing(int which, int) const {
        return which % 3 == 2 ? own.slope_x[WHICH] : which % 3 ? own.slope_z : own.slope_y;
    }
    __device__ real stretched(Derivative along, int which, real difference) const {
        const bool in_x = along == NODE_X || along == HALF_X, in_y = along == NODE_Y || along == HALF_Y;
        if (in_x ? !X : in_y ? !Y : !Z) return difference;
        Memories &of = in_x ? own.x : in_y ? own.y : own.z;
        real &value = of.value[which][WHICH];
        value = of.b[in_x ? WHICH : 0] * value + rounded(of.c[in_x ? WHICH : 0], difference);
        return difference + value;
    }
    // What stands before the first cell is zero.
    __device__ bool after(int, int, int) const { return true; }
};
