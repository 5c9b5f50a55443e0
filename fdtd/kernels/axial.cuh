// Axial absorbing layers: the difference d along z becomes keep d + psi with psi <- b psi + c d once a step.

// Stretches one difference and advances its memory, from one place to another (nullptr: nowhere); `table` is 0 for
// differences of H, 3 for those of E.
__device__ inline real stretched(const real *from, real *to, real d, int table, int k) {
    const real *t = P.axial + table * P.nz + k;
    const real p = t[P.nz] * *from + t[2 * P.nz] * d;
    if (to) *to = p;
    return t[0] * d + p;
}
__device__ inline real stretched(real *psi, real d, int table, int k) { return stretched(psi, psi, d, table, k); }
