// Instructions without a form in plain CUDA C++. The tests' host emulation has its own forms.
#ifndef HOST_EMULATION

__device__ inline unsigned char *shared_base() {
    extern __shared__ __align__(128) unsigned char shared_storage[];
    return shared_storage;
}

// Asynchronous copy of 16 aligned bytes from device to shared memory, past the first-level cache.
__device__ inline void copy_16_bytes(void *shared, const void *global) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}

// The same of 4 bytes, through the first-level cache.
__device__ inline void copy_4_bytes(void *shared, const void *global) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(global) : "memory");
}

// Prefetches a line of device memory that will be read soon.
__device__ inline void prefetch(const void *global) { asm volatile("prefetch.global.L1 [%0];" ::"l"(global)); }

// The warp's number in its block, in a form by which the compiler sees that it is equal in all lanes.
__device__ inline int warp_index() { return __shfl_sync(0xffffffffu, int(threadIdx.x / 32), 0); }

// The same number, from which the compiler computes nothing in advance: where registers are scarce, operands of rarely
// run code should not occupy them.
__device__ inline int afresh(int number) {
    asm volatile("" : "+r"(number));
    return number;
}

// Whether a condition holds in all lanes.
__device__ inline bool all_lanes(bool condition) { return __all_sync(0xffffffffu, condition); }

// The copies since the last call form a group.
__device__ inline void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until this thread has at most N groups in flight.
template <int N> __device__ inline void wait_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// Adds to a place that no other thread touches before the next barrier, without waiting for it.
__device__ inline void add_without_return(float *to, float value) {
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(to), "f"(value) : "memory");
}
__device__ inline void add_without_return(double *to, double value) {
    asm volatile("red.global.add.f64 [%0], %1;" ::"l"(to), "d"(value) : "memory");
}

// A product that is rounded before a sum. In a sum of two products it decides which of them is fused, where otherwise
// the compiler would choose: every scheme then rounds alike.
__device__ inline float rounded(float a, float b) { return __fmul_rn(a, b); }
__device__ inline double rounded(double a, double b) { return __dmul_rn(a, b); }

// Thread-block clusters: sm_90 and later.
__device__ inline int cluster_rank() {
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ inline int cluster_blocks() {
    int blocks;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}
// Barrier of all threads of the cluster; their writes to any block's shared memory are visible afterwards.
__device__ inline void cluster_wait() {
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}
// The same place in another block's shared memory.
template <class T> __device__ inline T *in_block(T *own, int rank) {
    unsigned long long to;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(to) : "l"(reinterpret_cast<unsigned long long>(own)), "r"(rank));
    return reinterpret_cast<T *>(to);
}

#endif
