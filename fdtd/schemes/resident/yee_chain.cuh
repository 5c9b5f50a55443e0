// The blocks that hold an antenna together: a cluster, or a chain of them among the blocks of a launch that are all on
// the device at the same time. Included by yee.cu alone.
#include "kernels/posts.cuh"

#if SPREAD
__device__ inline int rank_here() { return blockIdx.x % CLUSTER; }
__device__ inline int chain_here() { return blockIdx.x / CLUSTER; }
// All threads of the chain meet; what they wrote to device memory is visible afterwards.
__device__ inline void meet() {
    long long *arrivals = P.meetings + 32 * chain_here();
    __syncthreads();  // all writes of this block precede its arrival
    if (threadIdx.x == 0) await_count(arrivals, arrive_at(arrivals, CLUSTER));
    __syncthreads();  // and all reads follow the others'
}
// The same in two parts: a block goes on in between. All its threads call both; `left` is in shared memory.
__device__ inline void leave(long long &left) {
    __syncthreads();  // all have read
    if (threadIdx.x == 0) left = arrive_at(P.meetings + 32 * chain_here() + 16, CLUSTER);
}
__device__ inline void all_have_left(const long long &left) {
    if (threadIdx.x == 0) await_count(P.meetings + 32 * chain_here() + 16, left);
    __syncthreads();
}
#else
__device__ inline int rank_here() { return cluster_rank(); }
__device__ inline int chain_here() { return blockIdx.y; }
// All threads of the cluster meet. Lanes come together first: the barrier counts whole warps.
__device__ inline void meet() {
    __syncwarp();
    cluster_wait();
}
__device__ inline void leave(long long &) { meet(); }
__device__ inline void all_have_left(const long long &) {}
#endif
