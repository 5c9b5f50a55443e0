// Polygons of a batch: their edges and boxes as level_sets.cuh reads them, and the depth of points.
#include "kernels/raster/level_sets.cuh"

// One polygon's corners (r, z), in any orientation.
struct Corners {
    const double* at;
    int count;

    __device__ int next(int corner) const { return corner + 1 == count ? 0 : corner + 1; }
    __device__ double step_r(int edge) const { return at[2 * next(edge)] - at[2 * edge]; }
    __device__ double step_z(int edge) const { return at[2 * next(edge) + 1] - at[2 * edge + 1]; }
    __device__ double size(int edge) const {
        const double dr = step_r(edge), dz = step_z(edge);
        return sqrt(dr * dr + dz * dz);
    }
    __device__ bool on_axis(int edge) const { return at[2 * edge] == 0 && at[2 * next(edge)] == 0 && size(edge) > 0; }
    __device__ bool real(int edge) const { return size(edge) > 0 && !on_axis(edge); }

    // 1 where the corners run counterclockwise from +r to +z, else -1.
    __device__ double side() const {
        double area = 0.0;
        for (int corner = 0; corner < count; ++corner) {
            const double *const start = &at[2 * corner], *const end = &at[2 * next(corner)];
            area += start[0] * end[1] - end[0] * start[1];
        }
        return area > 0 ? 1.0 : -1.0;
    }

    // Normal of the edge that meets `edge` in one direction; of its own image where the axis comes first.
    __device__ void neighbour(int edge, int way, double side, double* normal) const {
        int other = edge;
        bool image = false;
        for (int distance = 1; distance < count; ++distance) {
            const int found = (edge + way * distance + count) % count;
            image = on_axis(found);
            if (image) break;
            if (real(found)) {
                other = found;
                break;
            }
        }
        const double length = size(other), safe = length > 0 ? length : 1.0;
        normal[0] = (image ? side : -side) * step_z(other) / safe, normal[1] = side * step_r(other) / safe;
    }
};

// One thread an edge, blockIdx.y a polygon: corners (polygons, corners, 2), edges (polygons, corners, EDGE).
extern "C" __global__ void polygon_edges(const double* corners, int count, double* edges) {
    const int edge = blockIdx.x * blockDim.x + threadIdx.x;
    if (edge >= count) return;
    const Corners own{corners + (size_t)2 * count * blockIdx.y, count};
    const double side = own.side(), length = own.size(edge), safe = length > 0 ? length : 1.0;
    const double dr = own.step_r(edge), dz = own.step_z(edge);
    // With the body to the right of the edges, travel the other way round.
    const bool backwards = side < 0;
    const double* const start = &own.at[2 * (backwards ? own.next(edge) : edge)];
    double* const to = &edges[EDGE * ((size_t)blockIdx.y * count + edge)];
    to[0] = start[0], to[1] = start[1], to[2] = backwards ? -dr : dr, to[3] = backwards ? -dz : dz;
    to[4] = own.real(edge) ? 1.0 / (safe * safe) : 0.0;
    to[5] = -side * dz / safe, to[6] = side * dr / safe;
    own.neighbour(edge, backwards ? 1 : -1, side, &to[7]);
    own.neighbour(edge, backwards ? -1 : 1, side, &to[9]);
}

// One thread a group of edges, blockIdx.y a polygon: boxes (polygons, groups, 4).
extern "C" __global__ void polygon_boxes(const double* edges, int count, int groups, double* boxes) {
    const int group = blockIdx.x * blockDim.x + threadIdx.x, size = (count + groups - 1) / groups;
    if (group >= groups) return;
    double low_r = 1.0 / 0.0, high_r = -low_r, low_z = low_r, high_z = -low_r;
    for (int edge = group * size; edge < min((group + 1) * size, count); ++edge) {
        const double* const at = &edges[EDGE * ((size_t)blockIdx.y * count + edge)];
        low_r = fmin(low_r, fmin(at[0], at[0] + at[2])), high_r = fmax(high_r, fmax(at[0], at[0] + at[2]));
        low_z = fmin(low_z, fmin(at[1], at[1] + at[3])), high_z = fmax(high_z, fmax(at[1], at[1] + at[3]));
    }
    double* const to = &boxes[4 * ((size_t)blockIdx.y * groups + group)];
    to[0] = low_r, to[1] = high_r, to[2] = low_z, to[3] = high_z;
}

// One thread a point.
extern "C" __global__ void polygon_depths(
    const double* edges, const double* boxes, int corners, int groups, int shared, int points, const long long* antenna,
    const double* r, const double* z, double* depth) {
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points) return;
    const size_t of = shared ? 0 : antenna[point];
    depth[point] = depth_in_polygon(
        &edges[EDGE * corners * of], &boxes[4 * groups * of], corners, groups, r[point], z[point]);
}
