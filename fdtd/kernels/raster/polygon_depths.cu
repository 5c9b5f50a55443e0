// Depth of points in the polygon of each one's antenna; see level_sets.cuh. One thread a point.
#include "kernels/raster/level_sets.cuh"

extern "C" __global__ void polygon_depths(
    const double* edges, const double* boxes, int corners, int groups, int shared, int points, const long long* antenna,
    const double* r, const double* z, double* depth) {
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points) return;
    const size_t of = shared ? 0 : antenna[point];
    depth[point] = depth_in_polygon(
        &edges[EDGE * corners * of], &boxes[4 * groups * of], corners, groups, r[point], z[point]);
}
