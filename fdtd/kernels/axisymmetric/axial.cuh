// Axial absorbing layers: the difference d along z becomes keep d + psi with psi <- b psi + c d once a step.

// Stretches one difference and advances its memory; `table` is 0 for differences of H, 3 for those of E.
__device__ inline real stretched(real *psi, real d, int table, int k) {
    const real *t = P.axial + table * P.nz + k;
    const real p = t[P.nz] * *psi + t[2 * P.nz] * d;
    *psi = p;
    return t[0] * d + p;
}
