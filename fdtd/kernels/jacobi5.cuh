// Five-point sum: each inner cell becomes `weight` times the sum of itself and its four neighbours; the rim stays.
// See tmz.cuh for what a stencil is. Old and new values are two planes that change places every step.
struct Stencil {
    enum Plane { PLANES = 2, KEPT = 1 };
    enum Coefficient { COEFFICIENTS = 0 };
    enum { PHASES = 1, BACK = 0 };
    __device__ static constexpr int low(int) { return 1; }
    __device__ static constexpr int high(int) { return 1; }
    __device__ static constexpr int back(int) { return 0; }
    __device__ static int holds(int, int steps) { return steps & 1; }

    __device__ static real sum(real below, real left, real here, real right, real above) {
        return P.weight * ((below + ((left + here) + right)) + above);
    }

    template <int PHASE, class Here> __device__ static void update(const Here &c) {
        const int old = c.parity;
        const real here = c.field(old);
        c.field(1 - old) = c.inner() ? sum(c.field(old, -1), c.field(old, 0, -1), here, c.field(old, 0, 1), c.field(old, 1))
                                     : here;
    }
};
