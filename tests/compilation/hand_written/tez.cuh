// TE_z: h_z -= S/A (dx (l_y e_y) - dy (l_x e_x)), then eps de_x = S dy h_z, eps de_y = -S dx h_z with loss, and where
// nodes couple the two, a third phase that passes curls on (see fdtd/planar/problem.py). tmz.cuh defines a stencil.
#ifndef COUPLED
#error "COUPLED must be 1 or 0: whether any node has an off-diagonal inverse permittivity"
#endif
struct Stencil {
    enum Plane { H_Z, E_X, E_Y, KEPT, C_X = KEPT, C_Y, PLANES = KEPT + 2 * COUPLED };
    enum Coefficient { GAIN_H, LENGTH_X, LENGTH_Y, KEEP_X, KEEP_Y, GAIN_X, GAIN_Y, COUPLING, COEFFICIENTS = 7 + COUPLED };
    enum { PHASES = 2 + COUPLED, BACK = COUPLED, IDLE = 1 };
    __device__ static constexpr int low(int phase) { return phase >= 1; }
    __device__ static constexpr int high(int phase) { return phase == 0 || phase == 2; }
    __device__ static constexpr int back(int phase) { return phase == 2; }
    __device__ static int holds(int plane, int) { return plane; }

    template <int PHASE, class Here> __device__ static void compute(const Here &c, Values &out) {
        if (MOVE_ONLY) {
            out.at[0] = c.field(PHASE == 0 ? H_Z : E_X);
            if (PHASE > 0) out.at[1] = c.field(E_Y), out.at[2] = out.at[3] = 0;
        } else if (PHASE == 0) {
            const real across = c.coefficient(LENGTH_Y, 0, 1) * c.field(E_Y, 0, 1) - c.coefficient(LENGTH_Y) * c.field(E_Y);
            const real along = c.coefficient(LENGTH_X, 1) * c.field(E_X, 1) - c.coefficient(LENGTH_X) * c.field(E_X);
            const real curl = c.stretched(HALF_X, across) - c.stretched(HALF_Y, along);
            out.at[0] = c.field(H_Z) + c.coefficient(GAIN_H) * curl;
        } else if (PHASE == 1) {
            const real h = c.field(H_Z), gain_x = c.coefficient(GAIN_X), gain_y = c.coefficient(GAIN_Y);
            const real curl_x = c.stretched(NODE_Y, h - c.field(H_Z, -1));
            const real curl_y = -c.stretched(NODE_X, h - c.field(H_Z, 0, -1));
            out.at[0] = c.coefficient(KEEP_X) * c.field(E_X) + gain_x * curl_x;
            out.at[1] = c.coefficient(KEEP_Y) * c.field(E_Y) + gain_y * curl_y;
            out.at[2] = gain_x != real(0) ? curl_x : real(0);  // closed segments pass nothing on
            out.at[3] = gain_y != real(0) ? curl_y : real(0);
        } else {
#if COUPLED
            const real here = c.coefficient(COUPLING), right = c.coefficient(COUPLING, 0, 1);
            const real above = c.coefficient(COUPLING, 1);
            out.at[0] = c.field(E_X), out.at[1] = c.field(E_Y);
            if (c.coefficient(GAIN_X) != real(0))
                out.at[0] += here * (c.field(C_Y) + c.field(C_Y, -1)) + right * (c.field(C_Y, 0, 1) + c.field(C_Y, -1, 1));
            if (c.coefficient(GAIN_Y) != real(0))
                out.at[1] += here * (c.field(C_X) + c.field(C_X, 0, -1)) + above * (c.field(C_X, 1) + c.field(C_X, 1, -1));
#endif
        }
    }
    template <int PHASE, class Here> __device__ static void store(const Here &c, const Values &values) {
        if (PHASE == 0) {
            c.field(H_Z) = values.at[0];
            return;
        }
        c.field(E_X) = values.at[0], c.field(E_Y) = values.at[1];
#if COUPLED
        if (PHASE == 1) c.field(C_X) = values.at[2], c.field(C_Y) = values.at[3];
#endif
    }
};
