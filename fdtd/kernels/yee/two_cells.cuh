// What accessors of the stencil yee3d have in common that keep two cells of a row and their neighbours in registers.
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

// Two memories of one kind of derivative, [which][cell], and its filter; all zero outside the layers.
struct Memories {
    real value[2][2], b[2], c[2];
    __device__ void load_filter(const real *filter, int longest, int cell) {
        b[cell] = __ldg(filter + longest), c[cell] = __ldg(filter + 2 * longest);
    }
};

// One of the two cells of `Own`, which has slopes, components that are formed and read, and media.
template <class Own, int PHASE, int WHICH> struct OneOfTwo {
    Own &own;
    int i, j, k;

    __device__ explicit OneOfTwo(Own &both) : own(both), i(both.i + WHICH), j(both.j), k(both.k) {}

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
    // What stands before the first cell is zero.
    __device__ bool after(int, int, int) const { return true; }
};
