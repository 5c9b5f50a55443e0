// The axisymmetric update of one cell: the one text of its arithmetic (unknowns, equations:
// fdtd/axisymmetric/problem.py).
//
// Needs `real`, `P.order` (parameters.cuh) and `rounded` (intrinsics.cuh). No settings, no loops, no addresses.
// Provides differences along z, the curls of H and of E, both kinds of absorbing layer, the drives of a field by a
// curl, the source, the curls that coupled nodes pass on.
//
// A scheme gives the place of numbers by an accessor `Here`, one cell and its neighbours:
//     real field(Component c, int dk = 0, int di = 0) const
// is component c of row k + dk and column i + di. Needed are the cell itself; for curls of H h_r and h of the row below
// (dk = -1), h_z and h of the column before (di = -1); for curls of E e_r and e of the row above, e_z and e of the
// column after. All arguments are constants once loops are unrolled, so an accessor may select registers. Accessors:
// LaneCell (lanes.cuh), LayerHere (layer.cuh), StoredCell (schemes/one_step/cells.cuh).
//
// Each sum of two products marks the one that is not fused (`rounded`), so that every scheme rounds alike.
#ifndef REAL
#error "include parameters.cuh first: REAL must be set"
#endif

// As in memory.
enum Component { E_R, E_PHI, E_Z, H_R, H_PHI, H_Z };

// Differences along z of transverse components, which axial layers stretch: of H for E, of E for H.
template <class Here> __device__ inline real rise_of_h(const Here &c, Component which) {
    return c.field(which) - c.field(which, -1);
}
template <class Here> __device__ inline real rise_of_e(const Here &c, Component which) {
    return c.field(which, 1) - c.field(which);
}

// Curls of H, which drive e_r, e, e_z; `rise`: of h, of h_r, stretched where the row lies in an axial layer.
template <class Here> __device__ inline real curl_h_r(const Here &c, real rise) { return P.order * c.field(H_Z) - rise; }
template <class Here> __device__ inline real curl_h_phi(const Here &c, real rise) {
    return rise - (c.field(H_Z) - c.field(H_Z, 0, -1));
}
template <class Here> __device__ inline real curl_h_z(const Here &c) {
    return (c.field(H_PHI) - c.field(H_PHI, 0, -1)) - P.order * c.field(H_R);
}

// Curls of E, which drive h_r, h and, less, h_z; `rise`: of e, of e_r.
template <class Here> __device__ inline real curl_e_r(const Here &c, real rise) { return rise + P.order * c.field(E_Z); }
template <class Here> __device__ inline real curl_e_phi(const Here &c, real rise) {
    return (c.field(E_Z, 0, 1) - c.field(E_Z)) - rise;
}
template <class Here> __device__ inline real curl_e_z(const Here &c) {
    return (c.field(E_PHI, 0, 1) - c.field(E_PHI)) + P.order * c.field(E_R);
}

// Absorbing layers: x becomes keep x + psi with psi <- b psi + c x once a step. In axial layers x is a difference along
// z and keep 1/kappa, in the radial layer a curl and its gain; the curl along z has two memories there, added up.
__device__ inline real remembered(real psi, real b, real c, real x) { return b * psi + rounded(c, x); }
__device__ inline real stretched(real keep, real x, real psi) { return keep * x + psi; }

// A curl drives a field: f <- keep f + gain curl, with keep = 1 in air and for H; h_z loses it.
__device__ inline void drive(real &f, real gain, real curl) { f += gain * curl; }
__device__ inline void drive(real &f, real keep, real gain, real curl) { f = rounded(keep, f) + gain * curl; }
__device__ inline void drive_back(real &f, real gain, real curl) { f -= gain * curl; }

// A current of the source's profile.
__device__ inline void impress(real &e, real profile, real amplitude) { e -= profile * amplitude; }

// Curls that a node with r-z entry `x` (a quarter of it) of the inverse permittivity passes on: of both rows around it
// to e_r; of one column, with its gain, to e_z.
template <class Here> __device__ inline real passed_to_r(real x, const Here &above, const Here &below) {
    return x * (curl_h_z(above) + curl_h_z(below));
}
template <class Here> __device__ inline real passed_to_z(real gain, const Here &c) {
    return gain * curl_h_r(c, rise_of_h(c, H_PHI));
}
