// Depth of points in bodies, m, positive inside: the level sets of fdtd/axisymmetric/scene.py and polygons.py.
//
// heads: five numbers a body: kind, then of a polygon its corners and groups, whether all antennas share it, and where
// the body's numbers start in `numbers`. A box has 4 arrays there, a cone's wall 5, a capped cylinder 2, a sector and a
// rod 4, each of one number an antenna. A polar profile, of as many pieces as its head has corners, has the step of its
// knots and then coefficients (power, piece, antenna). A polygon has its edges (11 numbers each: start r, z, step r, z,
// 1 over the squared length, normal r, z, that of the edge before and of the edge after), then boxes of its groups (4
// numbers each).
//
// Compiled without fused multiply-adds, each has the bits of its function in NumPy. Calls that are not inlined keep the
// compiler's time short.

enum Kind { BOX, CONE_WALL, POLYGON, CAPPED_CYLINDER, POLAR_PROFILE, SECTOR, ROD };

#define HEAD 5        // numbers of a body in heads
#define EDGE 11       // numbers of an edge
#define SHARP -0.5    // dot product of the normals at a corner of 60 degrees
#define NOTHING -1.0  // depth in a polygon without edges
#define ALL_LANES 0xffffffffu

__device__ inline double depth_at_edge(const double* at, double r, double z) {
    double x = r - at[0], y = z - at[1];
    const double dr = at[2], dz = at[3], n_r = at[5], n_z = at[6];
    const double along = (x * dr + y * dz) * at[4], plane = x * n_r + y * n_z;
    const bool at_end = along >= 1.0;
    if (!(along <= 0.0 || at_end)) return plane;
    const double other_r = at_end ? at[9] : at[7], other_z = at_end ? at[10] : at[8];
    if (at_end) x = x - dr, y = y - dz;
    const double beyond = x * other_r + y * other_z;
    const double turn = at_end ? n_r * other_z - n_z * other_r : other_r * n_z - other_z * n_r;
    const bool convex = turn > 0;
    if (n_r * other_r + n_z * other_z < SHARP) return (convex ? -1.0 : 1.0) * sqrt(x * x + y * y);
    return convex ? fmin(plane, beyond) : fmax(plane, beyond);
}

__device__ inline double depth_in_polygon(
    const double* edges, const double* boxes, int corners, int groups, double r, double z) {
    const int size = (corners + groups - 1) / groups;
    double best = 1.0 / 0.0;
    int nearest = -1;
    r = fabs(r);
    for (int group = 0; group < groups; ++group) {
        const double* const box = &boxes[4 * group];
        const double off_r = fmax(fmax(box[0] - r, r - box[1]), 0.0);
        const double off_z = fmax(fmax(box[2] - z, z - box[3]), 0.0);
        if (off_r * off_r + off_z * off_z > best * (1 + 1e-12)) continue;
        const int last = min((group + 1) * size, corners);
        for (int edge = group * size; edge < last; ++edge) {
            const double* const at = &edges[EDGE * edge];
            if (at[4] == 0.0) continue;
            const double x = r - at[0], y = z - at[1];
            const double along = fmin(fmax((x * at[2] + y * at[3]) * at[4], 0.0), 1.0);
            const double off_x = x - along * at[2], off_y = y - along * at[3];
            const double squared = off_x * off_x + off_y * off_y;
            if (squared < best) best = squared, nearest = edge;
        }
    }
    return nearest < 0 ? NOTHING : depth_at_edge(&edges[EDGE * nearest], r, z);
}

__device__ inline double depth_in_profile(
    const double* own, int pieces, int antenna, int antennas, double r, double z) {
    const double step = own[0], theta = fmin(fmax(atan2(r, z), 0.0), 1.5707963267948966);
    const int piece = min((int)(theta / step), pieces - 1);
    const double* const at = &own[1 + (size_t)piece * antennas + antenna];
    const size_t next = (size_t)pieces * antennas;
    const double t = theta - piece * step, c3 = at[0], c2 = at[next], c1 = at[2 * next], c0 = at[3 * next];
    const double radius = ((c3 * t + c2) * t + c1) * t + c0, slope = (3 * c3 * t + 2 * c2) * t + c1;
    const double turn = slope / radius;
    return fmin((radius - sqrt(r * r + z * z)) / sqrt(1 + turn * turn), z);
}

// Behind both rays' lines, as in a polygon's corner; all or nothing is 1 m deep.
__device__ inline double depth_in_sector(double x, double y, double start, double width) {
    if (width > 2 * 3.141592653589793 - 1e-6) return 1.0;
    if (width < 1e-6) return -1.0;
    const double after = y * cos(start) - x * sin(start), before = x * sin(start + width) - y * cos(start + width);
    return width <= 3.141592653589793 + 1e-6 ? fmin(after, before) : fmax(after, before);
}

__device__ __noinline__ double depth_in(
    const int* head, const double* numbers, int antenna, int antennas, double r, double z) {
    const double* const own = &numbers[head[4]];
    if (head[0] == POLYGON) {
        const int corners = head[1], groups = head[2], of = head[3] ? 0 : antenna, polygons = head[3] ? 1 : antennas;
        const double* const boxes = &own[(size_t)EDGE * corners * polygons];
        return depth_in_polygon(
            &own[(size_t)EDGE * corners * of], &boxes[4 * groups * of], corners, groups, r, z);
    }
    if (head[0] == POLAR_PROFILE) return depth_in_profile(own, head[1], antenna, antennas, r, z);
    const double* const at = &own[antenna];
    const int next = antennas;
    if (head[0] == SECTOR) return depth_in_sector(r - at[0], z - at[next], at[2 * next], at[3 * next]);
    if (head[0] == ROD) {
        const double tip = at[next], below = at[2 * next] - z, slope = (at[0] - tip) / at[3 * next];
        const double cone = (tip + slope * below - r) / sqrt(1 + slope * slope);
        return fmin(fmin(at[0] - r, cone), fmin(z, below));
    }
    if (head[0] == CAPPED_CYLINDER) {
        const double above = fmax(z - at[next], 0.0);
        return fmin(at[0] - sqrt(r * r + above * above), z);
    }
    if (head[0] == BOX) {
        const double radial = fmin(r - at[0], at[next] - r), axial = fmin(z - at[2 * next], at[3 * next] - z);
        return fmin(radial, axial);
    }
    const double slope = at[next], outer_slope = at[3 * next];
    const double inner = (r - at[0] - slope * z) / sqrt(1 + slope * slope);
    const double outer = (at[2 * next] + outer_slope * z - r) / sqrt(1 + outer_slope * outer_slope);
    return fmin(fmin(inner, outer), fmin(z, at[4 * next] - z));
}

// Depth in the nearest of several bodies.
__device__ __noinline__ double deepest(
    const int* heads, int bodies, const double* numbers, int antenna, int antennas, double r, double z) {
    double found = depth_in(heads, numbers, antenna, antennas, r, z);
    for (int body = 1; body < bodies; ++body)
        found = fmax(found, depth_in(&heads[HEAD * body], numbers, antenna, antennas, r, z));
    return found;
}
