// Parameters of the kernels of stencils in space, in a closed box, and the accessor of one cell.
//
// The host builds the same structure from this text (fdtd/backends/cuda/text.py), so a line holds one member.
// `real` is float or double. Planes are [nz, ny, nx], x fastest.
#ifndef REAL
#error "REAL must be float or double"
#endif
typedef REAL real;

// 1 in an ablation: numbers are moved as usual, and none is changed.
#ifndef MOVE_ONLY
#define MOVE_ONLY 0
#endif

struct Parameters {
    // [Stencil::PLANES, nz, ny, nx], with numbers before them that cells at the near walls read and do not use
    real *state;
    // [Stencil::COEFFICIENTS, nz, ny, nx]
    const real *coefficients;
    // Inverse distances along the axes, [spacings, longest]
    const real *spacings;
    int nx;
    int ny;
    int nz;
    int longest;
    // Weights of the heat equation: of the point, of its neighbours, of those one edge farther
    real own;
    real near;
    real far;
};

__constant__ Parameters P;

enum Derivative { NODE_X, HALF_X, NODE_Y, HALF_Y, NODE_Z, HALF_Z };

// Results of a phase for one cell, before they are stored.
struct Values {
    real at[4];
};

// One cell and its neighbours, in device memory.
struct Cell {
    int i, j, k;
    int parity;  // of the time step: which of two planes is the old one

    __device__ long long place(int which, int dk, int dj, int di) const {
        return (((long long)which * P.nz + k + dk) * P.ny + j + dj) * P.nx + i + di;
    }
    __device__ real &field(int plane, int dk = 0, int dj = 0, int di = 0) const { return P.state[place(plane, dk, dj, di)]; }
    __device__ real coefficient(int which, int dk = 0, int dj = 0, int di = 0) const {
        return __ldg(P.coefficients + place(which, dk, dj, di));
    }
    __device__ real spacing(int which, int at) const { return __ldg(P.spacings + which * P.longest + at); }
    // There are no layers here.
    __device__ real stretched(Derivative, int, real difference) const { return difference; }
    // Whether it has all cells before it that an update reads.
    __device__ bool after(int x, int y, int z) const { return i >= x && j >= y && k >= z; }
    // Not on the rim of the lattice.
    __device__ bool inner() const { return after(1, 1, 1) && i < P.nx - 1 && j < P.ny - 1 && k < P.nz - 1; }
};
