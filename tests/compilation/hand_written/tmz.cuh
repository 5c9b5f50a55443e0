// TM_z: h_x -= S/l_y dy e_z, h_y += S/l_x dx e_z, then eps de_z = S (dx h_y - dy h_x) with loss (see
// fdtd/planar/problem.py).
//
// A stencil has PHASES that must follow each other everywhere. Phase p reads planes up to low(p) cells before and
// high(p) cells after its own and writes its own cell only; it can be done back(p) rows behind the first phase, at most
// BACK. The last IDLE rows and columns never change: walls and padding. A phase computes first and stores in a second
// part, so that the loads of several cells can be in flight at a time.
struct Stencil {
    enum Plane { E_Z, H_X, H_Y, PLANES, KEPT = PLANES };
    enum Coefficient { GAIN_X, GAIN_Y, KEEP, GAIN, COEFFICIENTS };
    enum { PHASES = 2, BACK = 0, IDLE = 1 };
    __device__ static constexpr int low(int phase) { return phase == 1; }
    __device__ static constexpr int high(int phase) { return phase == 0; }
    __device__ static constexpr int back(int) { return 0; }
    // The plane that holds a kept field after a number of steps.
    __device__ static int holds(int plane, int) { return plane; }

    template <int PHASE, class Here> __device__ static void compute(const Here &c, Values &out) {
        if (MOVE_ONLY) {
            out.at[0] = c.field(PHASE == 0 ? H_X : E_Z);
            if (PHASE == 0) out.at[1] = c.field(H_Y);
        } else if (PHASE == 0) {
            const real e = c.field(E_Z);
            const real dy = c.stretched(HALF_Y, c.field(E_Z, 1) - e), dx = c.stretched(HALF_X, c.field(E_Z, 0, 1) - e);
            out.at[0] = c.field(H_X) + c.coefficient(GAIN_X) * dy;
            out.at[1] = c.field(H_Y) + c.coefficient(GAIN_Y) * dx;
        } else {
            const real dx = c.stretched(NODE_X, c.field(H_Y) - c.field(H_Y, 0, -1));
            const real dy = c.stretched(NODE_Y, c.field(H_X) - c.field(H_X, -1));
            out.at[0] = c.coefficient(KEEP) * c.field(E_Z) + c.coefficient(GAIN) * (dx - dy);
        }
    }
    template <int PHASE, class Here> __device__ static void store(const Here &c, const Values &values) {
        if (PHASE == 0)
            c.field(H_X) = values.at[0], c.field(H_Y) = values.at[1];
        else
            c.field(E_Z) = values.at[0];
    }
};
