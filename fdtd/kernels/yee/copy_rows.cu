// Copies rows of 16-byte units, also into the memory of another device that this one can reach.
struct alignas(16) unit {
    long long half[2];
};

// Rows of `units`, whose starts are `apart_from` and `apart_to` units apart. Grid (blocks, rows).
extern "C" __global__ void copy_rows(const unit* from, unit* to, int units, int apart_from, int apart_to) {
    from += (long long)blockIdx.y * apart_from, to += (long long)blockIdx.y * apart_to;
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < units; at += gridDim.x * blockDim.x) to[at] = from[at];
}
