// Open parts of edges and faces around metal: what fdtd/axisymmetric/conductors.py does with arrays, in a few launches.
//
// One thread a node (row, column) of an antenna, blockIdx.y. Node arrays are (antennas, nz + 1, nr + 1), edges along r
// (antennas, nz + 1, nr), along z (antennas, nz, nr + 1), faces (antennas, 3, nz, nr). Lengths are in cells. Constants
// come as macros from conductors.py: PIECES, ON_WALL, UPRIGHT, SNAP, SNAP_SLANTED, AXIS_COLUMNS.
//
// Order of launches: nodes, take_over, then (edges, close_walls) for each closing pass, reach, cut_faces, raise_faces.
#include "kernels/raster/level_sets.cuh"

struct Metal {
    const int* heads;
    int bodies;
    const double* numbers;
    int antenna, antennas, origin;
    double cell;

    // In cells; a wall counts as inside.
    __device__ double depth(double r, double z) const {
        return deepest(heads, bodies, numbers, antenna, antennas, r, z) / cell + ON_WALL;
    }
};

#define OWN_METAL Metal{heads, bodies, numbers, (int)blockIdx.y, (int)gridDim.y, origin, cell}
#define PLACE(rows, columns) \
    const int place = blockIdx.x * blockDim.x + threadIdx.x, k = place / (columns), i = place % (columns); \
    if (place >= (rows) * (columns)) return; \
    const size_t antenna = blockIdx.y;

// How far beyond an open node a wall stands that it should take over, along r (dr = 1) or z; `upright` is set where
// the wall is straight.
__device__ __noinline__ double straight_wall(
    const Metal& metal, double node, double r, double z, double dr, double dz, double most, bool& upright) {
    const double step = 1e-3 * metal.cell, gap = -node;
    const double after = metal.depth(r + dr * step, z + dz * step);
    const double before = metal.depth(r - dr * step, z - dz * step);
    const double ahead = (after - node) / 1e-3, behind = (node - before) / 1e-3;
    double slope = (after - before) / 2e-3;
    if (!(fabs(slope) > UPRIGHT)) slope = fabs(ahead) > fabs(behind) ? ahead : behind;
    const bool straight = fabs(slope) > UPRIGHT;
    if (!straight) return 0.0;
    upright = true;
    const double way = slope > 0 ? 1.0 : -1.0, away = gap / fmax(fabs(slope), UPRIGHT);
    if (!(away < most)) return 0.0;
    const double at = (away * metal.cell + step) * way;
    return metal.depth(r + dr * at, z + dz * at) >= 0 ? away * way : 0.0;
}

extern "C" __global__ void nodes(
    const int* heads, int bodies, const double* numbers, int nr, int nz, int origin, double cell,
    double most_r, double most_z, double* node, double* wall_r, double* wall_z, unsigned char* upright) {
    PLACE(nz + 1, nr + 1)
    const Metal metal = OWN_METAL;
    const size_t at = antenna * (nz + 1) * (nr + 1) + place;
    const double r = i * cell, z = (k - origin) * cell, depth = metal.depth(r, z);
    double found_r = 0.0, found_z = 0.0;
    bool straight = false;
    if (depth < 0 && depth > -most_z) {
        found_r = straight_wall(metal, depth, r, z, 1.0, 0.0, most_r, straight);
        found_z = straight_wall(metal, depth, r, z, 0.0, 1.0, most_z, straight);
    }
    node[at] = depth, wall_r[at] = found_r, wall_z[at] = found_z, upright[at] = straight;
}

// Walls that their neighbours to both sides have too, and nodes that take over a wall.
extern "C" __global__ void take_over(
    int nr, int nz, double headroom, const double* node, const double* wall_r, const double* wall_z,
    const unsigned char* upright, double* taken, double* beyond_r, double* beyond_z) {
    PLACE(nz + 1, nr + 1)
    const int rows = nz + 1, columns = nr + 1;
    const size_t first = antenna * rows * columns, at = first + place;
    auto wall = [&](int row, int column) {
        const size_t there = first + (size_t)((row + rows) % rows) * columns + (column + columns) % columns;
        return wall_r[there] != 0 || wall_z[there] != 0 || node[there] >= 0;
    };
    const double along_r = wall(k - 1, i) && wall(k + 1, i) ? wall_r[at] : 0.0;
    const double along_z = wall(k, i - 1) && wall(k, i + 1) ? wall_z[at] : 0.0;
    const double snap = upright[at] || i < AXIS_COLUMNS ? SNAP : SNAP_SLANTED, depth = node[at];
    const bool near = depth < 0 && depth > -snap / headroom;
    taken[at] = along_r != 0 || along_z != 0 || near ? fmax(depth, 0.0) : depth;
    beyond_r[at] = along_r, beyond_z[at] = along_z;
}

// Open length of the edge between two nodes where the nodes say it; else -1: metal may lie between them.
__device__ double plain_length(double first, double last) {
    const bool both_open = first < 0 && last < 0;
    const bool plain = (first < 0) == (last < 0) && !(both_open && first + last > -1.0 - 1e-3);
    return plain ? (both_open ? 1.0 : 0.0) : -1.0;
}

static_assert(PIECES == 32, "each lane of a warp looks at one piece of an edge");

// Open length of an edge, and whether metal lies between open ends: by a whole warp, for few edges meet a wall, and a
// lane that walked along one by itself would keep 31 others waiting.
__device__ __noinline__ double open_length(
    const Metal& metal, double first, double last, int k, int i, bool along_r, bool& through) {
    const int lane = threadIdx.x % 32;
    const double step = (lane + 1) / double(PIECES);
    const double r = (i + (along_r ? step : 0.0)) * metal.cell;
    const double z = (k + (along_r ? 0.0 : step) - metal.origin) * metal.cell;
    const double b = lane + 1 == PIECES ? last : metal.depth(r, z);
    const double before = __shfl_up_sync(ALL_LANES, b, 1), a = lane == 0 ? first : before;
    const bool both_open = first < 0 && last < 0;
    through = both_open && __ballot_sync(ALL_LANES, b >= 0);
    const double gap = a != b ? a - b : 1.0;
    const double crossing = fmin(fmax(a < 0 ? a / gap : b / -gap, 0.0), 1.0);
    const double open = a < 0 && b < 0 ? 1.0 : a >= 0 && b >= 0 ? 0.0 : crossing;
    double sum = open;  // in the order in which NumPy adds up rows of a multiple of 8 numbers
    for (int eight = 8; eight < PIECES; eight += 8) sum += __shfl_down_sync(ALL_LANES, open, eight);
    for (int by = 1; by < 8; by *= 2) sum += __shfl_down_sync(ALL_LANES, sum, by);
    const double part = __shfl_sync(ALL_LANES, sum, 0) / PIECES;
    return both_open ? 1.0 : part > 1 - 2 * ON_WALL ? 1.0 : part;
}

// The same of each lane's own edge; all lanes of a warp take part.
__device__ double own_length(
    const Metal& metal, bool there, double first, double last, int k, int i, bool along_r, bool& through) {
    double length = there ? plain_length(first, last) : 0.0;
    through = false;
    for (unsigned left = __ballot_sync(ALL_LANES, length < 0); left; left &= left - 1) {
        const int from = __ffs(left) - 1;
        const double start = __shfl_sync(ALL_LANES, first, from), end = __shfl_sync(ALL_LANES, last, from);
        const int row = __shfl_sync(ALL_LANES, k, from), column = __shfl_sync(ALL_LANES, i, from);
        bool passed;
        const double found = open_length(metal, start, end, row, column, along_r, passed);
        if (int(threadIdx.x % 32) == from) length = found, through = passed;
    }
    return length;
}

// `changed`: whether the pass before took nodes of each antenna, (antennas,); null in the first pass.
extern "C" __global__ void edges(
    const int* heads, int bodies, const double* numbers, int nr, int nz, int origin, double cell,
    const int* changed, const double* node, double* e_r, double* e_z, unsigned char* through_r,
    unsigned char* through_z) {
    const int place = blockIdx.x * blockDim.x + threadIdx.x, k = place / (nr + 1), i = place % (nr + 1);
    const size_t antenna = blockIdx.y;
    if (changed && !changed[antenna]) return;
    const Metal metal = OWN_METAL;
    const bool has_r = k <= nz && i < nr, has_z = k < nz;
    const double* const own = &node[antenna * (nz + 1) * (nr + 1) + place];
    const double here = k <= nz ? own[0] : 0.0;
    auto put = [&](bool there, double last, bool along_r, size_t at, double* lengths, unsigned char* passed) {
        bool through;
        const double length = own_length(metal, there, here, last, k, i, along_r, through);
        if (there) lengths[at] = length, passed[at] = through;
    };
    put(has_r, has_r ? own[1] : 0.0, true, (antenna * (nz + 1) + k) * nr + i, e_r, through_r);
    put(has_z, has_z ? own[nr + 1] : 0.0, false, (antenna * nz + k) * (nr + 1) + i, e_z, through_z);
}

// Nodes that conduct so that no field gets past walls thinner than a cell; each looks at the edges and faces round it.
extern "C" __global__ void close_walls(
    int nr, int nz, const double* node, const unsigned char* through_r, const unsigned char* through_z, double* closed,
    int* changed) {
    PLACE(nz + 1, nr + 1)
    const int rows = nz + 1, columns = nr + 1;
    const double* const own = &node[antenna * rows * columns];
    auto depth = [&](int row, int column) { return own[row * columns + column]; };
    auto wall_r = [&](int row, int column) {
        row = (row + rows) % rows;
        return through_r[(antenna * rows + row) * nr + column] || depth(row, column) >= 0 ||
               depth(row, column + 1) >= 0;
    };
    auto wall_z = [&](int row, int column) {
        column = (column + columns) % columns;
        return through_z[(antenna * nz + row) * columns + column] || depth(row, column) >= 0 ||
               depth(row + 1, column) >= 0;
    };
    // Whether the nearer of two nodes, here the first or the last, is this one.
    auto nearer = [&](double first, double last, bool is_first) { return (first >= last) == is_first; };
    bool taken = false;
    for (int column = max(i - 1, 0); column <= min(i, nr - 1); ++column)
        if (through_r[(antenna * rows + k) * nr + column] && wall_r(k - 1, column) && wall_r(k + 1, column))
            taken = taken || nearer(depth(k, column), depth(k, column + 1), column == i);
    for (int row = max(k - 1, 0); row <= min(k, nz - 1); ++row)
        if (through_z[(antenna * nz + row) * columns + i] && wall_z(row, i - 1) && wall_z(row, i + 1))
            taken = taken || nearer(depth(row, i), depth(row + 1, i), row == k);
    for (int row = max(k - 1, 0); row <= min(k, nz - 1); ++row)
        for (int column = max(i - 1, 0); column <= min(i, nr - 1); ++column) {
            const double here = depth(row, column), right = depth(row, column + 1);
            const double above = depth(row + 1, column), beyond = depth(row + 1, column + 1);
            const bool diagonal = (here >= 0) == (beyond >= 0) && (above >= 0) == (right >= 0);
            const bool across = diagonal && (here >= 0) != (right >= 0);
            const bool rising = (row == k) == (column == i);  // this node is `here` or `beyond`
            if (!across || (here >= 0) == rising) continue;
            taken = taken || (rising ? nearer(here, beyond, row == k) : nearer(right, above, row == k));
        }
    const double before = depth(k, i);
    closed[antenna * rows * columns + place] = taken ? 0.0 : before;
    if (taken) changed[antenna] = 1;
}

// An edge that ends on a node in front of a straight wall reaches to the wall. first, last: of its nodes.
__device__ double reached(double length, double first, double last, double beyond_first, double beyond_last) {
    const double ahead = beyond_last > 0 && first < 0 ? beyond_last : 0.0;
    const double behind = beyond_first < 0 && last < 0 ? -beyond_first : 0.0;
    return (first >= 0) != (last >= 0) && ahead + behind > 0 ? 1.0 + ahead + behind : length;
}

extern "C" __global__ void reach(
    int nr, int nz, const double* node, const double* beyond_r, const double* beyond_z, double* e_r, double* e_z,
    double* lengths) {
    PLACE(nz + 1, nr + 1)
    const size_t at = antenna * (nz + 1) * (nr + 1) + place, size = (size_t)nz * nr;
    const size_t out = 3 * antenna * size + k * nr + i, up = at + nr + 1;
    if (i < nr) {
        double& length = e_r[(antenna * (nz + 1) + k) * nr + i];
        length = reached(length, node[at], node[at + 1], beyond_r[at], beyond_r[at + 1]);
        if (k < nz) lengths[out] = length;
    }
    if (k < nz) {
        double& length = e_z[(antenna * nz + k) * (nr + 1) + i];
        length = reached(length, node[at], node[up], beyond_z[at], beyond_z[up]);
        if (i < nr) lengths[out + 2 * size] = length;
    }
    if (i < nr && k < nz) lengths[out + size] = node[at] >= 0 ? 0.0 : 1.0;
}

// A face with one open node that walls leave a rectangle of, not a triangle: metal starts beyond its middle.
__device__ bool inner_corner(
    const Metal& metal, bool after, bool above, bool beyond, int k, int i, const double* low, const double* left,
    int nr) {
    const int open_right = !after || !beyond, open_above = !above || !beyond;
    const double along_r = low[open_above * nr], along_z = left[open_right];
    const int node_k = k + open_above, node_i = i + open_right;
    const double r = (node_i + (open_right ? -0.75 : 0.75) * along_r) * metal.cell;
    const double z = (node_k + (open_above ? -0.75 : 0.75) * along_z - metal.origin) * metal.cell;
    return metal.depth(r, z) < 0;
}

struct Face {
    double area, made, least;
    int ahead, upwards;
};

__device__ Face face(double area, double least, bool cut, int ahead, int upwards) {
    const double own = cut ? area : 1.0;
    return {own, cut ? fmax(own, least) : own, least, ahead, upwards};
}

// Areas of cut faces, raised to the least allowed; areas, made and least are (antennas, 3, nz, nr), ways int8 (.., 2).
extern "C" __global__ void cut_faces(
    const int* heads, int bodies, const double* numbers, int nr, int nz, int origin, double cell,
    double most_near, double most_far, const double* node, const double* e_r, const double* e_z, double* area,
    double* made, double* least, signed char* ways) {
    PLACE(nz, nr)
    const double* const own = &node[(antenna * (nz + 1) + k) * (nr + 1) + i];
    const bool here = own[0] >= 0, after = own[1] >= 0, above = own[nr + 1] >= 0, beyond = own[nr + 2] >= 0;
    const double* const lows = &e_r[(antenna * (nz + 1) + k) * nr + i];
    const double* const lefts = &e_z[(antenna * nz + k) * (nr + 1) + i];
    const double low = lows[0], high = lows[nr], left = lefts[0], right = lefts[1];
    const double most = i < AXIS_COLUMNS ? most_near : most_far, lowest = 1.0 / (2.0 * most), rest = 1.0 / most;
    const int corners = here + after + above + beyond;
    auto cuts = [](double edge) { return edge > 0 && edge != 1; };
    double part = 1.0;
    if (corners == 1) part = 1 - fmax(1 - fmin(low, high), 0.0) * fmax(1 - fmin(left, right), 0.0) / 2;
    if (corners == 2) part = here == above ? (low + high) / 2 : (left + right) / 2;
    if (corners == 3) {
        part = fmax(low, high) * fmax(left, right) / 2;
        if (inner_corner(OWN_METAL, after, above, beyond, k, i, lows, lefts, nr)) part *= 2.0;
    }
    const bool any = corners == 3 || cuts(low) || cuts(high) || cuts(left) || cuts(right);
    const bool cut = any && corners > 0 && corners < 4;
    const int away = here ? 1 : -1;
    // The flux through h_z grows with the radius: its area counts at the middle of what is open.
    const double middle = (here ? i + 1 - low / 2 : i + low / 2) / (i + 0.5);
    const Face faces[3] = {
        face(left, cuts(left) ? lowest : rest, cuts(left), 0, away),
        face(part, (low + high + left + right) / (4 * most), cut, here + above - after - beyond,
             here + after - above - beyond),
        face(low * middle, cuts(low) ? lowest : rest, cuts(low), away, 0),
    };
    for (int component = 0; component < 3; ++component) {
        const size_t at = (3 * antenna + component) * nz * nr + place;
        area[at] = faces[component].area, made[at] = faces[component].made, least[at] = faces[component].least;
        ways[2 * at] = faces[component].ahead, ways[2 * at + 1] = faces[component].upwards;
    }
}

// Each face gives what its neighbours nearer to the wall were raised by.
extern "C" __global__ void raise_faces(
    int nr, int nz, const double* area, const double* made, const double* least, const signed char* ways,
    double* areas) {
    PLACE(nz, nr)
    for (int component = 0; component < 3; ++component) {
        const size_t first = (3 * antenna + component) * nz * nr, at = first + place;
        auto share = [&](size_t from, int way) {
            const int parts = max(abs(ways[2 * from]) + abs(ways[2 * from + 1]), 1);
            return (made[from] - area[from]) * abs(way) / parts;
        };
        double taken = 0.0;
        if (i > 0 && ways[2 * (at - 1)] > 0) taken += share(at - 1, ways[2 * (at - 1)]);
        if (i + 1 < nr && ways[2 * (at + 1)] < 0) taken += share(at + 1, ways[2 * (at + 1)]);
        if (k > 0 && ways[2 * (at - nr) + 1] > 0) taken += share(at - nr, ways[2 * (at - nr) + 1]);
        if (k + 1 < nz && ways[2 * (at + nr) + 1] < 0) taken += share(at + nr, ways[2 * (at + nr) + 1]);
        areas[at] = made[at] - fmin(taken, fmax(made[at] - least[at], 0.0));
    }
}
