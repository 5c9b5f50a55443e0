// Five-point sum: each inner cell becomes `weight` times the sum of itself and its four neighbours; the rim stays.
// tmz.cuh defines a stencil. Old and new values are two planes that change places every step.
struct Stencil {
    enum Plane { PLANES = 2, KEPT = 1 };
    enum Coefficient { COEFFICIENTS = 0 };
    enum { PHASES = 1, BACK = 0, IDLE = 0 };
    __device__ static constexpr int low(int) { return 1; }
    __device__ static constexpr int high(int) { return 1; }
    __device__ static constexpr int back(int) { return 0; }
    __device__ static int holds(int, int steps) { return steps & 1; }

    // The part of the sum without the row above, and the rest; in two parts, so that every scheme adds alike.
    __device__ static real before(real below, real left, real here, real right) { return below + ((left + here) + right); }
    __device__ static real after(real known, real above) { return P.weight * (known + above); }

    template <int PHASE, class Here> __device__ static void compute(const Here &c, Values &out) {
        const int old = c.parity;
        out.at[0] = c.field(old);
        if (!MOVE_ONLY && c.inner())
            out.at[0] = after(before(c.field(old, -1), c.field(old, 0, -1), out.at[0], c.field(old, 0, 1)), c.field(old, 1));
    }
    template <int PHASE, class Here> __device__ static void store(const Here &c, const Values &values) {
        c.field(1 - c.parity) = values.at[0];
    }

    // One time level of a stream of rows, COUNT cells a lane: takes row j + 1 at the time before, gives row j at its
    // own.
    template <int COUNT> struct Level {
        real last[COUNT], known[COUNT];  // row j before; the part of its sum without the row above

        __device__ void clear() {
#pragma unroll
            for (int c = 0; c < COUNT; ++c) last[c] = known[c] = 0;
        }
        // `row` is input and output. RIM: where bit c of `fixed` is set, cell c stays.
        template <bool RIM> __device__ void pass(real (&row)[COUNT], unsigned fixed) {
            const real left = __shfl_up_sync(~0u, row[COUNT - 1], 1), right = __shfl_down_sync(~0u, row[0], 1);
            real out[COUNT];
#pragma unroll
            for (int c = 0; c < COUNT; ++c) {
                out[c] = MOVE_ONLY ? last[c] : after(known[c], row[c]);
                if (RIM && fixed >> c & 1) out[c] = last[c];
            }
#pragma unroll
            for (int c = 0; c < COUNT; ++c)
                known[c] = before(last[c], c > 0 ? row[c - 1] : left, row[c], c + 1 < COUNT ? row[c + 1] : right);
#pragma unroll
            for (int c = 0; c < COUNT; ++c) last[c] = row[c], row[c] = out[c];
        }
    };
};
